//! Signed notes and checkpoints (c2sp.org/signed-note, c2sp.org/tlog-checkpoint).

use std::fmt;

use data_encoding::{BASE64, HEXLOWER};
use gatehouse_envelope::{
    digest::sha256,
    sign::{self, SignError, Signer},
};

use crate::tree::Hash;

/// The signature type byte of Ed25519 (signed-note, "Signature types").
const ED25519: u8 = 0x01;
/// What a signature line begins with: an em dash and a space.
const DASH: &str = "\u{2014} ";
/// More signatures than this are not read; the specification asks for 16 at least.
const MAX_SIGNATURES: usize = 64;

/// A public key that signs notes, with the name it signs under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    name: String,
    id: [u8; 4],
    public: [u8; 32],
}

impl Key {
    /// The Ed25519 key `public` under `name`.
    ///
    /// # Errors
    /// The name is empty or has a space, a plus sign or a control character in it.
    pub fn new(name: &str, public: [u8; 32]) -> Result<Self, NoteError> {
        if !is_key_name(name) {
            return Err(NoteError::Key);
        }
        let digest = sha256(&[name.as_bytes(), b"\n", &[ED25519], &public]);
        let [a, b, c, d, ..] = digest;
        Ok(Self {
            name: name.to_owned(),
            id: [a, b, c, d],
            public,
        })
    }

    /// The public key of `signer` under its name.
    ///
    /// # Errors
    /// As for [`Key::new`].
    pub fn of(signer: &dyn Signer) -> Result<Self, NoteError> {
        Self::new(signer.name(), signer.public())
    }

    /// Reads a vkey: `<name>+<key id in hex>+<base64 of the type byte and the key>`.
    ///
    /// # Errors
    /// It has another form, is of another algorithm, or its key id is not that of its key.
    pub fn parse(vkey: &str) -> Result<Self, NoteError> {
        let mut parts = vkey.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(NoteError::Key);
        };
        let bytes = BASE64.decode(key.as_bytes()).map_err(|_| NoteError::Key)?;
        let Some((&ED25519, public)) = bytes.split_first() else {
            return Err(NoteError::Key);
        };
        let key = Self::new(name, public.try_into().map_err(|_| NoteError::Key)?)?;
        match HEXLOWER.encode(&key.id) == id {
            true => Ok(key),
            false => Err(NoteError::Key),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The public key, 32 bytes.
    pub fn public(&self) -> &[u8; 32] {
        &self.public
    }

    /// Name and key id, `<name>+<hex>`: how other formats refer to the key.
    pub fn reference(&self) -> String {
        format!("{}+{}", self.name, HEXLOWER.encode(&self.id))
    }
}

impl fmt::Display for Key {
    /// The vkey; see [`Key::parse`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = [&[ED25519][..], &self.public].concat();
        write!(f, "{}+{}", self.reference(), BASE64.encode(&key))
    }
}

/// What is wrong with a note or a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// Not a vkey of an algorithm that this version knows.
    #[error("not a verifier key of a known kind")]
    Key,
    /// Not a signed note.
    #[error("not a signed note")]
    Malformed,
}

/// The text of a checkpoint: origin, size and root, a line each.
pub fn checkpoint(origin: &str, size: u64, root: &Hash) -> String {
    format!("{origin}\n{size}\n{}\n", BASE64.encode(root))
}

/// Signs `text`, which ends in a newline, and gives the whole note.
///
/// # Errors
/// The signer gave no signature.
pub fn sign(text: &str, signer: &dyn Signer) -> Result<String, SignError> {
    let key = Key::of(signer).map_err(|_| SignError::Damaged)?;
    let signature = signer.sign(text.as_bytes())?;
    let line = signature_line(&key.name, &[&key.id[..], &signature].concat());
    Ok(format!("{text}\n{line}"))
}

/// A signature line with its newline; `bytes` are the key id and what the kind of signature has.
pub(crate) fn signature_line(name: &str, bytes: &[u8]) -> String {
    format!("{DASH}{name} {}\n", BASE64.encode(bytes))
}

/// A note taken apart. Nothing in it is to be believed before [`Note::is_signed_by`].
pub struct Note<'n> {
    /// The signed text, its last newline included.
    pub text: &'n str,
    signatures: Vec<Signature<'n>>,
}

struct Signature<'n> {
    name: &'n str,
    id: [u8; 4],
    bytes: Vec<u8>,
}

impl<'n> Note<'n> {
    /// Takes a note apart.
    ///
    /// # Errors
    /// It has not the form of a signed note.
    pub fn parse(note: &'n str) -> Result<Self, NoteError> {
        let control = |c: char| c < ' ' && c != '\n';
        let (text, lines) = note.rsplit_once("\n\n").ok_or(NoteError::Malformed)?;
        let text = note.get(..text.len() + 1).ok_or(NoteError::Malformed)?;
        let lines = lines.strip_suffix('\n').ok_or(NoteError::Malformed)?;
        if note.contains(control) {
            return Err(NoteError::Malformed);
        }
        let signatures = lines
            .split('\n')
            .take(MAX_SIGNATURES + 1)
            .map(|line| Signature::parse(line).ok_or(NoteError::Malformed))
            .collect::<Result<Vec<_>, _>>()?;
        match signatures.len() > MAX_SIGNATURES {
            true => Err(NoteError::Malformed),
            false => Ok(Self { text, signatures }),
        }
    }

    /// How many signatures there are, by whomever.
    pub fn signatures(&self) -> usize {
        self.signatures.len()
    }

    /// What the signature lines under a name and key id hold behind the id.
    pub(crate) fn signatures_of(&self, name: &str, id: [u8; 4]) -> impl Iterator<Item = &[u8]> {
        let own = move |s: &&Signature<'_>| s.name == name && s.id == id;
        self.signatures
            .iter()
            .filter(own)
            .map(|s| s.bytes.as_slice())
    }

    /// Whether there is a signature line of `key`, valid or not.
    pub fn names(&self, key: &Key) -> bool {
        self.signatures.iter().any(|s| s.is_of(key))
    }

    /// The note with the signature of `key` alone, if that holds: what else stands there is anybody's.
    pub fn signed_by(&self, key: &Key) -> Option<String> {
        let own = self.signatures.iter().find(|s| s.is_of(key));
        let own = own.filter(|_| self.is_signed_by(key))?;
        let line = signature_line(&key.name, &[&own.id[..], &own.bytes].concat());
        Some(format!("{}\n{line}", self.text))
    }

    /// Whether `key` signed the text: at least one line is its own, and all of its own hold.
    pub fn is_signed_by(&self, key: &Key) -> bool {
        let holds = |s: &Signature<'_>| sign::verify(&key.public, self.text.as_bytes(), &s.bytes);
        let mut own = self.signatures.iter().filter(|s| s.is_of(key)).peekable();
        own.peek().is_some() && own.all(holds)
    }
}

impl<'n> Signature<'n> {
    fn parse(line: &'n str) -> Option<Self> {
        let (name, encoded) = line.strip_prefix(DASH)?.split_once(' ')?;
        let decoded = BASE64.decode(encoded.as_bytes()).ok()?;
        let (id, bytes) = decoded.split_at_checked(4)?;
        is_key_name(name).then_some(())?;
        Some(Self {
            name,
            id: id.try_into().ok()?,
            bytes: bytes.to_vec(),
        })
    }

    fn is_of(&self, key: &Key) -> bool {
        self.name == key.name && self.id == key.id
    }
}

pub(crate) fn is_key_name(name: &str) -> bool {
    let bad = |c: char| c.is_whitespace() || c.is_control() || c == '+';
    !name.is_empty() && !name.contains(bad)
}

#[cfg(test)]
mod tests {
    use gatehouse_envelope::sign::MemorySigner;
    use proptest::prelude::*;

    use super::*;

    /// The example of c2sp.org/signed-note; its key is in the text of the Go implementation's tests.
    const PETER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const NOTE: &str = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n\
        \n\
        \u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    #[test]
    fn a_note_of_another_implementation() {
        let key = Key::parse(PETER).unwrap();
        assert_eq!(key.to_string(), PETER);
        let note = Note::parse(NOTE).unwrap();
        assert!(note.is_signed_by(&key));
        assert!(note.text.ends_with("problem is.\n"));
        let changed = NOTE.replace("problem is.", "problem was.");
        assert!(!Note::parse(&changed).unwrap().is_signed_by(&key));
    }

    #[test]
    fn checkpoints_are_signed_under_the_signers_name() {
        let signer = MemorySigner::generate("prod/w-1").unwrap();
        let other = MemorySigner::generate("prod/w-1").unwrap();
        let text = checkpoint("prod/w-1", 7, &[0; 32]);
        assert_eq!(text, format!("prod/w-1\n7\n{}=\n", "A".repeat(43)));
        let note = sign(&text, &signer).unwrap();
        let note = Note::parse(&note).unwrap();
        assert_eq!((note.text, note.signatures()), (text.as_str(), 1));
        assert!(note.is_signed_by(&Key::of(&signer).unwrap()));
        assert!(!note.is_signed_by(&Key::of(&other).unwrap()));
    }

    #[test]
    fn a_bad_signature_beside_a_good_one_fails_the_note() {
        let signer = MemorySigner::generate("k").unwrap();
        let key = Key::of(&signer).unwrap();
        let good = sign("text\n", &signer).unwrap();
        let line = good.lines().last().unwrap();
        let other = MemorySigner::generate("other").unwrap();
        let foreign = sign("text\n", &other).unwrap();
        let with_foreign = format!("{good}{}\n", foreign.lines().last().unwrap());
        assert!(Note::parse(&with_foreign).unwrap().is_signed_by(&key));
        let bad = sign("another\n", &signer).unwrap();
        let with_bad = format!("text\n\n{line}\n{}\n", bad.lines().last().unwrap());
        assert!(!Note::parse(&with_bad).unwrap().is_signed_by(&key));
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in [
            String::new(),
            "text\n".into(),
            NOTE.replace("\n\n", "\n"),
            NOTE.trim_end().into(),
            NOTE.replace('\u{2014}', "-"),
            NOTE.replace("PeterNeumann ", "Peter+Neumann "),
            NOTE.replace("problem is", "problem\tis"),
            NOTE.replace("x08go/", "x08go"),
            format!("{NOTE}\n"),
        ] {
            assert!(Note::parse(&bad).is_err(), "{bad:?}");
        }
        for bad in [
            "",
            "a+b",
            "a+00000000+AAAA",
            &PETER.replace("c74f", "C74F"),
            PETER.trim_start_matches('P'),
        ] {
            assert!(Key::parse(bad).is_err(), "{bad}");
        }
        assert!(Key::new("two words", [0; 32]).is_err());
    }

    proptest! {
        #[test]
        fn no_input_panics(text in "\\PC{0,20}\n{0,2}(\u{2014} \\PC{0,12} [A-Za-z0-9+/=]{0,12}\n{0,2}){0,3}") {
            if let Ok(note) = Note::parse(&text) {
                prop_assert!(!note.is_signed_by(&Key::parse(PETER).unwrap()));
            }
            prop_assert!(Key::parse(&text).is_err());
        }
    }
}
