//! The manifest: an in-toto statement (v1) of every file's digest, in a DSSE envelope.

use data_encoding::BASE64;
use gatehouse_envelope::{
    digest::{hex, sha256},
    sign::{FileSigner, Signer},
};
use gatehouse_ledger::clock::rfc3339;
use serde_json::{Value, json};

use super::{Facts, package::Package};
use crate::{cli::Failure, scan::Tested, views::Loaded};

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const PREDICATE_TYPE: &str = "urn:gatehouse:evidence:v1";

/// The key as reports name it.
pub(super) fn public_key(signer: &FileSigner) -> String {
    BASE64.encode(&signer.public())
}

/// Writes `manifest.dsse.json`, or `manifest.json`, the bare statement, if nobody signs.
pub(super) fn write(
    package: &mut Package,
    tested: &[Tested<'_>],
    loaded: &Loaded,
    facts: &Facts,
    signer: Option<&FileSigner>,
) -> Result<(), Failure> {
    let statement = statement(package.files(), tested, loaded, facts).to_string();
    let Some(signer) = signer else {
        return package.text("manifest.json", &statement);
    };
    let signature = signer
        .sign(&pre_authentication(statement.as_bytes()))
        .map_err(|error| Failure::Read(error.to_string()))?;
    let envelope = json!({
        "payloadType": PAYLOAD_TYPE,
        "payload": BASE64.encode(statement.as_bytes()),
        "signatures": [{
            "keyid": hex(&sha256(&[&signer.public()])),
            "sig": BASE64.encode(&signature),
        }],
    });
    package.text("manifest.dsse.json", &envelope.to_string())
}

fn statement(
    files: &[(String, String)],
    tested: &[Tested<'_>],
    loaded: &Loaded,
    facts: &Facts,
) -> Value {
    let subject = files
        .iter()
        .map(|(name, digest)| json!({ "name": name, "digest": { "sha256": digest } }));
    let controls = tested.iter().map(|one| {
        json!({
            "id": one.control.id,
            "result": one.outcome.word(),
            "population": one.population,
            "exceptions": one.exceptions.count,
        })
    });
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subject.collect::<Vec<_>>(),
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "made": facts.made,
            "command": facts.command,
            "tool": { "version": env!("CARGO_PKG_VERSION"), "digest": facts.tool },
            "place": facts.place,
            "trust": facts.trust,
            "period": {
                "from": rfc3339(facts.period.from_us),
                "to": rfc3339(facts.period.to_us),
            },
            "horizon": rfc3339(loaded.horizon_us),
            "controls": controls.collect::<Vec<_>>(),
        },
    })
}

/// What DSSE signs: type and payload with their lengths, so that neither can run into the other.
fn pre_authentication(payload: &[u8]) -> Vec<u8> {
    let (kind, length) = (PAYLOAD_TYPE, payload.len());
    let mut out = format!("DSSEv1 {} {kind} {length} ", kind.len()).into_bytes();
    out.extend_from_slice(payload);
    out
}
