//! Reads the value behind a cue: where it begins and ends.

use super::super::dates;

/// How values of a scheme are written.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    /// So many digits, fewest and most, however they are set apart.
    Digits(usize, usize),
    /// Letters and digits, fewest and most, with at least so many digits.
    Code(usize, usize, usize),
    /// A date in figures or words.
    Date,
    /// Years of age.
    Age,
    /// A login name.
    Login,
    /// A street with its number, in whatever case.
    Street,
    /// Any one word with this many bytes or more: a key, a serial.
    Word(usize),
}

impl Value {
    /// Where the value begins and ends in the text behind the cue.
    pub(super) fn read(self, rest: &str) -> Option<(usize, usize)> {
        let from = rest
            .bytes()
            .take_while(|b| matches!(b, b' ' | b'\t' | b'(' | b'"' | b'\'' | b'#' | b'['))
            .count();
        let text = rest.get(from..)?;
        let length = match self {
            Value::Digits(fewest, most) => digits(text, fewest, most),
            Value::Code(fewest, most, figures) => code(text, fewest, most, figures),
            Value::Date => dates::length(text),
            Value::Age => age(text),
            Value::Login => login(text),
            Value::Street => super::street::length(text),
            Value::Word(fewest) => word(text, fewest),
        }?;
        Some((from, from + length))
    }
}

/// Letters that stand for digits where print was read by a machine.
fn misread(byte: u8) -> bool {
    matches!(byte, b'l' | b'I' | b'O' | b'o')
}

fn digits(text: &str, fewest: usize, most: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut count, mut figures, mut best) = (0, 0, None);
    let mut first = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_digit() || (count > 0 && misread(*byte)) {
            count += 1;
            figures += usize::from(byte.is_ascii_digit());
            at += 1;
            let next = bytes.get(at).copied().unwrap_or(b' ');
            let ends = !next.is_ascii_alphanumeric() && next != b'_';
            if ends {
                first.get_or_insert(count);
            }
            if ends && (fewest..=most).contains(&count) && figures * 3 >= count * 2 {
                best = Some(at);
            }
            continue;
        }
        let gap = bytes
            .iter()
            .skip(at)
            .take_while(|b| b" .-/\n\r\t".contains(b))
            .count();
        let figure = bytes.get(at + gap).is_some_and(u8::is_ascii_digit);
        // Groups of a size go on; a longer first group is whole when it is long enough.
        let apart = best.is_some() && (*byte != b'-' && first.is_some_and(|first| first > 4));
        let broken = best.is_some() && bytes.iter().skip(at).take(gap).any(|b| *b == b'\n');
        if !figure || count == 0 || gap == 0 || gap > 3 || count >= most || apart || broken {
            break;
        }
        at += gap;
    }
    best
}

fn code(text: &str, fewest: usize, most: usize, figures: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut count, mut digits, mut best, mut at) = (0, 0, None, 0);
    loop {
        let group = bytes
            .iter()
            .skip(at)
            .take_while(|b| b.is_ascii_alphanumeric())
            .count();
        let run = bytes.get(at..at + group)?;
        let here = run.iter().filter(|b| b.is_ascii_digit()).count();
        let capital = !run.iter().any(u8::is_ascii_lowercase);
        // A word without a figure belongs to a code only as its prefix or as a short capital part.
        let dash = bytes.get(at + group).is_some_and(|b| b"-/".contains(b));
        let part = here > 0 || (capital && group <= 4) || (count == 0 && dash && group <= 4);
        if group == 0 || !part || count + group > most {
            break;
        }
        count += group;
        digits += here;
        at += group;
        let follows = bytes.get(at).copied();
        if count >= fewest && digits >= figures && follows != Some(b'_') {
            best = Some(at);
        }
        let joined = match (follows, bytes.get(at + 1)) {
            (Some(b'-' | b'/' | b'.'), Some(next)) => next.is_ascii_alphanumeric(),
            // Behind a space only what is still lacking.
            (Some(b' '), Some(next)) => {
                next.is_ascii_digit() && best.is_none()
                    || next.is_ascii_uppercase() && count < most && group <= 4 && count < fewest
            }
            _ => false,
        };
        if !joined {
            break;
        }
        at += 1;
    }
    best
}

fn age(text: &str) -> Option<usize> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let years: u32 = text.get(..length)?.parse().ok()?;
    let next = text.as_bytes().get(length);
    let ends = next.is_none_or(|b| !b.is_ascii_alphanumeric() && !b"%.:/_".contains(b));
    let ends = ends
        || text.get(length..).is_some_and(|rest| {
            rest.starts_with(['.', ':']) && !rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
        });
    ((1..=3).contains(&length) && (1..=120).contains(&years) && ends).then_some(length)
}

/// What the parts of programs that hold a login are called: `var.db_username`.
const OBJECTS: &[&str] = &[
    "account", "args", "cfg", "conf", "config", "context", "creds", "ctx", "data", "each", "env",
    "event", "form", "input", "local", "module", "opts", "options", "params", "payload", "process",
    "props", "req", "request", "row", "secrets", "self", "session", "settings", "state", "this",
    "user", "values", "var", "vars",
];

/// Words that stand where a login would, in code and in sentences.
const NO_LOGIN: &[&str] = &[
    "admin",
    "changeme",
    "example",
    "placeholder",
    "administrator",
    "root",
    "user",
    "users",
    "username",
    "guest",
    "null",
    "none",
    "nil",
    "undefined",
    "true",
    "false",
    "string",
    "str",
    "self",
    "this",
    "anonymous",
    "unknown",
    "system",
    "default",
    "test",
    "name",
    "login",
    "owner",
    "service",
    "nobody",
    "postgres",
    "ubuntu",
    "ec2-user",
    "www-data",
    "nginx",
    "daemon",
    "git",
    "bot",
    "and",
    "or",
    "is",
    "was",
    "not",
    "the",
    "for",
    "with",
    "from",
    "has",
    "in",
    "to",
    "of",
    "a",
    "id",
    "me",
    "you",
    "get",
    "set",
    "new",
    "data",
    "value",
    "type",
    "info",
    "error",
    "required",
    "optional",
    "password",
    "email",
    "agent",
    "assistant",
    "tool",
    "model",
    "runner",
    "jenkins",
    "github-actions",
    "dependabot",
    "deploy",
    "backup",
    "monitor",
    "vscode",
    "codespace",
    "node",
    "app",
    "apache",
    "mysql",
    "public",
    "private",
    "session",
    "token",
    "account",
    "profile",
    "request",
    "response",
    "input",
    "any",
    "u8",
    "u16",
    "u32",
    "u64",
    "i32",
    "i64",
    "usize",
    "const",
    "static",
    "struct",
    "enum",
    "let",
    "var",
    "function",
    "class",
    "return",
    "said",
    "says",
    "object",
    "option",
    "int",
    "bool",
    "text",
    "varchar",
    "char",
    "server",
    "client",
    // Forms of output: `reporter: ["html"]`.
    "allure",
    "clover",
    "cobertura",
    "csv",
    "dot",
    "github",
    "html",
    "json",
    "json-summary",
    "junit",
    "lcov",
    "line",
    "list",
    "markdown",
    "nyan",
    "progress",
    "spec",
    "tap",
    "teamcity",
    "text-summary",
    "verbose",
    "xml",
    "xunit",
];

fn login(text: &str) -> Option<usize> {
    let inside = |b: &u8| b.is_ascii_alphanumeric() || b"._-".contains(b);
    let length = text.bytes().take_while(inside).count();
    let whole = text.get(..length)?;
    let name = whole.trim_end_matches(['.', '-', '_']);
    let next = text.as_bytes().get(name.len());
    let ends = next.is_none_or(|b| b"\"' \n\r\t,;:)<&|]}".contains(b) || *b == b'.');
    let known = NO_LOGIN.iter().any(|word| word.eq_ignore_ascii_case(name));
    // `self.user`, `user_id`, `getName`: names of code; a login is one word, often with a figure.
    let path = text
        .get(name.len()..)
        .is_some_and(|rest| rest.starts_with("::"));
    let parts = name.split(['.', '_', '-']).count();
    let object = name.split_once('.').map(|(object, _)| object);
    let code = object.is_some_and(|object| OBJECTS.contains(&object));
    let camel = name
        .as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    // `User: Marcus Paulsen`: a name, or the first word of a sentence.
    let plain = name.bytes().skip(1).all(|b| b.is_ascii_lowercase());
    let named = plain && name.starts_with(|c: char| c.is_ascii_uppercase());
    let fits = !named
        && (3..=40).contains(&name.len())
        && parts <= 3
        && starts
        && !camel
        && !known
        && !code
        && !path
        && ends;
    fits.then_some(name.len())
}

fn word(text: &str, fewest: usize) -> Option<usize> {
    let inside = |b: &u8| b.is_ascii_alphanumeric() || b"-_.:".contains(b);
    let length = text.bytes().take_while(inside).count();
    let name = text.get(..length)?.trim_end_matches(['.', ':', '-', '_']);
    let figures = name.bytes().filter(u8::is_ascii_digit).count();
    (name.len() >= fewest && figures >= 3).then_some(name.len())
}
