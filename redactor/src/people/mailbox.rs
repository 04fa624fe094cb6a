//! Who a mail address belongs to, as headers and commits write it: `Lena Fors <lena@example.org>`
//! (`display-name`, RFC 5322 §3.4). The lists need not know the name.

use std::ops::Range;

use super::lists::{Kind, kind};

/// Bytes that such a name may take.
const LONGEST: usize = 64;
/// Words of a name.
const MOST: usize = 5;
/// Bytes of the address that a stream waits for.
const ADDRESS: usize = 64;
/// What mailboxes of nobody are called, and their addresses.
const ROLES: &str = "account accounts admin administrator alert alerts announce app automation billing board bot build builds \
    calendar campaign care center centre ci client cloud committee community company contact corp customer daemon \
    deploy desk dev developers digest digital dist events feedback finance forum foundation gmbh group hello help \
    helpdesk hr inc info invoice invoices jenkins jobs kundenservice learning limited list lists llc ltd mail \
    mailer mailing maintainer maintainers marketing members monitor monitoring news newsletter noreply \
    notification notifications notifier office online operations ops order orders partner partners payments \
    postmaster press privacy program programme project promo queue recruiting release releases reminder report \
    reports robot root sales security server service services shop software staff status store subscriptions \
    success support survey system systems tab team teams tech test testing tracker training travel undisclosed \
    university updates user users verein web webmaster weekly workflow";

/// The name before the `<` at a place, if the address behind it is a person's.
pub(crate) fn name(text: &str, open: usize, local: &str) -> Option<Range<usize>> {
    let role = |word: &str| {
        let word = word.to_lowercase();
        ROLES.split(' ').any(|role| role == word)
    };
    let local = local.to_lowercase();
    let parts = local.split(['.', '-', '_', '+']);
    let nobody = parts.clone().any(role) || parts.clone().any(|part| part.ends_with("reply"));
    let name = display(text, open)?;
    let words = words(text.get(name.clone())?);
    let several = (2..=MOST).contains(&words.len());
    let known = |word: &&str| {
        let kind = kind(word);
        let named = kind.is(Kind::GIVEN) || kind.is(Kind::SURNAME);
        named || kind.is(Kind::PARTICLE) || !kind.is(Kind::STOP)
    };
    // Of a title only words are left.
    let own = words.iter().any(|word| {
        let kind = kind(word);
        kind == Kind::default() || kind.is(Kind::GIVEN) || kind.is(Kind::SURNAME)
    });
    let person = several && own && words.iter().all(known) && !words.iter().any(|word| role(word));
    (person && !nobody).then_some(name)
}

fn words(name: &str) -> Vec<&str> {
    let parts = name.split([' ', ',', '.']);
    parts.filter(|word| !word.is_empty()).collect()
}

/// The name before the space that is before a place, with or without quotes around it.
fn display(text: &str, open: usize) -> Option<Range<usize>> {
    let before = text.get(..open)?.strip_suffix(' ')?;
    let quoted = before.strip_suffix('"');
    name_before(quoted.unwrap_or(before), quoted.is_some())
}

/// The words at the end of a text that may be a name: each has a capital, or is a small one inside of it.
/// In quotes the last name may stand first, before a comma.
fn name_before(text: &str, quoted: bool) -> Option<Range<usize>> {
    let from = text.ceil_char_boundary(text.len().saturating_sub(LONGEST));
    let near = text.get(from..)?;
    let part = |c: char| c.is_alphabetic() || " .'’-".contains(c) || (quoted && c == ',');
    let kept = near.trim_end_matches(part);
    // What is cut off is longer than a name.
    if kept.is_empty() && from > 0 {
        return None;
    }
    let (mut start, mut at) = (near.len(), near.len());
    for word in near.get(kept.len()..)?.rsplit(' ') {
        let begin = at - word.len();
        let capital = word.starts_with(char::is_uppercase);
        if !capital && !kind(word).is(Kind::PARTICLE) {
            break;
        }
        start = if capital { begin } else { start };
        at = begin.saturating_sub(1);
    }
    (start < near.len()).then_some(from + start..text.len())
}

/// Where the name begins of which the address has not come yet; else the text's length.
pub(crate) fn begun(text: &str) -> usize {
    let near = text.ceil_char_boundary(text.len().saturating_sub(ADDRESS));
    let address = text.get(near..).unwrap_or_default();
    let part = |c: char| c.is_ascii_alphanumeric() || "._%+-@".contains(c);
    let open = address.rfind('<');
    let open = open.filter(|at| {
        address
            .get(at + 1..)
            .is_some_and(|rest| rest.chars().all(part))
    });
    let name = match open {
        Some(at) => display(text, near + at),
        // The space or the quote behind it may be the next to come, or the rest of a small word.
        None => {
            let small = text.trim_end_matches(char::is_lowercase);
            let rest = if small.ends_with(' ') { small } else { text };
            name_before(rest.trim_end_matches(['"', ' ']), true)
        }
    };
    name.map_or(text.len(), |name| name.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{found, nothing};

    #[test]
    fn whose_address_it_is() {
        let mail = "<q.z@example.org>";
        for (before, name) in [
            ("From: ", "Qlaud Zzyrowski"),
            ("Signed-off-by: ", "Qlaud van der Zzyrowski"),
            ("authors = [\"", "Qlaud P. Zzyrowski"),
            ("to x, ", "Ñandú Zzyrowski-Vorn"),
        ] {
            found(&format!("{before}{name} {mail}"), "PERSON", &[name]);
        }
        found(
            "Norvid Zzyrowski <norvid@example.org>",
            "PERSON",
            &["Norvid Zzyrowski"],
        );
        found(
            &format!("To: \"Zzyrowski, Qlaud\" {mail}, y"),
            "PERSON",
            &["Zzyrowski, Qlaud"],
        );
    }

    #[test]
    fn whose_is_nobodys() {
        for text in [
            "From: Zzyrowski Support Team <q@example.org>",
            "From: Zzyrowski Qlaud <no-reply@example.org>",
            "From: Zzyrowski Qlaud <billing@example.org>",
            "From: Zzyrowski <q@example.org>",
            "and The Answer <q@example.org>",
            "Vec<Zzyrowski Qlaud>",
        ] {
            let engine = crate::Engine::new(&crate::Policy::default()).unwrap();
            let field = crate::Field {
                key: None,
                direction: crate::Direction::Prompt,
            };
            let hits = engine.find(text, field).unwrap();
            assert!(
                hits.iter().all(|hit| hit.label != crate::Label::PERSON),
                "{text}"
            );
        }
        nothing("Vec<Zzyrowski Qlaud>");
    }

    #[test]
    fn what_is_settled_stays() {
        let text = "so wrote Qlaud van der Zzyrowski <q.z@example.org>: \"Zzyrowski, Qlaud\" <q@example.org>";
        for name in ["Qlaud van der Zzyrowski", "Zzyrowski, Qlaud"] {
            let start = text.find(name).unwrap();
            let open = start + text[start..].find('<').unwrap();
            let found = super::name(text, open, "q").unwrap();
            assert_eq!(&text[found], name);
            for cut in start + 1..open + 10 {
                assert!(begun(&text[..cut]) <= start, "{:?}", &text[..cut]);
            }
        }
        assert_eq!(begun("so he wrote"), "so he wrote".len());
    }
}
