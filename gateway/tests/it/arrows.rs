//! Who may use whom: between crates, between the gateway's modules, and of cryptography.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::source::{CRATES, code_of, root, rust_files, shown, without_tests};

/// The arrows between our crates, and no others.
const CRATE_ARROWS: [(&str, &[&str]); 5] = [
    (
        "auditor",
        &[
            "gatehouse-envelope",
            "gatehouse-ledger",
            "gatehouse-redactor",
        ],
    ),
    ("envelope", &[]),
    (
        "gateway",
        &[
            "gatehouse-envelope",
            "gatehouse-ledger",
            "gatehouse-redactor",
        ],
    ),
    ("ledger", &["gatehouse-envelope"]),
    ("redactor", &[]),
];

/// What every module of the gateway may use: facts, words for failures, and the clock.
const FOR_ALL: [&str; 4] = ["clock", "config", "reject", "telemetry"];

/// What else each module may use. The front (`cli`, `demo`, `serve`) and the pipeline put the
/// others together; the others know as little of each other as can be.
const MODULE_ARROWS: [(&str, &[&str]); 22] = [
    (
        "admin",
        &["anchor", "audit", "auth", "limit", "registry", "session"],
    ),
    ("anchor", &["audit"]),
    ("audit", &[]),
    ("auth", &["audit", "registry"]),
    (
        "cli",
        &["admin", "auth", "demo", "model", "serve", "session"],
    ),
    ("clock", &[]),
    ("config", &[]),
    ("demo", &["provider", "serve"]),
    ("limit", &["registry"]),
    ("model", &[]),
    ("payloads", &["audit"]),
    (
        "pipeline",
        &[
            "audit", "auth", "limit", "model", "payloads", "protocol", "provider", "relay",
            "screen", "session", "wire",
        ],
    ),
    ("protocol", &[]),
    ("provider", &["wire"]),
    ("registry", &[]),
    ("reject", &["wire"]),
    (
        "relay",
        &[
            "audit", "limit", "model", "payloads", "protocol", "provider", "screen", "session",
            "wire",
        ],
    ),
    ("screen", &["protocol", "session", "wire"]),
    (
        "serve",
        &[
            "admin", "audit", "auth", "model", "payloads", "pipeline", "protocol", "provider",
            "session", "wire",
        ],
    ),
    ("session", &["audit", "auth", "registry"]),
    ("telemetry", &[]),
    ("wire", &[]),
];

/// Modules that even a name free for all may not use.
const STANDS_ALONE: [&str; 4] = ["clock", "config", "reject", "wire"];

#[test]
fn crates_use_each_other_only_along_the_arrows() {
    let mut wrong = Vec::new();
    for (name, allowed) in CRATE_ARROWS {
        for dependency in dependencies(name, &["dependencies", "build-dependencies"]) {
            if dependency.starts_with("gatehouse") && !allowed.contains(&dependency.as_str()) {
                wrong.push(format!("{name} uses {dependency}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_gateway_does_not_link_the_auditor_nor_the_auditor_the_gateway() {
    let lock = Lock::read();
    assert!(!lock.reached_from("gatehouse").contains("gatehouse-auditor"));
    assert!(!lock.reached_from("gatehouse-auditor").contains("gatehouse"));
}

#[test]
fn only_the_envelope_names_cryptography() {
    let crypto = [
        "aes-gcm",
        "hmac",
        "hkdf",
        "ring",
        "sha2",
        "ed25519-dalek",
        "subtle",
        "rand",
    ];
    for name in CRATES.iter().filter(|name| **name != "envelope") {
        let named = dependencies(
            name,
            &["dependencies", "dev-dependencies", "build-dependencies"],
        );
        for word in crypto {
            assert!(!named.contains(word), "{name} names {word}");
        }
    }
}

#[test]
fn what_must_not_be_linked_is_not_in_the_lock_file() {
    let lock = Lock::read();
    for banned in [
        "aws-lc-rs",
        "aws-lc-sys",
        "native-tls",
        "openssl",
        "openssl-sys",
        "reqwest",
    ] {
        assert!(!lock.packages.contains_key(banned), "{banned}");
    }
}

#[test]
fn the_redactor_knows_no_network_and_the_ledger_and_envelope_only_that_of_aws() {
    let lock = Lock::read();
    let banned = ["hyper", "redb", "rustls", "tokio"];
    let cases = [
        ("gatehouse-redactor", "", &banned[..]),
        // The SDK waits on tokio, and so must who asks it.
        ("gatehouse-ledger", "aws-", &banned[..3]),
        ("gatehouse-envelope", "aws-", &banned[..3]),
    ];
    for (name, free, banned) in cases {
        let reached = lock.reached_without(name, free);
        for banned in banned {
            assert!(!reached.contains(banned), "{name} reaches {banned}");
        }
    }
}

#[test]
fn ledger_and_envelope_can_do_without_aws() {
    for name in ["ledger", "envelope"] {
        let manifest = manifest(name);
        let needs = manifest["dependencies"].as_table().expect("dependencies");
        let of_aws = |need: &str| need.starts_with("aws-") || need == "tokio";
        for (need, how) in needs.iter().filter(|(need, _)| of_aws(need)) {
            let optional = how.get("optional").and_then(toml::Value::as_bool);
            assert_eq!(optional, Some(true), "{name} cannot do without {need}");
        }
    }
}

/// The auditor works offline: what it links for its witness, nothing but the witness names.
#[test]
fn only_the_auditors_witness_knows_the_network() {
    let manifest = manifest("auditor");
    let needs = manifest["dependencies"].as_table().expect("dependencies");
    let network = ["http-body-util", "hyper", "hyper-util", "tokio"];
    for need in network {
        let optional = needs[need].get("optional").and_then(toml::Value::as_bool);
        assert_eq!(optional, Some(true), "the auditor cannot do without {need}");
    }
    let mut wrong = Vec::new();
    for path in rust_files("auditor/src") {
        let code = code_of(&std::fs::read_to_string(&path).expect("readable"));
        let named = [
            "std::net",
            "http_body_util::",
            "hyper::",
            "hyper_util::",
            "tokio::",
        ];
        let of_the_witness = path.starts_with(root().join("auditor/src/witness"));
        if !of_the_witness && named.iter().any(|name| code.contains(name)) {
            wrong.push(shown(&path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn modules_of_the_gateway_use_each_other_only_along_the_arrows() {
    let table: BTreeMap<&str, &[&str]> = MODULE_ARROWS.into_iter().collect();
    let mut wrong = Vec::new();
    for (path, module, used) in uses() {
        let free = FOR_ALL.contains(&used.as_str()) && !STANDS_ALONE.contains(&module.as_str());
        let allowed = table
            .get(module.as_str())
            .is_some_and(|it| it.contains(&used.as_str()));
        if !free && !allowed {
            wrong.push(format!("{}: {module} uses {used}", shown(&path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_arrow_is_allowed_that_nothing_uses() {
    let drawn: BTreeSet<(String, String)> = uses()
        .into_iter()
        .map(|(_, module, used)| (module, used))
        .collect();
    let mut idle = Vec::new();
    for (module, allowed) in MODULE_ARROWS {
        for used in allowed {
            if !drawn.contains(&(module.to_owned(), (*used).to_owned())) {
                idle.push(format!("{module} need not use {used}"));
            }
        }
    }
    assert!(idle.is_empty(), "{}", idle.join("\n"));
}

/// Every use of another module: the file, its module, and the module used.
fn uses() -> Vec<(PathBuf, String, String)> {
    let mut uses = Vec::new();
    for path in rust_files("gateway/src") {
        let Some(module) = module_of(&path) else {
            continue;
        };
        let source = std::fs::read_to_string(&path).expect("readable");
        for used in modules_used(without_tests(&code_of(&source))) {
            if used != module {
                uses.push((path.clone(), module.clone(), used));
            }
        }
    }
    uses
}

/// The module of the gateway that a file belongs to; `None` for the two roots and for tests.
fn module_of(path: &Path) -> Option<String> {
    let inside = path.strip_prefix(root().join("gateway/src")).ok()?;
    let first = inside.components().next()?.as_os_str().to_str()?;
    let module = first.trim_end_matches(".rs");
    let is_test = path.file_name().is_some_and(|name| name == "tests.rs");
    let in_tests = inside.components().any(|part| part.as_os_str() == "tests");
    (!matches!(module, "lib" | "main") && !is_test && !in_tests).then(|| module.to_owned())
}

/// The first names behind `crate::`, in paths and in groups.
fn modules_used(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for (at, start) in code.match_indices("crate::") {
        let after = &code[at + start.len()..];
        match after.strip_prefix('{') {
            Some(group) => used.extend(group_heads(group)),
            None => used.extend(head(after)),
        }
    }
    used
}

/// The first name of every path at the top level of `a::b, c::{d, e}, f}`.
fn group_heads(group: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                heads.extend(head(group[start..at].trim_start()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    heads
}

fn head(path: &str) -> Option<String> {
    let name: String = path
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    name.starts_with(|c: char| c.is_ascii_lowercase())
        .then_some(name)
}

fn dependencies(name: &str, sections: &[&str]) -> BTreeSet<String> {
    let manifest = manifest(name);
    let mut names = BTreeSet::new();
    for section in sections {
        let table = manifest.get(*section).and_then(toml::Value::as_table);
        names.extend(table.into_iter().flat_map(|table| table.keys().cloned()));
    }
    names
}

fn manifest(name: &str) -> toml::Table {
    let path = root().join(name).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).expect("a manifest");
    text.parse().expect("TOML")
}

/// The lock file as a graph; several versions of a package count as one.
struct Lock {
    packages: BTreeMap<String, BTreeSet<String>>,
}

impl Lock {
    fn read() -> Lock {
        let text = std::fs::read_to_string(root().join("Cargo.lock")).expect("a lock file");
        let lock: toml::Table = text.parse().expect("TOML");
        let mut packages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for package in lock["package"].as_array().expect("packages") {
            let name = package["name"].as_str().expect("a name").to_owned();
            let needs = package.get("dependencies").and_then(toml::Value::as_array);
            let needs = needs.into_iter().flatten().filter_map(toml::Value::as_str);
            let names = needs
                .filter_map(|need| need.split(' ').next())
                .map(str::to_owned);
            packages.entry(name).or_default().extend(names);
        }
        Lock { packages }
    }

    fn reached_from(&self, name: &str) -> BTreeSet<&str> {
        self.reached_without(name, "")
    }

    /// What is reached on ways that lead through no package whose name begins with `free`, if that
    /// is anything.
    fn reached_without(&self, name: &str, free: &str) -> BTreeSet<&str> {
        assert!(
            self.packages.contains_key(name),
            "{name} is in the lock file"
        );
        let mut reached = BTreeSet::new();
        let mut open = vec![name];
        while let Some(next) = open.pop() {
            let needs = self.packages.get(next).into_iter().flatten();
            for need in needs.filter(|need| free.is_empty() || !need.starts_with(free)) {
                if reached.insert(need.as_str()) {
                    open.push(need);
                }
            }
        }
        reached
    }
}

#[test]
fn uses_are_found_in_paths_and_groups() {
    let code = "use crate::a::B;\nuse crate::{c, d::{e, f}, g::h};\nfn x() { crate::i::j() }\n\
                use crate::Thing;\nuse super::k;";
    let used: Vec<String> = modules_used(code).into_iter().collect();
    assert_eq!(used, ["a", "c", "d", "g", "i"]);
}
