//! Proofs as text: c2sp.org/tlog-proof@v1.

use data_encoding::BASE64;

use crate::{json::parse_integer, tree::Hash};

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1\n";
/// A path in a tree of more leaves than numbers can say is no path.
const MAX_PATH: usize = 64;

/// That a leaf is in a log: where, the path to the root, and the signed checkpoint with that root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof<'p> {
    /// The number of the leaf, from 0.
    pub index: u64,
    /// The audit path of RFC 6962 §2.1.1, from the leaf's sibling upwards.
    pub path: Vec<Hash>,
    /// The checkpoint as a signed note, its cosignatures included. Nothing about it is checked.
    pub note: &'p str,
}

impl<'p> Proof<'p> {
    /// Reads a proof; none if it is not one in the form of the specification. Extra data, which
    /// nothing vouches for, is passed over.
    pub fn parse(text: &'p str) -> Option<Self> {
        let (head, note) = text.strip_prefix(FIRST_LINE)?.split_once("\n\n")?;
        let mut lines = head.split('\n').peekable();
        if let Some(extra) = lines.peek().and_then(|line| line.strip_prefix("extra ")) {
            BASE64.decode(extra.as_bytes()).ok()?;
            lines.next();
        }
        let index = parse_integer(lines.next()?.strip_prefix("index ")?.as_bytes())?;
        let path: Option<Vec<Hash>> = lines.take(MAX_PATH + 1).map(node).collect();
        let path = path.filter(|path| path.len() <= MAX_PATH)?;
        Some(Self { index, path, note })
    }

    /// The proof as text.
    pub fn text(&self) -> String {
        let mut out = format!("{FIRST_LINE}index {}\n", self.index);
        for node in &self.path {
            out.push_str(&BASE64.encode(node));
            out.push('\n');
        }
        out.push('\n');
        out.push_str(self.note);
        out
    }
}

/// A node in its one form: padding in the middle would decode as well.
fn node(line: &str) -> Option<Hash> {
    let hash: Hash = BASE64.decode(line.as_bytes()).ok()?.try_into().ok()?;
    (BASE64.encode(&hash) == line).then_some(hash)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOTE: &str = "log\n9\nAAAA\n\n\u{2014} log AAAAAAA=\n";

    proptest! {
        #[test]
        fn what_is_written_is_read(index in 0..1_u64 << 53, path in prop::collection::vec(any::<Hash>(), 0..=64)) {
            let proof = Proof { index, path, note: NOTE };
            let text = proof.text();
            prop_assert_eq!(Proof::parse(&text), Some(proof));
        }
    }

    #[test]
    fn the_form() {
        let proof = Proof {
            index: 7,
            path: vec![[0; 32]],
            note: NOTE,
        };
        let text = format!(
            "c2sp.org/tlog-proof@v1\nindex 7\n{}=\n\n{NOTE}",
            "A".repeat(43)
        );
        assert_eq!(proof.text(), text);
        let extra = text.replace("index", "extra Z2F0ZQ==\nindex");
        assert_eq!(Proof::parse(&extra), Some(proof));
        for (from, to) in [
            ("v1", "v2"),
            ("index 7", "index 07"),
            ("index 7", "index -1"),
            ("index 7\n", ""),
            ("index", "extra !\nindex"),
            ("=\n", "\n"),
            ("index 7\n", "index 7\nAAAA\n"),
            ("\n\n", "\n"),
        ] {
            assert_eq!(
                Proof::parse(&text.replace(from, to)),
                None,
                "{from:?} {to:?}"
            );
        }
        let long = "A".repeat(43) + "=\n";
        let long = text.replace(&long, &long.repeat(65));
        assert_eq!(Proof::parse(&long), None);
    }
}
