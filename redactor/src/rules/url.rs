//! User names and passwords inside addresses: `scheme://user:password@host`.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};

use super::{Worth, checked};

const STORES: &[&str] = &[
    "amqp",
    "amqps",
    "clickhouse",
    "cockroachdb",
    "couchbase",
    "kafka",
    "ldap",
    "ldaps",
    "mariadb",
    "mongodb",
    "mongodb+srv",
    "mssql",
    "mysql",
    "mysql2",
    "nats",
    "neo4j",
    "oracle",
    "postgres",
    "postgresql",
    "redis",
    "rediss",
    "smtp",
    "smtps",
    "snowflake",
    "sqlserver",
    "jdbc",
    "bolt",
    "rabbitmq",
    "elasticsearch",
    "memcached",
];

pub(super) fn rules() -> Vec<Rule> {
    let pair =
        r#"[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\x00-\x20"'<>@/:]{0,100}:[^\x00-\x20"'<>@/]{1,200}@"#;
    let lone = r"https?://[A-Za-z0-9_-]{20,100}@";
    vec![
        checked(
            "url-password",
            Label::URL_CREDENTIALS,
            pair,
            (Left::Any, Tail::None),
            password,
        ),
        checked(
            "url-token",
            Label::URL_CREDENTIALS,
            lone,
            (Left::Token, Tail::None),
            token,
        ),
    ]
}

/// The finding is `user:password`; scheme and host stay readable.
fn password(candidate: &Candidate<'_>) -> Option<Hit> {
    let matched = candidate.matched();
    let (scheme, rest) = matched.split_once("://")?;
    let (_, secret) = rest.strip_suffix('@')?.split_once(':')?;
    if Worth::of(secret) == Worth::Placeholder {
        return None;
    }
    let scheme = scheme.to_ascii_lowercase();
    let base = scheme.split('+').next().unwrap_or_default();
    let store = STORES.contains(&scheme.as_str()) || STORES.contains(&base);
    let label = if store {
        Label::CONNECTION_STRING
    } else {
        Label::URL_CREDENTIALS
    };
    let start = candidate.start + scheme.len() + 3;
    Some(Hit {
        start,
        end: candidate.end - 1,
        label,
        score: 97,
        certain: true,
    })
}

fn token(candidate: &Candidate<'_>) -> Option<Hit> {
    let (_, secret) = candidate.matched().strip_suffix('@')?.split_once("://")?;
    let start = candidate.end - 1 - secret.len();
    let random = Worth::of(secret) == Worth::Random;
    let whole = candidate.whole(Label::URL_CREDENTIALS, 92)?;
    random.then_some(Hit {
        start,
        end: candidate.end - 1,
        ..whole
    })
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn credentials_and_only_they() {
        found(
            "https://lena:s3cr3t@host/x",
            "URL_CREDENTIALS",
            &["lena:s3cr3t"],
        );
        found(
            "postgres://app:pa%24s@db:5432/x",
            "CONNECTION_STRING",
            &["app:pa%24s"],
        );
        found(
            "redis://:hunter22@cache:6379",
            "CONNECTION_STRING",
            &[":hunter22"],
        );
    }

    #[test]
    fn addresses_without_credentials() {
        nothing("https://host:8080/path@x");
        nothing("https://user:${PASSWORD}@host/");
        nothing("https://user:***@host/");
    }
}
