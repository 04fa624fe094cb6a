//! A string in JSON that comes in pieces: decoded, searched, and the edits led back to its raw
//! bytes.

use std::collections::VecDeque;

use super::auto::Auto;
use super::keys::{Keys, ShownKey};
use super::text::Text;
use super::{Decided, Edit, ReplyRefusal, Sight};
use crate::json::{Step, escape, escaped};

/// Longer keys and names are of no use as context.
const LONGEST_NAME: usize = 128;

/// A string that is being read. Offsets count as in the document that holds it.
#[derive(Clone)]
pub(super) struct Leaf {
    /// Where its opening quote stands.
    quote: usize,
    /// What was read of it.
    at: usize,
    machine: Machine,
    /// Where decoded offsets lie in the raw text: behind each escape that is not released yet.
    marks: VecDeque<Mark>,
    /// Bytes of decoded text so far.
    decoded: usize,
    /// Whether the opening quote was released.
    shown: bool,
    /// A number that was put back and is all of the string so far.
    number: Option<Edit>,
    name: String,
}

#[derive(Clone, Copy)]
struct Mark {
    decoded: usize,
    raw: usize,
}

#[derive(Clone)]
enum Machine {
    Key(Text, ShownKey),
    Value(Auto),
}

/// How much was read, and whether the string has ended.
pub(super) struct Piece {
    pub(super) length: usize,
    pub(super) closed: bool,
}

impl Leaf {
    /// A value whose opening quote stands at `quote`.
    pub(super) fn new(quote: usize, text: Auto) -> Self {
        Self::with(quote, Machine::Value(text))
    }

    /// A key whose opening quote stands at `quote`.
    pub(super) fn of_key(quote: usize) -> Self {
        Self::with(quote, Machine::Key(Text::of_key(), ShownKey::default()))
    }

    fn with(quote: usize, machine: Machine) -> Self {
        Self {
            quote,
            at: quote + 1,
            machine,
            marks: VecDeque::from([Mark {
                decoded: 0,
                raw: quote + 1,
            }]),
            decoded: 0,
            shown: false,
            number: None,
            name: String::new(),
        }
    }

    /// What must stand behind the key before its closing quote, so that no other of the object's is
    /// shown as it is.
    pub(super) fn tell_apart(&self, keys: &mut Keys) -> Option<String> {
        match &self.machine {
            Machine::Key(_, shown) => shown.tell_apart(keys),
            Machine::Value(_) => None,
        }
    }

    /// The decoded text of a key or of a value, as far as it is kept.
    pub(super) fn into_name(self) -> String {
        self.name
    }

    /// Reads on. Escapes that are cut wait for their rest, those that are none are text.
    pub(super) fn read(
        &mut self,
        sight: &mut Sight<'_>,
        raw: &str,
        last: bool,
        out: &mut Decided,
    ) -> Result<Piece, ReplyRefusal> {
        let (text, piece) = self.decode(raw, last);
        let end = piece.closed || last;
        if self.name.len() < LONGEST_NAME {
            self.name.push_str(&text);
        }
        let decided = match &mut self.machine {
            Machine::Key(key, shown) => {
                shown.push(&text);
                let decided = key.push(sight, &text, end)?;
                shown.decide(&decided);
                decided
            }
            Machine::Value(value) => value.push(sight, &text, end)?,
        };
        self.hand_out(decided, piece.closed, end, out);
        Ok(piece)
    }

    fn decode(&mut self, raw: &str, last: bool) -> (String, Piece) {
        let (mut text, mut read) = (String::with_capacity(raw.len()), 0);
        loop {
            let rest = raw.as_bytes().get(read..).unwrap_or_default();
            let stop = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            text.push_str(raw.get(read..read + stop).unwrap_or_default());
            read += stop;
            let special = rest.get(stop..).unwrap_or_default();
            let closed = special.first() == Some(&b'"');
            if closed || special.is_empty() {
                let length = read + usize::from(closed);
                self.at += length;
                self.decoded += text.len();
                return (text, Piece { length, closed });
            }
            match escape(special) {
                Step::Char(c, length) => {
                    text.push(c);
                    read += length;
                    let decoded = self.decoded + text.len();
                    self.marks.push_back(Mark {
                        decoded,
                        raw: self.at + read,
                    });
                }
                Step::More if !last => {
                    self.at += read;
                    self.decoded += text.len();
                    return (
                        text,
                        Piece {
                            length: read,
                            closed: false,
                        },
                    );
                }
                Step::More | Step::Wrong | Step::Lone => {
                    text.push('\\');
                    read += 1;
                }
            }
        }
    }

    /// Leads the edits back to raw bytes. A string that is nothing but a number put back loses
    /// its quotes, so its opening quote waits until that is clear, or nothing comes any more.
    fn hand_out(&mut self, decided: Decided, closed: bool, end: bool, out: &mut Decided) {
        let mut edits = decided.edits;
        if let Some(number) = self.number.take() {
            edits.insert(0, number);
        }
        let alone = !self.shown
            && matches!(self.machine, Machine::Value(_))
            && matches!(edits.as_slice(), [Edit { range, number: true, .. }]
                if *range == (0..decided.upto) && decided.upto == self.decoded);
        if alone && closed {
            let text = edits.pop().map(|edit| edit.text).unwrap_or_default();
            out.replace(self.quote..self.at, text, false);
            out.upto = self.at;
            return;
        }
        if alone && !end {
            self.number = edits.pop();
        }
        if (alone || decided.upto == 0) && !self.shown && !end {
            out.upto = self.quote;
            return;
        }
        self.shown = true;
        for edit in edits {
            let range = self.raw(edit.range.start)..self.raw(edit.range.end);
            out.replace(range, escaped(&edit.text).into_owned(), false);
        }
        out.upto = if closed {
            self.at
        } else {
            self.raw(decided.upto)
        };
        self.forget(decided.upto);
    }

    fn raw(&self, decoded: usize) -> usize {
        let before = self.marks.partition_point(|mark| mark.decoded <= decoded);
        let mark = before.checked_sub(1).and_then(|last| self.marks.get(last));
        // What lies before all marks was released; nothing behind it is let go for that.
        mark.map_or(self.quote, |mark| mark.raw + (decoded - mark.decoded))
    }

    /// Lets go of marks that no edit will ask for again.
    fn forget(&mut self, upto: usize) {
        while self.marks.get(1).is_some_and(|next| next.decoded <= upto) {
            self.marks.pop_front();
        }
    }
}
