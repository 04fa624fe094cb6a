//! Texts as agents send them, from a seed: prose, records, code, logs and chat, with a value to
//! find now and then. No line is written twice, so that no cache learns one.

use std::fmt::Write as _;

/// Words that stand in texts about work, common ones more than once.
const WORDS: &[&str] = &[
    "the",
    "the",
    "the",
    "a",
    "a",
    "of",
    "of",
    "to",
    "to",
    "and",
    "and",
    "in",
    "in",
    "is",
    "that",
    "for",
    "it",
    "on",
    "with",
    "as",
    "was",
    "at",
    "by",
    "this",
    "be",
    "from",
    "or",
    "an",
    "are",
    "not",
    "we",
    "you",
    "can",
    "has",
    "have",
    "will",
    "if",
    "which",
    "when",
    "their",
    "more",
    "request",
    "service",
    "update",
    "report",
    "customer",
    "account",
    "order",
    "review",
    "system",
    "table",
    "number",
    "process",
    "between",
    "because",
    "deploy",
    "release",
    "measure",
    "before",
    "after",
    "invoice",
    "warehouse",
    "delivery",
    "meeting",
    "agenda",
    "contract",
    "schedule",
    "nothing",
    "everything",
    "problem",
    "question",
    "answer",
    "office",
    "Monday",
    "Thursday",
    "March",
    "October",
    "server",
    "network",
    "latency",
    "throughput",
    "memory",
    "storage",
    "index",
    "column",
    "record",
    "version",
    "branch",
    "commit",
    "pipeline",
    "container",
    "cluster",
    "node",
    "failed",
    "started",
    "finished",
    "waiting",
    "running",
    "blocked",
    "approved",
    "rejected",
    "please",
    "thanks",
    "quickly",
    "slowly",
    "carefully",
    "roughly",
    "exactly",
    "internal",
    "external",
    "available",
    "required",
    "optional",
    "automatic",
    "manual",
    "average",
    "maximum",
    "password",
    "token",
    "key",
    "address",
    "phone",
    "card",
    "user",
    "session",
    "secret",
    "login",
    "supplier",
    "quarterly",
    "forecast",
    "inventory",
    "shipment",
    "temperature",
    "pressure",
];
const NAMES: &[&str] = &[
    "Lena",
    "Tobias",
    "Mira",
    "Okafor",
    "Lindqvist",
    "Fors",
    "Ana",
    "Kowalska",
    "Jonas",
    "Weber",
    "Priya",
    "Nair",
    "Elif",
    "Demir",
    "Noah",
    "Clarke",
    "Ines",
    "Duarte",
    "Marta",
    "Novak",
];
const LEVELS: &[&str] = &["INFO", "DEBUG", "WARN", "ERROR", "TRACE"];

/// A generator of numbers: SplitMix64, good enough to vary texts.
pub(crate) struct Seed(u64);

impl Seed {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one<'l>(&mut self, list: &[&'l str]) -> &'l str {
        let at = self.below(list.len() as u64) as usize;
        list.get(at).copied().unwrap_or_default()
    }

    fn word(&mut self) -> &'static str {
        self.one(WORDS)
    }

    fn words(&mut self, count: u64) -> String {
        let words: Vec<&str> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}

/// A kind of text: appends its next lines.
pub(crate) type Kind = fn(&mut Seed, &mut String);

/// `size` bytes of one kind, or of several in turn.
pub(crate) fn of(kinds: &[Kind], size: usize) -> String {
    let mut seed = Seed(0x6A7E_4005);
    let mut out = String::with_capacity(size + 2048);
    for kind in kinds.iter().cycle() {
        if out.len() >= size {
            break;
        }
        kind(&mut seed, &mut out);
    }
    out.truncate(out.floor_char_boundary(size));
    out
}

/// All kinds in turn.
pub(crate) fn mixed(size: usize) -> String {
    of(&[prose, records, code, logs, chat, escaped], size)
}

/// Sentences; in one of forty stands a value.
pub(crate) fn prose(seed: &mut Seed, out: &mut String) {
    for _ in 0..6 {
        let count = 7 + seed.below(14);
        let mut sentence = seed.words(count);
        if let Some(first) = sentence.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        if seed.below(40) == 0 {
            let _ = write!(sentence, ", says {}", mail(seed));
        }
        let _ = write!(out, "{sentence}. ");
    }
    out.push_str("\n\n");
}

/// JSON, one object a line; in one of six stands an address and a telephone number.
pub(crate) fn records(seed: &mut Seed, out: &mut String) {
    for _ in 0..4 {
        let _ = write!(
            out,
            "{{\"id\":{},\"object\":\"{}\",\"sku\":\"SKU-{:08}\",\"price\":{}.{:02},\"active\":true,\"tags\":[\"{}\",\"{}\"],\"note\":\"{}\",\"created\":17{:08}",
            seed.below(900_000),
            seed.word(),
            seed.below(100_000_000),
            seed.below(500),
            seed.below(100),
            seed.word(),
            seed.word(),
            seed.words(6),
            seed.below(100_000_000),
        );
        if seed.below(6) == 0 {
            let _ = write!(
                out,
                ",\"mail\":\"{}\",\"phone\":\"+1 415 555 {:04}\"",
                mail(seed),
                seed.below(10_000)
            );
        }
        out.push_str("}\n");
    }
}

/// A function of a program.
pub(crate) fn code(seed: &mut Seed, out: &mut String) {
    let (name, kind, argument) = (seed.word(), seed.word(), seed.word());
    let _ = write!(
        out,
        "    /// {}.\n    pub fn {name}_{kind}(&self, {argument}: usize) -> Option<&{}> {{\n        let {kind} = self.{name}s.get({argument} + {})?;\n        if {kind}.{}() > 0x{:x} && !self.is_{}() {{\n            return None;\n        }}\n        Some({kind}.{}(\"{}\", {argument}))\n    }}\n\n",
        seed.words(9),
        seed.word(),
        seed.below(64),
        seed.word(),
        seed.below(1 << 16),
        seed.word(),
        seed.word(),
        seed.words(3),
    );
}

/// Lines of logs; in one of twelve stands an address of a host.
pub(crate) fn logs(seed: &mut Seed, out: &mut String) {
    for _ in 0..5 {
        let _ = write!(
            out,
            "2026-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z {} [worker-{}] {}::{}: {} request_id={:016x} took={}ms bytes={}",
            1 + seed.below(12),
            1 + seed.below(28),
            seed.below(24),
            seed.below(60),
            seed.below(60),
            seed.below(1000),
            seed.one(LEVELS),
            seed.below(16),
            seed.word(),
            seed.word(),
            seed.words(4),
            seed.next(),
            seed.below(5000),
            seed.below(1 << 30),
        );
        if seed.below(12) == 0 {
            let _ = write!(
                out,
                " peer=203.0.113.{}:{}",
                1 + seed.below(250),
                1024 + seed.below(60_000)
            );
        }
        out.push('\n');
    }
}

/// What people write to each other; values stand in a good part of it.
pub(crate) fn chat(seed: &mut Seed, out: &mut String) {
    let (who, other) = (seed.one(NAMES), seed.one(NAMES));
    let _ = writeln!(out, "**{who}**: hey {other}, {}?", seed.words(9));
    match seed.below(5) {
        0 => {
            let _ = writeln!(out, "**{other}**: sure, write me: {}", mail(seed));
        }
        1 => {
            let (area, line) = (200 + seed.below(700), seed.below(10_000));
            let _ = writeln!(out, "**{other}**: call ({area}) 555-{line:04} 👍");
        }
        2 => {
            let _ = writeln!(
                out,
                "**{other}**: the password is {}{}!",
                seed.word(),
                seed.below(9999)
            );
        }
        _ => {
            let _ = writeln!(out, "**{other}**: “{}” – {}…", seed.words(5), seed.words(8));
        }
    }
}

/// JSON inside a string, with escapes and letters beyond ASCII.
pub(crate) fn escaped(seed: &mut Seed, out: &mut String) {
    let _ = writeln!(
        out,
        "{{\\\"{}\\\":\\\"{} żółć\\\",\\\"url\\\":\\\"https:\\/\\/example.org\\/{}?q={}%20{}\\\",\\\"n\\\":{}}}\\n",
        seed.word(),
        seed.words(4),
        seed.word(),
        seed.word(),
        seed.word(),
        seed.below(1 << 20),
    );
}

fn mail(seed: &mut Seed) -> String {
    let (first, last) = (seed.one(NAMES), seed.one(NAMES));
    format!(
        "{}.{}{}@example.org",
        first.to_lowercase(),
        last.to_lowercase(),
        seed.below(100)
    )
}
