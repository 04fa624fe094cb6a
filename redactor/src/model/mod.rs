//! The local model for names and addresses: Rampart, a small BERT that labels word pieces.
//!
//! It is handed in as bytes and checked against pinned digests before it is used; nothing is read
//! or fetched here. Texts become windows of at most [`WINDOW`] pieces, windows become batches, and
//! a batch is the unit of work that whoever owns the threads schedules. What the batches say is
//! read word by word and joined with what the rules found (`join.rs`).
//!
//! Rampart, © 2026 National Design Studio, CC BY 4.0, unmodified.

mod address;
mod lists;
mod network;
mod reader;
mod segment;
mod shape;
#[cfg(test)]
mod tests;
mod windows;
mod wordpiece;

use std::sync::Arc;

use crate::finding::Finding;
use crate::json::{Document, Limits};
use crate::normalise::View;

pub use self::network::{Lane, Scores};
use self::network::{Network, Numbers};
pub use self::windows::Batch;
use self::windows::Window;
use self::wordpiece::Vocabulary;

/// The SHA-256 of the files that this version runs, and of no others.
pub const PINNED: [(&str, &str); 3] = [
    (
        "model_q4.onnx",
        "9f27d24949b0581701071ea5ef522d77ccd3f50c525cc91eac4d265b0fc2afe5",
    ),
    (
        "tokenizer.json",
        "ec87d41d85cbf02128ec0e5f577b805a326b06bb2947ef2752e67a98a42819f9",
    ),
    (
        "config.json",
        "4f580895a8d5b40c0c61fef61bbbfe129a6d755e5212991b429e5fd141284edd",
    ),
];

/// The most pieces of text in one window; measured: recall falls with longer ones.
pub const WINDOW: usize = 126;

/// The rule under which the model's findings stand in records.
pub(crate) const RULE: &str = "model";

/// The files of the model, as read.
pub struct Files {
    /// `model_q4.onnx`.
    pub network: Vec<u8>,
    /// `tokenizer.json`.
    pub tokenizer: Vec<u8>,
    /// `config.json`.
    pub config: Vec<u8>,
}

/// Why there is no model, or no answer of it. Nothing may be sent where it was needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// A file is not the pinned one.
    #[error("{0} is not the file that this version is pinned to")]
    Digest(&'static str),
    /// A file has the right digest and cannot be understood all the same.
    #[error("{0} cannot be read")]
    Unreadable(&'static str),
    /// The forward pass failed or panicked.
    #[error("the model did not come to its end")]
    Failed,
}

/// A text to be searched for names and addresses.
#[derive(Clone, Copy)]
pub struct Item<'t> {
    /// The text.
    pub text: &'t str,
    /// The key that it stands under: context for the model.
    pub key: Option<&'t str>,
}

/// Network and vocabulary, shared by all threads.
pub struct Model {
    network: Network,
    vocabulary: Vocabulary,
    digest: [u8; 32],
}

impl Model {
    /// Checks the bytes against the pinned digests and loads the very same bytes. The digest
    /// function is the caller's: this crate has no cryptography.
    ///
    /// # Errors
    /// If a file is another, or cannot be read.
    pub fn load(files: Files, sha256: impl Fn(&[u8]) -> [u8; 32]) -> Result<Model, ModelError> {
        let bytes = [&files.network, &files.tokenizer, &files.config];
        for ((name, pinned), bytes) in PINNED.into_iter().zip(bytes) {
            if hex(&sha256(bytes)) != pinned {
                return Err(ModelError::Digest(name));
            }
        }
        let digest = sha256(&files.network);
        let columns = columns(&files.config).ok_or(ModelError::Unreadable("config.json"))?;
        let vocabulary = Vocabulary::read(&files.tokenizer);
        let vocabulary = vocabulary.ok_or(ModelError::Unreadable("tokenizer.json"))?;
        let network = Network::load(files.network, columns);
        let network = network.ok_or(ModelError::Unreadable("model_q4.onnx"))?;
        Ok(Model {
            network,
            vocabulary,
            digest,
        })
    }

    /// The SHA-256 of the network: what records and cached verdicts name it by.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Cuts texts into windows. Takes time in the length of the texts, not of the network.
    #[must_use]
    pub fn plan<'t>(&self, items: &[Item<'t>]) -> Plan<'t> {
        Plan::new(&self.vocabulary, items)
    }

    /// Runs one batch, on one thread.
    ///
    /// # Errors
    /// If the network fails or panics.
    pub fn run(&self, batch: &Batch, lane: &Lane) -> Result<Scores, ModelError> {
        self.network.run(batch, lane).ok_or(ModelError::Failed)
    }

    /// Runs all batches of some texts, one after the other.
    ///
    /// # Errors
    /// As [`Model::run`].
    pub fn find(
        &self,
        items: &[Item<'_>],
        places: bool,
        lane: &Lane,
    ) -> Result<Vec<Vec<Finding>>, ModelError> {
        let plan = self.plan(items);
        let batches = plan.batches();
        let scores: Result<Vec<Scores>, ModelError> =
            batches.iter().map(|batch| self.run(batch, lane)).collect();
        plan.read(&scores?, places)
    }
}

/// Texts cut into windows, and the way back from scores to findings.
pub struct Plan<'t> {
    views: Vec<(View<'t>, &'t str)>,
    windows: Vec<Window>,
}

impl<'t> Plan<'t> {
    fn new(vocabulary: &Vocabulary, items: &[Item<'t>]) -> Self {
        let mut windows = Vec::new();
        let mut views = Vec::with_capacity(items.len());
        for (number, item) in items.iter().enumerate() {
            let view = View::of(item.text);
            for segment in segment::segments(&view.text, item.key) {
                windows::cut(vocabulary, &view.text, &segment, number, &mut windows);
            }
            views.push((view, item.text));
        }
        Self { views, windows }
    }

    /// How many pieces the network will be asked about.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.windows.iter().map(|window| window.ids.len()).sum()
    }

    /// The work, in batches of about the same size.
    #[must_use]
    pub fn batches(&self) -> Vec<Arc<Batch>> {
        windows::batches(&self.windows)
    }

    /// The findings in each text, sorted and disjoint. `places` says whether towns and states
    /// that are no part of an address are wanted.
    ///
    /// # Errors
    /// If a window has no scores: then it was not searched.
    pub fn read(&self, scores: &[Scores], places: bool) -> Result<Vec<Vec<Finding>>, ModelError> {
        let mut of_window: Vec<Option<&Numbers>> = vec![None; self.windows.len()];
        for (window, numbers) in scores.iter().flat_map(Scores::rows) {
            if let Some(slot) = of_window.get_mut(*window) {
                *slot = Some(numbers);
            }
        }
        let mut found = vec![Vec::new(); self.views.len()];
        let mut rest = self.windows.as_slice();
        let mut at = 0;
        while let Some(first) = rest.first() {
            let same =
                |window: &&Window| window.segment == first.segment && window.item == first.item;
            let count = rest.iter().take_while(same).count().max(1);
            let (own, after) = rest.split_at_checked(count).ok_or(ModelError::Failed)?;
            let numbers: Option<Vec<&Numbers>> =
                of_window.iter().skip(at).take(count).copied().collect();
            let numbers = numbers.ok_or(ModelError::Failed)?;
            let words = windows::words(own, &numbers).ok_or(ModelError::Failed)?;
            if let (Some((view, source)), Some(found)) =
                (self.views.get(first.item), found.get_mut(first.item))
            {
                let hits = reader::read(&view.text, &words, first.setting(), places);
                found.extend(hits.into_iter().filter_map(|hit| mapped(view, source, hit)));
            }
            at += count;
            rest = after;
        }
        for findings in &mut found {
            findings.sort_by_key(|finding| finding.start);
        }
        Ok(found)
    }
}

/// A finding in offsets of the text as given.
fn mapped(view: &View<'_>, source: &str, finding: Finding) -> Option<Finding> {
    let (start, end) = (view.start(finding.start), view.end(finding.end));
    source.get(start..end)?;
    (start < end).then_some(Finding {
        start,
        end,
        ..finding
    })
}

/// Which label stands in which column of the network's output.
fn columns(config: &[u8]) -> Option<Vec<Option<network::Class>>> {
    let document = Document::parse(config, &Limits::default()).ok()?;
    let names = document.root().get("id2label")?;
    let mut columns = vec![None; names.children().count()];
    for member in names.children() {
        let column: usize = member.key()?.parse().ok()?;
        let name = member.text()?;
        *columns.get_mut(column)? = network::Class::named(&name);
    }
    Some(columns)
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}
