//! Disclosing one session: its records, and proofs that the log holds them, without the others.
//!
//! A disclosure is a folder of its own. Of every record of the session it holds the exact bytes and
//! a [`Proof`] that leads to a signed checkpoint of the stream, also of those that are about the session
//! and have no place in its chain; the certificates of the streams'
//! keys; and the first seal that lists each stream beyond the record, with a proof that leads to a
//! checkpoint of the log of seals and its cosignatures. Records of others appear as digests only.
//! It is checked against the trust file alone, without the log.

mod check;
mod make;
mod proof;
mod seals;

pub use check::{Checked, check};
pub use make::{DiscloseError, Made, disclose};
pub use proof::Proof;

use crate::names;

const DIGITS: usize = 20;
const RECORD: &str = ".json";
const PROOF: &str = ".tlog-proof";

/// Explains the folder to whoever gets it.
pub const README: &str = "README.txt";

/// The name of the session's record `sseq`.
fn record(sseq: u64) -> String {
    format!("session/{sseq:0DIGITS$}{RECORD}")
}

/// The name of the proof of the session's record `sseq`.
fn record_proof(sseq: u64) -> String {
    format!("session/{sseq:0DIGITS$}{PROOF}")
}

/// The name of record `seq` of a stream, which is about the session and stands outside of its chain.
fn outside(writer: &str, seq: u64) -> String {
    format!("outside/{writer}/{seq:0DIGITS$}{RECORD}")
}

/// The name of its proof.
fn outside_proof(writer: &str, seq: u64) -> String {
    format!("outside/{writer}/{seq:0DIGITS$}{PROOF}")
}

/// The name of the proof of a seal.
fn seal_proof(log: &str, number: u64) -> String {
    format!("seal/{log}/{number:0DIGITS$}{PROOF}")
}

/// What an object of a disclosure is by its name.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Certificate,
    Outside {
        writer: String,
        seq: u64,
    },
    Record(u64),
    Seal {
        log: String,
        number: u64,
    },
    /// A proof, which is read with what it proves.
    Proof,
    Readme,
    Unknown,
}

impl Part {
    fn parse(name: &str) -> Self {
        if name == README {
            return Self::Readme;
        }
        if let Some(of) = name.strip_suffix(PROOF) {
            return match Self::parse(&format!("{of}{RECORD}")) {
                Self::Outside { .. } | Self::Record(_) | Self::Seal { .. } => Self::Proof,
                _ => Self::Unknown,
            };
        }
        if let Some(number) = name
            .strip_prefix("session/")
            .and_then(|rest| rest.strip_suffix(RECORD))
        {
            let number = number.parse().ok().filter(|sseq| record(*sseq) == name);
            return number.map_or(Self::Unknown, Self::Record);
        }
        if let Some(part) = name.strip_prefix("outside/").and_then(Self::outside) {
            return part;
        }
        match names::Name::parse(name) {
            names::Name::Certificate { .. } => Self::Certificate,
            names::Name::Seal { log, number } => Self::Seal { log, number },
            _ => Self::Unknown,
        }
    }

    fn outside(rest: &str) -> Option<Self> {
        let (writer, number) = rest.strip_suffix(RECORD)?.split_once('/')?;
        names::deployment_of(writer)?;
        let seq = number.parse().ok()?;
        let writer = writer.to_owned();
        (format!("{seq:0DIGITS$}") == number).then_some(Self::Outside { writer, seq })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_have_one_form() {
        assert_eq!(Part::parse(&record(7)), Part::Record(7));
        assert_eq!(Part::parse(&record_proof(7)), Part::Proof);
        let writer = format!("20261129-prod-{}", "0".repeat(32));
        assert_eq!(Part::parse(&outside_proof(&writer, 7)), Part::Proof);
        let name = outside(&writer, 7);
        assert_eq!(Part::parse(&name), Part::Outside { writer, seq: 7 });
        let (log, number) = ("prod".to_owned(), 3);
        assert_eq!(Part::parse(&seal_proof(&log, number)), Part::Proof);
        assert_eq!(
            Part::parse(&names::seal(&log, number)),
            Part::Seal { log, number }
        );
        for other in [
            "session/7.json",
            "outside/20261129-prod-0/00000000000000000007.json",
            "outside/00000000000000000007.json",
            "session/x.tlog-proof",
            "a",
            "seal/prod/1.tlog-proof",
        ] {
            assert_eq!(Part::parse(other), Part::Unknown, "{other}");
        }
    }
}
