//! One plain form of a text for the rules, and the way back to its bytes.
//!
//! Compatibility forms, dashes, spaces and digits of all scripts become ASCII; format characters
//! (zero-width, soft hyphen, bidirectional controls) disappear; percent, HTML and JSON escapes
//! are opened; what sets colours in a terminal counts as nothing. Every character is handled alone, so offsets map back exactly, and a text that
//! has nothing to normalise is borrowed.

mod escape;
mod fold;
mod sequence;

use std::borrow::Cow;

pub(crate) use self::escape::cut_off;
use self::fold::Folded;
pub(crate) use self::fold::{is_format, plain_letters};
use crate::seek::Places;

/// A normalised text and how its offsets map back.
pub(crate) struct View<'t> {
    pub text: Cow<'t, str>,
    edits: Vec<Edit>,
}

/// A stretch of the source that reads differently in the view. Between edits both agree.
#[derive(Clone, Copy)]
struct Edit {
    view: usize,
    view_end: usize,
    source: usize,
    source_end: usize,
}

impl<'t> View<'t> {
    /// Normalises.
    pub(crate) fn of(source: &'t str) -> View<'t> {
        if source.is_ascii() && !escape::possible(source.as_bytes()) {
            return View {
                text: Cow::Borrowed(source),
                edits: Vec::new(),
            };
        }
        let mut builder = Builder {
            source,
            out: String::new(),
            copied: 0,
            edits: Vec::new(),
        };
        let bytes = source.as_bytes();
        let (mut special, mut at) = (Places::of(bytes, is_special), 0);
        while let Some(place) = special.from(at) {
            at = place
                + match bytes.get(place) {
                    Some(0x80..) => builder.character(place),
                    Some(&sequence::ESCAPE) => builder.sequence(place).unwrap_or(1),
                    _ => builder.escape(place),
                };
        }
        builder.finish()
    }

    /// The first source byte of what stands at this place of the view.
    pub(crate) fn start(&self, view: usize) -> usize {
        let (before, _) = self.around(view);
        match before {
            Some(edit) if view < edit.view_end => edit.source,
            Some(edit) => edit.source_end + (view - edit.view_end),
            None => view,
        }
    }

    /// One past the last source byte of what ends at this place of the view.
    pub(crate) fn end(&self, view: usize) -> usize {
        // What ends here is what the byte before belongs to.
        let Some(last) = view.checked_sub(1) else {
            return 0;
        };
        match self.around(last).0 {
            Some(edit) if last < edit.view_end => edit.source_end,
            Some(edit) => edit.source_end + (view - edit.view_end),
            None => view,
        }
    }

    /// The last edit that begins at or before this place, and its number.
    fn around(&self, view: usize) -> (Option<&Edit>, usize) {
        let after = self.edits.partition_point(|edit| edit.view <= view);
        (
            after.checked_sub(1).and_then(|at| self.edits.get(at)),
            after,
        )
    }
}

/// Whether a byte may begin an escape or a character beyond ASCII; others are what they look like.
fn is_special(byte: u8) -> bool {
    let opens = (byte == b'%') | (byte == b'&') | (byte == b'\\') | (byte == b'=');
    opens | (byte == sequence::ESCAPE) | (byte >= 0x80)
}

struct Builder<'t> {
    source: &'t str,
    out: String,
    copied: usize,
    edits: Vec<Edit>,
}

impl<'t> Builder<'t> {
    /// Opens the escape at `at`, if it is one. Returns how many bytes are done.
    fn escape(&mut self, at: usize) -> usize {
        let rest = self.source.as_bytes().get(at..).unwrap_or_default();
        if !escape::may_open(rest) {
            return 1;
        }
        if let Some(length) = self.sequence(at) {
            return length;
        }
        let Some((character, length)) = escape::open(self.source, at) else {
            return 1;
        };
        let rest = self.source.as_bytes().get(at..).unwrap_or_default();
        if escape::stays_escaped(rest, character) {
            let plain: String = ['\\', character].iter().collect();
            self.replace(at, length, &plain);
            return length;
        }
        match fold::fold(character) {
            Folded::Dropped => self.replace(at, length, ""),
            Folded::Same => self.replace(at, length, character.encode_utf8(&mut [0; 4])),
            Folded::To(text) => self.replace(at, length, &text),
        }
        length
    }

    /// Drops the control sequence at `at`, if it is one. Returns its length.
    fn sequence(&mut self, at: usize) -> Option<usize> {
        let length = sequence::length(self.source.as_bytes().get(at..)?)?;
        self.replace(at, length, "");
        Some(length)
    }

    fn character(&mut self, at: usize) -> usize {
        let Some(character) = self.source.get(at..).and_then(|rest| rest.chars().next()) else {
            return 1;
        };
        let length = character.len_utf8();
        match fold::fold(character) {
            Folded::Same => {}
            Folded::Dropped => self.replace(at, length, ""),
            Folded::To(text) => self.replace(at, length, &text),
        }
        length
    }

    fn replace(&mut self, at: usize, length: usize, text: &str) {
        self.out
            .push_str(self.source.get(self.copied..at).unwrap_or_default());
        let view = self.out.len();
        self.out.push_str(text);
        self.copied = at + length;
        let view_end = self.out.len();
        self.edits.push(Edit {
            view,
            view_end,
            source: at,
            source_end: at + length,
        });
    }

    fn finish(mut self) -> View<'t> {
        if self.edits.is_empty() {
            return View {
                text: Cow::Borrowed(self.source),
                edits: Vec::new(),
            };
        }
        self.out
            .push_str(self.source.get(self.copied..).unwrap_or_default());
        View {
            text: Cow::Owned(self.out),
            edits: self.edits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(View::of("a=1, b").text, Cow::Borrowed(_)));
        assert!(matches!(View::of("żółć 東京").text, Cow::Borrowed(_)));
    }

    #[test]
    fn forms_and_escapes_read_alike() {
        for (source, view) in [
            ("４１１１", "4111"),
            ("555–9849", "555-9849"),
            ("le\u{200B}na", "lena"),
            ("ex\u{AD}am", "exam"),
            ("a%40b", "a@b"),
            ("a%2540b", "a@b"),
            ("477&#45;73", "477-73"),
            ("a&commat;b", "a@b"),
            ("a\\u0040b", "a@b"),
            ("a\\\\u0040b", "a@b"),
            ("٤١١١", "4111"),
            ("%C3%A9", "é"),
            ("a\\nb", "a\nb"),
            ("ghp_16\\\nC7e42F", "ghp_16C7e42F"),
            ("4111\\\r\n1111", "41111111"),
            ("100% & more", "100% & more"),
            ("lena=40example.org, x=40", "lena@example.org, x=40"),
            ("\\\"x\\\"", "\\\"x\\\""),
            ("{\\u0022k\\u0022:\\\\u0027v", "{\\\"k\\\":\\'v"),
            ("\\x22a\\u005cb\\u003Ec", "\\\"a\\\\b>c"),
            ("t=3Dghp, x=30", "t=ghp, x=30"),
            (
                "ana=2Drey=2E7=40mail=2Eorg, x=2D",
                "ana-rey.7@mail.org, x=2D",
            ),
            ("4111 11=\n11 1111", "4111 1111 1111"),
            ("ana.re=\ny@mail.org", "ana.rey@mail.org"),
            ("A=\nB=1", "A=\nB=1"),
            ("KEY=abcd==\nDEBUG=false", "KEY=abcd==\nDEBUG=false"),
            ("a\u{1b}[01;31mb\u{1b}[mc", "abc"),
            ("a\\x1b[32mb\\\\u001b[0m", "ab"),
        ] {
            assert_eq!(View::of(source).text, view, "{source}");
        }
    }

    #[test]
    fn offsets_map_back_to_whole_characters() {
        let source = "x\u{200B}a%40b é\\u0040";
        let view = View::of(source);
        let at = view.text.find('@').unwrap();
        assert_eq!(&source[view.start(at)..view.end(at + 1)], "%40");
        let last = view.text.rfind('@').unwrap();
        assert_eq!(&source[view.start(last)..view.end(last + 1)], "\\u0040");
        assert_eq!(view.end(view.text.len()), source.len());
        for place in 0..=view.text.len() {
            if view.text.is_char_boundary(place) {
                assert!(source.is_char_boundary(view.start(place)));
                assert!(source.is_char_boundary(view.end(place)));
            }
        }
    }
}
