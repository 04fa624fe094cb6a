//! Tool calls and their results on the wire, as every format here writes them.

use gatehouse_redactor::json::Node;

use super::{ChannelId, Memory};

/// Results and calls of one request or reply that are told; no agent has as many at once.
const MOST: usize = 64;
/// The most bytes of an id that is kept; nobody takes note of longer ones.
const ID: usize = 128;
/// The most bytes of arguments that are told.
const ARGUMENTS: usize = 1 << 10;

/// A tool's result in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brought {
    /// The call's id.
    pub call: String,
    /// Whether it says that the tool failed.
    pub failed: bool,
    /// Bytes of its content, as JSON writes it.
    pub bytes: u64,
}

/// A tool call in a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// Its id.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// Its arguments, of the one tool that was asked for.
    pub arguments: Option<String>,
}

/// The results that a request brings: those behind the model's last message. Earlier ones are
/// history, and were brought by earlier requests.
pub fn brought(root: Node<'_>) -> Vec<Brought> {
    let messages: Vec<_> = children(root.get("messages")).collect();
    let mut found = Vec::new();
    for message in messages.into_iter().rev() {
        match word(message, "role").as_deref() {
            Some("assistant") => break,
            Some("tool") => found.extend(result(message, "tool_call_id")),
            _ => {
                let blocks = children(message.get("content"));
                let results =
                    blocks.filter(|it| word(*it, "type").as_deref() == Some("tool_result"));
                found.extend(results.filter_map(|block| result(block, "tool_use_id")));
            }
        }
        if found.len() >= MOST {
            break;
        }
    }
    found.truncate(MOST);
    found
}

fn result(node: Node<'_>, id: &str) -> Option<Brought> {
    Some(Brought {
        call: word(node, id)?,
        failed: node.get("is_error").is_some_and(|it| it.raw() == b"true"),
        bytes: node
            .get("content")
            .map_or(0, |content| content.raw().len() as u64),
    })
}

/// Keeps the id of a call in a stream, if there is room for one more.
pub(super) fn note(memory: &mut Memory, channel: ChannelId, id: &str) {
    let has_room = memory.calls.len() < MOST || memory.calls.contains_key(&channel);
    // Some providers repeat the id in every fragment, and some leave it empty there.
    if has_room && !id.is_empty() && id.len() <= ID {
        memory.calls.insert(channel, id.to_owned());
    }
}

/// The calls that a whole reply makes, with the arguments of those of the tool `asked`.
pub fn called(root: Node<'_>, asked: &str) -> Vec<Called> {
    let messages = children(root.get("choices")).filter_map(|choice| choice.get("message"));
    let calls = messages.flat_map(|message| children(message.get("tool_calls")));
    let calls = calls.filter_map(|call| {
        let named = call.get("function").or_else(|| call.get("custom"))?;
        let arguments = named.get("arguments").or_else(|| named.get("input"));
        one(call, named, arguments, asked)
    });
    let blocks = children(root.get("content"));
    let used = blocks.filter(|block| word(*block, "type").as_deref() == Some("tool_use"));
    let used = used.filter_map(|block| one(block, block, block.get("input"), asked));
    calls.chain(used).take(MOST).collect()
}

fn one(
    call: Node<'_>,
    named: Node<'_>,
    arguments: Option<Node<'_>>,
    asked: &str,
) -> Option<Called> {
    let tool = word(named, "name")?;
    let arguments = arguments
        .filter(|_| tool == asked)
        .map(|node| match node.text() {
            Some(text) => text.into_owned(),
            None => String::from_utf8_lossy(node.raw()).into_owned(),
        });
    Some(Called {
        id: word(call, "id")?,
        arguments: arguments.filter(|arguments| arguments.len() <= ARGUMENTS),
        tool,
    })
}

fn word(node: Node<'_>, key: &str) -> Option<String> {
    Some(node.get(key)?.text()?.into_owned())
}

fn children<'d>(node: Option<Node<'d>>) -> impl Iterator<Item = Node<'d>> {
    node.into_iter().flat_map(|node| node.children())
}

#[cfg(test)]
mod tests {
    use gatehouse_redactor::json::{Document, Limits};
    use serde_json::{Value, json};

    use super::*;
    use crate::protocol::{Anthropic, OpenAiChat, Protocol};

    fn results(messages: &Value) -> Vec<(String, bool)> {
        let body = json!({ "messages": messages }).to_string();
        let document = Document::parse(body.as_bytes(), &Limits::default()).unwrap();
        let found = brought(document.root()).into_iter();
        found.map(|it| (it.call, it.failed)).collect()
    }

    /// What two protocols keep of a stream's events.
    fn kept(protocol: &dyn Protocol, events: impl Iterator<Item = Value>) -> Vec<String> {
        let mut memory = Memory::default();
        for event in events {
            let event = event.to_string();
            let document = Document::parse(event.as_bytes(), &Limits::default()).unwrap();
            protocol.learn(document.root(), &mut memory);
        }
        memory.calls.into_values().collect()
    }

    #[test]
    fn a_stream_has_no_more_calls_than_a_whole_reply_and_no_long_ids() {
        let openai = |(index, id): (usize, String)| {
            let call = json!({"index": index, "id": id, "function": {"name": "f"}});
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
        };
        let anthropic = |(index, id): (usize, String)| {
            let block = json!({"type": "tool_use", "id": id, "name": "f"});
            json!({"type": "content_block_start", "index": index, "content_block": block})
        };
        let many = || (0..1000).map(|n| (n, format!("c{n}")));
        // The first fragment names the call, and a later one says nothing, or too much.
        let odd = || {
            [
                (0, "c".to_owned()),
                (0, String::new()),
                (0, "x".repeat(ID + 1)),
            ]
            .into_iter()
            .chain([(1, "y".repeat(ID + 1)), (2, "z".repeat(ID))])
        };
        let expected = ["c".to_owned(), "z".repeat(ID)];
        let first: Vec<_> = many().take(MOST).map(|(_, id)| id).collect();
        assert_eq!(kept(&OpenAiChat, many().map(openai)), first);
        assert_eq!(kept(&Anthropic, many().map(anthropic)), first);
        assert_eq!(kept(&OpenAiChat, odd().map(openai)), expected);
        assert_eq!(kept(&Anthropic, odd().map(anthropic)), expected);
    }

    fn calls(reply: &Value) -> Vec<Called> {
        let body = reply.to_string();
        let document = Document::parse(body.as_bytes(), &Limits::default()).unwrap();
        called(document.root(), "asked")
    }

    #[test]
    fn only_what_stands_behind_the_models_last_message_is_brought() {
        let openai = json!([
            {"role": "assistant", "tool_calls": [{"id": "old"}]},
            {"role": "tool", "tool_call_id": "old", "content": "1"},
            {"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]},
            {"role": "tool", "tool_call_id": "a", "content": "2"},
            {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "3"}]},
            {"role": "user", "content": "and?"}]);
        let found = results(&openai);
        assert_eq!(found, [("b".to_owned(), false), ("a".to_owned(), false)]);
        let anthropic = json!([
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "old"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c", "is_error": true, "content": "no"},
                {"type": "text", "text": "sorry"}]}]);
        assert_eq!(results(&anthropic), [("c".to_owned(), true)]);
        assert_eq!(results(&json!([{"role": "user", "content": "hi"}])), []);
        assert_eq!(results(&json!("none")), []);
    }

    #[test]
    fn calls_are_told_in_both_formats() {
        let call = |id: &str, tool: &str, arguments: Option<&str>| Called {
            id: id.to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.map(str::to_owned),
        };
        let openai = json!({"choices": [{"message": {"tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}},
            {"id": "b", "type": "function", "function": {"name": "asked", "arguments": "{\"to\":\"y\"}"}},
            {"type": "function", "function": {"name": "nameless"}}]}}]});
        let expected = [
            call("a", "f", None),
            call("b", "asked", Some("{\"to\":\"y\"}")),
        ];
        assert_eq!(calls(&openai), expected);
        let anthropic = json!({"content": [
            {"type": "text", "text": "t"},
            {"type": "tool_use", "id": "c", "name": "asked", "input": {"to": "y"}}]});
        assert_eq!(
            calls(&anthropic),
            [call("c", "asked", Some("{\"to\":\"y\"}"))]
        );
        assert_eq!(calls(&json!({"error": {"message": "m"}})), []);
    }
}
