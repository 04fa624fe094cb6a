//! What a model makes up or remembers, cut at every place.

use proptest::prelude::*;

use super::super::*;
use crate::testing::{LENA, Session};

/// Joined, so that no scanner takes them for real ones.
fn gitlab() -> String {
    ["gl", "pat-", "X1X1X1X1X1X1X1X1X1X1"].concat()
}

fn key_block(lines: usize) -> String {
    let body = "MC4CAQAwBQYDK2VwBCIEIJ7Vq1s2Pq0xkTn8n0Y3aZ4c9u\n".repeat(lines);
    [
        "-----BEGIN ",
        "PRIVATE KEY-----\n",
        &body,
        "-----END ",
        "PRIVATE KEY-----",
    ]
    .concat()
}

#[test]
fn what_stands_behind_a_token_is_searched_by_itself() {
    let mut session = Session::new();
    let token = session.learn(crate::Label::EMAIL, LENA);
    let new = "new.person@example.net";
    for before in [" ".to_owned(), key_block(14)] {
        let text = format!("{before}\n{token}\"{new}");
        let json = serde_json::json!({"password": text}).to_string();
        let shown = session.arguments(&json, &["new.person"]);
        assert!(
            shown.contains("<EMAIL>") || shown.contains("<PASSWORD>"),
            "{shown}"
        );
    }
}

#[test]
fn rows_of_tables_are_searched_as_they_come() {
    let session = Session::new();
    let note = "a note that keeps the names of columns out of sight";
    let rows = |number: [&str; 2]| {
        let [one, two] = number;
        format!(
            "So:\nid,note,ssn\n1,\"{note},\n{note}\",{one}\n2,{note} {note},{two}\n\nEnd, and so on"
        )
    };
    let values = ["512483071", "512483072"];
    assert_eq!(session.text(&rows(values), &values), rows(["<US_SSN>"; 2]));
    let list =
        |number| format!("INSERT INTO t (a, ssn) VALUES\n(1, 'x'), ('{note} {note}', {number});");
    assert_eq!(session.text(&list(values[0]), &values), list("<US_SSN>"));
}

#[test]
fn numbers_and_words_in_context() {
    let session = Session::new();
    assert_eq!(
        session.text("SSN 512-48-3071 ok", &["512", "48-30", "3071"]),
        "SSN <US_SSN> ok"
    );
    let out = session.text(
        "x Authorization: Basic bWlyYTpodW50ZXIy y",
        &["bWly", "ZXIy"],
    );
    assert!(
        out.starts_with("x Authorization: ") && out.ends_with(" y"),
        "{out}"
    );
    let out = session.text("card 4111-1111-1111-1111.", &["4111", "1111"]);
    assert_eq!(out, "card <CREDIT_CARD>.");
    let out = session.text("the password: hunter2-tango, I think", &["hunter", "tango"]);
    assert!(out.starts_with("the password: <PASSWORD>"), "{out}");
    let out = session.text(&format!("leaked {} here", gitlab()), &["glpat-", "X1X1"]);
    assert_eq!(out, "leaked <API_KEY> here");
}

#[test]
fn values_in_arguments_are_found_under_their_keys() {
    let session = Session::new();
    let out = session.arguments(
        "{\"user\":\"bob\",\"password\":\"hun\\u0074er2\",\"nested\":\"{\\\"token\\\":\\\"x\\\"}\",\"l\":[1.5]}",
        &["hun", "er2"],
    );
    assert!(
        out.starts_with("{\"user\":\"bob\",\"password\":\"<PASSWORD>\","),
        "{out}"
    );
}

#[test]
fn a_word_that_blocks_is_held_back_whole() {
    let session = Session::with(
        "[labels.TOPIC]\nreply = \"block\"\n[[rule]]\nname = \"topic\"\nlabel = \"TOPIC\"\npattern = \"quince\"\n",
    );
    let cx = session.context();
    for cut in 1..6 {
        let mut channel = Channel::text();
        let (left, right) = "quince".split_at(cut);
        let mut out = channel.push(&cx, "a ").unwrap();
        out.push_str(&channel.push(&cx, left).unwrap());
        assert_eq!(out, "a ", "{cut}");
        let end = channel.push(&cx, right).and_then(|_| channel.finish(&cx));
        assert_eq!(end.unwrap_err().label().map(Label::as_str), Some("TOPIC"));
    }
}

#[test]
fn long_matches_are_masked_from_their_start_to_their_end() {
    let session = Session::new();
    for lines in [1, 11, 16] {
        let text = format!("the key:\n{}\nand more text.", key_block(lines));
        let out = session.text(&text, &["MC4C", "-----BEGIN"]);
        assert_eq!(
            out, "the key:\n<PRIVATE_KEY>\nand more text.",
            "{lines} lines"
        );
    }
    let open = key_block(14).replace("-----END", "");
    assert_eq!(
        session.text(&format!("k {open}"), &["MC4C"]),
        "k <PRIVATE_KEY>"
    );
}

#[test]
fn what_waits_beside_a_token_is_not_let_go() {
    let mut session = Session::new();
    let token = session.learn(Label::EMAIL, LENA);
    let words = "word ".repeat(95);
    for text in [
        format!("{words} {token}, password: hunter2-tango\nend"),
        format!("{words} {token}{token}new.person@example.net end"),
        format!("{words}{}{token} end", "x".repeat(30)),
    ] {
        let out = session.text(&text, &["hunter2", "new.person"]);
        assert!(out.contains(LENA) && out.ends_with("end"), "{out}");
    }
}

#[test]
fn a_masked_match_does_not_grow_the_channel() {
    let session = Session::new();
    let cx = session.context();
    let mut channel = Channel::text();
    channel.push(&cx, "-----BEGIN PRIVATE KEY-----\n").unwrap();
    for _ in 0..2000 {
        channel
            .push(&cx, "MC4CAQAwBQYDK2VwBCIEIJ7Vq1s2Pq0xkTn8n0Y3aZ4c9u\n")
            .unwrap();
        assert!(channel.held() <= 1024);
    }
}

#[test]
fn keys_that_are_masked_alike_stay_two_members() {
    let mut session = Session::new();
    let token = session.learn(Label::EMAIL, LENA);
    let json = format!(
        r#"{{"a@one.example":1,"b@two.example":{{"a@one.example":2}},"<EMAIL>":3,"{LENA}":4,"{token}":5,"n":6}}"#
    );
    let shown = session.arguments(&json, &["one.", "two."]);
    let inner = r#"{"<EMAIL>":2}"#;
    assert_eq!(
        shown,
        format!(
            r#"{{"<EMAIL>":1,"<EMAIL>_2":{inner},"<EMAIL>_3":3,"{LENA}":4,"{LENA}_2":5,"n":6}}"#
        )
    );
    let nested = serde_json::json!({"j": json}).to_string();
    let nested = session.arguments(&nested, &["one.", "two."]);
    assert_eq!(nested, serde_json::json!({"j": shown}).to_string());
    let twice = r#"{"a":1,"a":2}"#;
    assert_eq!(session.arguments(twice, &[]), twice);
}

/// Pieces of replies: own tokens, new values, context words, code, escapes.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z]{0,6} ",
        1 => Just("TOKEN".to_owned()),
        1 => Just("TOKEN_NUMBER".to_owned()),
        1 => Just("WORD ".to_owned()),
        1 => Just("`WORD`, %3CWORD%3E &lt;WORD&gt; \\u003cWORD\\u003e ".to_owned()),
        1 => Just("new.person@example.net".to_owned()),
        1 => Just("SSN 512-48-3071 ".to_owned()),
        1 => Just("card 4111 1111 1111 1111 ".to_owned()),
        1 => Just("password: hunter2-tango\n".to_owned()),
        1 => Just("postgres://u:hunter2tango@db.example.net/x ".to_owned()),
        1 => Just("Y29udGFjdD1taXJhLm9rYWZvckBleGFtcGxlLmNvbQ== ".to_owned()),
        1 => Just("3f786850e387550fdab836ed7e6dc881de23001b ".to_owned()),
        1 => Just(format!("{} ", gitlab())),
        1 => Just(format!("{}\n", key_block(14))),
        1 => Just("<EMAIL_zzzzzz> ".to_owned()),
        2 => "[<>&\\\\\"{}\\[\\]:,.@ é\u{200b}😀\n0-9-]{0,5}",
        1 => Just("+1 415 555 0132 ".to_owned()),
        1 => Just("{\"a\": \"".to_owned()),
        1 => Just("x {\"pan\": \"TOKEN_NUMBER\", \"l\": [4111111111111111, 7".to_owned()),
        1 => Just("{\\\"pan\\\": \\\"TOKEN_NUMBER\\\", \\\"n\\\": ".to_owned()),
        1 => Just("\"a\": 4111111111111111".to_owned()),
        1 => Just(" }, ".to_owned()),
        1 => Just("\\u0040 \\n ".to_owned()),
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

fn session() -> (Session, [String; 2]) {
    let mut session = Session::new();
    let mail = session.learn(Label::EMAIL, LENA);
    let number = session.learn_number(Label::CREDIT_CARD, crate::testing::CARD);
    (session, [mail, number])
}

/// The key of a text says what the whole of it is, and nothing of what stands beside a token in it.
#[test]
fn what_stands_beside_a_token_is_not_the_value_of_the_key() {
    let (session, [mail, _]) = session();
    let cx = session.context();
    let long = "MC4CAQAwBQYDK2VwBCIEIJ7Vq1s2Pq0xkTn8n0Y3aZ4c9u\n".repeat(14);
    let [begin, end] = ["BEGIN", "END"].map(|word| format!("-----{word} PRIVATE KEY-----\n"));
    let value = format!("{begin}{long}{end}{mail}\"new.person@example.net");
    let text = serde_json::json!({ "password": value }).to_string();
    let wanted = format!(r#"{{"password":"<PRIVATE_KEY>\n{LENA}\"<EMAIL>"}}"#);
    for size in [1, 7, text.len()] {
        let mut channel = Channel::text();
        let mut out = String::new();
        for piece in text.as_bytes().chunks(size) {
            let piece = std::str::from_utf8(piece).unwrap();
            out.push_str(&channel.push(&cx, piece).unwrap());
        }
        out.push_str(&channel.finish(&cx).unwrap());
        assert_eq!(out, wanted, "{size}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn cuts_do_not_matter(
        text in soup(),
        cuts in prop::collection::vec(0.0..1.0_f64, 0..12),
        arguments: bool,
        json: bool,
    ) {
        let (session, [mail, number]) = session();
        let text = text.replace("TOKEN_NUMBER", &number).replace("TOKEN", &mail);
        let text = text.replace("WORD", mail.trim_matches(['<', '>']));
        let text = if json {
            serde_json::json!({"password": text, "to": [mail, text], "n": 12}).to_string()
        } else {
            text
        };
        let cx = session.context();
        let make = || if arguments { Channel::json_arguments("t") } else { Channel::text() };
        let run = |pieces: Vec<&str>| {
            let mut channel = make();
            let mut out = String::new();
            for piece in pieces {
                out.push_str(&channel.push(&cx, piece).unwrap());
            }
            out.push_str(&channel.finish(&cx).unwrap());
            (out, channel.receipt().clone())
        };
        let whole = run(vec![&text]);
        let mut at: Vec<usize> = cuts.iter().map(|cut| (cut * text.len() as f64) as usize).collect();
        at.retain(|at| text.is_char_boundary(*at));
        at.push(0);
        at.push(text.len());
        at.sort_unstable();
        let pieces = at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        prop_assert_eq!(run(pieces), whole.clone());
        prop_assert_eq!(run(text.split_inclusive(|_| true).collect()), whole.clone());
        if json {
            let parsed = serde_json::from_str::<serde_json::Value>(&whole.0);
            prop_assert!(parsed.is_ok(), "{}", whole.0);
        }
    }
}

/// Words and numbers of JSON that stands in a string of JSON wait until they have ended, as they do
/// everywhere else.
#[test]
fn what_stands_without_quotes_in_json_in_a_string_is_masked_whole_whatever_the_cuts() {
    let (session, [_, number]) = session();
    for (value, secret) in [
        ("glpat-X1X1X1X1X1X1X1X1X1X1 ", "X1X1"),
        ("glpat-X1X1X1X1X1X1X1X1X1X1}", "X1X1"),
        ("5555555555554444}", "5555"),
        ("5555555555554444 , ", "5555"),
        ("378282246310005}", "3782"),
    ] {
        for inner in [
            format!(r#"{{\"pan\": \"{number}\", \"n\": {value}"#),
            format!(r#"{{\"n\":{value}"#),
            format!(r#"{{\"a\": [\"x\", {value}"#),
        ] {
            // The number that is put back is one of those that must not show otherwise.
            let inner = match secret {
                "X1X1" => inner,
                _ => inner.replace(&number, "x"),
            };
            let deeper = serde_json::json!({ "b": inner.replace('\\', "") }).to_string();
            let deeper = serde_json::json!({ "c": deeper }).to_string();
            for text in [format!(r#"{{"a": "{inner}""#), deeper] {
                for size in 1..=text.len() {
                    let out = in_pieces(&session, &text, size);
                    assert!(!out.contains(secret), "{size}: {text}: {out}");
                }
            }
        }
    }
}

fn in_pieces(session: &Session, text: &str, size: usize) -> String {
    let cx = session.context();
    let mut channel = Channel::text();
    let mut out = String::new();
    for piece in text.as_bytes().chunks(size) {
        out.push_str(
            &channel
                .push(&cx, std::str::from_utf8(piece).unwrap())
                .unwrap(),
        );
    }
    out.push_str(&channel.finish(&cx).unwrap());
    out
}

#[test]
fn a_name_beside_a_value_is_its_key() {
    let session = Session::new();
    let json = "[{\"name\":\"DB_PASSWORD\",\"value\":\"hunter2x9\"},{\"name\":\"MODE\",\"value\":\"fast2x9\"}]";
    let shown = session.arguments(json, &["hunter"]);
    assert_eq!(shown, json.replace("hunter2x9", "<PASSWORD>"));
}
