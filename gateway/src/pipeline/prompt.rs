//! Digests of a prompt's parts for its record, over the body as it is sent.

use std::borrow::Cow;

use gatehouse_envelope::digest::MacKey;
use gatehouse_redactor::json::{Document, Kind, Limits, Node};

use crate::audit::Prompt;
use crate::protocol::is_system;

/// Messages whose digests a record holds; with more it would be too long. The last ones tell what
/// changed.
const MESSAGES: usize = 256;
/// What the digests are made for.
const PURPOSE: &str = "gatehouse prompt part";
/// The same of what a part says, however its protocol writes it down.
const TEXT_PURPOSE: &str = "gatehouse prompt text";

/// The digests. `None` for a body that cannot be read, which none is that was searched.
pub(super) fn digests(body: &[u8], key: &MacKey, limits: &Limits) -> Option<Prompt> {
    let document = Document::parse(body, limits).ok()?;
    let root = document.root();
    let messages: Vec<_> = children(root.get("messages")).collect();
    let system = messages.iter().copied().filter(|it| is_system(*it));
    let system: Vec<_> = root.get("system").into_iter().chain(system).collect();
    let tools: Vec<_> = ["tools", "functions"]
        .into_iter()
        .filter_map(|it| root.get(it))
        .collect();
    let rest = root.children().filter(|member| !is_part(*member));
    let rest = rest.flat_map(|member| {
        [
            member.key().unwrap_or_default().into_owned().into_bytes(),
            member.raw().to_vec(),
        ]
    });
    let rest: Vec<_> = rest.collect();
    let rest: Vec<_> = rest.iter().map(Vec::as_slice).collect();
    let last = messages.len().saturating_sub(MESSAGES);
    Some(Prompt {
        system: of_texts(key, &system).or_else(|| of_any(key, &system)),
        tools: of_any(key, &tools),
        rest: key.mac(PURPOSE, &rest),
        total: messages.len() as u64,
        messages: messages
            .iter()
            .skip(last)
            .map(|it| short(key, *it))
            .collect(),
    })
}

/// Whether a member of the request has a digest of its own. The model stands in the record.
fn is_part(member: Node<'_>) -> bool {
    let parts = ["functions", "messages", "model", "system", "tools"];
    member
        .key()
        .is_some_and(|key| parts.contains(&key.as_ref()))
}

/// The digest of system prompts that are text and nothing else: the same in every protocol.
fn of_texts(key: &MacKey, nodes: &[Node<'_>]) -> Option<[u8; 32]> {
    let mut texts = Vec::new();
    for node in nodes {
        texts_of(*node, &mut texts)?;
    }
    let parts: Vec<_> = texts.iter().map(|text| text.as_bytes()).collect();
    (!parts.is_empty()).then(|| key.mac(TEXT_PURPOSE, &parts))
}

/// A string, a list of blocks, or a message that holds one of these. `None` if there is anything else
/// in it, such as a mark for the provider's cache.
fn texts_of<'d>(node: Node<'d>, texts: &mut Vec<Cow<'d, str>>) -> Option<()> {
    match node.kind() {
        Kind::String => texts.push(node.text()?),
        Kind::Array => {
            for block in node.children() {
                let plain = block.children().count() == 2;
                let is_text = block.get("type")?.text()? == "text";
                texts.push(block.get("text").filter(|_| plain && is_text)?.text()?);
            }
        }
        Kind::Object => {
            let plain = node.children().count() == 2 && node.get("role").is_some();
            let content = node.get("content").filter(|it| it.kind() != Kind::Object);
            texts_of(content.filter(|_| plain)?, texts)?;
        }
        Kind::Bool | Kind::Null | Kind::Number => return None,
    }
    Some(())
}

fn of_any(key: &MacKey, nodes: &[Node<'_>]) -> Option<[u8; 32]> {
    let parts: Vec<_> = nodes.iter().map(|node| node.raw()).collect();
    (!parts.is_empty()).then(|| key.mac(PURPOSE, &parts))
}

fn short(key: &MacKey, message: Node<'_>) -> [u8; 8] {
    let digest = key.mac(PURPOSE, &[message.raw()]);
    digest.first_chunk().copied().unwrap_or_default()
}

fn children<'d>(node: Option<Node<'d>>) -> impl Iterator<Item = Node<'d>> {
    node.into_iter().flat_map(|node| node.children())
}

#[cfg(test)]
mod tests {
    use gatehouse_envelope::secret::Secret;
    use serde_json::{Value, json};

    use super::*;

    fn of(body: &Value) -> Prompt {
        let key = MacKey::new(Secret::new([7; 32]));
        digests(body.to_string().as_bytes(), &key, &Limits::default()).unwrap()
    }

    #[test]
    fn each_part_has_its_own_digest() {
        let body = || {
            json!({"model": "m", "temperature": 0, "tools": [{"name": "f"}], "messages": [
                {"role": "system", "content": "s"}, {"role": "user", "content": "u"}]})
        };
        let told = |body: &Value| {
            let it = of(body);
            (it.system, it.tools, it.rest, it.messages)
        };
        let before = told(&body());
        assert!(before.0.is_some() && before.1.is_some() && before.3.len() == 2);
        let change = |change: &dyn Fn(&mut Value)| {
            let mut body = body();
            change(&mut body);
            let after = told(&body);
            let messages = before.3 == after.3;
            [
                before.0 == after.0,
                before.1 == after.1,
                before.2 == after.2,
                messages,
            ]
        };
        assert_eq!(change(&|it| it["model"] = "n".into()), [true; 4]);
        assert_eq!(
            change(&|it| it["temperature"] = 1.into()),
            [true, true, false, true]
        );
        assert_eq!(
            change(&|it| it["tools"][0]["name"] = "g".into()),
            [true, false, true, true]
        );
        assert_eq!(
            change(&|it| it["messages"][0]["content"] = "t".into()),
            [false, true, true, false]
        );
        assert_eq!(
            change(&|it| it["messages"][1]["content"] = "v".into()),
            [true, true, true, false]
        );
        assert_eq!(
            change(&|it| it["system"] = "x".into()),
            [false, true, true, true]
        );
    }

    #[test]
    fn a_system_prompt_is_the_same_in_either_protocol() {
        let says = |body: Value| of(&body).system;
        let openai =
            |content: Value| says(json!({"messages": [{"role": "system", "content": content}]}));
        let anthropic = |system: Value| says(json!({ "system": system }));
        let blocks = || json!([{"type": "text", "text": "Be kind."}]);
        let text = openai("Be kind.".into());
        assert!(text.is_some());
        for same in [
            openai(blocks()),
            anthropic("Be kind.".into()),
            anthropic(blocks()),
        ] {
            assert_eq!(same, text);
        }
        let cut = json!([{"type": "text", "text": "Be "}, {"type": "text", "text": "kind."}]);
        let cached =
            json!([{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]);
        let picture = json!([{"type": "image", "text": "Be kind."}]);
        let others = [
            anthropic("Be kind".into()),
            anthropic(cut),
            anthropic(cached.clone()),
            anthropic(picture),
        ];
        for (at, other) in others.iter().enumerate() {
            assert!(other.is_some() && *other != text);
            assert!(!others[..at].contains(other));
        }
        assert_ne!(openai(cached.clone()), anthropic(cached));
        let named = json!({"messages": [{"role": "system", "content": "Be kind.", "name": "x"}]});
        assert_ne!(says(named), text);
    }

    #[test]
    fn of_many_messages_the_last_are_told() {
        let messages: Vec<_> = (0..MESSAGES + 3)
            .map(|n| json!({"role": "user", "content": n.to_string()}))
            .collect();
        let all = of(&json!({ "messages": messages }));
        assert_eq!(
            (all.total, all.messages.len()),
            (MESSAGES as u64 + 3, MESSAGES)
        );
        let last = of(&json!({ "messages": messages[3..] }));
        assert_eq!(last.messages, all.messages);
        let none = of(&json!({"model": "m"}));
        assert!(none.messages.is_empty() && none.system.is_none() && none.tools.is_none());
    }
}
