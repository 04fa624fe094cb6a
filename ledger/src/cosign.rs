//! Cosignatures of witnesses (c2sp.org/tlog-cosignature, `cosignature/v1` with Ed25519): whoever
//! made one has seen the log grow to this checkpoint, and at what time.

use std::fmt;

use data_encoding::{BASE64, HEXLOWER};
use gatehouse_envelope::{
    digest::sha256,
    sign::{self, SignError, Signer},
};

use crate::note::{Note, NoteError, is_key_name, signature_line};

/// The signature type byte of timestamped Ed25519 cosignatures.
const COSIGNATURE: u8 = 0x04;

/// A witness's public key, with the name it signs under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessKey {
    name: String,
    id: [u8; 4],
    public: [u8; 32],
}

impl WitnessKey {
    /// The Ed25519 key `public` under `name`.
    ///
    /// # Errors
    /// The name is empty or has a space, a plus sign or a control character in it.
    pub fn new(name: &str, public: [u8; 32]) -> Result<Self, NoteError> {
        if !is_key_name(name) {
            return Err(NoteError::Key);
        }
        let digest = sha256(&[name.as_bytes(), b"\n", &[COSIGNATURE], &public]);
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
    /// As for [`WitnessKey::new`].
    pub fn of(signer: &dyn Signer) -> Result<Self, NoteError> {
        Self::new(signer.name(), signer.public())
    }

    /// Reads a vkey of type 0x04; none if it is one of another type.
    ///
    /// # Errors
    /// Its name is none, or its id is not that of its key.
    pub fn parse(vkey: &str) -> Result<Option<Self>, NoteError> {
        let mut parts = vkey.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(NoteError::Key);
        };
        let bytes = BASE64.decode(key.as_bytes()).map_err(|_| NoteError::Key)?;
        let Some((&COSIGNATURE, public)) = bytes.split_first() else {
            return Ok(None);
        };
        let key = Self::new(name, public.try_into().map_err(|_| NoteError::Key)?)?;
        match HEXLOWER.encode(&key.id) == id {
            true => Ok(Some(key)),
            false => Err(NoteError::Key),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key id.
    pub fn id(&self) -> [u8; 4] {
        self.id
    }

    /// When this witness cosigned the note, in seconds since 1970: at least one line is its own, and
    /// all of its own hold. With several it is the earliest time.
    pub fn cosigned(&self, note: &Note<'_>) -> Option<u64> {
        let times: Option<Vec<u64>> = note
            .signatures_of(&self.name, self.id)
            .map(|bytes| self.holds(note.text, bytes))
            .collect();
        times?.into_iter().min()
    }

    fn holds(&self, text: &str, bytes: &[u8]) -> Option<u64> {
        let (time, signature) = bytes.split_at_checked(8)?;
        let time = u64::from_be_bytes(time.try_into().ok()?);
        let within = time <= i64::MAX.cast_unsigned();
        let holds = sign::verify(&self.public, message(time, text).as_bytes(), signature);
        (within && holds).then_some(time)
    }
}

impl fmt::Display for WitnessKey {
    /// The vkey; see [`WitnessKey::parse`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = [&[COSIGNATURE][..], &self.public].concat();
        let id = HEXLOWER.encode(&self.id);
        write!(f, "{}+{id}+{}", self.name, BASE64.encode(&key))
    }
}

/// A witness's signature line on the checkpoint `text`, with its newline. `unix_s` is the time in
/// seconds since 1970.
///
/// # Errors
/// The signer gave no signature.
pub fn cosign(text: &str, signer: &dyn Signer, unix_s: u64) -> Result<String, SignError> {
    let key = WitnessKey::of(signer).map_err(|_| SignError::Damaged)?;
    let signature = signer.sign(message(unix_s, text).as_bytes())?;
    let bytes = [&key.id[..], &unix_s.to_be_bytes(), &signature].concat();
    Ok(signature_line(&key.name, &bytes))
}

fn message(unix_s: u64, text: &str) -> String {
    format!("cosignature/v1\ntime {unix_s}\n{text}")
}

#[cfg(test)]
mod tests {
    use gatehouse_envelope::sign::MemorySigner;

    use super::*;
    use crate::note::{checkpoint, sign};

    fn cosigned() -> (WitnessKey, String) {
        let (log, witness) = (
            MemorySigner::generate("prod").unwrap(),
            MemorySigner::generate("witness.example/w1").unwrap(),
        );
        let text = checkpoint("prod", 7, &[3; 32]);
        let note = sign(&text, &log).unwrap();
        let line = cosign(&text, &witness, 1_679_315_147).unwrap();
        (WitnessKey::of(&witness).unwrap(), note + &line)
    }

    #[test]
    fn a_cosignature_says_when() {
        let (key, note) = cosigned();
        assert_eq!(
            key.cosigned(&Note::parse(&note).unwrap()),
            Some(1_679_315_147)
        );
        assert_eq!(WitnessKey::parse(&key.to_string()), Ok(Some(key.clone())));
        let other = WitnessKey::new(key.name(), [9; 32]).unwrap();
        assert_eq!(other.cosigned(&Note::parse(&note).unwrap()), None);
    }

    #[test]
    fn every_bit_of_it_counts() {
        let (key, note) = cosigned();
        let line = note.trim_end().rfind('\n').unwrap() + 1;
        for at in line..note.len() {
            let mut changed = note.clone().into_bytes();
            changed[at] ^= 1;
            let Ok(changed) = String::from_utf8(changed) else {
                continue;
            };
            let time = Note::parse(&changed)
                .ok()
                .and_then(|note| key.cosigned(&note));
            assert_eq!(time, None, "{at}");
        }
    }

    #[test]
    fn keys_of_other_types_are_none_of_ours() {
        let log = MemorySigner::generate("prod").unwrap();
        let key = crate::note::Key::of(&log).unwrap().to_string();
        assert_eq!(WitnessKey::parse(&key), Ok(None));
        let (key, _) = cosigned();
        let wrong = key.to_string().replace("w1+", "w2+");
        assert_eq!(WitnessKey::parse(&wrong), Err(NoteError::Key));
    }
}
