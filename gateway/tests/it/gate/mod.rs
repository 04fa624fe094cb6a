//! A gateway in this process, a scripted provider behind it, and a caller that sees raw bytes.

pub(crate) mod caller;
pub(crate) mod provider;

use std::net::SocketAddr;
use std::path::PathBuf;

use gatehouse::config::{Config, Environment, Overrides};
use gatehouse::serve::{Running, up};

pub(crate) use caller::{Answer, Caller};
pub(crate) use provider::{FakeProvider, Script};

/// A running gateway in front of a fake provider.
pub(crate) struct Gate {
    pub(crate) running: Running,
    pub(crate) provider: FakeProvider,
    pub(crate) token: String,
    pub(crate) data: tempfile::TempDir,
}

impl Gate {
    /// With the default policy and limits.
    pub(crate) async fn up() -> Gate {
        Gate::with("", |_| {}).await
    }

    /// With lines of a redaction policy, and changes to the configuration.
    pub(crate) async fn with(policy: &str, change: impl FnOnce(&mut Config)) -> Gate {
        let provider = FakeProvider::start().await;
        let data = tempfile::tempdir().unwrap();
        let config = configuration(&data, provider.address, policy, change);
        let mut running = up(config).await.unwrap();
        let token = running.take_first_key().unwrap().expose().clone();
        Gate {
            running,
            provider,
            token,
            data,
        }
    }

    /// Stopped in order, and started anew over the same data, with the default policy.
    pub(crate) async fn again(self, change: impl FnOnce(&mut Config)) -> Gate {
        self.running.stop().await;
        let config = configuration(&self.data, self.provider.address, "", change);
        Gate {
            running: up(config).await.unwrap(),
            ..self
        }
    }

    /// A caller with the first key.
    pub(crate) fn caller(&self) -> Caller {
        Caller {
            address: self.running.address(),
            token: self.token.clone(),
        }
    }

    /// Stops the gateway and gives back every record that it wrote.
    pub(crate) async fn records(self) -> Vec<serde_json::Value> {
        let Gate {
            running,
            data,
            provider: _provider,
            ..
        } = self;
        running.stop().await;
        records(data.path())
    }
}

/// Every record in a data directory's ledger, in the order of its files and lines.
pub(crate) fn records(data: &std::path::Path) -> Vec<serde_json::Value> {
    let mut files = Vec::new();
    collect(&data.join("ledger"), &mut files);
    files.sort();
    let mut records = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.to_string_lossy().ends_with(".jsonl.zst"))
    {
        let packed = std::fs::read(file).unwrap();
        let text = zstd::decode_all(packed.as_slice()).unwrap();
        for line in String::from_utf8(text).unwrap().lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            records.extend(value.get("e").cloned());
        }
    }
    records
}

/// Every file below a directory.
pub(crate) fn collect(directory: &std::path::Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files)
        } else {
            files.push(path)
        }
    }
}

fn configuration(
    data: &tempfile::TempDir,
    provider: SocketAddr,
    policy: &str,
    change: impl FnOnce(&mut Config),
) -> Config {
    std::fs::write(data.path().join("redaction.toml"), policy).unwrap();
    let redaction = if policy.is_empty() {
        String::new()
    } else {
        format!("redaction = {:?}\n", data.path().join("redaction.toml"))
    };
    let text = format!(
        r#"
        config_version = 1
        {redaction}
        listen = "127.0.0.1:0"
        admin_listen = "127.0.0.1:0"
        data_dir = {:?}

        # Tests share a disk with each other; those about a slow one say so.
        [ledger]
        append_timeout = "20s"

        [[provider]]
        name = "openai"
        protocol = "openai"
        base_url = "http://{provider}/v1"
        api_key = "env:KEY"

        [[provider]]
        name = "anthropic"
        protocol = "anthropic"
        base_url = "http://{provider}"
        api_key = "env:KEY"
        "#,
        data.path()
    );
    let environment = Environment::new(
        |name| (name == "KEY").then(|| "sk-provider-key".to_owned()),
        PathBuf::new(),
    );
    let overrides = Overrides {
        no_model: true,
        ..Overrides::default()
    };
    let mut config = match Config::parse(&text, &overrides, &environment) {
        Ok(config) => config,
        Err(faults) => panic!("{faults}"),
    };
    change(&mut config);
    config
}

/// The kinds of the records of exchanges, in order.
pub(crate) fn exchanges(records: &[serde_json::Value]) -> Vec<&str> {
    let kinds = records.iter().filter_map(|record| record["kind"].as_str());
    kinds.filter(|kind| kind.starts_with("exchange.")).collect()
}

/// The one record of a kind.
pub(crate) fn only<'r>(records: &'r [serde_json::Value], kind: &str) -> &'r serde_json::Value {
    let mut found = records.iter().filter(|record| record["kind"] == kind);
    let one = found.next().unwrap_or_else(|| panic!("no {kind}"));
    assert!(found.next().is_none(), "more than one {kind}");
    one
}
