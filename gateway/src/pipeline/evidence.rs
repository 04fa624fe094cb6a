//! What a request shows of the values that a session holds: a conversation may read like another's, but
//! hardly with its values.

use std::sync::OnceLock;

use gatehouse_redactor::Vault;
use gatehouse_redactor::json::{Document, Node};

use crate::protocol::is_system;
use crate::screen::aside;
use crate::session::Evidence;

/// Bytes of text times values: what is looked through for one session. With more of both nobody knows
/// whether it is the conversation's.
const MOST: usize = 512 << 20;
/// Less is done sooner than a thread is handed over.
const WORTH_IT: usize = 16 << 20;

/// The texts of a request.
struct Texts {
    all: String,
    /// Those of messages, without system prompts: those are much alike from client to client.
    said: String,
}

/// A request, as it is asked for values.
pub(super) struct Shown<'d> {
    document: &'d Document<'d>,
    texts: OnceLock<Texts>,
}

impl<'d> Shown<'d> {
    pub(super) fn of(document: &'d Document<'d>) -> Self {
        Self {
            document,
            texts: OnceLock::new(),
        }
    }

    /// What it shows of a vault, as a session's state has it.
    pub(super) fn of_values(&self, vault: &[u8]) -> Evidence {
        let Ok(vault) = Vault::from_bytes(vault) else {
            return Evidence::Unknown;
        };
        let texts = self.texts.get_or_init(|| Texts::of(self.document));
        let work = texts.all.len().saturating_mul(vault.len());
        match work {
            0..=MOST => aside(work >= WORTH_IT, || texts.show(&vault)),
            _ => Evidence::Unknown,
        }
    }
}

impl Texts {
    fn of(document: &Document<'_>) -> Self {
        let root = document.root();
        let (mut all, mut said) = (String::new(), String::new());
        document.leaves().for_each(|leaf| put(leaf, &mut all));
        let messages = root.get("messages").into_iter().flat_map(Node::children);
        for message in messages.filter(|message| !is_system(*message)) {
            texts(message, &mut said);
        }
        Self { all, said }
    }

    fn show(&self, vault: &Vault) -> Evidence {
        let stands = |text: &str, value: &str| {
            let token = vault.token(value);
            text.contains(value) || token.is_some_and(|token| text.contains(token))
        };
        let said = vault.values().any(|(_, value)| stands(&self.said, value));
        let all = || vault.values().all(|(_, value)| stands(&self.all, value));
        match said {
            true if all() => Evidence::All,
            true => Evidence::Some,
            // What stands in system prompts alone is the same for many.
            false if all() => Evidence::Empty,
            false => Evidence::None,
        }
    }
}

fn texts(node: Node<'_>, out: &mut String) {
    put(node, out);
    node.children().for_each(|child| texts(child, out));
}

fn put(leaf: Node<'_>, out: &mut String) {
    if let Some(text) = leaf.text() {
        out.push_str(&text);
        // A value does not lie across two texts.
        out.push('\0');
    }
}
