//! What a value beside a label such as `password` is worth: a secret, a word, or a stand-in.

/// From what is certainly no secret to what certainly is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    /// A stand-in: `${VAR}`, `<password>`, `***`, `null`, a call, a reference in code.
    Placeholder,
    /// One plain word or identifier.
    Word,
    /// Letters with digits or marks, as people choose passwords.
    Chosen,
    /// What only a generator writes.
    Random,
}

/// Values that say what would stand there, in code and in prose.
const STANDINS: &[&str] = &[
    "null",
    "none",
    "nil",
    "true",
    "false",
    "undefined",
    "string",
    "str",
    "bytes",
    "int",
    "bool",
    "number",
    "optional",
    "required",
    "redacted",
    "masked",
    "hidden",
    "empty",
    "unset",
    "default",
    "password",
    "passwd",
    "secret",
    "token",
    "value",
    "text",
    "varchar",
    "char",
    "self",
    "this",
    "option",
    "any",
    "object",
    "never",
    "void",
    "todo",
    "tbd",
    "n/a",
    "enabled",
    "disabled",
    "invalid",
    "missing",
    "changed",
    "expired",
    "incorrect",
    "wrong",
    "reset",
    "not",
    "the",
    "u8",
    "u16",
    "u32",
    "u64",
    "i8",
    "i16",
    "i32",
    "i64",
    "f32",
    "f64",
    "usize",
    "isize",
    "uint",
    "long",
    "warn",
    "basic",
    "bearer",
    "digest",
    "yes",
    "no",
    "ok",
];

/// `^7.0.2`, `~1.4`, `>= 3.1`: versions of a package.
fn is_range(value: &str) -> bool {
    let version = value.trim_start_matches(['^', '~', '<', '>', '=']);
    let marks = value.len() - version.len();
    let numbers = version.trim_start().split_once('.');
    let numbers = numbers.is_some_and(|(major, minor)| {
        major.bytes().all(|b| b.is_ascii_digit())
            && !major.is_empty()
            && minor.starts_with(|c: char| c.is_ascii_digit())
    });
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-.+ <>=|^~*".contains(&b);
    (1..=2).contains(&marks) && numbers && version.bytes().all(plain)
}

impl Worth {
    /// Judges by shape alone.
    pub(super) fn of(value: &str) -> Self {
        if stands_in(value) || is_code(value) || is_range(value) {
            return Worth::Placeholder;
        }
        if is_identifier(value) {
            return Worth::Word;
        }
        let shape = Shape::of(value);
        if shape.others == 0 && shape.digits == 0 {
            // Letters only: random if the case changes often, as in base64 of random bytes.
            let changes = shape.changes * 4 >= value.len();
            return match value.len() >= 20 && changes {
                true => Worth::Random,
                false if unspeakable(value) => Worth::Chosen,
                false => Worth::Word,
            };
        }
        if shape.letters() == 0 && shape.digits < 6 {
            return if shape.others > 2 && value.len() > 5 {
                Worth::Chosen
            } else {
                Worth::Placeholder
            };
        }
        let cased = shape.upper >= 3 && shape.lower >= 3 && shape.changes * 4 >= value.len();
        let mixed = shape.distinct >= 8 && shape.letters() >= 2 && (shape.digits >= 2 || cased);
        let spread = shape.others <= value.len() / 4;
        if value.len() >= 16 && mixed && spread {
            Worth::Random
        } else {
            Worth::Chosen
        }
    }
}

struct Shape {
    upper: usize,
    lower: usize,
    digits: usize,
    others: usize,
    /// How often the class changes from one character to the next.
    changes: usize,
    distinct: u32,
}

impl Shape {
    fn of(value: &str) -> Self {
        let mut shape = Shape {
            upper: 0,
            lower: 0,
            digits: 0,
            others: 0,
            changes: 0,
            distinct: 0,
        };
        let mut seen = 0u128;
        let mut last = None;
        for byte in value.bytes() {
            let class = match byte {
                b'A'..=b'Z' => &mut shape.upper,
                b'0'..=b'9' => &mut shape.digits,
                b'_' | b'-' | b'a'..=b'z' => &mut shape.lower,
                _ => &mut shape.others,
            };
            *class += 1;
            let kind = (byte.is_ascii_uppercase(), byte.is_ascii_digit());
            shape.changes += usize::from(last.is_some_and(|last| last != kind));
            last = Some(kind);
            seen |= 1u128 << (byte & 0x7F);
        }
        shape.distinct = seen.count_ones();
        shape
    }

    fn letters(&self) -> usize {
        self.upper + self.lower
    }
}

/// Words joined by `_` or `-`, with at most a short number: `_bindgen_ty_3`, `AUTH_TOKEN_STATUS`.
fn is_identifier(value: &str) -> bool {
    let parts = || value.split(['_', '-']).filter(|part| !part.is_empty());
    let words = parts().filter(|part| part.bytes().all(|b| b.is_ascii_alphabetic()));
    let numbers =
        parts().filter(|part| part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit()));
    let (words, numbers) = (words.count(), numbers.count());
    value.contains(['_', '-'])
        && words >= 1
        && words + numbers == parts().count()
        && !unspeakable(value)
}

/// More consonants in a row than words have.
fn unspeakable(value: &str) -> bool {
    let vowel = |c: char| "aeiouyAEIOUY_-".contains(c) || !c.is_ascii();
    value.split(vowel).any(|run| run.len() >= 6)
}

fn stands_in(value: &str) -> bool {
    if value.starts_with(['<', '{', '[', '(', '*']) {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    let trimmed = lower.trim_matches(['<', '>', '[', ']', '{', '}', '(', ')', ' ', '.']);
    let filler = |b: u8| matches!(b, b'*' | b'x' | b'.' | b'-' | b'_' | b'#' | b'?' | b' ');
    value.chars().count() < 3
        || value.starts_with("${")
        || value.starts_with("$(")
        || value.starts_with("$(")
        || value.starts_with("%(")
        || value.starts_with("%{")
        || value.contains("{{")
        || is_variable(value)
        || STANDINS.contains(&trimmed)
        || lower.bytes().all(filler)
        || value.bytes().all(|b| Some(b) == value.bytes().next())
        || counts_up(value)
        || [
            "your_",
            "your-",
            "yourp",
            "yours",
            "placeholder",
            "redacted",
            "****",
            "xxxx",
            "...",
            "…",
        ]
        .iter()
        .any(|mark| lower.contains(mark))
}

/// The shortest value that is doubted for its order: shorter ones are passwords that people have.
const ORDERED: usize = 24;

/// `1234567890abcdef1234…`, `abc123xyz-456def789ghij`: most characters are the ones before them
/// and one more. Hands write so where a key would stand; of a generator's pairs one in thirty is
/// like that, of hex digits one in sixteen.
pub(super) fn counts_up(value: &str) -> bool {
    let pairs = || value.as_bytes().iter().zip(value.as_bytes().iter().skip(1));
    let joined = |(a, b): &(&u8, &u8)| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric();
    let next = |(a, b): &(&u8, &u8)| a.wrapping_add(1) == **b || (**a == b'9' && **b == b'0');
    if value.len() < ORDERED {
        return false;
    }
    let all = pairs().filter(joined).count();
    2 * pairs().filter(joined).filter(next).count() >= all.max(1)
}

/// `$NAME`, `%NAME%` and the like.
fn is_variable(value: &str) -> bool {
    let name = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let shell = value.strip_prefix('$').is_some_and(|rest| {
        name(rest)
            && rest
                .bytes()
                .next()
                .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
            && (rest.bytes().all(|b| !b.is_ascii_lowercase())
                || !rest.bytes().any(|b| b.is_ascii_digit()))
    });
    let windows = value
        .strip_prefix('%')
        .and_then(|rest| rest.strip_suffix('%'))
        .is_some_and(name);
    shell || windows
}

/// A call, a path of names, an index: what code writes where a value would stand.
fn is_code(value: &str) -> bool {
    let name = |text: &str| {
        text.bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let called = |open: char| {
        value.split_once(open).is_some_and(|(head, _)| {
            head.trim_start_matches(['&', '*', '!'])
                .split(['.', ':'])
                .filter(|p| !p.is_empty())
                .all(name)
                && !head.is_empty()
        })
    };
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    let path = |separator: &str, most: usize| {
        let value = value.strip_prefix("::").unwrap_or(value);
        value.contains(separator)
            && value.split(separator).all(name)
            && value.split(separator).all(|part| digits(part) <= most)
    };
    // `__u32` and other names that C keeps for itself.
    let reserved = value.starts_with("__") && name(value) && digits(value) <= 2;
    called('(')
        || called('[')
        || path(".", 1)
        // Nobody but code writes `::`, so names such as `poly1305` may stand in it.
        || path("::", 4)
        || path("->", 1)
        || reserved
        || is_type(value)
        || value.starts_with('&')
        || value.starts_with("/dev/")
}

/// The name of a type that holds such a value: `X25519PublicKey`, `SecretString`.
fn is_type(value: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "Config",
        "Context",
        "Credential",
        "Credentials",
        "KeyPair",
        "Password",
        "PrivateKey",
        "Provider",
        "PublicKey",
        "SecretKey",
        "SecretString",
        "SharedSecret",
    ];
    value.bytes().all(|b| b.is_ascii_alphanumeric())
        && value.starts_with(|c: char| c.is_ascii_uppercase())
        && ENDINGS.iter().any(|ending| {
            value.strip_suffix(ending).is_some_and(|head| {
                head.bytes()
                    .any(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_ranked() {
        for value in [
            "${VAR}",
            "$DB_PASS",
            "<password>",
            "****",
            "null",
            "get_token()",
            "self.password",
            "os.environ[\"X\"]",
            "your-api-key",
            "xxxxxxxx",
            "1234",
            "&str",
            "config::token",
            "::windows_sys::core::PCWSTR",
            "poly1305::Context",
            "__u32",
            "X25519PublicKey",
            "/dev/null",
            "0123456789abcdef0123456789abcdef",
            "abc123def456-ghijkl789mnopqr",
        ] {
            assert_eq!(Worth::of(value), Worth::Placeholder, "{value}");
        }
        for value in ["hunter", "refresh_token", "CamelCase", "correct-horse"] {
            assert_eq!(Worth::of(value), Worth::Word, "{value}");
        }
        for value in [
            "hunter2",
            "P@ssw0rd!",
            "Summer2024",
            "12345678",
            "a1b2c3d4",
            "Password1",
            "__Tr0ub4d0r",
        ] {
            assert_eq!(Worth::of(value), Worth::Chosen, "{value}");
        }
        for value in [
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCY",
            "3f786850e387550fdab836ed7e6dc881de23001b",
        ] {
            assert_eq!(Worth::of(value), Worth::Random, "{value}");
        }
    }
}
