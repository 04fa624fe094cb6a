//! What the formats on the wire mean. One file a protocol; it says which JSON leaves of a request
//! are text, names or signed blobs, what the parts of a reply are, where usage stands and how a
//! stream ends. A protocol knows no session, money, log or network, and never types a body field by
//! field: a field that a provider adds tomorrow is text, and is searched.

mod anthropic;
mod calls;
mod history;
mod openai_chat;
mod place;
#[cfg(test)]
mod tests;

pub use anthropic::Anthropic;
pub use calls::{Brought, Called, brought, called};
pub use history::{Conversation, Said, Spoken, conversation, is_system};
pub use openai_chat::OpenAiChat;
pub use place::{Place, Step};

use bytes::Bytes;
use gatehouse_redactor::json::{Document, Node, Splice};

use crate::reject::{Code, Rejection, Shape};

/// What the gateway itself must know of a request; everything else is screened and passed on.
#[derive(Clone, PartialEq, Eq)]
pub struct Facts {
    /// The model asked for.
    pub model: String,
    /// Whether the caller wants events.
    pub stream: bool,
    /// Whether the caller asked for usage in its stream; only then is it shown there.
    pub usage_wanted: bool,
    /// The results of tools that the request brings.
    pub brought: Vec<Brought>,
    /// The most tokens that one answer may have, where the request says so.
    pub most: Option<u64>,
    /// How many answers it asks for, where it says so.
    pub answers: Option<u64>,
}

/// Text fragments that belong together, in one reply: a choice or content block, and its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId {
    /// `choices[].index`, or the content block's `index`.
    pub owner: u64,
    /// Which text of it.
    pub field: FieldId,
}

/// The texts that one choice or block can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldId {
    /// Arguments of the deprecated single function call.
    FunctionCall,
    /// Fragments of a tool's JSON input.
    Input,
    /// Reasoning that nobody signed, as some OpenAI-compatible providers send it.
    Reasoning,
    /// The same under its other common name.
    ReasoningContent,
    /// The model's refusal text.
    Refusal,
    /// The answer.
    Text,
    /// Thinking, which is signed later in the stream.
    Thinking,
    /// The arguments of the tool call with this index.
    Tool(u64),
    /// What a spoken answer says.
    Transcript,
}

/// What one node of a reply or event is.
#[derive(Clone, PartialEq, Eq)]
pub enum Part {
    /// Tool arguments, whole, as a JSON value of its own or as a string that holds one.
    Arguments {
        /// The tool's name.
        tool: String,
    },
    /// A name or an id in a delta: clients use it as soon as it is there, but many join it with what
    /// a later delta holds in the same place.
    Called {
        /// Whether only what shows by itself is looked for in it.
        certain: bool,
    },
    /// A fragment of a channel's text.
    Delta(ChannelId),
    /// An object, array or unlisted container: look at its members.
    Descend,
    /// Taken out of the reply: it would show text past the search, or was not asked for.
    Drop,
    /// A string that no table names, of an event that is never sent again in the same form: the start
    /// of a block, say. The event right behind it may go on with the text.
    Head {
        /// The choice or block that it belongs to, if it belongs to one.
        owner: Option<u64>,
    },
    /// A protocol word, a name or an id, in which only what shows by itself is looked for; or a
    /// number that counts something.
    Keep,
    /// Sound, which cannot be searched: passed on unread.
    Opaque,
    /// A string that no table names, of an event that another of the kind may follow: the two may
    /// hold one text.
    Piece {
        /// The choice or block that it belongs to, if it belongs to one.
        owner: Option<u64>,
    },
    /// Signed or encrypted: passed on untouched, and remembered.
    Signed,
    /// A fragment of signed text, passed on untouched; remembered whole when its channel closes.
    SignedDelta(ChannelId),
    /// A whole text, or a number that may be anything.
    Whole,
}

/// Which channels an event closes. Held text is released before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closes {
    /// All of them.
    All,
    /// None.
    Nothing,
    /// Those of these choices or blocks.
    Owners(Vec<u64>),
}

/// What an event is to the stream as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An error report: nothing comes after it.
    Error,
    /// The last event: held until the outcome is recorded.
    Last,
    /// Anything else.
    Middle,
}

/// Token counts as the provider gave them; `None` where it gave none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read, cached ones included or not as the protocol counts them.
    pub input: Option<u64>,
    /// Tokens written.
    pub output: Option<u64>,
    /// Input tokens served from the provider's prompt cache.
    pub cache_read: Option<u64>,
    /// Input tokens written to it.
    pub cache_write: Option<u64>,
    /// Output tokens spent on reasoning.
    pub reasoning: Option<u64>,
}

/// What a stream has taught us so far that later events refer to.
#[derive(Default)]
pub struct Memory {
    /// Names of the tools whose arguments a channel carries.
    pub tools: std::collections::BTreeMap<ChannelId, String>,
    /// Ids of the tool calls that they carry.
    pub calls: std::collections::BTreeMap<ChannelId, String>,
    /// The members that identify a chunk (`id`, `created`, `model`), as raw JSON.
    pub identity: Vec<(&'static str, String)>,
}

/// A wire format: one file, one line in [`by_path`].
pub trait Protocol: gatehouse_redactor::body::Schema + Send + Sync {
    /// The API's name in records and metrics.
    fn api(&self) -> &'static str;

    /// How errors look.
    fn shape(&self) -> Shape;

    /// The path that goes behind a provider's base URL.
    fn upstream_path(&self) -> &'static str;

    /// Reads what the gateway must know.
    ///
    /// # Errors
    /// A [`Rejection`] if the body is not what the route takes, or asks for something that would
    /// carry text past the search.
    fn facts(&self, root: Node<'_>) -> Result<Facts, Rejection>;

    /// Makes the permitted edits that the gateway needs itself. Says how many leaves it added.
    fn adjust(&self, document: &Document<'_>, facts: &Facts, splice: &mut Splice<'_>) -> u32;

    /// What a node of a whole reply or error is; asked from the root down.
    fn reply_part(&self, node: Node<'_>, place: &Place<'_>, facts: &Facts) -> Part;

    /// What a node of a stream event is; asked from the root down.
    fn event_part(&self, node: Node<'_>, place: &Place<'_>, facts: &Facts) -> Part;

    /// Keeps what later events refer to.
    fn learn(&self, event: Node<'_>, memory: &mut Memory);

    /// Which channels end with this event.
    fn closes(&self, event: Node<'_>) -> Closes;

    /// What this event is to the stream.
    fn role(&self, event: Node<'_>) -> Role;

    /// Whether the event says nothing once dropped parts are gone, and must not be sent.
    fn is_hidden(&self, event: Node<'_>, facts: &Facts) -> bool;

    /// The message in a whole reply that a client goes on with, if there is one and no other.
    fn reply_message<'d>(&self, root: Node<'d>) -> Option<Node<'d>>;

    /// Whether an event may hold a [`Part::Head`]: a quick look that spares most events a walk.
    fn may_be_head(&self, event: Node<'_>) -> bool;

    /// Whether an event says nothing but that the stream lives.
    fn is_idle(&self, event: Node<'_>) -> bool;

    /// The name for the `event` field, where the protocol has one.
    fn event_name(&self, event: Node<'_>) -> Option<String>;

    /// The data of the last event where that is not JSON.
    fn end_marker(&self) -> Option<&'static [u8]>;

    /// An event that carries `text` on `channel`, in the protocol's own form.
    fn delta(
        &self,
        channel: ChannelId,
        text: &str,
        memory: &Memory,
    ) -> (Option<&'static str>, Bytes);

    /// Whether the count of tokens read leaves out what the provider's cache served and took.
    fn counts_cached_apart(&self) -> bool;

    /// Adds what this reply or event says of usage; later counts replace earlier ones.
    fn usage(&self, root: Node<'_>, usage: &mut Usage);
}

/// The protocol that serves a POST to exactly this path.
pub fn by_path(path: &str) -> Option<&'static dyn Protocol> {
    match path {
        "/v1/chat/completions" => Some(&OpenAiChat),
        "/v1/messages" => Some(&Anthropic),
        _ => None,
    }
}

/// The error shape for a path that is not served: that of the protocol it resembles most.
pub fn nearest_shape(path: &str) -> Shape {
    let path = path.to_ascii_lowercase();
    if path.contains("messages") || path.contains("complete") && !path.contains("chat") {
        Shape::Anthropic
    } else {
        Shape::OpenAi
    }
}

/// Whether a string under such a key is complete wherever it stands: no event goes on with it.
fn is_complete(words: &[&str]) -> bool {
    const WORDS: [&str; 10] = [
        "format",
        "id",
        "index",
        "model",
        "name",
        "object",
        "role",
        "signature",
        "status",
        "type",
    ];
    words.last().is_some_and(|key| {
        WORDS.contains(key)
            || ["_id", "_signature", "_type"]
                .iter()
                .any(|end| key.ends_with(end))
    })
}

/// Whether the type of an event that no table names says that others go on with what it starts.
fn is_start(kind: &str) -> bool {
    ["start", "started", "begin", "added", "created"]
        .iter()
        .any(|end| kind.rsplit(['_', '.']).next() == Some(end))
}

/// What a fragment of a tool's name makes of the name so far. Some providers repeat the whole name.
fn name_tool(memory: &mut Memory, channel: ChannelId, fragment: &str) {
    let name = memory.tools.entry(channel).or_default();
    if name != fragment {
        name.push_str(fragment);
    }
}

/// The string member `key` of the request, or a rejection that names it.
fn required_text(root: Node<'_>, key: &'static str) -> Result<String, Rejection> {
    match root.get(key).and_then(|node| node.text()) {
        Some(text) if !text.is_empty() => Ok(text.into_owned()),
        _ => Err(Rejection::new(Code::JsonUnexpected)
            .parameter(key)
            .detail("a string is needed")),
    }
}

/// The boolean member `key`, absent and null being false.
fn flag(root: Node<'_>, key: &'static str) -> Result<bool, Rejection> {
    match root.get(key).map(|node| node.raw()) {
        None | Some(b"null" | b"false") => Ok(false),
        Some(b"true") => Ok(true),
        Some(_) => Err(Rejection::new(Code::JsonUnexpected)
            .parameter(key)
            .detail("a boolean is needed")),
    }
}

/// The member `key` as a plain non-negative integer.
fn count(node: Option<Node<'_>>, key: &str) -> Option<u64> {
    std::str::from_utf8(node?.get(key)?.raw())
        .ok()?
        .parse()
        .ok()
}

/// Replaces `slot` where the member is there.
fn take_count(slot: &mut Option<u64>, node: Option<Node<'_>>, key: &str) {
    *slot = count(node, key).or(*slot);
}

/// `text` as a JSON string.
fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
