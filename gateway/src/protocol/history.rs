//! A conversation as its messages tell it. An agent that names no session sends the whole history, or
//! the end of it, with every request: by digests of it the next request is recognised.
//!
//! What callers wrote counts with everything in it but marks for the provider's cache. Of what a
//! model said only that counts which every client sends back: its text, and the names and
//! arguments of its tool calls.

use std::collections::BTreeMap;

use gatehouse_envelope::digest::Sha256;
use gatehouse_redactor::json::{Kind, Node};
use serde_json::Value;

use super::{ChannelId, FieldId};

/// Arguments of one reply, in bytes. A reply with more is not recognised.
const LONGEST_ARGUMENTS: usize = 1 << 20;

/// One message of a conversation. System prompts are none: many agents rewrite theirs each turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// Whether the model said it.
    pub by_model: bool,
    /// SHA-256 of what counts.
    pub digest: [u8; 32],
}

/// A conversation as a request shows it.
#[derive(Clone)]
pub struct Conversation {
    /// SHA-256 of what the request says of its end user.
    pub user: [u8; 32],
    /// SHA-256 of the system prompts.
    pub system: [u8; 32],
    /// The messages.
    pub messages: Vec<Said>,
}

/// The conversation of a request.
pub fn conversation(root: Node<'_>) -> Conversation {
    let metadata = root.get("metadata").and_then(|it| it.get("user_id"));
    let users = ["user", "safety_identifier"].map(|key| root.get(key));
    let list = || root.get("messages").into_iter().flat_map(Node::children);
    let system = list().filter(|message| is_system(*message));
    Conversation {
        user: all_of(users.into_iter().chain([metadata]).flatten()),
        system: all_of(root.get("system").into_iter().chain(system)),
        messages: list().filter_map(message).collect(),
    }
}

/// Whether a message is a system prompt.
pub fn is_system(message: Node<'_>) -> bool {
    let role = message.get("role").and_then(Node::text);
    role.is_some_and(|role| ["developer", "system"].contains(&role.as_ref()))
}

fn all_of<'d>(nodes: impl Iterator<Item = Node<'d>>) -> [u8; 32] {
    let mut digest = Sha256::new();
    nodes.for_each(|node| absorb(node, &mut digest));
    digest.finish()
}

fn message(node: Node<'_>) -> Option<Said> {
    let by_model = node.get("role").and_then(Node::text).as_deref() == Some("assistant");
    let digest = match by_model {
        true => Spoken::of(node).digest(),
        false => all_of([node].into_iter()),
    };
    (!is_system(node)).then_some(Said { by_model, digest })
}

/// What a model says, as it comes.
pub struct Spoken {
    text: Sha256,
    tools: BTreeMap<ChannelId, Call>,
    /// The last choice or block with text.
    last: u64,
    /// Whether only one choice is an answer that a client goes on with.
    single: bool,
    /// Set when the reply is none that could be recognised.
    lost: bool,
}

#[derive(Default)]
struct Call {
    name: String,
    arguments: String,
}

impl Spoken {
    /// Nothing yet. With `single`, a second choice is another answer, and not a second block of the
    /// same.
    pub fn new(single: bool) -> Self {
        Self {
            text: Sha256::new(),
            tools: BTreeMap::new(),
            last: 0,
            single,
            lost: false,
        }
    }

    /// A whole message.
    pub fn of(message: Node<'_>) -> Self {
        let mut spoken = Self::new(false);
        match message.get("content") {
            Some(content) if content.kind() == Kind::String => {
                spoken.say(&content.text().unwrap_or_default());
            }
            Some(content) => content.children().for_each(|block| spoken.block(block)),
            None => {}
        }
        let calls = message.get("tool_calls").into_iter();
        let old = message.get("function_call").into_iter();
        for call in old.chain(calls.flat_map(|calls| calls.children())) {
            let called = call.get("function").or_else(|| call.get("custom"));
            let called = called.unwrap_or(call);
            let arguments = called.get("arguments").or_else(|| called.get("input"));
            spoken.call(called, arguments);
        }
        spoken
    }

    fn block(&mut self, block: Node<'_>) {
        match block.get("type").and_then(Node::text).as_deref() {
            Some("text") => {
                let text = block.get("text").and_then(Node::text);
                self.say(&text.unwrap_or_default());
            }
            Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                self.call(block, block.get("input"));
            }
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        self.text.update(text.as_bytes());
    }

    fn call(&mut self, called: Node<'_>, arguments: Option<Node<'_>>) {
        let id = ChannelId {
            owner: self.tools.len() as u64,
            field: FieldId::Input,
        };
        let arguments = arguments.map(|node| match node.text() {
            Some(text) => text.into_owned(),
            None => String::from_utf8_lossy(node.raw()).into_owned(),
        });
        let call = Call {
            name: called
                .get("name")
                .and_then(Node::text)
                .unwrap_or_default()
                .into_owned(),
            arguments: arguments.unwrap_or_default(),
        };
        self.tools.insert(id, call);
    }

    /// The next piece that the caller is shown of a channel.
    pub fn hear(&mut self, id: ChannelId, shown: &str) {
        let other = self.single && id.owner > 0;
        match id.field {
            FieldId::Text => {
                self.lost |= other || id.owner < self.last;
                self.last = id.owner;
                self.say(shown);
            }
            FieldId::FunctionCall | FieldId::Input | FieldId::Tool(_) => {
                let call = self.tools.entry(id).or_default();
                self.lost |= other || call.arguments.len() + shown.len() > LONGEST_ARGUMENTS;
                if !self.lost {
                    call.arguments.push_str(shown);
                }
            }
            FieldId::Reasoning
            | FieldId::ReasoningContent
            | FieldId::Refusal
            | FieldId::Thinking
            | FieldId::Transcript => {}
        }
    }

    /// The name of the tool that a channel calls.
    pub fn name(&mut self, id: ChannelId, name: &str) {
        self.lost |= self.single && id.owner > 0;
        name.clone_into(&mut self.tools.entry(id).or_default().name);
    }

    /// The digest of it all, if it can be recognised.
    pub fn finish(self) -> Option<[u8; 32]> {
        (!self.lost).then(|| self.digest())
    }

    fn digest(self) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(&self.text.finish());
        for call in self.tools.into_values() {
            part(&mut digest, b't', call.name.as_bytes());
            let arguments = match call.arguments.trim() {
                "" => "{}",
                arguments => arguments,
            };
            // Clients write JSON anew, each in its own way.
            match serde_json::from_str(arguments) {
                Ok(value) => absorb_value(&value, &mut digest),
                Err(_) => part(&mut digest, b's', arguments.as_bytes()),
            }
        }
        digest.finish()
    }
}

/// Takes a value up with all that is in it, members in the order of their keys. A text and a list of
/// nothing but that text are the same content.
fn absorb(node: Node<'_>, digest: &mut Sha256) {
    match node.kind() {
        Kind::Object => {
            let mut members: Vec<_> = node
                .children()
                .filter_map(|member| Some((member.key()?, member)))
                .filter(|(key, _)| key != "cache_control")
                .collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            part(digest, b'o', &(members.len() as u64).to_be_bytes());
            for (key, member) in members {
                part(digest, b'k', key.as_bytes());
                absorb(member, digest);
            }
        }
        Kind::Array => match lone_text(node) {
            Some(text) => part(digest, b's', text.as_bytes()),
            None => {
                let items: Vec<_> = node.children().collect();
                part(digest, b'a', &(items.len() as u64).to_be_bytes());
                items.into_iter().for_each(|item| absorb(item, digest));
            }
        },
        Kind::String => part(digest, b's', node.text().unwrap_or_default().as_bytes()),
        Kind::Bool | Kind::Null | Kind::Number => part(digest, b'w', node.raw()),
    }
}

/// The text of a list that holds one text block and nothing else.
fn lone_text(list: Node<'_>) -> Option<String> {
    let mut items = list.children();
    let block = items.next().filter(|_| items.next().is_none())?;
    let known = |member: Node<'_>| {
        let key = member.key();
        key.is_some_and(|key| ["cache_control", "text", "type"].contains(&key.as_ref()))
    };
    let is_text = block.get("type")?.text()? == "text" && block.children().all(known);
    is_text.then(|| Some(block.get("text")?.text()?.into_owned()))?
}

fn absorb_value(value: &Value, digest: &mut Sha256) {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            part(digest, b'o', &(members.len() as u64).to_be_bytes());
            for (key, member) in members {
                part(digest, b'k', key.as_bytes());
                absorb_value(member, digest);
            }
        }
        Value::Array(items) => {
            part(digest, b'a', &(items.len() as u64).to_be_bytes());
            items.iter().for_each(|item| absorb_value(item, digest));
        }
        Value::String(text) => part(digest, b's', text.as_bytes()),
        word => part(digest, b'w', word.to_string().as_bytes()),
    }
}

/// One part, told from its neighbours by its kind and length.
fn part(digest: &mut Sha256, kind: u8, bytes: &[u8]) {
    digest.update(&[kind]);
    digest.update(&(bytes.len() as u64).to_be_bytes());
    digest.update(bytes);
}

#[cfg(test)]
mod tests {
    use gatehouse_redactor::json::{Document, Limits};
    use serde_json::json;

    use super::*;

    fn digests(messages: &Value) -> Vec<[u8; 32]> {
        let body = json!({ "messages": messages }).to_string();
        let document = Document::parse(body.as_bytes(), &Limits::default()).unwrap();
        let Conversation { messages, .. } = conversation(document.root());
        messages.iter().map(|message| message.digest).collect()
    }

    #[test]
    fn clients_write_the_same_message_in_many_ways() {
        for (one, other) in [
            (
                json!({"role": "user", "content": "hi"}),
                json!({"content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}], "role": "user"}),
            ),
            (
                json!({"role": "assistant", "content": "hi", "refusal": null, "annotations": []}),
                json!({"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "hi"}]}),
            ),
            (
                json!({"role": "assistant", "content": null, "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"b\": 1, \"a\":[]}"}}]}),
                json!({"role": "assistant", "content": [
                    {"type": "tool_use", "id": "d", "name": "f", "input": {"a": [], "b": 1}}]}),
            ),
        ] {
            assert_eq!(digests(&json!([one])), digests(&json!([other])), "{one}");
        }
    }

    #[test]
    fn whatever_differs_in_sense_differs() {
        let messages = [
            json!({"role": "user", "content": "hi"}),
            json!({"role": "user", "content": "hi "}),
            json!({"role": "user", "name": "ann", "content": "hi"}),
            json!({"role": "tool", "tool_call_id": "c", "content": "hi"}),
            json!({"role": "tool", "tool_call_id": "d", "content": "hi"}),
            json!({"role": "user", "content": [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]}),
            json!({"role": "assistant", "content": "hi"}),
            json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "hi", "arguments": ""}}]}),
            json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "hi", "arguments": "{\"a\":1}"}}]}),
        ];
        let seen: std::collections::HashSet<_> = messages
            .iter()
            .flat_map(|message| digests(&json!([message])))
            .collect();
        assert_eq!(seen.len(), messages.len());
        assert!(digests(&json!([{"role": "system", "content": "x"}])).is_empty());
    }

    #[test]
    fn users_and_system_prompts_are_told_apart() {
        let of = |body: &Value| {
            let body = body.to_string();
            let document = Document::parse(body.as_bytes(), &Limits::default()).unwrap();
            let Conversation { user, system, .. } = conversation(document.root());
            (user, system)
        };
        let bare = of(&json!({"messages": [{"role": "user", "content": "a"}]}));
        for user in [
            json!({"user": "ann"}),
            json!({"safety_identifier": "ann"}),
            json!({"metadata": {"user_id": "ann"}}),
        ] {
            assert!(of(&user).0 != bare.0 && of(&user).1 == bare.1);
        }
        for system in [
            json!({"system": "be kind"}),
            json!({"messages": [{"role": "developer", "content": "be kind"}]}),
        ] {
            assert!(of(&system).0 == bare.0 && of(&system).1 != bare.1);
        }
    }

    #[test]
    fn a_reply_that_is_heard_is_the_message_that_comes_back() {
        let id = |owner, field| ChannelId { owner, field };
        let mut heard = Spoken::new(false);
        heard.hear(id(0, FieldId::Thinking), "hm");
        heard.hear(id(1, FieldId::Text), "let me ");
        heard.hear(id(1, FieldId::Text), "see");
        heard.name(id(2, FieldId::Input), "f");
        heard.hear(id(2, FieldId::Input), "{\"a\"");
        heard.hear(id(2, FieldId::Input), ": 1}");
        heard.name(id(3, FieldId::Input), "g");
        let back = json!([{"role": "assistant", "content": [
            {"type": "text", "text": "let me see"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "id": "u", "name": "g", "input": {}}]}]);
        assert_eq!(heard.finish(), digests(&back).first().copied());

        let mut two = Spoken::new(true);
        two.hear(id(0, FieldId::Text), "a");
        two.hear(id(1, FieldId::Text), "b");
        assert_eq!(two.finish(), None, "two answers to choose from");
    }
}
