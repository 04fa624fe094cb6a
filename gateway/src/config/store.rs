//! Where sessions, keys' digests and wrapped keys are kept: `[sessions] store`.

mod dynamodb;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_envelope::secret::Secret;

use super::check::Check;
use super::raw::{RawSessions, RawUrls};
pub use dynamodb::DynamoDb;

/// The port that redis listens on unless it is told otherwise.
const REDIS_PORT: u16 = 6379;
/// Stores, as messages name them.
const DYNAMODB: &str = "\"dynamodb\"";
const REDIS: &str = "\"redis\"";
const EITHER: &str = "\"redis\" or \"dynamodb\"";

/// Where sessions, callers' keys and wrapped keys are kept.
#[derive(Clone, Debug, Default)]
pub enum Store {
    /// A table in DynamoDB that several gateways may share.
    DynamoDb(Arc<DynamoDb>),
    /// One file in the data directory.
    #[default]
    Embedded,
    /// A Redis that several gateways may share.
    Redis(Arc<Redis>),
}

/// A Redis server, or the nodes by which its cluster is found.
pub struct Redis {
    /// Where to connect; of a cluster, some nodes. Never empty; all with TLS or none.
    pub nodes: Vec<RedisNode>,
    /// Whether it is a cluster.
    pub cluster: bool,
    /// The ACL user; `None` for the default one.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<Secret<String>>,
    /// PEM: who issued the servers' certificates; `None` for the roots that providers are checked
    /// against.
    pub ca: Option<Vec<u8>>,
    /// What every key begins with: `A-Z a-z 0-9 : . _ -`.
    pub prefix: String,
    /// How many replicas must confirm a write that has to be durable.
    pub wait_replicas: u32,
    /// Until a connection stands.
    pub connect_timeout: Duration,
    /// One operation, with all that is sent again for it.
    pub timeout: Duration,
}

/// One address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisNode {
    /// A name or an address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether it speaks TLS.
    pub tls: bool,
}

impl Redis {
    /// Whether the connection is encrypted.
    #[must_use]
    pub fn tls(&self) -> bool {
        self.nodes.iter().any(|node| node.tls)
    }
}

/// Everything but the password.
impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis")
            .field("nodes", &self.nodes)
            .field("cluster", &self.cluster)
            .field("user", &self.user)
            .field("own_ca", &self.ca.is_some())
            .field("prefix", &self.prefix)
            .field("wait_replicas", &self.wait_replicas)
            .field("connect_timeout", &self.connect_timeout)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Check<'_> {
    pub(super) fn store(&mut self, raw: &RawSessions) -> Store {
        match raw.store.as_deref() {
            None | Some("embedded") => {
                self.only_for(REDIS, raw);
                self.only_for(DYNAMODB, raw);
                self.only_for(EITHER, raw);
                Store::Embedded
            }
            Some("dynamodb") => self.dynamodb(raw),
            Some("redis") => {
                self.only_for(DYNAMODB, raw);
                Store::Redis(Arc::new(self.redis(raw)))
            }
            Some(_) => {
                let message = "must be \"embedded\", \"redis\" or \"dynamodb\"";
                self.faults.add("sessions.store", message);
                Store::Embedded
            }
        }
    }

    /// What is written in vain is more likely a mistake about where sessions are.
    fn only_for(&mut self, store: &str, raw: &RawSessions) {
        let written: &[(&str, bool)] = match store {
            DYNAMODB => &[
                ("table", raw.table.is_some()),
                ("region", raw.region.is_some()),
                ("endpoint", raw.endpoint.is_some()),
                ("parts_bucket", raw.parts_bucket.is_some()),
                ("parts_endpoint", raw.parts_endpoint.is_some()),
            ],
            REDIS => &[
                ("url", raw.url.is_some()),
                ("password", raw.password.is_some()),
                ("ca", raw.ca.is_some()),
                ("cluster", raw.cluster.is_some()),
                ("prefix", raw.prefix.is_some()),
                ("wait_replicas", raw.wait_replicas.is_some()),
                ("allow_plain_redis", raw.allow_plain_redis.is_some()),
            ],
            _ => &[
                ("connect_timeout", raw.connect_timeout.is_some()),
                ("timeout", raw.timeout.is_some()),
            ],
        };
        for (name, _) in written.iter().filter(|(_, written)| *written) {
            let message = format!("has a meaning only with store = {store}");
            self.faults.add(format!("sessions.{name}"), message);
        }
    }

    fn redis(&mut self, raw: &RawSessions) -> Redis {
        let allow_plain = raw.allow_plain_redis.unwrap_or(false);
        let (nodes, user) = self.nodes(raw.url.as_ref(), allow_plain);
        let password = raw.password.as_deref().and_then(|reference| {
            let secret = self.environment.secret(reference);
            secret
                .map_err(|message| self.faults.add("sessions.password", message))
                .ok()
        });
        if user.is_some() && raw.password.is_none() {
            let message = "is missing: sessions.url names a user; write env:NAME or file:PATH";
            self.faults.add("sessions.password", message);
        }
        let ca = raw.ca.as_deref();
        let ca = ca.and_then(|path| self.issuers("sessions.ca", path));
        let tls = nodes.iter().any(|node| node.tls);
        if raw.ca.is_some() && !tls && !nodes.is_empty() {
            let message = "has a meaning only with rediss:// in sessions.url";
            self.faults.add("sessions.ca", message);
        }
        let cluster = raw.cluster.unwrap_or(nodes.len() > 1);
        if !cluster && nodes.len() > 1 {
            let message = "is false, but sessions.url has several nodes: those of a cluster";
            self.faults.add("sessions.cluster", message);
        }
        let prefix = raw.prefix.clone().unwrap_or_else(|| "gatehouse:".into());
        if !is_prefix(&prefix) {
            let message = "must be 1 to 64 characters of A-Z, a-z, 0-9, :, ., _ and -";
            self.faults.add("sessions.prefix", message);
        }
        let connect = raw.connect_timeout.as_deref();
        let (second, timeout) = (Duration::from_secs(1), raw.timeout.as_deref());
        Redis {
            nodes,
            cluster,
            user,
            password,
            ca,
            prefix,
            wait_replicas: self.replicas(raw.wait_replicas),
            connect_timeout: self.duration("sessions.connect_timeout", connect, second),
            timeout: self.duration("sessions.timeout", timeout, 2 * second),
        }
    }

    fn replicas(&mut self, number: Option<i64>) -> u32 {
        match number.map(u32::try_from) {
            None => 0,
            Some(Ok(number)) if number <= 16 => number,
            Some(_) => {
                let message = "must be a number from 0 to 16";
                self.faults.add("sessions.wait_replicas", message);
                0
            }
        }
    }

    fn nodes(
        &mut self,
        urls: Option<&RawUrls>,
        allow_plain: bool,
    ) -> (Vec<RedisNode>, Option<String>) {
        let urls: &[String] = match urls {
            None => &[],
            Some(RawUrls::One(url)) => std::slice::from_ref(url),
            Some(RawUrls::Several(urls)) => urls,
        };
        if urls.is_empty() {
            let message = "is missing: where redis is, such as rediss://user@host:6379";
            self.faults.add("sessions.url", message);
        }
        let (mut nodes, mut users) = (Vec::new(), Vec::new());
        for (at, url) in urls.iter().enumerate() {
            let path = match urls {
                [_] => "sessions.url".to_owned(),
                _ => format!("sessions.url[{at}]"),
            };
            match node(url, allow_plain) {
                Ok((node, user)) => {
                    nodes.push(node);
                    users.push(user);
                }
                Err(message) => self.faults.add(path, message),
            }
        }
        if users.windows(2).any(|pair| pair.first() != pair.last()) {
            self.faults
                .add("sessions.url", "has nodes with different users");
        }
        let tls = nodes.iter().filter(|node| node.tls).count();
        if tls != 0 && tls != nodes.len() {
            self.faults
                .add("sessions.url", "has nodes with TLS and without");
        }
        (nodes, users.into_iter().next().flatten())
    }
}

/// Reads `rediss://user@host:port`.
fn node(url: &str, allow_plain: bool) -> Result<(RedisNode, Option<String>), String> {
    let form = "is not an address such as rediss://user@host:6379";
    let (scheme, rest) = url.split_once("://").ok_or(form)?;
    let tls = match scheme {
        "rediss" => true,
        "redis" => false,
        _ => return Err("must begin with rediss:// (TLS) or redis://".to_owned()),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (user, address) = match rest.rsplit_once('@') {
        Some((user, address)) => (Some(user), address),
        None => (None, rest),
    };
    if user.is_some_and(|user| user.contains(':')) {
        let message = "holds a password; write only the user there, and password = \"env:NAME\"";
        return Err(message.to_owned());
    }
    let word = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if user.is_some_and(|user| user.is_empty() || !user.bytes().all(word)) {
        return Err("has a user that is not of A-Z, a-z, 0-9, -, _ and .".to_owned());
    }
    if address.contains(['/', '?', '#']) {
        return Err("must end with the port: databases and parameters are not chosen there".into());
    }
    let (host, port) = host_and_port(address).ok_or(form)?;
    if !tls && !allow_plain && !is_loopback(&host) {
        let message = "is not encrypted: use rediss://, or say allow_plain_redis = true where the \
                       network itself keeps others out";
        return Err(message.to_owned());
    }
    Ok((RedisNode { host, port, tls }, user.map(str::to_owned)))
}

/// `host`, `host:port`, or the same with an IPv6 address in brackets.
fn host_and_port(address: &str) -> Option<(String, u16)> {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (
                host,
                rest.strip_prefix(':').or(rest.is_empty().then_some(""))?,
            )
        }
        None => {
            let (host, port) = address.split_once(':').unwrap_or((address, ""));
            let word = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
            let named = !host.is_empty() && host.bytes().all(word);
            (named.then_some(host)?, port)
        }
    };
    let written = address.ends_with(':');
    let port = match port {
        "" if !written => REDIS_PORT,
        port => port.parse().ok().filter(|port| *port != 0)?,
    };
    Some((host.to_owned(), port))
}

fn is_loopback(host: &str) -> bool {
    let address = host.parse().map(|ip: std::net::IpAddr| ip.is_loopback());
    address.unwrap_or(host == "localhost")
}

/// Of a key's first part: nothing that a pattern or a hash tag would be made of.
fn is_prefix(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b":._-".contains(&b);
    (1..=64).contains(&text.len()) && text.bytes().all(fits)
}

#[cfg(test)]
mod tests;
