//! The trust file: whose signatures count (c2sp.org/tlog-policy).

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write as _,
};

use data_encoding::BASE64;

use crate::{
    cosign::WitnessKey,
    note::{Key, is_key_name},
};

/// The most bytes of a trust file that is read.
pub const MAX_TRUST: usize = 1 << 20;

/// What a trust file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// The deployments' keys; any one of them is accepted.
    pub logs: Vec<Key>,
    /// The witnesses.
    pub witnesses: Vec<Witness>,
    /// Groups of witnesses and of groups before them.
    pub groups: Vec<Group>,
    /// Which witnesses a checkpoint needs.
    pub quorum: Quorum,
}

/// A witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// What the file calls it.
    pub name: String,
    /// Its key as the file has it.
    pub vkey: String,
    /// Its key; none if it is of a kind that this version cannot check, so that it never counts as
    /// having cosigned.
    pub key: Option<WitnessKey>,
}

/// Witnesses and groups, of which some must have cosigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What the file calls it.
    pub name: String,
    /// How many of the members must have cosigned.
    pub threshold: usize,
    /// Names of witnesses and groups.
    pub members: Vec<String>,
}

/// Which witnesses must have cosigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quorum {
    /// A witness or group of witnesses, by name.
    Named(String),
    /// None at all.
    None,
}

/// What is wrong with a trust file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trust file, line {line}: {fault}")]
pub struct TrustError {
    /// The line, from 1; the line after the last for what is missing.
    pub line: usize,
    /// What is wrong there.
    pub fault: TrustFault,
}

/// What is wrong with a line of a trust file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustFault {
    /// A byte that may not stand in the file.
    #[error("a control character")]
    Control,
    /// The same name or key twice.
    #[error("a name or key that was given before")]
    Duplicate,
    /// A key of unknown form or kind.
    #[error("not a verifier key of a known kind")]
    Key,
    /// No quorum line, or no log to trust.
    #[error("no `log` line or no `quorum` line")]
    Missing,
    /// Neither `log`, `witness`, `group` nor `quorum` with what they need.
    #[error("not a line of a trust policy")]
    Syntax,
    /// The file is larger than a trust file can sensibly be.
    #[error("the file is too large")]
    TooLarge,
    /// A name that was not given on a line before.
    #[error("a name that no line before it gives")]
    Unknown,
}

impl Trust {
    /// Trusts one deployment's key and asks for no witness.
    pub fn one(log: Key) -> Self {
        Self {
            logs: vec![log],
            witnesses: Vec::new(),
            groups: Vec::new(),
            quorum: Quorum::None,
        }
    }

    /// Reads a trust file.
    ///
    /// # Errors
    /// The first line that is not as the specification has it.
    pub fn parse(text: &str) -> Result<Self, TrustError> {
        let mut reader = Reader::default();
        if text.len() > MAX_TRUST {
            return Err(TrustError {
                line: 1,
                fault: TrustFault::TooLarge,
            });
        }
        for (index, line) in text.split('\n').enumerate() {
            reader.line(line).map_err(|fault| TrustError {
                line: index + 1,
                fault,
            })?;
        }
        match reader.quorum {
            Some(quorum) if !reader.logs.is_empty() => Ok(Self {
                logs: reader.logs,
                witnesses: reader.witnesses,
                groups: reader.groups,
                quorum,
            }),
            _ => Err(TrustError {
                line: text.split('\n').count(),
                fault: TrustFault::Missing,
            }),
        }
    }

    /// The trust file of a deployment, as written beside its data.
    pub fn file(&self) -> String {
        let mut out = String::from(
            "# Whose signatures on the audit log count (c2sp.org/tlog-policy).\n\
             # Keep a copy where nobody who runs the gateway can change it.\n",
        );
        for log in &self.logs {
            // Writing into a string cannot fail.
            let _ = writeln!(out, "log {log}");
        }
        for Witness { name, vkey, .. } in &self.witnesses {
            let _ = writeln!(out, "witness {name} {vkey}");
        }
        for group in &self.groups {
            let members = group.members.join(" ");
            let _ = writeln!(out, "group {} {} {members}", group.name, group.threshold);
        }
        let quorum = match &self.quorum {
            Quorum::Named(name) => name,
            Quorum::None => "none",
        };
        let _ = writeln!(out, "quorum {quorum}");
        out
    }

    /// Whether a checkpoint that the witnesses of these names have cosigned is one by the quorum.
    pub fn is_quorum(&self, cosigned: impl Fn(&str) -> bool) -> bool {
        let Quorum::Named(wanted) = &self.quorum else {
            return true;
        };
        // A group's members are given before it, so one pass decides them all.
        let mut fulfilled: HashSet<&str> = self
            .witnesses
            .iter()
            .map(|witness| witness.name.as_str())
            .filter(|name| cosigned(name))
            .collect();
        for group in &self.groups {
            let has = |member: &&String| fulfilled.contains(member.as_str());
            if group.members.iter().filter(has).count() >= group.threshold {
                fulfilled.insert(&group.name);
            }
        }
        fulfilled.contains(wanted.as_str())
    }

    /// When the witnesses that have cosigned a checkpoint at these times, in seconds since 1970, had
    /// become a quorum; none if they are not one, or none is asked for.
    pub fn quorum_time(&self, cosigned: &BTreeMap<&str, u64>) -> Option<u64> {
        if self.quorum == Quorum::None {
            return None;
        }
        let mut times: Vec<u64> = cosigned.values().copied().collect();
        times.sort_unstable();
        let by = |time: u64| move |name: &str| cosigned.get(name).is_some_and(|at| *at <= time);
        times.into_iter().find(|time| self.is_quorum(by(*time)))
    }
}

#[derive(Default)]
struct Reader {
    logs: Vec<Key>,
    /// Names of witnesses and groups.
    names: HashSet<String>,
    /// Names that already belong to a group.
    members: HashSet<String>,
    witness_keys: HashSet<Vec<u8>>,
    witnesses: Vec<Witness>,
    groups: Vec<Group>,
    quorum: Option<Quorum>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), TrustFault> {
        if line.bytes().any(|b| (b < b' ' && b != b'\t') || b == 0x7f) {
            return Err(TrustFault::Control);
        }
        let words: Vec<&str> = line
            .split([' ', '\t'])
            .filter(|word| !word.is_empty())
            .collect();
        match words.as_slice() {
            [] => Ok(()),
            [first, ..] if first.starts_with('#') => Ok(()),
            ["log", vkey] | ["log", vkey, _] => self.log(vkey),
            ["witness", name, vkey] | ["witness", name, vkey, _] => self.witness(name, vkey),
            ["group", name, threshold, members @ ..] => self.group(name, threshold, members),
            ["quorum", name] => self.quorum(name),
            _ => Err(TrustFault::Syntax),
        }
    }

    fn log(&mut self, vkey: &str) -> Result<(), TrustFault> {
        let key = Key::parse(vkey).map_err(|_| TrustFault::Key)?;
        if self.logs.iter().any(|log| log.public() == key.public()) {
            return Err(TrustFault::Duplicate);
        }
        self.logs.push(key);
        Ok(())
    }

    fn witness(&mut self, name: &str, vkey: &str) -> Result<(), TrustFault> {
        // Witnesses may have keys of kinds that are not known here: those are checked for form.
        let mut parts = vkey.splitn(3, '+');
        let (Some(key_name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(TrustFault::Key);
        };
        let key = BASE64.decode(key.as_bytes()).map_err(|_| TrustFault::Key)?;
        let hexadecimal = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if !is_key_name(key_name) || id.len() != 8 || !id.bytes().all(hexadecimal) || key.len() < 2
        {
            return Err(TrustFault::Key);
        }
        if !self.witness_keys.insert(key) {
            return Err(TrustFault::Duplicate);
        }
        let key = WitnessKey::parse(vkey).map_err(|_| TrustFault::Key)?;
        self.witnesses.push(Witness {
            name: name.to_owned(),
            vkey: vkey.to_owned(),
            key,
        });
        self.define(name)
    }

    fn group(&mut self, name: &str, threshold: &str, members: &[&str]) -> Result<(), TrustFault> {
        let count = match threshold {
            "all" => members.len(),
            "any" => 1,
            number => number.parse().map_err(|_| TrustFault::Syntax)?,
        };
        if count == 0 || count > members.len() {
            return Err(TrustFault::Syntax);
        }
        for member in members {
            if !self.names.contains(*member) {
                return Err(TrustFault::Unknown);
            }
            if !self.members.insert((*member).to_owned()) {
                return Err(TrustFault::Duplicate);
            }
        }
        self.groups.push(Group {
            name: name.to_owned(),
            threshold: count,
            members: members.iter().map(|member| (*member).to_owned()).collect(),
        });
        self.define(name)
    }

    fn quorum(&mut self, name: &str) -> Result<(), TrustFault> {
        if self.quorum.is_some() {
            return Err(TrustFault::Duplicate);
        }
        self.quorum = match name {
            "none" => Some(Quorum::None),
            name if self.names.contains(name) => Some(Quorum::Named(name.to_owned())),
            _ => return Err(TrustFault::Unknown),
        };
        Ok(())
    }

    fn define(&mut self, name: &str) -> Result<(), TrustFault> {
        match name != "none" && self.names.insert(name.to_owned()) {
            true => Ok(()),
            false => Err(TrustFault::Duplicate),
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_envelope::sign::MemorySigner;

    use super::*;

    fn key(name: &str) -> Key {
        Key::of(&MemorySigner::generate(name).unwrap()).unwrap()
    }

    #[test]
    fn the_file_comes_back() {
        let trust = Trust::one(key("prod"));
        assert_eq!(Trust::parse(&trust.file()), Ok(trust));
    }

    #[test]
    fn witnesses_groups_and_spacing() {
        let (log, a, b, c) = (key("prod"), key("a"), key("b"), key("c"));
        let text = format!(
            "# comment\n\n \tlog\t{log}  https://example.org/ \nwitness A {a}\nwitness B {b} x\n\
             witness C {c}\ngroup AB all A B\n  # more\ngroup G 1 AB C\nquorum G"
        );
        let trust = Trust::parse(&text).unwrap();
        assert_eq!(trust.logs, [log]);
        assert_eq!(trust.quorum, Quorum::Named("G".into()));
        assert_eq!(Trust::parse(&trust.file()), Ok(trust.clone()));
        let quorum = |cosigned: &[&str]| trust.is_quorum(|name| cosigned.contains(&name));
        assert!(quorum(&["A", "B"]) && quorum(&["C"]) && quorum(&["A", "C"]));
        assert!(!quorum(&["A"]) && !quorum(&[]) && !quorum(&["G", "AB"]));
    }

    #[test]
    fn faults_name_their_line() {
        use TrustFault::{Control, Duplicate, Key, Missing, Syntax, Unknown};
        let (log, a) = (key("prod"), key("a"));
        let fault = |text: &str| Trust::parse(text).map_err(|e| (e.line, e.fault)).err();
        assert_eq!(fault(""), Some((1, Missing)));
        assert_eq!(fault("quorum none\n"), Some((2, Missing)));
        assert_eq!(fault(&format!("log {log}")), Some((1, Missing)));
        assert_eq!(
            fault(&format!("log {log}\nlog {log}\nquorum none")),
            Some((2, Duplicate))
        );
        assert_eq!(
            fault(&format!("log {log}\nquorum none\nquorum none")),
            Some((3, Duplicate))
        );
        assert_eq!(fault("log prod"), Some((1, Key)));
        assert_eq!(fault(&format!("log {}x", log)), Some((1, Key)));
        assert_eq!(fault("trust me"), Some((1, Syntax)));
        assert_eq!(fault("quorum A"), Some((1, Unknown)));
        assert_eq!(
            fault(&format!("witness A {a}\ngroup G 2 A")),
            Some((2, Syntax))
        );
        assert_eq!(
            fault(&format!("witness A {a}\ngroup G any A A")),
            Some((2, Duplicate))
        );
        assert_eq!(fault(&format!("witness none {a}")), Some((1, Duplicate)));
        assert_eq!(fault("quorum none\r\n"), Some((1, Control)));
    }
}
