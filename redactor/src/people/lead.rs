//! What stands before a name and says whether one begins.

use super::lists::{Kind, kind};
use crate::validate::context::REACH;

/// Bytes before a name in which the word that leads to it ends.
const MARKS: usize = 6;
/// How sentences call a name that they then tell.
const NAMES: &[&str] = &[
    "name", "Name", "NAME", "nom", "nombre", "naam", "namn", "navn", "nazwisko",
];
/// The longest word that is looked up.
const LONGEST: usize = 40;

/// What stands before a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    Nothing,
    /// A mark of code, an address, a path.
    Code,
    Title,
    Field,
    Label,
    Word,
}

impl Lead {
    pub(super) fn before(text: &str, start: usize) -> Lead {
        let head = text.get(..start).unwrap_or_default();
        let bytes = head.as_bytes();
        match bytes.last() {
            None => return Lead::Nothing,
            Some(
                b'.' | b'/' | b'\\' | b'@' | b'#' | b'$' | b'-' | b'&' | b'<' | b'{' | b'_' | b'~'
                | b'%' | b'`',
            ) => return Lead::Code,
            Some(b':') if bytes.len() > 1 && bytes.get(bytes.len() - 2) == Some(&b':') => {
                return Lead::Code;
            }
            _ => {}
        }
        let from = head.len().saturating_sub(REACH);
        let near = head
            .get(head.ceil_char_boundary(from)..)
            .unwrap_or_default();
        let kept = near.trim_end_matches(|c: char| {
            matches!(
                c,
                ' ' | '\t'
                    | '"'
                    | '\''
                    | '>'
                    | ':'
                    | '='
                    | '|'
                    | '*'
                    | '('
                    | '.'
                    | ','
                    | '\n'
                    | '„'
                    | '“'
                    | '«'
                    | '['
                    | '\\'
            )
        });
        let marks = near.get(kept.len()..).unwrap_or_default();
        if marks.len() > MARKS {
            return Lead::Nothing;
        }
        let begin = kept
            .char_indices()
            .rev()
            .find(|(_, c)| !c.is_alphabetic() && !matches!(c, '_' | '-'))
            .map_or(0, |(at, c)| at + c.len_utf8());
        let word = kept.get(begin..).unwrap_or_default();
        if word.is_empty() || word.len() > LONGEST {
            return Lead::Nothing;
        }
        // `her maiden name is …`
        let told = matches!(
            word,
            "is" | "was" | "ist" | "est" | "es" | "är" | "er" | "jest"
        );
        let named = kept.get(..begin).unwrap_or_default().trim_end();
        if told && NAMES.iter().any(|name| named.ends_with(name)) {
            return Lead::Field;
        }
        let plain: String = word.chars().filter(|c| !matches!(c, '_' | '-')).collect();
        let (kinds, marked) = (kind(&plain), marks.contains([':', '=', '"', '>', '|']));
        let broken = marks.contains('\n');
        match kinds {
            _ if kinds.is(Kind::TITLE) && !broken && !marked && !marks.contains(',') => Lead::Title,
            _ if kinds.is(Kind::FIELD) && marked => Lead::Field,
            _ if kinds.is(Kind::LABEL) && marked => Lead::Label,
            _ if kinds.is(Kind::LEADS) => Lead::Word,
            _ => Lead::Nothing,
        }
    }
}
