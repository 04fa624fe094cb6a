//! What a request may cost at the worst: never less than what the provider will count.

/// What a request asks for, as far as its cost depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The most tokens that an answer may have, if the request says so.
    pub most: Option<u64>,
    /// How many answers; `None` is one.
    pub answers: Option<u64>,
}

/// Tokens of an exchange at the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worst {
    /// Of the request.
    pub input: u64,
    /// Of all answers.
    pub output: u64,
}

/// Tokens that a provider adds to a request by itself: the frame of each message is shorter than its
/// JSON, but tools bring a prompt of their own (Anthropic's has up to 806 tokens).
const ADDED: u64 = 1024;

/// The most tokens of one answer, by the beginning of the model's name; the longest that fits counts.
/// From the providers' pages of models (OpenAI: "max output tokens"; Anthropic: "max output"); where
/// versions differ, the largest. Anthropic's requests must say how many they want, so its models are
/// here for compatible routes only.
const ANSWERS: &[(&str, u64)] = &[
    ("chatgpt-4o", 16_384),
    ("claude-3-5", 8_192),
    ("claude-3-7", 128_000),
    ("claude-3-haiku", 4_096),
    ("claude-3-opus", 4_096),
    ("gpt-3.5", 4_096),
    ("gpt-4-", 8_192),
    ("gpt-4.1", 32_768),
    ("gpt-4.5", 16_384),
    ("gpt-4o", 16_384),
    ("gpt-5", 128_000),
    ("o1", 100_000),
    ("o3", 100_000),
    ("o4", 100_000),
];

impl Worst {
    /// Of a body of so many bytes for a model. `assumed` are the tokens of an answer where neither the
    /// request nor the table above says how many there may be.
    ///
    /// No tokenizer makes more tokens of a text than it has bytes, and the JSON around it is longer than
    /// what it becomes. What a provider fetches by itself (searches, files by their ids) is not in it.
    pub fn of(body: usize, model: &str, wanted: Wanted, assumed: u64) -> Self {
        let bytes = u64::try_from(body).unwrap_or(u64::MAX);
        let answer = wanted.most.or_else(|| documented(model)).unwrap_or(assumed);
        Self {
            input: bytes.saturating_add(ADDED),
            output: answer.saturating_mul(wanted.answers.unwrap_or(1).max(1)),
        }
    }

    /// All of them, as many as a meter counts.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output).min(super::MOST)
    }
}

fn documented(model: &str) -> Option<u64> {
    let fits = ANSWERS.iter().filter(|(name, _)| model.starts_with(name));
    let longest = fits.max_by_key(|(name, _)| name.len());
    longest.map(|(_, most)| *most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(model: &str, wanted: Wanted) -> u64 {
        Worst::of(0, model, wanted, 777).output
    }

    #[test]
    fn what_the_request_says_counts_before_what_is_known_of_the_model() {
        let most = |most, answers| Wanted { most, answers };
        assert_eq!(output("gpt-4o-mini", most(Some(5), None)), 5);
        assert_eq!(output("gpt-4o-mini", most(None, None)), 16_384);
        assert_eq!(output("gpt-4.1-nano", most(None, Some(3))), 3 * 32_768);
        assert_eq!(output("mine", most(None, None)), 777);
        assert_eq!(output("mine", most(Some(9), Some(2))), 18);
        // Zero answers are none that a provider takes.
        assert_eq!(output("mine", most(Some(9), Some(0))), 9);
        let endless = Worst::of(usize::MAX, "m", most(Some(u64::MAX), Some(u64::MAX)), 0);
        assert_eq!(endless.total(), super::super::MOST);
    }

    #[test]
    fn the_table_is_in_order() {
        assert!(ANSWERS.is_sorted_by(|(one, _), (other, _)| one < other));
    }
}
