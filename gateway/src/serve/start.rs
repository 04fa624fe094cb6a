//! From a configuration to a running gateway, and back.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_envelope::digest::{sha256, sha256_of};
use gatehouse_envelope::secret::Secret;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::accept;
use super::listeners::Listeners;
use super::tls::Front;
use crate::admin::{Desk, Files, Office, Socket, StoreCondition};
use crate::audit::{Book, ConfigSnapshot, PolicyLoad, PolicyText};
use crate::auth::{Authenticator, CallerKeys, DenialLog, Denials, NewCaller};
use crate::config::Config;
use crate::pipeline::{Digests, Gateway};
use crate::provider::Upstream;

/// How long exchanges that are cut off have for their last records.
const LAST_RECORDS: Duration = Duration::from_secs(5);
/// And for their callers to be told.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Of the key that `up` makes when there is none.
const FIRST_KEY: &str = "first";
const FIRST_TENANT: &str = "default";

/// Why a gateway did not start. Says which part, and what that part says.
#[derive(Debug, thiserror::Error)]
#[error("{part}: {cause}")]
pub struct StartError {
    part: &'static str,
    cause: String,
}

impl StartError {
    pub(super) fn of<E: std::fmt::Display>(part: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self {
            part,
            cause: cause.to_string(),
        }
    }

    /// With the address, as the configuration has it.
    pub(super) fn at(
        setting: &'static str,
        address: SocketAddr,
    ) -> impl FnOnce(std::io::Error) -> Self {
        move |cause| Self::of(setting)(format!("{address}: {cause}"))
    }
}

/// A running gateway.
pub struct Running {
    address: SocketAddr,
    admin_address: SocketAddr,
    first_key: Option<Secret<String>>,
    pub(super) files: Files,
    pub(super) gateway: Arc<Gateway>,
    /// `None` where the listener speaks plain HTTP.
    front: Option<Arc<Front>>,
    pub(super) store: StoreCondition,
    /// No new connections and no new requests.
    pub(super) stop: CancellationToken,
    /// No background work either.
    pub(super) end: CancellationToken,
    connections: TaskTracker,
    pub(super) background: TaskTracker,
}

/// Starts a gateway. It accepts connections when this returns.
///
/// # Errors
/// [`StartError`]; nothing runs then.
pub async fn up(config: Config) -> Result<Running, StartError> {
    // What fails most often comes first, before anything is written.
    let listeners = Listeners::bind(&config).await?;
    let office = Office::open(&config)
        .await
        .map_err(StartError::of("data directory"))?;
    start(config, listeners, office).await
}

/// Starts a gateway over a data directory that is open.
pub(super) async fn start(
    config: Config,
    listeners: Listeners,
    office: Office,
) -> Result<Running, StartError> {
    let Listeners { callers, admin } = listeners;
    let verdicts = super::model::verdicts(&config).await?;
    let digests = digests(&config).await?;
    let payloads = super::payloads::payloads(&config, &office.clock).await?;
    declare(&office.book, &config, digests).await?;
    let doors = Doors {
        callers,
        admin,
        socket: Socket::bind(&config.data_dir).map_err(StartError::of("admin socket"))?,
        desk: Arc::new(office.desk()),
    };
    let local = |listener: &TcpListener| listener.local_addr().map_err(StartError::of("listener"));
    let (address, admin_address) = (local(&doors.callers)?, local(&doors.admin)?);
    let sink = Arc::new(DenialLog::new(
        office.book.clone(),
        Arc::clone(&office.keyring),
    ));
    let upstream = Upstream::new(config.timeouts.connect).map_err(StartError::of("tls"))?;
    // The last thing that can fail: a key that was made is also handed out.
    let first_key = first_key(&office.callers).await?;
    let front = config.tls.as_ref().map(|tls| Arc::new(Front::new(tls)));
    let gateway = Arc::new(Gateway {
        authenticator: Authenticator::new(Arc::clone(&office.callers)),
        denials: Arc::new(Denials::new(sink)),
        sessions: office.sessions,
        budget: office.budget,
        book: office.book,
        upstream,
        payloads,
        metrics: Arc::new(super::model::metrics(&verdicts)),
        verdicts: Arc::new(verdicts),
        clock: office.clock,
        tracker: TaskTracker::new(),
        cut: CancellationToken::new(),
        abandoned: CancellationToken::new(),
        digests,
        config,
    });
    let running = Running {
        store: office.store,
        address,
        admin_address,
        first_key,
        files: office.files,
        gateway,
        front,
        stop: CancellationToken::new(),
        end: CancellationToken::new(),
        connections: TaskTracker::new(),
        background: TaskTracker::new(),
    };
    running.begin(doors);
    tracing::info!(%address, admin = %admin_address, "listening");
    Ok(running)
}

/// Everything that others can knock at.
struct Doors {
    callers: TcpListener,
    admin: TcpListener,
    socket: Socket,
    desk: Arc<Desk>,
}

impl Running {
    /// Where callers connect; the real port if the configuration left it open.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where health and metrics are.
    pub fn admin_address(&self) -> SocketAddr {
        self.admin_address
    }

    /// The key that was made because there was none, given out once.
    pub fn take_first_key(&mut self) -> Option<Secret<String>> {
        self.first_key.take()
    }

    /// The shared parts, for those who start a gateway in their own process.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// Looks at the TLS files now instead of at the next round. Says in the log what came of it;
    /// the rest of the configuration is read at the start only.
    pub fn reload(&self) {
        match &self.front {
            Some(front) => front.reread(),
            None => tracing::warn!("nothing is read again: the listener has no TLS files"),
        }
    }

    /// Stops in order: no new connections, running exchanges end or run out of time, the last
    /// records are written, the log is closed and stored.
    pub async fn stop(self) {
        self.stop.cancel();
        self.connections.close();
        self.gateway.tracker.close();
        let drained = async {
            self.connections.wait().await;
            self.gateway.tracker.wait().await;
            self.gateway.sessions.errands_done().await;
        };
        let patience = self.gateway.config.timeouts.drain;
        if tokio::time::timeout(patience, drained).await.is_err() {
            self.cut().await;
        }
        self.end.cancel();
        self.background.close();
        self.background.wait().await;
        match self.files.close().await {
            Ok(()) => tracing::info!("stopped"),
            Err(error) => tracing::error!(%error, "the data directory was not closed"),
        }
    }

    /// Ends the exchanges that the drain has waited for in vain: each still writes its record, and
    /// its caller is told.
    async fn cut(&self) {
        tracing::warn!("some exchanges did not end in time and are cut off");
        self.gateway.cut.cancel();
        let settled = self.gateway.tracker.wait();
        if tokio::time::timeout(LAST_RECORDS, settled).await.is_err() {
            tracing::error!("some exchanges did not end");
            self.gateway.abandoned.cancel();
        }
        // Connections that nobody reads from end with the process.
        let _told = tokio::time::timeout(LAST_WORDS, self.connections.wait()).await;
    }

    fn begin(&self, doors: Doors) {
        let Doors {
            callers,
            admin,
            socket,
            desk,
        } = doors;
        let (gateway, stop) = (Arc::clone(&self.gateway), self.stop.clone());
        let (front, connections) = (self.front.clone(), self.connections.clone());
        self.background
            .spawn(accept(gateway, callers, front, connections, stop));
        if let Some(front) = self.front.clone() {
            let (gateway, end) = (Arc::clone(&self.gateway), self.end.clone());
            self.background.spawn(async move {
                let clock = Arc::clone(&gateway.clock);
                let watch = front.watch(clock, &gateway.metrics.tls);
                end.run_until_cancelled(watch).await;
            });
        }
        let (files, end) = (self.files.clone(), self.end.clone());
        self.background
            .spawn(async move { end.run_until_cancelled(files.tend()).await });
        self.keep_house(&desk);
        let end = self.end.clone();
        self.background
            .spawn(async move { socket.serve(desk, end.cancelled()).await });
        let (health, end) = (self.health(), self.end.clone());
        self.background
            .spawn(async move { health.serve(admin, end.cancelled()).await });
        let (denials, end) = (Arc::clone(&self.gateway.denials), self.end.clone());
        self.background
            .spawn(async move { denials.run(end.cancelled()).await });
        let (gateway, end) = (Arc::clone(&self.gateway), self.end.clone());
        self.background.spawn(async move {
            let fresh = gateway.authenticator.keep_fresh();
            end.run_until_cancelled(fresh).await;
        });
    }
}

async fn first_key(keys: &CallerKeys) -> Result<Option<Secret<String>>, StartError> {
    let new = NewCaller {
        name: FIRST_KEY.to_owned(),
        tenant: FIRST_TENANT.to_owned(),
        agent: None,
    };
    let made = keys
        .create_first(new)
        .await
        .map_err(StartError::of("caller keys"))?;
    Ok(made.map(|(token, _)| token))
}

async fn digests(config: &Config) -> Result<Digests, StartError> {
    let program = tokio::task::spawn_blocking(|| {
        let path = std::env::current_exe()?;
        sha256_of(std::fs::File::open(path)?)
    });
    let program = program
        .await
        .map_err(StartError::of("program"))?
        .map_err(StartError::of("program"))?;
    let redaction = &config.redaction;
    Ok(Digests {
        build: program,
        config: sha256(&[canonical(config).as_bytes()]),
        policy: redaction.digest(),
        rules: sha256(&[redaction.engine.fingerprint().as_bytes()]),
    })
}

/// The configuration without its secrets, one fact a line.
fn canonical(config: &Config) -> String {
    let mut text = format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n",
        config.listen,
        config.tls.as_ref().map(|tls| &tls.files),
        config.admin_listen,
        config.data_dir,
        config.timeouts,
        config.limits,
        config.caps,
        config.sessions,
        config.phases,
        config.pins,
        config.store,
        config.keys,
        config.ledger,
    );
    for provider in &config.providers {
        let (name, protocol, url) = (&provider.name, provider.protocol, &provider.base_url);
        text.push_str(&format!(
            "{name:?} {protocol:?} {url:?} {:?}\n",
            provider.models
        ));
    }
    text
}

/// Records what runs.
async fn declare(book: &Book, config: &Config, digests: Digests) -> Result<(), StartError> {
    let names: Vec<_> = config
        .providers
        .iter()
        .map(|provider| provider.name.as_str())
        .collect();
    let snapshot = ConfigSnapshot {
        version: env!("CARGO_PKG_VERSION"),
        build: digests.build,
        config: digests.config,
        providers: &names,
        witnesses: config.ledger.witnesses.len(),
        authorities: usize::from(config.ledger.timestamp.is_some()),
    };
    let policy = PolicyLoad {
        name: "redaction",
        policy: digests.policy,
        rules: Some(digests.rules),
    };
    let shown = config.redaction.policies.base().withheld();
    let shown = toml::to_string(&shown).map_err(StartError::of("policy"))?;
    let shown = PolicyText::parts(digests.policy, &shown);
    let events = [snapshot.build(), policy.build()];
    for event in events
        .into_iter()
        .chain(shown.iter().map(PolicyText::build))
    {
        let event = event.map_err(StartError::of("ledger"))?;
        book.declare(event)
            .await
            .map_err(StartError::of("ledger"))?;
    }
    Ok(())
}
