//! What operators see: request ids, metrics and logs. None of them can hold payload text: metrics
//! and log fields are made of codes, labels, counts and durations only.

mod ids;
mod log;
mod metrics;
mod tls;

pub use ids::{RequestId, Trace};
pub use log::{LogMetrics, log_line};
pub use metrics::{Counted, Metrics, Outcome};
pub use tls::{Handshake, TlsMetrics};
