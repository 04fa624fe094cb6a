//! How many connections may be open, and which one gives way.
//!
//! A connection that has not yet sent a whole request head costs its opener nothing and us a file.
//! Those are capped on their own, and the oldest of them gives way to a newcomer, so that a crowd
//! of silent connections does not keep a speaking one out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Caps on connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caps {
    /// All of them.
    pub(super) total: usize,
    /// From one address.
    pub(super) per_address: usize,
    /// That have not sent a whole request head.
    pub(super) silent: usize,
}

/// All open connections of one listener.
pub(super) struct Connections {
    caps: Caps,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    total: usize,
    by_address: HashMap<IpAddr, usize>,
    silent: BTreeMap<u64, CancellationToken>,
}

/// One connection's place; given back when dropped.
pub(super) struct Place {
    connections: Arc<Connections>,
    address: IpAddr,
    number: u64,
    evicted: CancellationToken,
}

impl Connections {
    /// None open yet.
    pub(super) fn new(caps: Caps) -> Arc<Self> {
        Arc::new(Self {
            caps,
            open: Mutex::default(),
        })
    }

    /// A place for a connection from `address`, or `None` if there is no room.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let mut open = self.open.lock();
        let here = open.by_address.get(&address).copied().unwrap_or(0);
        if open.total >= self.caps.total || here >= self.caps.per_address {
            return None;
        }
        if open.silent.len() >= self.caps.silent
            && let Some((_, oldest)) = open.silent.pop_first()
        {
            oldest.cancel();
        }
        let evicted = CancellationToken::new();
        let number = open.next;
        open.next += 1;
        open.total += 1;
        open.by_address.insert(address, here + 1);
        open.silent.insert(number, evicted.clone());
        Some(Place {
            connections: Arc::clone(self),
            address,
            number,
            evicted,
        })
    }
}

impl Place {
    /// The connection has sent a request: it no longer gives way.
    pub(super) fn speaks(&self) {
        self.connections.open.lock().silent.remove(&self.number);
    }

    /// Resolves when the connection must give way.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock();
        open.total = open.total.saturating_sub(1);
        open.silent.remove(&self.number);
        if let Some(count) = open.by_address.get_mut(&self.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_silent_connection_gives_way_and_speaking_ones_stay() {
        let caps = Caps {
            total: 10,
            per_address: 4,
            silent: 2,
        };
        let connections = Connections::new(caps);
        let here = IpAddr::from([10, 0, 0, 1]);
        let speaking = connections.enter(here).unwrap();
        speaking.speaks();
        let oldest = connections.enter(here).unwrap();
        let newer = connections.enter(here).unwrap();
        let newest = connections.enter(here).unwrap();
        oldest.evicted().await;
        assert!(!newer.evicted.is_cancelled() && !newest.evicted.is_cancelled());
        assert!(!speaking.evicted.is_cancelled());
        assert!(connections.enter(here).is_none(), "four from one address");
        drop(oldest);
        assert!(connections.enter(here).is_some());
        drop((speaking, newer, newest));
        assert!(connections.open.lock().by_address.is_empty());
        assert_eq!(connections.open.lock().total, 0);
    }
}
