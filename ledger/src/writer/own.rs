//! The writer's own events.

use std::sync::atomic::Ordering;

use super::Shared;
use crate::event::{Event, EventError};

/// `writer.close`: a stream ends with it.
pub(super) fn close_event(state: &str) -> Result<Event, EventError> {
    let mut event = Event::kind("writer.close");
    event.text("state", state);
    event.finish()
}

/// `writer.heartbeat`: it runs, and this is how it is.
pub(super) fn heartbeat_event(shared: &Shared) -> Result<Event, EventError> {
    let mut event = Event::kind("writer.heartbeat");
    event.integer("waiting", shared.spool.segments());
    event.integer("refused", shared.refused.load(Ordering::Relaxed));
    event.finish()
}
