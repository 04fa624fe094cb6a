//! The last events of a session's chain, by their digests: in a store that others share, what tells a
//! process later whether an event of its own is among them.

use zeroize::Zeroizing;

use super::{SessionState, sections::TAIL};
use crate::audit::Link;

/// Events that are remembered besides the very last.
const REMEMBERED: usize = 31;
/// Bytes of a digest that are.
const DIGEST: usize = 16;

impl SessionState {
    /// Moves the chain on by one event, and remembers the one before it if `remember` says so.
    pub(super) fn advance(&mut self, next: Link, remember: bool) {
        if remember && self.link.sseq > 0 {
            let before = self.sections.get(TAIL);
            let mut tail = Zeroizing::new(Vec::with_capacity(before.len() + DIGEST));
            tail.extend(self.link.sprev.iter().take(DIGEST));
            tail.extend(before.iter().take((REMEMBERED - 1) * DIGEST));
            self.sections.set(TAIL, tail);
        }
        self.link = next;
    }

    /// Takes the last event back: `link` is where it stood.
    pub(super) fn go_back(&mut self, link: Link) {
        if self.link.sseq == link.sseq.saturating_add(1) {
            let tail = self.sections.get(TAIL);
            let rest = tail.iter().copied().skip(DIGEST);
            let rest = Zeroizing::new(rest.collect::<Vec<u8>>());
            self.sections.set(TAIL, rest);
        }
        self.link = link;
    }

    /// The beginning of the digest of the event with this number; `None` if the chain has not come so
    /// far, or has gone on for too long.
    pub(super) fn digest_of(&self, sseq: u64) -> Option<[u8; DIGEST]> {
        let back = self.link.sseq.checked_sub(sseq)?.checked_sub(1)?;
        let Some(earlier) = back.checked_sub(1) else {
            return self.link.sprev.first_chunk().copied();
        };
        let at = usize::try_from(earlier).ok()?.checked_mul(DIGEST)?;
        self.sections.get(TAIL).get(at..)?.first_chunk().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::tests::state;
    use super::*;

    fn link(sseq: u64) -> Link {
        Link {
            sseq,
            sprev: gatehouse_envelope::digest::sha256(&[&sseq.to_be_bytes()]),
        }
    }

    /// The event with number n is the one whose digest stands in the link after it.
    fn digest(n: u64) -> Option<[u8; DIGEST]> {
        link(n + 1).sprev.first_chunk().copied()
    }

    #[test]
    fn the_last_events_are_known_by_their_numbers() {
        let mut state = state("p", b"", Vec::new(), &[]);
        state.link = Link::START;
        for n in 0..50 {
            assert_eq!(state.digest_of(n), None);
            state.advance(link(n + 1), true);
            assert_eq!(state.digest_of(n), digest(n));
        }
        for n in 0..50 {
            let known = (n >= 50 - 32).then(|| digest(n)).flatten();
            assert_eq!(state.digest_of(n), known, "{n}");
        }
        let again = SessionState::decode(&state.encode()).unwrap();
        assert_eq!(again.digest_of(30), digest(30));
        state.go_back(link(49));
        assert_eq!(
            (state.digest_of(49), state.digest_of(48)),
            (None, digest(48))
        );
        assert_eq!(state.digest_of(47), digest(47));
        // A state that only knows its last event says nothing of those before.
        let mut plain = super::super::state::tests::state("p", b"", Vec::new(), &[]);
        plain.link = link(7);
        plain.advance(link(8), false);
        assert_eq!((plain.digest_of(7), plain.digest_of(6)), (digest(7), None));
        assert!(plain.sections.is_empty());
    }
}
