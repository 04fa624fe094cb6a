//! The reader: one pass over the bytes, strict RFC 8259, onto a flat tape of values.
//!
//! Whatever two parsers could read differently is refused here, so that what is searched is what
//! the provider will read.

use std::collections::HashSet;

use super::error::{JsonError, JsonFault};
use super::text::{Decoded, Step, escape};
use super::{Entry, Kind, Limits, NONE, Span, path_of};
use crate::seek::seek;

/// Longer literals are cut or rounded by some parsers.
const LONGEST_NUMBER: usize = 512;
/// A number without exponent of so many bytes is a finite double.
const SURELY_FINITE: usize = 300;
/// Room is made at once for a value in so many bytes, and for no more than so many values.
const USUAL_VALUE: usize = 24;
const MOST_AT_ONCE: usize = 4096;
/// Objects up to this size are compared pair by pair, larger ones through a hash set.
const FEW_KEYS: usize = 8;
/// Objects up to this size are first looked at for keys that have the same mark.
const MARKED_KEYS: usize = 64;

/// What the reader leaves behind.
pub(super) struct Tape {
    pub(super) entries: Vec<Entry>,
    pub(super) keys: Vec<Span>,
    pub(super) leaves: usize,
}

pub(super) fn read<'a>(bytes: &'a [u8], limits: &Limits) -> Result<(&'a str, Tape), JsonError> {
    let early = |fault, offset| JsonError {
        fault,
        path: String::new(),
        offset,
    };
    if u32::try_from(bytes.len()).is_err() {
        return Err(early(JsonFault::Length, 0));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(early(JsonFault::ByteOrderMark, 0));
    }
    let source =
        std::str::from_utf8(bytes).map_err(|error| early(JsonFault::Utf8, error.valid_up_to()))?;
    let tape = Tape {
        entries: Vec::with_capacity((bytes.len() / USUAL_VALUE).min(MOST_AT_ONCE)),
        keys: Vec::new(),
        leaves: 0,
    };
    let mut reader = Reader {
        source,
        bytes,
        at: 0,
        limits,
        tape,
        containers: 0,
    };
    let outcome = reader.document();
    let Reader { at, tape, .. } = reader;
    match outcome {
        Ok(()) => Ok((source, tape)),
        Err((fault, inside)) => Err(JsonError {
            fault,
            path: path_of(source, &tape.entries, &tape.keys, inside),
            offset: at,
        }),
    }
}

/// A fault and the tape index of the container it stands in.
type Fail = (JsonFault, u32);

struct Reader<'a, 'l> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    limits: &'l Limits,
    tape: Tape,
    containers: usize,
}

impl Reader<'_, '_> {
    fn document(&mut self) -> Result<(), Fail> {
        self.space();
        self.value(NONE, NONE, 0, 0)?;
        self.space();
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err((JsonFault::Trailing, NONE))
        }
    }

    /// Reads a value. Recursion is bounded by the depth limit.
    fn value(&mut self, parent: u32, key: u32, index: u32, depth: usize) -> Result<(), Fail> {
        let at = narrow(self.tape.entries.len());
        let start = narrow(self.at);
        let kind = match self.peek() {
            Some(b'"') => Kind::String,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            Some(_) => return Err((JsonFault::Syntax, parent)),
            None => return Err((JsonFault::End, parent)),
        };
        let span = Span { start, end: start };
        self.tape.entries.push(Entry {
            span,
            key,
            parent,
            index,
            next: at + 1,
            kind,
        });
        self.count(kind, at)?;
        match kind {
            Kind::Object | Kind::Array if depth >= self.limits.depth => {
                return Err((JsonFault::Depth, parent));
            }
            Kind::Object => self.object(at, depth)?,
            Kind::Array => self.array(at, depth)?,
            Kind::String => self.string().map_err(|fault| (fault, at))?,
            Kind::Number => self.number().map_err(|fault| (fault, at))?,
            Kind::Bool | Kind::Null => self.word().map_err(|fault| (fault, at))?,
        }
        let (end, next) = (narrow(self.at), narrow(self.tape.entries.len()));
        if let Some(entry) = self.tape.entries.get_mut(at as usize) {
            entry.span.end = end;
            entry.next = next;
        }
        Ok(())
    }

    fn count(&mut self, kind: Kind, at: u32) -> Result<(), Fail> {
        let counter = match kind {
            Kind::Object | Kind::Array => &mut self.containers,
            _ => &mut self.tape.leaves,
        };
        *counter += 1;
        if *counter > self.limits.leaves {
            Err((JsonFault::TooMany, at))
        } else {
            Ok(())
        }
    }

    fn array(&mut self, at: u32, depth: usize) -> Result<(), Fail> {
        self.at += 1;
        self.space();
        if self.eat(b']') {
            return Ok(());
        }
        for index in 0.. {
            self.value(at, NONE, index, depth + 1)?;
            self.space();
            if self.eat(b']') {
                return Ok(());
            }
            self.expect(b',').map_err(|fault| (fault, at))?;
            self.space();
        }
        Ok(())
    }

    fn object(&mut self, at: u32, depth: usize) -> Result<(), Fail> {
        self.at += 1;
        self.space();
        if self.eat(b'}') {
            return Ok(());
        }
        for index in 0.. {
            let start = narrow(self.at);
            if self.peek() != Some(b'"') {
                return Err((self.unexpected(), at));
            }
            self.string().map_err(|fault| (fault, at))?;
            let key = narrow(self.tape.keys.len());
            self.tape.keys.push(Span {
                start,
                end: narrow(self.at),
            });
            self.space();
            self.expect(b':').map_err(|fault| (fault, at))?;
            self.space();
            self.value(at, key, index, depth + 1)?;
            self.space();
            if self.eat(b'}') {
                return self.distinct(at, index as usize + 1);
            }
            self.expect(b',').map_err(|fault| (fault, at))?;
            self.space();
        }
        Ok(())
    }

    /// Refuses an object whose decoded keys repeat. Linear in the size of its keys.
    fn distinct(&self, object: u32, members: usize) -> Result<(), Fail> {
        if members < 2 || (members <= MARKED_KEYS && self.marked_apart(object)) {
            return Ok(());
        }
        let mut few = Vec::with_capacity(members.min(FEW_KEYS));
        let mut many = HashSet::new();
        for key in self.keys(object) {
            let key = Decoded::new(key).text;
            let fresh = if members <= FEW_KEYS {
                let fresh = !few.contains(&key);
                few.push(key);
                fresh
            } else {
                many.insert(key)
            };
            if !fresh {
                return Err((JsonFault::DuplicateKey, object));
            }
        }
        Ok(())
    }

    /// Whether no key has an escape and each has a mark of its own, and so differs from the others.
    fn marked_apart(&self, object: u32) -> bool {
        let mut marks = [0u64; 16];
        self.keys(object).all(|key| {
            let (mut mark, mut plain) = (0u32, true);
            for byte in key.bytes() {
                mark = (mark ^ u32::from(byte)).wrapping_mul(0x0100_0193);
                plain &= byte != b'\\';
            }
            let (place, bit) = ((mark >> 28) as usize, 1 << (mark >> 22 & 63));
            marks.get_mut(place).is_some_and(|slot| {
                let fresh = *slot & bit == 0;
                *slot |= bit;
                plain && fresh
            })
        })
    }

    /// The keys of the object that was read last, as they are spelled.
    fn keys(&self, object: u32) -> impl Iterator<Item = &str> {
        let Tape { entries, keys, .. } = &self.tape;
        let mut child = object + 1;
        std::iter::from_fn(move || {
            let entry = entries.get(child as usize)?;
            child = entry.next;
            let key = keys.get(entry.key as usize);
            Some(key.map_or("", |key| key.inner(self.source)))
        })
    }

    fn string(&mut self) -> Result<(), JsonFault> {
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let special = |b: u8| (b == b'"') | (b == b'\\') | (b < b' ');
            let stop = seek(rest, special).ok_or(JsonFault::End)?;
            match rest.get(stop) {
                Some(b'"') => {
                    self.at += stop + 1;
                    return Ok(());
                }
                Some(b'\\') => self.at += stop,
                _ if memchr::memchr2(b'"', b'\\', rest).is_none() => return Err(JsonFault::End),
                _ => {
                    self.at += stop;
                    return Err(JsonFault::ControlCharacter);
                }
            }
            match escape(rest.get(stop..).unwrap_or_default()) {
                Step::Char(_, length) => self.at += length,
                Step::Lone => return Err(JsonFault::LoneSurrogate),
                Step::More => return Err(JsonFault::End),
                Step::Wrong => return Err(JsonFault::Escape),
            }
        }
    }

    fn number(&mut self) -> Result<(), JsonFault> {
        let start = self.at;
        while matches!(
            self.peek(),
            Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
        ) {
            self.at += 1;
        }
        let literal = self.source.get(start..self.at).unwrap_or_default();
        if well_formed(literal.as_bytes()) && literal.len() <= LONGEST_NUMBER {
            if literal.len() <= SURELY_FINITE && !literal.contains(['e', 'E']) {
                return Ok(());
            }
            // A double overflows to infinity in some parsers, to an error in others.
            if literal.parse::<f64>().is_ok_and(f64::is_finite) {
                return Ok(());
            }
        }
        self.at = start;
        Err(JsonFault::Number)
    }

    fn word(&mut self) -> Result<(), JsonFault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        for word in ["true", "false", "null"] {
            if rest.starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(());
            }
        }
        Err(JsonFault::Syntax)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let eaten = self.peek() == Some(byte);
        self.at += usize::from(eaten);
        eaten
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonFault> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn unexpected(&self) -> JsonFault {
        if self.peek().is_none() {
            JsonFault::End
        } else {
            JsonFault::Syntax
        }
    }
}

/// The number grammar of RFC 8259 section 6.
pub(crate) fn well_formed(literal: &[u8]) -> bool {
    let digits = |bytes: &[u8]| {
        bytes
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let rest = literal.strip_prefix(b"-").unwrap_or(literal);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.first() == Some(&b'0')) {
        return false;
    }
    let mut rest = rest.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = fraction.get(length..).unwrap_or_default();
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or(rest.strip_prefix(b"E")) {
        let unsigned = exponent
            .strip_prefix(b"-")
            .or(exponent.strip_prefix(b"+"))
            .unwrap_or(exponent);
        let length = digits(unsigned);
        return length > 0 && length == unsigned.len();
    }
    rest.is_empty()
}

/// Offsets fit 32 bits because longer documents are refused first.
fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(NONE)
}
