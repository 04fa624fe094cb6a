//! JSON that comes in pieces: strings are searched as texts of their own, numbers as a whole,
//! everything else passes. What turns out not to be JSON is searched as text from there on.

use super::auto::Auto;
use super::keys::Keys;
use super::string::{Leaf, Piece};
use super::text::Text;
use super::{Decided, ReplyRefusal, Sight};
use crate::body::integer;
use crate::finding::Field;
use crate::json::well_formed;
use crate::pair;
use crate::policy::Direction;

/// Deeper nesting is text to us.
const DEEPEST: usize = 128;
/// A longer number or word is text to us.
const LONGEST_WORD: usize = 512;
/// What is kept of the text before, as context for the search of text.
const CONTEXT: usize = 512;

/// A document that is being read. Offsets count from its first byte.
#[derive(Clone)]
pub(super) struct Json {
    buffer: String,
    /// Offset of the buffer's first byte.
    base: usize,
    /// What was read.
    at: usize,
    stack: Vec<Frame>,
    state: State,
    /// Whether the outermost value is complete.
    complete: bool,
    /// The key under which the string stands that holds this document.
    outer_key: Option<String>,
    /// Layers of JSON in strings around it.
    depth: usize,
}

/// An array or object that is open.
#[derive(Clone)]
struct Frame {
    object: bool,
    key: Option<String>,
    wants_key: bool,
    /// What one of its fields so far says that another is.
    named: Option<String>,
    /// Those that it had so far.
    keys: Keys,
}

impl Frame {
    /// The key of the value at hand, or the name beside it.
    fn key(&self) -> Option<String> {
        let own = self.key.as_ref()?;
        let named = self.named.as_ref().filter(|_| pair::holds_value(own));
        Some(named.unwrap_or(own).clone())
    }

    /// Whether the value at hand may be the name of another field.
    fn names(&self) -> bool {
        let may = |key: &String| pair::holds_name(key);
        self.object && self.named.is_none() && self.key.as_ref().is_some_and(may)
    }
}

#[derive(Clone)]
enum State {
    Between,
    /// A number or word that began there.
    Word(usize),
    String {
        leaf: Box<Leaf>,
        is_key: bool,
    },
    /// Not JSON.
    Text(Box<Text>),
}

impl Json {
    pub(super) fn new(outer_key: Option<String>, depth: usize) -> Self {
        Self {
            buffer: String::new(),
            base: 0,
            at: 0,
            stack: Vec::new(),
            state: State::Between,
            complete: false,
            outer_key,
            depth,
        }
    }

    pub(super) fn push(
        &mut self,
        sight: &mut Sight<'_>,
        piece: &str,
        last: bool,
    ) -> Result<Decided, ReplyRefusal> {
        if let State::Text(text) = &mut self.state {
            return text.push(sight, piece, last);
        }
        self.buffer.push_str(piece);
        let mut out = Decided::default();
        loop {
            let goes_on = match &self.state {
                State::Between => self.between(&mut out),
                State::Word(start) => self.word(sight, *start, last, &mut out)?,
                State::String { .. } => self.string(sight, last, &mut out)?,
                State::Text(_) => {
                    self.as_text(sight, last, &mut out)?;
                    return Ok(out);
                }
            };
            if !goes_on {
                break;
            }
        }
        self.forget();
        Ok(out)
    }

    /// Reads white space and punctuation. Whether something else begins.
    fn between(&mut self, out: &mut Decided) -> bool {
        while let Some(byte) = self.peek() {
            let fits = match byte {
                b' ' | b'\t' | b'\n' | b'\r' => true,
                _ if self.complete => false,
                b'{' | b'[' => self.open(byte == b'{'),
                b'}' | b']' => self.shut(byte == b'}'),
                b',' | b':' => self.punctuation(byte),
                b'"' => {
                    self.begin_string();
                    out.upto = self.at;
                    self.at += 1;
                    return true;
                }
                b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                    self.state = State::Word(self.at);
                    out.upto = self.at;
                    return true;
                }
                _ => false,
            };
            if !fits {
                self.state = State::Text(Box::new(Text::behind(self.before(self.at), self.at)));
                return true;
            }
            self.at += 1;
        }
        out.upto = self.at;
        false
    }

    /// Reads a number or word. Whether it is complete.
    fn word(
        &mut self,
        sight: &mut Sight<'_>,
        start: usize,
        last: bool,
        out: &mut Decided,
    ) -> Result<bool, ReplyRefusal> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        while self.peek().is_some_and(is_part) {
            self.at += 1;
        }
        let ended = self.peek().is_some() || last;
        let word = self
            .buffer
            .get(start - self.base..self.at - self.base)
            .unwrap_or_default();
        let is_number = well_formed(word.as_bytes());
        let fits = word.len() <= LONGEST_WORD
            && (is_number || ["true", "false", "null"].contains(&word))
            && self
                .peek()
                .is_none_or(|byte| b" \t\r\n,:]}".contains(&byte));
        if !ended && word.len() <= LONGEST_WORD {
            out.upto = start;
            return Ok(false);
        }
        if !fits {
            self.at = start;
            self.state = State::Text(Box::new(Text::behind(self.before(start), start)));
            return Ok(true);
        }
        if is_number && let Some(mask) = self.number(sight, word)? {
            out.replace(start..self.at, format!("\"{mask}\""), false);
        }
        out.upto = self.at;
        self.state = State::Between;
        self.value_done();
        Ok(true)
    }

    /// A number that is a value becomes a string that holds its mask.
    fn number(&self, sight: &mut Sight<'_>, word: &str) -> Result<Option<String>, ReplyRefusal> {
        let key = self.key();
        let field = Field {
            key: key.as_deref(),
            direction: Direction::Reply,
        };
        let disguised = integer(word).filter(|digits| digits != word);
        for text in [Some(word), disguised.as_deref()].into_iter().flatten() {
            for finding in sight.cx.engine.find(text, field)? {
                if let Some(mask) = sight.masked(word, finding.label, finding.rule)? {
                    return Ok(Some(mask));
                }
            }
        }
        Ok(None)
    }

    /// Reads on in a string. Whether it has ended.
    fn string(
        &mut self,
        sight: &mut Sight<'_>,
        last: bool,
        out: &mut Decided,
    ) -> Result<bool, ReplyRefusal> {
        let State::String { leaf, .. } = &mut self.state else {
            return Ok(true);
        };
        let rest = self.buffer.get(self.at - self.base..).unwrap_or_default();
        let Piece { length, closed } = leaf.read(sight, rest, last, out)?;
        self.at += length;
        if !closed {
            return Ok(false);
        }
        if let State::String { leaf, is_key } = std::mem::replace(&mut self.state, State::Between) {
            match self.stack.last_mut() {
                Some(frame) if is_key => {
                    if let Some(suffix) = leaf.tell_apart(&mut frame.keys) {
                        let quote = self.at - 1;
                        out.replace(quote..quote, suffix, false);
                    }
                    frame.key = Some(leaf.into_name());
                }
                Some(frame) if frame.names() => {
                    frame.named = pair::name(&leaf.into_name()).map(str::to_owned);
                }
                _ => self.value_done(),
            }
        }
        Ok(true)
    }

    fn as_text(
        &mut self,
        sight: &mut Sight<'_>,
        last: bool,
        out: &mut Decided,
    ) -> Result<(), ReplyRefusal> {
        let rest = self.buffer.split_off(self.at - self.base);
        self.buffer = String::new();
        let State::Text(text) = &mut self.state else {
            return Ok(());
        };
        let decided = text.push(sight, &rest, last)?;
        out.edits.extend(decided.edits);
        out.upto = decided.upto;
        Ok(())
    }

    fn begin_string(&mut self) {
        let is_key = self
            .stack
            .last()
            .is_some_and(|frame| frame.object && frame.wants_key);
        let leaf = if is_key {
            Leaf::of_key(self.at)
        } else {
            Leaf::new(self.at, Auto::new(self.key(), self.depth + 1))
        };
        self.state = State::String {
            leaf: Box::new(leaf),
            is_key,
        };
    }

    fn open(&mut self, object: bool) -> bool {
        let fits = self.stack.len() < DEEPEST;
        self.stack.push(Frame {
            object,
            key: None,
            wants_key: object,
            named: None,
            keys: Keys::default(),
        });
        fits
    }

    fn shut(&mut self, object: bool) -> bool {
        let fits = self.stack.pop().is_some_and(|frame| frame.object == object);
        self.value_done();
        fits
    }

    fn punctuation(&mut self, byte: u8) -> bool {
        let Some(frame) = self.stack.last_mut() else {
            return false;
        };
        frame.wants_key = frame.object && byte == b',';
        frame.object || byte == b','
    }

    fn value_done(&mut self) {
        self.complete = self.stack.is_empty();
    }

    /// The key of the value at hand, or of the arrays around it.
    fn key(&self) -> Option<String> {
        let own = self.stack.iter().rev().find_map(Frame::key);
        own.or_else(|| self.outer_key.clone())
    }

    fn peek(&self) -> Option<u8> {
        self.buffer.as_bytes().get(self.at - self.base).copied()
    }

    fn before(&self, at: usize) -> &str {
        self.buffer.get(..at - self.base).unwrap_or_default()
    }

    /// Lets go of what is neither unread nor context.
    fn forget(&mut self) {
        let needed = match self.state {
            State::Word(start) => start,
            _ => self.at,
        };
        let mut cut = (needed - self.base).saturating_sub(CONTEXT);
        while !self.buffer.is_char_boundary(cut) {
            cut -= 1;
        }
        if cut >= CONTEXT {
            self.buffer.drain(..cut);
            self.base += cut;
        }
    }
}
