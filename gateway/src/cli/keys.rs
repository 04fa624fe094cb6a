//! `gatehouse keys`: changing the keys that sessions are sealed under.

use super::{
    Failure, Output,
    key::{Place, unexpected},
};
use crate::{
    admin::{Answer, Request, Rewrap},
    clock::rfc3339,
};

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// Wrap under the current keys what is still wrapped under earlier ones: tenants' keys under the root
    /// key, sessions' keys under their tenant's. Sessions go on meanwhile.
    Rewrap(Everything),
    /// Make a new key for a tenant. What is there goes on under the earlier ones.
    Rotate(Rotate),
}

#[derive(clap::Args)]
pub(super) struct Everything {
    #[command(flatten)]
    place: Place,
}

#[derive(clap::Args)]
pub(super) struct Rotate {
    /// Whose key.
    #[arg(long)]
    tenant: String,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(command: Command, output: &mut Output) -> Result<(), Failure> {
    match command {
        Command::Rewrap(it) => rewrap(&it.place, output),
        Command::Rotate(it) => rotate(it, output),
    }
}

fn rotate(it: Rotate, output: &mut Output) -> Result<(), Failure> {
    let request = Request::KeysRotate { tenant: it.tenant };
    match it.place.ask(request)? {
        Answer::Rotated(key) => {
            let (tenant, epoch, id) = (&key.tenant, key.epoch, &key.id);
            let made = if key.made { "made" } else { "there already" };
            let from = rfc3339(key.from_us);
            output.note(&format!(
                "key {epoch} of tenant {tenant} ({id}) is {made}; new sessions have it from {from} on; \
                 after that, gatehouse keys rewrap puts those that are there under it"
            ));
            Ok(())
        }
        other => Err(unexpected(other)),
    }
}

/// Asks until all has been looked at: one answer takes no longer than a socket waits.
fn rewrap(place: &Place, output: &mut Output) -> Result<(), Failure> {
    let mut all = Rewrap::default();
    loop {
        let from = all.next.take();
        match place.ask(Request::KeysRewrap { from })? {
            Answer::Rewrapped(some) => all.add(some),
            other => return Err(unexpected(other)),
        }
        if all.next.is_none() {
            break;
        }
        output.note(&format!("{} keys of sessions so far", all.sessions));
    }
    output.note(&format!(
        "wrapped anew: {} keys of tenants, {} of names in the log, {} of sessions",
        all.tenant_keys, all.log_keys, all.sessions
    ));
    match all.failed {
        0 => Ok(()),
        failed => Err(Failure::Failed(format!(
            "{failed} keys of sessions are as they were; the gateway's log says why"
        ))),
    }
}
