//! `GET /v1/models`: the providers' own lists, filtered by what the configuration sends to them.
//!
//! Nothing of a provider's reply is passed on as it is: entries are rebuilt from four known
//! members, and its headers (validators, cache rules, cookies) end here.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::{Outgoing, Upstream, speaks};
use crate::config::{Config, Protocol, Provider};
use crate::reject::{Code, Rejection, Shape};

/// A list of models is small; anything larger is not one.
const CAP: usize = 4 << 20;
/// People wait for this list, unlike for a model.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_NAME: usize = 256;

/// The models that callers of this shape can use, as that shape's list.
///
/// # Errors
/// [`Code::ModelUnknown`] if no provider speaks the shape; the last provider's failure if none of
/// them answered.
pub async fn list(config: &Config, upstream: &Upstream, shape: Shape) -> Result<Bytes, Rejection> {
    let mut entries: Vec<Value> = Vec::new();
    let mut outcome = Err(Rejection::new(Code::ModelUnknown));
    let speaking = |provider: &&std::sync::Arc<Provider>| {
        provider.protocol == speaks(shape) || provider.protocol == Protocol::Echo
    };
    for provider in config.providers.iter().filter(speaking) {
        match tokio::time::timeout(PATIENCE, fetch(upstream, provider, shape)).await {
            Ok(Ok(found)) => {
                entries.extend(found);
                outcome = Ok(());
            }
            Ok(Err(rejection)) if outcome.is_err() => outcome = Err(rejection),
            Err(_) if outcome.is_err() => outcome = Err(Code::ProviderTimeout.into()),
            Ok(Err(_)) | Err(_) => {}
        }
    }
    outcome?;
    let name = |entry: Option<&Value>| entry.and_then(|entry| entry.get("id").cloned());
    let list = match shape {
        Shape::OpenAi => json!({"object": "list", "data": entries}),
        Shape::Anthropic => json!({
            "first_id": name(entries.first()),
            "last_id": name(entries.last()),
            "has_more": false,
            "data": entries,
        }),
    };
    Ok(list.to_string().into())
}

async fn fetch(
    upstream: &Upstream,
    provider: &Provider,
    shape: Shape,
) -> Result<Vec<Value>, Rejection> {
    let path = match shape {
        Shape::Anthropic => "/v1/models?limit=1000",
        Shape::OpenAi => "/models",
    };
    let incoming = HeaderMap::new();
    let (method, body) = (Method::GET, Bytes::new());
    let request = Outgoing {
        provider,
        shape,
        method,
        path,
        incoming: &incoming,
        trace: None,
        body,
    };
    let mut answer = upstream
        .send(request)
        .await
        .map_err(|failed| failed.rejection)?;
    match answer.status.as_u16() {
        200 => {}
        401 | 403 => return Err(Code::ProviderAuthentication.into()),
        _ => return Err(Code::ProviderError.into()),
    }
    let bytes = answer.collect(CAP, PATIENCE).await?;
    let list: Value = serde_json::from_slice(&bytes).map_err(|_| Code::ProviderMalformed)?;
    let data = list
        .get("data")
        .and_then(Value::as_array)
        .ok_or(Code::ProviderMalformed)?;
    Ok(data
        .iter()
        .filter_map(|entry| rebuilt(entry, provider, shape))
        .collect())
}

/// The entry's known members, if its model goes to this provider.
fn rebuilt(entry: &Value, provider: &Provider, shape: Shape) -> Option<Value> {
    let word = |key| {
        entry
            .get(key)
            .and_then(Value::as_str)
            .filter(|text| is_word(text))
    };
    let id = word("id")?;
    // A provider without globs serves whatever no other takes.
    if !provider.models.is_empty() && !provider.models.iter().any(|glob| glob.matches(id)) {
        return None;
    }
    let created = entry.get("created").and_then(Value::as_u64).unwrap_or(0);
    Some(match shape {
        Shape::OpenAi => json!({
            "id": id,
            "object": "model",
            "created": created,
            "owned_by": word("owned_by").unwrap_or(&provider.name),
        }),
        Shape::Anthropic => json!({
            "type": "model",
            "id": id,
            "display_name": word("display_name").unwrap_or(id),
            "created_at": word("created_at").unwrap_or("1970-01-01T00:00:00Z"),
        }),
    })
}

fn is_word(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -_./:()".contains(&byte);
    !text.is_empty() && text.len() <= LONGEST_NAME && text.bytes().all(plain)
}
