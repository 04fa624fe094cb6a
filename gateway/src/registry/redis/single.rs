//! One primary, over one connection that all requests share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Client, Cmd, Pipeline, PushInfo, PushKind, Value,
    aio::{ConnectionLike, MultiplexedConnection},
};
use tokio::{sync::Mutex, time::Instant};

use super::{
    address::client,
    link::{LinkError, confirmed, wait},
};
use crate::config::Redis;

/// A server that could not be reached is not asked again for so long.
const AGAIN: Duration = Duration::from_millis(100);

pub(super) struct Single {
    client: Client,
    connect_timeout: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    live: Option<Live>,
    failed: Option<(Instant, LinkError)>,
}

#[derive(Clone)]
struct Live {
    connection: MultiplexedConnection,
    /// Set when the connection has ended, also while nobody uses it.
    gone: Arc<AtomicBool>,
}

impl Single {
    /// Connects at first use.
    pub(super) fn open(settings: &Redis) -> Result<Self, LinkError> {
        let first = settings.nodes.first().ok_or(LinkError::Unexpected)?;
        Ok(Self {
            client: client(settings, first)?,
            connect_timeout: settings.connect_timeout,
            state: Mutex::default(),
        })
    }

    pub(super) async fn send(
        &self,
        cmd: &Cmd,
        replicas: u32,
        timeout: Duration,
    ) -> Result<Value, LinkError> {
        let Live {
            mut connection,
            gone,
        } = self.live().await?;
        let done = if replicas == 0 {
            let answer = connection.req_packed_command(cmd).await;
            answer
                .and_then(Value::extract_error)
                .map_err(LinkError::from)
        } else {
            let mut pipeline = Pipeline::with_capacity(2);
            pipeline.add_command(cmd.clone());
            pipeline.add_command(wait(replicas, timeout));
            let answers = connection.req_packed_commands(&pipeline, 0, 2).await;
            answers
                .map_err(LinkError::from)
                .and_then(|answers| confirmed(answers, replicas))
        };
        let over = match &done {
            Err(LinkError::Lost(_)) => true,
            // Demoted. The name that we connected to may mean another server by now.
            Err(LinkError::Refused(code)) => matches!(code.as_str(), "READONLY" | "MASTERDOWN"),
            _ => false,
        };
        if over {
            gone.store(true, Ordering::Relaxed);
        }
        done
    }

    /// The next use makes a new connection: this one may lead nowhere.
    pub(super) fn distrust(&self) {
        // Whoever holds the lock is about to replace it.
        if let Ok(mut state) = self.state.try_lock() {
            state.live = None;
        }
    }

    async fn live(&self) -> Result<Live, LinkError> {
        let mut state = self.state.lock().await;
        if let Some(live) = &state.live
            && !live.gone.load(Ordering::Relaxed)
        {
            return Ok(live.clone());
        }
        state.live = None;
        if let Some((when, error)) = &state.failed
            && when.elapsed() < AGAIN
        {
            return Err(error.clone());
        }
        match self.connect().await {
            Ok(live) => {
                state.failed = None;
                state.live = Some(live.clone());
                Ok(live)
            }
            Err(error) => {
                state.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    async fn connect(&self) -> Result<Live, LinkError> {
        let gone = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&gone);
        let note = move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                noted.store(true, Ordering::Relaxed);
            }
            Ok::<(), redis::aio::SendError>(())
        };
        let options = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect_timeout))
            // The bound is the link's, over all that one call does.
            .set_response_timeout(None)
            .set_push_sender(note);
        let connection = self
            .client
            .get_multiplexed_async_connection_with_config(&options)
            .await?;
        Ok(Live { connection, gone })
    }
}
