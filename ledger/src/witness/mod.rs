//! The witness protocol (c2sp.org/tlog-witness): what a log sends to have a checkpoint cosigned,
//! and what a witness makes of it.
//!
//! Nothing here talks to anybody. A log writes an [`AddCheckpoint`], a witness reads it and
//! judges it ([`judge()`]) by the last checkpoint that it cosigned.

mod judge;

use data_encoding::BASE64;

pub use judge::{Granted, Refusal, State, judge};

use crate::{
    note::{Note, NoteError},
    tree::Hash,
};

/// The most hashes of a consistency proof: the specification's limit.
pub const MAX_PROOF: usize = 63;
/// The most bytes of a request: every proof and a note with many signatures fit.
pub const MAX_REQUEST: usize = 1 << 16;
/// The media type of the answer that says which size the witness knows.
pub const SIZE_TYPE: &str = "text/x.tlog.size";

/// A request to cosign a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddCheckpoint<'b> {
    /// The size up to which the witness is believed to know the log.
    pub old: u64,
    /// The proof that the tree of that size is a prefix of the checkpoint's.
    pub proof: Vec<Hash>,
    /// The signed checkpoint.
    pub note: &'b str,
}

impl<'b> AddCheckpoint<'b> {
    /// Reads a request. There is one way to write each, and no other is read.
    ///
    /// # Errors
    /// It is no such request.
    pub fn parse(body: &'b [u8]) -> Result<Self, NoteError> {
        let malformed = NoteError::Malformed;
        if body.len() > MAX_REQUEST {
            return Err(malformed);
        }
        let body = std::str::from_utf8(body).map_err(|_| malformed)?;
        let (head, note) = body.split_once("\n\n").ok_or(malformed)?;
        let mut lines = head.split('\n');
        let old = lines.next().and_then(|line| line.strip_prefix("old "));
        let old = old.and_then(decimal).ok_or(malformed)?;
        let proof = lines
            .map(|line| hash(line).ok_or(malformed))
            .collect::<Result<Vec<_>, _>>()?;
        match proof.len() <= MAX_PROOF {
            true => Ok(Self { old, proof, note }),
            false => Err(malformed),
        }
    }

    /// The request's bytes.
    pub fn body(&self) -> String {
        let mut body = format!("old {}\n", self.old);
        for hash in &self.proof {
            body.push_str(&BASE64.encode(hash));
            body.push('\n');
        }
        body.push('\n');
        body.push_str(self.note);
        body
    }
}

/// What the text of a checkpoint says (c2sp.org/tlog-checkpoint). Lines behind the third are its
/// log's own; a cosignature covers them and says nothing of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint<'t> {
    /// Which log it is of.
    pub origin: &'t str,
    /// How many leaves its tree has.
    pub size: u64,
    /// The tree's root.
    pub root: Hash,
}

impl<'t> Checkpoint<'t> {
    /// Reads the text of a note.
    ///
    /// # Errors
    /// It is no checkpoint.
    pub fn of(note: &Note<'t>) -> Result<Self, NoteError> {
        Self::parse(note.text).ok_or(NoteError::Malformed)
    }

    fn parse(text: &'t str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let checkpoint = Self {
            origin,
            size: decimal(size)?,
            root: hash(root)?,
        };
        let sound = !origin.is_empty() && lines.all(|line| !line.is_empty());
        sound.then_some(checkpoint)
    }
}

/// The size that a witness says it knows: the body of its answer to a request from another one.
#[must_use]
pub fn known_size(body: &[u8]) -> Option<u64> {
    decimal(std::str::from_utf8(body).ok()?.strip_suffix('\n')?)
}

/// A decimal number without leading zeros.
fn decimal(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

fn hash(text: &str) -> Option<Hash> {
    let hash: Hash = BASE64.decode(text.as_bytes()).ok()?.try_into().ok()?;
    // Padding in the middle decodes as well, and would be another form.
    (BASE64.encode(&hash) == text).then_some(hash)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The example of the specification, its checkpoint with one signature.
    const EXAMPLE: &str = "old 20852014\n\
        PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n\
        jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=\n\
        \n\
        example.com/behind-the-sofa\n\
        20852163\n\
        CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\
        \n\
        \u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n";

    #[test]
    fn the_example_of_the_specification() {
        let asked = AddCheckpoint::parse(EXAMPLE.as_bytes()).unwrap();
        assert_eq!((asked.old, asked.proof.len()), (20_852_014, 2));
        assert_eq!(asked.body(), EXAMPLE);
        let note = Note::parse(asked.note).unwrap();
        let checkpoint = Checkpoint::of(&note).unwrap();
        assert_eq!(checkpoint.origin, "example.com/behind-the-sofa");
        assert_eq!(checkpoint.size, 20_852_163);
    }

    #[test]
    fn other_forms_are_no_requests() {
        let proof = "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=";
        for bad in [
            String::new(),
            "\n\n".into(),
            EXAMPLE.replace("old ", "old  "),
            EXAMPLE.replace("old 2", "old 02"),
            EXAMPLE.replace("old 2", "old +2"),
            EXAMPLE.replace("old 20852014", "old 18446744073709551616"),
            EXAMPLE.replace("old", "new"),
            EXAMPLE.replace(proof, proof.trim_start_matches('P')),
            EXAMPLE.replace(proof, "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkax="),
            EXAMPLE.replace("kaw=\n", "kaw=\r\n"),
            EXAMPLE.replacen("\n\n", "\n", 2),
            EXAMPLE.replace(proof, format!("{proof}\n").repeat(63).trim_end()),
        ] {
            assert!(AddCheckpoint::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        let most = EXAMPLE.replace(proof, format!("{proof}\n").repeat(62).trim_end());
        assert_eq!(
            AddCheckpoint::parse(most.as_bytes()).unwrap().proof.len(),
            63
        );
        let large = EXAMPLE.to_owned() + &"x".repeat(MAX_REQUEST);
        assert!(AddCheckpoint::parse(large.as_bytes()).is_err());
    }

    #[test]
    fn other_texts_are_no_checkpoints() {
        let root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";
        let good = format!("o\n7\n{root}\n");
        assert!(Checkpoint::parse(&good).is_some());
        assert!(Checkpoint::parse(&format!("{good}more\n")).is_some());
        for bad in [
            String::new(),
            format!("o\n7\n{root}"),
            format!("\n7\n{root}\n"),
            format!("o\n07\n{root}\n"),
            format!("o\n-7\n{root}\n"),
            format!("o\n\n{root}\n"),
            "o\n7\nCsU=\n".into(),
            "o\n7\n".into(),
            format!("{good}more\n\n"),
        ] {
            assert_eq!(Checkpoint::parse(&bad), None, "{bad:?}");
        }
    }

    #[test]
    fn sizes_that_witnesses_say() {
        assert_eq!(known_size(b"0\n"), Some(0));
        assert_eq!(known_size(b"50\n"), Some(50));
        for bad in [&b""[..], b"50", b"050\n", b"5 0\n", b"\n", b"\xff\n"] {
            assert_eq!(known_size(bad), None);
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_again(body in "(old [0-9]{1,3}\n)?([A-Za-z0-9+/]{43}=\n){0,3}\n?\\PC{0,30}\n{0,2}") {
            if let Ok(asked) = AddCheckpoint::parse(body.as_bytes()) {
                prop_assert_eq!(asked.body(), body);
            }
        }
    }
}
