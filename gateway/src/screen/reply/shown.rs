//! A channel's text in the parts in which the caller sees it, where some had to be shown before the
//! channel released it. What was shown cannot be taken back, so a value that turns out to begin in
//! it ends the reply.

use gatehouse_redactor::reply::{Channel, ReplyContext, ReplyReceipt};

use super::blocked;
use crate::reject::{Code, Rejection};

/// The channel, and what was shown ahead of it.
#[derive(Clone)]
pub(super) struct Shown {
    channel: Channel,
    /// Shown, but not released.
    ahead: String,
}

impl Shown {
    pub(super) fn new(channel: Channel) -> Self {
        Self {
            channel,
            ahead: String::new(),
        }
    }

    /// The next piece: what may be shown now.
    pub(super) fn push(
        &mut self,
        context: &ReplyContext<'_>,
        text: &str,
    ) -> Result<String, Rejection> {
        let released = self.channel.push(context, text).map_err(blocked)?;
        self.behind(&released)
    }

    /// The rest, now that there is no other piece.
    pub(super) fn finish(&mut self, context: &ReplyContext<'_>) -> Result<String, Rejection> {
        let released = self.channel.finish(context).map_err(blocked)?;
        let rest = self.behind(&released)?;
        if self.ahead.is_empty() {
            Ok(rest)
        } else {
            Err(across())
        }
    }

    /// The next piece with all that is undecided in it, as if there were no other. Says also what
    /// was done if that is so.
    pub(super) fn push_whole(
        &mut self,
        context: &ReplyContext<'_>,
        text: &str,
    ) -> Result<(String, ReplyReceipt), Rejection> {
        let mut shown = self.push(context, text)?;
        let mut ended = self.clone();
        let undecided = ended.channel.finish(context).map_err(blocked)?;
        shown.push_str(&ended.behind(&undecided)?);
        if !ended.ahead.is_empty() {
            return Err(across());
        }
        self.ahead = undecided;
        Ok((shown, ended.channel.receipt().clone()))
    }

    /// Bytes that the channel holds back.
    pub(super) fn held(&self) -> usize {
        self.channel.held()
    }

    /// What was done so far.
    pub(super) fn receipt(&self) -> &ReplyReceipt {
        self.channel.receipt()
    }

    /// What of the text that the channel releases was not shown before.
    fn behind(&mut self, released: &str) -> Result<String, Rejection> {
        if let Some(rest) = released.strip_prefix(self.ahead.as_str()) {
            self.ahead.clear();
            return Ok(rest.to_owned());
        }
        let ahead = self.ahead.strip_prefix(released).ok_or_else(across)?;
        self.ahead = ahead.to_owned();
        Ok(String::new())
    }
}

fn across() -> Rejection {
    Rejection::new(Code::ReplyBlocked).detail("a value of which the beginning was sent already")
}
