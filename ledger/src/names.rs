//! What streams and stored objects are called.

use gatehouse_envelope::{digest::hex, random};

use crate::clock;

/// What every segment's name ends with.
const SEGMENT: &str = ".jsonl.zst";
/// What every certificate's name ends with.
const CERTIFICATE: &str = ".dsse.json";
/// Digits of a segment's first number: any `u64` fits, and names sort as numbers do.
const DIGITS: usize = 20;

/// The most characters of a deployment's name.
pub const MAX_DEPLOYMENT: usize = 40;

/// Whether `name` can name a deployment: `a-z0-9-`, neither first nor last a dash.
pub fn is_deployment(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=MAX_DEPLOYMENT).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// Whether a bucket of S3 can have that name (3 to 63 of `a-z0-9.-`, neither first nor last a dot or dash).
pub fn is_bucket(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b);
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (3..=63).contains(&name.len())
        && name.bytes().all(plain)
        && name.starts_with(ends)
        && name.ends_with(ends)
}

/// A new writer's name, `<yyyymmdd>-<deployment>-<128 random bits>`.
pub(crate) fn new_writer(deployment: &str, unix_us: u64) -> Result<String, random::RandomError> {
    let day = clock::day(unix_us).replace('-', "");
    Ok(format!(
        "{day}-{deployment}-{}",
        hex(&random::bytes::<16>()?)
    ))
}

/// The deployment in a writer's name; none if it is not a writer's name.
pub(crate) fn deployment_of(writer: &str) -> Option<&str> {
    let (day, rest) = writer.split_once('-')?;
    let (deployment, random) = rest.rsplit_once('-')?;
    let hexadecimal = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let sound = day.len() == 8
        && day.bytes().all(|b| b.is_ascii_digit())
        && random.len() == 32
        && random.bytes().all(hexadecimal)
        && is_deployment(deployment);
    sound.then_some(deployment)
}

/// The origin line of a stream's checkpoints, which is also its key's name.
pub fn origin(deployment: &str, writer: &str) -> String {
    format!("{deployment}/{writer}")
}

/// The name of a segment.
pub fn segment(day: &str, writer: &str, first_seq: u64) -> String {
    format!("log/p_day={day}/p_writer={writer}/{first_seq:0DIGITS$}{SEGMENT}")
}

/// The name of a writer's certificate.
pub fn certificate(writer: &str) -> String {
    format!("cert/{writer}{CERTIFICATE}")
}

/// What an object's name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// A writer's certificate.
    Certificate {
        /// The writer.
        writer: String,
    },
    /// Part of the format, but nothing that this version reads.
    Later,
    /// A segment.
    Segment {
        /// The day under which it is filed.
        day: String,
        /// The writer.
        writer: String,
        /// The number of its first record.
        first_seq: u64,
    },
    /// Nothing of this format.
    Unknown,
}

impl Name {
    /// Reads a name. Only the exact form that the writer uses is recognised.
    pub fn parse(name: &str) -> Self {
        parse_segment(name)
            .or_else(|| parse_certificate(name))
            .unwrap_or_else(|| {
                let later = ["seal/", "cosig/", "tsa/", "policy/"];
                match later.iter().any(|prefix| name.starts_with(prefix)) {
                    true => Self::Later,
                    false => Self::Unknown,
                }
            })
    }
}

fn parse_segment(name: &str) -> Option<Name> {
    let (day, rest) = name.strip_prefix("log/p_day=")?.split_once("/p_writer=")?;
    let (writer, file) = rest.split_once('/')?;
    let digits = file.strip_suffix(SEGMENT)?;
    deployment_of(writer)?;
    let first_seq = digits.parse().ok()?;
    let exact = segment(day, writer, first_seq) == name && is_day(day);
    exact.then(|| Name::Segment {
        day: day.into(),
        writer: writer.into(),
        first_seq,
    })
}

fn parse_certificate(name: &str) -> Option<Name> {
    let writer = name.strip_prefix("cert/")?.strip_suffix(CERTIFICATE)?;
    deployment_of(writer)?;
    Some(Name::Certificate {
        writer: writer.into(),
    })
}

fn is_day(day: &str) -> bool {
    day.len() == 10
        && day.bytes().enumerate().all(|(index, b)| match index {
            4 | 7 => b == b'-',
            _ => b.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let writer = new_writer("prod-eu-1", 1_795_961_100_123_456).unwrap();
        assert!(writer.starts_with("20261129-prod-eu-1-"));
        assert_eq!(deployment_of(&writer), Some("prod-eu-1"));
        assert_eq!(
            Name::parse(&segment("2026-11-29", &writer, 812)),
            Name::Segment {
                day: "2026-11-29".into(),
                writer: writer.clone(),
                first_seq: 812
            }
        );
        assert_eq!(
            Name::parse(&certificate(&writer)),
            Name::Certificate { writer }
        );
        assert_eq!(Name::parse("seal/00000000000000001234.json"), Name::Later);
    }

    #[test]
    fn other_spellings_are_not_names() {
        let writer = format!("20261129-a-{}", "0".repeat(32));
        let good = segment("2026-11-29", &writer, 7);
        assert_ne!(Name::parse(&good), Name::Unknown);
        for bad in [
            good.replace("00007.", "7."),
            good.replace("00007.", "+0007."),
            good.replace("2026-11-29/", "2026-11-2x/"),
            good.replace("-a-", "-A-"),
            good.replace(".zst", ".ZST"),
            good.replace("p_writer=", "p_writer=../"),
            format!("/{good}"),
            format!("cert/{writer}/x.dsse.json"),
            String::new(),
        ] {
            assert_eq!(Name::parse(&bad), Name::Unknown, "{bad}");
        }
    }

    #[test]
    fn deployments() {
        for good in ["a", "prod", "prod-eu-1", &"x".repeat(40)] {
            assert!(is_deployment(good), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a/b", "a b", &"x".repeat(41)] {
            assert!(!is_deployment(bad), "{bad}");
        }
    }
}
