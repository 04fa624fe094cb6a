//! What the table is and promises, read at the start. The gateway makes and changes no table: that is
//! its operator's, by terraform.

use aws_sdk_dynamodb::types::{
    AttributeDefinition, KeySchemaElement, KeyType, LocalSecondaryIndexDescription, ProjectionType,
    ScalarAttributeType, TableDescription, TableStatus, TimeToLiveStatus,
};

use super::{
    item::{BY_END, ENDS, LET_GO, PARTITION, SORT},
    link::DynamoLink,
};
use crate::registry::aws::{AwsError, Fault};

/// Why a table is not fit to keep sessions.
#[derive(Debug, thiserror::Error)]
pub enum UnfitError {
    /// DynamoDB gives no answer that counts.
    #[error(transparent)]
    Aws(#[from] AwsError),
    /// It may not be looked at.
    #[error("{0}; the gateway's role needs dynamodb:DescribeTable to see what the table is")]
    Hidden(AwsError),
    /// There is none of that name.
    #[error("there is no such table in this region: make it with terraform/modules/sessions")]
    Missing,
    /// It has other keys or indexes.
    #[error("the table is not made for sessions: {0}; see terraform/modules/sessions")]
    Schema(String),
    /// It is being made, changed or deleted.
    #[error("the table is {0}")]
    Status(String),
    /// DynamoDB would remove what is still needed.
    #[error("the table's time to live goes by {0}, not by {LET_GO}")]
    TimeToLive(String),
}

impl DynamoLink {
    /// Looks at the table's keys and settings, as far as the gateway's role may, and says in the log
    /// what they promise.
    ///
    /// # Errors
    /// A table that sessions cannot be kept in, or no answer.
    pub async fn check(&self) -> Result<(), UnfitError> {
        let call = self.client.describe_table().table_name(&self.table);
        let once = || async {
            let answer = call.clone().send().await;
            answer.map_err(|error| Fault::of(&error))
        };
        let table = match self.sender.send(true, once).await {
            Ok(sent) => sent.answer.table.ok_or_else(|| self.unexpected())?,
            Err(error) if error.refused("ResourceNotFoundException") => {
                return Err(UnfitError::Missing);
            }
            Err(error) if error.refused("AccessDeniedException") => {
                return Err(UnfitError::Hidden(error));
            }
            Err(error) => return Err(error.into()),
        };
        fit(&table)?;
        tell(&table);
        self.time_to_live().await
    }

    async fn time_to_live(&self) -> Result<(), UnfitError> {
        let call = self.client.describe_time_to_live().table_name(&self.table);
        let once = || async {
            let answer = call.clone().send().await;
            answer.map_err(|error| Fault::of(&error))
        };
        let set = match self.sender.send(true, once).await {
            Ok(sent) => sent.answer.time_to_live_description,
            Err(error) if error.refused("AccessDeniedException") => {
                tracing::warn!(
                    "dynamodb: the role may not ask for the table's time to live, so nobody knows \
                     whether old items are removed; grant dynamodb:DescribeTimeToLive"
                );
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let set = set.filter(|set| {
            let status = set.time_to_live_status();
            let on = [TimeToLiveStatus::Enabled, TimeToLiveStatus::Enabling];
            status.is_some_and(|status| on.contains(status))
        });
        match set.as_ref().and_then(|set| set.attribute_name()) {
            Some(LET_GO) => Ok(()),
            Some(other) => Err(UnfitError::TimeToLive(other.to_owned())),
            None => {
                tracing::warn!(
                    "dynamodb: the table has no time to live on {LET_GO}: what is over is never \
                     removed"
                );
                Ok(())
            }
        }
    }
}

fn fit(table: &TableDescription) -> Result<(), UnfitError> {
    match table.table_status() {
        Some(TableStatus::Active | TableStatus::Updating) => {}
        status => {
            let status = status.map_or("of no known state", TableStatus::as_str);
            return Err(UnfitError::Status(status.to_owned()));
        }
    }
    let types = table.attribute_definitions();
    keys(table.key_schema(), types, [PARTITION, SORT], ["S", "S"])
        .map_err(|wrong| UnfitError::Schema(format!("its keys must be {wrong}")))?;
    let mut indexes = table.local_secondary_indexes().iter();
    let by_end = indexes.find(|index| index.index_name() == Some(BY_END));
    let by_end = by_end
        .ok_or_else(|| UnfitError::Schema(format!("it has no local secondary index {BY_END}")))?;
    index(by_end, types)
}

fn index(
    index: &LocalSecondaryIndexDescription,
    types: &[AttributeDefinition],
) -> Result<(), UnfitError> {
    keys(index.key_schema(), types, [PARTITION, ENDS], ["S", "N"])
        .map_err(|wrong| UnfitError::Schema(format!("the keys of {BY_END} must be {wrong}")))?;
    let projected = index.projection().and_then(|it| it.projection_type());
    if projected != Some(&ProjectionType::KeysOnly) {
        tracing::warn!(
            "dynamodb: the index {BY_END} holds more than keys: every write of a session costs twice"
        );
    }
    Ok(())
}

/// Checks a partition and a sort key; otherwise says what they must be.
fn keys(
    schema: &[KeySchemaElement],
    types: &[AttributeDefinition],
    names: [&str; 2],
    wanted: [&str; 2],
) -> Result<(), String> {
    let kinds = [KeyType::Hash, KeyType::Range];
    let right = |((name, wanted), kind): ((&str, &str), KeyType)| {
        let mut schema = schema.iter();
        let is_key = schema.any(|key| key.attribute_name() == name && key.key_type() == &kind);
        let mut types = types.iter();
        let has_type = types.any(|one| {
            let wanted = ScalarAttributeType::from(wanted);
            one.attribute_name() == name && one.attribute_type() == &wanted
        });
        is_key && has_type
    };
    let all = names.into_iter().zip(wanted).zip(kinds).all(right);
    match all && schema.len() == names.len() {
        true => Ok(()),
        false => {
            let ([partition, sort], [first, second]) = (names, wanted);
            Err(format!("{partition} ({first}) and {sort} ({second})"))
        }
    }
}

fn tell(table: &TableDescription) {
    let billing = table
        .billing_mode_summary()
        .and_then(|it| it.billing_mode());
    let billing = billing.map_or("PROVISIONED", |mode| mode.as_str());
    let deletion_protection = table.deletion_protection_enabled().unwrap_or(false);
    let replicas = table.replicas().len();
    tracing::info!(billing, deletion_protection, replicas, "dynamodb");
    if !deletion_protection {
        tracing::warn!("dynamodb: the table is not protected from deletion");
    }
    if replicas > 0 {
        tracing::warn!(
            replicas,
            "dynamodb: this is a global table: gateways that write to it in several regions overwrite \
             each other's turns, unless it is strongly consistent across them; use one region"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, kind: KeyType) -> KeySchemaElement {
        let key = KeySchemaElement::builder().attribute_name(name);
        key.key_type(kind).build().unwrap()
    }

    fn attribute(name: &str, kind: &str) -> AttributeDefinition {
        let attribute = AttributeDefinition::builder().attribute_name(name);
        attribute.attribute_type(kind.into()).build().unwrap()
    }

    fn table(keys: [&str; 2], index: Option<[&str; 2]>, ends: &str) -> TableDescription {
        let mut table = TableDescription::builder()
            .table_status(TableStatus::Active)
            .attribute_definitions(attribute("pk", "S"))
            .attribute_definitions(attribute("sk", "S"))
            .attribute_definitions(attribute("ends_us", ends))
            .key_schema(key(keys[0], KeyType::Hash))
            .key_schema(key(keys[1], KeyType::Range));
        if let Some(keys) = index {
            let index = LocalSecondaryIndexDescription::builder()
                .index_name("by_end")
                .key_schema(key(keys[0], KeyType::Hash))
                .key_schema(key(keys[1], KeyType::Range));
            table = table.local_secondary_indexes(index.build());
        }
        table.build()
    }

    #[test]
    fn a_table_with_other_keys_is_refused_and_why() {
        let (keys, index) = (["pk", "sk"], Some(["pk", "ends_us"]));
        assert!(fit(&table(keys, index, "N")).is_ok());
        let why = |table| fit(&table).unwrap_err().to_string();
        let other = why(table(["id", "sk"], index, "N"));
        assert!(
            other.contains("its keys must be pk (S) and sk (S)"),
            "{other}"
        );
        let swapped = why(table(["sk", "pk"], index, "N"));
        assert!(swapped.contains("its keys must be"), "{swapped}");
        let none = why(table(keys, None, "N"));
        assert!(none.contains("no local secondary index by_end"), "{none}");
        let text = why(table(keys, index, "S"));
        assert!(text.contains("pk (S) and ends_us (N)"), "{text}");
        let other = why(table(keys, Some(["pk", "sk"]), "N"));
        assert!(other.contains("the keys of by_end"), "{other}");
        let deleting = TableDescription::builder().table_status(TableStatus::Deleting);
        assert!(why(deleting.build()).contains("DELETING"));
    }
}
