//! What the tests of this crate share.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::engine::Engine;
use crate::finding::Field;
use crate::label::Label;
use crate::policy::{Direction, Policy};
use crate::reply::{Channel, ReplyContext};
use crate::vault::{Pseudonyms, Shape, Vault};

/// A digest that is good enough to tell values of a test apart.
pub(crate) struct Names;

impl Pseudonyms for Names {
    fn digest(&self, label: Label, text: &str) -> [u8; 32] {
        let mut digest = [0; 32];
        for (part, out) in digest.chunks_mut(8).enumerate() {
            let mut hasher = DefaultHasher::new();
            (part, label, text).hash(&mut hasher);
            out.copy_from_slice(&hasher.finish().to_be_bytes());
        }
        digest
    }
}

pub(crate) const LENA: &str = "lena.fors@example.org";
pub(crate) const CARD: &str = "4111111111111111";

/// A session of a test.
pub(crate) struct Session {
    pub(crate) policy: Policy,
    pub(crate) engine: Engine,
    pub(crate) vault: Vault,
}

impl Session {
    /// A session under a policy as a file would say it.
    pub(crate) fn with(policy: &str) -> Self {
        let policy: Policy = toml::from_str(policy).unwrap();
        let engine = Engine::new(&policy).unwrap();
        Self {
            policy,
            engine,
            vault: Vault::new(),
        }
    }

    /// Under the default policy.
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// Learns a value and says its token.
    pub(crate) fn learn(&mut self, label: Label, value: &str) -> String {
        self.shape(label, value, Shape::Text)
    }

    /// Learns a value that stood as a number in JSON.
    pub(crate) fn learn_number(&mut self, label: Label, value: &str) -> String {
        self.shape(label, value, Shape::Number)
    }

    fn shape(&mut self, label: Label, value: &str, shape: Shape) -> String {
        let entry = self.vault.insert(value, label, shape, true, &Names);
        self.vault.entry(entry).unwrap().token.clone()
    }

    pub(crate) fn redact(&mut self, text: &str) -> String {
        let field = Field {
            key: None,
            direction: Direction::Prompt,
        };
        let Self {
            policy,
            engine,
            vault,
        } = self;
        let means = crate::body::Means::of_rules(engine, policy, &Names);
        crate::body::redact_text(text, field, means, vault)
            .unwrap()
            .0
    }

    pub(crate) fn context(&self) -> ReplyContext<'_> {
        let Self {
            policy,
            engine,
            vault,
        } = self;
        ReplyContext {
            engine,
            policy,
            vault,
            names: &Names,
            model: None,
        }
    }

    /// What a channel makes of a text; the same however the text is cut, and at no time is a
    /// piece of what must not leave among what was released.
    pub(crate) fn streamed(
        &self,
        make: impl Fn() -> Channel,
        text: &str,
        never: &[&str],
    ) -> String {
        let cx = self.context();
        let run = |pieces: &[&str]| {
            let mut channel = make();
            let mut out = String::new();
            for piece in pieces {
                out.push_str(&channel.push(&cx, piece).unwrap());
                assert!(
                    never.iter().all(|part| !out.contains(part)),
                    "{out:?} of {pieces:?}"
                );
            }
            out.push_str(&channel.finish(&cx).unwrap());
            assert!(
                never.iter().all(|part| !out.contains(part)),
                "{out:?} of {pieces:?}"
            );
            (out, channel.receipt().clone())
        };
        let whole = run(&[text]);
        let mut channel = make();
        let at_once = channel.end(&cx, text).unwrap();
        assert_eq!((at_once, channel.receipt().clone()), whole, "at once");
        let chars: Vec<&str> = text.split_inclusive(|_| true).collect();
        assert_eq!(run(&chars), whole, "one character at a time");
        for (cut, _) in text.char_indices().skip(1) {
            assert_eq!(run(&[&text[..cut], &text[cut..]]), whole, "cut at {cut}");
        }
        whole.0
    }

    /// The text of a reply.
    pub(crate) fn text(&self, text: &str, never: &[&str]) -> String {
        self.streamed(Channel::text, text, never)
    }

    /// The arguments of a call to `tool`.
    pub(crate) fn arguments(&self, json: &str, never: &[&str]) -> String {
        self.streamed(|| Channel::json_arguments("tool"), json, never)
    }
}
