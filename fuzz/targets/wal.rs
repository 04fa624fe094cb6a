//! Recovery: whatever lies in the write-ahead log, the ledger opens, refuses, or sets it aside; it
//! never panics, and never takes away a stream that it did not store or keep. The first byte says
//! whether the rest is a file as it is, or lines to put into frames whose checksums hold.
#![no_main]

use std::{
    fs,
    path::Path,
    sync::{Arc, LazyLock},
};

use gatehouse_envelope::sign::MemorySigner;
use gatehouse_ledger::{
    Ledger, Mode, Options, Pace, SealLog,
    clock::{Clock, Stamp},
    store::Memory,
};
use libfuzzer_sys::fuzz_target;

const WRITER: &str = "20261129-prod-00000000000000000000000000000000";

static SIGNER: LazyLock<Arc<MemorySigner>> =
    LazyLock::new(|| Arc::new(MemorySigner::generate("prod").expect("a key")));

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Stamp {
        Stamp {
            unix_us: 1_795_961_100_000_000,
            mono_us: 0,
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((what, bytes)) = input.split_first() else {
        return;
    };
    let dir = tempfile::tempdir_in(place()).expect("a folder");
    let stream = dir.path().join("wal").join(WRITER);
    fs::create_dir_all(&stream).expect("a folder");
    let file = match what % 2 {
        0 => bytes.to_vec(),
        _ => framed(bytes),
    };
    fs::write(stream.join(format!("{:020}.wal", 0)), &file).expect("a file");
    let options = Options {
        seals: SealLog::Own,
        data_dir: dir.path().to_owned(),
        deployment: "prod".into(),
        mode: Mode::Async,
        pace: Pace::default(),
    };
    let store = Arc::new(Memory::default());
    let Ok((ledger, recovery)) =
        Ledger::open(options, store.clone(), SIGNER.clone(), Arc::new(Fixed))
    else {
        return;
    };
    let stored = store
        .objects()
        .keys()
        .any(|name| name.starts_with("log/") && name.contains(WRITER));
    if recovery.writers.iter().any(|writer| writer == WRITER) {
        assert!(stored, "recovered, and nothing is stored");
    }
    for writer in &recovery.damaged {
        assert!(
            dir.path().join("wal/damaged").join(writer).is_dir(),
            "damaged, and not kept"
        );
    }
    recovery.complete().expect("files go");
    ledger.close().expect("it closes");
});

/// Memory if the machine has such a folder: recovery syncs much.
fn place() -> &'static Path {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        Path::new("/tmp")
    }
}

/// A file whose first frame is a sound header, with a frame for each line.
fn framed(lines: &[u8]) -> Vec<u8> {
    let header = format!(
        r#"{{"gatehouse_wal":1,"w":"{WRITER}","first_seq":0,"edge":[],"prev":null,"cert":"{{}}"}}"#
    );
    let mut out = vec![1];
    for payload in std::iter::once(header.as_bytes()).chain(lines.split(|b| *b == b'\n')) {
        let length = (payload.len() as u32).to_le_bytes();
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&length), payload);
        out.extend_from_slice(&length);
        out.extend_from_slice(&checksum.to_le_bytes());
        out.extend_from_slice(payload);
    }
    out
}
