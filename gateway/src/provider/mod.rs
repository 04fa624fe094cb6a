//! The providers behind the gateway: which one a model goes to, and the client that reaches it.

pub mod echo;
mod headers;
mod models;
mod upstream;

use std::sync::Arc;

pub use models::list as list_models;
pub use upstream::{Answer, Outgoing, ReadError, Unanswered, Upstream};

use crate::config::{Config, Protocol, Provider};
use crate::reject::{Code, Rejection, Shape};

/// The provider for a model, for a caller that speaks `shape`.
///
/// # Errors
/// [`Code::ModelUnknown`] if no provider of the protocol is configured.
pub fn route<'c>(
    config: &'c Config,
    shape: Shape,
    model: &str,
) -> Result<&'c Arc<Provider>, Rejection> {
    config
        .provider(speaks(shape), model)
        .ok_or_else(|| Code::ModelUnknown.into())
}

fn speaks(shape: Shape) -> Protocol {
    match shape {
        Shape::Anthropic => Protocol::Anthropic,
        Shape::OpenAi => Protocol::OpenAi,
    }
}
