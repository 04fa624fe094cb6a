//! What this process has seen spent, besides the meter: a meter that says less has lost something.

use std::collections::HashMap;

use parking_lot::Mutex;

/// Names remembered that were used lately; twice this at most.
const REMEMBERED: usize = 16 * 1024;

/// Two generations: when the younger is full, the older is forgotten. What is forgotten is only a
/// check, never what was spent.
#[derive(Default)]
pub(super) struct Memory(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    young: HashMap<String, u64>,
    old: HashMap<String, u64>,
}

impl Memory {
    /// Notes what was spent under a name by now.
    pub(super) fn saw(&self, name: &str, spent: u64) {
        let mut kept = self.0.lock();
        if let Some(known) = kept.young.get_mut(name) {
            *known = spent.max(*known);
            return;
        }
        if kept.young.len() >= REMEMBERED {
            kept.old = std::mem::take(&mut kept.young);
        }
        let before = kept.old.get(name).copied().unwrap_or(0);
        kept.young.insert(name.to_owned(), spent.max(before));
    }

    /// The most that was seen spent under a name; 0 if nothing is remembered.
    pub(super) fn known(&self, name: &str) -> u64 {
        let kept = self.0.lock();
        let known = kept.young.get(name).or_else(|| kept.old.get(name));
        known.copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_was_seen_is_remembered_for_a_while() {
        let memory = Memory::default();
        assert_eq!(memory.known("a"), 0);
        for spent in [5, 9, 7] {
            memory.saw("a", spent);
        }
        assert_eq!(memory.known("a"), 9);
        for n in 0..REMEMBERED {
            memory.saw(&format!("other {n}"), 1);
        }
        assert_eq!(memory.known("a"), 9, "in the older generation");
        memory.saw("a", 3);
        assert_eq!(memory.known("a"), 9, "and carried over");
        for n in 0..3 * REMEMBERED {
            memory.saw(&format!("more {n}"), 1);
        }
        assert_eq!(memory.known("a"), 0);
        let kept = memory.0.lock();
        assert!(kept.young.len() + kept.old.len() <= 2 * REMEMBERED);
    }
}
