//! From the configuration to what the client library connects with.

use std::time::Duration;

use redis::{
    Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, TlsCertificates,
    io::tcp::{TcpSettings, socket2::TcpKeepalive},
};

use super::link::LinkError;
use crate::config::{Redis, RedisNode};

/// A peer that has vanished is noticed after this much silence.
const SILENCE: Duration = Duration::from_secs(15);

pub(super) fn node(settings: &Redis, node: &RedisNode) -> Result<ConnectionInfo, LinkError> {
    let address = if node.tls {
        ConnectionAddr::TcpTls {
            host: node.host.clone(),
            port: node.port,
            insecure: false,
            tls_params: None,
        }
    } else {
        ConnectionAddr::Tcp(node.host.clone(), node.port)
    };
    let info = address.into_connection_info()?;
    let mut redis = info
        .redis_settings()
        .clone()
        // Tells us when a connection ends that nobody uses at that moment.
        .set_protocol(ProtocolVersion::RESP3)
        .set_skip_set_lib_name();
    if let Some(user) = &settings.user {
        redis = redis.set_username(user);
    }
    if let Some(password) = &settings.password {
        redis = redis.set_password(password.expose());
    }
    let keepalive = TcpKeepalive::new()
        .with_time(SILENCE)
        .with_interval(SILENCE / 3);
    let tcp = TcpSettings::default()
        .set_nodelay(true)
        .set_keepalive(keepalive)
        .set_user_timeout(settings.timeout);
    Ok(info.set_redis_settings(redis).set_tcp_settings(tcp))
}

/// What connects to one of the nodes.
pub(super) fn client(settings: &Redis, address: &RedisNode) -> Result<Client, LinkError> {
    let info = node(settings, address)?;
    Ok(if settings.tls() {
        Client::build_with_tls(info, certificates(settings))?
    } else {
        Client::open(info)?
    })
}

/// Whom the server's certificate must be from: the issuers of `ca`, else those that browsers trust.
pub(super) fn certificates(settings: &Redis) -> TlsCertificates {
    TlsCertificates {
        client_tls: None,
        root_cert: settings.ca.clone(),
    }
}
