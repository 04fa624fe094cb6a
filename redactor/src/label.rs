//! What a finding is: the names of the entity types.
//!
//! A name is what callers see in tokens (`<EMAIL_k7q2mz>`), what policy files write and what the
//! audit record counts, so it is spelled the same way everywhere.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The type of a found value: upper-case ASCII letters, digits and `_`, at most 40 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(&'static str);

/// A name that cannot be a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// Not 1 to 40 characters of `A-Z`, `0-9` and `_`, starting with a letter.
    #[error("a label is 1 to 40 of A-Z, 0-9 and _, and starts with a letter")]
    Spelling,
    /// This process already knows as many labels as it will ever keep.
    #[error("too many different labels")]
    TooMany,
}

/// Custom labels live as long as the process (they are interned), so their number is bounded.
const MOST_CUSTOM: usize = 1024;
const LONGEST: usize = 40;

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        impl Label {
            $($(#[$doc])* pub const $name: Label = Label(stringify!($name));)+
            /// Every label that this crate knows without a policy.
            pub const BUILT_IN: &[Label] = &[$(Label::$name),+];
        }
    };
}

labels! {
    /// A postal address.
    ADDRESS,
    /// An age in years.
    AGE,
    /// An API key, access token or other issued secret.
    API_KEY,
    /// A bank account number that is not an IBAN.
    BANK_ACCOUNT,
    /// A database or broker address that carries credentials.
    CONNECTION_STRING,
    /// A payment card number.
    CREDIT_CARD,
    /// An address of a crypto-currency wallet.
    CRYPTO,
    /// A plain date.
    DATE,
    /// A date of birth.
    DATE_OF_BIRTH,
    /// A number of one device: IMEI, serial number, advertising id.
    DEVICE_ID,
    /// A driving licence number.
    DRIVER_LICENSE,
    /// A mail address.
    EMAIL,
    /// An encoded run (base64, hex) that is too long to be judged while it streams.
    ENCODED,
    /// An international bank account number, ISO 13616.
    IBAN,
    /// An IPv4 or IPv6 address of one host.
    IP_ADDRESS,
    /// A JSON Web Token, RFC 7519.
    JWT,
    /// A place name.
    LOCATION,
    /// A MAC address.
    MAC_ADDRESS,
    /// A patient's record number.
    MEDICAL_RECORD,
    /// A national identity number.
    NATIONAL_ID,
    /// Nationality, religious or political group.
    NRP,
    /// An organisation.
    ORG,
    /// A passport number.
    PASSPORT,
    /// A password or passphrase.
    PASSWORD,
    /// A person's name.
    PERSON,
    /// A telephone number.
    PHONE,
    /// A private key block.
    PRIVATE_KEY,
    /// A bank routing number.
    ROUTING_NUMBER,
    /// A tax number.
    TAX_ID,
    /// A web address.
    URL,
    /// User name and password inside a URL.
    URL_CREDENTIALS,
    /// A login name.
    USERNAME,
    /// A United States social security number.
    US_SSN,
    /// A vehicle identification or registration number.
    VEHICLE_ID,
}

static CUSTOM: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl Label {
    /// The name as written in policies, tokens and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// The label of that name, if a policy or this crate has it already. For names that come
    /// from outside: it never adds one.
    #[must_use]
    pub fn known(name: &str) -> Option<Label> {
        if let Some(known) = Self::BUILT_IN.iter().find(|label| label.0 == name) {
            return Some(*known);
        }
        CUSTOM
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .copied()
            .map(Label)
    }

    /// The built-in label of that name, or a custom one.
    ///
    /// # Errors
    /// If the name is not spelled as a label is, or too many custom labels exist already.
    pub fn custom(name: &str) -> Result<Label, LabelError> {
        if let Some(known) = Self::BUILT_IN.iter().find(|label| label.0 == name) {
            return Ok(*known);
        }
        if !well_spelled(name) {
            return Err(LabelError::Spelling);
        }
        // The set only grows and holds no half-made entry, so a poisoned lock is still sound.
        let mut custom = CUSTOM.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = custom.get(name) {
            return Ok(Label(known));
        }
        if custom.len() >= MOST_CUSTOM {
            return Err(LabelError::TooMany);
        }
        let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
        custom.insert(kept);
        Ok(Label(kept))
    }

    /// Whether knowing the value gives access to something. Secrets are by default not restored
    /// into tool arguments.
    #[must_use]
    pub fn is_secret(self) -> bool {
        [
            Self::API_KEY,
            Self::CONNECTION_STRING,
            Self::JWT,
            Self::PASSWORD,
            Self::PRIVATE_KEY,
            Self::URL_CREDENTIALS,
        ]
        .contains(&self)
    }

    /// Whether the value points at a group rather than at one person: left alone by default.
    #[must_use]
    pub fn is_quasi(self) -> bool {
        [
            Self::AGE,
            Self::DATE,
            Self::LOCATION,
            Self::NRP,
            Self::ORG,
            Self::URL,
        ]
        .contains(&self)
    }
}

fn well_spelled(name: &str) -> bool {
    name.len() <= LONGEST
        && name.as_bytes().first().is_some_and(u8::is_ascii_uppercase)
        && name
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Label::custom(&name).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_names_are_found_and_custom_ones_interned_once() {
        assert_eq!(Label::custom("EMAIL"), Ok(Label::EMAIL));
        let first = Label::custom("EMPLOYEE_ID").unwrap();
        let second = Label::custom("EMPLOYEE_ID").unwrap();
        assert!(std::ptr::eq(first.as_str(), second.as_str()));
    }

    #[test]
    fn misspelled_names_are_refused() {
        for name in ["", "email", "1A", "A-B", "A B", "É", &"A".repeat(41)] {
            assert_eq!(Label::custom(name), Err(LabelError::Spelling), "{name}");
        }
    }
}
