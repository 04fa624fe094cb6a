//! The search and what becomes of its findings: no panic, spans in bounds, redacting redacted text
//! changes nothing, and restoring gives back what was redacted (up to escapes where a text begins
//! like JSON and is none). Bytes below 32 of the input stand
//! for values and for what stands beside them.
#![no_main]

use std::sync::LazyLock;

use gatehouse_redactor::{
    Destination, Direction, Engine, Field, Label, Policy, Pseudonyms, Vault,
    body::{Means, redact_text},
    reply::{ReplyContext, ReplyReceipt, reply_text},
};
use libfuzzer_sys::fuzz_target;

struct Names;

impl Pseudonyms for Names {
    fn digest(&self, label: Label, text: &str) -> [u8; 32] {
        gatehouse_envelope::digest::sha256(&[label.as_str().as_bytes(), &[0], text.as_bytes()])
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
    let mut vault = Vault::new();
    let mut redact = |text: &str| {
        let means = Means::of_rules(engine, policy, &Names);
        redact_text(text, field, means, &mut vault)
            .expect("nothing is blocked")
            .0
    };
    let once = redact(&text);
    assert_eq!(redact(&once), once, "redacted twice");
    let cx = ReplyContext {
        engine,
        policy,
        vault: &vault,
        names: &Names,
        model: None,
    };
    let destination = Destination::ReplyText;
    let back = reply_text(&cx, &destination, &once, &mut ReplyReceipt::default());
    let back = back.expect("nothing is blocked");
    if could_be_json(&text) {
        assert_eq!(unescaped(back), unescaped(text), "restored");
    } else {
        assert_eq!(back, text, "restored");
    }
});

/// Whether a reply that begins like this is read as JSON. If it is none in the end, what was put
/// back into its strings is escaped for JSON all the same, since a stream cannot be taken back.
fn could_be_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_err()
}

/// The text with every escape for JSON undone, and those that this makes.
fn unescaped(mut text: String) -> String {
    loop {
        let mut next = text.clone();
        for (escape, plain) in [
            ("\\\\", "\\"),
            ("\\\"", "\""),
            ("\\n", "\n"),
            ("\\r", "\r"),
            ("\\u001b", "\u{1b}"),
        ] {
            next = next.replace(escape, plain);
        }
        if next == text {
            return text;
        }
        text = next;
    }
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
