//! The first frame of a write-ahead log file: where in its stream the file stands.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use super::WalError;
use crate::{
    names,
    tree::{Hash, Tree},
};

/// Everything that recovery needs besides the lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) writer: String,
    /// The tree before the file's first line.
    pub(crate) tree: Tree,
    /// The name of the segment before, if there is one.
    pub(crate) previous: Option<String>,
    /// The writer's certificate as it is stored.
    pub(crate) certificate: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    gatehouse_wal: u8,
    w: String,
    first_seq: u64,
    edge: Vec<String>,
    prev: Option<String>,
    cert: String,
}

impl Header {
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, WalError> {
        let form = Form {
            gatehouse_wal: super::VERSION,
            w: self.writer.clone(),
            first_seq: self.tree.size(),
            edge: self
                .tree
                .edge()
                .iter()
                .map(|hash| HEXLOWER.encode(hash))
                .collect(),
            prev: self.previous.clone(),
            cert: self.certificate.clone(),
        };
        serde_json::to_vec(&form).map_err(|_| WalError::Header)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, WalError> {
        let form: Form = serde_json::from_slice(bytes).map_err(|_| WalError::Header)?;
        let hash = |text: &String| {
            let bytes = HEXLOWER.decode(text.as_bytes()).ok()?;
            Hash::try_from(bytes).ok()
        };
        let edge = form.edge.iter().map(hash).collect::<Option<Vec<_>>>();
        let tree = edge.and_then(|edge| Tree::from_edge(form.first_seq, edge));
        match tree {
            Some(tree) if names::deployment_of(&form.w).is_some() => Ok(Self {
                writer: form.w,
                tree,
                previous: form.prev,
                certificate: form.cert,
            }),
            _ => Err(WalError::Header),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::leaf_hash;

    #[test]
    fn headers_come_back() {
        let mut tree = Tree::new();
        for n in 0..5u8 {
            tree.push(leaf_hash(&[n]));
        }
        let header = Header {
            writer: format!("20261129-a-{}", "0".repeat(32)),
            tree,
            previous: Some("log/x".into()),
            certificate: "{\"a\":\"b\"}".into(),
        };
        let bytes = header.to_bytes().unwrap();
        assert_eq!(Header::from_bytes(&bytes).unwrap(), header);
        let text = String::from_utf8(bytes).unwrap();
        for (from, to) in [
            ("seq\":5", "seq\":4"),
            ("20261129", "2026/129"),
            ("prev", "next"),
        ] {
            assert!(Header::from_bytes(text.replace(from, to).as_bytes()).is_err());
        }
    }
}
