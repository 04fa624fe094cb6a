//! What the bodies of this API say: strict JSON, known members only, each text within its length. What
//! is wrong is told by the names of ours, never by what the caller wrote.

use std::collections::BTreeMap;

use gatehouse_redactor::json::{Document, Kind, Limits};
use http::Method;
use serde::{Deserialize, Deserializer};

use super::Place;
use crate::reject::{Code, Rejection};
use crate::session::typed::{Change, Given, Life, Text, is_call_id, is_name};

/// The most characters of each text.
const GOAL: usize = 4096;
const ENTITY: usize = 1024;
const ERROR: usize = 1024;
const QUESTION: usize = 4096;
/// And of a document, or of a tool's result.
pub(super) const DOCUMENT: usize = 256 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    #[serde(default, deserialize_with = "given")]
    goal: Given<Text>,
    #[serde(default)]
    entities: BTreeMap<String, Option<Text>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Phase {
    to: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Error {
    #[serde(default)]
    text: Option<Text>,
    #[serde(default)]
    call: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolResult {
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    failed: Option<bool>,
    #[serde(default)]
    text: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Checkpoint {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Artifact {
    content: Text,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default)]
    author: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Evaluation {
    passed: bool,
    #[serde(default)]
    author: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pause {
    question: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    answer: Text,
}

/// A member that is there, or there and null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Given<Text>, D::Error> {
    let value = Option::<Text>::deserialize(deserializer)?;
    Ok(value.map_or(Given::Null, Given::Value))
}

/// The change that a request asks for.
///
/// # Errors
/// The body is not what its place takes.
pub(super) fn change(
    body: &[u8],
    method: &Method,
    place: &Place,
    limits: &Limits,
) -> Result<Change, Rejection> {
    Ok(match place.clone() {
        Place::State => update(read(body, limits)?)?,
        Place::Phase => {
            let Phase { to } = read(body, limits)?;
            name(&to, "to")?;
            Change::Phase { to }
        }
        Place::Errors => error(read(body, limits)?)?,
        Place::Result { call } => result(call, read(body, limits)?)?,
        Place::Checkpoints => {
            let Checkpoint { name: checkpoint } = read(body, limits)?;
            name(&checkpoint, "name")?;
            Change::Checkpoint { name: checkpoint }
        }
        Place::Checkpoint { name } => {
            nothing(body, limits)?;
            Change::Forget { name }
        }
        Place::Restore { name } => {
            nothing(body, limits)?;
            Change::Restore { name }
        }
        Place::Artifact { name, n: None } => document(name, read(body, limits)?)?,
        Place::Evaluation { name, n } => evaluation((name, n), read(body, limits)?)?,
        Place::Pause => {
            let Pause { question } = read(body, limits)?;
            within(&question, QUESTION, "question")?;
            Change::Pause { question }
        }
        Place::Answer => {
            let Answer { answer } = read(body, limits)?;
            within(&answer, QUESTION, "answer")?;
            Change::Answer { answer }
        }
        Place::Resume => {
            nothing(body, limits)?;
            Change::Resume
        }
        // The table of methods lets none of these through.
        Place::Artifact { .. } | Place::Context | Place::Progress => {
            tracing::error!(%method, "a change of what cannot be changed");
            return Err(Code::MethodNotAllowed.into());
        }
    })
}

/// The artifact that a change adds a version of.
pub(super) fn artifact(change: &Change) -> Option<String> {
    match change {
        Change::Artifact { name, .. } => Some(name.clone()),
        _ => None,
    }
}

fn update(update: Update) -> Result<Change, Rejection> {
    if let Given::Value(goal) = &update.goal {
        within(goal, GOAL, "goal")?;
    }
    for (entity, value) in &update.entities {
        name(entity, "entities")?;
        value
            .iter()
            .try_for_each(|it| within(it, ENTITY, "entities"))?;
    }
    Ok(Change::Update {
        goal: update.goal,
        entities: update.entities.into_iter().collect(),
    })
}

fn error(error: Error) -> Result<Change, Rejection> {
    let Error { text, call } = error;
    text.iter()
        .try_for_each(|text| within(text, ERROR, "text"))?;
    if call.as_deref().is_some_and(|call| !is_call_id(call)) {
        return Err(malformed("call"));
    }
    Ok(Change::Error { text, call })
}

fn result(call: String, result: ToolResult) -> Result<Change, Rejection> {
    let ToolResult {
        tool,
        state,
        failed,
        text,
    } = result;
    if tool.as_deref().is_some_and(|tool| !is_call_id(tool)) {
        return Err(malformed("tool"));
    }
    text.iter()
        .try_for_each(|text| within(text, DOCUMENT, "text"))?;
    let life = state.as_deref().map(Life::of);
    if life == Some(None) {
        let rejection = Rejection::new(Code::JsonUnexpected).parameter("state");
        return Err(rejection.detail("pending, active, consumed or archived"));
    }
    Ok(Change::Result {
        call,
        tool,
        life: life.flatten(),
        failed,
        text,
    })
}

fn evaluation((artifact, n): (String, u64), mark: Evaluation) -> Result<Change, Rejection> {
    let Evaluation { passed, author } = mark;
    author
        .iter()
        .try_for_each(|author| name(author, "author"))?;
    Ok(Change::Evaluate {
        name: artifact,
        n,
        passed,
        author,
    })
}

fn document(artifact: String, document: Artifact) -> Result<Change, Rejection> {
    let Artifact {
        content,
        media_type,
        author,
    } = document;
    within(&content, DOCUMENT, "content")?;
    author
        .iter()
        .try_for_each(|author| name(author, "author"))?;
    if media_type
        .as_deref()
        .is_some_and(|kind| !is_media_type(kind))
    {
        return Err(malformed("media_type"));
    }
    Ok(Change::Artifact {
        name: artifact,
        media: media_type,
        author,
        content,
    })
}

/// A type and a subtype, without parameters.
fn is_media_type(text: &str) -> bool {
    let token = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte);
        (1..=64).contains(&part.len()) && part.bytes().all(plain)
    };
    text.split_once('/')
        .is_some_and(|(kind, subtype)| token(kind) && token(subtype))
}

fn read<'b, T: Deserialize<'b>>(body: &'b [u8], limits: &Limits) -> Result<T, Rejection> {
    // The strict parser first: what two parsers could read differently is refused by it.
    match Document::parse(body, limits) {
        // A list of the members' values would do for serde.
        Ok(document) if document.root().kind() == Kind::Object => {}
        Ok(_) => return Err(Rejection::new(Code::JsonUnexpected).detail("an object is needed")),
        Err(error) => {
            let detail = format!("{} at byte {}", error.fault, error.offset);
            return Err(Rejection::new(Code::JsonInvalid).detail(detail));
        }
    }
    serde_json::from_slice(body).map_err(|_| {
        let detail = "a member is missing, unknown or of another type";
        Rejection::new(Code::JsonUnexpected).detail(detail)
    })
}

/// An empty object, or no body at all.
fn nothing(body: &[u8], limits: &Limits) -> Result<(), Rejection> {
    match body.trim_ascii().is_empty() {
        true => Ok(()),
        false => read::<Nothing>(body, limits).map(|Nothing {}| ()),
    }
}

fn within(text: &Text, most: usize, member: &str) -> Result<(), Rejection> {
    match text.as_str().chars().nth(most) {
        None => Ok(()),
        Some(_) => Err(Rejection::new(Code::JsonUnexpected)
            .parameter(member)
            .detail(format!("more than {most} characters"))),
    }
}

fn name(text: &str, member: &str) -> Result<(), Rejection> {
    match is_name(text) {
        true => Ok(()),
        false => Err(malformed(member)),
    }
}

fn malformed(member: &str) -> Rejection {
    Rejection::new(Code::NameMalformed).parameter(member)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(method: &Method, place: &str, body: &str) -> Option<Code> {
        let place = Place::of(place).unwrap();
        assert!(place.methods().contains(method.as_str()));
        let change = change(body.as_bytes(), method, &place, &Limits::default());
        change.err().map(|rejection| rejection.code())
    }

    #[test]
    fn bodies_are_strict() {
        let patch = |body: &str| code(&Method::PATCH, "state", body);
        for taken in [
            "{}",
            r#"{"goal":null}"#,
            r#"{"goal":"x","entities":{"a":"b","c":null}}"#,
        ] {
            assert_eq!(patch(taken), None, "{taken}");
        }
        let long = format!(r#"{{"goal":"{}"}}"#, "ü".repeat(GOAL + 1));
        for (body, wrong) in [
            ("", Code::JsonInvalid),
            ("[]", Code::JsonUnexpected),
            (r#"{"goal":"a","goal":"b"}"#, Code::JsonInvalid),
            (r#"{"entities":{"a":"b","a":null}}"#, Code::JsonInvalid),
            (r#"{"goals":"a"}"#, Code::JsonUnexpected),
            (r#"{"goal":1}"#, Code::JsonUnexpected),
            (r#"{"entities":{"a b":"c"}}"#, Code::NameMalformed),
            (r#"{"entities":{"a":1}}"#, Code::JsonUnexpected),
            (&long, Code::JsonUnexpected),
        ] {
            assert_eq!(patch(body), Some(wrong), "{body}");
        }
        let post = |place, body| code(&Method::POST, place, body);
        assert_eq!(post("resume", ""), None);
        assert_eq!(post("resume", "{}"), None);
        assert_eq!(post("resume", "{\"x\":1}"), Some(Code::JsonUnexpected));
        assert_eq!(post("pause", "{}"), Some(Code::JsonUnexpected));
        assert_eq!(
            post("errors", r#"{"call":"a b"}"#),
            Some(Code::NameMalformed)
        );
        let put = |place, body| code(&Method::PUT, place, body);
        assert_eq!(put("tool-results/c", r#"{"state":"consumed"}"#), None);
        let tagged = put("tool-results/c", r#"{"state":{"consumed":null}}"#);
        assert_eq!(tagged, Some(Code::JsonUnexpected));
        assert_eq!(
            put("tool-results/c", r#"{"state":"gone"}"#),
            Some(Code::JsonUnexpected)
        );
        let media = r#"{"content":"","media_type":"text/markdown; charset=utf-8"}"#;
        assert_eq!(put("artifacts/a", media), Some(Code::NameMalformed));
        assert_eq!(
            put("artifacts/a/1/evaluation", r#"{"passed":"yes"}"#),
            Some(Code::JsonUnexpected)
        );
    }
}
