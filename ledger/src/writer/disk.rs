//! How full the disk is.

use std::path::{Path, PathBuf};

/// From this share of the disk on, and with less than [`SPARE`] left, nothing new is accepted.
const FULL_PERCENT: u128 = 90;
/// On a large disk a tenth is still plenty.
const SPARE: u64 = 1 << 30;

/// The disk under a directory.
pub(super) struct Disk(PathBuf);

impl Disk {
    pub(super) fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Whether new events should be refused. An answer that the system does not give is no reason
    /// to: the write itself will fail.
    pub(super) fn is_full(&self) -> bool {
        rustix::fs::statvfs(&self.0)
            .is_ok_and(|disk| is_full(disk.f_blocks, disk.f_bavail, disk.f_frsize))
    }
}

fn is_full(blocks: u64, free: u64, block_size: u64) -> bool {
    let used = u128::from(blocks.saturating_sub(free)) * 100;
    used >= u128::from(blocks) * FULL_PERCENT && free.saturating_mul(block_size) < SPARE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_or_a_gibibyte_is_enough() {
        let gib = 1 << 18;
        assert!(is_full(10 * gib, gib - 1, 4096));
        assert!(!is_full(10 * gib, gib + 1, 4096));
        assert!(!is_full(1000 * gib, 50 * gib, 4096));
        assert!(!is_full(gib, gib / 2, 4096));
        assert!(is_full(gib, gib / 20, 4096));
    }
}
