//! `gatehouse check FILE`: every fault of a configuration, with its path.

use std::path::PathBuf;

use gatehouse_envelope::digest::hex;
use serde_json::json;

use super::{Failure, Output};
use crate::config::{Config, Environment, Faults, Overrides};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The configuration to check, with everything that it refers to.
    file: PathBuf,
    /// Write one JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let environment = Environment::of_process();
    match Config::load(&arguments.file, &Overrides::default(), &environment) {
        Ok(config) => {
            let providers: Vec<&str> = config
                .providers
                .iter()
                .map(|provider| provider.name.as_str())
                .collect();
            let model = config.model.is_some();
            // By it whoever has the file can tell that it is what records name.
            let policy = format!("sha256:{}", hex(&config.redaction.digest()));
            if arguments.json {
                let good = json!({ "ok": true, "faults": [], "providers": providers, "model": model, "policy": policy });
                output.line(&good.to_string())?;
            } else {
                let file = arguments.file.display();
                let model = if model {
                    "takes part"
                } else {
                    "does not take part"
                };
                output.line(&format!(
                    "{file}: good; providers: {}; the local model {model}; redaction policy {policy}",
                    providers.join(", ")
                ))?;
            }
            Ok(())
        }
        Err(faults) => {
            report(&faults, arguments.json, output)?;
            let number = faults.len();
            let file = arguments.file.display();
            Err(Failure::Usage(format!(
                "{file}: {number} fault{}",
                plural(number)
            )))
        }
    }
}

fn report(faults: &Faults, as_json: bool, output: &mut Output) -> Result<(), Failure> {
    if as_json {
        let list: Vec<_> = faults
            .iter()
            .map(|fault| json!({ "path": fault.path, "message": fault.message }))
            .collect();
        output.line(&json!({ "ok": false, "faults": list }).to_string())?;
    } else {
        for fault in faults.iter() {
            output.line(&fault.to_string())?;
        }
    }
    Ok(())
}

fn plural(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}
