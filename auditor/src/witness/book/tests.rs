use gatehouse_envelope::sign::MemorySigner;
use gatehouse_ledger::note::{checkpoint, sign};

use super::*;

const KEY: &str = "w+00000000+AA==";

fn entry(origin: &str, size: u64) -> Entry {
    let signer = MemorySigner::generate(origin).unwrap();
    let root = [size as u8; 32];
    Entry {
        state: State { size, root },
        time: 1_795_961_100 + size,
        note: sign(&checkpoint(origin, size, &root), &signer).unwrap(),
        line: "line\n".into(),
    }
}

struct Place(tempfile::TempDir);

impl Place {
    fn open(&self) -> Result<Book, BookError> {
        self.open_as(KEY)
    }

    fn begin(&self) -> Result<Book, BookError> {
        write_mark(&self.mark(), 0).unwrap();
        self.open()
    }

    fn open_as(&self, key: &str) -> Result<Book, BookError> {
        Book::open(&self.0.path().join("state"), &self.mark(), key)
    }

    fn mark(&self) -> PathBuf {
        self.0.path().join("key.mark")
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("state").join(FILE)
    }
}

#[test]
fn entries_are_there_again() {
    let place = Place(tempfile::tempdir().unwrap());
    let (one, two) = (entry("prod", 3), entry("eu", 4));
    let mut book = place.begin().unwrap();
    book.put("prod", entry("prod", 2)).unwrap();
    book.put("prod", one.clone()).unwrap();
    book.put("eu", two.clone()).unwrap();
    assert!(matches!(place.open(), Err(BookError::Locked)));
    drop(book);
    let book = place.open().unwrap();
    let all: Vec<_> = book.logs().collect();
    assert_eq!(all, [("eu", &two), ("prod", &one)]);
    assert_eq!((book.get("none"), book.last_time()), (None, two.time));
}

#[test]
fn what_is_older_than_its_mark_is_refused() {
    let place = Place(tempfile::tempdir().unwrap());
    let mut book = place.begin().unwrap();
    book.put("prod", entry("prod", 1)).unwrap();
    let old = fs::read(place.file()).unwrap();
    book.put("prod", entry("prod", 2)).unwrap();
    drop(book);
    let new = fs::read(place.file()).unwrap();
    fs::write(place.file(), &old).unwrap();
    assert!(matches!(place.open(), Err(BookError::RolledBack(1, 2))));
    fs::remove_file(place.file()).unwrap();
    assert!(matches!(place.open(), Err(BookError::RolledBack(0, 2))));
    fs::write(place.file(), &new).unwrap();
    // A mark that is behind is what a crash leaves.
    fs::write(place.mark(), format!("{MARK}1\n")).unwrap();
    assert_eq!(place.open().unwrap().get("prod").unwrap().state.size, 2);
    fs::write(place.mark(), "2").unwrap();
    assert!(matches!(place.open(), Err(BookError::Damaged)));
    fs::remove_file(place.mark()).unwrap();
    assert!(matches!(place.open(), Err(BookError::Unmarked)));
}

#[test]
fn other_files_are_refused() {
    let place = Place(tempfile::tempdir().unwrap());
    let mut book = place.begin().unwrap();
    book.put("prod", entry("prod", 1)).unwrap();
    drop(book);
    assert!(matches!(place.open_as("v+0+A"), Err(BookError::Other)));
    let good = fs::read_to_string(place.file()).unwrap();
    for bad in [
        String::new(),
        good.replace("\"gatehouse_witness\":1", "\"gatehouse_witness\":2"),
        good.replace("\"prod\"", "\"eu\""),
        good.replace("\\n1\\n", "\\nx\\n"),
        good.split_at(good.len() - 3).0.to_owned(),
    ] {
        fs::write(place.file(), &bad).unwrap();
        assert!(matches!(place.open(), Err(BookError::Damaged)), "{bad}");
    }
}

#[test]
fn what_could_not_be_written_is_not_known() {
    let place = Place(tempfile::tempdir().unwrap());
    let mut book = place.begin().unwrap();
    book.put("prod", entry("prod", 1)).unwrap();
    // The new file's place is taken by a folder: it fails before anything has changed.
    let taken = place.file().with_added_extension("new");
    fs::create_dir(&taken).unwrap();
    assert!(book.put("prod", entry("prod", 2)).is_err());
    assert!(book.put("eu", entry("eu", 2)).is_err());
    assert_eq!(book.get("prod").unwrap().state.size, 1);
    assert!(book.get("eu").is_none() && book.is_sound());
    assert!(book.failed().is_some());
    fs::remove_dir(&taken).unwrap();
    book.put("prod", entry("prod", 2)).unwrap();
    assert!(book.failed().is_none());
    // The file itself cannot be replaced by a file any more: what is there is not known.
    fs::remove_file(place.file()).unwrap();
    fs::create_dir_all(place.file().join("x")).unwrap();
    assert!(book.put("prod", entry("prod", 3)).is_err());
    assert!(!book.is_sound());
    assert_eq!(book.get("prod").unwrap().state.size, 2);
    fs::remove_dir_all(place.file()).unwrap();
    assert!(
        book.put("prod", entry("prod", 3)).is_err(),
        "nothing is kept after that"
    );
}
