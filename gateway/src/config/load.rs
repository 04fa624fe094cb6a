//! Where the environment and the files come in: the one module that reads either.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::time::SystemTime;

use gatehouse_envelope::{secret::Secret, small_file};
use gatehouse_redactor::{Engine, Policies, Policy};
use zeroize::Zeroizing;

use super::check::{ADMIN_LISTEN, Check};
use super::fault::Faults;
use super::{Config, Redaction, secret_file};

/// What `gatehouse up` says on its command line, over what the file says.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--data`.
    pub data_dir: Option<PathBuf>,
    /// `--listen`; checked like the file's.
    pub listen: Option<String>,
    /// `--no-model`.
    pub no_model: bool,
}

/// Looks up a variable by its name.
type Variables = dyn Fn(&str) -> Option<String>;

/// The surroundings that a configuration refers to: variables, the directory that relative paths
/// start from, and the time, which certificates are judged by.
pub struct Environment {
    variables: Box<Variables>,
    base: PathBuf,
    now: SystemTime,
}

impl Environment {
    /// This process's variables and working directory.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the environment enters"
    )]
    pub fn of_process() -> Environment {
        Environment::new(|name| std::env::var(name).ok(), PathBuf::new())
    }

    /// Made-up surroundings, for tests and for the demo; only the time is the real one.
    #[expect(
        clippy::disallowed_methods,
        reason = "the edge at which time enters, before there is a clock"
    )]
    pub fn new(
        variables: impl Fn(&str) -> Option<String> + 'static,
        base: impl Into<PathBuf>,
    ) -> Environment {
        Environment {
            variables: Box::new(variables),
            base: base.into(),
            now: SystemTime::now(),
        }
    }

    /// The same at another time.
    #[must_use]
    pub fn at(self, now: SystemTime) -> Environment {
        Environment { now, ..self }
    }

    /// The time at which these surroundings were looked at.
    pub(super) fn now(&self) -> SystemTime {
        self.now
    }

    /// A variable's value, if it is set, is Unicode and is not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name).filter(|value| !value.is_empty())
    }

    /// Where a path of the configuration points.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.base.join(path)
    }

    /// The text of a file that the configuration names.
    ///
    /// # Errors
    /// A message that names the path.
    pub(super) fn file(&self, path: &str) -> Result<String, String> {
        small_file::text(&self.path(path)).map_err(|error| format!("cannot read {path}: {error}"))
    }

    /// The same of a file that holds a secret, which others must not be able to read or write.
    fn secret_file(&self, path: &str) -> Result<Zeroizing<String>, String> {
        let content = secret_file::read(&self.path(path))
            .map_err(|error| format!("cannot read {path}: {error}"))?;
        let text = std::str::from_utf8(&content);
        text.map(|text| Zeroizing::new(text.to_owned()))
            .map_err(|_| format!("cannot read {path}: it is not UTF-8"))
    }

    /// The secret that `env:NAME` or `file:PATH` refers to.
    ///
    /// # Errors
    /// A message for the operator, without the secret, nor what stands where a reference should.
    pub(super) fn secret(&self, reference: &str) -> Result<Secret<String>, String> {
        let value = if let Some(name) = reference.strip_prefix("env:") {
            self.variable(name)
                .ok_or_else(|| format!("the variable {name} is not set"))?
        } else if let Some(path) = reference.strip_prefix("file:") {
            self.secret_file(path)?
                .trim_end_matches(['\r', '\n'])
                .to_owned()
        } else {
            let message = "must be a reference, env:NAME or file:PATH, never the secret itself";
            return Err(message.to_owned());
        };
        if value.is_empty() {
            return Err("refers to an empty secret".to_owned());
        }
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("refers to a secret that cannot stand in an HTTP header".to_owned());
        }
        Ok(Secret::new(value))
    }
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// Every fault of the file and of what it refers to.
    pub fn load(
        file: &Path,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<Config, Faults> {
        Config::parse(&text_of(file)?, overrides, environment)
    }

    /// Reads a configuration from its text.
    ///
    /// # Errors
    /// Every fault of the text and of what it refers to.
    pub fn parse(
        text: &str,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<Config, Faults> {
        Check::new(environment).file(text, overrides)
    }

    /// The embedded defaults, with the providers whose keys stand in the environment under the
    /// names that the providers' own SDKs read; without any, the built-in echo.
    ///
    /// # Errors
    /// Every fault of the variables and the overrides.
    pub fn from_environment(
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<Config, Faults> {
        Check::new(environment).without_file(overrides)
    }

    /// Where a gateway of that configuration, or of none, serves health; the rest of the file is only
    /// looked at for its form.
    ///
    /// # Errors
    /// Every fault of the file's form, and of the address.
    pub fn admin_listen(
        file: Option<&Path>,
        environment: &Environment,
    ) -> Result<SocketAddr, Faults> {
        match file {
            Some(file) => Check::new(environment).admin_listen_of(&text_of(file)?),
            None => Ok(ADMIN_LISTEN),
        }
    }

    /// The embedded defaults and the echo provider on free loopback ports, for tests.
    ///
    /// # Errors
    /// Only if the built-in rules do not compile.
    pub fn for_tests(data_dir: &Path) -> Result<Config, Faults> {
        let overrides = Overrides {
            data_dir: Some(data_dir.to_owned()),
            no_model: true,
            ..Overrides::default()
        };
        let surroundings = Environment::new(|_| None, PathBuf::new());
        let mut config = Config::from_environment(&overrides, &surroundings)?;
        config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
        config.admin_listen = config.listen;
        // Tests share a disk with each other; none of them is about a slow one.
        config.ledger.append_timeout = Duration::from_secs(20);
        Ok(config)
    }
}

impl Redaction {
    /// The policy that a configuration file names, without a look at the rest of the file.
    ///
    /// # Errors
    /// Every fault of the file's form, and of the policy.
    pub fn load(file: &Path, environment: &Environment) -> Result<Redaction, Faults> {
        Check::new(environment).redaction_of(&text_of(file)?)
    }

    /// The built-in policy.
    ///
    /// # Errors
    /// Only if the built-in rules do not compile.
    pub fn built_in() -> Result<Redaction, Faults> {
        let policy = Policy::default();
        match Engine::new(&policy) {
            Ok(engine) => Ok(Redaction {
                policies: Arc::new(Policies::new(policy)),
                engine: Arc::new(engine),
            }),
            Err(error) => Err(Faults::one("redaction", error.to_string())),
        }
    }
}

fn text_of(file: &Path) -> Result<String, Faults> {
    small_file::text(file)
        .map_err(|error| Faults::one("", format!("cannot read {}: {error}", file.display())))
}
