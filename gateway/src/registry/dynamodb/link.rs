//! The table in DynamoDB, and how its items are read: strongly consistent, each and every time.

use std::{collections::HashMap, sync::Arc, time::Duration};

use aws_sdk_dynamodb::{Client, config::Builder, types::AttributeValue};
use gatehouse_envelope::aws::{self, Access};

use super::{
    clock::ServerClock,
    item::{Item, Key},
};
use crate::{
    clock::Clock,
    config::DynamoDb,
    registry::{
        Condition,
        aws::{AwsError, Fault, Sender},
    },
};

/// What stands in an expression for values.
pub(crate) type Values = Vec<(&'static str, AttributeValue)>;

/// A part of the items of one partition.
pub(crate) struct Range {
    /// An index, if it is not the table itself.
    pub(crate) index: Option<&'static str>,
    /// Which of them.
    pub(crate) condition: &'static str,
    /// What stands for `:name` in it.
    pub(crate) values: Values,
    /// Behind which to begin.
    pub(crate) behind: Option<Item>,
    /// The attributes that are read; `None` for all.
    pub(crate) attributes: Option<&'static str>,
    /// How many at most.
    pub(crate) limit: Option<usize>,
}

/// One answer of a query.
pub(crate) struct Found {
    pub(crate) items: Vec<Item>,
    /// Behind which there may be more.
    pub(crate) last: Option<Item>,
}

/// Connections to DynamoDB, and the one table.
pub struct DynamoLink {
    pub(super) client: Client,
    pub(super) table: String,
    pub(super) sender: Sender,
    clock: ServerClock,
}

impl DynamoLink {
    /// Says how DynamoDB is reached. Connects at first use.
    pub async fn open(settings: &DynamoDb, clock: Arc<dyn Clock>) -> Self {
        let sdk = aws::config(&access(settings, settings.endpoint.clone())).await;
        Self::with(Builder::from(&sdk), settings, clock)
    }

    pub(super) fn with(builder: Builder, settings: &DynamoDb, clock: Arc<dyn Clock>) -> Self {
        let clock = ServerClock::new(clock, settings.timeout);
        let config = builder.interceptor(clock.clone()).build();
        Self {
            client: Client::from_conf(config),
            table: settings.table.clone(),
            sender: Sender::new("dynamodb", settings.timeout),
            clock,
        }
    }

    /// Whether DynamoDB answered last time.
    pub fn condition(&self) -> Condition {
        self.sender.condition()
    }

    /// Asks whether it answers now.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), AwsError> {
        self.get(Key::new("none", "", "none")).await.map(drop)
    }

    /// What DynamoDB's clock shows, in microseconds since 1970 (UTC).
    pub(crate) fn now_us(&self) -> i64 {
        self.clock.now_us()
    }

    /// As after the machine has stood still for so long.
    #[cfg(test)]
    pub(crate) fn stand_still(&self, by: Duration) {
        self.clock.stand_still(by);
    }

    /// By how much two gateways may differ about it, at most.
    pub(crate) fn slack(&self) -> Duration {
        self.clock.slack()
    }

    /// An answer that has another form than it must have.
    pub(crate) fn unexpected(&self) -> AwsError {
        self.sender.error(Fault::Unexpected)
    }

    /// A write of which nobody knows whether it was done.
    pub(crate) fn doubtful(&self) -> AwsError {
        self.sender.error(Fault::Late)
    }

    /// Reads an item as the last write left it.
    pub(crate) async fn get(&self, key: Key) -> Result<Option<Item>, AwsError> {
        let call = self.client.get_item().table_name(&self.table);
        let call = call.set_key(Some(key.into_item())).consistent_read(true);
        let once = || async {
            let answer = call.clone().send().await;
            answer.map_err(|error| Fault::of(&error))
        };
        let sent = self.sender.send(true, once).await?;
        Ok(sent.answer.item)
    }

    /// Reads some items of a partition, in the order of their sort keys.
    pub(crate) async fn query(&self, range: Range) -> Result<Found, AwsError> {
        let call = self.client.query().table_name(&self.table);
        let limit = range
            .limit
            .map(|limit| i32::try_from(limit).unwrap_or(i32::MAX));
        let call = call
            .set_index_name(range.index.map(str::to_owned))
            .key_condition_expression(range.condition)
            .set_expression_attribute_values(named(range.values))
            .set_exclusive_start_key(range.behind)
            .set_projection_expression(range.attributes.map(str::to_owned))
            .set_limit(limit)
            .consistent_read(true);
        let once = || async {
            let answer = call.clone().send().await;
            answer.map_err(|error| Fault::of(&error))
        };
        let answer = self.sender.send(true, once).await?.answer;
        Ok(Found {
            items: answer.items.unwrap_or_default(),
            last: answer.last_evaluated_key,
        })
    }
}

/// How a service of AWS is reached. Calls are sent again by [`Sender`] alone.
pub(crate) fn access(settings: &DynamoDb, endpoint: Option<String>) -> Access {
    Access {
        region: settings.region.clone(),
        endpoint,
        connect_timeout: settings.connect_timeout,
        timeout: settings.timeout,
        attempts: 1,
    }
}

/// Values under the names by which an expression knows them. An empty list is not sent.
pub(super) fn named(values: Values) -> Option<HashMap<String, AttributeValue>> {
    let named = values.into_iter();
    let named: HashMap<_, _> = named
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    (!named.is_empty()).then_some(named)
}
