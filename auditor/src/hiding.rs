//! For tests: a log of which a folder cannot be read from some time on.

use std::{
    collections::BTreeSet,
    io::{Error, ErrorKind},
    sync::{Arc, Mutex},
};

use gatehouse_envelope::sign::MemorySigner;
use gatehouse_ledger::{
    Durability, Ledger, Mode, Options, Pace, SealLog,
    clock::SystemClock,
    event::Event,
    store::{Fetcher, Memory, Object, StoreError, Stored, Survey},
};

pub(crate) struct Hiding {
    log: Memory,
    folder: Mutex<String>,
    damaged: Mutex<bool>,
}

impl Hiding {
    /// A closed log of two segments, of which nothing is hidden yet.
    pub(crate) fn log() -> Self {
        let (dir, store) = (tempfile::tempdir().unwrap(), Arc::new(Memory::default()));
        let options = Options {
            seals: SealLog::Own,
            data_dir: dir.path().to_owned(),
            deployment: "prod".into(),
            mode: Mode::Local,
            pace: Pace::default(),
        };
        let signer = Arc::new(MemorySigner::generate("prod").unwrap());
        let clock = Arc::new(SystemClock::new());
        let (ledger, _) = Ledger::open(options, store.clone(), signer, clock).unwrap();
        for _ in 0..2 {
            let event = Event::kind("clock.status").finish().unwrap();
            ledger.append(event, Durability::Durable).wait().unwrap();
            ledger.flush().wait().unwrap();
        }
        ledger.close().unwrap();
        Self {
            log: Memory::with(store.objects()),
            folder: Mutex::default(),
            damaged: Mutex::default(),
        }
    }

    /// Nobody may look into this folder any more.
    pub(crate) fn hide(&self, folder: &str) {
        folder.clone_into(&mut self.folder.lock().unwrap());
    }

    /// Segments are longer than they were.
    pub(crate) fn damage(&self) {
        *self.damaged.lock().unwrap() = true;
    }

    /// Every folder in which there are objects whose names begin so.
    pub(crate) fn folders(&self, prefix: &str) -> BTreeSet<String> {
        let objects = self.log.list(prefix).unwrap();
        let folders = |name: &str| -> Vec<String> {
            let ends = name.match_indices('/');
            ends.filter_map(|(at, _)| Some(name.get(..at)?.to_owned()))
                .collect()
        };
        let names = objects.iter().map(|object| object.name.as_str());
        names.flat_map(folders).collect()
    }

    fn folder(&self) -> Option<String> {
        let folder = self.folder.lock().unwrap().clone();
        (!folder.is_empty()).then_some(folder)
    }
}

fn denied() -> Error {
    Error::new(ErrorKind::PermissionDenied, "no")
}

impl Fetcher for Hiding {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        let Survey { objects, unread } = self.survey(prefix)?;
        match unread.is_empty() {
            true => Ok(objects),
            false => Err(denied().into()),
        }
    }

    fn survey(&self, prefix: &str) -> Result<Survey, StoreError> {
        let mut objects = self.log.list(prefix)?;
        let Some(folder) = self.folder() else {
            return Ok(objects.into());
        };
        let inside = format!("{folder}/");
        objects.retain(|object| !object.name.starts_with(&inside));
        let meets = inside.starts_with(prefix) || prefix.starts_with(&inside);
        let unread = meets.then(|| (folder, denied())).into_iter().collect();
        Ok(Survey { objects, unread })
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        let is_hidden = |folder: String| name.starts_with(&format!("{folder}/"));
        if self.folder().is_some_and(is_hidden) {
            return Err(denied().into());
        }
        let mut stored = self.log.fetch(name, limit)?;
        if let Some(stored) = &mut stored
            && *self.damaged.lock().unwrap()
            && name.starts_with("log/")
        {
            stored.bytes.push(b'!');
        }
        Ok(stored)
    }
}
