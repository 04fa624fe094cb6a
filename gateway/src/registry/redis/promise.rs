//! What the server promises of what it is given, read at the start and written to the operator's log.

use std::collections::BTreeMap;

use redis::{Value, cmd};

use super::{Link, LinkError};
use crate::config::Redis;

/// Why a server is not fit to keep sessions.
#[derive(Debug, thiserror::Error)]
pub enum UnfitError {
    /// It throws away what it was given when its memory is full.
    #[error(
        "maxmemory-policy is {0}: redis would silently throw sessions away; set it to noeviction"
    )]
    Evicts(String),
    /// It does not answer.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// It follows another server.
    #[error("it is a replica: the gateway reads and writes at the primary only")]
    Replica,
}

impl Link {
    /// Looks at the servers' settings, as far as the user may, and says in the log what they promise.
    ///
    /// # Errors
    /// A server that would lose sessions by itself, or does not answer.
    pub async fn check(&self, settings: &Redis) -> Result<(), UnfitError> {
        let mut info = cmd("INFO");
        info.arg("server").arg("memory");
        info.arg("persistence").arg("replication");
        let texts = match self.ask_all(&info).await {
            Ok(texts) => texts,
            Err(LinkError::Refused(code)) if code == "NOPERM" => {
                tracing::warn!(
                    "redis: the user may not run INFO, so nobody knows whether sessions could be \
                     evicted, or are on a disk; grant +info"
                );
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let settings_of = self.settings().await?;
        for text in texts {
            let facts = text_of(&text).map(facts).unwrap_or_default();
            fit(&facts)?;
            tell(&facts, &settings_of, settings.wait_replicas);
        }
        Ok(())
    }

    /// What CONFIG GET says where it may be asked.
    async fn settings(&self) -> Result<BTreeMap<String, String>, LinkError> {
        let mut found = BTreeMap::new();
        for name in ["appendfsync", "min-replicas-to-write"] {
            let mut get = cmd("CONFIG");
            get.arg("GET").arg(name);
            let answers = match self.ask_all(&get).await {
                Ok(answers) => answers,
                // Managed services have no CONFIG, and a user need not have it.
                Err(LinkError::Refused(_)) => return Ok(found),
                Err(error) => return Err(error),
            };
            for answer in answers {
                if let Ok(pairs) = redis::from_redis_value::<BTreeMap<String, String>>(answer) {
                    found.extend(pairs);
                }
            }
        }
        Ok(found)
    }
}

fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text),
        _ => None,
    }
}

/// The `name:value` lines of INFO.
fn facts(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .filter_map(|line| line.trim_end().split_once(':'))
        .collect()
}

fn fit(facts: &BTreeMap<&str, &str>) -> Result<(), UnfitError> {
    if facts.get("role") == Some(&"slave") {
        return Err(UnfitError::Replica);
    }
    let policy = facts.get("maxmemory_policy").copied().unwrap_or_default();
    if !matches!(policy, "" | "noeviction") {
        return Err(UnfitError::Evicts(policy.to_owned()));
    }
    Ok(())
}

fn tell(facts: &BTreeMap<&str, &str>, settings: &BTreeMap<String, String>, wanted: u32) {
    let fact = |name| facts.get(name).copied().unwrap_or("unknown");
    let setting = |name| settings.get(name).map_or("unknown", String::as_str);
    let (version, aof) = (fact("redis_version"), fact("aof_enabled"));
    let (appendfsync, replicas) = (setting("appendfsync"), fact("connected_slaves"));
    let min_replicas = setting("min-replicas-to-write");
    tracing::info!(
        version,
        aof,
        appendfsync,
        replicas,
        min_replicas,
        wait_replicas = wanted,
        "redis"
    );
    if aof == "0" {
        tracing::warn!(
            "redis keeps no append-only file: a restart of the server loses sessions; set appendonly \
             yes"
        );
    } else if appendfsync == "everysec" || appendfsync == "no" {
        tracing::warn!(
            appendfsync,
            "redis does not sync each write: a crash of its machine loses the last ones"
        );
    }
    if replicas.parse().is_ok_and(|there: u32| there < wanted) {
        tracing::warn!(
            replicas,
            wait_replicas = wanted,
            "redis has too few replicas: every write that waits for them fails"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_evicts_or_follows_is_refused() {
        let of = |text| fit(&facts(text));
        assert!(of("role:master\r\nmaxmemory_policy:noeviction\r\n").is_ok());
        let evicts = of("role:master\r\nmaxmemory_policy:allkeys-lru\r\n");
        assert!(matches!(evicts, Err(UnfitError::Evicts(policy)) if policy == "allkeys-lru"));
        assert!(matches!(of("role:slave\r\n"), Err(UnfitError::Replica)));
        // A service that shows less is taken at its word.
        assert!(of("# Server\r\n").is_ok());
    }
}
