//! `[limits]`: what may be spent, in tokens.

use super::check::Check;
use super::raw::RawLimits;

/// The most tokens that a cap may be: what counts above it is not exact in every reader of JSON.
const MOST: i64 = (1 << 53) - 1;

/// What may be spent. Without a cap it is counted all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Tokens of one session, in all.
    pub session_tokens: Option<u64>,
    /// Tokens of one caller's key on one day (UTC).
    pub key_tokens_per_day: Option<u64>,
    /// Tokens of one tenant on one day (UTC).
    pub tenant_tokens_per_day: Option<u64>,
    /// From how many percent of a cap on callers are warned.
    pub warn_percent: u8,
    /// Tokens that an answer is taken to have where neither the request nor the model's documentation
    /// says how many it may.
    pub assumed_answer_tokens: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            session_tokens: None,
            key_tokens_per_day: None,
            tenant_tokens_per_day: None,
            warn_percent: 80,
            assumed_answer_tokens: 128 << 10,
        }
    }
}

impl Check<'_> {
    pub(super) fn caps(&mut self, raw: &RawLimits) -> Caps {
        let or = Caps::default();
        Caps {
            session_tokens: self.tokens("max_tokens_per_session", raw.max_tokens_per_session),
            key_tokens_per_day: self
                .tokens("max_tokens_per_key_and_day", raw.max_tokens_per_key_and_day),
            tenant_tokens_per_day: self.tokens(
                "max_tokens_per_tenant_and_day",
                raw.max_tokens_per_tenant_and_day,
            ),
            warn_percent: match raw.warn_at_percent.map(u8::try_from) {
                None => or.warn_percent,
                Some(Ok(percent @ 1..=100)) => percent,
                Some(_) => {
                    let message = "must be a number from 1 to 100";
                    self.faults.add("limits.warn_at_percent", message);
                    or.warn_percent
                }
            },
            assumed_answer_tokens: self
                .tokens("assumed_answer_tokens", raw.assumed_answer_tokens)
                .unwrap_or(or.assumed_answer_tokens),
        }
    }

    fn tokens(&mut self, key: &str, number: Option<i64>) -> Option<u64> {
        let number = number?;
        if !(1..=MOST).contains(&number) {
            let message = format!("must be a number of tokens from 1 to {MOST}");
            self.faults.add(format!("limits.{key}"), message);
        }
        u64::try_from(number).ok()
    }
}
