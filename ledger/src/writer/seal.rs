//! The sealing thread: a seal at the start, one a minute, and one at the end when everything is
//! stored. Nothing waits for it: what fails is told by [`super::Condition`] and tried again.

use std::{
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, SyncSender},
    },
    time::Duration,
};

use gatehouse_envelope::sign::Signer;

use super::{OpenError, SealLog, Shared};
use crate::{
    anchor::Anchors,
    clock::Clock,
    names,
    note::Key,
    seal::{SealError, Sealer},
    store::LedgerStore,
};

/// How often the clock is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long nothing is tried after something failed.
const RETRY: Duration = Duration::from_secs(5);

/// What the sealing thread works with.
pub(super) struct Seals {
    pub(super) store: Arc<dyn LedgerStore>,
    pub(super) signer: Arc<dyn Signer>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) keys: Vec<Key>,
    pub(super) shared: Arc<Shared>,
    /// Is told of every seal.
    pub(super) anchors: Anchors,
}

/// A wish for a seal now; the answer is the number of the last seal.
pub(super) type Wish = SyncSender<Result<u64, SealError>>;

impl Seals {
    /// Runs until the handle is gone.
    pub(super) fn run(self, wishes: &Receiver<Wish>) {
        let mut sealer = None;
        let mut wait = LOOK;
        self.seal(&mut sealer, false, &mut wait);
        loop {
            match wishes.recv_timeout(wait) {
                Ok(wish) => {
                    let sealed = self.attempt(&mut sealer, true);
                    // Whoever wished may have gone on.
                    let _ = wish.try_send(sealed);
                }
                Err(RecvTimeoutError::Timeout) => self.seal(&mut sealer, false, &mut wait),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.seal(&mut sealer, true, &mut wait);
    }

    fn seal(&self, sealer: &mut Option<Sealer>, now: bool, wait: &mut Duration) {
        let sealed = self.attempt(sealer, now);
        let damaged = sealer.as_ref().is_some_and(|sealer| sealer.damaged() > 0);
        self.shared
            .unsealed
            .store(sealed.is_err() || damaged, Ordering::Relaxed);
        *wait = if sealed.is_ok() { LOOK } else { RETRY };
    }

    /// Tries once; what is known of the seals is read again after a failure.
    fn attempt(&self, known: &mut Option<Sealer>, now: bool) -> Result<u64, SealError> {
        let mut sealer = match known.take() {
            Some(sealer) => sealer,
            None => {
                let (store, signer) = (Arc::clone(&self.store), Arc::clone(&self.signer));
                Sealer::open(store, signer, self.keys.clone(), &self.shared.seals)?
            }
        };
        sealer.seal(self.clock.now().unix_us, now)?;
        let last = sealer.last().unwrap_or_default();
        self.anchors.sealed(last);
        *known = Some(sealer);
        Ok(last)
    }
}

/// The name of the log of seals, remembered beside the write-ahead log where it is this directory's
/// own.
pub(super) fn log_name(wal: &Path, of: SealLog, deployment: &str) -> Result<String, OpenError> {
    if of == SealLog::Shared {
        return Ok(deployment.to_owned());
    }
    let path = wal.join("seals");
    match fs::read_to_string(&path) {
        Ok(name) if names::deployment_of_seals(&name) == Some(deployment) => return Ok(name),
        // Of another deployment, or not to be read as a name: those seals stay what they are.
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let name = names::new_seal_log(deployment)?;
    let new = wal.join("seals.new");
    let mut file = fs::File::create(&new)?;
    io::Write::write_all(&mut file, name.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, &path)?;
    crate::wal::sync_dir(&path)?;
    Ok(name)
}
