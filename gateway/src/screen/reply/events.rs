//! Events of a stream, one after the other, and what the caller gets in their place.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use gatehouse_redactor::Pseudonyms;
use gatehouse_redactor::json::{Document, Splice};

use super::{ENDS, ReplySearch, Table, Walk, finished, unfinished};
use crate::protocol::{Closes, Place, Role};
use crate::reject::Rejection;
use crate::wire::sse::{self, Event};

/// What one event became.
pub struct Flow {
    /// Frames to send before it, or instead of it.
    pub frames: BytesMut,
    /// The event itself, if it is one that must wait: framed, but for an error, which is JSON.
    pub held: Option<Bytes>,
    /// What it is to the stream.
    pub role: Role,
}

impl Flow {
    fn frames(frames: BytesMut) -> Self {
        Self {
            frames,
            held: None,
            role: Role::Middle,
        }
    }
}

impl ReplySearch<'_> {
    /// One event of a stream.
    ///
    /// # Errors
    /// As for [`ReplySearch::whole`]; the stream is over then.
    pub fn event(&mut self, event: &Event, names: &dyn Pseudonyms) -> Result<Flow, Rejection> {
        finished(|| self.take_event(event, names)).unwrap_or_else(unfinished)
    }

    /// Everything still held, as frames: for a stream that ends where it should not.
    ///
    /// # Errors
    /// What is held may not be shown.
    pub fn flush_all(&mut self, names: &dyn Pseudonyms) -> Result<BytesMut, Rejection> {
        finished(|| self.flush_rest(names)).unwrap_or_else(unfinished)
    }

    fn take_event(&mut self, event: &Event, names: &dyn Pseudonyms) -> Result<Flow, Rejection> {
        if self.protocol.end_marker() == Some(event.data.trim_ascii()) {
            return Ok(Flow {
                frames: self.flush_rest(names)?,
                held: Some(sse::write(None, event.data.trim_ascii())),
                role: Role::Last,
            });
        }
        let document = self.parse(&event.data)?;
        if self.waiting.is_some() && self.protocol.is_idle(document.root()) {
            return self.search_event(&document, &ENDS, names);
        }
        let mut frames = self.go_on(Some(&document), names)?;
        if self.is_head(&document) {
            self.waiting = Some(event.data.clone());
            return Ok(Flow::frames(frames));
        }
        let flow = self.search_event(&document, &ENDS, names)?;
        frames.extend_from_slice(&flow.frames);
        Ok(Flow { frames, ..flow })
    }

    fn flush_rest(&mut self, names: &dyn Pseudonyms) -> Result<BytesMut, Rejection> {
        let mut frames = self.go_on(None, names)?;
        frames.extend_from_slice(&self.flush(&Closes::All, names)?);
        Ok(frames)
    }

    /// An event that does not wait any more. `goes_on` says where the next one goes on with its
    /// texts.
    pub(super) fn search_event(
        &mut self,
        document: &Document<'_>,
        goes_on: &BTreeMap<String, String>,
        names: &dyn Pseudonyms,
    ) -> Result<Flow, Rejection> {
        let root = document.root();
        self.protocol.usage(root, &mut self.findings.usage);
        let is_first = self.memory.identity.is_empty();
        self.protocol.learn(root, &mut self.memory);
        if is_first {
            self.mask_identity(names)?;
        }
        let (closes, role) = (self.protocol.closes(root), self.protocol.role(root));
        let mut splice = Splice::new(document);
        let walk = Walk {
            table: Table::Event,
            closes: &closes,
            goes_on,
            names,
        };
        self.walk(root, &Place::default(), walk, &mut splice)?;
        let mut frames = self.flush(&closes, names)?;
        if self.protocol.is_hidden(root, self.facts) {
            return Ok(Flow {
                frames,
                held: None,
                role,
            });
        }
        if role == Role::Error {
            return Ok(Flow {
                frames,
                held: Some(splice.finish().into()),
                role,
            });
        }
        let name = self.protocol.event_name(root);
        let frame = sse::write(name.as_deref().map(str::as_bytes), &splice.finish());
        if role == Role::Middle {
            frames.extend_from_slice(&frame);
            return Ok(Flow::frames(frames));
        }
        Ok(Flow {
            frames,
            held: Some(frame),
            role,
        })
    }
}
