//! The connection to Redis: one primary, or the primaries of a cluster.
//!
//! Everything is a script or a command on the keys of one hash slot, sent once. The client library
//! would send a command again when a connection breaks, and a write that was done twice would be
//! taken for somebody else's; so its retries are off, and only what the server says it has not done
//! is sent again, within the same bound of time.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use redis::{Cmd, ErrorKind, RedisError, Value, cmd};
use tokio::time::Instant;

use super::{
    cluster::Cluster,
    single::Single,
    time::{ServerTime, time_of},
};
use crate::{
    config::Redis,
    registry::{Condition, Durable, bucket},
};

/// How long to wait before something that was not done is tried again, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));
/// Connections where writes wait for replicas: WAIT holds up all that comes behind it.
const LANES: usize = 8;

/// Why Redis gave no answer, or none that counts. Holds no key, value or argument.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LinkError {
    /// Not within the time-out. A write may have happened.
    #[error("redis did not answer in time")]
    Late,
    /// The connection could not be made, or broke. A write may have happened.
    #[error("redis: {0}")]
    Lost(String),
    /// The server refused, with this code. Nothing was done.
    #[error("redis refused: {0}")]
    Refused(String),
    /// A write was done, and too few replicas confirmed it.
    #[error("{had} of {wanted} redis replicas confirmed a write")]
    Replicas {
        /// How many did.
        had: i64,
        /// How many have to.
        wanted: u32,
    },
    /// The answer has another form than it must have.
    #[error("redis gave an answer of an unknown form")]
    Unexpected,
}

impl From<RedisError> for LinkError {
    fn from(error: RedisError) -> Self {
        match error.kind() {
            ErrorKind::Server(_) | ErrorKind::Extension => {
                Self::Refused(error.code().unwrap_or("ERR").to_owned())
            }
            ErrorKind::ClusterConnectionNotFound => Self::Refused(UNREACHED.to_owned()),
            ErrorKind::Io if error.is_timeout() => Self::Late,
            ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig | ErrorKind::Io => {
                Self::Lost(error.to_string())
            }
            // The text of others may quote what was sent.
            _ => Self::Lost(error.category().to_owned()),
        }
    }
}

/// No connection to send it over.
const UNREACHED: &str = "no connection to the node";

impl LinkError {
    /// Whether nothing was done, and trying again soon may help: the cluster is moving keys, the
    /// server is loading, or is no primary any more.
    fn passes(&self) -> bool {
        let passing = [
            "ASK",
            "BUSY",
            "CLUSTERDOWN",
            "LOADING",
            "MASTERDOWN",
            "MOVED",
            "READONLY",
            "TRYAGAIN",
            UNREACHED,
        ];
        matches!(self, Self::Refused(code) if passing.contains(&code.as_str()))
    }
}

/// A script, its keys and its arguments.
pub(crate) struct Call<'a> {
    script: &'a Script,
    keys: Vec<String>,
    arguments: Vec<Vec<u8>>,
    sync: Durable,
    repeats: bool,
}

impl<'a> Call<'a> {
    /// A call of a script that writes nothing that has to be durable at once.
    pub(crate) fn new(script: &'a Script, keys: Vec<String>) -> Self {
        Self {
            script,
            keys,
            arguments: Vec::new(),
            sync: Durable::Soon,
            repeats: false,
        }
    }

    /// Doing it twice is the same as doing it once: it may be sent again over a new connection.
    pub(crate) fn repeats(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// With one more argument.
    pub(crate) fn arg(mut self, argument: impl Into<Vec<u8>>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// The same, a number in decimal digits.
    pub(crate) fn number(self, number: impl std::fmt::Display) -> Self {
        self.arg(number.to_string())
    }

    /// When what it writes has to be durable.
    pub(crate) fn sync(mut self, sync: Durable) -> Self {
        self.sync = sync;
        self
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = cmd(name);
        command.arg(script).arg(self.keys.len()).arg(&self.keys);
        for argument in &self.arguments {
            command.arg(argument.as_slice());
        }
        command
    }
}

/// A script and the digest that the server knows it by.
pub(crate) struct Script {
    text: &'static str,
    sha: String,
}

impl Script {
    pub(crate) fn new(text: &'static str) -> Self {
        let sha = redis::Script::new(text).get_hash().to_owned();
        Self { text, sha }
    }
}

/// Connections to Redis, kept open and made anew when they break.
pub struct Link {
    lanes: Vec<Lane>,
    next: AtomicUsize,
    prefix: String,
    wait_replicas: u32,
    timeout: Duration,
    condition: Condition,
    time: ServerTime,
}

enum Lane {
    Cluster(Cluster),
    Single(Box<Single>),
}

impl Link {
    /// Connects. Fails if nobody answers.
    ///
    /// # Errors
    /// The server cannot be reached, or does not let us in.
    pub async fn open(settings: &Redis) -> Result<Self, LinkError> {
        let lanes = if settings.wait_replicas > 0 { LANES } else { 1 };
        let mut link = Self {
            lanes: Vec::with_capacity(lanes),
            next: AtomicUsize::new(0),
            prefix: settings.prefix.clone(),
            wait_replicas: settings.wait_replicas,
            timeout: settings.timeout,
            condition: Condition::default(),
            time: ServerTime::new(0),
        };
        for _ in 0..lanes {
            link.lanes.push(if settings.cluster {
                Lane::Cluster(Cluster::open(settings).await?)
            } else {
                Lane::Single(Box::new(Single::open(settings)?))
            });
        }
        let time = link.command(&cmd("TIME"), None).await?;
        link.time.note(time_of(time)?);
        Ok(link)
    }

    /// What the server's clock shows, in microseconds since 1970 (UTC).
    pub(crate) fn now_us(&self) -> i64 {
        self.time.now_us()
    }

    /// Notes what an answer says that the server's clock shows.
    pub(crate) fn saw(&self, now_us: i64) {
        self.time.note(now_us);
    }

    /// Whether Redis answered last time.
    pub fn condition(&self) -> Condition {
        self.condition.clone()
    }

    /// Asks whether it answers now.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), LinkError> {
        self.command(&cmd("PING"), None).await.map(drop)
    }

    /// Whether keys of different tags may lie on different servers.
    pub(crate) fn is_cluster(&self) -> bool {
        self.lanes
            .iter()
            .any(|lane| matches!(lane, Lane::Cluster(_)))
    }

    /// The name of a key whose tag is `tag`: all keys of one bucket of tags are in one hash slot.
    pub(crate) fn key(&self, tag: &str, kind: &str, name: &str) -> String {
        self.bucket_key(bucket(tag), &format!("{kind}:{name}"))
    }

    /// The name of a key that belongs to a whole bucket of tags.
    pub(crate) fn bucket_key(&self, bucket: u32, name: &str) -> String {
        format!("{}{{{bucket:02x}}}:{name}", self.prefix)
    }

    /// Runs a script on the primary of its first key.
    pub(crate) async fn run(&self, call: &Call<'_>) -> Result<Vec<Field>, LinkError> {
        let key = call.keys.first().map(String::as_str);
        let (sync, repeats) = (call.sync, call.repeats);
        let by_digest = call.command("EVALSHA", &call.script.sha);
        let done = match self.send(&by_digest, key, sync, repeats).await {
            // A server that has started anew, or another, does not know it yet.
            Err(LinkError::Refused(code)) if code == "NOSCRIPT" => {
                let by_text = call.command("EVAL", call.script.text);
                self.send(&by_text, key, sync, repeats).await
            }
            done => done,
        };
        fields(done?)
    }

    /// Sends a command that writes nothing to the primary of `key`.
    pub(crate) async fn command(&self, cmd: &Cmd, key: Option<&str>) -> Result<Value, LinkError> {
        self.send(cmd, key, Durable::Soon, true).await
    }

    /// The answers of all primaries to a command that has no keys.
    pub(super) async fn ask_all(&self, command: &Cmd) -> Result<Vec<Value>, LinkError> {
        let asked = async {
            match self.lane()? {
                Lane::Cluster(cluster) => cluster.ask_all(command).await,
                Lane::Single(single) => Ok(vec![single.send(command, 0, self.timeout).await?]),
            }
        };
        let asked = tokio::time::timeout(self.timeout, asked).await;
        asked.unwrap_or(Err(LinkError::Late))
    }

    async fn send(
        &self,
        cmd: &Cmd,
        key: Option<&str>,
        sync: Durable,
        mut repeats: bool,
    ) -> Result<Value, LinkError> {
        let deadline = Instant::now() + self.timeout;
        let replicas = match sync {
            Durable::Now => self.wait_replicas,
            Durable::Soon => 0,
        };
        let mut pause = PAUSE.0;
        let done = loop {
            let once = tokio::time::timeout_at(deadline, self.send_once(cmd, key, replicas));
            let done = once.await.unwrap_or(Err(LinkError::Late));
            match done {
                Err(error) if error.passes() && Instant::now() + pause < deadline => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.1);
                }
                Err(LinkError::Lost(_)) if repeats => repeats = false,
                done => break done,
            }
        };
        if let Err(LinkError::Late) = done {
            for lane in &self.lanes {
                if let Lane::Single(single) = lane {
                    single.distrust();
                }
            }
        }
        let failed = match &done {
            Ok(_) => false,
            // It answers; what it says is another matter.
            Err(LinkError::Refused(code)) if code == "NOSCRIPT" => false,
            Err(_) => true,
        };
        self.condition.note(failed);
        done
    }

    async fn send_once(
        &self,
        cmd: &Cmd,
        key: Option<&str>,
        replicas: u32,
    ) -> Result<Value, LinkError> {
        match self.lane()? {
            Lane::Cluster(cluster) => cluster.send(cmd, key, replicas, self.timeout).await,
            Lane::Single(single) => single.send(cmd, replicas, self.timeout).await,
        }
    }

    fn lane(&self) -> Result<&Lane, LinkError> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let lane = self.lanes.get(next % self.lanes.len().max(1));
        lane.ok_or(LinkError::Unexpected)
    }
}

/// One element of an answer; `None` where the server has nothing.
pub(crate) type Field = Option<Vec<u8>>;

/// The elements of an answer that is a list of strings.
pub(crate) fn fields(value: Value) -> Result<Vec<Field>, LinkError> {
    redis::from_redis_value(value).map_err(|_| LinkError::Unexpected)
}

/// The answer to a command and, with `replicas`, to the WAIT behind it.
pub(super) fn confirmed(answers: Vec<Value>, replicas: u32) -> Result<Value, LinkError> {
    let mut answers = answers.into_iter();
    let answer = answers.next().ok_or(LinkError::Unexpected)?;
    let answer = answer.extract_error()?;
    match answers.next().map(Value::extract_error).transpose()? {
        Some(Value::Int(had)) if had >= i64::from(replicas) => Ok(answer),
        Some(Value::Int(had)) => Err(LinkError::Replicas {
            had,
            wanted: replicas,
        }),
        _ => Err(LinkError::Unexpected),
    }
}

/// Waits until so many replicas have what this connection has written.
pub(super) fn wait(replicas: u32, timeout: Duration) -> Cmd {
    let mut wait = cmd("WAIT");
    // It must answer before we stop listening.
    let patience = u64::try_from((timeout / 2).as_millis()).unwrap_or(u64::MAX);
    wait.arg(replicas).arg(patience.max(1));
    wait
}
