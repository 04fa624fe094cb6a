//! A cluster: each key's primary, found by the client library.

use std::{sync::Arc, time::Duration};

use redis::{
    Cmd, ErrorKind, Pipeline, ProtocolVersion, RedisError, ServerErrorKind, Value,
    cluster::ClusterClient,
    cluster_async::ClusterConnection,
    cluster_routing::{
        MultipleNodeRoutingInfo, Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr,
    },
};

use super::{
    address::{certificates, node},
    link::{LinkError, confirmed, wait},
};
use crate::config::Redis;

pub(super) struct Cluster {
    connection: Arc<ClusterConnection>,
}

impl Cluster {
    pub(super) async fn open(settings: &Redis) -> Result<Self, LinkError> {
        let nodes: Result<Vec<_>, _> = settings
            .nodes
            .iter()
            .map(|address| node(settings, address))
            .collect();
        let mut builder = ClusterClient::builder(nodes?)
            .use_protocol(ProtocolVersion::RESP3)
            .connection_timeout(settings.connect_timeout)
            .response_timeout(settings.timeout)
            // A write that is sent twice is not the same as one that is sent once.
            .retries(0);
        if settings.tls() {
            builder = builder.certs(certificates(settings));
        }
        let connection = builder.build()?.get_async_connection().await?;
        Ok(Self {
            connection: Arc::new(connection),
        })
    }

    pub(super) async fn send(
        &self,
        cmd: &Cmd,
        key: Option<&str>,
        replicas: u32,
        timeout: Duration,
    ) -> Result<Value, LinkError> {
        let to = match key {
            Some(key) => {
                SingleNodeRoutingInfo::SpecificNode(Route::with_key(key, SlotAddr::Master))
            }
            None => SingleNodeRoutingInfo::RandomPrimary,
        };
        let mut commands = vec![cmd.clone()];
        if replicas > 0 {
            commands.push(wait(replicas, timeout));
        }
        match self.ask(&commands, to).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::Ask) => {
                self.ask_the_heir(&error, commands, replicas).await
            }
            Err(error) => Err(error.into()),
            Ok(answers) => finish(answers, replicas),
        }
    }

    /// The answers of all primaries to a command.
    pub(super) async fn ask_all(&self, command: &Cmd) -> Result<Vec<Value>, LinkError> {
        let everywhere = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        let mut connection = (*self.connection).clone();
        match connection
            .route_command(command.clone(), everywhere)
            .await?
        {
            Value::Map(answers) => {
                let answers = answers.into_iter().map(|(_, answer)| answer);
                let answers: Result<Vec<_>, _> = answers.map(Value::extract_error).collect();
                Ok(answers?)
            }
            _ => Err(LinkError::Unexpected),
        }
    }

    async fn ask(
        &self,
        commands: &[Cmd],
        to: SingleNodeRoutingInfo,
    ) -> Result<Vec<Value>, RedisError> {
        let mut connection = (*self.connection).clone();
        if let [command] = commands {
            let routing = RoutingInfo::SingleNode(to);
            let answer = connection.route_command(command.clone(), routing).await?;
            return Ok(vec![answer.extract_error()?]);
        }
        let mut pipeline = Pipeline::with_capacity(commands.len());
        for command in commands {
            pipeline.add_command(command.clone());
        }
        let count = commands.len();
        let answers = connection.route_pipeline(pipeline, 0, count, to).await?;
        if let Some(Value::ServerError(error)) = answers.first() {
            return Err(error.clone().into());
        }
        Ok(answers)
    }

    /// The slot is on its way to another node, and this key has arrived there.
    async fn ask_the_heir(
        &self,
        asked: &RedisError,
        mut commands: Vec<Cmd>,
        replicas: u32,
    ) -> Result<Value, LinkError> {
        let heir = asked.redirect_node().and_then(|(node, _)| {
            let (host, port) = node.rsplit_once(':')?;
            Some(SingleNodeRoutingInfo::ByAddress {
                host: host.to_owned(),
                port: port.parse().ok()?,
            })
        });
        let heir = heir.ok_or(LinkError::Unexpected)?;
        commands.insert(0, redis::cmd("ASKING"));
        finish(behind_asking(self.ask(&commands, heir).await?), replicas)
    }
}

/// The answers behind the one to ASKING: none, if a node has answered nothing.
fn behind_asking(answers: Vec<Value>) -> Vec<Value> {
    answers.into_iter().skip(1).collect()
}

fn finish(mut answers: Vec<Value>, replicas: u32) -> Result<Value, LinkError> {
    if replicas > 0 {
        return confirmed(answers, replicas);
    }
    let answer = answers.pop().ok_or(LinkError::Unexpected)?;
    Ok(answer.extract_error()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_answers_too_little_is_an_error() {
        let (asking, value) = (Value::Okay, Value::Int(7));
        for few in [vec![], vec![asking.clone()]] {
            for replicas in [0, 1] {
                let finished = finish(behind_asking(few.clone()), replicas);
                assert!(matches!(finished, Err(LinkError::Unexpected)));
            }
        }
        let whole = behind_asking(vec![asking.clone(), value.clone()]);
        assert_eq!(finish(whole, 0).unwrap(), value);
        let confirmed = behind_asking(vec![asking, value.clone(), Value::Int(1)]);
        assert_eq!(finish(confirmed, 1).unwrap(), value);
    }
}
