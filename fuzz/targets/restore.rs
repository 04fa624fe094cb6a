//! Restoration in streams: cut anywhere, a reply comes out as the whole one does. Bytes below 9 of
//! the input stand for the session's tokens and parts of them.
#![no_main]

use std::sync::LazyLock;

use gatehouse_redactor::{
    Direction, Engine, Field, Label, Policy, Pseudonyms, Vault,
    body::{Means, redact_text},
    reply::{Channel, ReplyContext},
};
use libfuzzer_sys::fuzz_target;

struct Names;

impl Pseudonyms for Names {
    fn digest(&self, label: Label, text: &str) -> [u8; 32] {
        gatehouse_envelope::digest::sha256(&[label.as_str().as_bytes(), &[0], text.as_bytes()])
    }
}

struct Session {
    policy: Policy,
    engine: Engine,
    vault: Vault,
    tokens: Vec<String>,
}

const VALUES: &str =
    "Mail lena.fors@example.org, card 4111 1111 1111 1111, phone +44 20 7946 0018.";

static SESSION: LazyLock<Session> = LazyLock::new(|| {
    let policy = Policy::default();
    let engine = Engine::new(&policy).expect("the built-in rules");
    let mut vault = Vault::new();
    let field = Field {
        key: None,
        direction: Direction::Prompt,
    };
    let _ = redact_text(
        VALUES,
        field,
        Means::of_rules(&engine, &policy, &Names),
        &mut vault,
    );
    let values: Vec<String> = vault.values().map(|(_, value)| value.to_owned()).collect();
    let token = |value: &String| vault.token(value).map(str::to_owned);
    let tokens: Vec<String> = values.iter().filter_map(token).collect();
    assert_eq!(tokens.len(), 3);
    Session {
        policy,
        engine,
        vault,
        tokens,
    }
});

/// Two cells of a stream and what stands around them. What is held is searched anew with each piece,
/// so the work is pieces times length: these bounds keep it at a few milliseconds.
const LONGEST: usize = 2560;
const LONGEST_BY_CHARACTER: usize = 96;
const MOST_CUTS: usize = 8;

fuzz_target!(|input: (bool, Vec<u8>, &str)| {
    let (arguments, cuts, text) = input;
    let text = filled(text);
    if text.len() > LONGEST {
        return;
    }
    let channel = || match arguments {
        false => Channel::text(),
        true => Channel::json_arguments("send_mail"),
    };
    let whole = through(channel(), [text.as_str()].into_iter());
    assert_eq!(
        whole,
        through(channel(), pieces(&text, &cuts).into_iter()),
        "cut as asked"
    );
    if text.len() > LONGEST_BY_CHARACTER {
        return;
    }
    let one_by_one = text
        .char_indices()
        .map(|(at, c)| &text[at..at + c.len_utf8()]);
    assert_eq!(whole, through(channel(), one_by_one), "cut everywhere");
});

/// What comes out; none if the reply is refused.
fn through<'t>(mut channel: Channel, pieces: impl Iterator<Item = &'t str>) -> Option<String> {
    let session = &*SESSION;
    let cx = ReplyContext {
        engine: &session.engine,
        policy: &session.policy,
        vault: &session.vault,
        names: &Names,
        model: None,
    };
    let mut out = String::new();
    for piece in pieces {
        out.push_str(&channel.push(&cx, piece).ok()?);
    }
    out.push_str(&channel.finish(&cx).ok()?);
    Some(out)
}

fn filled(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match usize::from(u8::try_from(c).unwrap_or(255)) {
            n @ 0..3 => out.push_str(&SESSION.tokens[n]),
            n @ 3..6 => out.push_str(&SESSION.tokens[n - 3].to_lowercase()),
            n @ 6..9 => out.push_str(SESSION.tokens[n - 6].trim_matches(['<', '>'])),
            _ => out.push(c),
        }
    }
    out
}

fn pieces<'t>(mut text: &'t str, cuts: &[u8]) -> Vec<&'t str> {
    let mut pieces = Vec::new();
    for cut in cuts.iter().take(MOST_CUTS) {
        let mut at = usize::from(*cut).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let (piece, rest) = text.split_at(at);
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}
