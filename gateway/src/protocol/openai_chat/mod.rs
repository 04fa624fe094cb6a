//! OpenAI Chat Completions, as the official SDKs and compatible providers speak it.

mod reply;
mod request;

use bytes::Bytes;
use gatehouse_redactor::json::{Document, Kind, Node, Splice};

use super::{
    ChannelId, Closes, Facts, FieldId, Memory, Part, Place, Protocol, Role, Usage, flag, json_text,
    required_text, take_count,
};
use crate::reject::{Code, Rejection, Shape};

/// The protocol; it has no state.
pub struct OpenAiChat;

impl Protocol for OpenAiChat {
    fn api(&self) -> &'static str {
        "chat.completions"
    }

    fn shape(&self) -> Shape {
        Shape::OpenAi
    }

    fn upstream_path(&self) -> &'static str {
        "/chat/completions"
    }

    fn facts(&self, root: Node<'_>) -> Result<Facts, Rejection> {
        if root.kind() != Kind::Object {
            return Err(Rejection::new(Code::JsonUnexpected).detail("an object is needed"));
        }
        // Token strings and bytes in log probabilities repeat the text before restoring and
        // masking; there is no way to edit them that stays true.
        for key in ["logprobs", "top_logprobs"] {
            let raw = root.get(key).map(|node| node.raw());
            if !matches!(raw, None | Some(b"null" | b"false" | b"0")) {
                return Err(Rejection::new(Code::ParameterRefused).parameter(key));
            }
        }
        let options = root.get("stream_options");
        let usage_wanted = match options {
            Some(options) if options.kind() == Kind::Object => flag(options, "include_usage")?,
            _ => false,
        };
        Ok(Facts {
            model: required_text(root, "model")?,
            stream: flag(root, "stream")?,
            usage_wanted,
            brought: super::brought(root),
            // The newer name counts where both are given; the larger of the two never says too little.
            most: ["max_completion_tokens", "max_tokens"]
                .iter()
                .filter_map(|key| super::count(Some(root), key))
                .max(),
            answers: super::count(Some(root), "n"),
        })
    }

    /// Asks for usage in streams, which is how the exchange is metered.
    fn adjust(&self, document: &Document<'_>, facts: &Facts, splice: &mut Splice<'_>) -> u32 {
        const ASK: &str = r#"{"include_usage":true}"#;
        if !facts.stream || facts.usage_wanted {
            return 0;
        }
        let root = document.root();
        let Some(options) = root.get("stream_options") else {
            splice.insert_member(root, "stream_options", ASK);
            return 1;
        };
        if options.kind() != Kind::Object {
            splice.replace(options.span(), ASK);
            return 0;
        }
        if let Some(asked) = options.get("include_usage") {
            splice.replace(asked.span(), "true");
            return 0;
        }
        splice.insert_member(options, "include_usage", "true");
        1
    }

    fn reply_part(&self, node: Node<'_>, place: &Place<'_>, _facts: &Facts) -> Part {
        reply::whole(node, place)
    }

    fn event_part(&self, node: Node<'_>, place: &Place<'_>, facts: &Facts) -> Part {
        reply::event(node, place, facts)
    }

    fn learn(&self, event: Node<'_>, memory: &mut Memory) {
        if memory.identity.is_empty() && event.get("choices").is_some() {
            let member = |key| Some((key, String::from_utf8(event.get(key)?.raw().to_vec()).ok()?));
            memory.identity = ["id", "created", "model"]
                .into_iter()
                .filter_map(member)
                .collect();
        }
        for choice in children(event.get("choices")) {
            let owner = super::count(Some(choice), "index").unwrap_or(0);
            let Some(delta) = choice.get("delta") else {
                continue;
            };
            for call in children(delta.get("tool_calls")) {
                let channel = ChannelId {
                    owner,
                    field: FieldId::Tool(super::count(Some(call), "index").unwrap_or(0)),
                };
                let named = call.get("function").or_else(|| call.get("custom"));
                if let Some(name) = named.and_then(|named| named.get("name")?.text()) {
                    super::name_tool(memory, channel, &name);
                }
                if let Some(id) = call.get("id").and_then(|id| id.text()) {
                    super::calls::note(memory, channel, &id);
                }
            }
            if let Some(name) = delta
                .get("function_call")
                .and_then(|call| call.get("name")?.text())
            {
                let channel = ChannelId {
                    owner,
                    field: FieldId::FunctionCall,
                };
                super::name_tool(memory, channel, &name);
            }
        }
    }

    fn closes(&self, event: Node<'_>) -> Closes {
        if self.role(event) == Role::Error {
            return Closes::All;
        }
        let owners: Vec<u64> = children(event.get("choices"))
            .filter(|choice| {
                choice
                    .get("finish_reason")
                    .is_some_and(|reason| reason.kind() != Kind::Null)
            })
            .map(|choice| super::count(Some(choice), "index").unwrap_or(0))
            .collect();
        if owners.is_empty() {
            Closes::Nothing
        } else {
            Closes::Owners(owners)
        }
    }

    fn role(&self, event: Node<'_>) -> Role {
        match event.get("error") {
            Some(error) if error.kind() != Kind::Null => Role::Error,
            _ => Role::Middle,
        }
    }

    /// The extra chunk that only carries usage, for callers that did not ask for it.
    fn is_hidden(&self, event: Node<'_>, facts: &Facts) -> bool {
        !facts.usage_wanted
            && event
                .get("usage")
                .is_some_and(|usage| usage.kind() == Kind::Object)
            && event
                .get("choices")
                .is_some_and(|choices| choices.children().next().is_none())
    }

    fn reply_message<'d>(&self, root: Node<'d>) -> Option<Node<'d>> {
        let mut choices = children(root.get("choices"));
        let only = choices.next().filter(|_| choices.next().is_none())?;
        only.get("message")
    }

    fn may_be_head(&self, event: Node<'_>) -> bool {
        reply::may_be_head(event)
    }

    fn is_idle(&self, _event: Node<'_>) -> bool {
        false
    }

    fn event_name(&self, _event: Node<'_>) -> Option<String> {
        None
    }

    fn end_marker(&self) -> Option<&'static [u8]> {
        Some(b"[DONE]")
    }

    fn delta(
        &self,
        channel: ChannelId,
        text: &str,
        memory: &Memory,
    ) -> (Option<&'static str>, Bytes) {
        let text = json_text(text);
        let delta = match channel.field {
            FieldId::Tool(index) => {
                format!(
                    r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":{text}}}}}]}}"#
                )
            }
            FieldId::FunctionCall => format!(r#"{{"function_call":{{"arguments":{text}}}}}"#),
            FieldId::Reasoning => format!(r#"{{"reasoning":{text}}}"#),
            FieldId::ReasoningContent => format!(r#"{{"reasoning_content":{text}}}"#),
            FieldId::Refusal => format!(r#"{{"refusal":{text}}}"#),
            FieldId::Transcript => format!(r#"{{"audio":{{"transcript":{text}}}}}"#),
            FieldId::Text | FieldId::Input | FieldId::Thinking => {
                format!(r#"{{"content":{text}}}"#)
            }
        };
        let mut chunk = String::from(r#"{"object":"chat.completion.chunk""#);
        for (key, raw) in &memory.identity {
            chunk.push_str(&format!(r#","{key}":{raw}"#));
        }
        chunk.push_str(&format!(
            r#","choices":[{{"index":{},"delta":{delta},"finish_reason":null}}]}}"#,
            channel.owner
        ));
        (None, chunk.into())
    }

    fn counts_cached_apart(&self) -> bool {
        false
    }

    fn usage(&self, root: Node<'_>, usage: &mut Usage) {
        let reported = root.get("usage");
        take_count(&mut usage.input, reported, "prompt_tokens");
        take_count(&mut usage.output, reported, "completion_tokens");
        let prompt = reported.and_then(|usage| usage.get("prompt_tokens_details"));
        take_count(&mut usage.cache_read, prompt, "cached_tokens");
        let completion = reported.and_then(|usage| usage.get("completion_tokens_details"));
        take_count(&mut usage.reasoning, completion, "reasoning_tokens");
    }
}

fn children<'d>(node: Option<Node<'d>>) -> impl Iterator<Item = Node<'d>> {
    node.into_iter().flat_map(|node| node.children())
}
