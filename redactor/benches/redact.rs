//! What the search costs, in bytes a second, on the kinds of text that agents send, beside a
//! plain pass over the same bytes in the same run. For counts that a busy machine does not
//! change: `valgrind --tool=callgrind --toggle-collect='*Engine*find*' BENCH --bench mixed`.

mod texts;

use std::hash::{DefaultHasher, Hash, Hasher};

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use gatehouse_redactor::body::{Means, redact_text};
use gatehouse_redactor::reply::{Channel, ReplyContext};
use gatehouse_redactor::{Dictionary, Direction, Engine, Field, Label, Policy, Pseudonyms, Vault};

use self::texts::Kind;

const KB: usize = 1024;

fn main() {
    divan::main();
}

const FIELD: Field<'static> = Field {
    key: None,
    direction: Direction::Prompt,
};

fn engine(dictionaries: Vec<Dictionary>) -> Engine {
    let policy = Policy {
        dictionaries,
        ..Policy::default()
    };
    Engine::new(&policy).unwrap_or_else(|_| unreachable!("the bench's own policy is sound"))
}

fn find(bencher: Bencher<'_, '_>, engine: &Engine, text: &str) {
    bencher
        .counter(BytesCount::of_str(text))
        .bench(|| engine.find(black_box(text), FIELD).map(|found| found.len()));
}

/// The floor: every byte is looked at once.
#[divan::bench(args = [KB, 32 * KB, 1024 * KB])]
fn byte_pass(bencher: Bencher<'_, '_>, size: usize) {
    let text = texts::mixed(size);
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let bytes = black_box(&text).bytes();
        bytes.fold(0u8, |sum, byte| sum.wrapping_mul(31) ^ byte)
    });
}

#[divan::bench(args = [KB, 32 * KB, 1024 * KB])]
fn mixed(bencher: Bencher<'_, '_>, size: usize) {
    find(bencher, &engine(Vec::new()), &texts::mixed(size));
}

/// The same with two hundred names of the policy's own.
#[divan::bench(args = [32 * KB])]
fn mixed_with_dictionary(bencher: Bencher<'_, '_>, size: usize) {
    let terms = (0..200)
        .map(|n| format!("Name{} Surname{}", n * 7, n * 11))
        .collect();
    let dictionary = Dictionary {
        label: Label::PERSON,
        terms,
        inflect: true,
    };
    find(bencher, &engine(vec![dictionary]), &texts::mixed(size));
}

fn one_kind(bencher: Bencher<'_, '_>, kind: Kind) {
    find(bencher, &engine(Vec::new()), &texts::of(&[kind], 32 * KB));
}

#[divan::bench]
fn kind_prose(bencher: Bencher<'_, '_>) {
    one_kind(bencher, texts::prose);
}

#[divan::bench]
fn kind_records(bencher: Bencher<'_, '_>) {
    one_kind(bencher, texts::records);
}

#[divan::bench]
fn kind_code(bencher: Bencher<'_, '_>) {
    one_kind(bencher, texts::code);
}

#[divan::bench]
fn kind_logs(bencher: Bencher<'_, '_>) {
    one_kind(bencher, texts::logs);
}

#[divan::bench]
fn kind_chat(bencher: Bencher<'_, '_>) {
    one_kind(bencher, texts::chat);
}

#[divan::bench]
fn kind_escaped(bencher: Bencher<'_, '_>) {
    one_kind(bencher, texts::escaped);
}

/// Tells values apart; what the gateway does with its keys instead is no part of the search.
struct Names;

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

/// JSON as the gateway has it: parsed, searched leaf by leaf, keys too, and spliced, in a session
/// that is new. Eight times the body must take eight times as long.
#[divan::bench(args = [32 * KB, 256 * KB])]
fn leaves(bencher: Bencher<'_, '_>, size: usize) {
    let lines = texts::of(&[texts::records], size);
    let lines: Vec<&str> = lines.lines().filter(|line| line.ends_with('}')).collect();
    let text = format!("[{}]", lines.join(","));
    let policy = Policy::default();
    let engine = engine(Vec::new());
    let means = Means::of_rules(&engine, &policy, &Names);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench_local(|| redact_text(black_box(&text), FIELD, means, &mut Vault::new()));
}

/// Texts that make naive searches quadratic, a megabyte each.
#[divan::bench(
    args = ["a@", "1", "1 ", "(", "[{", "a", "password=", "-----BEGIN ", "%25", "Y29u", "eyJ", "a.b@c-"],
    sample_count = 3,
    sample_size = 1
)]
fn hostile(bencher: Bencher<'_, '_>, unit: &str) {
    let text = unit.repeat(1024 * KB / unit.len());
    find(bencher, &engine(Vec::new()), &text);
}

/// A reply of prose in pieces of a word or two, as models send them, in pieces a second.
#[divan::bench]
fn reply_in_pieces(bencher: Bencher<'_, '_>) {
    let (engine, policy, vault) = (engine(Vec::new()), Policy::default(), Vault::new());
    let context = ReplyContext {
        engine: &engine,
        policy: &policy,
        vault: &vault,
        names: &Names,
        model: None,
    };
    let text: Vec<char> = texts::of(&[texts::prose], 8 * KB).chars().collect();
    let pieces: Vec<String> = text.chunks(8).map(|piece| piece.iter().collect()).collect();
    bencher
        .counter(ItemsCount::new(pieces.len()))
        .bench_local(|| {
            let mut channel = Channel::text();
            let push = |piece: &String| {
                channel
                    .push(&context, black_box(piece))
                    .map(|out| out.len())
            };
            pieces.iter().map(push).filter(Result::is_ok).count()
        });
}

/// A reply that is there as a whole.
#[divan::bench(args = [KB, 32 * KB])]
fn reply_whole(bencher: Bencher<'_, '_>, size: usize) {
    let (engine, policy, vault) = (engine(Vec::new()), Policy::default(), Vault::new());
    let context = ReplyContext {
        engine: &engine,
        policy: &policy,
        vault: &vault,
        names: &Names,
        model: None,
    };
    let text = texts::of(&[texts::prose], size);
    bencher.counter(BytesCount::of_str(&text)).bench_local(|| {
        let mut channel = Channel::text();
        let pushed = channel.push(&context, black_box(&text));
        let ended = channel.finish(&context);
        pushed.map(|out| out.len()).and(ended.map(|out| out.len()))
    });
}

/// A stream asks after each piece how much of its window is settled.
#[divan::bench]
fn undecided_window(bencher: Bencher<'_, '_>) {
    let engine = engine(Vec::new());
    let text = texts::of(&[texts::prose], 2 * KB);
    let window: String = text.chars().take(Engine::LEFT_CONTEXT + 64).collect();
    bencher
        .counter(BytesCount::of_str(&window))
        .bench(|| engine.undecided(black_box(&window), FIELD));
}

#[divan::bench]
fn compile() -> Engine {
    engine(Vec::new())
}
