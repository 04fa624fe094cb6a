//! What an exchange is charged with: what its provider counted, or an upward estimate.

use super::estimate::Worst;

/// Tokens as a provider counted them; `None` where it did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Of the request.
    pub input: Option<u64>,
    /// Of the reply, those spent on reasoning with them.
    pub output: Option<u64>,
    /// Of the request, those served from the provider's cache.
    pub cache_read: Option<u64>,
    /// Of the request, those written to it.
    pub cache_write: Option<u64>,
    /// Whether `input` leaves out what the cache served and took (Anthropic), or has it in it (OpenAI).
    pub cached_apart: bool,
}

/// Tokens, told apart the same way for all providers: no token is in two of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Of the request, those that no cache had.
    pub input: u64,
    /// Of the request, those served from the provider's cache.
    pub cache_read: u64,
    /// Of the request, those written to it.
    pub cache_write: u64,
    /// Of the reply.
    pub output: u64,
}

impl Tokens {
    /// All of them.
    pub fn total(self) -> u64 {
        let parts = [self.input, self.cache_read, self.cache_write, self.output];
        let total = parts.into_iter().fold(0, u64::saturating_add);
        total.min(super::MOST)
    }
}

/// What an exchange is charged with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The tokens.
    pub tokens: Tokens,
    /// Whether they are an estimate, because the provider did not say.
    pub estimated: bool,
}

impl Charge {
    /// No provider was sent anything.
    pub const NOTHING: Self = Self {
        tokens: Tokens {
            input: 0,
            cache_read: 0,
            cache_write: 0,
            output: 0,
        },
        estimated: false,
    };

    /// After a reply that came to its end with `whole`, or did not. Where the provider's last word is
    /// missing it may have written as much as it was allowed to.
    pub fn of(counted: Counted, worst: Worst, whole: bool) -> Self {
        let tokens = counted.tokens(worst);
        let says = whole && counted.input.is_some() && counted.output.is_some();
        if says && tokens.total() > 0 {
            return Self {
                tokens,
                estimated: false,
            };
        }
        let output = worst.output.max(tokens.output);
        Self {
            tokens: Tokens { output, ..tokens },
            estimated: true,
        }
    }

    /// After an answer that reports an error and no count: the provider has read the request at most.
    pub fn of_error(counted: Counted, worst: Worst) -> Self {
        let says = counted.input.is_some() || counted.output.is_some();
        Self {
            tokens: counted.tokens(worst),
            estimated: !says,
        }
    }
}

impl Counted {
    /// With the worst case for an input that was not counted.
    fn tokens(self, worst: Worst) -> Tokens {
        let (read, write) = (self.cache_read.unwrap_or(0), self.cache_write.unwrap_or(0));
        let input = match self.input {
            // A provider that counts more cached tokens than there were is not believed the difference.
            Some(input) if !self.cached_apart => input.saturating_sub(read.saturating_add(write)),
            Some(input) => input,
            None => worst.input.saturating_sub(read.saturating_add(write)),
        };
        Tokens {
            input,
            cache_read: read,
            cache_write: write,
            output: self.output.unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WORST: Worst = Worst {
        input: 1000,
        output: 500,
    };

    fn openai(input: u64, cached: u64, output: u64) -> Counted {
        Counted {
            input: Some(input),
            output: Some(output),
            cache_read: Some(cached),
            ..Counted::default()
        }
    }

    #[test]
    fn cached_input_is_told_apart_in_either_form() {
        let charge = Charge::of(openai(100, 60, 7), WORST, true);
        let same = Counted {
            input: Some(40),
            cache_read: Some(60),
            output: Some(7),
            cached_apart: true,
            ..Counted::default()
        };
        assert_eq!(Charge::of(same, WORST, true), charge);
        assert_eq!(charge.tokens.input, 40);
        assert_eq!((charge.tokens.total(), charge.estimated), (107, false));
        let written = Counted {
            cache_write: Some(200),
            ..same
        };
        assert_eq!(Charge::of(written, WORST, true).tokens.total(), 307);
    }

    #[test]
    fn without_the_last_word_it_may_have_been_all() {
        let begun = Counted {
            input: Some(90),
            output: Some(1),
            cached_apart: true,
            ..Counted::default()
        };
        for (counted, whole, total) in [
            (Counted::default(), true, 1500),
            (Counted::default(), false, 1500),
            (begun, false, 590),
            (begun, true, 91),
            // Nothing is not what an answer costs.
            (openai(0, 0, 0), true, 500),
            (openai(10, 0, 900), false, 910),
        ] {
            let charge = Charge::of(counted, WORST, whole);
            assert_eq!(charge.tokens.total(), total, "{counted:?} {whole}");
            assert_eq!(charge.estimated, total != 91);
        }
        assert_eq!(
            Charge::of_error(Counted::default(), WORST).tokens.total(),
            1000
        );
        assert_eq!(Charge::of_error(openai(5, 0, 0), WORST).tokens.total(), 5);
    }

    proptest! {
        /// Whatever a provider says, the charge is not nothing, does not overflow, and without its
        /// last word is no less than what it may have written.
        #[test]
        fn a_charge_is_never_nothing(
            counts in proptest::array::uniform4(proptest::option::of(any::<u64>())),
            cached_apart: bool,
            whole: bool,
        ) {
            let [input, output, cache_read, cache_write] = counts;
            let counted = Counted { input, output, cache_read, cache_write, cached_apart };
            let charge = Charge::of(counted, WORST, whole);
            prop_assert!(charge.tokens.total() > 0);
            prop_assert!(charge.tokens.total() <= crate::limit::MOST);
            if charge.estimated {
                prop_assert!(charge.tokens.output >= WORST.output);
            }
            if whole && input.is_some_and(|n| n > 0) && output.is_some() {
                prop_assert!(!charge.estimated);
            }
        }
    }
}
