//! `gatehouse up`: runs the gateway until it is told to stop.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::signal::unix::{SignalKind, signal};

use super::{Failure, Output, configuration, runtime};
use crate::config::{Config, Log, Overrides};
use crate::serve;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The configuration. Without it: embedded defaults and the providers whose keys stand in the
    /// environment (OPENAI_API_KEY, ANTHROPIC_API_KEY), else the built-in echo provider.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where sessions, keys and the ledger live, instead of what the configuration says.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The address to listen on, instead of what the configuration says.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Run without the local model. This version has none, so it changes nothing.
    #[arg(long)]
    no_model: bool,
}

pub(super) fn run(arguments: Arguments, output: &mut Output) -> Result<(), Failure> {
    let overrides = Overrides {
        data_dir: arguments.data,
        listen: arguments.listen,
    };
    let config = configuration(arguments.config.as_deref(), &overrides)?;
    log(config.log);
    runtime()?.block_on(serve(config, output))
}

async fn serve(config: Config, output: &mut Output) -> Result<(), Failure> {
    // Asked for first, so that a signal during the start is not lost.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let providers: Vec<String> = config
        .providers
        .iter()
        .map(|provider| provider.name.clone())
        .collect();
    let started = serve::up(config).await;
    let mut running = started.map_err(|error| Failure::of("the gateway did not start", error))?;
    let address = running.address();
    let version = env!("CARGO_PKG_VERSION");
    let providers = providers.join(", ");
    output.line(&format!(
        "Gatehouse {version} listens on http://{address}; providers: {providers}"
    ))?;
    if let Some(key) = running.take_first_key() {
        output.line(&welcome(address, key.expose()))?;
    }
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    running.stop().await;
    Ok(())
}

/// What a newcomer needs next. The key is shown here and never again.
fn welcome(address: SocketAddr, key: &str) -> String {
    format!(
        r#"
The first caller key, shown this once:

  {key}

Try it:

  curl http://{address}/v1/chat/completions -H "authorization: Bearer {key}" -H "content-type: application/json" \
    -d '{{"model": "echo-1", "messages": [{{"role": "user", "content": "My mail is jane.doe@example.com"}}]}}'

Point the SDKs at it:

  client = OpenAI(base_url="http://{address}/v1", api_key="{key}")
  client = Anthropic(base_url="http://{address}", api_key="{key}")
"#
    )
}

/// The operator's log goes to standard error, so that the key on standard output stands alone.
fn log(log: Log) {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(log.level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    // A second subscriber in one process can only be a test's; the first one stays.
    let _ = if log.json {
        subscriber.json().try_init()
    } else {
        subscriber.try_init()
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_welcome_is_ready_to_be_pasted() {
        let text = welcome(SocketAddr::from(([127, 0, 0, 1], 8080)), "gk_key");
        assert!(text.contains(r#"OpenAI(base_url="http://127.0.0.1:8080/v1", api_key="gk_key")"#));
        assert!(text.contains(r#"Anthropic(base_url="http://127.0.0.1:8080", api_key="gk_key")"#));
        let json = text.split('\'').nth(1).expect("the body in quotes");
        serde_json::from_str::<serde_json::Value>(json).expect("JSON");
    }
}
