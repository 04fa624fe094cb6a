//! Each format: a token of its shape is found whole, and what misses it by little is not.
//!
//! Tokens are put together here from a prefix and generated characters, so that no scanner of
//! secrets takes this file for a leak.

use std::collections::BTreeSet;

use super::table::TABLE;
use crate::rules::testing::{ENGINE, FIELD};

const HEX: &str = "0123456789abcdef";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const ALNUM: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const DIGITS: &str = "0123456789";
const BECH32: &str = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";

/// A literal, or that many characters of an alphabet.
enum Part {
    Is(&'static str),
    Of(&'static str, usize),
}
use Part::{Is, Of};

/// Characters without pattern, the same on every run.
fn generated(alphabet: &str, length: usize, seed: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..length)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            letters[(state >> 33) as usize % letters.len()]
        })
        .collect()
}

fn token(parts: &[Part]) -> String {
    parts
        .iter()
        .zip(7..)
        .map(|(part, seed)| match part {
            Is(text) => (*text).to_owned(),
            Of(alphabet, length) => generated(alphabet, *length, seed),
        })
        .collect()
}

fn finders(text: &str) -> BTreeSet<(&'static str, String)> {
    let pass = crate::pass::Pass::over(&ENGINE, text, FIELD.key).unwrap();
    pass.findings
        .iter()
        .map(|f| (f.rule, text[f.start..f.end].to_owned()))
        .collect()
}

/// Rule, and the parts of a token as the issuer documents it.
fn formats() -> Vec<(&'static str, Vec<Part>)> {
    vec![
        (
            "1password-secret-key",
            vec![
                Is("A3-"),
                Of(UPPER, 6),
                Is("-"),
                Of(UPPER, 11),
                Is("-"),
                Of(UPPER, 5),
                Is("-"),
                Of(UPPER, 5),
                Is("-"),
                Of(UPPER, 5),
            ],
        ),
        (
            "1password-service",
            vec![Is("ops_"), Is("eyJ"), Of(ALNUM, 250)],
        ),
        ("adafruit", vec![Is("aio_"), Of(ALNUM, 28)]),
        (
            "age-identity",
            vec![Is("AGE-SECRET-"), Is("KEY-1"), Of(BECH32, 58)],
        ),
        (
            "airtable",
            vec![Is("pat"), Of(ALNUM, 14), Is("."), Of(HEX, 64)],
        ),
        ("alibaba", vec![Is("LTAI"), Of(ALNUM, 20)]),
        (
            "anthropic",
            vec![Is("sk-"), Is("ant-api03-"), Of(ALNUM, 93), Is("AA")],
        ),
        ("artifactory-key", vec![Is("AKCp"), Of(ALNUM, 69)]),
        ("atlassian-app", vec![Is("ATBB"), Of(ALNUM, 32)]),
        ("aws-access-key", vec![Is("AK"), Is("IA"), Of(UPPER, 16)]),
        ("clojars", vec![Is("CLOJARS_"), Of(ALNUM, 60)]),
        ("contentful", vec![Is("CFPAT-"), Of(ALNUM, 43)]),
        ("databricks", vec![Is("dapi"), Of(HEX, 32)]),
        ("digitalocean", vec![Is("dop"), Is("_v1_"), Of(HEX, 64)]),
        ("docker-hub", vec![Is("dckr_"), Is("pat_"), Of(ALNUM, 27)]),
        ("doppler", vec![Is("dp.pt."), Of(ALNUM, 43)]),
        ("duffel", vec![Is("duffel_"), Is("live_"), Of(ALNUM, 43)]),
        (
            "dynatrace",
            vec![Is("dt0c01."), Of(UPPER, 24), Is("."), Of(UPPER, 64)],
        ),
        ("easypost", vec![Is("EZAK"), Of(ALNUM, 54)]),
        ("facebook", vec![Is("EAAM"), Of(ALNUM, 120)]),
        ("figma", vec![Is("figd_"), Of(ALNUM, 40)]),
        (
            "flutterwave",
            vec![
                Is("FLWSECK"),
                Is("_TEST-"),
                Of("abcdefgh0123456789", 32),
                Is("-X"),
            ],
        ),
        ("frame-io", vec![Is("fio-u-"), Of(ALNUM, 64)]),
        ("gatehouse", vec![Is("gs"), Is("_"), Of(ALNUM, 43)]),
        ("github", vec![Is("gh"), Is("p_"), Of(ALNUM, 36)]),
        (
            "github-fine-grained",
            vec![
                Is("github"),
                Is("_pat_"),
                Of(ALNUM, 22),
                Is("_"),
                Of(ALNUM, 59),
            ],
        ),
        ("gitlab", vec![Is("gl"), Is("pat-"), Of(ALNUM, 20)]),
        (
            "gitlab-runner",
            vec![Is("GR13"), Is("48941"), Of(ALNUM, 20)],
        ),
        ("google-api", vec![Is("AI"), Is("za"), Of(ALNUM, 35)]),
        (
            "google-oauth-client",
            vec![Is("GOC"), Is("SPX-"), Of(ALNUM, 28)],
        ),
        (
            "grafana-service",
            vec![Is("glsa_"), Of(ALNUM, 32), Is("_"), Of(HEX, 8)],
        ),
        ("groq", vec![Is("gsk_"), Of(ALNUM, 52)]),
        ("heroku", vec![Is("HRKU-"), Of(ALNUM, 60)]),
        ("huggingface", vec![Is("hf_"), Of(ALNUM, 34)]),
        (
            "langsmith",
            vec![Is("lsv2_"), Is("pt_"), Of(HEX, 32), Is("_"), Of(HEX, 10)],
        ),
        ("linear", vec![Is("lin_"), Is("api_"), Of(ALNUM, 40)]),
        ("llama-cloud", vec![Is("llx-"), Of(ALNUM, 48)]),
        ("mailgun", vec![Is("key-"), Of(HEX, 32)]),
        ("netlify", vec![Is("nfp_"), Of(ALNUM, 36)]),
        ("new-relic", vec![Is("NRAK-"), Of(UPPER, 27)]),
        ("npm", vec![Is("npm"), Is("_"), Of(ALNUM, 36)]),
        ("nvidia", vec![Is("nvapi-"), Of(ALNUM, 64)]),
        ("openai", vec![Is("sk"), Is("-"), Of(ALNUM, 48)]),
        (
            "openai-project",
            vec![Is("sk-"), Is("proj-"), Of(ALNUM, 100)],
        ),
        ("openrouter", vec![Is("sk-or-"), Is("v1-"), Of(HEX, 64)]),
        ("openshift", vec![Is("sha256~"), Of(ALNUM, 43)]),
        ("perplexity", vec![Is("pplx-"), Of(ALNUM, 48)]),
        (
            "planetscale",
            vec![Is("pscale_"), Is("tkn_"), Of(ALNUM, 43)],
        ),
        (
            "postman",
            vec![Is("PMAK-"), Of(HEX, 24), Is("-"), Of(HEX, 34)],
        ),
        ("prefect", vec![Is("pnu_"), Of(LOWER, 36)]),
        ("pulumi", vec![Is("pul-"), Of(HEX, 40)]),
        ("pypi", vec![Is("pypi-"), Is("AgE"), Of(ALNUM, 150)]),
        ("readme", vec![Is("rdme_"), Of(LOWER, 70)]),
        ("replicate", vec![Is("r8_"), Of(ALNUM, 37)]),
        ("rubygems", vec![Is("rubygems_"), Of(HEX, 48)]),
        (
            "sendgrid",
            vec![Is("SG"), Is("."), Of(ALNUM, 22), Is("."), Of(ALNUM, 43)],
        ),
        (
            "sendinblue",
            vec![Is("xkeysib-"), Of(HEX, 64), Is("-"), Of(ALNUM, 16)],
        ),
        ("sentry-user", vec![Is("sntryu_"), Of(HEX, 64)]),
        ("shippo", vec![Is("shippo_"), Is("live_"), Of(HEX, 40)]),
        ("shopify", vec![Is("shp"), Is("at_"), Of(HEX, 32)]),
        (
            "slack-token",
            vec![
                Is("xox"),
                Is("b-"),
                Of(DIGITS, 12),
                Is("-"),
                Of(DIGITS, 12),
                Is("-"),
                Of(ALNUM, 24),
            ],
        ),
        (
            "slack-webhook",
            vec![
                Is("https://hooks.slack"),
                Is(".com/services/"),
                Is("T0"),
                Of(UPPER, 9),
                Is("/B0"),
                Of(UPPER, 9),
                Is("/"),
                Of(ALNUM, 24),
            ],
        ),
        ("sonar", vec![Is("squ_"), Of(HEX, 40)]),
        ("sourcegraph", vec![Is("sgp_"), Of(HEX, 40)]),
        ("square-oauth", vec![Is("sq0"), Is("csp-"), Of(ALNUM, 43)]),
        ("stripe", vec![Is("sk"), Is("_live_"), Of(ALNUM, 24)]),
        ("stripe-webhook", vec![Is("whsec"), Is("_"), Of(ALNUM, 32)]),
        ("supabase", vec![Is("sbp_"), Of(HEX, 40)]),
        (
            "tailscale",
            vec![
                Is("tskey-"),
                Is("auth-"),
                Of(ALNUM, 12),
                Is("-"),
                Of(ALNUM, 32),
            ],
        ),
        (
            "telegram-bot",
            vec![Of("123456789", 10), Is(":A"), Is("A"), Of(ALNUM, 33)],
        ),
        (
            "terraform-cloud",
            vec![Of(ALNUM, 14), Is(".atlas"), Is("v1."), Of(ALNUM, 67)],
        ),
        ("twilio", vec![Is("S"), Is("K"), Of(HEX, 32)]),
        ("vault-service", vec![Is("hv"), Is("s."), Of(ALNUM, 95)]),
        ("xai", vec![Is("xai-"), Of(ALNUM, 80)]),
    ]
}

#[test]
fn tokens_are_found_whole_in_all_surroundings() {
    for (rule, parts) in formats() {
        let token = token(&parts);
        for text in [
            token.clone(),
            format!("key = \"{token}\";"),
            format!("see ({token}), and"),
            format!("K={token}\nX=1"),
            format!("電話{token}。"),
        ] {
            let found = finders(&text);
            assert!(
                found.contains(&(rule, token.clone())),
                "{rule} in {text}: {found:?}"
            );
        }
    }
}

#[test]
fn near_misses_are_not_found_by_that_rule() {
    for (rule, parts) in formats() {
        let whole = token(&parts);
        let heads = TABLE
            .iter()
            .filter(|(name, ..)| *name == rule)
            .map(|(_, head, _)| *head);
        let shortest = heads
            .filter_map(|head| {
                regex_syntax::ParserBuilder::new()
                    .utf8(false)
                    .build()
                    .parse(head)
                    .ok()
            })
            .filter_map(|head| head.properties().minimum_len())
            .min()
            .unwrap();
        let short = &whole[..shortest - 1];
        let mut wrong_letter = whole.clone();
        wrong_letter.replace_range(shortest - 2..shortest - 1, "!");
        let inside = format!("x{whole}");
        // A format that begins with free characters has no prefix to miss.
        let beheaded = match parts.first() {
            Some(Is(_)) => &whole[1..],
            _ => short,
        };
        for near in [short, &wrong_letter, &inside, beheaded] {
            let found = finders(near);
            assert!(
                !found.iter().any(|(by, _)| *by == rule),
                "{rule} in {near}: {found:?}"
            );
        }
    }
}

#[test]
fn fillers_are_no_secrets() {
    for text in [
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "AKIAXXXXXXXXXXXXXXXX",
    ] {
        assert!(finders(text).is_empty(), "{text}");
    }
    let published = ["AKIAIOSFODNN7", "EXAMPLE"].concat();
    assert!(finders(&published).contains(&("aws-access-key", published.clone())));
    // A known prefix is not doubted for the look of what follows.
    for repeated in [
        ["AIza", &"Q".repeat(35)].concat(),
        ["AIza", &"EXAMPLE".repeat(5)].concat(),
    ] {
        assert!(
            finders(&repeated).contains(&("google-api", repeated.clone())),
            "{repeated}"
        );
    }
}

#[test]
fn there_are_more_than_forty_formats_and_their_names_differ() {
    let names: BTreeSet<_> = TABLE.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names.len(), TABLE.len());
    let tested: BTreeSet<_> = formats().iter().map(|(name, _)| *name).collect();
    assert!(
        tested.len() >= 70 && tested.is_subset(&names),
        "{}",
        tested.len()
    );
}
