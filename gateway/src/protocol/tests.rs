//! The tables, leaf by leaf: names are checked, numbers skipped, and whatever is not listed is text.

use gatehouse_redactor::Direction;
use gatehouse_redactor::body::{Class, Grammar, Schema};
use gatehouse_redactor::json::{Document, Kind, Limits, Splice};

use super::{Anthropic, Closes, Facts, OpenAiChat, Part, Place, Protocol, Role, by_path};

/// The class of every leaf, by its path.
fn classes(schema: &dyn Schema, json: &str) -> Vec<(String, Class)> {
    let document = Document::parse(json.as_bytes(), &Limits::default()).unwrap();
    document
        .leaves()
        .map(|leaf| (leaf.path(), schema.class(leaf)))
        .collect()
}

fn class_of(schema: &dyn Schema, json: &str, path: &str) -> Class {
    let found = classes(schema, json).into_iter().find(|(at, _)| at == path);
    found.unwrap_or_else(|| panic!("no {path}")).1
}

#[test]
fn what_is_not_listed_is_text() {
    let json = r#"{"model":"m","new":{"deep":["x",1]},"messages":[{"role":"user","content":"x","extra":"y"}],
        "metadata":{"user_id":"x"},"user":"x","max_tokens":"x"}"#;
    for schema in [&OpenAiChat as &dyn Schema, &Anthropic] {
        for path in [
            "new.deep[0]",
            "new.deep[1]",
            "messages[0].content",
            "messages[0].extra",
            "metadata.user_id",
            "user",
            "max_tokens",
        ] {
            assert_eq!(
                class_of(schema, json, path),
                Class::Edit(Direction::Prompt),
                "{path}"
            );
        }
        assert_eq!(
            class_of(schema, json, "messages[0].role"),
            Class::Check(Grammar::Word)
        );
        assert_eq!(
            class_of(schema, json, "model"),
            Class::Check(Grammar::Model)
        );
    }
}

#[test]
fn a_key_that_looks_like_an_item_is_not_one() {
    let json = r#"{"messages":{"[]":{"role":"x"}}}"#;
    for schema in [&OpenAiChat as &dyn Schema, &Anthropic] {
        assert_eq!(classes(schema, json)[0].1, Class::Edit(Direction::Prompt));
    }
}

#[test]
fn directions_follow_roles_and_blocks() {
    let chat = r#"{"messages":[{"role":"system","content":"x"},{"role":"tool","content":[{"type":"text","text":"x"}]},
        {"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}]}"#;
    let edit = |direction| Class::Edit(direction);
    assert_eq!(
        class_of(&OpenAiChat, chat, "messages[0].content"),
        edit(Direction::System)
    );
    assert_eq!(
        class_of(&OpenAiChat, chat, "messages[1].content[0].text"),
        edit(Direction::ToolOutput)
    );
    let arguments = "messages[2].tool_calls[0].function.arguments";
    assert_eq!(
        class_of(&OpenAiChat, chat, arguments),
        edit(Direction::ToolArguments)
    );
    let document = Document::parse(chat.as_bytes(), &Limits::default()).unwrap();
    let leaf = document
        .leaves()
        .find(|leaf| leaf.path() == arguments)
        .unwrap();
    assert_eq!(OpenAiChat.tool_of(leaf).as_deref(), Some("f"));

    let blocks = r#"{"system":"x","messages":[{"role":"user","content":[
        {"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}]},
        {"type":"tool_use","id":"t","name":"f","input":{"a":["x"]}},
        {"type":"thinking","thinking":"x","signature":"s"},
        {"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}},
        {"type":"later","text":"x"}]}]}"#;
    let at = |path: &str| class_of(&Anthropic, blocks, &format!("messages[0].content{path}"));
    assert_eq!(
        class_of(&Anthropic, blocks, "system"),
        edit(Direction::System)
    );
    assert_eq!(at("[0].content[0].text"), edit(Direction::ToolOutput));
    assert_eq!(at("[1].input.a[0]"), edit(Direction::ToolArguments));
    assert_eq!(
        (at("[2].thinking"), at("[2].signature")),
        (Class::Signed, Class::Signed)
    );
    assert_eq!(at("[3].source.data"), edit(Direction::Prompt));
    assert_eq!(at("[4].text"), edit(Direction::Prompt));
}

#[test]
fn usage_is_asked_for_by_one_member_and_nothing_else_changes() {
    for (options, sent, added) in [
        (
            "",
            r#"{"stream_options":{"include_usage":true},"model":"m"}"#,
            1,
        ),
        (
            r#","stream_options":{"a":1}"#,
            r#"{"model":"m","stream_options":{"include_usage":true,"a":1}}"#,
            1,
        ),
        (
            r#","stream_options":null"#,
            r#"{"model":"m","stream_options":{"include_usage":true}}"#,
            0,
        ),
    ] {
        let json = format!(r#"{{"model":"m"{options}}}"#);
        let document = Document::parse(json.as_bytes(), &Limits::default()).unwrap();
        let facts = Facts {
            model: "m".into(),
            stream: true,
            usage_wanted: false,
            brought: Vec::new(),
            most: None,
            answers: None,
        };
        let mut splice = Splice::new(&document);
        assert_eq!(OpenAiChat.adjust(&document, &facts, &mut splice), added);
        assert_eq!(String::from_utf8(splice.finish()).unwrap(), sent);
    }
}

/// What each string of an event is, but for its `type`.
fn parts(protocol: &dyn Protocol, json: &str) -> Vec<(String, Part)> {
    let document = Document::parse(json.as_bytes(), &Limits::default()).unwrap();
    let facts = Facts {
        model: "m".into(),
        stream: true,
        usage_wanted: true,
        brought: Vec::new(),
        most: None,
        answers: None,
    };
    document
        .leaves()
        .filter(|leaf| leaf.kind() == Kind::String && !leaf.path().ends_with("type"))
        .map(|leaf| {
            let part = protocol.event_part(leaf, &Place::of(leaf), &facts);
            (leaf.path(), part)
        })
        .collect()
}

#[test]
fn every_string_of_an_unknown_event_may_go_on() {
    let later = r#"{"type":"later","a":{"b":["x"]},"c":"y"}"#;
    let block =
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"later","t":"x"},"d":"y"}"#;
    let chunk = r#"{"choices":[{"index":3,"delta":{"later":{"t":"x"},"content":["y"]}}]}"#;
    for (protocol, json, owner) in [
        (&OpenAiChat as &dyn Protocol, later, None),
        (&Anthropic, later, None),
        (&Anthropic, block, Some(3)),
        (&OpenAiChat, chunk, Some(3)),
    ] {
        let parts = parts(protocol, json);
        assert_eq!(parts.len(), 2, "{json}");
        for (path, part) in parts {
            assert!(part == Part::Piece { owner }, "{path} of {json}");
        }
    }
}

#[test]
fn an_error_needs_no_type_but_is_not_null() {
    for (json, role) in [
        (r#"{"type":"error","error":{"message":"x"}}"#, Role::Error),
        (r#"{"error":{"message":"x"}}"#, Role::Error),
        (r#"{"error":"x"}"#, Role::Error),
        (r#"{"error":null}"#, Role::Middle),
        (r#"{"later":1}"#, Role::Middle),
    ] {
        let document = Document::parse(json.as_bytes(), &Limits::default()).unwrap();
        let event = document.root();
        for protocol in [&OpenAiChat as &dyn Protocol, &Anthropic] {
            assert_eq!(protocol.role(event), role, "{json}");
            assert_eq!(
                protocol.closes(event) == Closes::All,
                role == Role::Error,
                "{json}"
            );
        }
    }
}

#[test]
fn what_is_complete_is_not_joined() {
    for (protocol, json) in [
        (
            &OpenAiChat as &dyn Protocol,
            r#"{"choices":[{"delta":{"annotations":[{"url_citation":{"title":"x"}}]}}]}"#,
        ),
        (&OpenAiChat, r#"{"error":{"message":"x"}}"#),
        (&OpenAiChat, r#"{"later":{"status":"x","file_id":"y"}}"#),
        (&Anthropic, r#"{"type":"error","error":{"message":"x"}}"#),
        (
            &Anthropic,
            r#"{"type":"content_block_stop","index":0,"later":"x"}"#,
        ),
        (
            &Anthropic,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"later","name":"x"}}"#,
        ),
        (
            &Anthropic,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"cited_text":"x"}}}"#,
        ),
    ] {
        let parts = parts(protocol, json);
        assert!(!parts.is_empty(), "{json}");
        for (path, part) in parts {
            assert!(part == Part::Whole, "{path} of {json}");
        }
    }
}

#[test]
fn what_is_sent_once_may_go_on_in_the_next_event() {
    for (protocol, json, owner) in [
        (
            &OpenAiChat as &dyn Protocol,
            r#"{"choices":[{"index":1,"note":"x"}]}"#,
            Some(1),
        ),
        (&OpenAiChat, r#"{"choices":[],"provider":"y"}"#, None),
        (&OpenAiChat, r#"{"type":"later.start","later":"y"}"#, None),
        (
            &Anthropic,
            r#"{"type":"message_delta","delta":{"stop_sequence":"x"}}"#,
            None,
        ),
        (
            &Anthropic,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"later","title":"x"}}"#,
            Some(2),
        ),
        (&Anthropic, r#"{"type":"later_start","later":"x"}"#, None),
    ] {
        let document = Document::parse(json.as_bytes(), &Limits::default()).unwrap();
        assert!(protocol.may_be_head(document.root()), "{json}");
        for (path, part) in parts(protocol, json) {
            let expected = part == Part::Head { owner } || path.ends_with("index");
            assert!(expected || part == Part::Keep, "{path} of {json}");
        }
    }
    // What every stream is made of does not wait.
    for (protocol, json) in [
        (
            &OpenAiChat as &dyn Protocol,
            r#"{"id":"c","object":"o","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null,"logprobs":null}],"usage":null,"obfuscation":"k3Jd"}"#,
        ),
        (
            &Anthropic,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#,
        ),
    ] {
        let document = Document::parse(json.as_bytes(), &Limits::default()).unwrap();
        assert!(!protocol.may_be_head(document.root()), "{json}");
    }
}

#[test]
fn paths_are_compared_byte_for_byte() {
    assert!(by_path("/v1/chat/completions").is_some() && by_path("/v1/messages").is_some());
    for path in [
        "/v1/chat/completions/",
        "//v1/messages",
        "/V1/messages",
        "/v1/%6dessages",
        "",
    ] {
        assert!(by_path(path).is_none(), "{path}");
    }
}
