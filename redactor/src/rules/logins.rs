//! Passwords that neither a name nor a flag of their own stands before: those that programs take as
//! an argument, and those in pairs of code.

use data_encoding::BASE64;

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};

use super::names::{echoes, is_number, looks_like_place};
use super::{Worth, checked};

/// Programs that log in somewhere, and the short flags behind which they take a password; those
/// that take it as an argument (`htpasswd -b file name …`, `net use Z: \\\\server\\share …`); a file of
/// names and passwords by host (`.netrc`); routers and switches (`snmp-server community … RO`). One
/// rule, so that what they need is looked for once.
const GIVEN: &str = concat!(
    r"(?:",
    r"(?:sshpass|(?:docker|podman)[^\n|;&]{0,24} login|mongo(?:sh|dump|restore|import|export)?|ldap(?:search|modify|add|delete|passwd|whoami)|sqlcmd|cqlsh|unzip|openssl [a-z0-9-]{1,12})(?: [^\n|;&]{0,120})? -(?:p|P|w|k|pass(?:in|out)? pass:) ?",
    r"|(?:htpasswd -[A-Za-z]{0,4}b[A-Za-z]{0,4}(?: [^ \n|;&]{1,80}){2} |net use [A-Z*]:? \\{2,4}[^ \n]{1,80} |ConvertTo-SecureString (?:-[A-Za-z]{1,12} ){0,3})",
    r"|login[ \t]{1,3}[^ \t\n]{1,100}[ \t\r\n]{1,12}(?:password|passwd|account)[ \t]{1,3}",
    r"|(?:username [^ \n]{1,32} (?:privilege [0-9]{1,2} )?|enable )(?:secret|password) (?:[0-9] )?|snmp-server community |(?:pre-shared-key|key-string|tacacs-server key|radius-server key) (?:[0-9] )?)"
);
const ECHOED: &str = r#"echo(?: -n)? ["']?"#;
/// Bytes behind the command in which its argument and the program that reads it stand.
const PIPE: usize = 160;
/// `password.equals("…")`
const EQUALS: &str = r"(?i)(?:pass(?:word|wd|phrase|code)?|pwd|passwort|secret|token|api_?key)\)?\.equals(?:ignorecase)?\(";
/// `auth=("name", "…")`, `basic_auth("name", Some("…"))`
const PAIR: &str = r#"(?i)(?:auth|credentials?|login|authentication)["']?[ \t]{0,2}[=:]?[ \t]{0,2}[\[({]\\?["'][^"'\n\\]{1,64}\\?["'],[ \t]{0,2}"#;
/// A password right behind its name, in languages whose sentences put it so.
const BEHIND: &str = r"(?i)(?:passwor[dt]|passwd|kennwort|has(?:l|\xC5\x82)o|contrase(?:n|\xC3\xB1)a|mot de passe|senha|wachtwoord|l(?:o|\xC3\xB6)senord|adgangskode|heslo) {1,2}";

/// A password as systems keep it: crypt(5), PHC strings, LDAP's userPassword (RFC 2307).
const HASH: &str = concat!(
    r"(?:\$(?:1|apr1)\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}",
    r"|\$2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}",
    r"|\$5\$(?:rounds=[0-9]{1,9}\$)?[./A-Za-z0-9]{0,16}\$[./A-Za-z0-9]{43}",
    r"|\$6\$(?:rounds=[0-9]{1,9}\$)?[./A-Za-z0-9]{0,16}\$[./A-Za-z0-9]{86}",
    r"|\$g?y\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{1,64}\$[./A-Za-z0-9]{43}",
    r"|\$argon2(?:id|i|d)\$(?:v=[0-9]{1,3}\$)?m=[0-9]{1,9},t=[0-9]{1,4},p=[0-9]{1,4}\$[+/A-Za-z0-9]{8,64}\$[+/A-Za-z0-9]{16,88}",
    r"|\$pbkdf2(?:-sha(?:1|256|512))?\$[0-9]{1,8}\$[./A-Za-z0-9]{8,64}\$[./A-Za-z0-9]{27,86}",
    r"|\{S?(?:SHA(?:256|384|512)?|MD5)\}[+/A-Za-z0-9]{20,116}={0,2})"
);

pub(super) fn rules() -> Vec<Rule> {
    let any = (Left::Any, Tail::Value);
    let token = (Left::Token, Tail::Value);
    let near = (Left::Token, Tail::Near(PIPE));
    let rule = |name, head, how, check| checked(name, Label::PASSWORD, head, how, check);
    vec![
        rule("program-argument", GIVEN, token, argument),
        rule("program-input", ECHOED, near, echoed),
        rule("password-equals", EQUALS, any, paired),
        rule("login-pair", PAIR, any, paired),
        rule("password-behind", BEHIND, token, behind),
        rule("password-hash", HASH, (Left::Any, Tail::None), hash),
    ]
}

fn taken(candidate: &Candidate<'_>) -> Option<Hit> {
    candidate.valued(Label::PASSWORD, 86)
}

fn argument(candidate: &Candidate<'_>) -> Option<Hit> {
    let value = candidate.value;
    let flag = value.starts_with(['-', '/']) || value.contains(':') || looks_like_place(value);
    let common = ["public", "private", "RO", "RW", "ro", "rw"].contains(&value);
    let fits = Worth::of(value) >= Worth::Chosen && !flag && !is_number(value) && !common;
    fits.then(|| taken(candidate)).flatten()
}

/// What goes on is longer than any of them, or of another kind; what follows a brace is a digest with salt, in
/// base64.
fn hash(candidate: &Candidate<'_>) -> Option<Hit> {
    let goes_on = candidate
        .next()
        .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'/');
    let scheme = candidate
        .matched()
        .strip_prefix('{')
        .and_then(|rest| rest.split_once('}'));
    let whole = scheme.is_none_or(|(name, digest)| {
        let length = match name.trim_start_matches('S') {
            "MD5" => 16,
            "HA256" => 32,
            "HA384" => 48,
            "HA512" => 64,
            _ => 20,
        };
        let decoded = BASE64.decode(digest.as_bytes());
        candidate.previous() != Some(b'$') && decoded.is_ok_and(|bytes| bytes.len() >= length)
    });
    (!goes_on && whole)
        .then(|| candidate.whole(Label::PASSWORD, 92))
        .flatten()
}

/// What a program that reads a password from its input is given.
fn echoed(candidate: &Candidate<'_>) -> Option<Hit> {
    let rest = candidate.text.get(candidate.head..candidate.end)?;
    let line = rest.split('\n').next()?;
    let (word, program) = line.split_once('|')?;
    let word = word.trim_end().trim_end_matches(['"', '\'', '\\']);
    let reads = [
        "sudo -S",
        "--password-stdin",
        "--passphrase-fd",
        "passwd --stdin",
        "kinit ",
    ];
    let read = reads.iter().any(|reads| program.contains(reads));
    let fits = read && !word.contains(' ') && Worth::of(word) >= Worth::Chosen;
    fits.then_some(Hit {
        start: candidate.head,
        end: candidate.head + word.len(),
        label: Label::PASSWORD,
        score: 86,
        certain: false,
    })
}

fn paired(candidate: &Candidate<'_>) -> Option<Hit> {
    candidate.quote?;
    let value = candidate.value;
    let marked = |b: u8| b.is_ascii_digit() || b"!@#$%^&*+=?~".contains(&b);
    let telling = value.bytes().any(marked) || Worth::of(value) == Worth::Random;
    let word = value.contains(' ') || looks_like_place(value) || echoes(value);
    let fits = Worth::of(value) >= Worth::Chosen && value.len() >= 6 && telling && !word;
    fits.then(|| taken(candidate)).flatten()
}

/// In a sentence only what no word and no name of an algorithm looks like.
fn behind(candidate: &Candidate<'_>) -> Option<Hit> {
    let value = candidate.value;
    let has = |of: fn(u8) -> bool| value.bytes().any(of);
    let kinds = [
        has(|b| b.is_ascii_lowercase()),
        has(|b| b.is_ascii_uppercase()),
        has(|b| b"!@#$%^&*+=?~".contains(&b)),
    ];
    let mixed = kinds.iter().filter(|kind| **kind).count() >= 2;
    let marked = value.bytes().filter(u8::is_ascii_digit).count() >= 2;
    let fits = value.len() >= 8 && mixed && marked && Worth::of(value) >= Worth::Chosen;
    let name = value.contains(['.', ':', '/', '-', '_', '(']);
    (fits && !name).then(|| taken(candidate)).flatten()
}

#[cfg(test)]
mod tests {
    use super::BASE64;
    use crate::rules::testing::{found, nothing};

    #[test]
    fn what_programs_are_given() {
        for text in [
            "sshpass -p 'hunter2x9!' ssh ops@web1",
            "docker login -u bot -p hunter2x9! reg.example.com",
            "ldapsearch -x -D cn=adm -w hunter2x9! -b dc=x",
            "openssl enc -aes-256-cbc -k hunter2x9! -in a",
            "htpasswd -bc .htpasswd web hunter2x9!",
            "net use Z: \\\\fs1\\share hunter2x9! /user:x",
            "echo \"hunter2x9!\" | sudo -S reboot",
            "echo hunter2x9! | docker login --password-stdin",
            "machine api.example.com login ana password hunter2x9!\n",
            "machine h\n  login ana\n  password hunter2x9!\n",
            "username net privilege 15 secret 0 hunter2x9!\n",
            "snmp-server community hunter2x9! RO",
        ] {
            found(text, "PASSWORD", &["hunter2x9!"]);
        }
    }

    #[test]
    fn passwords_as_systems_keep_them() {
        let long = "kd83mmsk29dlsk2j3k4l5kd8".repeat(4);
        for hash in [
            format!("$6$rounds=5000$saltsalt${}", &long[..86]),
            format!("$1$kd83mmsk${}", &long[..22]),
            format!("$2y$10${}", &long[..53]),
            format!(
                "$argon2id$v=19$m=65536,t=3,p=4${}${}",
                &long[..22],
                &long[..43]
            ),
            format!("{{SSHA}}{}", BASE64.encode(&long.as_bytes()[..28])),
        ] {
            for text in [format!("mira:{hash}:19000:0:"), format!("h = \"{hash}\"")] {
                found(&text, "PASSWORD", &[&hash]);
            }
        }
        for text in [
            "cost is $5$ or $6$ each; {SHA} of it, ${SHA256}",
            "aws s3 cp out s3://ci/${SHA}/artifacts/bundle.zip",
            "app-{SHA256}-linux-amd64.tar.gz",
            "mv $1$SUFFIX/archive/2024/data.csv x",
        ] {
            nothing(text);
        }
    }

    #[test]
    fn pairs_of_code_and_of_sentences() {
        for text in [
            "if (pass.equals(\"hunter2X9\")) {}",
            "requests.get(url, auth=(\"svc\", \"hunter2X9\"))",
            "client.get(u).basic_auth(\"svc\", Some(\"hunter2X9\")).send()",
            "Benutzer ana, Kennwort hunter2X9, bitte",
        ] {
            found(text, "PASSWORD", &["hunter2X9"]);
        }
    }

    #[test]
    fn other_arguments() {
        for text in [
            "docker run -p 8080:80 img",
            "docker login -u bot --password-stdin",
            "mkdir -p srv/app2",
            "openssl x509 -in cert2.pem -noout",
            "sshpass -p \"$PASS\" ssh ops@web1",
            "echo \"build2026 ok\" | tee log",
            "enable password policy",
            "snmp-server community public RO",
            "login(\"admin\", \"admin\")",
            "auth = (\"user\", \"password\")",
            "a password SHA-256 hashes, password policy",
            "pass.equals(other)",
        ] {
            nothing(text);
        }
    }
}
