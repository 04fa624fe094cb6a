//! Who holds the root key and the log's signing key, and how long unwrapped keys are kept: `[keys]`.

use std::path::PathBuf;
use std::time::Duration;

use super::check::Check;
use super::raw::RawKeys;

/// Somebody who is asked more often than this is not helped by it.
#[cfg(feature = "aws")]
const MOST_ATTEMPTS: usize = 10;
const MOST_USES: usize = 1 << 32;

/// Keys.
#[derive(Clone, Debug)]
pub struct Keys {
    /// The root key.
    pub root: RootKey,
    /// How long a tenant's unwrapped key is used at most.
    pub cache_age: Duration,
    /// And for a new session.
    pub cache_age_new: Duration,
    /// How often it is used at most.
    pub cache_uses: u64,
}

/// Who holds the root key.
#[derive(Clone, Debug)]
pub enum RootKey {
    /// AWS KMS.
    #[cfg(feature = "aws")]
    AwsKms(std::sync::Arc<Kms>),
    /// The file `keys/root` in the data directory.
    File {
        /// Files with the root keys before it.
        previous: Vec<PathBuf>,
    },
}

/// Keys in AWS KMS.
#[derive(Clone, Debug)]
pub struct Kms {
    /// The root key: an id, an ARN or an alias.
    pub key_id: String,
    /// Root keys before it, that wrapped keys may still be under.
    pub previous: Vec<String>,
    /// And those in files before it.
    pub previous_files: Vec<PathBuf>,
    /// The log's signing key; `None`: the file `keys/signer`.
    pub signing_key_id: Option<String>,
    /// `None`: what the environment or the instance says.
    pub region: Option<String>,
    /// `None`: the region's own.
    pub endpoint: Option<String>,
    /// Until a connection stands.
    pub connect_timeout: Duration,
    /// One operation, with all that is sent again for it.
    pub timeout: Duration,
    /// How often one operation is sent at most.
    pub attempts: u32,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys {
            root: RootKey::File {
                previous: Vec::new(),
            },
            cache_age: Duration::from_secs(300),
            cache_age_new: Duration::from_secs(60),
            cache_uses: 1 << 20,
        }
    }
}

impl Check<'_> {
    pub(super) fn keys(&mut self, raw: &RawKeys) -> Keys {
        let or = Keys::default();
        let (age, new) = (raw.cache_age.as_deref(), raw.cache_age_new.as_deref());
        let cache_age = self.duration("keys.cache_age", age, or.cache_age);
        let default = or.cache_age_new.min(cache_age);
        let cache_age_new = self.duration("keys.cache_age_new", new, default);
        if cache_age_new > cache_age {
            let message = "is longer than keys.cache_age";
            self.faults.add("keys.cache_age_new", message);
        }
        let uses = usize::try_from(or.cache_uses).unwrap_or(MOST_USES);
        let uses = self.count("keys.cache_uses", raw.cache_uses, uses, MOST_USES);
        Keys {
            root: self.root_key(raw),
            cache_age,
            cache_age_new,
            cache_uses: uses as u64,
        }
    }

    fn root_key(&mut self, raw: &RawKeys) -> RootKey {
        match raw.provider.as_deref() {
            None | Some("file") => self.only_for_kms(raw),
            #[cfg(feature = "aws")]
            Some("aws-kms") => return RootKey::AwsKms(std::sync::Arc::new(self.kms(raw))),
            Some(_) => {
                let message = if cfg!(feature = "aws") {
                    "must be \"file\" or \"aws-kms\""
                } else {
                    "this build has only \"file\""
                };
                self.faults.add("keys.provider", message);
            }
        }
        RootKey::File {
            previous: self.previous_files(raw),
        }
    }

    fn previous_files(&self, raw: &RawKeys) -> Vec<PathBuf> {
        let files = raw.previous_files.iter().flatten();
        files.map(|path| self.environment.path(path)).collect()
    }

    /// What is written in vain is more likely a mistake about where keys are.
    fn only_for_kms(&mut self, raw: &RawKeys) {
        let written = [
            ("key_id", raw.key_id.is_some()),
            ("previous_key_ids", raw.previous_key_ids.is_some()),
            ("signing_key_id", raw.signing_key_id.is_some()),
            ("region", raw.region.is_some()),
            ("endpoint", raw.endpoint.is_some()),
            ("connect_timeout", raw.connect_timeout.is_some()),
            ("timeout", raw.timeout.is_some()),
            ("attempts", raw.attempts.is_some()),
        ];
        for (name, _) in written.into_iter().filter(|(_, written)| *written) {
            let message = "has a meaning only with provider = \"aws-kms\"";
            self.faults.add(format!("keys.{name}"), message);
        }
    }

    #[cfg(feature = "aws")]
    fn kms(&mut self, raw: &RawKeys) -> Kms {
        if raw.key_id.is_none() {
            let message = "is missing: a key's id, its ARN, or an alias such as alias/gatehouse";
            self.faults.add("keys.key_id", message);
        }
        let key_id = raw.key_id.clone().unwrap_or_default();
        let previous = raw.previous_key_ids.clone().unwrap_or_default();
        for (path, id) in [
            ("keys.key_id", raw.key_id.as_ref()),
            ("keys.signing_key_id", raw.signing_key_id.as_ref()),
        ] {
            self.key_id(path, id);
        }
        for (at, id) in previous.iter().enumerate() {
            let path = format!("keys.previous_key_ids[{at}]");
            self.key_id(&path, Some(id));
            if *id == key_id {
                self.faults.add(path, "is keys.key_id");
            }
        }
        let region = raw.region.clone();
        let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let is_region = |region: &String| !region.is_empty() && region.bytes().all(word);
        if !region.as_ref().is_none_or(is_region) {
            self.faults
                .add("keys.region", "is not a region such as eu-central-1");
        }
        let second = Duration::from_secs(1);
        let connect = raw.connect_timeout.as_deref();
        let attempts = self.count("keys.attempts", raw.attempts, 3, MOST_ATTEMPTS);
        Kms {
            key_id,
            previous,
            previous_files: self.previous_files(raw),
            signing_key_id: raw.signing_key_id.clone(),
            region,
            endpoint: self.endpoint("keys.endpoint", raw.endpoint.as_deref()),
            connect_timeout: self.duration("keys.connect_timeout", connect, second),
            timeout: self.duration("keys.timeout", raw.timeout.as_deref(), 3 * second),
            attempts: u32::try_from(attempts).unwrap_or(1),
        }
    }

    #[cfg(feature = "aws")]
    fn key_id(&mut self, path: &str, id: Option<&String>) {
        let word = |b: u8| b.is_ascii_alphanumeric() || b":/_-".contains(&b);
        let is_id = |id: &String| (1..=2048).contains(&id.len()) && id.bytes().all(word);
        if !id.is_none_or(is_id) {
            let message = "is not a key's id, nor its ARN, nor an alias such as alias/gatehouse";
            self.faults.add(path, message);
        }
    }

    /// An address of AWS, or of what stands in for it: without TLS on this machine only.
    pub(super) fn endpoint(&mut self, path: &str, text: Option<&str>) -> Option<String> {
        let text = text?;
        let uri = text.parse::<http::Uri>().ok();
        let host = uri.as_ref().and_then(http::Uri::host).unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let address = bare.parse().map(|ip: std::net::IpAddr| ip.is_loopback());
        let is_loopback = address.unwrap_or(bare == "localhost");
        let scheme = uri.as_ref().and_then(http::Uri::scheme_str);
        let is_bare = uri.as_ref().is_some_and(|uri| {
            let user = uri.authority().is_some_and(|it| it.as_str().contains('@'));
            matches!(uri.path(), "" | "/") && uri.query().is_none() && !user
        });
        match scheme {
            Some("https") if is_bare => {}
            Some("http") if is_bare && is_loopback => {}
            Some("http") if is_bare => {
                let message = "is not encrypted, so it must be a loopback address: use https://";
                self.faults.add(path, message);
            }
            _ => {
                let message =
                    "is not an address such as https://SERVICE.eu-central-1.amazonaws.com";
                self.faults.add(path, message);
            }
        }
        Some(text.to_owned())
    }
}

#[cfg(test)]
#[cfg(feature = "aws")]
mod tests;
