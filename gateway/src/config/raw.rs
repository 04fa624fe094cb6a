//! The configuration file as it is written: everything optional, nothing checked but names and
//! types. `check` turns it into what it means.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    pub(super) config_version: Option<i64>,
    pub(super) listen: Option<String>,
    pub(super) admin_listen: Option<String>,
    pub(super) allow_plain_listen: bool,
    pub(super) data_dir: Option<String>,
    pub(super) redaction: Option<String>,
    pub(super) tls: Option<RawTls>,
    pub(super) provider: Vec<RawProvider>,
    pub(super) pin: Vec<RawPin>,
    pub(super) timeouts: RawTimeouts,
    pub(super) limits: RawLimits,
    pub(super) sessions: RawSessions,
    pub(super) keys: RawKeys,
    pub(super) ledger: RawLedger,
    pub(super) model: RawModel,
    pub(super) log: RawLog,
    /// Read only to be refused with a reason: what is not enforced must not look as if it were.
    pub(super) agents: BTreeMap<String, toml::Value>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawTls {
    pub(super) certificate: Option<String>,
    pub(super) key: Option<String>,
    pub(super) client_ca: Option<String>,
    pub(super) names: Vec<String>,
    pub(super) reread: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawProvider {
    pub(super) name: Option<String>,
    pub(super) protocol: Option<RawProtocol>,
    pub(super) models: Vec<String>,
    pub(super) base_url: Option<String>,
    pub(super) api_key: Option<String>,
    pub(super) allow_plain_http: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawPin {
    pub(super) models: Vec<String>,
    pub(super) temperature: Option<RawNumber>,
    pub(super) seed: Option<i64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "must be a number, without quotes")]
pub(super) enum RawNumber {
    Integer(i64),
    Float(f64),
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawProtocol {
    Anthropic,
    Echo,
    Openai,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawTimeouts {
    pub(super) headers: Option<String>,
    pub(super) idle: Option<String>,
    pub(super) exchange: Option<String>,
    pub(super) connect: Option<String>,
    pub(super) first_byte: Option<String>,
    pub(super) drain: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawLimits {
    pub(super) headers: Option<String>,
    pub(super) body: Option<String>,
    pub(super) depth: Option<i64>,
    pub(super) leaves: Option<i64>,
    pub(super) reply: Option<String>,
    pub(super) event: Option<String>,
    pub(super) connections: Option<i64>,
    pub(super) connections_per_ip: Option<i64>,
    pub(super) max_tokens_per_session: Option<i64>,
    pub(super) max_tokens_per_key_and_day: Option<i64>,
    pub(super) max_tokens_per_tenant_and_day: Option<i64>,
    pub(super) warn_at_percent: Option<i64>,
    pub(super) assumed_answer_tokens: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawSessions {
    pub(super) store: Option<String>,
    pub(super) url: Option<RawUrls>,
    pub(super) password: Option<String>,
    pub(super) ca: Option<String>,
    pub(super) cluster: Option<bool>,
    pub(super) prefix: Option<String>,
    pub(super) wait_replicas: Option<i64>,
    pub(super) connect_timeout: Option<String>,
    pub(super) timeout: Option<String>,
    pub(super) allow_plain_redis: Option<bool>,
    pub(super) table: Option<String>,
    pub(super) region: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) parts_bucket: Option<String>,
    pub(super) parts_endpoint: Option<String>,
    pub(super) idle: Option<String>,
    pub(super) absolute: Option<String>,
    pub(super) lease: Option<String>,
    /// Any value, so that a wrong one gets an answer in words.
    pub(super) on_busy: Option<toml::Value>,
    pub(super) wait: Option<String>,
    pub(super) continuity: Option<bool>,
    pub(super) require_session: Option<bool>,
    pub(super) recovery_days: Option<i64>,
    pub(super) phases: Option<RawPhases>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawPhases {
    pub(super) initial: Option<String>,
    pub(super) next: BTreeMap<String, Vec<String>>,
    pub(super) by_model: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "must be a URL or a list of URLs")]
pub(super) enum RawUrls {
    One(String),
    Several(Vec<String>),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawKeys {
    pub(super) provider: Option<String>,
    pub(super) key_id: Option<String>,
    pub(super) previous_key_ids: Option<Vec<String>>,
    pub(super) previous_files: Option<Vec<String>>,
    pub(super) signing_key_id: Option<String>,
    pub(super) region: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) connect_timeout: Option<String>,
    pub(super) timeout: Option<String>,
    pub(super) attempts: Option<i64>,
    pub(super) cache_age: Option<String>,
    pub(super) cache_age_new: Option<String>,
    pub(super) cache_uses: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawModel {
    pub(super) workers: Option<i64>,
    pub(super) deadline: Option<String>,
    pub(super) text: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawLedger {
    pub(super) store: Option<String>,
    pub(super) mode: Option<RawMode>,
    pub(super) append_timeout: Option<String>,
    pub(super) deployment: Option<String>,
    pub(super) segment_age: Option<String>,
    pub(super) segment_size: Option<String>,
    pub(super) spool: Option<String>,
    pub(super) allow_degraded: Option<String>,
    pub(super) bucket: Option<String>,
    pub(super) prefix: Option<String>,
    pub(super) region: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) retention_days: Option<i64>,
    pub(super) kms_key_id: Option<String>,
    pub(super) expected_owner: Option<String>,
    pub(super) connect_timeout: Option<String>,
    pub(super) timeout: Option<String>,
    pub(super) allow_plain_http: Option<bool>,
    pub(super) prompt_parts: Option<bool>,
    pub(super) witness: Vec<RawWitness>,
    pub(super) timestamp: Option<RawTimestamp>,
    pub(super) payloads: Option<RawPayloads>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawTimestamp {
    pub(super) url: Option<String>,
    pub(super) certificates: Option<String>,
    pub(super) ca: Option<String>,
    pub(super) timeout: Option<String>,
    pub(super) allow_plain_http: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawWitness {
    pub(super) url: Option<String>,
    pub(super) key: Option<String>,
    pub(super) ca: Option<String>,
    pub(super) timeout: Option<String>,
    pub(super) allow_plain_http: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawPayloads {
    pub(super) place: Option<String>,
    pub(super) retention_days: Option<i64>,
    pub(super) reply: Option<RawReply>,
    pub(super) region: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) kms_key_id: Option<String>,
    pub(super) expected_owner: Option<String>,
    pub(super) connect_timeout: Option<String>,
    pub(super) timeout: Option<String>,
    pub(super) allow_plain_http: Option<bool>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawReply {
    Received,
    Restored,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawMode {
    Async,
    Local,
    Strict,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawLog {
    pub(super) level: Option<RawLevel>,
    pub(super) format: Option<RawFormat>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawFormat {
    Json,
    Text,
}
