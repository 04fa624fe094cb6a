//! What the protocol fixes: spellings that are checked and never edited.

use std::borrow::Cow;

/// How a fixed word of a protocol may be spelled. All are ASCII and never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// Ids of calls, messages and files: up to 512 of letters, digits and `_.:/@|=+~-`.
    Id,
    /// Names of models: up to 256 of letters, digits and `_.:/@-`.
    Model,
    /// Names of tools: up to 128 of letters, digits and `_.:/-`.
    Name,
    /// Roles, types and other words of the protocol: up to 64 of letters, digits and `_.-`.
    Word,
}

impl Grammar {
    pub(crate) fn accepts(self, text: &str) -> bool {
        let (most, punctuation): (usize, &[u8]) = match self {
            Self::Id => (512, b"_.:/@|=+~-"),
            Self::Model => (256, b"_.:/@-"),
            Self::Name => (128, b"_.:/-"),
            Self::Word => (64, b"_.-"),
        };
        !text.is_empty()
            && text.len() <= most
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || punctuation.contains(&b))
    }
}

/// The digits of a number that is an integer in disguise (`4.1e3`, `17.0`), at most 40 of them.
pub(crate) fn integer(literal: &str) -> Option<Cow<'_, str>> {
    let unsigned = literal.strip_prefix('-').unwrap_or(literal);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = match exponent {
        0 => {
            let round = fraction.bytes().all(|digit| digit == b'0');
            Cow::Borrowed(round.then(|| whole.trim_start_matches('0'))?)
        }
        _ => Cow::Owned(shifted(whole, fraction, exponent)?),
    };
    (!digits.is_empty() && digits.len() <= 40).then_some(digits)
}

/// The digits of a whole number that is written with an exponent.
fn shifted(whole: &str, fraction: &str, exponent: i32) -> Option<String> {
    let mut digits = format!("{whole}{fraction}");
    let shift = exponent - i32::try_from(fraction.len()).ok()?;
    match usize::try_from(shift) {
        Ok(zeros) if zeros <= 40 => digits.push_str(&"0".repeat(zeros)),
        Ok(_) => return None,
        Err(_) => {
            let cut = digits.len().checked_sub(usize::try_from(-shift).ok()?)?;
            if digits.get(cut..)?.bytes().any(|digit| digit != b'0') {
                return None;
            }
            digits.truncate(cut);
        }
    }
    Some(digits.trim_start_matches('0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        assert!(Grammar::Word.accepts("tool_use"));
        assert!(Grammar::Name.accepts("mcp__files/read.v2"));
        assert!(Grammar::Id.accepts("call_1|fc_2=="));
        assert!(Grammar::Model.accepts("org/model:free@latest"));
        for (grammar, text) in [
            (Grammar::Word, ""),
            (Grammar::Word, "two words"),
            (Grammar::Name, "<EMAIL_k7q2mz>"),
            (Grammar::Id, "caf\u{e9}"),
            (Grammar::Word, &"x".repeat(65)),
        ] {
            assert!(!grammar.accepts(text), "{text}");
        }
    }

    #[test]
    fn integers_are_seen_through_other_spellings() {
        for literal in [
            "4111111111111111",
            "4111111111111111.000",
            "4.111111111111111e15",
            "-41111111111111110e-1",
        ] {
            assert_eq!(
                integer(literal).as_deref(),
                Some("4111111111111111"),
                "{literal}"
            );
        }
        for literal in [
            "0",
            "0.5",
            "1e999",
            "1.5e-3",
            "1e2147483647",
            "1e99999999999",
        ] {
            assert_eq!(integer(literal), None, "{literal}");
        }
    }
}
