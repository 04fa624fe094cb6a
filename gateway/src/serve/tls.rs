//! TLS on the listener: the handshake, and certificates that change while connections stand.
//!
//! The whole configuration of rustls is swapped, not the certificate alone: session tickets and the
//! issuers of callers' certificates go with it, so nobody resumes a session that was agreed under
//! files that are no longer there. Connections that stand keep what they were opened with.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::caller::Line;
use crate::clock::Clock;
use crate::config::{Contents, Faults, Identity, Tls, TlsFiles};
use crate::telemetry::TlsMetrics;

/// The listener's TLS.
pub(super) struct Front {
    files: TlsFiles,
    current: ArcSwap<Identity>,
    asked: Notify,
}

impl Front {
    /// Serves what was read with the configuration.
    pub(super) fn new(tls: &Tls) -> Self {
        Self {
            files: tls.files.clone(),
            current: ArcSwap::new(Arc::clone(&tls.identity)),
            asked: Notify::new(),
        }
    }

    /// One handshake, with what is served at its begin.
    pub(super) async fn accept(&self, stream: Line) -> io::Result<TlsStream<Line>> {
        let server = Arc::clone(&self.current.load().server);
        TlsAcceptor::from(server).accept(stream).await
    }

    /// Asks for a look at the files now.
    pub(super) fn reread(&self) {
        self.asked.notify_one();
    }

    /// Looks at the files for ever, and serves what is new and good.
    pub(super) async fn watch(self: Arc<Self>, clock: Arc<dyn Clock>, metrics: &TlsMetrics) {
        let current = self.current.load_full();
        metrics.serves(current.not_after);
        let mut watch = Watch::new(current.digest);
        loop {
            let asked = tokio::select! {
                () = tokio::time::sleep(self.files.reread) => false,
                () = self.asked.notified() => true,
            };
            let contents = self.contents().await;
            if !watch.wants(asked, contents.as_ref().ok().map(Contents::digest)) {
                continue;
            }
            let now = UNIX_EPOCH + Duration::from_micros(clock.utc_us().unsigned_abs());
            match contents.and_then(|contents| self.files.identity(&contents, now)) {
                Ok(identity) => {
                    watch.refused = None;
                    self.serve(identity, metrics);
                }
                Err(faults) => watch.refuse(faults.to_string(), asked, metrics),
            }
        }
    }

    async fn contents(&self) -> Result<Contents, Faults> {
        let files = self.files.clone();
        // A file system that hangs must not take a worker with it.
        match tokio::task::spawn_blocking(move || files.contents()).await {
            Ok(contents) => contents,
            Err(_) => Err(Faults::default()),
        }
    }

    fn serve(&self, identity: Identity, metrics: &TlsMetrics) {
        metrics.serves(identity.not_after);
        metrics.loaded();
        tracing::info!(
            expires = %stamp(identity.not_after),
            "the listener's certificate was read again and is served from now on"
        );
        self.current.store(Arc::new(identity));
    }
}

/// When the files are worth a try. Two files never change at once, so a change counts once it has
/// been seen twice; what was refused is tried at every look, since time alone may mend it.
struct Watch {
    /// The contents at the last try, and at the last look; `None` if they could not be read.
    tried: Option<[u8; 32]>,
    looked: Option<[u8; 32]>,
    refused: Option<String>,
}

impl Watch {
    fn new(digest: [u8; 32]) -> Self {
        Self {
            tried: Some(digest),
            looked: Some(digest),
            refused: None,
        }
    }

    fn wants(&mut self, asked: bool, digest: Option<[u8; 32]>) -> bool {
        let settled = digest == self.looked;
        let changed = digest != self.tried;
        self.looked = digest;
        let wants = asked || (settled && (changed || self.refused.is_some()));
        if wants {
            self.tried = digest;
        }
        wants
    }

    /// Says so once for each kind of fault, and whenever somebody asked.
    fn refuse(&mut self, faults: String, asked: bool, metrics: &TlsMetrics) {
        if asked || self.refused.as_ref() != Some(&faults) {
            metrics.refused();
            tracing::error!(
                faults,
                "the listener's TLS files cannot be used; the pair before them is still served"
            );
        }
        self.refused = Some(faults);
    }
}

fn stamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    crate::clock::rfc3339(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_counts_once_it_has_settled_or_when_asked() {
        let (old, half, new) = ([0; 32], [1; 32], [2; 32]);
        let mut watch = Watch::new(old);
        assert!(!watch.wants(false, Some(old)));
        assert!(!watch.wants(false, Some(half)), "seen once");
        assert!(!watch.wants(false, Some(new)), "changed again");
        assert!(watch.wants(false, Some(new)), "settled");
        assert!(!watch.wants(false, Some(new)), "nothing new");
        assert!(watch.wants(true, Some(new)), "asked");
        assert!(!watch.wants(false, None));
        assert!(watch.wants(false, None), "gone for good");
    }

    #[test]
    fn what_was_refused_is_tried_again_and_said_once() {
        let metrics = TlsMetrics::default();
        let mut watch = Watch::new([0; 32]);
        assert!(watch.wants(true, Some([1; 32])));
        watch.refuse("expired".to_owned(), true, &metrics);
        assert!(watch.wants(false, Some([1; 32])), "time may mend it");
    }
}
