//! The listener: connections in, replies out, and an orderly stop. Knows transport, not agents.

mod activity;
mod caller;
mod ciphered;
mod connection;
mod connections;
mod health;
mod housekeeping;
mod listeners;
mod model;
mod payloads;
mod route;
mod sessions;
mod start;
mod state;
#[cfg(test)]
mod tests;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use start::{Running, StartError, up};

use crate::pipeline::Gateway;
use crate::telemetry::Counted;
use connections::{Caps, Connections};
use tls::Front;

/// How long to wait before accepting again when the system has no room for a connection.
const BREATH: Duration = Duration::from_millis(50);

/// Accepts until `stop`.
async fn accept(
    gateway: Arc<Gateway>,
    listener: TcpListener,
    front: Option<Arc<Front>>,
    tracker: TaskTracker,
    stop: CancellationToken,
) {
    let limits = gateway.config.limits;
    let connections = Connections::new(Caps {
        total: limits.connections,
        per_address: limits.connections_per_ip,
        silent: (limits.connections_per_ip.min(limits.connections) * 3 / 4).max(1),
    });
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        let Ok((stream, peer)) = accepted else {
            // Out of files, usually. The listener is fine.
            tracing::warn!("a connection could not be accepted");
            tokio::time::sleep(BREATH).await;
            continue;
        };
        // Without a place the socket is closed: no room means no reply either.
        let Some(place) = connections.enter(peer_of(peer)) else {
            continue;
        };
        // Small writes are whole events that somebody waits for.
        let _ = stream.set_nodelay(true);
        let metrics = Arc::clone(&gateway.metrics);
        let (gateway, front, stop) = (Arc::clone(&gateway), front.clone(), stop.clone());
        tracker.spawn(async move {
            let _open = Counted::in_gauge(&metrics.connections);
            connection::serve(gateway, stream, front, peer_of(peer), place, stop).await;
        });
    }
}

/// IPv4 in IPv6 clothes is the same peer.
fn peer_of(peer: SocketAddr) -> std::net::IpAddr {
    peer.ip().to_canonical()
}
