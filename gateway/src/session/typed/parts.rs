//! The large parts of the state: sealed like the state itself, each under a name of its own.

use gatehouse_envelope::{
    keys::{KeyError, SessionKeys},
    random,
    seal::Context,
};
use zeroize::Zeroizing;

use super::{ChangeError, Refusal, model::Typed};
use crate::session::{SessionError, Shared, Turn, turn::Location};

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

impl Turn {
    /// Seals a part and puts it where it stays. The state that names it is written after it.
    pub(super) async fn put_part(
        &self,
        typed: &mut Typed,
        plain: &[u8],
    ) -> Result<String, ChangeError> {
        let bytes = typed.part_bytes.saturating_add(plain.len() as u64);
        if typed.parts >= MOST || bytes > TOTAL {
            return Err(Refusal::Full("parts").into());
        }
        let part = random::name(PART).map_err(|error| SessionError::from(KeyError::from(error)))?;
        let subject = subject(&self.location, &part);
        let sealed = self
            .keys
            .seal()
            .seal(&context(&self.location, &subject), plain)
            .map_err(SessionError::from)?;
        let name = format!("{}{part}", prefix(&self.location));
        let put = self.shared.blobs.put(&name, sealed).await;
        put.map_err(SessionError::from)?;
        (typed.parts, typed.part_bytes) = (typed.parts + 1, bytes);
        Ok(part)
    }
}

/// Reads and opens a part. One that the state names and the store does not have is damage.
pub(super) async fn open(
    shared: &Shared,
    location: &Location,
    keys: &SessionKeys,
    part: &str,
) -> Result<Zeroizing<Vec<u8>>, SessionError> {
    let name = format!("{}{part}", prefix(location));
    let sealed = shared.blobs.get(&name).await?;
    let sealed = sealed.ok_or(SessionError::Damaged)?;
    let subject = subject(location, part);
    let context = context(location, &subject);
    Ok(keys.seal().open(&context, sealed.as_bytes())?)
}
