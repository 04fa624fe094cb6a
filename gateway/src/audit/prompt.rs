//! Digests of a prompt's parts, by which two prompts of one session can be compared without either.

use gatehouse_ledger::event::Builder;

/// Keyed digests, under the session's commitment key, over the parts as they were sent.
pub struct Prompt {
    /// Of the system prompts, where there are any.
    pub system: Option<[u8; 32]>,
    /// Of the tools' definitions, where there are any.
    pub tools: Option<[u8; 32]>,
    /// Of the other members of the request.
    pub rest: [u8; 32],
    /// How many messages there are.
    pub total: u64,
    /// Of each of the last ones, shortened.
    pub messages: Vec<[u8; 8]>,
}

impl Prompt {
    pub(super) fn write(&self, prompt: &mut Builder) {
        prompt.integer("n", self.total);
        for (key, digest) in [("system_h", &self.system), ("tools_h", &self.tools)] {
            if let Some(digest) = digest {
                prompt.hex(key, digest);
            }
        }
        prompt.hex("rest_h", &self.rest);
        let words: Vec<_> = self.messages.iter().map(letters).collect();
        prompt.texts("messages", words.iter().map(String::as_str));
    }
}

/// A letter from a to p for each four bits: no run of digits, which a search for numbers that mean
/// something could take for one.
fn letters(digest: &[u8; 8]) -> String {
    let letter = |bits: u8| char::from(b'a' + bits);
    let pairs = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    pairs.map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_bits() {
        let digest = [0x00, 0x01, 0x10, 0x9a, 0xbc, 0xde, 0xf0, 0xff];
        assert_eq!(letters(&digest), "aaabbajklmnopapp");
    }
}
