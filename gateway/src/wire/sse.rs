//! Server-sent events: an incremental reader with a size cap, and a writer.
//!
//! The reader works on bytes and joins them before anyone decodes text, so a character cut by a
//! read is never damaged. It accepts every line ending of the WHATWG specification (LF, CRLF, CR),
//! drops one leading byte-order mark, and hands out a last event that no blank line closed: the
//! caller decides what an unfinished stream means.

use std::collections::VecDeque;

use bytes::{BufMut, Bytes, BytesMut};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event of a stream. `id` and `retry` fields are dropped: replies are not resumed through us.
#[derive(Clone, PartialEq, Eq)]
pub struct Event {
    /// The `event` field, if there was one.
    pub name: Option<Bytes>,
    /// The `data` lines, joined by LF.
    pub data: Bytes,
}

/// What the reader found next.
#[derive(Clone, PartialEq, Eq)]
pub enum Item {
    /// A comment line, used as a keep-alive. Its text is dropped.
    Comment,
    /// A whole event.
    Event(Event),
}

/// An event grew past the reader's cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {cap} bytes")]
pub struct TooLarge {
    /// The cap, in bytes.
    pub cap: usize,
}

/// Turns arriving bytes into events.
pub struct Reader {
    cap: usize,
    line: BytesMut,
    name: Option<Bytes>,
    data: BytesMut,
    has_data: bool,
    ready: VecDeque<Item>,
    first_line: bool,
    after_cr: bool,
}

impl Reader {
    /// A reader that refuses events of more than `cap` bytes.
    pub fn new(cap: usize) -> Self {
        Self {
            cap,
            line: BytesMut::new(),
            name: None,
            data: BytesMut::new(),
            has_data: false,
            ready: VecDeque::new(),
            first_line: true,
            after_cr: false,
        }
    }

    /// Takes the next bytes of the stream, cut anywhere.
    ///
    /// # Errors
    /// [`TooLarge`] once one event exceeds the cap; the reader is of no use afterwards.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), TooLarge> {
        while let Some(first) = bytes.first() {
            // The LF of a CRLF whose CR ended the last read.
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                return self.hold(bytes);
            };
            let (line, rest) = bytes.split_at(end);
            self.hold(line)?;
            self.after_cr = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            self.end_line();
        }
        Ok(())
    }

    /// The next item, in order of arrival.
    pub fn pop(&mut self) -> Option<Item> {
        self.ready.pop_front()
    }

    /// The stream has ended: hands out an event that no blank line closed.
    pub fn finish(&mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.dispatch();
        self.ready.drain(..).find_map(|item| match item {
            Item::Event(event) => Some(event),
            Item::Comment => None,
        })
    }

    fn hold(&mut self, part: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + part.len() > self.cap {
            return Err(TooLarge { cap: self.cap });
        }
        self.line.put_slice(part);
        Ok(())
    }

    fn end_line(&mut self) {
        let line = self.line.split().freeze();
        let line = match std::mem::take(&mut self.first_line) {
            true if line.starts_with(BYTE_ORDER_MARK) => line.slice(BYTE_ORDER_MARK.len()..),
            _ => line,
        };
        if line.is_empty() {
            return self.dispatch();
        }
        let colon = memchr::memchr(b':', &line);
        let (field, value) = match colon {
            Some(0) => return self.ready.push_back(Item::Comment),
            Some(at) => (line.slice(..at), line.slice(at + 1..)),
            None => (line, Bytes::new()),
        };
        let value = if value.first() == Some(&b' ') {
            value.slice(1..)
        } else {
            value
        };
        match field.as_ref() {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.put_u8(b'\n');
                }
                self.data.put_slice(&value);
            }
            b"event" => self.name = Some(value),
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        let name = self.name.take();
        if std::mem::take(&mut self.has_data) {
            let data = self.data.split().freeze();
            self.ready.push_back(Item::Event(Event { name, data }));
        }
    }
}

/// Writes one event, closed by its blank line. `data` may hold LF; it must not hold CR.
pub fn write(name: Option<&[u8]>, data: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(data.len() + name.map_or(0, <[u8]>::len) + 24);
    if let Some(name) = name {
        out.put_slice(b"event: ");
        out.put_slice(name);
        out.put_u8(b'\n');
    }
    for line in data.split(|byte| *byte == b'\n') {
        out.put_slice(b"data: ");
        out.put_slice(line);
        out.put_u8(b'\n');
    }
    out.put_u8(b'\n');
    out.freeze()
}

/// A comment without text: keeps idle intermediaries from closing a quiet stream.
pub const KEEP_ALIVE: Bytes = Bytes::from_static(b":\n\n");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(chunks: &[&[u8]]) -> Vec<(Option<String>, String)> {
        let mut reader = Reader::new(1 << 16);
        let mut events = Vec::new();
        for chunk in chunks {
            assert!(reader.push(chunk).is_ok());
            while let Some(item) = reader.pop() {
                if let Item::Event(event) = item {
                    events.push(event);
                }
            }
        }
        events.extend(reader.finish());
        let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        events
            .iter()
            .map(|event| (event.name.as_ref().map(text), text(&event.data)))
            .collect()
    }

    #[test]
    fn every_line_ending_and_every_split_give_the_same_events() {
        let want = vec![
            (Some("a".to_owned()), "{\"x\":\"北京\"}".to_owned()),
            (None, "one\ntwo".to_owned()),
            (None, "last".to_owned()),
        ];
        for end in ["\n", "\r\n", "\r"] {
            let text = format!(
                "\u{feff}: hi{end}event: a{end}id: 7{end}data:{{\"x\":\"北京\"}}{end}{end}data: one{end}data: two{end}{end}{end}data: last"
            );
            let bytes = text.as_bytes();
            for cut in 0..=bytes.len() {
                let (head, tail) = bytes.split_at(cut);
                assert_eq!(read(&[head, tail]), want, "{end:?} cut at {cut}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read(&single), want);
        }
    }

    #[test]
    fn an_event_past_the_cap_is_refused_however_it_arrives() {
        let mut reader = Reader::new(16);
        assert!(reader.push(b"data: 0123456789").is_ok());
        assert_eq!(reader.push(b"x"), Err(TooLarge { cap: 16 }));
        let mut reader = Reader::new(16);
        let mut outcome = Ok(());
        for _ in 0..9 {
            outcome = outcome.and_then(|()| reader.push(b"data: x\n"));
        }
        assert_eq!(outcome, Err(TooLarge { cap: 16 }));
    }

    #[test]
    fn an_event_without_data_is_not_an_event() {
        assert_eq!(
            read(&[b"event: ping\n\ndata: x\n\n"]),
            vec![(None, "x".to_owned())]
        );
    }

    proptest! {
        #[test]
        fn reading_gives_back_what_was_written(
            events in prop::collection::vec((prop::option::of("[a-z_.]{1,12}"), "[^\r]{0,60}"), 0..8),
            cut in 0usize..400,
        ) {
            let mut bytes = Vec::new();
            for (name, data) in &events {
                bytes.extend_from_slice(&write(name.as_deref().map(str::as_bytes), data.as_bytes()));
            }
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            prop_assert_eq!(read(&[head, tail]), events);
        }
    }
}
