//! A reply that is kept: sealed as it comes, stored before the record of its exchange's end.

use std::sync::Arc;

use gatehouse_ledger::payload::{Body, Part};

use super::{Draft, Payloads, Unstored};
use crate::config::KeptReply;

/// What is kept of one reply.
pub struct Keeping {
    payloads: Arc<Payloads>,
    /// Every exchange has room for one, and few keep anything.
    draft: Box<Draft>,
    /// The first bytes that could not be sealed: what follows them is no reply.
    failed: Option<Unstored>,
}

/// What became of it.
pub enum Kept {
    /// There is nothing: no reply came, or none is kept.
    Nothing,
    /// It is stored, and this is to be recorded of it.
    Stored(Box<Body>),
    /// It is not known to be stored, and that is to be recorded.
    Unstored,
}

impl Kept {
    /// What a record says of the payload.
    pub fn body(&self) -> Option<&Body> {
        match self {
            Self::Stored(body) => Some(body),
            Self::Nothing | Self::Unstored => None,
        }
    }

    /// Which part is missing that should be there.
    pub fn unstored(&self) -> Option<&'static str> {
        match self {
            Self::Unstored => Some(Part::Reply.word()),
            Self::Nothing | Self::Stored(_) => None,
        }
    }
}

impl Keeping {
    /// Begins to keep a reply.
    pub fn new(payloads: Arc<Payloads>, draft: Draft) -> Self {
        Self {
            payloads,
            draft: Box::new(draft),
            failed: None,
        }
    }

    /// Takes bytes as the provider sent them. Says how many there are by now.
    pub fn received(&mut self, bytes: &[u8]) -> u64 {
        self.push(KeptReply::Received, bytes)
    }

    /// Takes bytes as the caller gets them. Says how many there are by now.
    pub fn restored(&mut self, bytes: &[u8]) -> u64 {
        self.push(KeptReply::Restored, bytes)
    }

    fn push(&mut self, form: KeptReply, bytes: &[u8]) -> u64 {
        if form == self.payloads.reply() && self.failed.is_none() {
            self.failed = self.draft.push(bytes).err();
        }
        self.draft.len()
    }

    /// Stores what came.
    pub async fn store(self, request: &str) -> Kept {
        if self.failed.is_none() && self.draft.is_empty() {
            return Kept::Nothing;
        }
        let stored = async {
            if let Some(error) = self.failed {
                return Err(error);
            }
            let sealed = self.draft.finish()?;
            self.payloads.put(&sealed).await?;
            Ok(sealed.body)
        };
        match stored.await {
            Ok(body) => Kept::Stored(Box::new(body)),
            Err(error) => {
                tracing::error!(request, %error, "a reply is not kept");
                Kept::Unstored
            }
        }
    }
}
