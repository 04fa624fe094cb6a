//! Who is asked what they see of the audit log: `[[ledger.witness]]` and `[ledger.timestamp]`.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_envelope::stamp::Authorities;
use gatehouse_ledger::cosign::WitnessKey;
use http::Uri;

use super::check::Check;
use super::raw::{RawTimestamp, RawWitness};

/// How long one request to a witness may take: it writes to its disk before it answers.
const WITNESS_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one request to a time stamp authority may take.
const TIMESTAMP_TIMEOUT: Duration = Duration::from_secs(30);
/// More would each be asked once a minute.
const MOST_WITNESSES: usize = 16;

/// A witness that cosigns the seals (c2sp.org/tlog-witness).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Its submission prefix, with `/add-checkpoint` behind it.
    pub url: Uri,
    /// Its public key, and its name.
    pub key: WitnessKey,
    /// Whose certificate its server may have, in PEM; `None`: those that browsers trust.
    pub ca: Option<Vec<u8>>,
    /// One request.
    pub timeout: Duration,
}

/// A time stamp authority (RFC 3161).
#[derive(Clone, Debug)]
pub struct Timestamp {
    /// Where requests are posted to.
    pub url: Uri,
    /// Who may have issued its certificate.
    pub certificates: Authorities,
    /// Whose certificate its server may have, in PEM; `None`: those that browsers trust.
    pub ca: Option<Vec<u8>>,
    /// One request.
    pub timeout: Duration,
}

impl Check<'_> {
    pub(super) fn witnesses(&mut self, raw: &[RawWitness]) -> Vec<Arc<Witness>> {
        if raw.len() > MOST_WITNESSES {
            let message = format!("must be at most {MOST_WITNESSES}");
            self.faults.add("ledger.witness", message);
        }
        let mut keys = HashSet::new();
        let mut witnesses = Vec::new();
        for (index, raw) in raw.iter().enumerate() {
            let path = format!("ledger.witness[{index}]");
            let (url, key) = (self.witness_url(&path, raw), self.witness_key(&path, raw));
            let timeout_path = format!("{path}.timeout");
            let timeout = self.duration(&timeout_path, raw.timeout.as_deref(), WITNESS_TIMEOUT);
            if let (Some(url), Some(key)) = (url, key) {
                // Cosignatures are filed under the key's id.
                if !keys.insert(key.id()) {
                    let message = "is the key of a witness above";
                    self.faults.add(format!("{path}.key"), message);
                }
                let ca_path = format!("{path}.ca");
                let ca = self.issuers_for(&ca_path, raw.ca.as_deref(), is_https(&url));
                witnesses.push(Arc::new(Witness {
                    url,
                    key,
                    ca,
                    timeout,
                }));
            }
        }
        witnesses
    }

    pub(super) fn timestamp(&mut self, raw: &RawTimestamp) -> Option<Arc<Timestamp>> {
        let default = TIMESTAMP_TIMEOUT;
        let timeout = self.duration("ledger.timestamp.timeout", raw.timeout.as_deref(), default);
        let url = match raw.url.as_deref() {
            None => Err("is missing: where the time stamp authority is"),
            Some(text) => url_of(text, raw.allow_plain_http),
        };
        let certificates = self.authorities(raw.certificates.as_deref());
        match (url, certificates) {
            (Ok(url), Some(certificates)) => {
                let ca = raw.ca.as_deref();
                let ca = self.issuers_for("ledger.timestamp.ca", ca, is_https(&url));
                Some(Arc::new(Timestamp {
                    url,
                    certificates,
                    ca,
                    timeout,
                }))
            }
            (Ok(_), None) => None,
            (Err(message), _) => {
                self.faults.add("ledger.timestamp.url", message);
                None
            }
        }
    }

    fn authorities(&mut self, path: Option<&str>) -> Option<Authorities> {
        let read = match path {
            None => Err(
                "is missing: a file of the certificates, in PEM, that the authority's leads to"
                    .into(),
            ),
            Some(path) => self
                .environment
                .file(path)
                .and_then(|text| Authorities::parse(&text).map_err(|error| error.to_string())),
        };
        read.map_err(|message| self.faults.add("ledger.timestamp.certificates", message))
            .ok()
    }

    fn witness_url(&mut self, path: &str, raw: &RawWitness) -> Option<Uri> {
        let url = match raw.url.as_deref() {
            None => Err("is missing: where the witness is, such as https://witness.example.org"),
            Some(text) => url_of(text, raw.allow_plain_http).and_then(|url| {
                let prefix = url.to_string();
                let whole = format!("{}/add-checkpoint", prefix.trim_end_matches('/'));
                whole.parse().map_err(|_| "is not a URL")
            }),
        };
        url.map_err(|message| self.faults.add(format!("{path}.url"), message))
            .ok()
    }

    fn witness_key(&mut self, path: &str, raw: &RawWitness) -> Option<WitnessKey> {
        let key = match raw.key.as_deref() {
            None => Err("is missing: the witness's key, as its line in a trust file has it"),
            Some(text) => match WitnessKey::parse(text) {
                Ok(Some(key)) => Ok(key),
                Ok(None) => Err("is not of type 0x04, an Ed25519 key of a witness"),
                Err(_) => Err("is not a verifier key, or its id is not that of its key"),
            },
        };
        key.map_err(|message| self.faults.add(format!("{path}.key"), message))
            .ok()
    }
}

fn is_https(url: &Uri) -> bool {
    url.scheme_str() == Some("https")
}

/// An address to post to. Messages never quote it: it may hold a secret.
fn url_of(text: &str, allow_plain: bool) -> Result<Uri, &'static str> {
    let url: Uri = text.parse().map_err(|_| "is not a URL")?;
    let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return Err("must be an absolute URL");
    };
    if authority.as_str().contains('@') {
        return Err("holds a credential");
    }
    if url.query().is_some() || text.contains('#') {
        return Err("must have no query and no fragment");
    }
    let bare = authority.host().trim_matches(['[', ']']);
    let ip = bare.parse().map(|ip: std::net::IpAddr| ip.is_loopback());
    match scheme {
        "https" => Ok(url),
        "http" if allow_plain || ip.unwrap_or(bare == "localhost") => Ok(url),
        "http" => Err(
            "is not encrypted; say allow_plain_http = true where the network itself keeps others \
             out (answers are signed, and nothing secret is sent)",
        ),
        _ => Err("must be https or http"),
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_envelope::sign::MemorySigner;

    use crate::config::{Config, Environment, Ledger, Overrides};

    use super::*;

    fn parse(ledger: &str) -> Result<Ledger, String> {
        let text = format!(
            "config_version = 1\n[[provider]]\nname = 'e'\nprotocol = 'echo'\n[ledger]\n{ledger}"
        );
        let surroundings = Environment::new(|_| None, "");
        Config::parse(&text, &Overrides::default(), &surroundings)
            .map(|config| config.ledger)
            .map_err(|faults| faults.to_string())
    }

    fn key() -> WitnessKey {
        WitnessKey::of(&MemorySigner::generate("witness.example/w1").unwrap()).unwrap()
    }

    fn witness(url: &str, key: &impl std::fmt::Display) -> String {
        format!("[[ledger.witness]]\nurl = '{url}'\nkey = '{key}'\n")
    }

    #[test]
    fn witnesses_with_their_defaults() {
        let (one, two) = (key(), key());
        let text = witness("https://w.example/prefix/", &one)
            + &witness("http://[::1]:8090", &two)
            + "timeout = '3s'";
        let ledger = parse(&text).unwrap();
        let [first, second] = ledger.witnesses.as_slice() else {
            panic!("two witnesses");
        };
        assert_eq!(first.url, "https://w.example/prefix/add-checkpoint");
        assert_eq!((&first.key, first.timeout), (&one, Duration::from_secs(10)));
        assert_eq!(second.url, "http://[::1]:8090/add-checkpoint");
        assert_eq!(
            (&second.key, second.timeout),
            (&two, Duration::from_secs(3))
        );
        assert!(parse("").unwrap().witnesses.is_empty());
        let plain = witness("http://w.internal", &one) + "allow_plain_http = true";
        assert!(parse(&plain).is_ok());
    }

    #[test]
    fn an_authority_for_time_stamps() {
        assert!(parse("").unwrap().timestamp.is_none());
        let file = tempfile::NamedTempFile::new().unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["tsa.example".into()]).unwrap();
        std::fs::write(file.path(), made.cert.pem()).unwrap();
        let section = |rest: &str| {
            format!(
                "[ledger.timestamp]\ncertificates = {:?}\n{rest}",
                file.path()
            )
        };
        let text = section("url = 'https://tsa.example/tsr'\ntimeout = '5s'");
        let authority = parse(&text).unwrap().timestamp.unwrap();
        assert_eq!(authority.url, "https://tsa.example/tsr");
        assert_eq!(authority.timeout, Duration::from_secs(5));
        for (bad, place) in [
            ("", "url"),
            ("url = 'http://tsa.example'", "url"),
            ("url = 'https://tsa.example'\ntimeout = 'x'", "timeout"),
            ("url = 'https://tsa.example'\nkey = 'x'", "key"),
        ] {
            let faults = parse(&section(bad)).unwrap_err();
            assert!(
                faults.contains(&format!("ledger.timestamp.{place}")),
                "{faults}"
            );
        }
        let plain = section("url = 'http://tsa.example'\nallow_plain_http = true");
        assert!(parse(&plain).is_ok());
        let bare = "[ledger.timestamp]\nurl = 'https://tsa.example'";
        assert!(
            parse(bare)
                .unwrap_err()
                .contains("ledger.timestamp.certificates: is missing")
        );
        std::fs::write(file.path(), "nonsense").unwrap();
        let faults = parse(&section("url = 'https://tsa.example'")).unwrap_err();
        assert!(
            faults.contains("ledger.timestamp.certificates: not a file"),
            "{faults}"
        );
    }

    #[test]
    fn faults_of_a_witness_have_their_places() {
        let (log, same) = (MemorySigner::generate("prod").unwrap(), key());
        let of_a_log = gatehouse_ledger::note::Key::of(&log).unwrap();
        let text = witness("http://w.example", &of_a_log)
            + "[[ledger.witness]]\ntimeout = '0s'\n"
            + &witness("https://a@w.example/", &"w+0+A")
            + &witness("https://w.example", &same)
            + &witness("https://w.example", &same);
        let faults = parse(&text).unwrap_err();
        for place in [
            "[0].url",
            "[0].key",
            "[1].url",
            "[1].key",
            "[1].timeout",
            "[2].url",
            "[2].key",
            "[4].key",
        ] {
            assert!(
                faults.contains(&format!("ledger.witness{place}: ")),
                "{place}: {faults}"
            );
        }
        assert!(
            !faults.contains("[3]") && !faults.contains("a@"),
            "{faults}"
        );
        assert!(parse("[[ledger.witness]]\nname = 'w'").is_err());
        let many: String = (0..17)
            .map(|_| witness("https://w.example", &key()))
            .collect();
        assert!(parse(&many).unwrap_err().contains("at most 16"));
    }
}
