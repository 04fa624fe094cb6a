//! How AWS is reached: one HTTP client, over rustls and ring, for every service.
//!
//! It stands here because KMS does, and because the crates that keep sessions in DynamoDB and the
//! log in S3 use this one already.

pub(crate) mod kms;

use std::time::Duration;

pub use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;

/// Where a service is, and how long it may take.
#[derive(Clone, Debug)]
pub struct Access {
    /// The region; `None` takes what the environment or the instance says.
    pub region: Option<String>,
    /// Another endpoint than the region's own, such as a VPC endpoint.
    pub endpoint: Option<String>,
    /// Until a connection stands.
    pub connect_timeout: Duration,
    /// One operation, with all that is sent again for it.
    pub timeout: Duration,
    /// How often one operation is sent, at most; at least once.
    pub attempts: u32,
}

/// What the SDK's clients are made from. Credentials come from the default chain (environment,
/// profile, web identity, ECS, EC2), are fetched when first needed, and renewed.
pub async fn config(access: &Access) -> SdkConfig {
    let http = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(access.connect_timeout)
        .operation_timeout(access.timeout)
        .build();
    let retry = RetryConfig::standard().with_max_attempts(access.attempts.max(1));
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .timeout_config(timeouts)
        .retry_config(retry);
    if let Some(region) = &access.region {
        loader = loader.region(Region::new(region.clone()));
    }
    if let Some(endpoint) = &access.endpoint {
        loader = loader.endpoint_url(endpoint);
    }
    loader.load().await
}
