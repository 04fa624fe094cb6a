//! What a gateway has to have before anything is written: its addresses.

use tokio::net::TcpListener;

use super::start::StartError;
use crate::admin::Health;
use crate::config::Config;

/// What a gateway listens on.
pub(super) struct Listeners {
    pub(super) callers: TcpListener,
    pub(super) admin: TcpListener,
}

impl Listeners {
    pub(super) async fn bind(config: &Config) -> Result<Self, StartError> {
        let callers = TcpListener::bind(config.listen).await;
        let callers = callers.map_err(StartError::at("listen", config.listen))?;
        let admin = Health::bind(config.admin_listen).await;
        let admin = admin.map_err(StartError::at("admin_listen", config.admin_listen))?;
        Ok(Self { callers, admin })
    }
}
