//! The search and what becomes of its findings: no panic, spans in bounds, redacting redacted text
//! changes nothing (once more, if that has made JSON of it), and restoring gives back what was
//! redacted (up to escapes where a text begins like JSON). Bytes below 32 of the input stand for
//! values and for what stands beside them.
#![no_main]

use std::sync::LazyLock;

use gatehouse_redactor::{
    Destination, Direction, Engine, Field, Label, Policy, Pseudonyms, Vault,
    body::{Means, redact_text},
    reply::{ReplyContext, ReplyReceipt, reply_text},
};
use libfuzzer_sys::fuzz_target;

/// Tokens depend on the whole input, so that none can hold one of its own: a session's key is secret.
struct Names([u8; 32]);

impl Pseudonyms for Names {
    fn digest(&self, label: Label, text: &str) -> [u8; 32] {
        gatehouse_envelope::digest::sha256(&[
            &self.0,
            label.as_str().as_bytes(),
            &[0],
            text.as_bytes(),
        ])
    }
}

/// Replies put everything back and mask nothing, so that restoring is the inverse.
static RULES: LazyLock<(Policy, Engine)> = LazyLock::new(|| {
    let mut text = String::from("[restore]\narguments = \"all\"\n");
    for label in Label::BUILT_IN {
        text.push_str(&format!("[labels.{label}]\nreply = \"allow\"\n"));
    }
    let policy: Policy = toml::from_str(&text).expect("a policy");
    let engine = Engine::new(&policy).expect("the built-in rules");
    (policy, engine)
});

const PIECES: [&str; 32] = [
    "lena.fors@example.org",
    "4111 1111 1111 1111",
    "+44 20 7946 0018",
    "512-48-3071",
    "GB82 WEST 1234 5698 7654 32",
    "password=hunter2x",
    "\n",
    "AKIAQ3EGRTJ5XZBN7W2K",
    "Dr. Tobias Lindqvist",
    "\r",
    "12 Elm Street, Springfield, IL 62704",
    "bGVuYS5mb3JzQGV4YW1wbGUub3Jn",
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAw\n-----END PRIVATE KEY-----",
    "https://lena:s3cr3t@host/x",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "id,last_name,ssn\n1,okafor,512483071\n",
    "| name | dob |\n|---|---|\n",
    "INSERT INTO t (a, ssn) VALUES (1, '512483071'), (",
    "{\"ssn\": 512483071, \"dob\": \"1990-01-02\"}",
    "date of birth: ",
    "<EMAIL_k7q2mz>",
    "<EMAIL>",
    "\u{200B}",
    "%40",
    "&#64;",
    "\\u0040",
    "=3D",
    "\u{1b}[0m",
    "passport no. A0750176",
    "Authorization: Basic bGVuYTpzZWNyZXQ=",
    "\u{E0061}",
    "192.0.2.1",
];

const LONGEST: usize = 4096;

fuzz_target!(|input: (u8, &str)| {
    let (key, text) = input;
    let text = filled(text);
    if text.len() > LONGEST {
        return;
    }
    let keys = [
        None,
        Some("note"),
        Some("db_password"),
        Some("patient_name"),
        Some("dob"),
    ];
    let field = Field {
        key: keys[usize::from(key) % keys.len()],
        direction: Direction::Prompt,
    };
    let (policy, engine) = &*RULES;
    let mut last = 0;
    for found in engine.find(&text, field).expect("a search that ends") {
        assert!(last <= found.start && found.start < found.end && found.end <= text.len());
        assert!(text.is_char_boundary(found.start) && text.is_char_boundary(found.end));
        last = found.end;
    }
    assert!(engine.undecided(&text, field) <= text.len());
    let names = Names(gatehouse_envelope::digest::sha256(&[text.as_bytes()]));
    let mut vault = Vault::new();
    let mut redact = |text: &str| {
        let means = Means::of_rules(engine, policy, &names);
        redact_text(text, field, means, &mut vault)
            .expect("nothing is blocked")
            .0
    };
    let once = redact(&text);
    // Line breaks of a private key keep a text from being a string of JSON. Without them it may be one,
    // and what stands in it is read without its quotes then.
    let twice = redact(&once);
    if is_json(&once) == is_json(&text) {
        assert_eq!(twice, once, "redacted twice");
    } else {
        assert_eq!(redact(&twice), twice, "redacted once it is JSON");
    }
    let cx = ReplyContext {
        engine,
        policy,
        vault: &vault,
        names: &names,
        model: None,
    };
    let destination = Destination::ReplyText;
    let back = reply_text(&cx, &destination, &once, &mut ReplyReceipt::default());
    let back = back.expect("nothing is blocked");
    if is_escaped(&text) {
        assert_eq!(unescaped(&back), unescaped(&text), "restored");
        assert!(is_json(&back) || !is_json(&text) || text.trim_start().starts_with('"'));
    } else {
        assert_eq!(back, text, "restored");
    }
});

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Whether a text that begins like this is read as JSON. A session knows a value, not how it was
/// escaped; and if a reply is no JSON in the end, what was put back into its strings is escaped all
/// the same, since a stream cannot be taken back.
fn is_escaped(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"'])
}

/// The text with every escape for JSON undone, and those that this makes.
fn unescaped(text: &str) -> String {
    let (mut text, mut at) = (text.to_owned(), 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        let rest = &text[at + 1..];
        let (plain, length) = match rest.chars().next() {
            Some(c @ ('\\' | '"' | '/')) => (Some(c), 1),
            Some('b') => (Some('\u{8}'), 1),
            Some('f') => (Some('\u{c}'), 1),
            Some('n') => (Some('\n'), 1),
            Some('r') => (Some('\r'), 1),
            Some('t') => (Some('\t'), 1),
            Some('u') => (unit(rest), 5),
            _ => (None, 0),
        };
        match plain {
            Some(c) => {
                text.replace_range(at..at + 1 + length, c.encode_utf8(&mut [0; 4]));
                // What this made may be an escape together with what stands before it.
                at = text[..at].rfind(|c| c != '\\').map_or(0, |before| before);
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
            }
            None => at += 1,
        }
    }
    text
}

/// The character of `uXXXX`, unless it is half of one.
fn unit(escape: &str) -> Option<char> {
    let code = u32::from_str_radix(escape.get(1..5)?, 16).ok()?;
    char::from_u32(code)
}

fn filled(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match PIECES.get(c as usize) {
            Some(piece) => out.push_str(piece),
            None => out.push(c),
        }
    }
    out
}
