//! The commands as a shell sees them: output, and exit status.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

struct Ran {
    status: i32,
    out: String,
    err: String,
}

/// Runs the real binary, with nothing of this process's environment.
fn run(arguments: &[&str], input: &str) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gatehouse"))
        .args(arguments)
        .env_clear()
        .current_dir(crate::source::root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        // A command that refuses to read closes the pipe.
        let _ = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output().expect("the binary ends");
    writer.join().expect("written");
    Ran {
        status: output.status.code().expect("no signal"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

fn file(folder: &Path, text: &str) -> String {
    let path = folder.join("gatehouse.toml");
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[test]
fn wrong_use_is_64_and_help_is_0() {
    let both: &[&str] = &["detect", "--jsonl", "README.md"];
    for arguments in [&["nonsense"][..], &[], &["check"], both, &["model"]] {
        let ran = run(arguments, "");
        assert_eq!(ran.status, 64, "{arguments:?}");
        assert!(!ran.err.is_empty(), "{arguments:?} says why");
        assert!(ran.out.is_empty(), "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["--version"], &["up", "--help"]] {
        let ran = run(arguments, "");
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{arguments:?}");
    }
}

#[test]
fn check_lists_every_fault_and_exits_with_64() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = file(
        folder.path(),
        "config_version = 1\nlistne = 1\n[limits]\nbody = '32'\n",
    );
    let ran = run(&["check", &bad], "");
    assert_eq!(ran.status, 64);
    for path in ["listne: ", "limits.body: ", "provider: "] {
        assert!(ran.out.contains(path), "{path} in {}", ran.out);
    }
    let json = run(&["check", "--json", &bad], "");
    assert_eq!(json.status, 64);
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(
        json["faults"].as_array().map(Vec::len),
        Some(ran.out.lines().count())
    );

    let echo = "config_version = 1\n[[provider]]\nname = 'echo'\nprotocol = 'echo'\n";
    let good = file(folder.path(), echo);
    let ran = run(&["check", &good], "");
    assert_eq!(ran.status, 0, "{}", ran.out);
    assert_eq!(run(&["check", "/nonexistent"], "").status, 64);
}

/// What never ends, or is far too large, is no configuration: no more of it is read than any has.
#[test]
fn files_that_never_end_are_refused_with_64() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key");
    std::fs::write(&key, "k".repeat(9 << 20)).expect("written");
    let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&key, owner).expect("set");
    let key = key.display().to_string();
    let naming = |text: &str| file(folder.path(), text);
    for (text, named) in [
        ("redaction = \"/dev/zero\"\n", "/dev/zero"),
        (
            "[tls]\ncertificate = \"/dev/zero\"\nkey = \"file:/dev/null\"\n",
            "/dev/zero",
        ),
        (
            &format!(
                "[[provider]]\nname = \"a\"\nprotocol = \"openai\"\nmodels = [\"m\"]\napi_key = \"file:{key}\"\n"
            ),
            &key,
        ),
    ] {
        let ran = run(&["check", &naming(text)], "");
        assert_eq!(ran.status, 64, "{text}: {}", ran.err);
        let said = format!("cannot read {named}: it holds more than 8388608 bytes");
        assert!(ran.out.contains(&said), "{text}: {}", ran.out);
    }
    for command in [&["check"][..], &["up", "--config"], &["health", "--config"]] {
        let ran = run(&[command, &["/dev/zero"]].concat(), "");
        assert_eq!(ran.status, 64, "{command:?}: {}", ran.err);
        let said = "cannot read /dev/zero: it holds more than 8388608 bytes";
        assert!((ran.out + &ran.err).contains(said), "{command:?}");
    }
}

#[test]
fn up_refuses_a_faulty_configuration_before_it_touches_anything() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let bad = file(folder.path(), "config_version = 1\nlisten = '0.0.0.0:1'\n");
    let ran = run(
        &[
            "up",
            "--config",
            &bad,
            "--data",
            &data.display().to_string(),
        ],
        "",
    );
    assert_eq!(ran.status, 64);
    assert!(ran.err.contains("gatehouse: listen: "), "{}", ran.err);
    assert!(!data.exists());
}

#[test]
fn detect_answers_a_line_for_a_line() {
    let input =
        "{\"id\":1,\"text\":\"é jane.doe@example.com\"}\n\n{\"id\":\"b\",\"text\":\"nothing\"}";
    let ran = run(&["detect", "--jsonl"], input);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let lines: Vec<serde_json::Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["spans"][0]["start"], 2);
    assert_eq!(lines[1], serde_json::json!({"id": "b", "spans": []}));

    let ran = run(&["detect", "--jsonl"], "jane.doe@example.com\n");
    assert_eq!(ran.status, 1);
    assert!(
        ran.err.contains("line 1: ") && !ran.err.contains("jane"),
        "{}",
        ran.err
    );
}

#[test]
fn detect_tells_places_in_files_folders_and_pipes() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("a.txt"),
        "x\nmail jane.doe@example.com\n",
    )
    .expect("written");
    std::fs::write(folder.path().join("b.csv"), "id,ssn\n1,512483071\n").expect("written");
    let path = folder.path().display().to_string();
    let ran = run(&["detect", "--no-model", &path], "");
    assert_eq!(ran.status, 0, "{}", ran.err);
    let told = |line: &str| -> (String, u64, u64) {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let number = |key: &str| line[key].as_u64().expect("a number");
        (
            line["label"].as_str().expect("a label").to_owned(),
            number("line"),
            number("start"),
        )
    };
    let lines: Vec<_> = ran.out.lines().map(told).collect();
    assert_eq!(
        lines,
        [("EMAIL".to_owned(), 2, 7), ("US_SSN".to_owned(), 2, 9)]
    );
    assert!(!ran.out.contains("jane") && !ran.out.contains("512483071"));
    let ran = run(&["detect", "--no-model"], "a jane.doe@example.com");
    assert_eq!(
        (ran.status, told(&ran.out)),
        (0, ("EMAIL".to_owned(), 1, 2))
    );
    std::fs::write(folder.path().join("c.bin"), b"\0").expect("written");
    assert_eq!(run(&["detect", "--no-model", &path], "").status, 1);
}

#[test]
fn files_are_redacted_as_a_tenant_s_policy_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "[tenant.shop]\nprofile = 'secrets-only'\n").expect("written");
    let text = format!("config_version = 1\nredaction = '{}'\n", policy.display());
    let config = file(folder.path(), &text);
    let redacted = |more: &[&str]| {
        let start = ["redact", "--no-model", "--config", &config];
        run(&[&start, more].concat(), "a jane.doe@example.com\n").out
    };
    assert!(redacted(&[]).starts_with("a <EMAIL_"));
    assert_eq!(redacted(&["--tenant", "shop"]), "a jane.doe@example.com\n");
    assert!(redacted(&["--tenant", "other"]).starts_with("a <EMAIL_"));
}

#[test]
fn detect_answers_what_stands_before_a_bad_line_and_names_it() {
    let input = "{\"id\":1,\"text\":\"a.b@example.org\"}\n\n{\"id\":1,\"id\":2,\"text\":\"x\"}\n";
    let ran = run(&["detect", "--jsonl"], input);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    assert!(ran.out.contains("EMAIL"), "{}", ran.out);
    assert!(ran.err.contains("line 3: "), "{}", ran.err);
}

/// As under `| head -1`, but certain: the reader has left before anything is written.
#[test]
fn a_reader_that_leaves_ends_a_command_quietly() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut child = Command::new(env!("CARGO_BIN_EXE_gatehouse"))
        .args(["redact", "--no-model"])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"some text\n").expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{:?}", output.stderr);
}

#[test]
fn a_data_directory_that_cannot_be_opened_is_told_with_its_cause() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let place = data.display().to_string();
    let made = run(&["key", "create", "--name", "n", "--data", &place], "");
    assert_eq!(made.status, 0, "{}", made.err);
    let list = || run(&["key", "list", "--data", &place], "");

    let root = data.join("keys/root");
    let mode = |mode| std::fs::set_permissions(&root, std::fs::Permissions::from_mode(mode));
    mode(0o644).expect("set");
    let ran = list();
    assert_eq!(ran.status, 1);
    let cause = "keys/root: the root key file: others may read or write it; its mode must be 0600";
    assert!(ran.err.contains(cause), "{}", ran.err);
    mode(0o600).expect("set");

    std::fs::write(data.join("sessions.redb"), [0x5a; 8192]).expect("written");
    let ran = list();
    assert_eq!(ran.status, 1);
    let head = "sessions.redb: the database: ";
    assert!(ran.err.contains(head), "{}", ran.err);
}

#[test]
fn redact_uses_the_policy_that_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy.toml");
    let dictionary = "[labels.EMAIL]\ndefault = 'mask'\n[[dictionary]]\nlabel = 'PERSON'\nterms = ['blue heron']\n";
    std::fs::write(&policy, dictionary).expect("written");
    let config = file(
        folder.path(),
        &format!("config_version = 1\nredaction = '{}'\n", policy.display()),
    );
    let text = "blue heron <jane.doe@example.com>\n";
    let built_in = run(&["redact"], text);
    assert_eq!(built_in.status, 0, "{}", built_in.err);
    assert!(
        built_in.out.starts_with("blue heron <<EMAIL_"),
        "{}",
        built_in.out
    );
    let named = run(&["redact", "--config", &config], text);
    assert_eq!(named.status, 0, "{}", named.err);
    assert!(named.out.starts_with("<PERSON_"), "{}", named.out);
    assert!(
        !named.out.contains("jane") && !named.out.contains("<EMAIL_"),
        "{}",
        named.out
    );
}

#[test]
fn redact_into_a_folder_replaces_no_file_and_names_what_it_skips() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name).display().to_string();
    let text = "mail jane.doe@example.com\n";
    std::fs::create_dir(place("in")).expect("a folder");
    std::fs::write(place("in/a.txt"), text).expect("written");
    std::os::unix::fs::symlink("a.txt", place("in/link")).expect("a link");
    let redact = |out: &str, path: &str| {
        run(
            &["redact", "--no-model", "--out", &place(out), &place(path)],
            "",
        )
    };
    assert_eq!(redact("in", "in").status, 64);
    let kept = std::fs::read_to_string(place("in/a.txt")).expect("read");
    assert_eq!(kept, text);

    let ran = redact("out", "in");
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.err.contains("in/link") && ran.err.contains("1 skipped"));
    let written = std::fs::read_to_string(place("out/a.txt")).expect("read");
    assert!(written.starts_with("mail <EMAIL_"), "{written}");

    let again = redact("out", "in");
    assert_eq!(again.status, 64);
    assert!(again.err.contains("exists already"), "{}", again.err);

    let piped = run(&["redact", "--no-model", "-"], text);
    assert!(piped.out.starts_with("mail <EMAIL_"), "{}", piped.err);
}

#[test]
fn a_start_that_fails_leaves_no_key_behind_that_nobody_has_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let echo = "config_version = 1\nadmin_listen = '127.0.0.1:0'\n\
                [[provider]]\nname = 'echo'\nprotocol = 'echo'\n";
    let config = file(folder.path(), echo);
    let data = folder.path().join("data");
    let place = data.display().to_string();
    let ran = run(
        &[
            "up",
            "--no-model",
            "--config",
            &config,
            "--data",
            &place,
            "--listen",
            &address,
        ],
        "",
    );
    assert_eq!(ran.status, 1);
    assert!(
        ran.err.contains(&format!("listen: {address}: ")),
        "{}",
        ran.err
    );
    assert!(
        !data.exists(),
        "nothing is written before the address is ours"
    );
}

/// The gateway beside it, killed whatever the test does.
struct Up(std::process::Child);

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn health_is_0_beside_a_gateway_1_without_and_64_for_wrong_use() {
    use std::io::{BufRead, BufReader};

    let folder = tempfile::tempdir().expect("a folder");
    let config = file(
        folder.path(),
        "config_version = 1\nlisten = '127.0.0.1:0'\nadmin_listen = '127.0.0.1:0'\n\
         [[provider]]\nname = 'echo'\nprotocol = 'echo'\n\
         [ledger]\nappend_timeout = '20s'\n",
    );
    let mut gateway = Up(Command::new(env!("CARGO_BIN_EXE_gatehouse"))
        .args(["up", "--no-model", "--config", &config, "--data"])
        .arg(folder.path().join("data"))
        .env_clear()
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts"));
    let mut first = String::new();
    let out = gateway.0.stdout.as_mut().expect("a pipe");
    BufReader::new(out).read_line(&mut first).expect("a line");
    let (_, admin) = first.trim_end().rsplit_once("http://").expect(&first);

    let ran = run(&["health", "--admin", admin], "");
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (0, "ready\n"),
        "{}",
        ran.err
    );
    // As a probe in a container asks, by a file that names secrets which it has no business with.
    let named = format!(
        "config_version = 1\nadmin_listen = '{admin}'\n[[provider]]\nname = 'o'\n\
         protocol = 'openai'\nbase_url = 'https://example.org'\napi_key = 'env:NOT_THERE'\n"
    );
    let named = file(folder.path(), &named);
    assert_eq!(run(&["health", "--config", &named], "").status, 0);

    drop(gateway);
    let ran = run(&["health", "--admin", admin], "");
    assert_eq!((ran.status, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.starts_with("gatehouse: no answer from"),
        "{}",
        ran.err
    );

    let unnamed = file(
        folder.path(),
        "config_version = 1\nadmin_listen = '127.0.0.1:0'\n",
    );
    for wrong in [
        &["--admin", "192.0.2.1:8081"][..],
        &["--admin", "localhost"],
        &["--admin", "127.0.0.1:0"],
        &["--config", &unnamed],
        &["--config", "/nonexistent"],
        &["--config", &named, "--admin", admin],
        &["now"],
    ] {
        let ran = run(&[&["health"], wrong].concat(), "");
        assert_eq!(ran.status, 64, "{wrong:?} {}", ran.err);
    }
}

/// What cannot be done makes nothing.
#[test]
fn unfit_names_and_commands_without_a_gateway_make_no_data_directory() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let place = data.display().to_string();
    let reference = format!("s_{}", "a".repeat(26));
    // A reason goes into the log, which may hold no value.
    let card = "4111111111111111";
    let keys = folder.path().join("keys").display().to_string();
    let grant = ["session", "grant", &reference, "--out", &keys];
    for (status, arguments) in [
        (64, &["key", "create", "--name", "a\nb"][..]),
        (64, &["key", "create", "--name", ""]),
        (64, &["key", "create", "--name", "n", "--tenant", "No"]),
        (64, &["key", "create", "--name", "n", "--agent", "a b"]),
        (64, &["session", "show", "gs_x"]),
        (64, &["session", "revoke", "s_x"]),
        (64, &["session", "erase", ""]),
        (64, &["session", "hold", &reference, "--reason", "for Jane"]),
        (64, &["session", "hold", &reference, "--reason", card]),
        (64, &[&grant[..], &["--as", card]].concat()),
        (64, &[&grant[..], &["--purpose", card]].concat()),
        (1, &["session", "hold", &reference, "--reason", "case:1"]),
        (1, &["session", "erase", &reference]),
        (1, &["session", "revoke", &reference]),
        (1, &["session", "show", &reference]),
        (1, &["session", "list"]),
        (1, &["key", "list"]),
        (1, &["key", "revoke", "k"]),
    ] {
        let arguments = [arguments, &["--data", &place]].concat();
        let ran = run(&arguments, "");
        assert_eq!(ran.status, status, "{arguments:?}: {}", ran.err);
        assert!(!ran.err.is_empty() && ran.out.is_empty(), "{arguments:?}");
        assert!(
            !data.exists() && !Path::new(&keys).exists(),
            "{arguments:?}"
        );
    }
    let ran = run(&["key", "create", "--name", "n", "--data", &place], "");
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(data.exists() && ran.out.starts_with("gk_"));
    // Whether the keys of ended sessions are kept is not to be guessed.
    for command in ["revoke", "release"] {
        let ran = run(&["session", command, &reference, "--data", &place], "");
        assert_eq!(ran.status, 1);
        assert!(ran.err.contains("--config FILE is missing"), "{}", ran.err);
    }
}
