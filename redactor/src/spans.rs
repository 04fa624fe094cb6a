//! From candidates to the spans that are replaced, and tokens of the session put back into text
//! before it is searched.

use std::borrow::Cow;
use std::ops::Range;

use crate::label::Label;
use crate::policy::Action;
use crate::token;
use crate::vault::Vault;

/// Something that may have to be replaced.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) range: Range<usize>,
    pub(crate) label: Label,
    pub(crate) action: Action,
    pub(crate) rule: &'static str,
    pub(crate) certain: bool,
}

/// Joins candidates that overlap: every byte that one of them covers stays covered, nothing is
/// replaced twice, and no piece of a value is left over. The longest gives the label, the
/// strictest the action.
pub(crate) fn united(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by_key(|candidate| (candidate.range.start, candidate.range.end));
    let mut spans: Vec<Candidate> = Vec::with_capacity(candidates.len());
    let mut longest = 0;
    for candidate in candidates {
        let length = candidate.range.len();
        match spans.last_mut() {
            Some(last) if candidate.range.start < last.range.end => {
                last.range.end = last.range.end.max(candidate.range.end);
                if strictness(candidate.action) > strictness(last.action) {
                    last.action = candidate.action;
                }
                if length > longest {
                    longest = length;
                    last.label = candidate.label;
                    last.rule = candidate.rule;
                    last.certain = candidate.certain;
                }
            }
            _ => {
                longest = length;
                spans.push(candidate);
            }
        }
    }
    spans
}

fn strictness(action: Action) -> u8 {
    match action {
        Action::Allow => 0,
        Action::Pseudonymize => 1,
        Action::Hash => 2,
        Action::Mask => 3,
        Action::Block => 4,
    }
}

/// A token of the session that was put back.
pub(crate) struct Placed {
    /// Where the token stands.
    pub(crate) token: Range<usize>,
    /// Where its value stands in the expanded text.
    pub(crate) value: Range<usize>,
    /// Its entry in the vault.
    pub(crate) entry: usize,
}

/// A text with the session's tokens put back. It is what gets searched, so that a history leads
/// to the same bytes whether the client kept values or tokens.
pub(crate) struct Expanded<'t> {
    pub(crate) text: Cow<'t, str>,
    pub(crate) placed: Vec<Placed>,
}

impl<'t> Expanded<'t> {
    /// Puts back the tokens of the first `entries` entries; others stay literal.
    pub(crate) fn new(text: &'t str, vault: &Vault, entries: usize) -> Self {
        let mut placed = Vec::new();
        if entries == 0 || memchr::memchr(b'<', text.as_bytes()).is_none() {
            return Self {
                text: Cow::Borrowed(text),
                placed,
            };
        }
        let (mut out, mut copied) = (String::new(), 0);
        for (token, entry) in tokens(text, vault) {
            let Some(value) = vault.entry(entry).filter(|_| entry < entries) else {
                continue;
            };
            out.push_str(text.get(copied..token.start).unwrap_or_default());
            let start = out.len();
            out.push_str(&value.value);
            copied = token.end;
            placed.push(Placed {
                token,
                value: start..out.len(),
                entry,
            });
        }
        if placed.is_empty() {
            return Self {
                text: Cow::Borrowed(text),
                placed,
            };
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        Self {
            text: Cow::Owned(out),
            placed,
        }
    }

    /// The offset in the text as given, for an offset that is not inside a value put back.
    pub(crate) fn original(&self, at: usize) -> usize {
        let before = self.placed.partition_point(|placed| placed.value.end <= at);
        match before.checked_sub(1).and_then(|last| self.placed.get(last)) {
            Some(placed) => placed.token.end + (at - placed.value.end),
            None => at,
        }
    }

    /// Whether a value that was put back stands in a range.
    pub(crate) fn holds(&self, range: &Range<usize>) -> bool {
        let from = self
            .placed
            .partition_point(|placed| placed.value.end <= range.start);
        let next = self.placed.get(from);
        next.is_some_and(|placed| placed.value.start < range.end)
    }

    /// The entry whose token stands exactly there.
    pub(crate) fn entry_at(&self, range: &Range<usize>) -> Option<usize> {
        let at = self
            .placed
            .partition_point(|placed| placed.value.start < range.start);
        self.placed
            .get(at)
            .filter(|placed| placed.value == *range)
            .map(|placed| placed.entry)
    }
}

/// The session's tokens in a text, exactly as spelled, in order.
pub(crate) fn tokens(text: &str, vault: &Vault) -> Vec<(Range<usize>, usize)> {
    let mut found = Vec::new();
    if vault.is_empty() {
        return found;
    }
    for start in memchr::memchr_iter(b'<', text.as_bytes()) {
        let rest = text.as_bytes().get(start..).unwrap_or_default();
        let rest = rest
            .get(..token::LONGEST.min(rest.len()))
            .unwrap_or_default();
        let Some(length) = memchr::memchr(b'>', rest).map(|end| end + 1) else {
            continue;
        };
        if let Some(entry) = text
            .get(start..start + length)
            .and_then(|token| vault.exact(token))
        {
            found.push((start..start + length, entry));
        }
    }
    found
}

/// Whether a range lies inside a mask or hash of ours, which is not searched again.
pub(crate) fn is_sealed(text: &str, range: &Range<usize>) -> bool {
    let from = range.start.saturating_sub(token::LONGEST);
    let before = text.as_bytes().get(from..=range.start).unwrap_or_default();
    let Some(start) = memchr::memrchr(b'<', before).map(|at| from + at) else {
        return false;
    };
    let length = text.get(start..).and_then(token::sealed);
    length.is_some_and(|length| start + length >= range.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Names;
    use crate::vault::Shape;

    fn candidate(range: Range<usize>, label: Label, action: Action) -> Candidate {
        Candidate {
            range,
            label,
            action,
            rule: "test",
            certain: true,
        }
    }

    #[test]
    fn overlaps_are_joined_and_neighbours_are_not() {
        let spans = united(vec![
            candidate(5..9, Label::PHONE, Action::Mask),
            candidate(0..6, Label::EMAIL, Action::Pseudonymize),
            candidate(9..12, Label::PERSON, Action::Pseudonymize),
        ]);
        let got: Vec<_> = spans
            .iter()
            .map(|s| (s.range.clone(), s.label, s.action))
            .collect();
        assert_eq!(
            got,
            [
                (0..9, Label::EMAIL, Action::Mask),
                (9..12, Label::PERSON, Action::Pseudonymize)
            ]
        );
    }

    #[test]
    fn offsets_lead_back_past_expanded_tokens() {
        let mut vault = Vault::new();
        let entry = vault.insert("a@b.example", Label::EMAIL, Shape::Text, true, &Names);
        let token = vault.entry(entry).unwrap().token.clone();
        let text = format!("x {token} y <EMAIL_zzzzzz> {token}");
        let expanded = Expanded::new(&text, &vault, 1);
        assert_eq!(expanded.text, "x a@b.example y <EMAIL_zzzzzz> a@b.example");
        assert_eq!(expanded.original(2), 2);
        assert_eq!(expanded.original(13), 2 + token.len());
        assert_eq!(expanded.original(14), 3 + token.len());
        assert_eq!(expanded.entry_at(&(2..13)), Some(entry));
        assert_eq!(expanded.entry_at(&(2..12)), None);
        assert!(Expanded::new(&text, &vault, 0).placed.is_empty());
    }
}
