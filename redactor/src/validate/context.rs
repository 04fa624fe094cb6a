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
        words.iter().any(|word| {
            holds_word(self.before, word.as_bytes())
                || self
                    .key
                    .is_some_and(|key| holds_word(key.as_bytes(), word.as_bytes()))
        })
    }
}

/// Whether `text` holds `word` in any ASCII case, not inside a longer word. A change from lower
/// to upper case is a word boundary too: `phoneNumber`.
pub(crate) fn holds_word(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).enumerate().any(|(at, window)| {
        window.eq_ignore_ascii_case(word)
            && boundary(at.checked_sub(1).and_then(|b| text.get(b)), window.first())
            && boundary(window.last(), text.get(at + word.len()))
    })
}

fn boundary(left: Option<&u8>, right: Option<&u8>) -> bool {
    match (left, right) {
        (Some(l), Some(r)) => {
            !(l.is_ascii_alphabetic() && r.is_ascii_alphabetic())
                || (l.is_ascii_lowercase() && r.is_ascii_uppercase())
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_at_their_boundaries() {
        assert!(holds_word(b"my SSN: ", b"ssn"));
        assert!(holds_word(b"userSsnNumber", b"ssn"));
        assert!(holds_word(b"ssn_1=", b"ssn"));
        assert!(!holds_word(b"assn ", b"ssn"));
        assert!(!holds_word(b"lessno", b"ssn"));
    }
}
