//! The words beside a value: the same line before it, and the key it stands under.

/// How far back a label word may stand, in bytes of normalised text. A stream keeps at least
/// twice as many raw bytes, see [`crate::Engine::LEFT_CONTEXT`].
pub(crate) const REACH: usize = 48;

/// The text before a value and the key of its field.
#[derive(Clone, Copy)]
pub(crate) struct Context<'t> {
    pub before: &'t [u8],
    pub key: Option<&'t str>,
}

impl<'t> Context<'t> {
    /// The context of what begins at `start`.
    pub(crate) fn at(text: &'t str, start: usize, key: Option<&'t str>) -> Self {
        let from = start.saturating_sub(REACH);
        Self {
            before: text.as_bytes().get(from..start).unwrap_or_default(),
            key,
        }
    }

    /// Whether one of the words (lower case) stands before the value or in its key.
    pub(crate) fn names(&self, words: &[&str]) -> bool {
        holds_word(self.before, words)
            || self
                .key
                .is_some_and(|key| holds_word(key.as_bytes(), words))
    }

    /// Whether the word right before the value says that it is something else: `SLA 450-402-8865`.
    pub(crate) fn denies(&self) -> bool {
        let end = self
            .before
            .iter()
            .rposition(u8::is_ascii_alphabetic)
            .map_or(0, |at| at + 1);
        let between = self.before.get(end..).unwrap_or_default();
        let word = self.before.get(..end).unwrap_or_default();
        let start = word
            .iter()
            .rposition(|b| !b.is_ascii_alphabetic())
            .map_or(0, |at| at + 1);
        between.len() <= 5 && is_one_of(word.get(start..).unwrap_or_default(), OTHERS)
    }
}

/// What other numbers are called.
const OTHERS: &[&str] = &[
    "arxiv", "batch", "build", "cas", "case", "commit", "doi", "ean", "imei", "invoice", "isbn",
    "issn", "item", "lot", "model", "nip", "nrb", "order", "orders", "part", "pesel", "po",
    "regon", "release", "rev", "revision", "rfc", "serial", "sku", "sla", "ticket", "tracking",
    "upc", "ver", "version", "v",
];

/// Whether `text` holds one of the words in any ASCII case, not inside a longer word. A change
/// from lower to upper case is a word boundary too: `phoneNumber`.
fn holds_word(text: &[u8], words: &[&str]) -> bool {
    text.split(|b| b.is_ascii() && !b.is_ascii_alphabetic())
        .filter(|run| !run.is_empty())
        .any(|run| {
            let mut rest = run;
            while !rest.is_empty() {
                let humps = rest.windows(2).position(|pair| match pair {
                    [left, right] => left.is_ascii_lowercase() && right.is_ascii_uppercase(),
                    _ => false,
                });
                let (word, behind) = rest
                    .split_at_checked(humps.map_or(rest.len(), |at| at + 1))
                    .unwrap_or_default();
                if is_one_of(word, words) {
                    return true;
                }
                rest = behind;
            }
            // `SSNs`, `iPhone`: the run as a whole.
            is_one_of(run, words)
        })
}

fn is_one_of(word: &[u8], words: &[&str]) -> bool {
    words
        .iter()
        .any(|known| known.len() == word.len() && known.as_bytes().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_at_their_boundaries() {
        assert!(holds_word(b"my SSN: ", &["ssn"]));
        assert!(holds_word(b"userSsnNumber", &["ssn"]));
        assert!(holds_word(b"ssn_1=", &["ssn"]));
        assert!(!holds_word(b"assn ", &["ssn"]));
        assert!(!holds_word(b"lessno", &["ssn"]));
    }
}
