//! Passwords and tokens that stand behind their name: JSON, YAML, environment, code, XML,
//! command lines, HTTP headers.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};
use crate::validate::context::Cues;

use super::names::{
    echoes, is_number, is_password_name, is_uuid, looks_like_place, name_of, says_about,
};
use super::{Worth, checked};

/// What may stand between a name and its value.
macro_rules! assigned {
    ($names:literal) => {
        concat!(
            r"(?i)(?:",
            $names,
            r")[a-z0-9_.-]{0,24}",
            r#"(?:\\?["'`])?\]?[ \t]{0,8}(?:=>|:=|[=!]=|=|:|>)[ \t]{0,8}"#
        )
    };
}

pub(super) use assigned;

const PASSWORDS: &str = assigned!(
    r"(?:admin|app|client|db|ftp|http|ldap|my|mysql|pg|postgres|redis|root|service|smtp|ssh|svc|user|web)?(?:pass[_-]?(?:word|wd|phrase|code)|p(?:as|ss|ass)?w(?:o?r)?d|pas?s?w(?:o?r)?d|(?:wpa[23]?_?)?psk|pssword|pasword|passwort|passw|pass|pwd|pw|pswd|psw|kennwort|kodewort|contrase(?:n|\xC3\xB1)a|clave|has(?:l|\xC5\x82)o|senha|mot[ _]de[ _]passe|wachtwoord|l(?:o|\xC3\xB6)senord|adgangskode|heslo|jelsz(?:o|\xC3\xB3)|\xD0\xBF\xD0\xB0\xD1\x80\xD0\xBE\xD0\xBB\xD1\x8C|\xE5\xAF\x86\xE7\xA0\x81)"
);
const TOKENS: &str = assigned!(
    r"(?:activation|api|access|account|app|auth|authentication|any|client|consumer|deploy|encryption|license|master|private|public|secret|service|session|secret|shared|sign(?:ing)?|storage|subscription|webhook)[ _.-]?(?:access[ _.-]?)?(?:key|secret|token|pass)|secret|token|credentials?|auth|bearer|session(?:id)?|cookie|sid|jwt|dsn|(?:amz|goog)-signature|sig|nonce|otp"
);
const AUTHORIZATION: &str = r#"(?i)(?:proxy-)?authorization(?:\\?["'`])?\]?[ \t]{0,4}(?:=>|[:=,])[ \t]{0,4}(?:\\?["'`])?(?:basic|bearer|token|apikey|api-key|digest|key)[ =]{1,4}"#;
const BEARER: &str = r"(?i)bearer[ ]{1,3}";
const FLAG: &str = r"(?i)--?(?:[a-z0-9]{1,16}[-_]){0,3}(?:password|passwd|passphrase|pass|pwd|token|secret|api-?key|apikey|access-key|secret-key|auth-token|credentials?)(?:[-_][a-z]{1,12}){0,2} {1,2}";
const USER: &str = r#"(?:-u|--user|--proxy-user)[ =]{0,2}["']?[A-Za-z0-9_.@+-]{1,64}:"#;
const USER_NAME: &str = r#"(?:-u|--user|--proxy-user)[ =]{0,2}["']?"#;
/// Bytes before a head in which the rest of its name stands.
const FORM: usize = 24;
/// Bytes before a head in which the rest of a resource's name stands.
const ARN: usize = 96;
/// Bytes behind the flag in which name, colon and the beginning of the password stand.
const LOGIN: usize = 96;

const CLIENT: &str = r#"(?:mysql|mysqldump|mysqladmin|mariadb|redis-cli|sshpass|mongosh?)(?: [^\n|;&]{0,120})? -(?:p|a )["']?"#;
const QUOTED: &str = r#"(?i)(?:pass(?:word|wd|phrase|code)|passwort|pwd|userpwd|proxyuserpwd|keypasswd|proxypassword|x?oauth2_bearer|secret|(?:api|auth|access)_?(?:key|token)|securestring|identified(?: with [a-z0-9_]{1,32})? by)["']?\)?[ \t]{0,4}(?:[,(]|[!=]={1,2}|: ?(?:&'static )?[a-z]{1,12} ?=|or)?[ \t]{0,4}"#;

/// What is called with a name and a password for HTTP.
pub(super) const CALLERS: Cues = Cues::new(7, &["curl", "wget", "http", "https"]);
pub(super) const CLIENTS: Cues = Cues::new(8, &["curl", "wget"]);

pub(super) fn rules() -> Vec<Rule> {
    let any = (Left::Any, Tail::Value);
    vec![
        checked(
            "password-assigned",
            Label::PASSWORD,
            PASSWORDS,
            any,
            password,
        ),
        checked("token-assigned", Label::API_KEY, TOKENS, any, token),
        checked(
            "authorization",
            Label::API_KEY,
            AUTHORIZATION,
            any,
            authorization,
        ),
        checked(
            "bearer",
            Label::API_KEY,
            BEARER,
            (Left::Token, Tail::Value),
            bearer,
        ),
        checked("flag", Label::PASSWORD, FLAG, any, flag),
        checked("user-flag", Label::PASSWORD, USER, any, user),
        checked(
            "user-flag-name",
            Label::USERNAME,
            USER_NAME,
            (Left::Token, Tail::Near(LOGIN)),
            user_name,
        ),
        checked("client-flag", Label::PASSWORD, CLIENT, any, listed),
        checked("password-quoted", Label::PASSWORD, QUOTED, any, quoted),
    ]
}

fn password(candidate: &Candidate<'_>) -> Option<Hit> {
    let head = candidate.text.get(candidate.start..candidate.head)?;
    let name = name_of(head);
    // `<PASSWORD_k7q2mz>` is a token of ours and no tag.
    let token = candidate.previous() == Some(b'<')
        && name.rsplit_once('_').is_some_and(|(label, digits)| {
            digits.len() >= 6 && label.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        });
    if token || says_about(name) || !is_password_name(name) {
        return None;
    }
    // `pass::tests::x` is a path.
    let rest = candidate.text.as_bytes().get(candidate.head..);
    let path = matches!(rest, Some([b':', b, ..]) if b.is_ascii_alphanumeric());
    if head.ends_with(':') && path {
        return None;
    }
    let quoted = candidate.quote.is_some();
    // `prompt='Password: ', stream=None`: the quote closes another string.
    if quoted && candidate.value.starts_with([',', ')', ';', ']']) {
        return None;
    }
    // `NAME=value` without spaces: an environment or properties file.
    let environment = head.ends_with('=') && name.bytes().all(|b| !b.is_ascii_lowercase());
    let short_name = matches!(name.to_ascii_lowercase().as_str(), "pass" | "pw" | "clave");
    let accepted = match Worth::of(candidate.value) {
        Worth::Placeholder => false,
        Worth::Word => (quoted || environment) && !short_name && !echoes(candidate.value),
        Worth::Chosen => !(short_name && !quoted && is_number(candidate.value)),
        Worth::Random => true,
    };
    let spaced = candidate.value.contains(' ') && candidate.value.split(' ').count() > 6;
    (accepted && !spaced)
        .then(|| candidate.valued(Label::PASSWORD, 90))
        .flatten()
}

fn token(candidate: &Candidate<'_>) -> Option<Hit> {
    // What is random or chosen has one of these; long values that have none end here.
    let figures = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    if !candidate.value.bytes().any(figures) {
        return None;
    }
    let head = candidate.text.get(candidate.start..candidate.head)?;
    let name = name_of(head).to_ascii_lowercase();
    // A signature shows who signed and opens nothing; `sig` in a URL is a capability.
    if name.starts_with("signature") {
        return None;
    }
    // Sessions and cookies are often named by a UUID, which opens nothing by itself.
    let named = ["session", "sid", "cookie", "nonce"]
        .iter()
        .any(|n| name.starts_with(n));
    if says_about(name_of(head))
        || is_of_form(candidate)
        || is_in_arn(candidate)
        || candidate.value.contains(' ')
        || (named && is_uuid(candidate.value))
    {
        return None;
    }
    let worth = Worth::of(candidate.value);
    let strong =
        head.to_ascii_lowercase().contains("secret") || head.to_ascii_lowercase().contains("key");
    let kinds = [
        u8::is_ascii_digit,
        u8::is_ascii_lowercase,
        u8::is_ascii_uppercase,
    ];
    let mixed = kinds
        .iter()
        .all(|kind| candidate.value.as_bytes().iter().any(kind));
    let chosen = worth == Worth::Chosen
        && (strong || (mixed && candidate.value.len() >= 10))
        && candidate.value.len() >= 8
        && candidate.value.bytes().any(|b| b.is_ascii_digit())
        && !looks_like_place(candidate.value);
    ((worth == Worth::Random && !looks_like_place(candidate.value)) || chosen)
        .then(|| candidate.valued(Label::API_KEY, 88))
        .flatten()
}

/// `authenticity_token`, `csrf-token`: a mark of one page that shows where a form comes from and
/// opens nothing without the session.
pub(super) fn is_of_form(candidate: &Candidate<'_>) -> bool {
    let near = candidate.start.saturating_sub(FORM);
    let name = candidate
        .text
        .get(candidate.text.ceil_char_boundary(near)..candidate.head);
    let name = name.unwrap_or_default().to_ascii_lowercase();
    // What ends another name and value does not belong to this one.
    let name = name
        .rsplit([',', '\n', ';', '&'])
        .next()
        .unwrap_or_default();
    ["authenticity", "csrf", "xsrf", "requestverification"]
        .iter()
        .any(|mark| name.contains(mark))
}

/// `arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf` names a secret and is none.
fn is_in_arn(candidate: &Candidate<'_>) -> bool {
    let near = candidate
        .text
        .floor_char_boundary(candidate.start.saturating_sub(ARN));
    let before = candidate
        .text
        .get(near..candidate.start)
        .unwrap_or_default();
    let word = |c: char| c.is_ascii_alphanumeric() || ":/_.-*".contains(c);
    let from = before.rfind(|c| !word(c)).map_or(0, |at| at + 1);
    let own = before
        .get(before.ceil_char_boundary(from)..)
        .unwrap_or_default();
    own.starts_with("arn:aws")
}

fn authorization(candidate: &Candidate<'_>) -> Option<Hit> {
    let fits = Worth::of(candidate.value) != Worth::Placeholder
        && candidate.value.len() >= 6
        && !candidate.value.contains(' ');
    let basic = candidate
        .text
        .get(candidate.start..candidate.head)?
        .to_ascii_lowercase();
    let label = if basic.contains("basic") {
        Label::PASSWORD
    } else {
        Label::API_KEY
    };
    fits.then(|| candidate.valued(label, 96)).flatten()
}

fn bearer(candidate: &Candidate<'_>) -> Option<Hit> {
    let random = Worth::of(candidate.value) == Worth::Random;
    random
        .then(|| candidate.valued(Label::API_KEY, 94))
        .flatten()
}

fn flag(candidate: &Candidate<'_>) -> Option<Hit> {
    let fits = Worth::of(candidate.value) >= Worth::Chosen && !candidate.value.starts_with('-');
    fits.then(|| candidate.valued(Label::PASSWORD, 88))
        .flatten()
}

fn user(candidate: &Candidate<'_>) -> Option<Hit> {
    let fits = Worth::of(candidate.value) >= Worth::Word && !is_number(candidate.value);
    let alone = candidate.previous().is_none_or(|b| b.is_ascii_whitespace());
    let sure = Worth::of(candidate.value) >= Worth::Chosen;
    (fits && alone && (sure || candidate.context.names(&CALLERS)))
        .then(|| candidate.valued(Label::PASSWORD, 88))
        .flatten()
}

/// The name before the password of `curl -u name:password`.
fn user_name(candidate: &Candidate<'_>) -> Option<Hit> {
    let rest = candidate.text.get(candidate.head..candidate.end)?;
    let (name, rest) = rest.split_once(':')?;
    let inside = |b: u8| b.is_ascii_alphanumeric() || b"_.@+-".contains(&b);
    let known = ["admin", "root", "user", "username", "test", "x", "api"].contains(&name);
    let password = rest
        .split([' ', '"', '\'', '\n'])
        .next()
        .unwrap_or_default();
    let secret = Worth::of(password) >= Worth::Chosen
        || (Worth::of(password) == Worth::Word && candidate.context.names(&CLIENTS));
    if name.len() < 3 || known || !secret || !name.bytes().all(inside) {
        return None;
    }
    Some(Hit {
        start: candidate.head,
        end: candidate.head + name.len(),
        label: Label::USERNAME,
        score: 84,
        certain: false,
    })
}

fn quoted(candidate: &Candidate<'_>) -> Option<Hit> {
    candidate.quote?;
    let worth = Worth::of(candidate.value);
    let telling = candidate.value.bytes().any(|b| b.is_ascii_digit()) || worth == Worth::Random;
    let fits = worth >= Worth::Chosen && telling && !candidate.value.contains(' ');
    fits.then(|| candidate.valued(Label::PASSWORD, 84))
        .flatten()
}

fn listed(candidate: &Candidate<'_>) -> Option<Hit> {
    let fits = Worth::of(candidate.value) >= Worth::Chosen && !is_of_form(candidate);
    fits.then(|| candidate.valued(Label::PASSWORD, 88))
        .flatten()
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn passwords_behind_their_name() {
        for text in [
            r#"{"password":"hunter2x"}"#,
            "DB_PASSWORD=hunter2x",
            "password: hunter2x\n",
            "passwd = 'hunter2x'",
            "<password>hunter2x</password>",
            "mysql --password hunter2x -h db",
            "Server=db;User Id=sa;Password=hunter2x;",
            r#"{\"password\":\"hunter2x\"}"#,
            "hasło: hunter2x",
            "mot de passe : hunter2x",
            "curl -u lena:hunter2x https://x",
            "- name: DB_PASSWORD\n  value: hunter2x\n",
            "DB_PASS=hunter2x",
            "CREATE USER app IDENTIFIED BY 'hunter2x';",
            "alter user app identified with caching_sha2_password by 'hunter2x'",
            "ID:master/PASS:hunter2x",
        ] {
            found(text, "PASSWORD", &["hunter2x"]);
        }
        found(
            r#"{"password":"ab\"cd-TAIL-7781","n":1}"#,
            "PASSWORD",
            &[r#"ab\"cd-TAIL-7781"#],
        );
    }

    #[test]
    fn the_private_half_of_aws_credentials() {
        let key = ["wJalrXUtnFEMI/K7MDENG", "/bPxRfiCYEXAMPLEKEY"].concat();
        found(
            &format!("AWS_SECRET_ACCESS_KEY = \"{key}\""),
            "API_KEY",
            &[&key],
        );
        found(
            &format!("{{\"SecretAccessKey\":\"{key}\"}}"),
            "API_KEY",
            &[&key],
        );
        let token = ["FwoGZXIvYXdzEXAMPLE", "token0123456789"].concat();
        found(
            &format!("{{\"SessionToken\":\"{token}\"}}"),
            "API_KEY",
            &[&token],
        );
        let token = [
            "IQoJb3JpZ2luX2VjEJr",
            "//////////wEaCXVzLWVhc3QtMSJHMEUCIQDx",
        ]
        .concat();
        found(
            &format!("X-Amz-Security-Token: {token}\n"),
            "API_KEY",
            &[&token],
        );
    }

    #[test]
    fn headers() {
        found(
            "Authorization: Basic bGVuYTpzZWNyZXQ=",
            "PASSWORD",
            &["bGVuYTpzZWNyZXQ="],
        );
        found(
            "-H 'Authorization: Bearer abcdef123456'",
            "API_KEY",
            &["abcdef123456"],
        );
    }

    #[test]
    fn what_stands_in_for_a_value() {
        for text in [
            "password = os.environ['PW']",
            "def login(user: str, password: str) -> bool",
            "token_count: 51234567, max_tokens: 4096",
            "password: ${DB_PASSWORD}",
            r#""password": "Password""#,
            "let token = self.next_token();",
            "pass: 120, fail: 3",
            "The token: a credential",
            "\"signature\":\"I7l2ZXhw9ajjIE2w9tjHNvYjcHg7E2qldMMhoQKj\"",
            "password is required",
            "passed_by_value = \"warn7x\"",
            "IP_PASSSEC: u32 = 18",
            "def getpass(prompt='Password: ', stream=None):",
            "--password <PASSWORD>",
            "running pass::tests::every_split2",
            "<input name=\"authenticity_token\" value=\"h3Jk9-xTq2LmZ8vWn5RsYb7CdEf0Gu4P\" />",
            "csrf_token = 'h3Jk9xTq2LmZ8vWn5RsYb7CdEf0Gu4P'",
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf",
            "valueFrom: 'arn:aws-cn:secretsmanager:cn-north-1:123456789012:secret:Db7xQ2-AbCdEf'",
        ] {
            nothing(text);
        }
    }
}
