//! The program itself with its keys in KMS: what callers get while KMS gives none, what operators do to
//! change keys, and a log that is signed by KMS.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use gatehouse_ledger::store::Dir;
use gatehouse_ledger::trust::Trust;
use gatehouse_ledger::verify::Verifier;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::aws::{ACCESS_KEY, Emulator, Fate, Front, Kind, REGION, SECRET_KEY};
use crate::gate::{Answer, Caller, records};

/// How long anything may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(120);

/// A data directory, and the program that runs on it.
struct House {
    dir: tempfile::TempDir,
    front: Front,
    emulator: &'static Emulator,
    address: SocketAddr,
    process: Option<Process>,
}

/// A process that dies with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

fn free_address() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

impl House {
    fn new(kind: Kind) -> Self {
        let emulator = Emulator::shared(kind);
        Self {
            dir: tempfile::tempdir().unwrap(),
            front: Front::to(emulator.port()),
            emulator,
            address: free_address(),
            process: None,
        }
    }

    fn kms(&self, operation: &str, asked: &Value) -> Value {
        let asked = asked.to_string();
        let answer = self
            .emulator
            .ask(&format!("TrentService.{operation}"), &asked);
        serde_json::from_str(&answer).unwrap_or(Value::Null)
    }

    fn new_key(&self, asked: &Value) -> String {
        let made = self.kms("CreateKey", asked);
        made["KeyMetadata"]["Arn"].as_str().unwrap().to_owned()
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Writes the configuration, with these keys in KMS.
    fn configure(&self, keys: &str) {
        let endpoint = self.front.endpoint();
        self.write(&format!(
            r#"
            provider = "aws-kms"
            region = "{REGION}"
            endpoint = "{endpoint}"
            timeout = "60s"
            attempts = 1
            # Every new session asks KMS, and those that are there do not.
            cache_age = "1h"
            cache_age_new = "1ms"
            {keys}
            "#
        ));
    }

    fn write(&self, keys: &str) {
        let (address, admin, data) = (self.address, free_address(), self.data());
        let text = format!(
            r#"
            config_version = 1
            listen = "{address}"
            admin_listen = "{admin}"
            data_dir = {data:?}

            [[provider]]
            name = "echo"
            protocol = "echo"

            [keys]
            {keys}

            [ledger]
            append_timeout = "20s"

            [log]
            level = "warn"
            "#
        );
        std::fs::write(self.config(), text).unwrap();
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("gatehouse.toml")
    }

    fn program(&self, words: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_gatehouse"));
        program.args(words).arg("--config").arg(self.config());
        program
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
            .env("AWS_EC2_METADATA_DISABLED", "true");
        program
    }

    /// Runs a command to its end.
    async fn run(&self, words: &[&str]) -> Output {
        let mut program = self.program(words);
        let run = tokio::task::spawn_blocking(move || program.output());
        run.await.unwrap().unwrap()
    }

    async fn done(&self, words: &[&str]) -> String {
        let output = self.run(words).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {said}");
        said
    }

    async fn start(&mut self) {
        let mut gateway = self.program(&["up", "--no-model"]);
        let gateway = gateway.stdout(Stdio::null()).spawn().unwrap();
        self.process = Some(Process(gateway));
        let start = Instant::now();
        while TcpStream::connect(self.address).await.is_err() {
            assert!(start.elapsed() < PATIENCE, "the gateway does not answer");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // It listens before it has opened all that it needs.
        while !self.data().join("admin.sock").exists() {
            assert!(start.elapsed() < PATIENCE, "the gateway does not start");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends it as an operator would.
    async fn stop(&mut self) {
        let mut process = self.process.take().unwrap();
        let id = process.0.id().to_string();
        let sent = Command::new("kill").args(["-s", "TERM", &id]).status();
        assert!(sent.unwrap().success());
        let start = Instant::now();
        while process.0.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE, "the gateway does not stop");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn caller(&self) -> Caller {
        let output = self.run(&["key", "create", "--name", "one"]).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        Caller {
            address: self.address,
            token: String::from_utf8(output.stdout).unwrap().trim().to_owned(),
        }
    }
}

async fn open(caller: &Caller) -> Answer {
    caller.post("/v1/sessions", &json!({})).await
}

async fn say(caller: &Caller, session: Option<&str>) -> Answer {
    let mut body = json!({
        "model": "echo", "messages": [{ "role": "user", "content": "Mail ann@example.org" }],
    });
    if let Some(session) = session {
        body["session_id"] = session.into();
    }
    caller.post("/v1/chat/completions", &body).await
}

fn is_refused(answer: &Answer) {
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.error().as_deref(), Some("keys_unavailable"));
    assert_eq!(answer.header("retry-after").as_deref(), Some("5"));
}

/// The log holds, by what the trust file says.
fn holds(data: &Path) -> Vec<Value> {
    let trust = std::fs::read_to_string(data.join("trust.policy")).unwrap();
    let trust = Trust::parse(&trust).unwrap();
    let log = Dir::new(data.join("ledger"));
    let report = Verifier::new(Some(&trust)).verify(&log, |_| {});
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    records(data)
}

fn actions(records: &[Value]) -> Vec<&str> {
    let changes = records.iter().filter(|it| it["kind"] == "admin.change");
    let actions = changes.map(|it| it["action"].as_str().unwrap());
    let mut actions: Vec<_> = actions.collect();
    // Streams come in the order of their names.
    actions.sort_unstable();
    actions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_whose_keys_are_all_in_kms() {
    let mut house = House::new(Kind::MiniStack);
    let root = house.new_key(&json!({}));
    let ed25519 = json!({ "KeyUsage": "SIGN_VERIFY", "KeySpec": "ECC_NIST_EDWARDS25519" });
    let signing = house.new_key(&ed25519);
    let keys = format!("key_id = \"{root}\"\nsigning_key_id = \"{signing}\"");
    house.configure(&keys);
    let check = Command::new(env!("CARGO_BIN_EXE_gatehouse"))
        .arg("check")
        .arg(house.config())
        .output();
    assert!(check.unwrap().status.success());
    let caller = house.caller().await;
    house.start().await;
    assert!(!house.data().join("keys").exists(), "no key lies here");

    let opened = open(&caller).await;
    assert_eq!(opened.status, 200, "{}", opened.text());
    let opened = opened.json();
    let session = opened["session_id"].as_str().unwrap();
    let reference = opened["reference"].as_str().unwrap();
    assert_eq!(say(&caller, Some(session)).await.status, 200);

    for broken in ["disabled", "throttled", "out"] {
        match broken {
            "disabled" => _ = house.kms("DisableKey", &json!({ "KeyId": root })),
            "throttled" => house.front.set(Fate::Refused(400, "ThrottlingException")),
            _ => house.front.set(Fate::Cut),
        }
        is_refused(&open(&caller).await);
        is_refused(&say(&caller, None).await);
        assert_eq!(say(&caller, Some(session)).await.status, 200, "{broken}");
        let refused = house.run(&["keys", "rotate", "--tenant", "default"]).await;
        assert_eq!(refused.status.code(), Some(1), "{broken}");
        house.kms("EnableKey", &json!({ "KeyId": root }));
        house.front.set(Fate::Passes);
        assert_eq!(open(&caller).await.status, 200, "it recovers by itself");
    }

    let said = house.done(&["keys", "rotate", "--tenant", "default"]).await;
    assert!(said.contains("key 2 of tenant default"), "{said}");
    let said = house.done(&["keys", "rewrap"]).await;
    assert!(said.contains("0 keys of tenants, 1 of names"), "{said}");
    assert!(said.contains("4 of sessions"), "{said}");
    assert_eq!(say(&caller, Some(session)).await.status, 200);
    assert_eq!(open(&caller).await.status, 200);
    let gateways = house.run(&["keys", "rotate", "--tenant", "_gateway"]).await;
    assert_eq!(gateways.status.code(), Some(1));

    house.done(&["session", "erase", reference]).await;
    assert_eq!(say(&caller, Some(session)).await.status, 404);
    house.stop().await;
    let records = holds(&house.data());
    let actions = actions(&records);
    assert_eq!(actions, ["key.create", "keys.rewrap", "keys.rotate"]);
    // Every call to KMS about a tenant's key is in the log, those that failed too.
    for (kind, operation) in [
        ("kms.datakey", "GenerateDataKey"),
        ("kms.decrypt", "Decrypt"),
    ] {
        let uses = records.iter().filter(|it| it["kind"] == kind);
        let uses: Vec<_> = uses.collect();
        let of_all = uses.iter().map(|it| it["n"].as_u64().unwrap());
        let asked = u64::try_from(house.front.count(operation)).unwrap();
        assert_eq!(of_all.sum::<u64>(), asked, "{kind}");
        assert!(uses.len() <= usize::try_from(asked).unwrap());
        let (_, key) = root.rsplit_once(':').unwrap();
        assert!(uses.iter().all(|it| it["target"] == key));
        for reason in ["disabled", "throttled", "unreachable"] {
            assert!(uses.iter().any(|it| it["reason"] == reason), "{reason}");
        }
        let tenants = ["_gateway", "default"];
        let told = |tenant: &&str| {
            let done = |it: &&&Value| it["tenant"] == *tenant && it["reason"].is_null();
            uses.iter().any(|it| done(&it) && it["epoch"] == 1)
        };
        assert!(tenants.iter().all(told), "{kind}");
    }
    assert!(
        house.front.count("Sign") >= 2,
        "a certificate for each stream"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_key_that_another_replaces() {
    let mut house = House::new(Kind::Moto);
    let (old, new) = (house.new_key(&json!({})), house.new_key(&json!({})));
    house.write("provider = \"file\"");
    let caller = house.caller().await;
    house.start().await;
    let opened = open(&caller).await.json();
    let session = opened["session_id"].as_str().unwrap();
    house.stop().await;

    // From the file to KMS.
    let root = house.data().join("keys/root");
    let moved = format!("key_id = \"{old}\"\nprevious_files = [{root:?}]");
    house.configure(&moved);
    house.start().await;
    assert_eq!(say(&caller, Some(session)).await.status, 200);
    let said = house.done(&["keys", "rewrap"]).await;
    assert!(said.contains("2 keys of tenants"), "{said}");
    house.stop().await;
    std::fs::remove_file(&root).unwrap();
    house.configure(&format!("key_id = \"{old}\""));
    house.start().await;
    assert_eq!(say(&caller, Some(session)).await.status, 200);
    house.stop().await;
    assert!(house.data().join("keys/signer").exists(), "the log's own");
    assert!(!root.exists());

    house.configure(&format!("key_id = \"{new}\""));
    let refused = house.run(&["up", "--no-model"]).await;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    assert!(said.contains("keys.key_id: not the root key"), "{said}");

    let both = format!("key_id = \"{new}\"\nprevious_key_ids = [\"{old}\"]");
    house.configure(&both);
    house.start().await;
    assert_eq!(say(&caller, Some(session)).await.status, 200);
    let said = house.done(&["keys", "rewrap"]).await;
    assert!(said.contains("2 keys of tenants"), "{said}");
    assert_eq!(house.front.count("ReEncrypt"), 2);
    let said = house.done(&["keys", "rewrap"]).await;
    assert!(said.contains("0 keys of tenants"), "{said}");
    house.stop().await;

    house.configure(&format!("key_id = \"{new}\""));
    house.start().await;
    assert_eq!(say(&caller, Some(session)).await.status, 200);
    house.stop().await;
    let records = holds(&house.data());
    assert_eq!(
        actions(&records),
        ["key.create", "keys.rewrap", "keys.rewrap"]
    );
}
