//! What no record may hold: text, secrets, wrapped keys. Says what it is and under which name, never
//! the value. The one text is what a policy says (`policy.text`), which must hold no value either.

use gatehouse_redactor::{Engine, Policy};

use super::{Cell, Row};
use crate::cli::Failure;

/// The most bytes of a name or id.
const MAX_WORD: usize = 128;
/// A digest in hex has 64 digits; what is longer without a separator may be key material.
const MAX_RUN: usize = 64;
/// Keys of fields that could hold key material.
const KEY_NAMES: [&str; 5] = ["wrapped", "dek", "private_key", "secret", "plaintext"];

pub(super) struct Lint(Engine);

impl Lint {
    pub(super) fn new() -> Result<Self, Failure> {
        let engine = Engine::new(&Policy::default());
        Ok(Self(
            engine.map_err(|error| Failure::Read(error.to_string()))?,
        ))
    }

    /// What is wrong with a record's values; nothing mostly.
    pub(super) fn check(&self, row: &Row) -> Vec<String> {
        let mut found = Vec::new();
        let is_policy = row.iter().any(|(name, cell)| {
            name == "kind" && matches!(cell, Cell::Text(kind) if kind == "policy.text")
        });
        for (name, cell) in row {
            let Cell::Text(text) = cell else { continue };
            // The leaf's own fields were compared with the one form that they can have.
            if name == "w" || name == "ts" {
                continue;
            }
            let what = match is_policy && name == "text" {
                true => self.values(text),
                false => self.text(name, text),
            };
            if let Some(what) = what {
                found.push(format!("{name}: {what}"));
            }
        }
        found
    }

    fn text(&self, name: &str, text: &str) -> Option<String> {
        if KEY_NAMES.iter().any(|key| name.contains(key)) {
            return Some("a field for key material".into());
        }
        if text.len() > MAX_WORD || !is_word(text) {
            return Some("neither a name nor a digest".into());
        }
        if is_digest(text) {
            return None;
        }
        self.values(text)
    }

    /// What shows by itself in a text, wherever it stands.
    fn values(&self, text: &str) -> Option<String> {
        let runs = text.split(|c: char| !c.is_ascii_alphanumeric());
        if runs.into_iter().any(|run| run.len() > MAX_RUN) {
            return Some("as long as key material".into());
        }
        match self.0.find_certain(text) {
            Ok(found) => found.first().map(|finding| finding.label.as_str().into()),
            Err(_) => Some("could not be searched".into()),
        }
    }
}

/// The grammar of the gateway's words, and of times.
fn is_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(index, byte)| match byte {
        b'@' => bytes.get(index + 1).is_some_and(u8::is_ascii_digit),
        b'-' | b'_' | b'.' | b':' | b'/' => true,
        byte => byte.is_ascii_alphanumeric(),
    })
}

fn is_digest(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    [32, 64].contains(&digits.len()) && digits.bytes().all(hex)
}

#[cfg(test)]
mod tests {
    use gatehouse_envelope::{
        digest::{hex, sha256},
        random::name_of,
    };

    use super::*;

    /// Ids are random: none of them may look like a secret or a number of somebody's.
    #[test]
    fn random_ids_are_never_taken_for_secrets() {
        let lint = Lint::new().unwrap();
        for round in 0..5000u32 {
            let digest = sha256(&[&round.to_be_bytes()]);
            let hexed = hex(&digest);
            let half = hexed.get(..32).unwrap();
            let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
            let key = parts.map(|part| half.get(part).unwrap()).join("-");
            for (name, id) in [
                ("rid", format!("r_{half}")),
                ("trace", half.to_owned()),
                ("sid", name_of("s_", &digest)),
                ("prin", name_of("p_", &digest)),
                ("st_kid", name_of("sk_", &digest)),
                ("after", format!("20261129-prod-{half}")),
                ("sprev", hexed.clone()),
                // Of a key in KMS; the account in its ARN could be a card's number.
                ("target", format!("key/{key}")),
            ] {
                let row = vec![(name.to_owned(), Cell::Text(id))];
                assert_eq!(lint.check(&row), [""; 0], "{row:?}");
            }
        }
    }

    #[test]
    fn what_a_policy_says_is_text_without_values() {
        let lint = Lint::new().unwrap();
        let row = |kind: &str, text: &str| {
            let fields = [("kind", kind), ("text", text)];
            let cells = fields.map(|(name, text)| (name.to_owned(), Cell::Text(text.to_owned())));
            lint.check(&cells.to_vec()).len()
        };
        let good = "profile = \"strict\"\n[[field]]\nkeys = [\"employee no.\"]\n";
        assert_eq!(row("policy.text", good), 0);
        assert_eq!(row("exchange.admitted", good), 1);
        for bad in ["jane@corp.example.net", "AKIAIOSFODNN7EXAMPLE"] {
            assert_eq!(
                row("policy.text", &format!("ignore = [\"{bad}\"]\n")),
                1,
                "{bad}"
            );
        }
        assert_eq!(row("policy.text", &"a1".repeat(40)), 1);
    }

    #[test]
    fn names_pass_and_text_does_not() {
        let lint = Lint::new().unwrap();
        let row = |name: &str, text: &str| vec![(name.to_owned(), Cell::Text(text.to_owned()))];
        for (name, good) in [
            ("kind", "exchange.admitted"),
            ("sid", "s_75xpnnpnhg6mngwnk7qclyc5rz"),
            ("up_model", "ft:gpt-4o:org::8"),
            ("cfg", &format!("sha256:{}", "0f".repeat(32))),
            ("ts", "2026-11-29T17:40:35.878825Z"),
            ("w", "20261129-gatehouse-1215f6215c0a9f95adf4274dd8924970"),
            ("agent", ""),
        ] {
            assert_eq!(lint.check(&row(name, good)), [""; 0], "{good}");
        }
        for (name, bad) in [
            ("note", "two words"),
            ("up_model", "jane@example.org"),
            ("up_model", "AKIAIOSFODNN7EXAMPLE"),
            ("agent", &"x".repeat(129)),
            ("agent", &"a1".repeat(40)),
            ("st_wrapped", "abc"),
        ] {
            let said = lint.check(&row(name, bad));
            assert_eq!(said.len(), 1, "{bad}");
            assert!(!said[0].contains(bad));
        }
    }
}
