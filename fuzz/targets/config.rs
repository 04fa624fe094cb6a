//! Configuration and policy: any text is a configuration or a list of faults, and no fault tells a
//! secret. The first byte says which of the two files it is.
#![no_main]

use gatehouse::config::{Config, Environment, Overrides};
use gatehouse_redactor::{Engine, Policy};
use libfuzzer_sys::fuzz_target;

/// Also with a space, so that it cannot stand in a header: then it is a fault that must not show it.
const SECRETS: [&str; 2] = ["sk-planted-secret-1", "sk-planted secret-2"];

fuzz_target!(|input: &[u8]| {
    let Some((what, bytes)) = input.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // Devices and pipes are read for as long as they give something.
    if text.contains("/dev") || text.contains("/proc") {
        return;
    }
    match what % 2 {
        0 => configuration(text),
        _ => policy(text),
    }
});

fn configuration(text: &str) {
    let variables = |name: &str| match name {
        "A" => Some(SECRETS[0].to_owned()),
        "B" => Some(SECRETS[1].to_owned()),
        _ => None,
    };
    let environment = Environment::new(variables, "/nowhere");
    let overrides = Overrides::default();
    match Config::parse(text, &overrides, &environment) {
        Ok(config) => assert!(!config.providers.is_empty()),
        Err(faults) => {
            assert!(faults.iter().next().is_some());
            let told: String = faults
                .iter()
                .map(|fault| format!("{}: {}\n", fault.path, fault.message))
                .collect();
            assert!(
                SECRETS.iter().all(|secret| !told.contains(secret)),
                "a secret is told"
            );
        }
    }
}

fn policy(text: &str) {
    let Ok(policy) = toml::from_str::<Policy>(text) else {
        return;
    };
    // What is written from a policy is that policy.
    if let Ok(written) = toml::to_string(&policy) {
        let again = toml::from_str::<Policy>(&written);
        assert!(again.is_ok_and(|again| again == policy), "another policy");
    }
    let _ = Engine::new(&policy);
}
