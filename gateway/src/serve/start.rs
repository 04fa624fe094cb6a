//! From a configuration to a running gateway, and back.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_envelope::digest::sha256;
use gatehouse_envelope::keys::FileKeys;
use gatehouse_envelope::secret::Secret;
use gatehouse_envelope::sign::FileSigner;
use gatehouse_ledger::store::Dir;
use gatehouse_ledger::{Ledger, Mode, Options, Pace, Recovery};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::accept;
use crate::audit::{Book, ConfigSnapshot, LedgerClock, PolicyLoad};
use crate::auth::{Authenticator, CallerKeys, DenialLog, Denials, NewCaller};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, LedgerMode};
use crate::pipeline::{Digests, Gateway};
use crate::provider::Upstream;
use crate::registry::{CachePolicy, Database, EmbeddedRegistry, Keyring, Registry};
use crate::session::store::EmbeddedStore;
use crate::session::{self, Logged, Sessions};
use crate::telemetry::Metrics;

/// How often sessions that have ended are looked for.
const SWEEP: Duration = Duration::from_secs(60);
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
    fn of<E: std::fmt::Display>(part: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self {
            part,
            cause: cause.to_string(),
        }
    }
}

/// A running gateway.
pub struct Running {
    address: SocketAddr,
    first_key: Option<Secret<String>>,
    gateway: Arc<Gateway>,
    /// No new connections and no new requests.
    stop: CancellationToken,
    /// No background work either.
    end: CancellationToken,
    connections: TaskTracker,
    background: TaskTracker,
}

/// What the parts of a gateway stand on.
struct Ground {
    clock: Arc<dyn Clock>,
    registry: Arc<dyn Registry>,
    keyring: Arc<Keyring>,
    keys: Arc<CallerKeys>,
    database: Arc<Database>,
    signer: Arc<FileSigner>,
}

/// Starts a gateway. It accepts connections when this returns.
///
/// # Errors
/// [`StartError`]; nothing runs then.
pub async fn up(config: Config) -> Result<Running, StartError> {
    let ground = ground(&config).await?;
    let first_key = first_key(&ground.keys).await?;
    let (book, recovery) = open_book(&config, &ground).await?;
    let sessions = Arc::new(open_sessions(&config, &ground, &book)?);
    replay(&sessions, recovery).await?;
    let digests = digests(&config).await?;
    declare(&book, &config, digests).await?;
    let listener = TcpListener::bind(config.listen)
        .await
        .map_err(StartError::of("listener"))?;
    let address = listener.local_addr().map_err(StartError::of("listener"))?;
    let sink = Arc::new(DenialLog::new(book.clone(), Arc::clone(&ground.keyring)));
    let gateway = Arc::new(Gateway {
        authenticator: Authenticator::new(Arc::clone(&ground.keys)),
        denials: Arc::new(Denials::new(sink)),
        sessions,
        book,
        upstream: Upstream::new(config.timeouts.connect).map_err(StartError::of("tls"))?,
        metrics: Arc::new(Metrics::new(|_| {})),
        clock: Arc::clone(&ground.clock),
        tracker: TaskTracker::new(),
        digests,
        config,
    });
    let running = Running {
        address,
        first_key,
        gateway,
        stop: CancellationToken::new(),
        end: CancellationToken::new(),
        connections: TaskTracker::new(),
        background: TaskTracker::new(),
    };
    running.begin(listener);
    tracing::info!(%address, "listening");
    Ok(running)
}

impl Running {
    /// Where callers connect; the real port if the configuration left it open.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The key that was made because there was none, given out once.
    pub fn take_first_key(&mut self) -> Option<Secret<String>> {
        self.first_key.take()
    }

    /// The shared parts, for those who start a gateway in their own process.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
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
        };
        if tokio::time::timeout(self.gateway.config.timeouts.drain, drained)
            .await
            .is_err()
        {
            tracing::warn!("some exchanges did not end in time");
        }
        self.end.cancel();
        self.background.close();
        self.background.wait().await;
        let book = self.gateway.book.clone();
        let closed = tokio::task::spawn_blocking(move || {
            book.ledger().close().map_err(|error| error.to_string())
        });
        match closed.await {
            Ok(Ok(())) => tracing::info!("stopped"),
            Ok(Err(error)) => tracing::error!(error, "the log was not closed"),
            Err(_) => tracing::error!("the log was not closed"),
        }
    }

    fn begin(&self, listener: TcpListener) {
        let (gateway, stop) = (Arc::clone(&self.gateway), self.stop.clone());
        self.background
            .spawn(accept(gateway, listener, self.connections.clone(), stop));
        let (denials, end) = (Arc::clone(&self.gateway.denials), self.end.clone());
        self.background
            .spawn(async move { denials.run(end.cancelled()).await });
        let (sessions, end) = (Arc::clone(&self.gateway.sessions), self.end.clone());
        self.background.spawn(async move {
            while tokio::time::timeout(SWEEP, end.cancelled()).await.is_err() {
                if let Err(error) = sessions.sweep().await {
                    tracing::warn!(%error, "ended sessions were not swept");
                }
            }
        });
    }
}

async fn ground(config: &Config) -> Result<Ground, StartError> {
    let data = config.data_dir.as_path();
    let keys = data.join("keys");
    std::fs::create_dir_all(&keys).map_err(StartError::of("data directory"))?;
    let database =
        Database::open(&data.join("sessions.redb")).map_err(StartError::of("sessions.redb"))?;
    let database = Arc::new(database);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let registry: Arc<dyn Registry> = Arc::new(EmbeddedRegistry::new(Arc::clone(&database)));
    let root = FileKeys::open_or_create(&keys.join("root")).map_err(StartError::of("keys/root"))?;
    let signer = FileSigner::open_or_create(&keys.join("signer"), &config.ledger.deployment)
        .map_err(StartError::of("keys/signer"))?;
    let keyring = Arc::new(Keyring::new(
        Arc::new(root),
        Arc::clone(&registry),
        Arc::clone(&clock),
        CachePolicy::default(),
    ));
    let keys = CallerKeys::load(Arc::clone(&registry), &keyring, Arc::clone(&clock))
        .await
        .map_err(StartError::of("caller keys"))?;
    Ok(Ground {
        clock,
        registry,
        keyring,
        keys: Arc::new(keys),
        database,
        signer: Arc::new(signer),
    })
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

/// Recovers what a dead process left, and opens a new stream. Blocks on the disk.
async fn open_book(config: &Config, ground: &Ground) -> Result<(Book, Recovery), StartError> {
    let options = Options {
        data_dir: config.data_dir.clone(),
        deployment: config.ledger.deployment.clone(),
        mode: match config.ledger.mode {
            LedgerMode::Async => Mode::Async,
            LedgerMode::Local => Mode::Local,
            LedgerMode::Strict => Mode::Strict,
        },
        pace: Pace {
            flush_after: config.ledger.segment_age,
            flush_bytes: config.ledger.segment_size as u64,
            ..Pace::default()
        },
    };
    let store = Arc::new(Dir::new(config.data_dir.join("ledger")));
    let clock = Arc::new(LedgerClock(Arc::clone(&ground.clock)));
    let signer = Arc::clone(&ground.signer);
    let opened = tokio::task::spawn_blocking(move || Ledger::open(options, store, signer, clock));
    let (ledger, recovery) = opened
        .await
        .map_err(StartError::of("ledger"))?
        .map_err(StartError::of("ledger"))?;
    for writer in &recovery.damaged {
        tracing::error!(
            writer,
            "a stream does not fit together; its files are set aside"
        );
    }
    Ok((Book::new(Arc::new(ledger)), recovery))
}

fn open_sessions(config: &Config, ground: &Ground, book: &Book) -> Result<Sessions, StartError> {
    let limits = config.sessions;
    Sessions::new(session::Parts {
        store: Arc::new(EmbeddedStore::new(
            Arc::clone(&ground.database),
            Arc::clone(&ground.clock),
        )),
        registry: Arc::clone(&ground.registry),
        keyring: Arc::clone(&ground.keyring),
        journal: Arc::new(book.clone()),
        clock: Arc::clone(&ground.clock),
        limits: session::Limits {
            idle: limits.idle,
            absolute: limits.absolute,
            lease: limits.lease,
            wait: limits.wait,
            ..session::Limits::default()
        },
    })
    .map_err(StartError::of("sessions"))
}

/// An honest crash must not look like tampering: the store is brought up to the log first.
async fn replay(sessions: &Sessions, recovery: Recovery) -> Result<(), StartError> {
    let logged: Vec<_> = recovery
        .links
        .iter()
        .map(|link| Logged {
            sid: link.session.clone(),
            sseq: link.sseq,
            digest: link.digest,
        })
        .collect();
    let failed = sessions
        .replay(&logged)
        .await
        .map_err(StartError::of("sessions"))?;
    if failed > 0 {
        tracing::warn!(failed, "sessions could not be brought up to the log");
    }
    recovery.complete().map_err(StartError::of("ledger"))
}

async fn digests(config: &Config) -> Result<Digests, StartError> {
    let program = tokio::task::spawn_blocking(|| {
        let path = std::env::current_exe()?;
        std::fs::read(Path::new(&path))
    });
    let program = program
        .await
        .map_err(StartError::of("program"))?
        .map_err(StartError::of("program"))?;
    let redaction = &config.redaction;
    Ok(Digests {
        build: sha256(&[&program]),
        config: sha256(&[canonical(config).as_bytes()]),
        policy: sha256(&[redaction.policy.canonical().as_bytes()]),
        rules: sha256(&[redaction.engine.fingerprint().as_bytes()]),
    })
}

/// The configuration without its secrets, one fact a line.
fn canonical(config: &Config) -> String {
    let mut text = format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n",
        config.listen,
        config.admin_listen,
        config.data_dir,
        config.timeouts,
        config.limits,
        config.sessions,
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
    };
    let policy = PolicyLoad {
        name: "redaction",
        policy: digests.policy,
        rules: Some(digests.rules),
    };
    for event in [snapshot.build(), policy.build()] {
        let event = event.map_err(StartError::of("ledger"))?;
        book.append(event).await.map_err(StartError::of("ledger"))?;
    }
    Ok(())
}
