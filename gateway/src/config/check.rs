//! From what was written to what it means. Goes on after a fault, so that all are found at once.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::fault::Faults;
use super::load::{Environment, Overrides};
use super::raw::RawTimeouts;
use super::raw::{Raw, RawFormat, RawLevel, RawLimits, RawLog, RawSessions};
use super::{Config, Limits, Log, OnBusy, Redaction, Sessions, Timeouts};
use super::{tree, value};

/// The version of the configuration's language that this gateway reads.
const VERSION: i64 = 1;

const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);
pub(super) const ADMIN_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8081);
/// More than any backup is kept, and no time overflows.
const MOST_RECOVERY_DAYS: u32 = 36_500;
const SHORTEST_LEASE: Duration = Duration::from_secs(1);
const DATA_DIR: &str = "gatehouse-data";

/// One check of one configuration: collects faults on the way.
pub(super) struct Check<'e> {
    pub(super) environment: &'e Environment,
    pub(super) faults: Faults,
}

impl<'e> Check<'e> {
    pub(super) fn new(environment: &'e Environment) -> Check<'e> {
        Check {
            environment,
            faults: Faults::default(),
        }
    }

    pub(super) fn file(mut self, text: &str, overrides: &Overrides) -> Result<Config, Faults> {
        let Some(raw) = tree::read::<Raw>(text, "", &mut self.faults) else {
            return Err(self.faults);
        };
        self.version(raw.config_version);
        self.agents(&raw);
        let providers = self.providers(&raw.provider);
        self.finish(raw, providers, overrides)
    }

    pub(super) fn without_file(mut self, overrides: &Overrides) -> Result<Config, Faults> {
        let providers = self.providers_of_environment();
        self.finish(Raw::default(), providers, overrides)
    }

    /// The redaction policy alone, for commands that neither listen nor call anyone. The file's
    /// unknown keys are faults all the same.
    pub(super) fn redaction_of(mut self, text: &str) -> Result<Redaction, Faults> {
        let Some(raw) = tree::read::<Raw>(text, "", &mut self.faults) else {
            return Err(self.faults);
        };
        self.version(raw.config_version);
        match self.redaction(raw.redaction.as_deref()) {
            Some(redaction) if self.faults.is_empty() => Ok(redaction),
            _ => Err(self.faults),
        }
    }

    /// Where health is served, alone, for probes: they run often, and where no secret may be read.
    pub(super) fn admin_listen_of(mut self, text: &str) -> Result<SocketAddr, Faults> {
        let Some(raw) = tree::read::<Raw>(text, "", &mut self.faults) else {
            return Err(self.faults);
        };
        self.version(raw.config_version);
        let address = self.admin_listen(raw.admin_listen.as_deref());
        if self.faults.is_empty() {
            Ok(address)
        } else {
            Err(self.faults)
        }
    }

    fn finish(
        mut self,
        raw: Raw,
        providers: Vec<Arc<super::Provider>>,
        overrides: &Overrides,
    ) -> Result<Config, Faults> {
        let listen = overrides.listen.as_deref().or(raw.listen.as_deref());
        let listen = self.listen(listen, raw.allow_plain_listen, raw.tls.is_some());
        let tls = self.tls(raw.tls.as_ref());
        let admin_listen = self.admin_listen(raw.admin_listen.as_deref());
        if listen == admin_listen && listen.port() != 0 {
            self.faults
                .add("admin_listen", "is the same address as listen");
        }
        let data_dir = self.data_dir(raw.data_dir.as_deref(), overrides);
        let timeouts = self.timeouts(&raw.timeouts);
        let limits = self.limits(&raw.limits);
        let caps = self.caps(&raw.limits);
        let sessions = self.sessions(&raw.sessions);
        let pins = self.pins(&raw.pin);
        let phases = self.phases(raw.sessions.phases.as_ref());
        let store = self.store(&raw.sessions);
        let keys = self.keys(&raw.keys);
        let mut ledger = self.ledger(&raw.ledger);
        let payloads = raw.ledger.payloads.as_ref();
        ledger.payloads = self.payloads(payloads, &ledger, &data_dir);
        self.sooner_than_a_lease(&ledger, sessions.lease);
        let log = log(&raw.log);
        let redaction = self.redaction(raw.redaction.as_deref());
        let model = self.model(&raw.model, &data_dir);
        let model = redaction
            .as_ref()
            .filter(|redaction| self.takes_part(&redaction.policies, overrides.no_model))
            .map(|_| model);
        match redaction {
            Some(redaction) if self.faults.is_empty() => Ok(Config {
                listen,
                tls,
                admin_listen,
                data_dir,
                redaction,
                model,
                providers,
                pins,
                timeouts,
                limits,
                caps,
                sessions,
                phases: Arc::new(phases),
                store,
                keys,
                ledger,
                log,
            }),
            _ => Err(self.faults),
        }
    }

    fn version(&mut self, version: Option<i64>) {
        match version {
            Some(VERSION) => {}
            Some(_) => {
                let message =
                    format!("is not a version that this gateway reads; it reads {VERSION}");
                self.faults.add("config_version", message);
            }
            None => self
                .faults
                .add("config_version", format!("is missing; write {VERSION}")),
        }
    }

    fn agents(&mut self, raw: &Raw) {
        for name in raw.agents.keys() {
            let message = "agent profiles are not enforced by this version; \
                           it refuses them rather than let a cap be ignored";
            self.faults.add(format!("agents.{name}"), message);
        }
    }

    fn listen(&mut self, text: Option<&str>, allow_plain: bool, tls: bool) -> SocketAddr {
        let address = self.address("listen", text, LISTEN);
        if tls && allow_plain {
            let message = "has no meaning beside [tls]: the listener speaks nothing but TLS then";
            self.faults.add("allow_plain_listen", message);
        }
        if !address.ip().is_loopback() && !allow_plain && !tls {
            let message = "speaks plain HTTP, so it must be a loopback address; add [tls], or put \
                           a TLS terminator in front and say allow_plain_listen = true";
            self.faults.add("listen", message);
        }
        address
    }

    fn admin_listen(&mut self, text: Option<&str>) -> SocketAddr {
        let address = self.address("admin_listen", text, ADMIN_LISTEN);
        if !address.ip().is_loopback() {
            self.faults
                .add("admin_listen", "must be a loopback address");
        }
        address
    }

    fn address(&mut self, path: &str, text: Option<&str>, default: SocketAddr) -> SocketAddr {
        let Some(text) = text else { return default };
        text.parse().unwrap_or_else(|_| {
            self.faults
                .add(path, "is not an address and port such as 127.0.0.1:8080");
            default
        })
    }

    fn data_dir(&mut self, text: Option<&str>, overrides: &Overrides) -> PathBuf {
        if let Some(path) = &overrides.data_dir {
            return path.clone();
        }
        let text = text.unwrap_or(DATA_DIR);
        if text.is_empty() {
            self.faults.add("data_dir", "is empty");
        }
        self.environment.path(text)
    }

    fn timeouts(&mut self, raw: &RawTimeouts) -> Timeouts {
        let or = Timeouts::default();
        let timeouts = Timeouts {
            headers: self.duration("timeouts.headers", raw.headers.as_deref(), or.headers),
            idle: self.duration("timeouts.idle", raw.idle.as_deref(), or.idle),
            exchange: self.duration("timeouts.exchange", raw.exchange.as_deref(), or.exchange),
            connect: self.duration("timeouts.connect", raw.connect.as_deref(), or.connect),
            first_byte: self.duration(
                "timeouts.first_byte",
                raw.first_byte.as_deref(),
                or.first_byte,
            ),
            drain: self.duration("timeouts.drain", raw.drain.as_deref(), or.drain),
        };
        if timeouts.exchange < timeouts.idle {
            self.faults
                .add("timeouts.exchange", "is shorter than timeouts.idle");
        }
        timeouts
    }

    fn limits(&mut self, raw: &RawLimits) -> Limits {
        let or = Limits::default();
        let limits = Limits {
            headers: self.size("limits.headers", raw.headers.as_deref(), or.headers),
            body: self.size("limits.body", raw.body.as_deref(), or.body),
            depth: self.count("limits.depth", raw.depth, or.depth, 1_000),
            leaves: self.count("limits.leaves", raw.leaves, or.leaves, 10_000_000),
            reply: self.size("limits.reply", raw.reply.as_deref(), or.reply),
            event: self.size("limits.event", raw.event.as_deref(), or.event),
            connections: self.count(
                "limits.connections",
                raw.connections,
                or.connections,
                1_000_000,
            ),
            connections_per_ip: self.count(
                "limits.connections_per_ip",
                raw.connections_per_ip,
                or.connections_per_ip,
                1_000_000,
            ),
        };
        // hyper's own buffer must hold a head, and it takes no less than this.
        if limits.headers < 8 << 10 {
            self.faults.add("limits.headers", "must be at least 8KiB");
        }
        limits
    }

    fn sessions(&mut self, raw: &RawSessions) -> Sessions {
        let or = Sessions::default();
        let sessions = Sessions {
            idle: self.duration("sessions.idle", raw.idle.as_deref(), or.idle),
            absolute: self.duration("sessions.absolute", raw.absolute.as_deref(), or.absolute),
            lease: self.duration("sessions.lease", raw.lease.as_deref(), or.lease),
            on_busy: self.on_busy(raw.on_busy.as_ref()),
            wait: self.duration("sessions.wait", raw.wait.as_deref(), or.wait),
            continuity: raw.continuity.unwrap_or(or.continuity),
            require_session: raw.require_session.unwrap_or(or.require_session),
            recovery_days: self.recovery_days(raw.recovery_days, or.recovery_days),
        };
        if sessions.absolute < sessions.idle {
            self.faults
                .add("sessions.absolute", "is shorter than sessions.idle");
        }
        // It is renewed three times within it, over a network, beside all other work.
        if sessions.lease < SHORTEST_LEASE {
            self.faults.add("sessions.lease", "must be at least 1s");
        }
        sessions
    }

    fn recovery_days(&mut self, days: Option<i64>, default: u32) -> u32 {
        match days.map(u32::try_from) {
            None => default,
            Some(Ok(days)) if days <= MOST_RECOVERY_DAYS => days,
            Some(_) => {
                let message = format!("must be a number from 0 to {MOST_RECOVERY_DAYS}");
                self.faults.add("sessions.recovery_days", message);
                default
            }
        }
    }

    fn on_busy(&mut self, raw: Option<&toml::Value>) -> OnBusy {
        match raw.map(toml::Value::as_str) {
            None | Some(Some("queue")) => OnBusy::Queue,
            Some(Some("interrupt")) => OnBusy::Interrupt,
            Some(Some("reject")) => OnBusy::Reject,
            Some(_) => {
                let message = "must be \"queue\", \"reject\" or \"interrupt\"";
                self.faults.add("sessions.on_busy", message);
                OnBusy::Queue
            }
        }
    }

    pub(super) fn duration(
        &mut self,
        path: &str,
        text: Option<&str>,
        default: Duration,
    ) -> Duration {
        self.value(path, text, default, value::duration)
    }

    pub(super) fn size(&mut self, path: &str, text: Option<&str>, default: usize) -> usize {
        self.value(path, text, default, value::size)
    }

    fn value<T>(
        &mut self,
        path: &str,
        text: Option<&str>,
        default: T,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> T {
        let Some(text) = text else { return default };
        parse(text).unwrap_or_else(|message| {
            self.faults.add(path, message);
            default
        })
    }

    pub(super) fn count(
        &mut self,
        path: &str,
        number: Option<i64>,
        default: usize,
        most: usize,
    ) -> usize {
        let Some(number) = number else { return default };
        match usize::try_from(number) {
            Ok(count) if (1..=most).contains(&count) => count,
            _ => {
                self.faults
                    .add(path, format!("must be a number from 1 to {most}"));
                default
            }
        }
    }
}

fn log(raw: &RawLog) -> Log {
    use tracing::level_filters::LevelFilter;
    Log {
        level: match raw.level {
            Some(RawLevel::Error) => LevelFilter::ERROR,
            Some(RawLevel::Warn) => LevelFilter::WARN,
            Some(RawLevel::Info) | None => LevelFilter::INFO,
            Some(RawLevel::Debug) => LevelFilter::DEBUG,
            Some(RawLevel::Trace) => LevelFilter::TRACE,
        },
        json: matches!(raw.format, Some(RawFormat::Json)),
    }
}
