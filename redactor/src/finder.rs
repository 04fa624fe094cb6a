//! Who finds: the rules alone, or whoever adds the model and remembered verdicts to them.

use crate::engine::Engine;
use crate::finding::{Field, Finding, ScanError};

/// A text that is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'t> {
    /// The text, with the session's tokens put back.
    pub text: &'t str,
    /// Where it stands.
    pub field: Field<'t>,
}

/// Finds everything in texts. Answers are in the order of the texts, sorted and disjoint; the
/// same text in the same field gets the same answer, whatever is asked beside it.
pub trait Finder: Sync {
    /// Whether the texts of a body are to be asked about together, as a model needs it. Then
    /// each is read twice.
    fn gathers(&self) -> bool;

    /// What is found in each text.
    ///
    /// # Errors
    /// If any search did not come to its end; nothing may be sent then.
    fn find_all(&self, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError>;

    /// What is found in one text.
    ///
    /// # Errors
    /// As [`Finder::find_all`].
    fn find_one(&self, asked: Asked<'_>) -> Result<Vec<Finding>, ScanError> {
        let found = self.find_all(&[asked])?;
        found.into_iter().next().ok_or(ScanError::Unanswered)
    }
}

impl Finder for Engine {
    fn gathers(&self) -> bool {
        false
    }

    fn find_all(&self, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError> {
        texts.iter().map(|asked| self.find_one(*asked)).collect()
    }

    fn find_one(&self, asked: Asked<'_>) -> Result<Vec<Finding>, ScanError> {
        self.find(asked.text, asked.field)
    }
}
