//! How the angle brackets of a token may be written, and what that says of the text around it: a
//! token that stands escaped is put back escaped in the same way.

use std::fmt::Write as _;

use crate::json::escaped;

/// How a token is written, each so many times over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As a part of an HTML text.
    Entity(u8),
    /// As a part of a JSON string.
    Json(u8),
    /// As a part of a URL.
    Percent(u8),
    /// As it is, or escaped for Markdown.
    Plain,
}

impl Form {
    /// A value as it is written in the place of a token of this form.
    pub(super) fn written(self, value: &str) -> String {
        let (times, write): (u8, fn(&str) -> String) = match self {
            Self::Plain => return value.to_owned(),
            Self::Entity(times) => (times, entities),
            Self::Json(times) => (times, |text| escaped(text).into_owned()),
            Self::Percent(times) => (times, percent),
        };
        (0..times).fold(value.to_owned(), |text, _| write(&text))
    }
}

/// Which of the two brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Closing,
    Opening,
}

/// What stands where a bracket may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bracket {
    Here(usize, Form),
    No,
    /// The text ends before it is clear.
    Perhaps,
}

type Spelling = (&'static [u8], &'static [u8], Form);

/// Opening, closing, what they are. In lower case; case does not matter.
const SPELLINGS: [Spelling; 8] = [
    (b"<", b">", Form::Plain),
    (b"%3c", b"%3e", Form::Percent(1)),
    (b"%253c", b"%253e", Form::Percent(2)),
    (b"&lt;", b"&gt;", Form::Entity(1)),
    (b"&#60;", b"&#62;", Form::Entity(1)),
    (b"&#x3c;", b"&#x3e;", Form::Entity(1)),
    (b"&amp;lt;", b"&amp;gt;", Form::Entity(2)),
    (b"&amp;#60;", b"&amp;#62;", Form::Entity(2)),
];
/// The same behind backslashes.
const BACKSLASHED: [Spelling; 2] = [
    (b"<", b">", Form::Plain),
    (b"u003c", b"u003e", Form::Json(1)),
];

/// Reads a bracket at the start of `rest`, in front of which so many backslashes stand.
pub(super) fn bracket(rest: &[u8], side: Side, slashes: usize) -> Bracket {
    let spellings: &[Spelling] = if slashes > 0 {
        &BACKSLASHED
    } else {
        &SPELLINGS
    };
    let mut perhaps = rest.is_empty();
    for (opening, closing, form) in spellings {
        let spelling = match side {
            Side::Closing => closing,
            Side::Opening => opening,
        };
        let common = rest.len().min(spelling.len());
        let (Some(head), Some(wanted)) = (rest.get(..common), spelling.get(..common)) else {
            continue;
        };
        if head.eq_ignore_ascii_case(wanted) {
            if common == spelling.len() {
                return Bracket::Here(common, layered(*form, slashes));
            }
            perhaps = true;
        }
    }
    if perhaps {
        Bracket::Perhaps
    } else {
        Bracket::No
    }
}

/// Each layer of JSON doubles the backslashes of the one in it.
fn layered(form: Form, slashes: usize) -> Form {
    match form {
        Form::Json(_) if slashes >= 4 => Form::Json(3),
        Form::Json(_) if slashes >= 2 => Form::Json(2),
        form => form,
    }
}

/// Unreserved characters (RFC 3986 §2.3) stand as they are, all other bytes escaped.
fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_their_token_was() {
        let value = "O'Hara & \"S\u{f6}n\" <x@y.example>\n";
        for (form, written) in [
            (Form::Plain, value),
            (
                Form::Percent(1),
                "O%27Hara%20%26%20%22S%C3%B6n%22%20%3Cx%40y.example%3E%0A",
            ),
            (
                Form::Entity(1),
                "O&#39;Hara &amp; &quot;S\u{f6}n&quot; &lt;x@y.example&gt;\n",
            ),
            (Form::Json(1), "O'Hara & \\\"S\u{f6}n\\\" <x@y.example>\\n"),
        ] {
            assert_eq!(form.written(value), written);
        }
        assert_eq!(Form::Percent(2).written("a@b"), "a%2540b");
        assert_eq!(Form::Entity(2).written("a&b"), "a&amp;amp;b");
        assert_eq!(Form::Json(2).written("a\"b"), "a\\\\\\\"b");
    }
}
