//! Writes to the table.
//!
//! Every write is of one item and carries a condition: DynamoDB does both at once, or nothing. An item
//! that does not meet its condition is shown as it is, in the same answer. So nothing here needs a
//! transaction over several items, which would cost twice as much.

use std::{collections::HashMap, future::Future};

use aws_sdk_dynamodb::{
    error::{ProvideErrorMetadata, SdkError},
    operation::{
        delete_item::DeleteItemError, put_item::PutItemError, update_item::UpdateItemError,
    },
    types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure},
};

use super::{
    item::{Item, Key},
    link::{DynamoLink, Values, named},
};
use crate::registry::aws::{AwsError, Fault};

/// A write of one item.
pub(crate) struct Change {
    /// What to do with it.
    pub(crate) verb: Verb,
    /// What must hold of the item that is there.
    pub(crate) condition: Option<String>,
    /// What stands for `:name` in the condition and the update. Each must be used.
    pub(crate) values: Values,
    /// The attributes that stand for `#name` there. Each must be used.
    pub(crate) names: Vec<(String, String)>,
    /// Doing it twice is the same as doing it once, or can be told: it may be sent again where nobody
    /// knows whether it was done.
    pub(crate) repeats: bool,
}

/// What a write does.
pub(crate) enum Verb {
    /// Takes the item away, and shows what was there.
    Delete(Key),
    /// Puts a whole item in the place of what is there.
    Put(Item),
    /// Changes attributes, and shows the item afterwards if it is to.
    Update {
        /// The item.
        key: Key,
        /// The change.
        expression: String,
        /// Whether it is shown.
        shown: bool,
    },
}

/// What came of a write.
pub(crate) enum Written {
    /// It was done. With it, what the verb shows.
    Done(Option<Item>),
    /// The item did not meet the condition; nothing was done, at least by this attempt.
    Unmet {
        /// The item as it is.
        there: Option<Item>,
        /// Whether an earlier attempt at the same write may have been done.
        doubtful: bool,
    },
}

impl DynamoLink {
    /// Writes an item if it meets the condition.
    pub(crate) async fn write(&self, change: Change) -> Result<Written, AwsError> {
        let Change {
            verb,
            condition,
            values,
            names,
            repeats,
        } = change;
        let names: HashMap<_, _> = names.into_iter().collect();
        let when = When {
            condition,
            values: named(values),
            names: (!names.is_empty()).then_some(names),
            repeats,
        };
        match verb {
            Verb::Delete(key) => self.delete(key, when).await,
            Verb::Put(item) => self.put(item, when).await,
            Verb::Update {
                key,
                expression,
                shown,
            } => {
                let shown = match shown {
                    true => ReturnValue::AllNew,
                    false => ReturnValue::None,
                };
                self.update(key, expression, shown, when).await
            }
        }
    }

    async fn update(
        &self,
        key: Key,
        expression: String,
        shown: ReturnValue,
        when: When,
    ) -> Result<Written, AwsError> {
        let call = self.client.update_item().table_name(&self.table);
        let call = call
            .set_key(Some(key.into_item()))
            .update_expression(expression)
            .set_condition_expression(when.condition)
            .set_expression_attribute_values(when.values)
            .set_expression_attribute_names(when.names)
            .return_values(shown)
            .return_values_on_condition_check_failure(SHOWN);
        let once = || async {
            match call.clone().send().await {
                Ok(answer) => Ok(Attempt::Done(answer.attributes)),
                Err(error) => unmet(error),
            }
        };
        self.written(when.repeats, once).await
    }

    async fn put(&self, item: Item, when: When) -> Result<Written, AwsError> {
        let call = self.client.put_item().table_name(&self.table);
        let call = call
            .set_item(Some(item))
            .set_condition_expression(when.condition)
            .set_expression_attribute_values(when.values)
            .set_expression_attribute_names(when.names)
            .return_values_on_condition_check_failure(SHOWN);
        let once = || async {
            match call.clone().send().await {
                Ok(_) => Ok(Attempt::Done(None)),
                Err(error) => unmet(error),
            }
        };
        self.written(when.repeats, once).await
    }

    async fn delete(&self, key: Key, when: When) -> Result<Written, AwsError> {
        let call = self.client.delete_item().table_name(&self.table);
        let call = call
            .set_key(Some(key.into_item()))
            .set_condition_expression(when.condition)
            .set_expression_attribute_values(when.values)
            .set_expression_attribute_names(when.names)
            .return_values(ReturnValue::AllOld)
            .return_values_on_condition_check_failure(SHOWN);
        let once = || async {
            match call.clone().send().await {
                Ok(answer) => Ok(Attempt::Done(answer.attributes)),
                Err(error) => unmet(error),
            }
        };
        self.written(when.repeats, once).await
    }

    async fn written<F>(&self, repeats: bool, once: impl Fn() -> F) -> Result<Written, AwsError>
    where
        F: Future<Output = Result<Attempt, Fault>>,
    {
        let sent = self.sender.send(repeats, once).await?;
        Ok(match sent.answer {
            Attempt::Done(shown) => Written::Done(shown),
            Attempt::Unmet(there) => Written::Unmet {
                there,
                doubtful: sent.doubtful,
            },
        })
    }
}

/// An item that does not meet its condition is shown. It costs nothing more.
const SHOWN: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;

/// When a write is done, and whether it is sent again.
struct When {
    condition: Option<String>,
    values: Option<HashMap<String, AttributeValue>>,
    names: Option<HashMap<String, String>>,
    repeats: bool,
}

enum Attempt {
    Done(Option<Item>),
    Unmet(Option<Item>),
}

/// A failed call, but for one whose condition was not met.
fn unmet<E: Conditional>(error: SdkError<E>) -> Result<Attempt, Fault> {
    let shown = error.as_service_error().and_then(Conditional::unmet);
    match shown {
        Some(there) => Ok(Attempt::Unmet(there)),
        None => Err(Fault::of(&error)),
    }
}

/// The errors of calls that carry a condition.
trait Conditional: ProvideErrorMetadata + std::error::Error + 'static {
    /// The item that did not meet it.
    fn unmet(&self) -> Option<Option<Item>>;
}

macro_rules! conditional {
    ($($error:ident),*) => {$(
        impl Conditional for $error {
            fn unmet(&self) -> Option<Option<Item>> {
                match self {
                    Self::ConditionalCheckFailedException(refused) => Some(refused.item.clone()),
                    _ => None,
                }
            }
        }
    )*};
}

conditional!(DeleteItemError, PutItemError, UpdateItemError);
