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
    /// A verb of speech, whose subject follows.
    Said,
    /// The end of a letter, on the line before.
    Closing,
}

impl Lead {
    pub(super) fn before(text: &str, start: usize) -> Lead {
        let head = text.get(..start).unwrap_or_default();
        if head.is_empty() {
            return Lead::Nothing;
        }
        if is_code(head.as_bytes()) {
            return Lead::Code;
        }
        let Some((kept, begin, marks)) = word_before(head) else {
            return Lead::Nothing;
        };
        let word = kept.get(begin..).unwrap_or_default();
        // `her maiden name is …`
        let told = matches!(
            word,
            "is" | "was" | "ist" | "est" | "es" | "är" | "er" | "jest"
        );
        let named = kept.get(..begin).unwrap_or_default().trim_end();
        if told && NAMES.iter().any(|name| named.ends_with(name)) {
            return Lead::Field;
        }
        if marks.contains('\n') && is_closing(word) {
            return Lead::Closing;
        }
        // `Dictated by: …`
        let verb = (word == "by" && marks.starts_with(':')).then(|| last_word(named));
        if verb.is_some_and(|at| named.get(at..).is_some_and(is_signing)) {
            return Lead::Field;
        }
        let declares = matches!(
            word,
            "class" | "struct" | "enum" | "interface" | "extends" | "implements" | "namespace"
        );
        if declares && marks == " " {
            return Lead::Code;
        }
        let kinds = match word.bytes().any(|b| matches!(b, b'_' | b'-')) {
            true => kind(&word.replace(['_', '-'], "")),
            false => kind(word),
        };
        // Most words lead to nothing, whatever stands around them.
        if !(kinds.is_lead() || word == "je") {
            return Lead::Nothing;
        }
        let marked = marks.contains([':', '=', '"', '>', '|', '?']);
        let broken = marks.contains('\n');
        match kinds {
            _ if kinds.is(Kind::TITLE) && !broken && !marked && !marks.contains(',') => Lead::Title,
            _ if kinds.is(Kind::FIELD) && marked => Lead::Field,
            _ if kinds.is(Kind::LABEL) && marked => Lead::Label,
            // `self.called = False`
            _ if kinds.is(Kind::LEADS) && !marks.contains('=') => Lead::Word,
            _ if marks == " " && says(kept, begin, kinds) => Lead::Said,
            _ => Lead::Nothing,
        }
    }
}

/// How letters end.
const CLOSINGS: &[&str] = &[
    "atenciosamente",
    "atentamente",
    "best",
    "cheers",
    "cordialement",
    "cordially",
    "cumprimentos",
    "faithfully",
    "groet",
    "groeten",
    "gruß",
    "gruss",
    "grüße",
    "grüßen",
    "grüssen",
    "hilsen",
    "hälsning",
    "hälsningar",
    "pozdravem",
    "pozdravom",
    "pozdrowieniami",
    "poważaniem",
    "regards",
    "respectfully",
    "saludos",
    "saluti",
    "saygılarımla",
    "sincerely",
    "terveisin",
    "truly",
    "wishes",
    "yours",
    "повагою",
    "уважением",
];

fn is_closing(word: &str) -> bool {
    let first = |b: u8| b >= 0x80 || b"abcfghprstwy".contains(&(b | 0x20));
    word.bytes().next().is_some_and(first) && CLOSINGS.contains(&word.to_lowercase().as_str())
}

/// What people do to a paper by their own hand.
fn is_signing(verb: &str) -> bool {
    const VERBS: &[&str] = &[
        "attested",
        "authored",
        "dictated",
        "examined",
        "interpreted",
        "referred",
        "signed",
        "transcribed",
        "witnessed",
        "written",
    ];
    VERBS.iter().any(|known| known.eq_ignore_ascii_case(verb))
}

/// Whether the last word is a verb of speech, or the small one behind such a verb: `kazao je`.
fn says(kept: &str, begin: usize, own: Kind) -> bool {
    let verb = |text: &str, begin: usize| text.get(begin..).is_some_and(is_lower);
    if own.is(Kind::SAYS) {
        return verb(kept, begin);
    }
    let before = kept.get(..begin).and_then(|head| head.strip_suffix(' '));
    before
        .filter(|_| kept.get(begin..) == Some("je"))
        .is_some_and(|head| {
            let begin = last_word(head);
            verb(head, begin) && kind(head.get(begin..).unwrap_or_default()).is(Kind::SAYS)
        })
}

fn is_lower(word: &str) -> bool {
    word.starts_with(char::is_lowercase)
}

/// Whether a mark stands right before that sets names of code, addresses and paths apart.
pub(super) fn is_code(head: &[u8]) -> bool {
    match head {
        [.., b':', b':'] => true,
        [.., last] => b"./\\@#$-&<{_~%`".contains(last),
        [] => false,
    }
}

/// What stands near before a name without the marks between, where its last word begins, and
/// those marks.
fn word_before(head: &str) -> Option<(&str, usize, &str)> {
    let from = head.len().saturating_sub(REACH);
    let near = head.get(head.ceil_char_boundary(from)..)?;
    let kept = without_marks(near);
    let marks = near.get(kept.len()..)?;
    let begin = last_word(kept);
    let length = kept.len() - begin;
    (marks.len() <= MARKS && (1..=LONGEST).contains(&length)).then_some((kept, begin, marks))
}

fn without_marks(near: &str) -> &str {
    let mut kept = near;
    while let Some(last) = kept.as_bytes().last() {
        let rest = match last {
            b' ' | b'\t' | b'"' | b'\'' | b'>' | b':' | b'?' | b'=' | b'|' | b'*' | b'(' | b'.'
            | b',' | b'\n' | b'[' | b'\\' => kept.get(..kept.len() - 1),
            0x80.. => kept.strip_suffix(['„', '“', '«']),
            _ => None,
        };
        let Some(rest) = rest else { break };
        kept = rest;
    }
    kept
}

/// Where the last word of a text begins.
fn last_word(kept: &str) -> usize {
    let bytes = kept.as_bytes();
    let inside = |b: &u8| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-');
    match bytes.iter().rposition(|b| !inside(b)) {
        None => 0,
        Some(at) if bytes.get(at).is_some_and(u8::is_ascii) => at + 1,
        Some(_) => kept
            .char_indices()
            .rev()
            .find(|(_, c)| !c.is_alphabetic() && !matches!(c, '_' | '-'))
            .map_or(0, |(at, c)| at + c.len_utf8()),
    }
}
