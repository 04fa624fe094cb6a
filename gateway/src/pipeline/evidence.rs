//! What a request shows of the values that a session holds: a conversation may read like another's, but
//! only its own client has its values.

use gatehouse_redactor::Vault;
use gatehouse_redactor::json::{Document, Node};

use crate::protocol::is_system;
use crate::session::Evidence;

/// The texts of a request.
pub(super) struct Shown {
    all: String,
    /// Those of messages, without system prompts: those are much alike from client to client.
    said: String,
}

impl Shown {
    pub(super) fn of(document: &Document<'_>) -> Self {
        let root = document.root();
        let mut shown = Self {
            all: String::new(),
            said: String::new(),
        };
        document.leaves().for_each(|leaf| put(leaf, &mut shown.all));
        let messages = root.get("messages").into_iter().flat_map(Node::children);
        for message in messages.filter(|message| !is_system(*message)) {
            texts(message, &mut shown.said);
        }
        shown
    }

    /// What it shows of a vault, as a session's state has it. One that cannot be read shows nothing
    /// of itself.
    pub(super) fn of_values(&self, vault: &[u8]) -> Evidence {
        let Ok(vault) = Vault::from_bytes(vault) else {
            return Evidence::None;
        };
        if vault.is_empty() {
            return Evidence::Empty;
        }
        let stands = |text: &str, value: &str| {
            let token = vault.token(value);
            text.contains(value) || token.is_some_and(|token| text.contains(token))
        };
        if vault.values().all(|(_, value)| stands(&self.all, value)) {
            Evidence::All
        } else if vault.values().any(|(_, value)| stands(&self.said, value)) {
            Evidence::Some
        } else {
            Evidence::None
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
