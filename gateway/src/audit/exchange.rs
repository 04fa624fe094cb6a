//! The two records that frame an exchange.

use std::collections::BTreeMap;

use gatehouse_ledger::event::{Builder, Event, MAX_INTEGER};
use gatehouse_ledger::payload::Body;
use gatehouse_redactor::Label;

use super::parts::{BuildError, Draft, Link, Source, StateKey, Subject, Who, counts, is_word};
use super::prompt::Prompt;
use super::redaction::Redaction;
use super::state::Proposed;

/// `exchange.admitted`: durable before the first byte goes to a provider.
pub struct Admitted<'a> {
    /// The request id, `r_…`.
    pub request: &'a str,
    /// The session.
    pub subject: Subject<'a>,
    /// The caller.
    pub who: Who<'a>,
    /// Where the request came from.
    pub source: Source<'a>,
    /// Digest of the redaction policy in force.
    pub policy: [u8; 32],
    /// Digest of the running program.
    pub build: [u8; 32],
    /// Digest of the configuration in force.
    pub config: [u8; 32],
    /// How long the exchange may take in all, in microseconds: it is settled by then.
    pub limit_us: u64,
    /// How the request came to its session: `ambiguous`, `matched`, `new` or `sent`.
    pub continuity: &'static str,
    /// What screening did.
    pub redaction: Redaction<'a>,
    /// Digests of the prompt's parts, where the configuration asks for them.
    pub prompt: Option<Prompt>,
    /// Tokens set aside for the exchange.
    pub reserved_tokens: u64,
    /// Where the request goes.
    pub upstream: Upstream<'a>,
    /// The sealed request, where payloads are kept. It is stored already.
    pub payload: Option<&'a Body>,
    /// The key that seals the session's state.
    pub state: Option<StateKey<'a>>,
}

/// Where a request goes.
#[derive(Clone, Copy)]
pub struct Upstream<'a> {
    /// The provider's name in the configuration.
    pub provider: &'a str,
    /// The protocol's name.
    pub api: &'a str,
    /// The model asked for.
    pub model: &'a str,
    /// The provider's region, where one is configured.
    pub region: Option<&'a str>,
    /// The id of the provider key used; never the key.
    pub key_id: Option<&'a str>,
}

impl Admitted<'_> {
    /// The event at `link` of its session.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self, link: Link) -> Result<Event, BuildError> {
        let mut draft = Draft::new("exchange.admitted");
        draft.word("rid", self.request);
        draft.subject(self.subject, link);
        draft.who(self.who);
        draft.source(self.source);
        draft.put().sha256("policy", &self.policy);
        draft
            .put()
            .sha256("build", &self.build)
            .sha256("cfg", &self.config);
        draft.put().integer("limit_us", self.limit_us);
        draft.word("continuity", self.continuity);
        draft.put().object("red", |red| self.redaction.write(red));
        if let Some(prompt) = &self.prompt {
            draft.put().object("prompt", |object| prompt.write(object));
        }
        let reserved = self.reserved_tokens.min(MAX_INTEGER);
        draft
            .put()
            .object("budget", |b| _ = b.integer("reserved_tokens", reserved));
        let up = self.upstream;
        let words = [
            ("provider", Some(up.provider)),
            ("api", Some(up.api)),
            ("model", Some(up.model)),
            ("region", up.region),
            ("key_id", up.key_id),
        ];
        draft.object("up", words, |_| {});
        draft.payload(self.payload);
        draft.state_key(self.state);
        draft.finish()
    }
}

/// `exchange.settled`: how it ended, whatever the ending.
pub struct Settled<'a> {
    /// The request id, as in the admitted record.
    pub request: &'a str,
    /// The session.
    pub subject: Subject<'a>,
    /// The HTTP status that the caller got.
    pub status: u16,
    /// The provider's own status, if it answered.
    pub upstream_status: Option<u16>,
    /// How the exchange ended.
    pub ending: Ending,
    /// How often the provider was tried.
    pub attempts: u64,
    /// What the provider counted.
    pub usage: Usage,
    /// What was charged in the end; `None` if nobody can say, so that what was set aside stands.
    pub budget: Option<Charged>,
    /// What was found in, masked in and restored into the reply.
    pub reply: Reply<'a>,
    /// The change of phase that the model proposed.
    pub phase: Option<Proposed<'a>>,
    /// Keyed digest of the reply's bytes as the provider sent them.
    pub upstream_digest: Option<[u8; 32]>,
    /// The sealed reply, where payloads are kept. It is stored already.
    pub payload: Option<&'a Body>,
    /// The part of the exchange that should be kept and is not.
    pub unstored: Option<&'static str>,
    /// From the admission to this record, in microseconds.
    pub duration_us: u64,
}

/// What an exchange was charged with, in the place of what was set aside for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charged {
    /// Tokens of all kinds.
    pub tokens: u64,
    /// Whether they are an upward estimate, for want of the provider's own count.
    pub estimated: bool,
    /// Tokens that the meter lacked when the exchange was admitted, though they had been spent.
    pub missing: u64,
}

impl Charged {
    fn write(self, budget: &mut Builder) {
        budget.integer("settled_tokens", self.tokens.min(MAX_INTEGER));
        if self.estimated {
            budget.text("basis", "estimate");
        } else {
            budget.text("basis", "usage");
        }
        let missing = Some(self.missing.min(MAX_INTEGER)).filter(|missing| *missing > 0);
        budget.some_integer("missing_tokens", missing);
    }
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The caller hung up before the end.
    CallerGone,
    /// The reply was delivered whole.
    Done,
    /// The provider or the gateway failed.
    Error,
    /// Another turn of the session interrupted it.
    Interrupted,
    /// A time-out of the gateway.
    Timeout,
    /// The provider cut the reply short.
    UpstreamCut,
}

impl Ending {
    fn word(self) -> &'static str {
        match self {
            Self::CallerGone => "caller_gone",
            Self::Done => "done",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
            Self::Timeout => "timeout",
            Self::UpstreamCut => "upstream_cut",
        }
    }
}

/// The provider's own counts; none where it gave none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt tokens.
    pub input: Option<u64>,
    /// Completion tokens.
    pub output: Option<u64>,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: Option<u64>,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: Option<u64>,
    /// Completion tokens spent on reasoning.
    pub reasoning: Option<u64>,
    /// Cost in micro-USD, where the model has a price.
    pub cost_uusd: Option<u64>,
}

/// The search of a reply, and the restorations in it.
pub struct Reply<'a> {
    /// Text channels and leaves searched.
    pub visited: u64,
    /// New values masked, by label.
    pub masked: &'a BTreeMap<Label, u32>,
    /// Values put back.
    pub restored: &'a [Restored<'a>],
    /// Tokens of ours that were left standing.
    pub unresolved: u64,
}

/// How many values of one label went back to one destination.
pub struct Restored<'a> {
    /// Where they went.
    pub destination: Destination<'a>,
    /// Their label.
    pub label: Label,
    /// How many.
    pub count: u64,
}

/// Where a value went back to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Destination<'a> {
    /// The arguments of tools that the record does not name.
    OtherTool,
    /// The text of the reply.
    Text,
    /// The arguments of the named tool.
    Tool(&'a str),
}

impl<'a> Destination<'a> {
    /// The arguments of the tool that a provider called so. It may call a tool anything, and what
    /// it does must be recorded all the same: a name that is no plain word is left out.
    pub fn tool(name: &'a str) -> Self {
        if is_word(name) {
            Self::Tool(name)
        } else {
            Self::OtherTool
        }
    }
}

impl Settled<'_> {
    /// The event at `link` of its session, or outside its chain if the chain has been lost.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self, link: Option<Link>) -> Result<Event, BuildError> {
        let mut draft = Draft::new("exchange.settled");
        draft.word("rid", self.request);
        for restored in self.reply.restored {
            restored.check(&mut draft);
        }
        match link {
            Some(link) => draft.subject(self.subject, link),
            None => draft.outside(self.subject),
        }
        draft.put().integer("status", u64::from(self.status));
        let upstream_status = self.upstream_status.map(u64::from);
        draft.put().some_integer("up_status", upstream_status);
        draft
            .put()
            .text("ending", self.ending.word())
            .integer("attempts", self.attempts);
        draft.put().object("use", |object| self.usage.write(object));
        if let Some(charged) = self.budget {
            draft.put().object("budget", |b| charged.write(b));
        }
        draft.put().object("reply", |reply| self.reply.write(reply));
        self.phase.iter().for_each(|it| it.write(&mut draft));
        if let Some(digest) = &self.upstream_digest {
            draft.put().hex("up_h", digest);
        }
        draft.payload(self.payload);
        draft.put().some_text("unstored", self.unstored);
        draft.put().integer("duration_us", self.duration_us);
        draft.finish()
    }
}

impl Restored<'_> {
    fn check(&self, draft: &mut Draft) {
        if let Destination::Tool(name) = self.destination {
            draft.check("tool", Some(name));
        }
    }
}

impl Usage {
    fn write(&self, usage: &mut Builder) {
        for (key, count) in [
            ("in_tokens", self.input),
            ("out_tokens", self.output),
            ("cache_read_tokens", self.cache_read),
            ("cache_write_tokens", self.cache_write),
            ("reasoning_tokens", self.reasoning),
            ("cost_uusd", self.cost_uusd),
        ] {
            // A provider can count to any number; the largest that a record holds stands for those
            // beyond it.
            usage.some_integer(key, count.map(|count| count.min(MAX_INTEGER)));
        }
    }
}

impl Reply<'_> {
    fn write(&self, reply: &mut Builder) {
        reply.integer("visited", self.visited);
        counts(reply, "masked", self.masked);
        reply.objects("restored", self.restored, |item, restored| {
            match restored.destination {
                Destination::OtherTool => item.text("to", "tool"),
                Destination::Text => item.text("to", "text"),
                Destination::Tool(name) => item.text("to", "tool").text("tool", name),
            };
            item.text("label", restored.label.as_str())
                .integer("n", restored.count);
        });
        reply.integer("unresolved", self.unresolved);
    }
}
