//! The `[[provider]]` entries, and the providers that stand in the environment.

use std::collections::HashSet;
use std::sync::Arc;

use http::Uri;

use super::check::Check;
use super::raw::{RawProtocol, RawProvider};
use super::{Glob, Protocol, Provider};

const OPENAI: &str = "https://api.openai.com/v1";
const ANTHROPIC: &str = "https://api.anthropic.com";

impl Check<'_> {
    pub(super) fn providers(&mut self, entries: &[RawProvider]) -> Vec<Arc<Provider>> {
        if entries.is_empty() {
            self.faults
                .add("provider", "there is none; add a [[provider]] section");
        }
        let mut names = HashSet::new();
        let mut providers = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let path = format!("provider[{at}]");
            let name = self.name(&path, entry.name.as_deref());
            if !name.is_empty() && !names.insert(name.clone()) {
                self.faults
                    .add(format!("{path}.name"), "is the name of an earlier provider");
            }
            if let Some(provider) = self.provider(&path, name, entry) {
                providers.push(Arc::new(provider));
            }
        }
        providers
    }

    /// OpenAI and Anthropic, where their own SDKs would find a key or an address; else echo.
    pub(super) fn providers_of_environment(&mut self) -> Vec<Arc<Provider>> {
        let known = [
            (
                "openai",
                RawProtocol::Openai,
                "OPENAI_API_KEY",
                "OPENAI_BASE_URL",
            ),
            (
                "anthropic",
                RawProtocol::Anthropic,
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_BASE_URL",
            ),
        ];
        let mut entries = Vec::new();
        for (name, protocol, key, url) in known {
            let api_key = self.environment.variable(key).map(|_| format!("env:{key}"));
            let base_url = self.environment.variable(url);
            // An address alone is enough: local servers want no key.
            if api_key.is_some() || base_url.is_some() {
                let (name, protocol) = (Some(name.to_owned()), Some(protocol));
                entries.push(RawProvider {
                    name,
                    protocol,
                    base_url,
                    api_key,
                    ..Default::default()
                });
            }
        }
        if entries.is_empty() {
            let (name, protocol) = (Some("echo".to_owned()), Some(RawProtocol::Echo));
            entries.push(RawProvider {
                name,
                protocol,
                ..Default::default()
            });
        }
        self.providers(&entries)
    }

    fn name(&mut self, path: &str, name: Option<&str>) -> String {
        let name = name.unwrap_or_default();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(fits) {
            let message = "must be 1 to 64 characters of A-Z, a-z, 0-9, -, _ and .";
            self.faults.add(format!("{path}.name"), message);
        }
        name.to_owned()
    }

    fn provider(&mut self, path: &str, name: String, raw: &RawProvider) -> Option<Provider> {
        let Some(protocol) = raw.protocol else {
            self.faults.add(
                format!("{path}.protocol"),
                "must be openai, anthropic or echo",
            );
            return None;
        };
        let (protocol, official) = match protocol {
            RawProtocol::Anthropic => (Protocol::Anthropic, ANTHROPIC),
            RawProtocol::Echo => return Some(self.echo(path, name, raw)),
            RawProtocol::Openai => (Protocol::OpenAi, OPENAI),
        };
        let base_url = self.base_url(path, raw, official);
        if raw.api_key.is_none() && raw.base_url.as_deref().is_none_or(|url| url == official) {
            self.faults.add(format!("{path}.api_key"), "is missing");
        }
        let api_key = raw.api_key.as_deref().and_then(|reference| {
            let secret = self.environment.secret(reference);
            secret
                .map_err(|message| self.faults.add(format!("{path}.api_key"), message))
                .ok()
        });
        Some(Provider {
            name,
            protocol,
            models: self.globs(path, &raw.models),
            base_url,
            api_key,
        })
    }

    fn echo(&mut self, path: &str, name: String, raw: &RawProvider) -> Provider {
        for (key, given) in [("base_url", &raw.base_url), ("api_key", &raw.api_key)] {
            if given.is_some() {
                let message = "has no meaning here: the echo provider is built in";
                self.faults.add(format!("{path}.{key}"), message);
            }
        }
        let models = self.globs(path, &raw.models);
        Provider {
            name,
            protocol: Protocol::Echo,
            models,
            base_url: None,
            api_key: None,
        }
    }

    /// The patterns of `models` in the section at `path`.
    pub(super) fn globs(&mut self, path: &str, models: &[String]) -> Vec<Glob> {
        if models.iter().any(String::is_empty) {
            let message = "holds an empty pattern, which no model's name matches";
            self.faults.add(format!("{path}.models"), message);
        }
        models.iter().map(|pattern| Glob::new(pattern)).collect()
    }

    fn base_url(&mut self, path: &str, raw: &RawProvider, official: &str) -> Option<Uri> {
        let text = raw.base_url.as_deref().unwrap_or(official);
        match base_url(text, raw.allow_plain_http) {
            Ok(url) => Some(url),
            Err(message) => {
                self.faults.add(format!("{path}.base_url"), message);
                None
            }
        }
    }
}

/// An address to put the protocol's paths behind. Messages never quote it: it may hold a secret.
fn base_url(text: &str, allow_plain: bool) -> Result<Uri, &'static str> {
    let text = text.trim_end_matches('/');
    let url: Uri = text.parse().map_err(|_| "is not a URL")?;
    let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return Err("must be an absolute URL, such as https://api.openai.com/v1");
    };
    if authority.as_str().contains('@') {
        return Err("holds a credential; put it into api_key, by reference");
    }
    if url.query().is_some() || text.contains('#') {
        return Err("must have no query and no fragment");
    }
    match scheme {
        "https" => Ok(url),
        "http" if allow_plain || is_loopback(authority.host()) => Ok(url),
        "http" => Err(
            "would send the key over plain HTTP; say allow_plain_http = true if that \
                       network is trusted",
        ),
        _ => Err("must be https or http"),
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls() {
        for good in [
            "https://api.openai.com/v1",
            "https://host:8443/prefix/",
            "http://127.0.0.1:9100",
            "http://localhost:1234/v1",
            "http://[::1]:8000",
        ] {
            assert!(base_url(good, false).is_ok(), "{good}");
        }
        for bad in [
            "",
            "api.openai.com/v1",
            "/v1",
            "ftp://host",
            "http://models.example",
            "https://user:pw@host/v1",
            "https://host/v1?key=1",
            "https://host/v1#x",
        ] {
            assert!(base_url(bad, false).is_err(), "{bad}");
        }
        assert!(base_url("http://models.example", true).is_ok());
    }
}
