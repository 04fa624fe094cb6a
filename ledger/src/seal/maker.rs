//! Making seals. Everyone may, at any time: the next number is put once, and whoever comes second
//! takes over what the first has made. Nothing is signed that does not follow the seal before.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use gatehouse_envelope::sign::{SignError, Signer};

use super::{
    DAY_US, LISTED_DAYS, MAX_NOTE, MAX_SEAL, Seal, Sealed, SealedState, digests,
    state::{self, Unread, checkpoint_of},
};
use crate::{
    cert::Certificate,
    clock::day,
    names::{self, Name},
    note::{Key, Note, checkpoint, sign},
    store::{LedgerStore, StoreError},
    tree::{Hash, Tree},
};

/// More streams than this are not listed with those that have ended.
const MAX_ENDED: usize = 1000;
const MINUTE_US: u64 = 60_000_000;
/// By how much the last seal may be ahead of the clock here: more says that a clock is wrong, and
/// that no seal would be made until then.
const AHEAD_US: u64 = 10 * MINUTE_US;

/// Why there is no seal.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The last seal is of a time that has not come.
    #[error("the last seal is ahead of this clock: one of the clocks is wrong")]
    Ahead,
    /// The store holds seals that do not follow one another, or that no trusted key signed.
    #[error(
        "seal {0} in the store does not follow the one before it, or is not signed as it must be"
    )]
    Foreign(u64),
    /// More streams than a seal holds.
    #[error("more streams than a seal can list")]
    Large,
    /// The deployment's signer gave no signature.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// The store did not answer, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Unread> for SealError {
    fn from(unread: Unread) -> Self {
        match unread {
            // Only what the store refuses to say reaches here; the rest is passed over.
            Unread::Damaged => Self::Store(StoreError::Name),
            Unread::Store(error) => Self::Store(error),
        }
    }
}

/// The seals of one store, as far as they are known here.
pub struct Sealer {
    store: Arc<dyn LedgerStore>,
    signer: Arc<dyn Signer>,
    /// Keys whose signatures on certificates and seals count.
    keys: Vec<Key>,
    log: String,
    /// The tree over all seals.
    tree: Tree,
    /// The last seal and the digest of its bytes.
    last: Option<(Seal, Hash)>,
    certificates: HashMap<String, Certificate>,
    /// [`MAX_ENDED`].
    max_ended: usize,
    /// Streams that have ended and are not listed any more, on days that are.
    ended: HashSet<String>,
    /// Streams of which something that is stored is not what it should be.
    damaged: u64,
}

impl Sealer {
    /// The seals of `log` in `store`, up to the last one there that is signed.
    ///
    /// # Errors
    /// See [`SealError`].
    pub fn open(
        store: Arc<dyn LedgerStore>,
        signer: Arc<dyn Signer>,
        keys: Vec<Key>,
        log: &str,
    ) -> Result<Self, SealError> {
        let mut sealer = Self {
            store,
            signer,
            keys,
            log: log.to_owned(),
            tree: Tree::new(),
            last: None,
            certificates: HashMap::new(),
            max_ended: MAX_ENDED,
            ended: HashSet::new(),
            damaged: 0,
        };
        sealer.find_last()?;
        Ok(sealer)
    }

    /// The number of the last seal.
    pub fn last(&self) -> Option<u64> {
        self.last.as_ref().map(|(seal, _)| seal.number)
    }

    /// Of how many streams something that is stored is not what it should be: they are sealed up to
    /// there.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Takes over what others have made, and makes a seal unless that minute has one. `now` makes
    /// one in any case.
    ///
    /// # Errors
    /// See [`SealError`]. Whatever was put is taken up again by the next call, here or elsewhere.
    pub fn seal(&mut self, unix_us: u64, now: bool) -> Result<(), SealError> {
        loop {
            self.catch_up(unix_us)?;
            let minute = |us: u64| us / MINUTE_US;
            let made = self.last.as_ref();
            if made.is_some_and(|(seal, _)| is_ahead(seal, unix_us)) {
                return Err(SealError::Ahead);
            }
            if !now && made.is_some_and(|(seal, _)| minute(seal.unix_us) >= minute(unix_us)) {
                return Ok(());
            }
            let next = self.next(unix_us)?;
            let before = self.last.as_ref().map(|(seal, digest)| (seal, digest));
            // What would not be taken over must not be put: nobody could go on behind it.
            if !next.follows(before, &self.tree) {
                return Err(SealError::Foreign(next.number));
            }
            let bytes = next.bytes();
            if bytes.len() > MAX_SEAL {
                return Err(SealError::Large);
            }
            let name = names::seal(&self.log, next.number);
            match self.store.put_once(&name, &bytes) {
                Ok(()) => return self.adopt(next, &bytes, unix_us),
                // Another was first. Its seal may have been made before what is to be sealed now.
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Goes to the last seal that has a checkpoint, without reading those before it.
    fn find_last(&mut self) -> Result<(), SealError> {
        let there = |number: u64| -> Result<bool, SealError> {
            let name = names::seal_note(&self.log, number);
            Ok(self.store.get(&name, MAX_NOTE)?.is_some())
        };
        if !there(0)? {
            return Ok(());
        }
        // Numbers are dense: the last one is found by doubling and halving.
        let (mut low, mut high) = (0_u64, 1_u64);
        while there(high)? {
            (low, high) = (high, high.saturating_mul(2));
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if there(middle)? {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.load(low)
    }

    /// Begins at seal `number`, whose checkpoint is there.
    fn load(&mut self, number: u64) -> Result<(), SealError> {
        let foreign = SealError::Foreign(number);
        let Some(bytes) = self.store.get(&names::seal(&self.log, number), MAX_SEAL)? else {
            return Err(foreign);
        };
        let Some(seal) = Seal::parse(&bytes).ok().filter(|seal| seal.log == self.log) else {
            return Err(foreign);
        };
        let Some(mut tree) = Tree::from_edge(number, seal.edge.clone()) else {
            return Err(foreign);
        };
        let (digest, leaf) = digests(&bytes);
        tree.push(leaf);
        if seal.number != number || !self.is_signed(number, &tree.root())? {
            return Err(foreign);
        }
        (self.tree, self.last) = (tree, Some((seal, digest)));
        Ok(())
    }

    /// Whether the checkpoint of seal `number` has this root and a trusted key's signature.
    fn is_signed(&self, number: u64, root: &Hash) -> Result<bool, SealError> {
        let name = names::seal_note(&self.log, number);
        let stored = self.store.get(&name, MAX_NOTE)?.unwrap_or_default();
        let Ok(note) = std::str::from_utf8(&stored).map(Note::parse) else {
            return Ok(false);
        };
        Ok(note.is_ok_and(|note| {
            checkpoint_of(&note, &self.log) == Some((number + 1, *root))
                && self.keys.iter().any(|key| note.is_signed_by(key))
        }))
    }

    /// Takes over every seal that is there and not known yet.
    fn catch_up(&mut self, unix_us: u64) -> Result<(), SealError> {
        loop {
            let number = self.tree.size();
            let Some(bytes) = self.store.get(&names::seal(&self.log, number), MAX_SEAL)? else {
                return Ok(());
            };
            let seal = Seal::parse(&bytes).map_err(|_| SealError::Foreign(number))?;
            self.adopt(seal, &bytes, unix_us)?;
        }
    }

    /// Goes on behind a seal that is stored, once its checkpoint is. One of the future is not signed:
    /// that would make the log wait for its time.
    fn adopt(&mut self, seal: Seal, bytes: &[u8], unix_us: u64) -> Result<(), SealError> {
        let number = self.tree.size();
        let before = self.last.as_ref().map(|(seal, digest)| (seal, digest));
        if seal.log != self.log || !seal.follows(before, &self.tree) {
            return Err(SealError::Foreign(number));
        }
        if is_ahead(&seal, unix_us) {
            return Err(SealError::Ahead);
        }
        let (digest, leaf) = digests(bytes);
        let mut tree = self.tree.clone();
        tree.push(leaf);
        let root = tree.root();
        let note = sign(
            &checkpoint(&self.log, tree.size(), &root),
            self.signer.as_ref(),
        )?;
        let name = names::seal_note(&self.log, number);
        match self.store.put_once(&name, note.as_bytes()) {
            // Signed by another key of the deployment: as good.
            Err(StoreError::Conflict) if self.is_signed(number, &root)? => {}
            Err(StoreError::Conflict) => return Err(SealError::Foreign(number)),
            other => other?,
        }
        (self.tree, self.last) = (tree, Some((seal, digest)));
        Ok(())
    }

    /// The next seal: every stream that the last one lists and that has not ended, and every one
    /// that was opened on these days.
    fn next(&mut self, unix_us: u64) -> Result<Seal, SealError> {
        let before = self.last.clone();
        let unix_us = unix_us.max(before.as_ref().map_or(0, |(seal, _)| seal.unix_us));
        let listed = day(unix_us.saturating_sub(LISTED_DAYS * DAY_US));
        let is_listed = |writer: &str| names::day_of(writer).is_some_and(|day| day >= listed);
        let known = before.as_ref().map_or(&[][..], |(seal, _)| &seal.streams);
        let mut streams: Vec<Sealed> = known
            .iter()
            .filter(|stream| stream.state == SealedState::Open || is_listed(&stream.writer))
            .cloned()
            .collect();
        let listed_before: HashSet<&str> = known.iter().map(|it| it.writer.as_str()).collect();
        self.ended.retain(|writer| is_listed(writer));
        for writer in self.writers(unix_us)? {
            if !listed_before.contains(writer.as_str()) && !self.ended.contains(&writer) {
                streams.push(Sealed::nothing(&writer));
            }
        }
        self.damaged = 0;
        for stream in &mut streams {
            self.advance(stream)?;
            if stream.state == SealedState::Open && !is_listed(&stream.writer) {
                stream.state = SealedState::Lost;
            }
        }
        if streams.len() > self.max_ended {
            // That a stream has ended stands in one seal at least.
            let had_ended = known.iter().filter(|it| it.state != SealedState::Open);
            let had_ended: HashSet<&str> = had_ended.map(|it| it.writer.as_str()).collect();
            streams.retain(|stream| !had_ended.contains(stream.writer.as_str()));
            self.ended.extend(had_ended.into_iter().map(str::to_owned));
        }
        streams.sort_unstable_by(|a, b| a.writer.cmp(&b.writer));
        self.certificates
            .retain(|writer, _| streams.iter().any(|stream| stream.writer == *writer));
        Ok(Seal {
            log: self.log.clone(),
            number: self.tree.size(),
            unix_us,
            previous: before.map(|(_, digest)| digest),
            edge: self.tree.edge().to_vec(),
            streams,
        })
    }

    /// The writers that were opened on the last days.
    fn writers(&self, unix_us: u64) -> Result<Vec<String>, StoreError> {
        let mut writers = Vec::new();
        for back in 0..=LISTED_DAYS {
            let day = day(unix_us.saturating_sub(back * DAY_US));
            for object in self.store.list(&names::certificates_of(&day))? {
                if let Name::Certificate { writer } = Name::parse(&object.name) {
                    writers.push(writer);
                }
            }
        }
        writers.sort_unstable();
        writers.dedup();
        Ok(writers)
    }

    /// Brings a stream up to what the store holds of it.
    fn advance(&mut self, stream: &mut Sealed) -> Result<(), SealError> {
        if stream.state != SealedState::Open {
            return Ok(());
        }
        let now = self
            .certificate(&stream.writer)
            .and_then(|certificate| state::advance(self.store.as_ref(), stream, &certificate));
        match now {
            Ok((now, sound)) => {
                *stream = now;
                self.damaged += u64::from(!sound);
            }
            Err(Unread::Damaged) => self.damaged += 1,
            Err(Unread::Store(error)) => return Err(error.into()),
        }
        Ok(())
    }

    fn certificate(&mut self, writer: &str) -> Result<Certificate, Unread> {
        if let Some(known) = self.certificates.get(writer) {
            return Ok(known.clone());
        }
        let keys = &self.keys;
        let trusted = |certificate: &Certificate| keys.contains(&certificate.issuer);
        let certificate = state::certificate(self.store.as_ref(), writer, trusted)?;
        self.certificates
            .insert(writer.to_owned(), certificate.clone());
        Ok(certificate)
    }
}

fn is_ahead(seal: &Seal, unix_us: u64) -> bool {
    seal.unix_us > unix_us.saturating_add(AHEAD_US)
}

#[cfg(test)]
mod tests;
