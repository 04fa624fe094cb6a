//! The request's side: the walk over the body, the permitted edits, and the receipt of it all.

use bytes::Bytes;
use gatehouse_envelope::digest::MacKey;
use gatehouse_redactor::body::{Means, Receipt, Refusal, redact_body};
use gatehouse_redactor::json::{Document, Node, Splice};
use gatehouse_redactor::{Engine, Finder, Label, Policy, Pseudonyms, Vault};

use super::finished;
use crate::protocol::{Facts, Protocol};
use crate::session::Turn;

/// Everything that screening one request needs.
pub struct Screening<'s> {
    /// Which leaf is what.
    pub protocol: &'s dyn Protocol,
    /// The rules.
    pub engine: &'s Engine,
    /// Who searches texts for the caller's tenant.
    pub finder: &'s dyn Finder,
    /// What to do with findings.
    pub policy: &'s Policy,
    /// What the gateway knows of the request.
    pub facts: &'s Facts,
    /// The session: its vault, its key for pseudonyms, its signed blocks.
    pub turn: &'s Turn,
    /// Parameters that policy pins, and their values as JSON.
    pub pinned: &'s [(&'static str, String)],
    /// The member that names the session; it is taken out.
    pub removed: Option<Node<'s>>,
}

/// What may be sent, and what was done for it.
pub struct Outcome {
    /// The exact bytes for the provider.
    pub body: Bytes,
    /// What was looked at. It describes the bytes that are sent.
    pub receipt: Receipt,
    /// The session's vault, new values included.
    pub vault: Vault,
}

/// Why nothing may be sent.
pub enum Refused {
    /// Something in the request may not leave and cannot be edited, or the search did not end.
    Found(Refusal),
    /// The search left leaves out, or panicked, which must not happen.
    Incomplete,
    /// The session's vault cannot be read.
    Vault,
}

/// The names of one session's values: keyed, so that no two sessions share any.
pub struct Names<'k>(&'k MacKey);

impl<'k> Names<'k> {
    /// The names in the session of this turn.
    pub fn of(turn: &'k Turn) -> Self {
        Self(turn.keys().pseudonyms())
    }
}

impl Pseudonyms for Names<'_> {
    fn digest(&self, label: Label, text: &str) -> [u8; 32] {
        self.0.mac(
            "gatehouse pseudonym",
            &[label.as_str().as_bytes(), text.as_bytes()],
        )
    }
}

impl Screening<'_> {
    /// Searches `document` and makes the permitted edits.
    ///
    /// # Errors
    /// [`Refused`]; nothing may be sent then.
    pub fn run(&self, document: &Document<'_>) -> Result<Outcome, Refused> {
        finished(|| self.search(document)).unwrap_or(Err(Refused::Incomplete))
    }

    fn search(&self, document: &Document<'_>) -> Result<Outcome, Refused> {
        let mut vault = open_vault(self.turn)?;
        let mut splice = Splice::new(document);
        if let Some(member) = self.removed {
            splice.remove_member(member);
        }
        let mut added = self.protocol.adjust(document, self.facts, &mut splice);
        for (key, value) in self.pinned {
            added += pin(document.root(), key, value, &mut splice);
        }
        let names = Names::of(self.turn);
        let mut receipt = redact_body(
            document,
            self.protocol,
            Means {
                engine: self.engine,
                finder: self.finder,
                policy: self.policy,
                names: &names,
            },
            &mut vault,
            &|text| self.turn.signed(text),
            &mut splice,
        )
        .map_err(Refused::Found)?;
        if receipt.unvisited != 0 {
            return Err(Refused::Incomplete);
        }
        // The receipt describes what is sent, and what we put in ourselves is sent too.
        receipt.skipped += added;
        if added > 0 {
            *receipt.skipped_why.entry("gateway").or_default() += added;
        }
        Ok(Outcome {
            body: splice.finish().into(),
            receipt,
            vault,
        })
    }
}

/// Gives the request a parameter in place of the caller's. Says how many leaves that adds.
fn pin(root: Node<'_>, key: &str, value: &str, splice: &mut Splice<'_>) -> u32 {
    match root.get(key) {
        // As it is already: not a byte changes.
        Some(there) if there.raw() == value.as_bytes() => return 0,
        Some(there) => splice.remove_member(there),
        None => {}
    }
    splice.insert_member(root, key, value);
    1
}

fn open_vault(turn: &Turn) -> Result<Vault, Refused> {
    let bytes = &turn.state().vault;
    if bytes.is_empty() {
        Ok(Vault::new())
    } else {
        Vault::from_bytes(bytes).map_err(|_| Refused::Vault)
    }
}
