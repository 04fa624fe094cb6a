//! The configuration as operators meet it: the example file, good files, and files with faults.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;

const MINIMAL: &str = "config_version = 1\n[[provider]]\nname = 'e'\nprotocol = 'echo'\n";

fn environment(pairs: &'static [(&'static str, &'static str)]) -> Environment {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let find = |name: &str| {
        pairs
            .iter()
            .find(|pair| pair.0 == name)
            .map(|pair| pair.1.to_owned())
    };
    Environment::new(find, root)
}

fn parse(text: &str) -> Result<Config, Faults> {
    Config::parse(
        text,
        &Overrides::default(),
        &environment(&[("KEY", "k-123")]),
    )
}

fn faults(text: &str) -> Vec<String> {
    match parse(text) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn the_example_file_is_good_and_says_the_defaults() {
    let surroundings = environment(&[("OPENAI_API_KEY", "k1"), ("ANTHROPIC_API_KEY", "k2")]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = root.join("policies/gatehouse.example.toml");
    let config = Config::load(&file, &Overrides::default(), &surroundings)
        .unwrap_or_else(|faults| panic!("{faults}"));
    let bare = parse(MINIMAL).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(config.listen, bare.listen);
    assert_eq!(config.admin_listen, bare.admin_listen);
    assert_eq!(config.data_dir, bare.data_dir);
    assert_eq!(
        format!("{:?}", config.timeouts),
        format!("{:?}", bare.timeouts)
    );
    assert_eq!(format!("{:?}", config.limits), format!("{:?}", bare.limits));
    assert_eq!(
        format!("{:?}", config.sessions),
        format!("{:?}", bare.sessions)
    );
    assert_eq!(format!("{:?}", config.ledger), format!("{:?}", bare.ledger));
    assert_eq!(format!("{:?}", config.log), format!("{:?}", bare.log));
    assert_eq!(config.providers.len(), 4);
    let policies = [&config, &bare].map(|config| config.redaction.policies.base());
    let [shipped, built_in] = policies.map(|policy| policy.canonical());
    assert_eq!(
        shipped, built_in,
        "policies/redaction.toml says what is built in"
    );
}

#[test]
fn every_fault_is_listed_at_once() {
    let found = faults(
        "config_version = 2\nlisten = '0.0.0.0:80'\nadmin_listen = 'x'\ncolour = 'red'\n\
         [[provider]]\nname = 'a'\nprotocol = 'openai'\napi_key = 'sk-very-secret'\n\
         base_url = 'http://models.example/v1'\n\
         [[provider]]\nname = 'a'\nprotocol = 'telnet'\n\
         [timeouts]\nidle = '1 hour'\n[limits]\ndepth = 0\nbdoy = '1MiB'\n\
         [sessions]\nstore = 'memcached'\n[ledger]\nmode = 'never'\ndeployment = 'A/B'\n\
         [agents.support]\nmax_usd_per_session = '0.50'\n",
    );
    let places = [
        "colour: unknown field",
        "provider[1].protocol: unknown variant",
        "limits.bdoy: unknown field",
        "ledger.mode: unknown variant",
        "config_version: ",
        "agents.support: ",
        "provider[0].base_url: ",
        "provider[0].api_key: ",
        "provider[1].name: ",
        "listen: ",
        "admin_listen: ",
        "timeouts.idle: ",
        "limits.depth: ",
        "sessions.store: ",
        "ledger.deployment: ",
    ];
    for place in places {
        assert!(
            found.iter().any(|fault| fault.starts_with(place)),
            "{place} in {found:#?}"
        );
    }
    assert!(
        !found.iter().any(|fault| fault.contains("very-secret")),
        "{found:#?}"
    );
}

#[test]
fn a_non_loopback_listener_must_be_said_aloud() {
    let open = format!("listen = '0.0.0.0:80'\n{MINIMAL}");
    assert_eq!(faults(&open).len(), 1);
    assert!(parse(&format!("allow_plain_listen = true\n{open}")).is_ok());
    let overrides = Overrides {
        listen: Some("0.0.0.0:80".to_owned()),
        ..Overrides::default()
    };
    assert!(Config::parse(MINIMAL, &overrides, &environment(&[])).is_err());
}

fn mode(file: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;

    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).expect("set");
}

#[test]
fn secrets_come_from_variables_and_files_only() {
    let with_key = |reference: &str| {
        format!(
            "config_version = 1\n[[provider]]\nname = 'o'\nprotocol = 'openai'\napi_key = {reference:?}\n"
        )
    };
    let secret = |text: &str| {
        let config = parse(text).unwrap_or_else(|faults| panic!("{faults}"));
        let key = config.providers[0]
            .api_key
            .as_ref()
            .map(|key| key.expose().clone());
        key.unwrap_or_default()
    };
    assert_eq!(secret(&with_key("env:KEY")), "k-123");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("key");
    std::fs::write(&file, "from-file\n").expect("written");
    mode(&file, 0o666);
    let open = faults(&with_key(&format!("file:{}", file.display())));
    assert!(open[0].contains("others may read or write it; its mode must be 0600"));
    mode(&file, 0o600);
    assert_eq!(
        secret(&with_key(&format!("file:{}", file.display()))),
        "from-file"
    );
    std::fs::write(&file, "two\nlines\n").expect("written");
    let bad = [
        "env:UNSET".to_owned(),
        "sk-inline".to_owned(),
        "file:/nonexistent/key".to_owned(),
        format!("file:{}", file.display()),
    ];
    for reference in bad {
        let found = faults(&with_key(&reference));
        assert_eq!(found.len(), 1, "{reference}: {found:?}");
        assert!(found[0].starts_with("provider[0].api_key: "), "{found:?}");
        assert!(!found[0].contains("sk-inline"), "{found:?}");
    }
}

#[test]
fn without_a_file_the_environment_names_the_providers() {
    let up = |pairs| Config::from_environment(&Overrides::default(), &environment(pairs));
    let names = |pairs| -> Vec<(String, Protocol)> {
        let config = up(pairs).unwrap_or_else(|faults: Faults| panic!("{faults}"));
        config
            .providers
            .iter()
            .map(|p| (p.name.clone(), p.protocol))
            .collect()
    };
    assert_eq!(names(&[]), [("echo".to_owned(), Protocol::Echo)]);
    assert_eq!(
        names(&[("OPENAI_API_KEY", "")]),
        [("echo".to_owned(), Protocol::Echo)]
    );
    let both = names(&[("OPENAI_API_KEY", "a"), ("ANTHROPIC_API_KEY", "b")]);
    let openai = ("openai".to_owned(), Protocol::OpenAi);
    let anthropic = ("anthropic".to_owned(), Protocol::Anthropic);
    assert_eq!(both, [openai.clone(), anthropic]);
    assert_eq!(
        names(&[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")]),
        [openai]
    );
    assert!(up(&[("OPENAI_BASE_URL", "nonsense")]).is_err());
    assert!(
        up(&[("OPENAI_BASE_URL", "https://api.openai.com/v1")]).is_err(),
        "no key"
    );
}

#[test]
fn overrides_win() {
    let overrides = Overrides {
        data_dir: Some(PathBuf::from("elsewhere")),
        listen: Some("127.0.0.1:9".to_owned()),
        ..Overrides::default()
    };
    let text = format!("listen = '127.0.0.1:7'\ndata_dir = 'here'\n{MINIMAL}");
    let config = Config::parse(&text, &overrides, &environment(&[]))
        .unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(config.listen.port(), 9);
    assert_eq!(config.data_dir, Path::new("elsewhere"));
}

#[test]
fn a_model_goes_to_the_first_glob_that_fits_else_to_the_first_of_its_protocol() {
    let text = "config_version = 1\n\
        [[provider]]\nname = 'o'\nprotocol = 'openai'\nbase_url = 'http://127.0.0.1:1/v1'\nmodels = ['gpt-*']\n\
        [[provider]]\nname = 'l'\nprotocol = 'openai'\nbase_url = 'http://127.0.0.1:2/v1'\nmodels = ['llama-*']\n\
        [[provider]]\nname = 'e'\nprotocol = 'echo'\nmodels = ['echo*']\n";
    let config = parse(text).unwrap_or_else(|faults| panic!("{faults}"));
    let name = |protocol, model| config.provider(protocol, model).map(|p| p.name.clone());
    assert_eq!(name(Protocol::OpenAi, "gpt-5").as_deref(), Some("o"));
    assert_eq!(name(Protocol::OpenAi, "llama-4").as_deref(), Some("l"));
    assert_eq!(name(Protocol::OpenAi, "echo-1").as_deref(), Some("e"));
    assert_eq!(name(Protocol::OpenAi, "unheard-of").as_deref(), Some("o"));
    assert_eq!(name(Protocol::Anthropic, "llama-4").as_deref(), Some("e"));
}

#[test]
fn a_deadline_longer_than_its_whole_is_a_fault() {
    let text = format!("{MINIMAL}[timeouts]\nidle = '20m'\n[sessions]\nidle = '48h'\n");
    let found = faults(&text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("timeouts.exchange: "), "{found:?}");
    assert!(found[1].starts_with("sessions.absolute: "), "{found:?}");
}

#[test]
fn a_policy_that_cannot_be_read_is_a_fault() {
    let missing = faults(&format!("redaction = 'policies/nowhere.toml'\n{MINIMAL}"));
    assert_eq!(missing.len(), 1);
    assert!(
        missing[0].starts_with("redaction: cannot read policies/nowhere.toml"),
        "{missing:?}"
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("policy.toml");
    std::fs::write(&file, "nonsense_key = 1\nother_nonsense = 2\n").expect("written");
    let found = faults(&format!(
        "redaction = {:?}\n{MINIMAL}",
        file.display().to_string()
    ));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found
            .iter()
            .all(|fault| fault.contains("nonsense") && fault.contains("policy.toml: "))
    );
}

#[test]
fn the_defaults_are_those_of_the_design() {
    let config = parse(MINIMAL).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(config.timeouts.headers, Duration::from_secs(10));
    assert_eq!(config.limits.body, 32 * 1024 * 1024);
    assert_eq!(config.sessions.absolute, Duration::from_secs(86_400));
    assert!(config.listen.ip().is_loopback());
}

#[test]
fn the_redaction_policy_can_be_read_without_the_rest() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = root.join("policies/gatehouse.example.toml");
    let of_file =
        Redaction::load(&file, &environment(&[])).unwrap_or_else(|faults| panic!("{faults}"));
    let built_in = Redaction::built_in().unwrap_or_else(|faults| panic!("{faults}"));
    let [of_file, built_in] = [of_file, built_in].map(|it| it.policies.base().canonical());
    assert_eq!(of_file, built_in);
    assert!(Redaction::load(Path::new("nowhere.toml"), &environment(&[])).is_err());
}

fn faults_of(text: &str, overrides: &Overrides, policy: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.toml"), policy).unwrap();
    let surroundings = Environment::new(|_| None, folder.path());
    let text = format!("redaction = 'policy.toml'\n{text}{MINIMAL}");
    match Config::parse(&text, overrides, &surroundings) {
        Ok(config) => format!("{}", config.model.is_some()),
        Err(faults) => faults.to_string(),
    }
}

#[test]
fn the_model_takes_part_where_the_policy_acts_on_what_it_finds() {
    let with = Overrides::default();
    let without = Overrides {
        no_model: true,
        ..Overrides::default()
    };
    let built_in = cfg!(feature = "model").to_string();
    assert_eq!(faults_of("", &with, ""), built_in);
    assert_eq!(faults_of("", &without, ""), "false");
    assert_eq!(faults_of("", &with, "model = 'off'"), "false");
    assert_eq!(faults_of("", &with, "profile = 'secrets-only'"), "false");
    let required = faults_of("", &without, "model = 'required'");
    assert!(required.contains("requires the local model"), "{required}");
    let allowed = "[labels.PERSON]\ndefault = 'allow'\n[labels.ADDRESS]\ndefault = 'allow'\n";
    assert_eq!(faults_of("", &with, allowed), "false");
    let one = "profile = 'secrets-only'\n[tenant.clinic]\nprofile = 'balanced'\n";
    assert_eq!(faults_of("", &with, one), built_in);
}

#[test]
fn a_tenant_that_no_key_can_have_is_a_fault() {
    let faults = faults_of(
        "",
        &Overrides::default(),
        "[tenant.Clinic]\n[tenant.a.rule]\n",
    );
    assert!(
        faults.contains("policy.toml: tenant.Clinic: a tenant has"),
        "{faults}"
    );
    assert!(
        faults.contains("policy.toml: tenant.a.rule: unknown field"),
        "{faults}"
    );
}

#[test]
fn how_the_model_is_run_is_checked() {
    let text = format!("{MINIMAL}[model]\nworkers = 0\ndeadline = 'soon'\ntext = '1'\n");
    let faults = Config::parse(&text, &Overrides::default(), &environment(&[]))
        .err()
        .unwrap();
    let faults = faults.to_string();
    for path in ["model.workers", "model.deadline", "model.text"] {
        assert!(faults.contains(path), "{faults}");
    }
}

#[test]
fn a_policy_that_says_something_in_vain_is_at_fault_where_it_does() {
    let with = Overrides::default();
    let twice = "[[field]]\nkeys = ['emp_no']\nlabel = 'A1'\n[[field]]\nkeys = ['EmpNo']\n";
    let found = faults_of("", &with, twice);
    let place = "policy.toml: field[1].keys[0]: is the same key as field[0].keys[0]";
    assert!(found.starts_with(place), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
    let several = "[labels.EMIAL]\n[media]\nallow = ['image']\n[[field]]\nkeys = []\n";
    let found = faults_of("", &with, several);
    for place in ["labels.EMIAL: ", "media.allow[0]: ", "field[0].keys: "] {
        assert!(found.contains(&format!("policy.toml: {place}")), "{found}");
    }
    assert_eq!(found.lines().count(), 3, "{found}");
    // What stands beside a key that is not understood is judged once that is right.
    let unknown =
        "[labels.FOO]\n[[rule]]\nname = 'a'\nlabl = 'FOO'\nlabel = 'FOO'\npattern = 'x'\n";
    let found = faults_of("", &with, unknown);
    assert!(found.starts_with("policy.toml: rule[0].labl: "), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

#[test]
fn phases_are_a_table_of_what_may_follow_which() {
    let with = |table: &str| format!("{MINIMAL}[sessions.phases]\n{table}");
    let config = parse(&with(
        "initial = 'a'\nby_model = ['b']\nnext = { a = ['b'], b = [] }",
    ));
    let phases = config.unwrap_or_else(|faults| panic!("{faults}")).phases;
    assert_eq!(phases.initial.as_deref(), Some("a"));
    assert!(phases.next["a"].contains("b") && phases.next["b"].is_empty());
    let bare = parse(MINIMAL).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(*bare.phases, Phases::default());

    let wrong = "initial = 'c'\nby_model = ['d']\nnext = { a = ['e'], 'x y' = [] }";
    let found = faults(&with(wrong)).join("\n");
    for path in ["next.x y", "next.a", "initial", "by_model"] {
        let path = format!("sessions.phases.{path}");
        assert!(found.contains(&path), "{path}: {found}");
    }
    assert_eq!(faults(&with("next = {}")).len(), 2);
}

#[test]
fn parameters_are_pinned_for_the_models_of_the_first_entry_that_fits() {
    let pins = "[[pin]]\nmodels = ['a-*']\ntemperature = 0.5\nseed = 7\n[[pin]]\nmodels = ['*']\ntemperature = 0\n";
    let config = parse(&format!("{MINIMAL}{pins}")).unwrap_or_else(|faults| panic!("{faults}"));
    let members = |model: &str| pinned(&config.pins, model).to_vec();
    let half = ("temperature", "0.5".to_owned());
    assert_eq!(members("a-1"), [half, ("seed", "7".to_owned())]);
    assert_eq!(members("b"), [("temperature", "0".to_owned())]);
    let wrong = "[[pin]]\nmodels = []\n[[pin]]\nmodels = ['a']\ntemperature = 3\n[[pin]]\nmodels = ['b']\ntemperature = -0.1\n";
    let found = faults(&format!("{MINIMAL}{wrong}"));
    for path in [
        "pin[0].models",
        "pin[0]",
        "pin[1].temperature",
        "pin[2].temperature",
    ] {
        assert!(
            found.iter().any(|fault| fault.starts_with(path)),
            "{path}: {found:?}"
        );
    }
    assert_eq!(found.len(), 4);
}

#[test]
fn what_can_have_no_effect_is_a_fault() {
    let with = |rest: &str| faults(&format!("{MINIMAL}{rest}"));
    assert_eq!(
        with("models = ['gpt-*', '']\n"),
        ["provider[0].models: holds an empty pattern, which no model's name matches"]
    );
    assert_eq!(
        with("[sessions]\nlease = '1ms'\n"),
        ["sessions.lease: must be at least 1s"]
    );
    let phases = "initial = 'a'\nby_model = ['b', 'b']\nnext = { a = ['a', 'b', 'b'], b = [] }";
    assert_eq!(
        with(&format!("[sessions.phases]\n{phases}")),
        [
            "sessions.phases.next.a: names itself: a session that stays where it is changes no phase",
            "sessions.phases.next.a: names \"b\" twice",
            "sessions.phases.by_model: names \"b\" twice",
        ]
    );
    let pin = |models: &str| format!("[[pin]]\nmodels = {models}\nseed = 1\n");
    let pins = ["['gpt-*']", "['gpt-4*', 'o3']", "['gpt-4*', 'o3']", "['']"].map(pin);
    assert_eq!(
        with(&pins.concat()),
        [
            "pin[3].models: holds an empty pattern, which no model's name matches",
            "pin[2].models: is never reached: earlier entries take all of its models",
        ]
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_told_what_to_be() {
    let with = |rest: &str| faults(&format!("{MINIMAL}{rest}"));
    for busy in ["3", "'wait'", "['queue']"] {
        assert_eq!(
            with(&format!("[sessions]\non_busy = {busy}\n")),
            ["sessions.on_busy: must be \"queue\", \"reject\" or \"interrupt\""]
        );
    }
    assert_eq!(
        with("[[pin]]\nmodels = ['a']\nseed = 1\ntemperature = '0'\n"),
        ["pin[0].temperature: must be a number, without quotes"]
    );
    assert_eq!(
        with("[sessions]\nstore = 'redis'\nurl = 6379\n")
            .first()
            .map(String::as_str),
        Some("sessions.url: must be a URL or a list of URLs")
    );
}

#[test]
fn caps_are_tokens_and_there_are_none_unless_they_are_written() {
    let with = |limits: &str| format!("{MINIMAL}[limits]\n{limits}");
    let caps = |text: &str| parse(text).unwrap_or_else(|faults| panic!("{faults}")).caps;
    assert_eq!(caps(MINIMAL), Caps::default());
    assert_eq!(Caps::default().session_tokens, None);
    let written = "max_tokens_per_session = 1\nmax_tokens_per_key_and_day = 2\n\
                   max_tokens_per_tenant_and_day = 3\nwarn_at_percent = 100\nassumed_answer_tokens = 4\n";
    let expected = Caps {
        session_tokens: Some(1),
        key_tokens_per_day: Some(2),
        tenant_tokens_per_day: Some(3),
        warn_percent: 100,
        assumed_answer_tokens: 4,
    };
    assert_eq!(caps(&with(written)), expected);
    // A cap of nothing, or of less, is a mistake and not a way to say "none".
    for (line, path) in [
        (
            "max_tokens_per_session = 0",
            "limits.max_tokens_per_session: ",
        ),
        (
            "max_tokens_per_key_and_day = -1",
            "limits.max_tokens_per_key_and_day: ",
        ),
        (
            "max_tokens_per_tenant_and_day = 9007199254740992",
            "limits.max_tokens_per_tenant_and_day: ",
        ),
        ("warn_at_percent = 0", "limits.warn_at_percent: "),
        ("warn_at_percent = 101", "limits.warn_at_percent: "),
        (
            "assumed_answer_tokens = 0",
            "limits.assumed_answer_tokens: ",
        ),
    ] {
        let found = faults(&with(line));
        assert!(
            found.len() == 1 && found[0].starts_with(path),
            "{line}: {found:?}"
        );
    }
}
