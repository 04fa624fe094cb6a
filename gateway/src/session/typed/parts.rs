//! The large parts of the state: sealed like the state itself, each under a name of its own.

use gatehouse_envelope::{
    keys::{KeyError, SessionKeys},
    random,
    seal::Context,
};
use zeroize::Zeroizing;

use super::{ChangeError, Refusal, model::Typed};
use crate::session::{SessionError, Shared, Turn, turn::Location};

/// A part that has its name and is counted, and is still to be put.
pub(super) struct Part {
    name: String,
    plain: Zeroizing<Vec<u8>>,
}

/// Parts of one session, of all times. Each is one more use of the session's key, and these are kept
/// free of the key's limit.
pub(in crate::session) const MOST: u64 = 1 << 20;
/// Bytes of one session's parts, of all times: those that nothing names any more count too, since
/// they stay until the session ends.
const TOTAL: u64 = 64 << 20;
/// What a part is sealed as.
const PURPOSE: &str = "session-part";
/// What a part's name begins with.
const PART: &str = "sp_";

/// Where a session's parts begin.
pub(in crate::session) fn prefix(location: &Location) -> String {
    format!("{}/", location.name)
}

/// Where one part belongs.
fn subject(location: &Location, part: &str) -> Vec<u8> {
    format!("{}/{part}", location.reference).into_bytes()
}

fn context<'a>(location: &'a Location, subject: &'a [u8]) -> Context<'a> {
    Context {
        purpose: PURPOSE,
        tenant: &location.tenant,
        subject,
        version: 0,
    }
}

/// What a part stands under in the store.
fn place(location: &Location, part: &str) -> String {
    format!("{}{part}", prefix(location))
}

impl Typed {
    /// Names a part that a change has `needed` and counts it, if there is room. It is put once the state
    /// that names it is known to be one that can be kept.
    pub(super) fn new_part(
        &mut self,
        plain: &[u8],
        needed: &mut Option<Part>,
    ) -> Result<String, ChangeError> {
        let bytes = self.part_bytes.saturating_add(plain.len() as u64);
        if self.parts >= MOST || bytes > TOTAL {
            return Err(Refusal::Full("parts").into());
        }
        let name = random::name(PART).map_err(|error| SessionError::from(KeyError::from(error)))?;
        (self.parts, self.part_bytes) = (self.parts + 1, bytes);
        let plain = Zeroizing::new(plain.to_vec());
        Ok(needed.insert(Part { name, plain }).name.clone())
    }
}

impl Turn {
    /// Seals a part and puts it where it stays. The state that names it is written after it.
    pub(super) async fn put_part(&self, part: &Part) -> Result<(), SessionError> {
        let subject = subject(&self.location, &part.name);
        let context = context(&self.location, &subject);
        let sealed = self.keys.seal().seal(&context, &part.plain)?;
        let name = place(&self.location, &part.name);
        let until_us = self.state.absolute_us;
        Ok(self.shared.blobs.put(&name, sealed, until_us).await?)
    }

    /// Takes a part away that no state names, and that no count knows of.
    pub(super) async fn drop_part(&self, part: &Part) {
        let name = place(&self.location, &part.name);
        if let Err(error) = self.shared.blobs.remove(&name).await {
            let session = self.location.reference.as_str();
            tracing::warn!(session, %error, "a part that nothing names is left behind");
        }
    }
}

/// Reads and opens a part. One that the state names and the store does not have is damage.
pub(super) async fn open(
    shared: &Shared,
    location: &Location,
    keys: &SessionKeys,
    part: &str,
) -> Result<Zeroizing<Vec<u8>>, SessionError> {
    let sealed = shared.blobs.get(&place(location, part)).await?;
    let sealed = sealed.ok_or(SessionError::Damaged)?;
    let subject = subject(location, part);
    let context = context(location, &subject);
    Ok(keys.seal().open(&context, sealed.as_bytes())?)
}
