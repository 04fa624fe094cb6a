//! What KMS was asked for tenants' keys, for the log.
//!
//! Keys are kept for a while, so this is rare; but while KMS gives none, every new session asks. So what
//! is the same is counted, and told at the end of a window.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use gatehouse_envelope::keys::{KeyContext, KeyError, KmsCall, KmsWatch};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::audit::{Book, KmsUse};

/// How long uses are counted before they are told.
const WINDOW: Duration = Duration::from_secs(10);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    call: KmsCall,
    root: String,
    tenant: String,
    epoch: u32,
    failed: Option<&'static str>,
}

#[derive(Default)]
struct Window {
    since: Option<Instant>,
    uses: BTreeMap<Use, u64>,
}

/// The uses of the window that runs.
#[derive(Clone, Default)]
pub(super) struct KmsUses(Arc<Mutex<Window>>);

impl KmsUses {
    /// Tells the log what was counted, if the window is over, or `at_once`. The log has it in any case,
    /// now or as soon as it takes records.
    pub(super) fn tell(&self, book: &Book, at_once: bool) {
        let (uses, lasted) = {
            let mut window = self.0.lock();
            let lasted = window.since.map(|since| since.elapsed());
            let Some(lasted) = lasted.filter(|lasted| at_once || *lasted >= WINDOW) else {
                return;
            };
            (std::mem::take(&mut *window).uses, lasted)
        };
        for (it, count) in uses {
            let event = KmsUse {
                kind: kind(it.call),
                root: &it.root,
                tenant: &it.tenant,
                epoch: it.epoch,
                failed: it.failed,
                count,
                window_us: crate::clock::micros(lasted),
            };
            match event.build() {
                Ok(event) => book.owe(event, None),
                Err(error) => tracing::error!(%error, "a use of KMS is not in the log"),
            }
        }
    }
}

impl KmsWatch for KmsUses {
    fn called(
        &self,
        call: KmsCall,
        root: &str,
        context: &KeyContext<'_>,
        failed: Option<&KeyError>,
    ) {
        let it = Use {
            call,
            root: root.to_owned(),
            tenant: context.tenant.to_owned(),
            epoch: context.epoch,
            failed: failed.map(reason),
        };
        let mut window = self.0.lock();
        window.since.get_or_insert_with(Instant::now);
        *window.uses.entry(it).or_default() += 1;
    }
}

fn kind(call: KmsCall) -> &'static str {
    match call {
        KmsCall::Decrypt => "kms.decrypt",
        KmsCall::Encrypt => "kms.encrypt",
        KmsCall::GenerateDataKey => "kms.datakey",
        KmsCall::ReEncrypt => "kms.reencrypt",
    }
}

/// Never what KMS says in its own words.
fn reason(error: &KeyError) -> &'static str {
    match error {
        KeyError::Denied(_) => "denied",
        KeyError::Disabled => "disabled",
        KeyError::Missing => "missing",
        KeyError::Throttled => "throttled",
        KeyError::Unreachable(_) => "unreachable",
        KeyError::Damaged | KeyError::Newer | KeyError::Unfit(_) => "damaged",
        _ => "failed",
    }
}
