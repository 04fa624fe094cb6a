//! Requests that a log signed and that do not fit what was cosigned before. Two checkpoints of one
//! size with different roots, both signed, are proof to anybody that the log has two histories.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use data_encoding::HEXLOWER;
use gatehouse_envelope::digest::sha256;

use super::files::{Failed, replace};

/// More are not kept: whoever has a log's key can sign as many as they like.
const MOST: usize = 64;

/// A folder of such requests.
pub(super) struct Evidence(PathBuf);

impl Evidence {
    pub(super) fn new(state: &Path) -> Self {
        Self(state.join("evidence"))
    }

    /// Keeps a request, with what was cosigned before it, as two notes in one text. The same again is
    /// not kept twice. Of each log that it is a `fork` of, the first one has a place of its own.
    pub(super) fn keep(&self, request: &[u8], before: &str, fork: Option<&str>) -> io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let named = |kind: &str, digest: [u8; 32]| {
            self.0
                .join(format!("{kind}{}.txt", HEXLOWER.encode(&digest)))
        };
        let own = fork.map(|origin| named("fork-", sha256(&[origin.as_bytes()])));
        let path = match own {
            Some(own) if !own.try_exists()? => own,
            _ => {
                let path = named("", sha256(&[request, before.as_bytes()]));
                if path.try_exists()? || fs::read_dir(&self.0)?.count() >= MOST {
                    return Ok(());
                }
                path
            }
        };
        let head =
            "# Signed by the log, and refused: it does not continue what was cosigned before.\n";
        let middle = "\n# What was cosigned before.\n";
        let text = [
            head.as_bytes(),
            request,
            middle.as_bytes(),
            before.as_bytes(),
        ]
        .concat();
        replace(&path, &text).map_err(|(Failed::Before(error) | Failed::Unsure(error))| error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_kept_once_and_not_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let evidence = Evidence::new(dir.path());
        for _ in 0..3 {
            evidence.keep(b"request\n", "note\n", None).unwrap();
        }
        let files = || fs::read_dir(dir.path().join("evidence")).unwrap();
        assert_eq!(files().count(), 1);
        let kept = fs::read_to_string(files().next().unwrap().unwrap().path()).unwrap();
        assert!(kept.contains("request\n") && kept.ends_with("before.\nnote\n"));
        for n in 0..100 {
            let text = format!("{n}");
            evidence.keep(text.as_bytes(), "note\n", None).unwrap();
        }
        assert_eq!(files().count(), MOST);
        // Another history of a log is kept however full it is, once.
        for origin in ["prod", "eu", "prod"] {
            evidence.keep(b"fork\n", "note\n", Some(origin)).unwrap();
        }
        assert_eq!(files().count(), MOST + 2);
    }
}
