//! The tool calls of a reply: their ids and names, and the arguments of the one tool that is the gateway's
//! own, as the caller is shown them.

use super::ReplySearch;
use crate::protocol::{Called, ChannelId};
use crate::session::typed::PHASE_TOOL;

/// The most bytes of arguments that are kept.
const ARGUMENTS: usize = 1 << 10;

impl ReplySearch<'_> {
    /// The next piece that the caller is shown of a channel.
    pub(super) fn hear(&mut self, id: ChannelId, shown: &str) {
        if let Some(spoken) = &mut self.spoken {
            spoken.hear(id, shown);
        }
        if self.memory.calls.contains_key(&id) {
            let tool = self.memory.tools.get(&id);
            if tool.is_some_and(|tool| tool == PHASE_TOOL) {
                let arguments = self.proposed.entry(id).or_default();
                // One that is cut is not JSON, and proposes nothing.
                if arguments.len() <= ARGUMENTS {
                    arguments.push_str(shown);
                }
            }
        }
    }

    /// The calls that a stream made.
    pub(super) fn streamed_calls(&mut self) -> Vec<Called> {
        let calls = std::mem::take(&mut self.memory.calls).into_iter();
        calls
            .map(|(channel, id)| Called {
                id,
                tool: self.memory.tools.get(&channel).cloned().unwrap_or_default(),
                arguments: self
                    .proposed
                    .remove(&channel)
                    .filter(|arguments| arguments.len() <= ARGUMENTS),
            })
            .collect()
    }
}
