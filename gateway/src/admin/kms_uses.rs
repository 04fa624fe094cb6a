//! What KMS was asked for tenants' keys, for the log.
//!
//! Keys are kept for a while, so this is rare; but while KMS gives none, every new session asks. So what
//! is the same is counted, and told at the end of a window.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use gatehouse_envelope::keys::{KeyContext, KeyError, KmsCall, KmsWatch};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::audit::{Event, KmsUse, Later, Owing};

/// How long uses are counted before they are told.
const WINDOW: Duration = Duration::from_secs(10);
/// How many records are on their way at once. While the log takes none, uses are counted on, which needs
/// no more room than there are tenants and keys.
const AT_ONCE: usize = 1024;

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
    /// The records of windows that are over, until the log has them. They take no places of those that the
    /// book keeps for exchanges, and those none of theirs.
    telling: Vec<Owing>,
}

/// The uses of the window that runs.
#[derive(Clone, Default)]
pub(super) struct KmsUses(Arc<Mutex<Window>>);

impl KmsUses {
    /// Offers the log what was counted, if the window is over, or `at_once`; again, until the log has it.
    /// Waits for nothing. Says how many records the log does not have yet.
    pub(super) fn tell(&self, offer: impl Fn(Event) -> Later, at_once: bool) -> usize {
        let mut window = self.0.lock();
        window.telling.retain_mut(|it| !it.is_settled(&offer));
        window.turn(at_once);
        window.telling.retain_mut(|it| !it.is_settled(&offer));
        let counted = if at_once { window.uses.len() } else { 0 };
        window.telling.len() + counted
    }
}

impl Window {
    /// Makes records of uses, if it is time to, and the log has taken those before.
    fn turn(&mut self, at_once: bool) {
        let lasted = self.since.map(|since| since.elapsed());
        let lasted = lasted.filter(|lasted| at_once || *lasted >= WINDOW);
        let Some(lasted) = lasted.filter(|_| self.telling.is_empty()) else {
            return;
        };
        while self.telling.len() < AT_ONCE
            && let Some((it, count)) = self.uses.pop_first()
        {
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
                Ok(event) => self.telling.push(Owing::new(event)),
                Err(error) => tracing::error!(%error, "a use of KMS is not in the log"),
            }
        }
        if self.uses.is_empty() {
            self.since = None;
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
        KeyError::Unheard => "unheard",
        KeyError::Damaged | KeyError::Newer | KeyError::Unfit(_) => "damaged",
        _ => "failed",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use gatehouse_ledger::AppendError;

    use super::*;

    const ROOT: &str = "arn:aws:kms:eu-west-1:1:key/k";

    /// A log that takes everything or nothing.
    #[derive(Default)]
    struct Log {
        refuses: AtomicBool,
        events: Mutex<Vec<serde_json::Value>>,
    }

    impl Log {
        fn offer(&self, event: Event) -> Later {
            let refuses = self.refuses.load(Ordering::SeqCst);
            if !refuses {
                let event = serde_json::from_slice(event.bytes()).unwrap();
                self.events.lock().push(event);
            }
            Box::pin(async move {
                if refuses {
                    Err(AppendError::Busy.into())
                } else {
                    Ok(())
                }
            })
        }
    }

    fn used(uses: &KmsUses, tenant: &str, failed: Option<&KeyError>) {
        let context = KeyContext {
            purpose: "tenant",
            tenant,
            epoch: 1,
        };
        uses.called(KmsCall::Decrypt, ROOT, &context, failed);
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_log_does_not_take_is_counted_on_and_told_later() {
        let (uses, log) = (KmsUses::default(), Log::default());
        let tell = |at_once| uses.tell(|event| log.offer(event), at_once);
        log.refuses.store(true, Ordering::SeqCst);
        used(&uses, "t", None);
        used(&uses, "t", Some(&KeyError::Unheard));
        assert_eq!(tell(false), 0, "the window runs");
        tokio::time::advance(WINDOW).await;
        assert_eq!(tell(false), 2);
        for _ in 0..100 {
            used(&uses, "t", None);
            tokio::time::advance(WINDOW).await;
            assert_eq!(tell(false), 2);
        }
        log.refuses.store(false, Ordering::SeqCst);
        assert_eq!(tell(false), 0);
        let told = std::mem::take(&mut *log.events.lock());
        let n = |event: &serde_json::Value| (event["reason"].clone(), event["n"].clone());
        let counts: Vec<_> = told.iter().map(n).collect();
        let (none, unheard) = (serde_json::Value::Null, serde_json::json!("unheard"));
        assert_eq!(
            counts,
            [
                (none.clone(), 1.into()),
                (unheard, 1.into()),
                (none, 100.into())
            ]
        );
        assert_eq!(tell(true), 0);
        assert!(log.events.lock().is_empty());
    }

    #[tokio::test]
    async fn many_tenants_are_told_of_by_and_by_each_once() {
        let (uses, log) = (KmsUses::default(), Log::default());
        let tell = || uses.tell(|event| log.offer(event), true);
        for tenant in 0..2 * AT_ONCE + 1 {
            used(&uses, &format!("t{tenant}"), None);
        }
        log.refuses.store(true, Ordering::SeqCst);
        assert_eq!(tell(), 2 * AT_ONCE + 1);
        log.refuses.store(false, Ordering::SeqCst);
        assert_eq!(tell(), 1);
        assert_eq!(tell(), 0);
        let mut tenants: Vec<_> = {
            let events = log.events.lock();
            let tenants = events.iter();
            tenants.map(|it| it["tenant"].to_string()).collect()
        };
        tenants.sort_unstable();
        tenants.dedup();
        assert_eq!(tenants.len(), 2 * AT_ONCE + 1);
    }
}
