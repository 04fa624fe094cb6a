//! What the search costs, in bytes a second, on the kinds of text that agents send.
//!
//! The texts are put together from many different lines, so that no cache learns a sentence.

use divan::counter::BytesCount;
use gatehouse_redactor::{Dictionary, Direction, Engine, Field, Label, Policy};

const SIZE: usize = 32 * 1024;

fn main() {
    divan::main();
}

fn field() -> Field<'static> {
    Field {
        key: None,
        direction: Direction::Prompt,
    }
}

fn engine() -> Engine {
    let terms = (0..200)
        .map(|n| format!("{} {}", word(n * 7), word(n * 11 + 3)))
        .collect();
    let dictionaries = vec![Dictionary {
        label: Label::PERSON,
        terms,
        inflect: true,
    }];
    let policy = Policy {
        dictionaries,
        ..Policy::default()
    };
    Engine::new(&policy).unwrap_or_else(|_| unreachable!("the bench's own policy is sound"))
}

/// A word that looks like one, another for each number.
fn word(seed: u64) -> String {
    const HEADS: &[&str] = &[
        "ba", "cor", "del", "fin", "gra", "hol", "kir", "lo", "mer", "nov", "pra", "sel", "tor",
        "vin",
    ];
    const TAILS: &[&str] = &[
        "dan", "est", "ika", "lo", "mar", "net", "ors", "ti", "una", "ver", "we", "zen",
    ];
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x2545_F491;
    let mut out = String::new();
    for list in [HEADS, TAILS, TAILS].iter().take(2 + (seed % 2) as usize) {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let at = (state >> 33) as usize % list.len();
        out.push_str(list.get(at).copied().unwrap_or_default());
    }
    out
}

fn filled(mut line: impl FnMut(u64) -> String) -> String {
    let mut out = String::with_capacity(SIZE + 200);
    for number in 0.. {
        if out.len() >= SIZE {
            break;
        }
        out.push_str(&line(number));
    }
    out
}

fn prose() -> String {
    filled(|n| {
        let words: Vec<String> = (0..12).map(|w| word(n * 13 + w)).collect();
        format!("{}. ", words.join(" "))
    })
}

fn code() -> String {
    filled(|n| {
        let (name, kind, argument) = (word(n), word(n + 1), word(n * 3));
        format!(
            "    fn {name}_{kind}(&self, {argument}: usize) -> Option<u{n}> {{\n        self.{kind}.get({argument} + {n})?.{name}()\n    }}\n"
        )
    })
}

fn records() -> String {
    filled(|n| {
        let (first, last) = (word(n), word(n * 5 + 2));
        format!(
            "{{\"id\":{n},\"name\":\"{first} {last}\",\"mail\":\"{first}.{last}@example.org\",\"phone\":\"+1 415 555 {:04}\",\"ts\":17485{:08},\"sha\":\"{:016x}\"}}\n",
            n % 10_000,
            n * 7919,
            n.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        )
    })
}

fn escaped() -> String {
    filled(|n| {
        format!(
            "{{\\\"{}\\\":\\\"{}%40{}.example\\\",\\\"żółć\\\":\\u0022}}\\n",
            word(n),
            word(n + 9),
            word(n * 3)
        )
    })
}

fn run(bencher: divan::Bencher<'_, '_>, text: &str) {
    let engine = engine();
    bencher.counter(BytesCount::of_str(text)).bench(|| {
        engine
            .find(divan::black_box(text), field())
            .map(|found| found.len())
    });
}

#[divan::bench]
fn find_prose(bencher: divan::Bencher<'_, '_>) {
    run(bencher, &prose());
}

#[divan::bench]
fn find_code(bencher: divan::Bencher<'_, '_>) {
    run(bencher, &code());
}

#[divan::bench]
fn find_records(bencher: divan::Bencher<'_, '_>) {
    run(bencher, &records());
}

#[divan::bench]
fn find_escaped(bencher: divan::Bencher<'_, '_>) {
    run(bencher, &escaped());
}

/// A stream asks after each piece how much of its window is settled.
#[divan::bench]
fn undecided_window(bencher: divan::Bencher<'_, '_>) {
    let engine = engine();
    let text = prose();
    let window: String = text.chars().take(Engine::LEFT_CONTEXT + 64).collect();
    bencher
        .counter(BytesCount::of_str(&window))
        .bench(|| engine.undecided(divan::black_box(&window), field()));
}

#[divan::bench]
fn compile() -> Engine {
    engine()
}
