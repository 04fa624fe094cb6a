//! Mail addresses: RFC 5321 in the forms people use, and the ways they write `@` to hide it.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};

use super::checked;

/// Letters of the Latin, Greek and Cyrillic scripts, two bytes each, may stand in an address.
const MAIL: &str = r"(?:[A-Za-z0-9_.+%-]|[\xC3-\xD4][\x80-\xBF]){1,64}@(?:(?:[A-Za-z0-9_-]|[\xC3-\xD4][\x80-\xBF]){1,63}\.){1,8}(?:[A-Za-z][A-Za-z0-9-]{1,23}|(?:[\xC3-\xD4][\x80-\xBF]){2,12})";

/// A full stop, hidden: `[dot]` in brackets, in the languages whose readers write so.
macro_rules! dot {
    () => {
        r"[\[({<] ?(?:dot|\.|punkt|punto|point|ponto|kropka|te\xC4\x8Dka|pont|piste|punt|\xD1\x82\xD0\xBE\xD1\x87\xD0\xBA\xD0\xB0) ?[\])}>]"
    };
}

const HIDDEN: &str = concat!(
    r"(?i)[a-z0-9_.+-]{1,64} ?(?:[\[({<] ?(?:at|@) ?[\])}>]| at |_at_) ?[a-z0-9-]{1,63}(?: ?(?:",
    dot!(),
    r"|\.| dot |_dot_) ?[a-z0-9-]{2,63}){1,5}"
);

/// With such dots before the sign as well.
const HIDDEN_DOTS: &str = concat!(
    r"(?i)(?:[a-z0-9_+-]{1,32} ?",
    dot!(),
    r" ?){1,2}[a-z0-9_+-]{1,32} ?[\[({<] ?(?:at|@) ?[\])}>] ?[a-z0-9-]{1,63}(?: ?(?:",
    dot!(),
    r"|\.) ?[a-z0-9-]{2,63}){1,5}"
);

/// The sign in other languages: `(małpa)`, `[arroba]`.
const HIDDEN_ABROAD: &str = concat!(
    r"(?i)[a-z0-9_.+-]{1,64} ?[\[({<] ?(?:arroba|arobase|chiocciola|ma(?:l|\xC5\x82)pa|kukac|snabel-?a|apenstaartje|\xD1\x81\xD0\xBE\xD0\xB1\xD0\xB0\xD0\xBA\xD0\xB0) ?[\])}>] ?[a-z0-9-]{1,63}(?: ?(?:",
    dot!(),
    r"|\.) ?[a-z0-9-]{2,63}){1,5}"
);

/// What stands behind the last dot of file names, not of domains.
const FILE_ENDINGS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "svg", "webp", "js", "ts", "tsx", "jsx", "css", "scss", "json",
    "html", "htm", "xml", "yaml", "yml", "toml", "txt", "md", "py", "rs", "go", "java", "class",
    "so", "dll", "exe", "gz", "zip", "tar", "tgz", "whl", "lock", "service", "target", "mjs",
];

/// Addresses without anything between them are one finding up to this length.
const GLUED: usize = 200;
/// Of a domain (RFC 1035 §2.3.4), and how many labels the head of the rule reads.
const LONGEST_LABEL: usize = 63;
const MOST_LABELS: usize = 8;

/// An address that a line break cut at its `@`.
const WRAPPED: &str =
    r"[A-Za-z0-9_.+-]{1,64}(?:@\r?\n|\r?\n@)(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}";
/// One that a line break cut in the first part of its domain.
const CUT: &str = r"[A-Za-z0-9_.+-]{1,64}@[a-z0-9-]{1,32}\r?\n[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,4}\.[a-z]{2,24}";

/// A local part in quotes (RFC 5322): `"lena fors"@example.org`.
const QUOTED: &str =
    r#""[A-Za-z0-9][A-Za-z0-9 ._+-]{0,62}"@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}"#;

pub(super) fn rules() -> Vec<Rule> {
    vec![
        checked(
            "mail-quoted",
            Label::EMAIL,
            QUOTED,
            (Left::Any, Tail::None),
            quoted,
        ),
        checked("mail", Label::EMAIL, MAIL, (Left::Any, Tail::None), mail),
        checked(
            "mail-wrapped",
            Label::EMAIL,
            WRAPPED,
            (Left::Token, Tail::None),
            wrapped,
        ),
        checked(
            "mail-cut",
            Label::EMAIL,
            CUT,
            (Left::Token, Tail::None),
            cut,
        ),
        checked(
            "mail-hidden-abroad",
            Label::EMAIL,
            HIDDEN_ABROAD,
            (Left::Token, Tail::None),
            hidden,
        ),
        checked(
            "mail-hidden-dots",
            Label::EMAIL,
            HIDDEN_DOTS,
            (Left::Token, Tail::None),
            hidden,
        ),
        checked(
            "mail-hidden",
            Label::EMAIL,
            HIDDEN,
            (Left::Token, Tail::None),
            hidden,
        ),
    ]
}

/// In JSON in a string quotes have a backslash before them, and the first is another string's.
fn quoted(candidate: &Candidate<'_>) -> Option<Hit> {
    let goes_on = candidate
        .next()
        .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'-');
    let escaped = candidate.previous() == Some(b'\\');
    (!goes_on && !escaped)
        .then(|| candidate.whole(Label::EMAIL, 90))
        .flatten()
}

fn mail(candidate: &Candidate<'_>) -> Option<Hit> {
    let (before, domain) = candidate.matched().split_once('@')?;
    // No address has two dots in a row: they lead to it, as in `E-mail.....lena@example.org`.
    let led = before.rfind("..").map_or(0, |at| at + 2);
    let part = |b: u8| b.is_ascii_alphanumeric() || b"_.+%-".contains(&b);
    let begins = led > 0 || candidate.text.get(..candidate.start)?.ends_with("..");
    let local = before.get(led..)?;
    if local.is_empty() || (!begins && candidate.previous().is_some_and(part)) {
        return None;
    }
    let ending = domain.rsplit('.').next()?;
    let domain = domain.trim_end_matches(['-', '.']);
    let plain = !domain.split('.').any(|part| part.starts_with('-'));
    // `git@host:path` is how a repository is addressed.
    let repository = local == "git" && matches!(candidate.next(), Some(b':' | b'/'));
    if !plain || repository || FILE_ENDINGS.iter().any(|e| e.eq_ignore_ascii_case(ending)) {
        return None;
    }
    let start = candidate.start + led;
    let end = glued(
        candidate.text,
        start,
        start + local.len() + 1 + domain.len(),
    );
    let whole = candidate.whole(Label::EMAIL, 95)?;
    Some(Hit {
        start,
        end,
        ..whole
    })
}

/// Where addresses end that nothing stands between, so that the domain of one holds the next one's first
/// part: they are one finding, since nobody can tell which part is whose.
fn glued(text: &str, start: usize, end: usize) -> usize {
    let mut end = end;
    while let Some(rest) = text.get(end..).and_then(|rest| rest.strip_prefix('@')) {
        let domain = domain(rest);
        if domain.is_empty() || end + 1 + domain.len() > start + GLUED {
            break;
        }
        end += 1 + domain.len();
    }
    end
}

/// The domain at the start of a text, as far as the head of the rule follows one: a stream waits no longer.
fn domain(text: &str) -> &str {
    let part = |b: &u8| b.is_ascii_alphanumeric() || b"_-".contains(b);
    let mut length = 0;
    for _ in 0..MOST_LABELS {
        let rest = text.as_bytes().get(length..).unwrap_or_default();
        let label = rest.iter().take_while(|b| part(b)).count();
        if !(1..=LONGEST_LABEL).contains(&label) {
            break;
        }
        length += label + usize::from(rest.get(label) == Some(&b'.'));
        if rest.get(label) != Some(&b'.') {
            break;
        }
    }
    text.get(..length)
        .unwrap_or_default()
        .trim_end_matches(['.', '-'])
}

/// A decorator on the next line looks alike, so the ending has to be a common one.
fn wrapped(candidate: &Candidate<'_>) -> Option<Hit> {
    let ending = candidate.matched().rsplit('.').next()?.to_ascii_lowercase();
    COMMON
        .contains(&ending.as_str())
        .then(|| candidate.whole(Label::EMAIL, 80))
        .flatten()
}

/// A site on the next line looks alike.
fn cut(candidate: &Candidate<'_>) -> Option<Hit> {
    let (_, next) = candidate.matched().split_once('\n')?;
    let site = next.starts_with("www.") || next.starts_with('-');
    let goes_on = candidate
        .next()
        .is_some_and(|b| b.is_ascii_alphanumeric() || b"-_/(=@".contains(&b));
    (!site && !goes_on).then(|| wrapped(candidate)).flatten()
}

fn hidden(candidate: &Candidate<'_>) -> Option<Hit> {
    let text = candidate.matched().to_ascii_lowercase();
    let ending = text.rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?;
    let bracketed = text.contains(['[', '(', '{', '<']);
    // Without brackets the words are ordinary English, so the whole form has to be spelled out.
    let spaced = text.contains(" at ") && text.contains(" dot ");
    let spelled = (spaced || text.contains("_at_")) && COMMON.contains(&ending);
    let letters = ending.bytes().all(|b| b.is_ascii_alphabetic());
    ((bracketed && letters) || spelled)
        .then(|| candidate.whole(Label::EMAIL, 85))
        .flatten()
}

const COMMON: &[&str] = &[
    "com", "org", "net", "edu", "gov", "io", "co", "de", "fr", "uk", "nl", "pl", "it", "es", "eu",
    "us", "ca", "ch", "at", "se", "no", "dk", "fi", "pt", "br", "in", "jp", "cn", "ru", "info",
    "dev", "app", "me", "ai", "biz",
];

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn dots_that_lead_to_an_address() {
        for dots in [2, 3, 5, 63, 64, 65, 200] {
            let text = format!("E-mail{}lena.fors@example.org", ".".repeat(dots));
            found(&text, "EMAIL", &["lena.fors@example.org"]);
        }
        found("see ..lena@example.org", "EMAIL", &["lena@example.org"]);
        nothing("x..@example.org");
    }

    #[test]
    fn hidden_dots_and_breaks_inside() {
        for address in [
            "ana [dot] rey7 [at] mail (dot) org",
            "ana.rey@ma\nil.example.org",
        ] {
            found(&format!("write to {address}, please"), "EMAIL", &[address]);
        }
        nothing("ssh ana@box7\nwww.example.org");
    }

    #[test]
    fn addresses_as_people_write_them() {
        found(
            "mail lena.fors@example.org now",
            "EMAIL",
            &["lena.fors@example.org"],
        );
        found(
            "<a+b_c%d@sub.example.co.uk>",
            "EMAIL",
            &["a+b_c%d@sub.example.co.uk"],
        );
        found("jörg@bücher.example, x", "EMAIL", &["jörg@bücher.example"]);
        found("write to lena@example.org.", "EMAIL", &["lena@example.org"]);
        found(
            "lena [at] example [dot] org",
            "EMAIL",
            &["lena [at] example [dot] org"],
        );
        found("lena(at)example.org", "EMAIL", &["lena(at)example.org"]);
        found(
            "lena dot fors at example dot org",
            "EMAIL",
            &["fors at example dot org"],
        );
        found(
            "lena [kropka] fors (małpa) example [kropka] pl",
            "EMAIL",
            &["fors (małpa) example [kropka] pl"],
        );
        found(
            "lena(arroba)example(punto)es, y",
            "EMAIL",
            &["lena(arroba)example(punto)es"],
        );
    }

    #[test]
    fn nothing_between_them() {
        let one = "lena.fors@example.org";
        for count in [2, 3, 5] {
            let text = one.repeat(count);
            found(&format!("to {text}, and"), "EMAIL", &[&text]);
        }
        found(
            "a.b@x.org@jump.example.net:2",
            "EMAIL",
            &["a.b@x.org@jump.example.net"],
        );
    }

    #[test]
    fn a_sign_between_two_that_reads_as_several() {
        let text = "lena.fors@example.org\u{bc}ana.rey@example.net";
        found(
            text,
            "EMAIL",
            &["lena.fors@example.org\u{bc}", "ana.rey@example.net"],
        );
    }

    #[test]
    fn what_only_looks_like_an_address() {
        for text in [
            "git@github.com:org/repo.git",
            "icon@2x.png",
            "@decorator.method",
            "a@b",
            "pkg@1.2.3",
            "let x = values[at].dot",
            "we met at noon (dot)",
        ] {
            nothing(text);
        }
    }
}
