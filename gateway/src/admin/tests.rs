use std::{os::unix::fs::PermissionsExt, sync::Arc, time::Duration};

use gatehouse_envelope::keys::FileKeys;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UnixStream},
    sync::oneshot,
};

use super::*;
use crate::{
    audit::{AuditGap, Subject},
    auth::NewCaller,
    config::{Config, Store},
    registry::redis_tests::{Kind, Server},
};

fn new(name: &str) -> NewCaller {
    NewCaller {
        name: name.into(),
        tenant: "t".into(),
        agent: None,
    }
}

async fn ask_in_thread(config: &Config, request: Request) -> Result<Answer, AskError> {
    let config = config.clone();
    tokio::task::spawn_blocking(move || ask(&config, true, request))
        .await
        .unwrap()
}

/// Every command, as a script would run them one after the other.
async fn all_commands(config: &Config) {
    let Ok(Answer::Created { token, key }) =
        ask_in_thread(config, Request::KeyCreate(new("one"))).await
    else {
        panic!("no key")
    };
    assert!(gatehouse_envelope::random::is_credential(
        "gk_",
        token.as_bytes()
    ));
    let Ok(Answer::Keys(keys)) = ask_in_thread(config, Request::KeyList {}).await else {
        panic!("no list")
    };
    assert_eq!(keys, [key]);
    let revoke = Request::KeyRevoke { key: "one".into() };
    let Ok(Answer::Key(revoked)) = ask_in_thread(config, revoke).await else {
        panic!("not revoked")
    };
    assert!(revoked.revoked_us.is_some());
    for request in [
        Request::KeyRevoke { key: "two".into() },
        Request::KeyCreate(new("")),
        Request::SessionShow {
            reference: "s_".into(),
        },
        Request::SessionErase {
            reference: format!("s_{}", "a".repeat(26)),
        },
    ] {
        let answer = ask_in_thread(config, request).await;
        assert!(matches!(answer, Ok(Answer::Failed { .. })));
    }
    let Ok(Answer::Sessions(sessions)) =
        ask_in_thread(config, Request::SessionList { tenant: None }).await
    else {
        panic!("no sessions")
    };
    assert!(sessions.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_gateway_the_files_are_opened() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config::for_tests(dir.path()).unwrap();
    all_commands(&config).await;
    let mode = |name: &str| {
        let path = config.data_dir.join(name);
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    for name in ["sessions.redb", "keys/root", "keys/signer"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    assert_eq!(mode("keys"), 0o700);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_gateway_its_socket_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config::for_tests(dir.path()).unwrap();
    let office = Office::open(&config).await.unwrap();
    let path = config.data_dir.join(SOCKET);
    // A gateway that holds the files and has no socket is not worked around.
    assert!(matches!(
        ask_in_thread(&config, Request::KeyList {}).await,
        Err(AskError::Office(_))
    ));
    // What a killed gateway left behind is replaced.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let socket = Socket::bind(&config.data_dir).unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let (stop, stopped) = oneshot::channel::<()>();
    let desk = Arc::new(office.desk());
    let serving = socket.serve(desk, async move { drop(stopped.await) });
    let talking = async {
        all_commands(&config).await;
        for junk in [
            &b"\n"[..],
            b"{}\n",
            b"{\"do\":\"key_list\"",
            &[b'x'; 100_000],
        ] {
            let mut stream = UnixStream::connect(&path).await.unwrap();
            // The far end may have answered and closed before it has read all of it.
            let _cut = stream.write_all(junk).await;
            let _cut = stream.shutdown().await;
            let mut answer = Vec::new();
            if stream.read_to_end(&mut answer).await.is_ok() && !answer.is_empty() {
                let answer = serde_json::from_slice::<Answer>(&answer).unwrap();
                assert!(matches!(answer, Answer::Failed { .. }));
            }
        }
        let kept = office.callers.list().len();
        drop(stop);
        kept
    };
    let ((), kept) = tokio::join!(serving, talking);
    assert_eq!(kept, 1);
    assert!(!path.exists());
    office.close().await.unwrap();
}

fn copy_tree(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// What a gateway killed at this moment leaves behind, opened by the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_crash_sessions_go_on_where_the_log_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config::for_tests(dir.path()).unwrap();
    let office = Office::open(&config).await.unwrap();
    let (_token, record) = office.callers.create(new("one")).await.unwrap();
    let caller = Arc::clone(&record.caller);
    let opened = office.sessions.open(&caller).await.unwrap();
    let id = opened.id.expose().as_str();
    let subject = Subject {
        session: &opened.reference,
        run: None,
        trace: None,
    };

    // The log takes an outcome that the store has not synced when the process dies.
    let turn = office.sessions.turn(&caller, Some(id)).await.unwrap();
    let link = turn.link();
    let settled = AuditGap {
        subject,
        missing: 0,
    }
    .build(link)
    .unwrap();
    office.book.append(settled.clone()).await.unwrap();
    let copy = tempfile::tempdir().unwrap();
    copy_tree(&config.data_dir, copy.path());
    turn.settle(settled.clone()).await.unwrap();
    office.close().await.unwrap();

    config.data_dir = copy.path().to_owned();
    let next = Office::open(&config).await.unwrap();
    let turn = next.sessions.turn(&caller, Some(id)).await.unwrap();
    assert_eq!(turn.link(), link.after(&settled), "no gap, no number twice");
    drop(turn);
    next.close().await.unwrap();

    // Once more, without a crash: nothing is left to bring up to date.
    let last = Office::open(&config).await.unwrap();
    let turn = last.sessions.turn(&caller, Some(id)).await.unwrap();
    assert_eq!(turn.link(), link.after(&settled));
    drop(turn);
    last.close().await.unwrap();
}

#[tokio::test]
async fn health_and_metrics_on_loopback_only() {
    let refused = Health::bind("0.0.0.0:0".parse().unwrap()).await;
    assert!(refused.is_err());
    let listener = Health::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let ready = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = Arc::clone(&ready);
    let health = Health {
        metrics: Arc::new(|| "up 1\n# EOF\n".to_owned()),
        ready: Arc::new(move || seen.load(std::sync::atomic::Ordering::SeqCst)),
        log: Arc::new(|| "log: nothing waits\n".to_owned()),
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = health.serve(listener, async move { drop(stopped.await) });
    let asking = async {
        let ask = async |line: &str| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let head = format!("{line} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        assert!(ask("GET /healthz").await.starts_with("HTTP/1.1 200"));
        let not_ready = ask("GET /readyz").await;
        assert!(not_ready.starts_with("HTTP/1.1 503"));
        assert!(not_ready.ends_with("not ready\nlog: nothing waits\n"));
        ready.store(true, std::sync::atomic::Ordering::SeqCst);
        assert!(ask("GET /readyz").await.starts_with("HTTP/1.1 200"));
        let metrics = ask("GET /metrics").await;
        assert!(metrics.contains("openmetrics") && metrics.ends_with("up 1\n# EOF\n"));
        assert!(ask("GET /v1/models").await.starts_with("HTTP/1.1 404"));
        assert!(ask("POST /healthz").await.starts_with("HTTP/1.1 405"));
        drop(stop);
    };
    let done = tokio::time::timeout(Duration::from_secs(10), async {
        tokio::join!(serving, asking)
    });
    done.await.unwrap();
}

/// A root key that is another's, or a new one in place of one that is gone, would open nothing of what
/// the store holds: that is said at once, and none is made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_root_key_is_the_stores() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config::for_tests(dir.path()).unwrap();
    Office::open(&config).await.unwrap().close().await.unwrap();
    let root = config.data_dir.join("keys/root");
    let own = std::fs::read(&root).unwrap();
    let refused = async || Office::open(&config).await.err().unwrap().to_string();

    std::fs::remove_file(&root).unwrap();
    let why = refused().await;
    assert!(why.starts_with("keys/root: missing"), "{why}");
    assert!(!root.exists());

    let elsewhere = tempfile::tempdir().unwrap();
    let other = elsewhere.path().join("root");
    FileKeys::open_or_create(&other).unwrap();
    std::fs::copy(&other, &root).unwrap();
    let why = refused().await;
    assert!(why.starts_with("keys/root: not the root key"), "{why}");

    std::fs::write(&root, own).unwrap();
    Office::open(&config).await.unwrap().close().await.unwrap();
}

/// Where the store is elsewhere, a desk that only reads stands beside a gateway, whose files it leaves
/// alone; a second gateway does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_beside_a_gateway_leaves_its_outbox_alone() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(Kind::Plain);
    let config = Config {
        store: Store::Redis(Arc::new(server.settings())),
        ..Config::for_tests(dir.path()).unwrap()
    };
    let office = Office::open(&config).await.unwrap();
    let files = || {
        let files = std::fs::read_dir(config.data_dir.join("outbox")).unwrap();
        let files = files.map(|file| file.unwrap().file_name());
        files.collect::<Vec<_>>()
    };
    let before = files();
    assert_eq!(before.len(), 1);
    for request in [Request::SessionList { tenant: None }, Request::KeyList {}] {
        let desk = Office::reading_desk(&config).await.unwrap();
        let answer = desk.answer(request, "uid:1000").await;
        assert!(!matches!(answer, Answer::Failed { .. }));
        assert_eq!(files(), before);
    }
    assert!(Office::open(&config).await.is_err());
    assert_eq!(files(), before);
    office.close().await.unwrap();
}

/// An auditor has an export recorded; what is no plain word is not, and then there must be no export.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_are_recorded_and_say_who_asked() {
    use gatehouse_ledger::{
        export::{Export, Exported},
        read::records,
        store::Dir,
    };

    let dir = tempfile::tempdir().unwrap();
    let config = Config::for_tests(dir.path()).unwrap();
    let export = Export {
        name: Some("jane".into()),
        records: Some(3),
        ..Export::of(Exported::Evidence)
    };
    let request = |export: &Export| Request::ExportRecord {
        export: export.clone(),
    };
    let answer = ask_in_thread(&config, request(&export)).await;
    assert!(answer.is_err(), "no gateway has run here");
    Office::open(&config).await.unwrap().close().await.unwrap();
    let answer = ask_in_thread(&config, request(&export)).await;
    assert!(matches!(answer, Ok(Answer::Done {})));
    let odd = Export {
        purpose: Some("for Jane".into()),
        ..export
    };
    let Ok(Answer::Failed { why }) = ask_in_thread(&config, request(&odd)).await else {
        panic!("text is taken")
    };
    assert!(!why.contains("Jane"), "{why}");
    let mut written = Vec::new();
    let unread = records(&Dir::new(config.data_dir.join("ledger")), |entry| {
        if entry.kind == "export.created" {
            written.push(entry.event.to_owned());
        }
    });
    assert!(unread.unwrap().is_empty());
    assert_eq!(written.len(), 1);
    assert!(
        written[0].contains(r#""what":"evidence","by":"uid:"#),
        "{written:?}"
    );
    assert!(
        written[0].contains(r#""name":"jane","records":3"#),
        "{written:?}"
    );
}
