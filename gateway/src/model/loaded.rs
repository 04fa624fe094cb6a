//! The model in memory, with its threads.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_envelope::digest::sha256;
use gatehouse_redactor::model::{Batch, Files, Item, Lane, Model, ModelError, Scores};
use gatehouse_redactor::{Finding, ScanError};

use super::InstallError;
use super::files;
use super::pool::{Bounds, Pool, Trouble, Work};

/// What the model must find before anything is trusted to it: a sentence, and two names in it.
const CANARY: (&str, [&str; 2]) = (
    "My name is Michael Johnson and I work with Maria Garcia in the Boston office.",
    ["Michael Johnson", "Maria Garcia"],
);

/// How the model is run.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Threads; 0 for one a core.
    pub workers: usize,
    /// How long a request waits for the model.
    pub deadline: Duration,
    /// Pieces of new text that one request may bring: about three bytes each.
    pub most: usize,
}

impl Load {
    /// For commands on files: nobody else waits, and nothing is too long.
    pub fn for_files() -> Self {
        Self {
            workers: 0,
            deadline: Duration::from_secs(24 * 3600),
            most: usize::MAX,
        }
    }
}

/// A model that was checked and found what it must.
pub struct Loaded {
    model: Arc<Model>,
    pool: Pool<Batch, Scores>,
}

impl Work for Batch {
    fn pieces(&self) -> usize {
        Batch::pieces(self)
    }
}

impl Loaded {
    /// Reads the files from the data directory, checks them, loads them, starts the threads and
    /// tries the model on its test sentence.
    ///
    /// # Errors
    /// If any of that fails; there is no half of a model.
    pub fn open(data: &Path, load: Load) -> Result<Self, InstallError> {
        files::check(data)?;
        let files = Files {
            network: files::bytes(data, "model_q4.onnx")?,
            tokenizer: files::bytes(data, "tokenizer.json")?,
            config: files::bytes(data, "config.json")?,
        };
        let model = Model::load(files, |bytes| sha256(&[bytes]));
        let model = Arc::new(model.map_err(|error| InstallError::Unusable(error.to_string()))?);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let bounds = Bounds {
            workers: if load.workers == 0 {
                cores
            } else {
                load.workers
            },
            most: load.most,
            waiting: load.most.saturating_mul(2),
            deadline: load.deadline,
        };
        let pool = Pool::start(bounds, || {
            let (model, lane) = (Arc::clone(&model), Lane::new());
            move |batch: &Batch| model.run(batch, &lane).ok()
        });
        let pool = pool.map_err(|error| InstallError::Unusable(error.to_string()))?;
        let loaded = Self { model, pool };
        loaded.canary()?;
        Ok(loaded)
    }

    fn canary(&self) -> Result<(), InstallError> {
        let (text, names) = CANARY;
        let found = self.find(&[Item { text, key: None }], false);
        let found = found.map_err(|_| InstallError::Canary)?;
        let texts: Vec<&str> = found
            .iter()
            .flatten()
            .filter_map(|finding| text.get(finding.start..finding.end))
            .collect();
        if texts == names {
            Ok(())
        } else {
            Err(InstallError::Canary)
        }
    }

    /// The SHA-256 of the network.
    pub fn digest(&self) -> [u8; 32] {
        self.model.digest()
    }

    /// The names and addresses in each text. Blocks the thread until the pool has answered.
    ///
    /// # Errors
    /// If not all texts were searched to their end.
    pub fn find(&self, items: &[Item<'_>], places: bool) -> Result<Vec<Vec<Finding>>, ScanError> {
        let plan = self.model.plan(items);
        let scores = self
            .pool
            .run(plan.batches())
            .map_err(|trouble| match trouble {
                Trouble::Failed => ScanError::Model,
                Trouble::Late | Trouble::Overloaded => ScanError::Overloaded,
                Trouble::TooLong => ScanError::TooLongForModel,
            })?;
        plan.read(&scores, places)
            .map_err(|_: ModelError| ScanError::Model)
    }
}
