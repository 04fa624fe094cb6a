//! A log of the auditor's own: the same format, with its own key. One process at a time has it open.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use gatehouse_envelope::sign::FileSigner;
use gatehouse_ledger::{
    Durability, Ledger, Mode, Options, Pace, SealLog, clock::SystemClock, export::Export,
    store::Dir,
};

use super::by;
use crate::cli::Failure;

/// What the log's deployment is called.
const DEPLOYMENT: &str = "auditor";

/// Where the log is in its folder.
pub(super) fn place(folder: &Path) -> PathBuf {
    folder.join("ledger")
}

/// Writes the record into the folder's log: `ledger/` is the log, `trust.policy` what verifies it,
/// `keys/signer` its key. The segment with the record is stored when this returns.
pub(super) fn record(folder: &Path, export: &Export) -> Result<(), Failure> {
    let wrong = |error: &dyn std::error::Error| {
        let cause = error.source().map(|cause| format!(": {cause}"));
        let cause = cause.unwrap_or_default();
        let place = folder.display();
        Failure::Read(format!(
            "{place}: the export is not recorded: {error}{cause}"
        ))
    };
    let event = export.event(&by()).map_err(|error| wrong(&error))?;
    let signer = FileSigner::open_or_create(&folder.join("keys/signer"), DEPLOYMENT);
    let options = Options {
        data_dir: folder.to_owned(),
        deployment: DEPLOYMENT.to_owned(),
        mode: Mode::Strict,
        pace: Pace::default(),
        seals: SealLog::Own,
    };
    let store = Arc::new(Dir::new(place(folder)));
    let signer = Arc::new(signer.map_err(|error| wrong(&error))?);
    let opened = Ledger::open(options, store, signer, Arc::new(SystemClock::new()));
    let (ledger, recovery) = opened.map_err(|error| wrong(&error))?;
    // No store of sessions stands behind this log.
    recovery.complete().map_err(|error| wrong(&error))?;
    let ticket = ledger.append(event, Durability::Durable);
    // A strict log keeps a record back until there are more, or some time has passed.
    let stored = ledger.flush().wait();
    ticket.wait().map_err(|error| wrong(&error))?;
    stored.map_err(|error| wrong(&error))?;
    ledger.close().map_err(|error| wrong(&error))
}
