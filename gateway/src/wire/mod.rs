//! What is true of bytes on the wire whoever sent them: framing, content encodings, event streams.
//! Knows nothing of callers, sessions, providers or protocols.

pub mod body;
pub mod encoding;
pub mod framing;
pub mod sse;
