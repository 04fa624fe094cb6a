//! Events outside sessions: who was turned away, what came into force, what an operator did.

use gatehouse_ledger::event::{Event, MAX_TEXT};

use super::parts::{BuildError, Draft, Source};

/// `auth.deny`: requests turned away before anyone was authenticated. One record stands for all of
/// one reason and source within a window, since anyone on the network can cause them.
pub struct AuthDeny<'a> {
    /// Why, from a closed list.
    pub reason: &'static str,
    /// Where from; without an address for sources too many to tell apart.
    pub source: Source<'a>,
    /// How many.
    pub count: u64,
    /// The length of the window in microseconds.
    pub window_us: u64,
}

impl AuthDeny<'_> {
    /// The event.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new("auth.deny");
        draft.word("reason", self.reason);
        draft.source(self.source);
        draft
            .put()
            .integer("n", self.count)
            .integer("window_us", self.window_us);
        draft.finish()
    }
}

/// `policy.load`: a policy came into force.
pub struct PolicyLoad<'a> {
    /// Which: `redaction`, `limits`, …
    pub name: &'a str,
    /// Digest of its canonical form.
    pub policy: [u8; 32],
    /// Digest of the rules it was compiled with.
    pub rules: Option<[u8; 32]>,
}

impl PolicyLoad<'_> {
    /// The event.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new("policy.load");
        draft.word("name", self.name);
        draft.put().sha256("policy", &self.policy);
        if let Some(rules) = &self.rules {
            draft.put().sha256("rules", rules);
        }
        draft.finish()
    }
}

/// `policy.text`: a part of what a policy says, without what may name somebody. What it says stands in the
/// log, since its digest alone tells nobody what was in force.
pub struct PolicyText<'a> {
    /// Digest of the policy's canonical form, as in `policy.load`.
    pub policy: [u8; 32],
    /// Which part it is, counted from 1.
    pub part: u64,
    /// How many there are.
    pub parts: u64,
    /// TOML; the parts one behind the other are the text.
    pub text: &'a str,
}

/// The most bytes of a policy in one record: no text in a record is longer.
const PART: usize = MAX_TEXT;

impl<'a> PolicyText<'a> {
    /// The records of a whole text, in order.
    pub fn parts(policy: [u8; 32], text: &'a str) -> Vec<Self> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(PART));
            pieces.push(piece);
            rest = behind;
        }
        let parts = pieces.len() as u64;
        let numbered = pieces.into_iter().zip(1..);
        let part = |(text, part)| Self {
            policy,
            part,
            parts,
            text,
        };
        numbered.map(part).collect()
    }

    /// The event.
    ///
    /// # Errors
    /// It is longer than a text in a record may be.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new("policy.text");
        draft
            .put()
            .sha256("policy", &self.policy)
            .integer("part", self.part)
            .integer("parts", self.parts)
            .text("text", self.text);
        draft.finish()
    }
}

/// `config.snapshot`: what runs, and with which configuration.
pub struct ConfigSnapshot<'a> {
    /// The program's version.
    pub version: &'a str,
    /// Digest of the running program.
    pub build: [u8; 32],
    /// Digest of the configuration without its secrets.
    pub config: [u8; 32],
    /// The names of the configured providers.
    pub providers: &'a [&'a str],
    /// How many witnesses are configured.
    pub witnesses: usize,
    /// How many time stamp authorities are configured.
    pub authorities: usize,
}

impl ConfigSnapshot<'_> {
    /// The event.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new("config.snapshot");
        draft.word("version", self.version);
        draft
            .put()
            .sha256("build", &self.build)
            .sha256("cfg", &self.config);
        for provider in self.providers {
            draft.check("providers", Some(*provider));
        }
        draft
            .put()
            .texts("providers", self.providers.iter().copied())
            .integer("witnesses", self.witnesses as u64)
            .integer("authorities", self.authorities as u64);
        draft.finish()
    }
}

/// `admin.change`: an operator changed something.
pub struct AdminChange<'a> {
    /// What was done.
    pub action: AdminAction,
    /// To what: the id of a key (of the root key, where keys were wrapped anew) or the reference of a
    /// session.
    pub target: &'a str,
    /// The tenant it belongs to.
    pub tenant: &'a str,
}

/// How records name a root key: one in KMS by what stands last in its ARN, `key/…`. An account's number,
/// which stands before that, may be a card's as well.
pub fn root_name(id: &str) -> &str {
    match id.strip_prefix("arn:") {
        Some(rest) => rest.rsplit(':').next().unwrap_or(rest),
        None => id,
    }
}

/// What an operator can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminAction {
    /// A caller's key was made.
    KeyCreate,
    /// A caller's key was revoked.
    KeyRevoke,
    /// Keys that were wrapped under earlier keys were wrapped under the current ones.
    KeysRewrap,
    /// A tenant got a new key.
    KeysRotate,
    /// A session was erased.
    SessionErase,
    /// A session was revoked.
    SessionRevoke,
}

impl AdminChange<'_> {
    /// The event.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new("admin.change");
        draft.put().text(
            "action",
            match self.action {
                AdminAction::KeyCreate => "key.create",
                AdminAction::KeyRevoke => "key.revoke",
                AdminAction::KeysRewrap => "keys.rewrap",
                AdminAction::KeysRotate => "keys.rotate",
                AdminAction::SessionErase => "session.erase",
                AdminAction::SessionRevoke => "session.revoke",
            },
        );
        draft.word("target", self.target);
        draft.word("tenant", self.tenant);
        draft.finish()
    }
}

/// `kms.datakey`, `kms.decrypt`, `kms.encrypt`, `kms.reencrypt`: KMS was asked to make, open or wrap a
/// tenant's key. One record stands for all that was the same within a window: while KMS gives no key, anyone
/// who may call can cause them.
#[cfg(feature = "aws")]
pub struct KmsUse<'a> {
    /// What it was asked: the kind of the record.
    pub kind: &'static str,
    /// The root key, an ARN.
    pub root: &'a str,
    /// Whose key.
    pub tenant: &'a str,
    /// Which of the tenant's keys, counted from 1.
    pub epoch: u32,
    /// Why there was no key, from a closed list; `None`: it was done.
    pub failed: Option<&'static str>,
    /// How often.
    pub count: u64,
    /// The length of the window in microseconds.
    pub window_us: u64,
}

#[cfg(feature = "aws")]
impl KmsUse<'_> {
    /// The event.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new(self.kind);
        draft.word("target", root_name(self.root));
        draft.word("tenant", self.tenant);
        draft.put().integer("epoch", u64::from(self.epoch));
        if let Some(failed) = self.failed {
            draft.word("reason", failed);
        }
        draft
            .put()
            .integer("n", self.count)
            .integer("window_us", self.window_us);
        draft.finish()
    }
}
