//! What a session has spent, in its own sealed state: whatever the meter may lose, this does not go with
//! it, and no checkpoint holds it, so that going back to one gives nothing back.

use zeroize::Zeroizing;

use super::{SessionError, SessionState, sections::SPEND};

/// The first byte of the section; a greater one is a later release's. Behind it stand the fields of
/// [`Spend`] in the order of their declaration, in 64 bits big-endian.
const FORMAT: u8 = 1;

/// Tokens of a session. No token is in two of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Spend {
    /// Of requests, those that no provider's cache had.
    pub input: u64,
    /// Of requests, those served from a provider's cache.
    pub cache_read: u64,
    /// Of requests, those written to one.
    pub cache_write: u64,
    /// Of replies.
    pub output: u64,
    /// What exchanges had set aside whose turns were cut short: it counts as spent.
    pub unsettled: u64,
    /// What the exchange under way has set aside.
    pub reserved: u64,
}

impl Spend {
    /// What was settled.
    pub fn settled(self) -> u64 {
        let parts = [self.input, self.cache_read, self.cache_write, self.output];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// What counts as spent.
    pub fn tokens(self) -> u64 {
        self.settled().saturating_add(self.unsettled)
    }

    /// As a session's owner is shown it.
    pub fn json(self) -> serde_json::Value {
        serde_json::json!({
            "tokens": self.tokens(),
            "input_tokens": self.input,
            "cache_read_tokens": self.cache_read,
            "cache_write_tokens": self.cache_write,
            "output_tokens": self.output,
            "unsettled_tokens": self.unsettled,
            "reserved_tokens": self.reserved,
        })
    }

    fn decode(bytes: &[u8]) -> Result<Self, SessionError> {
        let mut rest = match bytes.split_first() {
            None => return Ok(Self::default()),
            Some((&FORMAT, rest)) => rest,
            Some((0, _)) => return Err(SessionError::Damaged),
            Some(_) => return Err(SessionError::Newer),
        };
        let mut next = || -> Result<u64, SessionError> {
            let (number, tail) = rest.split_first_chunk().ok_or(SessionError::Damaged)?;
            rest = tail;
            Ok(u64::from_be_bytes(*number))
        };
        let spend = Self {
            input: next()?,
            cache_read: next()?,
            cache_write: next()?,
            output: next()?,
            unsettled: next()?,
            reserved: next()?,
        };
        match rest {
            [] => Ok(spend),
            _ => Err(SessionError::Damaged),
        }
    }

    fn encode(self) -> Zeroizing<Vec<u8>> {
        let fields = [
            self.input,
            self.cache_read,
            self.cache_write,
            self.output,
            self.unsettled,
            self.reserved,
        ];
        let mut bytes = Zeroizing::new(vec![FORMAT]);
        bytes.extend(fields.into_iter().flat_map(u64::to_be_bytes));
        bytes
    }
}

impl SessionState {
    /// What the session has spent.
    ///
    /// # Errors
    /// [`SessionError::Newer`]: a later release wrote it, and may count otherwise.
    pub fn spend(&self) -> Result<Spend, SessionError> {
        Spend::decode(self.sections.get(SPEND))
    }

    /// Sets tokens aside for an exchange. What an earlier one had set aside whose turn did not say how it
    /// ended counts as spent from here on.
    ///
    /// # Errors
    /// As for [`SessionState::spend`].
    pub fn reserve(&mut self, tokens: u64) -> Result<(), SessionError> {
        let before = self.spend()?;
        self.set_spend(Spend {
            unsettled: before.unsettled.saturating_add(before.reserved),
            reserved: tokens,
            ..before
        });
        Ok(())
    }

    /// Puts what the exchange spent, the settled fields of `spent`, in the place of what it had set aside;
    /// nothing if no provider was asked.
    pub fn settle_spend(&mut self, spent: Spend) {
        // It could be read when the exchange was admitted.
        let Ok(before) = self.spend() else { return };
        self.set_spend(Spend {
            input: before.input.saturating_add(spent.input),
            cache_read: before.cache_read.saturating_add(spent.cache_read),
            cache_write: before.cache_write.saturating_add(spent.cache_write),
            output: before.output.saturating_add(spent.output),
            unsettled: before.unsettled,
            reserved: 0,
        });
    }

    fn set_spend(&mut self, spend: Spend) {
        self.sections.set(SPEND, spend.encode());
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::tests::state;
    use super::*;

    #[test]
    fn what_was_set_aside_is_settled_given_back_or_counts() {
        let mut state = state("p", b"", Vec::new(), &[]);
        assert_eq!(state.spend().unwrap(), Spend::default());
        state.reserve(100).unwrap();
        assert_eq!(state.spend().unwrap().reserved, 100);
        assert_eq!(state.spend().unwrap().tokens(), 0);
        let spent = Spend {
            input: 30,
            cache_read: 5,
            cache_write: 2,
            output: 7,
            ..Spend::default()
        };
        state.settle_spend(spent);
        assert_eq!(state.spend().unwrap(), spent);
        assert_eq!(state.spend().unwrap().tokens(), 44);
        // Nothing was sent.
        state.reserve(1000).unwrap();
        state.settle_spend(Spend::default());
        assert_eq!(state.spend().unwrap(), spent);
        // A turn that was cut short, and the next one.
        state.reserve(200).unwrap();
        let mut state = SessionState::decode(&state.encode()).unwrap();
        state.reserve(10).unwrap();
        let now = state.spend().unwrap();
        assert_eq!((now.unsettled, now.reserved, now.settled()), (200, 10, 44));
        assert_eq!(now.tokens(), 244);
    }

    #[test]
    fn what_no_release_wrote_is_refused() {
        let whole = Spend {
            input: 1,
            reserved: u64::MAX,
            ..Spend::default()
        };
        let bytes = whole.encode();
        assert_eq!(Spend::decode(&bytes).unwrap(), whole);
        for cut in 1..bytes.len() {
            assert!(matches!(
                Spend::decode(&bytes[..cut]),
                Err(SessionError::Damaged)
            ));
        }
        let mut newer = bytes.to_vec();
        newer[0] = 2;
        assert!(matches!(Spend::decode(&newer), Err(SessionError::Newer)));
    }
}
