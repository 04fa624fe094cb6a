//! Logs that no writer of ours would write, with all their hashes and signatures right: what they
//! say is wrong, not how they are kept. Written by hand from docs/audit-log.md.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use gatehouse_envelope::{
    digest::{hex, sha256},
    sign::{MemorySigner, Signer},
};
use gatehouse_ledger::{
    clock::rfc3339,
    names,
    note::{Key, checkpoint, sign},
    tree::{Tree, leaf_hash},
};

use crate::{changed::pack, log::START_US};

/// Who signs a segment.
#[derive(Clone, Copy)]
pub(crate) enum By {
    Deployment,
    Nobody,
    Writer,
}

/// One stream under construction.
pub(crate) struct Forge<'d> {
    deployment: &'d MemorySigner,
    key: MemorySigner,
    writer: String,
    tree: Tree,
    previous: Option<[u8; 32]>,
    /// The time of the next leaf.
    pub(crate) us: u64,
    /// What the certificate's payload says of its version.
    pub(crate) version: u8,
    pub(crate) objects: BTreeMap<String, Vec<u8>>,
}

impl<'d> Forge<'d> {
    /// A stream; `digit` tells it from others.
    pub(crate) fn new(deployment: &'d MemorySigner, digit: char) -> Self {
        let writer = format!("20261129-prod-{}", digit.to_string().repeat(32));
        Self {
            deployment,
            key: MemorySigner::generate(&names::origin("prod", &writer)).unwrap(),
            writer,
            tree: Tree::new(),
            previous: None,
            us: START_US,
            version: 1,
            objects: BTreeMap::new(),
        }
    }

    /// Stores the certificate, and gives everything.
    pub(crate) fn finish(mut self) -> BTreeMap<String, Vec<u8>> {
        let issuer = Key::of(self.deployment).unwrap();
        let payload = format!(
            r#"{{"gatehouse":{},"w":"{}","key":"{}","issuer":"{issuer}","ts":"{}"}}"#,
            self.version,
            self.writer,
            Key::of(&self.key).unwrap(),
            rfc3339(START_US)
        );
        let kind = "application/vnd.gatehouse.writer+json";
        let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
        let envelope = format!(
            r#"{{"payloadType":"{kind}","payload":"{}","signatures":[{{"keyid":"{}","sig":"{}"}}]}}"#,
            BASE64.encode(payload.as_bytes()),
            issuer.reference(),
            BASE64.encode(&self.deployment.sign(signed.as_bytes()).unwrap())
        );
        let name = names::certificate(&self.writer);
        self.objects.insert(name, envelope.into_bytes());
        self.objects
    }

    /// Adds a segment of these events, a millisecond between them, filed under the day of the first.
    pub(crate) fn segment(&mut self, events: &[impl AsRef<[u8]>], by: By) {
        let stamped: Vec<_> = events
            .iter()
            .map(|event| {
                self.us += 1000;
                (self.us, event.as_ref().to_vec())
            })
            .collect();
        self.stamped(&stamped, by);
    }

    /// The same at given times.
    pub(crate) fn stamped(&mut self, events: &[(u64, Vec<u8>)], by: By) {
        let first_seq = self.tree.size();
        let mut lines = self.header().into_bytes();
        for (us, event) in events {
            let leaf = self.leaf(*us, event);
            self.tree.push(leaf_hash(&leaf));
            lines.extend_from_slice(&leaf);
            lines.push(b'\n');
        }
        let times = (events.first(), events.last());
        let (first_us, last_us) = (times.0.map_or(0, |e| e.0), times.1.map_or(0, |e| e.0));
        lines.extend_from_slice(self.footer(first_us, last_us, by).as_bytes());
        let stored = pack(&lines);
        self.previous = Some(sha256(&[&stored]));
        let day = rfc3339(first_us)[..10].to_owned();
        let name = names::segment(&day, &self.writer, first_seq);
        self.objects.insert(name, stored);
    }

    fn header(&self) -> String {
        let (size, root) = (self.tree.size(), hex(&self.tree.root()));
        let previous = match &self.previous {
            Some(digest) => format!("\"sha256:{}\"", hex(digest)),
            None => "null".into(),
        };
        format!(
            "{{\"gatehouse\":1,\"w\":\"{}\",\"first_seq\":{size},\"prev_seg\":{previous},\
             \"size_before\":{size},\"root_before\":\"sha256:{root}\"}}\n",
            self.writer
        )
    }

    fn leaf(&self, us: u64, event: &[u8]) -> Vec<u8> {
        let head = format!(
            r#"{{"v":1,"w":"{}","seq":{},"ts":"{}","ts_us":{us},"mono_us":0,"e":"#,
            self.writer,
            self.tree.size(),
            rfc3339(us)
        );
        [head.as_bytes(), event, b"}"].concat()
    }

    fn footer(&self, first_us: u64, last_us: u64, by: By) -> String {
        let (size, root) = (self.tree.size(), self.tree.root());
        let text = checkpoint(self.key.name(), size, &root);
        let stranger;
        let signer: &dyn Signer = match by {
            By::Deployment => self.deployment,
            By::Nobody => {
                stranger = MemorySigner::generate(self.key.name()).unwrap();
                &stranger
            }
            By::Writer => &self.key,
        };
        let note = sign(&text, signer).unwrap().replace('\n', "\\u000a");
        format!(
            "{{\"last_seq\":{},\"size\":{size},\"root\":\"sha256:{}\",\"first_ts\":\"{}\",\
             \"last_ts\":\"{}\",\"note\":\"{note}\"}}\n",
            size.wrapping_sub(1),
            hex(&root),
            rfc3339(first_us),
            rfc3339(last_us)
        )
    }
}
