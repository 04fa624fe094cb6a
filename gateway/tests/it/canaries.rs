//! Nothing that a caller or a provider says is in any file: random values go through a real
//! gateway, which is then killed, started again and stopped; every file and everything printed is
//! searched in the spellings in which a leak would be found.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use gatehouse_envelope::random;

/// Random values of several kinds: found ones, ones that no rule finds, and what a tool said.
const CANARIES: usize = 20;

#[test]
fn no_value_is_in_any_file_not_even_after_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let canaries: Vec<String> = (0..CANARIES).map(canary).collect();

    let mut gateway = Process::start(folder.path(), "first.log");
    let key = gateway.key.clone().expect("a first key");
    let session = gateway.post(&key, "/v1/sessions", "{}");
    let session: serde_json::Value = serde_json::from_str(&session).expect("a session");
    let session = session["session_id"].as_str().expect("an id").to_owned();
    talk(&gateway, &key, &session, &canaries);
    // Long enough for a segment to be written, short enough for the log to hold the rest.
    std::thread::sleep(Duration::from_millis(700));
    talk(&gateway, &key, &session, &canaries);
    gateway.kill();
    let mut hidden = canaries.clone();
    hidden.extend([key.clone(), session.clone()]);
    search(&data, &[&folder.path().join("first.log")], &hidden);

    let mut gateway = Process::start(folder.path(), "second.log");
    assert!(gateway.key.is_none(), "a key is shown once");
    talk(&gateway, &key, &session, &canaries);
    gateway.stop();
    let logs = [
        folder.path().join("first.log"),
        folder.path().join("second.log"),
    ];
    search(&data, &[&logs[0], &logs[1]], &hidden);
}

#[test]
fn the_search_finds_every_spelling() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = "k7q2mzabcdefghij";
    let utf16: Vec<u8> = secret.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let packed = zstd::encode_all(secret.as_bytes(), 1).expect("packed");
    let spellings = [
        secret.as_bytes().to_vec(),
        HEXLOWER.encode(secret.as_bytes()).into_bytes(),
        utf16,
        BASE64.encode(format!("a{secret}").as_bytes()).into_bytes(),
        BASE64
            .encode(format!("ab{secret}z").as_bytes())
            .into_bytes(),
        packed,
    ];
    for (at, spelling) in spellings.iter().enumerate() {
        let name = if at == 5 { "x.zst" } else { "x" };
        std::fs::write(
            folder.path().join(name),
            [b"..", &spelling[..], b".."].concat(),
        )
        .expect("written");
        if at == 5 {
            std::fs::write(folder.path().join(name), spelling).expect("written");
        }
        let found = leaks(folder.path(), &[], &[secret.to_owned()]);
        assert!(!found.is_empty(), "spelling {at}");
        std::fs::remove_file(folder.path().join(name)).expect("removed");
    }
}

/// A value that stands nowhere else in the world.
fn canary(number: usize) -> String {
    let bits = HEXLOWER.encode(&random::bytes::<10>().expect("random bytes"));
    match number % 4 {
        0 => format!("canary{bits}@example.org"),
        1 => format!("sk_{}_{bits}{bits}", "live"),
        2 => format!("postgres://app:{bits}@db.example.org/x"),
        _ => format!("plainword{bits}"),
    }
}

/// A turn with a tool on offer, its result, and a streamed turn, all full of canaries.
fn talk(gateway: &Process, key: &str, session: &str, canaries: &[String]) {
    let said = canaries.join(" and ");
    let schema = serde_json::json!({"type": "object", "properties": {
        "email": {"type": "string"}, canaries[3].as_str(): {"type": "string"}}});
    let tools = serde_json::json!([{"type": "function",
        "function": {"name": "note", "description": &said, "parameters": schema}}]);
    let user = serde_json::json!({"role": "user", "content": &said});
    let tool = serde_json::json!({"role": "tool", "tool_call_id": "call_a",
        "content": serde_json::json!({"said": canaries}).to_string()});
    for (stream, messages) in [
        (false, vec![&user]),
        (true, vec![&user, &tool]),
        (true, vec![&user]),
    ] {
        let body = serde_json::json!({"model": "echo-1", "stream": stream, "tools": tools,
            "messages": messages, "session_id": session, "user": canaries[0]});
        let reply = gateway.post(key, "/v1/chat/completions", &body.to_string());
        assert!(reply.contains("choices"), "{reply}");
    }
    // What is refused must not be written down either.
    let number = format!(
        "{{\"model\": \"{}\", \"messages\": 4111111111111111}}",
        canaries[3]
    );
    gateway.post(key, "/v1/chat/completions", &number);
    gateway.post(&canaries[3], &format!("/v1/{}", canaries[3]), &said);
}

struct Process {
    child: Child,
    // Kept open: a gateway whose standard output is closed could not print.
    _out: BufReader<ChildStdout>,
    address: String,
    key: Option<String>,
}

impl Process {
    fn start(folder: &Path, log: &str) -> Process {
        let config = folder.join("gatehouse.toml");
        let text = "config_version = 1\nlisten = '127.0.0.1:0'\nadmin_listen = '127.0.0.1:0'\n\
                    [[provider]]\nname = 'echo'\nprotocol = 'echo'\n\
                    [ledger]\nsegment_age = '200ms'\nappend_timeout = '20s'\n[log]\nlevel = 'trace'\n";
        std::fs::write(&config, text).expect("written");
        let mut child = Command::new(env!("CARGO_BIN_EXE_gatehouse"))
            .args([
                "up",
                "--no-model",
                "--config",
                &config.display().to_string(),
            ])
            .args(["--data", &folder.join("data").display().to_string()])
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(folder.join(log)).expect("a log"))
            .spawn()
            .expect("the binary starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let line = next_line(&mut out);
        let address = line.split("http://").nth(1).expect(&line);
        let address = address
            .split(';')
            .next()
            .expect("an address")
            .trim()
            .to_owned();
        let key = log.starts_with("first").then(|| {
            loop {
                let line = next_line(&mut out);
                if let Some(key) = line.trim().strip_prefix("gk_") {
                    break format!("gk_{key}");
                }
            }
        });
        Process {
            child,
            _out: out,
            address,
            key,
        }
    }

    fn post(&self, key: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a time-out");
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: gatehouse\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("sent");
        stream.write_all(body.as_bytes()).expect("sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("a reply");
        let (_, body) = reply.split_once("\r\n\r\n").expect("a head");
        body.to_owned()
    }

    fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }

    fn stop(&mut self) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .expect("kill runs");
        assert!(sent.success());
        assert!(self.child.wait().expect("gone").success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // After a failed assertion it still runs; after a stop there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn next_line(out: &mut impl BufRead) -> String {
    let mut line = String::new();
    assert!(
        out.read_line(&mut line).expect("readable") > 0,
        "the gateway said nothing more"
    );
    line
}

fn search(data: &Path, logs: &[&Path], hidden: &[String]) {
    let found = leaks(data, logs, hidden);
    assert!(found.is_empty(), "{found:#?}");
}

/// Where something hidden stands, by file; what it is is not repeated.
fn leaks(data: &Path, logs: &[&Path], hidden: &[String]) -> BTreeMap<PathBuf, usize> {
    let mut files: Vec<PathBuf> = logs.iter().map(|path| path.to_path_buf()).collect();
    collect(data, &mut files);
    assert!(!files.is_empty());
    let spellings: Vec<Vec<u8>> = hidden.iter().flat_map(|value| spellings(value)).collect();
    let mut found = BTreeMap::new();
    for file in files {
        let mut bytes = std::fs::read(&file).expect("readable");
        if file.extension().is_some_and(|extension| extension == "zst") {
            bytes = zstd::decode_all(bytes.as_slice()).expect("a zstd frame");
        }
        let hits = spellings
            .iter()
            .filter(|spelling| contains(&bytes, spelling))
            .count();
        if hits > 0 {
            found.insert(file, hits);
        }
    }
    found
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            collect(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}

/// The distinctive middle of a value, in every spelling; the outer letters depend on the
/// neighbours in base64.
fn spellings(value: &str) -> Vec<Vec<u8>> {
    let bytes = value.as_bytes();
    let little = value.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big = value.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let hex = HEXLOWER.encode(bytes);
    let upper = hex.to_ascii_uppercase();
    let mut all = vec![
        bytes.to_vec(),
        little,
        big,
        hex.into_bytes(),
        upper.into_bytes(),
    ];
    for shift in 0..3 {
        let encoded = BASE64
            .encode(&[&[0; 2][..shift.min(2)], bytes].concat())
            .into_bytes();
        // Whole groups of the value only: the first mixes with what stands before, the last ones
        // with what stands behind.
        let inner = &encoded[4..encoded.len() - 4];
        all.push(inner.to_vec());
        all.push(
            String::from_utf8_lossy(inner)
                .replace('+', "-")
                .replace('/', "_")
                .into_bytes(),
        );
    }
    all
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
