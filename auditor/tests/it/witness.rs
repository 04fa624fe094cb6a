//! `witness`: the program itself, over its socket, killed and started again.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use gatehouse_envelope::sign::MemorySigner;
use gatehouse_ledger::{
    cosign::WitnessKey,
    note::{Key, Note, checkpoint, sign},
    tree::{Hash, Tree, consistency_proof, leaf_hash},
    trust::Trust,
    witness::AddCheckpoint,
};

use crate::{auditor, text};

const NAME: &str = "witness.example/w1";

/// A log, and a folder for a witness of it.
struct House {
    dir: tempfile::TempDir,
    log: MemorySigner,
    leaves: Vec<Hash>,
}

impl House {
    fn new() -> Self {
        let house = Self {
            dir: tempfile::tempdir().unwrap(),
            log: MemorySigner::generate("prod").unwrap(),
            leaves: (0..4000_u64).map(|n| leaf_hash(&n.to_be_bytes())).collect(),
        };
        let trust = Trust::one(Key::of(&house.log).unwrap());
        std::fs::write(house.path("trust"), trust.file()).unwrap();
        house
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn key(&self) -> WitnessKey {
        let path = self.path("key");
        let output = auditor(&[
            "witness",
            "key",
            "--name",
            NAME,
            "--key",
            path.to_str().unwrap(),
        ]);
        assert!(output.status.success(), "{output:?}");
        let line = text(&output);
        let [word, name, vkey] = line
            .split_whitespace()
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        assert_eq!((word, name), ("witness", NAME));
        WitnessKey::parse(vkey).unwrap().unwrap()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatehouse-auditor"));
        command
            .args([
                "witness",
                "serve",
                "--name",
                NAME,
                "--listen",
                "127.0.0.1:0",
                "--log",
                "json",
            ])
            .arg("--key")
            .arg(self.path("key"))
            .arg("--state")
            .arg(self.path("state"))
            .arg("--trust")
            .arg(self.path("trust"))
            .stdin(Stdio::null());
        command
    }

    fn start(&self) -> Running {
        let mut child = self.command().stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).expect(&line);
        let address = said["fields"]["address"].as_str().unwrap().parse().unwrap();
        let rest = std::thread::spawn(move || {
            let mut rest = String::new();
            lines.read_to_string(&mut rest).map(|_| rest).unwrap()
        });
        Running {
            child,
            address,
            rest: Some(rest),
        }
    }

    fn note(&self, size: u64) -> String {
        let mut tree = Tree::new();
        self.leaves[..size as usize]
            .iter()
            .for_each(|leaf| tree.push(*leaf));
        sign(&checkpoint("prod", size, &tree.root()), &self.log).unwrap()
    }

    fn request(&self, old: u64, size: u64) -> String {
        let proof = consistency_proof(&self.leaves[..size as usize], old).unwrap();
        let note = &self.note(size);
        AddCheckpoint { old, proof, note }.body()
    }
}

struct Running {
    child: Child,
    address: SocketAddr,
    rest: Option<std::thread::JoinHandle<String>>,
}

struct Answer {
    status: u16,
    kind: String,
    body: String,
}

impl Running {
    /// One request on a connection of its own; none if the witness is gone meanwhile.
    fn send(&self, head: &str, body: &[u8]) -> Option<Answer> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        let length = body.len();
        let head = format!(
            "{head} HTTP/1.1\r\nhost: w\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(&[head.as_bytes(), body].concat()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let kind = head
            .lines()
            .find_map(|line| line.strip_prefix("content-type: "));
        Some(Answer {
            status: head.split(' ').nth(1)?.parse().unwrap(),
            kind: kind.unwrap_or_default().to_owned(),
            body: body.to_owned(),
        })
    }

    fn add(&self, body: &str) -> Answer {
        self.send("POST /add-checkpoint", body.as_bytes()).unwrap()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &process]).status();
        assert!(sent.unwrap().success());
    }

    /// Ends it as an operator does, and gives what it has written.
    fn stop(mut self) -> String {
        self.signal("TERM");
        assert!(self.child.wait().unwrap().success());
        self.rest.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cosigned(house: &House, key: &WitnessKey, size: u64, line: &str) -> bool {
    let note = house.note(size) + line;
    key.cosigned(&Note::parse(&note).unwrap()).is_some()
}

#[test]
fn it_speaks_the_protocol() {
    let house = House::new();
    let key = house.key();
    let witness = house.start();
    let answer = witness.add(&house.request(0, 5));
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(cosigned(&house, &key, 5, &answer.body));
    let stale = witness.add(&house.request(3, 9));
    assert_eq!((stale.status, stale.body.as_str()), (409, "5\n"));
    assert_eq!(stale.kind, "text/x.tlog.size");
    let answer = witness.add(&house.request(5, 9));
    assert!(answer.status == 200 && cosigned(&house, &key, 9, &answer.body));

    let good = house.request(9, 12);
    let other = MemorySigner::generate("prod").unwrap();
    let forged = sign(&checkpoint("prod", 12, &[1; 32]), &other).unwrap();
    let elsewhere = sign(&checkpoint("elsewhere", 12, &[1; 32]), &house.log).unwrap();
    let wrong = sign(&checkpoint("prod", 12, &[1; 32]), &house.log).unwrap();
    let fork = sign(&checkpoint("prod", 9, &[1; 32]), &house.log).unwrap();
    let with = |note: &str| format!("{}\n\n{note}", good.split_once("\n\n").unwrap().0);
    for (body, status) in [
        (String::new(), 400),
        (good.replace("old 9", "old 09"), 400),
        (house.request(9, 12).replace("old 9", "old 13"), 400),
        (with(&forged), 403),
        (with(&elsewhere), 404),
        (with(&wrong), 422),
        (format!("old 9\n\n{fork}"), 409),
    ] {
        let answer = witness.add(&body);
        assert_eq!(answer.status, status, "{}", answer.body);
    }
    for (head, body, status) in [
        ("POST /add-checkpoint", vec![b'x'; 1 << 17], 413),
        ("GET /add-checkpoint", vec![], 405),
        ("GET /healthz", vec![], 200),
        ("GET /", vec![], 404),
        ("GET /zz/checkpoint", vec![], 404),
    ] {
        // Whoever sends too much may see the connection end before the answer.
        let answer = witness
            .send(head, &body)
            .map_or(413, |answer| answer.status);
        assert_eq!(answer, status, "{head}");
    }
    let digest = gatehouse_envelope::digest::hex(&gatehouse_envelope::digest::sha256(&[b"prod"]));
    let last = witness
        .send(&format!("GET /{digest}/checkpoint"), b"")
        .unwrap();
    assert!(last.body.starts_with(&house.note(9)) && last.body.len() > house.note(9).len());
    assert_eq!(witness.add(&good).status, 200);

    let said = witness.stop();
    assert!(
        said.contains("\"cosigned\"") && said.contains("\"stopped\""),
        "{said}"
    );
    assert!(
        !said.contains("elsewhere"),
        "nothing of what nobody signed: {said}"
    );
    // Both requests that the log signed against itself are kept.
    let kept = std::fs::read_dir(house.path("state/evidence")).unwrap();
    assert_eq!(kept.count(), 2);
}

#[test]
fn one_connection_serves_many_requests() {
    let house = House::new();
    house.key();
    let witness = house.start();
    let mut stream = TcpStream::connect(witness.address).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    for size in 1..20 {
        let body = house.request(size - 1, size);
        let length = body.len();
        let head =
            format!("POST /add-checkpoint HTTP/1.1\r\nhost: w\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all((head + &body).as_bytes()).unwrap();
        let (mut line, mut length) = (String::new(), 0);
        answers.read_line(&mut line).unwrap();
        assert_eq!(line, "HTTP/1.1 200 OK\r\n");
        while line != "\r\n" {
            line.clear();
            answers.read_line(&mut line).unwrap();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        answers.read_exact(&mut vec![0; length]).unwrap();
    }
    // An idle connection does not hold up the end.
    witness.stop();
}

/// Ends of all kinds at random: whatever was given away is known afterwards, and what is known goes
/// on from it.
#[test]
fn killed_at_any_time_it_forgets_nothing() {
    let house = House::new();
    let key = house.key();
    let (mut given, mut rounds) = (0_u64, 0);
    while rounds < 12 {
        let mut witness = house.start();
        let known: u64 = match witness.add(&house.request(0, given + 1)) {
            answer if answer.status == 409 => answer.body.trim().parse().unwrap(),
            answer => {
                assert_eq!((answer.status, given), (200, 0), "{}", answer.body);
                1
            }
        };
        // One more than was given away may have been kept when it was killed.
        assert!(known == given || known == given + 1, "{known} {given}");
        given = known;
        let process = witness.child.id().to_string();
        let killer = std::thread::spawn(move || {
            let wait = std::time::Duration::from_millis(5 + rounds * 11 % 50);
            std::thread::sleep(wait);
            Command::new("kill")
                .args(["-s", "KILL", &process])
                .status()
                .unwrap()
        });
        while let Some(answer) = {
            let body = house.request(given, given + 1);
            witness.send("POST /add-checkpoint", body.as_bytes())
        } {
            assert_eq!(answer.status, 200, "{}", answer.body);
            assert!(cosigned(&house, &key, given + 1, &answer.body));
            given += 1;
        }
        assert!(killer.join().unwrap().success());
        witness.kill();
        rounds += 1;
    }
    assert!(given > 0);
}

#[test]
fn it_starts_only_where_it_can_be_trusted() {
    let house = House::new();
    let serve = || {
        let output = house.command().output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said)
    };
    let (code, said) = serve();
    assert!(code == Some(2) && said.contains("key"), "{said}");
    house.key();

    // A second process over the same state.
    let witness = house.start();
    assert_eq!(witness.add(&house.request(0, 1)).status, 200);
    let (code, said) = serve();
    assert!(
        code == Some(2) && said.contains("in use by another witness"),
        "{said}"
    );
    let early = std::fs::read(house.path("state/witness.json")).unwrap();
    assert_eq!(witness.add(&house.request(1, 2)).status, 200);
    witness.stop();

    // A state that comes back from a backup, or is gone.
    let late = std::fs::read(house.path("state/witness.json")).unwrap();
    for older in [Some(early), None] {
        match older {
            Some(bytes) => std::fs::write(house.path("state/witness.json"), bytes).unwrap(),
            None => std::fs::remove_file(house.path("state/witness.json")).unwrap(),
        }
        let (code, said) = serve();
        assert!(
            code == Some(2) && said.contains("older than what was cosigned"),
            "{said}"
        );
    }
    std::fs::write(house.path("state/witness.json"), late).unwrap();
    house.start().stop();

    // A log that would witness itself.
    let shared = std::fs::read_to_string(house.path("key")).unwrap();
    let own = gatehouse_envelope::sign::FileSigner::open(&house.path("key"), "prod").unwrap();
    let trust = Trust::one(Key::of(&own).unwrap());
    std::fs::write(house.path("trust"), trust.file()).unwrap();
    let (code, said) = serve();
    assert_eq!(code, Some(64), "{said}");
    assert!(!said.contains(shared.trim()) && mode(&house.path("key")) == 0o600);
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().unwrap().permissions().mode() & 0o777
}
