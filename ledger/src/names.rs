//! What streams and stored objects are called.

use data_encoding::HEXLOWER;
use gatehouse_envelope::{digest::hex, random};

use crate::clock;

/// What every segment's name ends with.
const SEGMENT: &str = ".jsonl.zst";
/// What every certificate's name ends with.
const CERTIFICATE: &str = ".dsse.json";
/// What every seal's name ends with.
const SEAL: &str = ".json";
/// What the names of checkpoints and cosignatures end with.
const NOTE: &str = ".note";
/// What the names of time stamps end with.
const STAMP: &str = ".tsr";
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

/// The day in a writer's name as `yyyy-mm-dd`; none if it is not a writer's name.
pub(crate) fn day_of(writer: &str) -> Option<String> {
    deployment_of(writer)?;
    let (year, rest) = writer.split_at_checked(4)?;
    let (month, rest) = rest.split_at_checked(2)?;
    Some(format!("{year}-{month}-{}", rest.get(..2)?))
}

/// What the names of all certificates begin with whose writers were opened on `day`.
pub(crate) fn certificates_of(day: &str) -> String {
    format!("cert/{}-", day.replace('-', ""))
}

/// What the names of all segments of `writer` begin with.
pub(crate) fn segments_of(writer: &str) -> Option<String> {
    Some(format!("log/p_day={}/p_writer={writer}/", day_of(writer)?))
}

/// Where the names of those segments of `writer` begin that hold no record before `seq`.
pub(crate) fn segments_from(writer: &str, seq: u64) -> Option<String> {
    Some(format!("{}{seq:0DIGITS$}", segments_of(writer)?))
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

/// Digits of the random part of a private seal log's name.
const SEAL_LOG_DIGITS: usize = 16;

/// The name of a log of seals that only one data directory's processes write: of `deployment`, and
/// its own. The log of a store that all replicas share is called as the deployment is.
pub(crate) fn new_seal_log(deployment: &str) -> Result<String, random::RandomError> {
    Ok(format!("{deployment}.{}", hex(&random::bytes::<8>()?)))
}

/// The deployment in the name of a log of seals; none if it is not such a name.
pub fn deployment_of_seals(log: &str) -> Option<&str> {
    let hexadecimal = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let deployment = match log.split_once('.') {
        None => log,
        Some((deployment, own)) => {
            let sound = own.len() == SEAL_LOG_DIGITS && own.bytes().all(hexadecimal);
            sound.then_some(deployment)?
        }
    };
    is_deployment(deployment).then_some(deployment)
}

/// The name of a seal.
pub fn seal(log: &str, number: u64) -> String {
    format!("seal/{log}/{number:0DIGITS$}{SEAL}")
}

/// The name of a seal's signed checkpoint.
pub fn seal_note(log: &str, number: u64) -> String {
    format!("seal/{log}/{number:0DIGITS$}{NOTE}")
}

/// The name of a witness's cosignature on a seal's checkpoint; `id` is the witness's key id.
pub fn cosignature(log: &str, number: u64, id: [u8; 4]) -> String {
    format!("cosig/{log}/{number:0DIGITS$}/{}{NOTE}", hex(&id))
}

/// What the names of all cosignatures on seals of a log begin with, and the part of a name behind which those from
/// seal `first` on come.
pub(crate) fn cosignatures(log: &str, first: u64) -> (String, String) {
    let prefix = format!("cosig/{log}/");
    let first = format!("{prefix}{first:0DIGITS$}");
    (prefix, first)
}

/// The name of the time stamp on the last seal of a day (`yyyy-mm-dd`).
pub fn stamp(log: &str, day: &str) -> String {
    format!("tsa/{log}/{day}{STAMP}")
}

/// What an object's name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// A writer's certificate.
    Certificate {
        /// The writer.
        writer: String,
    },
    /// A witness's cosignature on a seal's checkpoint.
    Cosignature {
        /// The log of seals.
        log: String,
        /// The seal's number.
        number: u64,
        /// The witness's key id.
        id: [u8; 4],
    },
    /// Part of the format, but nothing that this version reads.
    Later,
    /// A seal.
    Seal {
        /// The log of seals.
        log: String,
        /// Its number.
        number: u64,
    },
    /// A seal's signed checkpoint.
    SealNote {
        /// The log of seals.
        log: String,
        /// The seal's number.
        number: u64,
    },
    /// A segment.
    Segment {
        /// The day under which it is filed.
        day: String,
        /// The writer.
        writer: String,
        /// The number of its first record.
        first_seq: u64,
    },
    /// A time stamp on the last seal of a day.
    Stamp {
        /// The log of seals.
        log: String,
        /// The day, `yyyy-mm-dd`.
        day: String,
    },
    /// Nothing of this format.
    Unknown,
}

impl Name {
    /// Reads a name. Only the exact form that the writer uses is recognised.
    pub fn parse(name: &str) -> Self {
        parse_segment(name)
            .or_else(|| parse_certificate(name))
            .or_else(|| parse_seal(name))
            .or_else(|| parse_cosignature(name))
            .or_else(|| parse_stamp(name))
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

fn parse_seal(name: &str) -> Option<Name> {
    let (log, file) = name.strip_prefix("seal/")?.split_once('/')?;
    deployment_of_seals(log)?;
    let (number, note) = match file.strip_suffix(NOTE) {
        Some(number) => (number.parse().ok()?, true),
        None => (file.strip_suffix(SEAL)?.parse().ok()?, false),
    };
    let log = log.to_owned();
    if note {
        (seal_note(&log, number) == name).then_some(Name::SealNote { log, number })
    } else {
        (seal(&log, number) == name).then_some(Name::Seal { log, number })
    }
}

fn parse_cosignature(name: &str) -> Option<Name> {
    let (log, rest) = name.strip_prefix("cosig/")?.split_once('/')?;
    deployment_of_seals(log)?;
    let (number, file) = rest.split_once('/')?;
    let id = HEXLOWER.decode(file.strip_suffix(NOTE)?.as_bytes()).ok()?;
    let (number, id) = (number.parse().ok()?, id.try_into().ok()?);
    (cosignature(log, number, id) == name).then(|| Name::Cosignature {
        log: log.to_owned(),
        number,
        id,
    })
}

fn parse_stamp(name: &str) -> Option<Name> {
    let (log, file) = name.strip_prefix("tsa/")?.split_once('/')?;
    deployment_of_seals(log)?;
    let day = file.strip_suffix(STAMP).filter(|day| is_day(day))?;
    let (log, day) = (log.to_owned(), day.to_owned());
    Some(Name::Stamp { log, day })
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
        for later in [
            "seal/00000000000000001234.json",
            "tsa/2026-11-29.tsr",
            "tsa/prod/2026-11-9.tsr",
        ] {
            assert_eq!(Name::parse(later), Name::Later);
        }
        for log in ["prod".to_owned(), new_seal_log("prod").unwrap()] {
            let number = 1234;
            assert_eq!(deployment_of_seals(&log), Some("prod"));
            let found = Name::parse(&seal(&log, number));
            assert_eq!(
                found,
                Name::Seal {
                    log: log.clone(),
                    number
                }
            );
            let found = Name::parse(&seal_note(&log, number));
            assert_eq!(
                found,
                Name::SealNote {
                    log: log.clone(),
                    number
                }
            );
            let day = "2026-11-29".to_owned();
            let found = Name::parse(&stamp(&log, &day));
            let log = log.clone();
            assert_eq!(
                found,
                Name::Stamp {
                    log: log.clone(),
                    day
                }
            );
            let id = [0, 0xff, 2, 3];
            let found = Name::parse(&cosignature(&log, number, id));
            assert_eq!(found, Name::Cosignature { log, number, id });
        }
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
