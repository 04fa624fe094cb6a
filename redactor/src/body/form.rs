//! Objects whose form says what stands in them, whatever the single keys are.

use super::key::MOST_BESIDE;
use crate::json::{Kind, Node};
use crate::pair;

/// What such an object says of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It is what this name says.
    Named(&'static str),
    /// It is a command, which its key merely calls something.
    Commands,
}

/// What the object that a value stands in says of it.
pub(super) fn of(value: Node<'_>, own: &str) -> Option<Form> {
    let object = value.parent()?;
    if let Some(name) = of_human_name(object, own) {
        return Some(Form::Named(name));
    }
    match object.key()?.as_ref() {
        // What a Secret of Kubernetes holds is secret by its kind: `data` is base64 of anything.
        "data" if is_secret(object) => Some(Form::Named(pair::SEALED)),
        "stringData" if is_secret(object) && !is_word(value) => Some(Form::Named(pair::SEALED)),
        // `package.json`, `composer.json`: names of commands.
        "scripts" if value.kind() == Kind::String => Some(Form::Commands),
        key if pair::holds_cookies(key) && pair::name(own).is_none() => {
            Some(Form::Named(pair::TOKEN))
        }
        _ => None,
    }
}

/// What a value is in a name as FHIR writes it: `{"family": "…", "given": ["…"]}`. Each word alone may mean
/// anything.
fn of_human_name(object: Node<'_>, own: &str) -> Option<&'static str> {
    let holds = |wanted: &str| {
        let mut beside = object.children().take(MOST_BESIDE);
        beside.any(|node| node.key().is_some_and(|key| key == wanted))
    };
    match own {
        "family" if holds("given") => Some("last_name"),
        "given" if holds("family") => Some("first_name"),
        _ => None,
    }
}

/// Whether a value is that of one cookie in a list of them, as browsers and HAR keep them:
/// `"cookies": [{"name": "sid", "value": "…"}]`.
pub(super) fn is_in_cookies(value: Node<'_>) -> bool {
    let list = || {
        value
            .parent()?
            .parent()
            .filter(|it| it.kind() == Kind::Array)
    };
    let holds = || Some(pair::holds_cookies(&list()?.key()?));
    value.key().is_some_and(|own| pair::holds_value(&own)) && holds().unwrap_or(false)
}

/// Whether the object around this one is a manifest of `kind: Secret`.
fn is_secret(data: Node<'_>) -> bool {
    let manifest = data.parent().into_iter().flat_map(Node::children);
    manifest.take(MOST_BESIDE).any(|node| {
        let is_kind = || node.key().as_deref() == Some("kind");
        node.raw() == br#""Secret""# && is_kind()
    })
}

/// A word, which would be found everywhere from then on: `admin`, `production`.
fn is_word(value: Node<'_>) -> bool {
    value
        .raw()
        .iter()
        .all(|b| b.is_ascii_lowercase() || *b == b'"')
}
