//! The verdicts that travel with a session: sealed in its state, so that another replica, or this
//! one after a restart, pays for new text only.
//!
//! They stand under digests with the session's own key. They are a saving and nothing else: what
//! does not fit or cannot be read is searched again.

use std::collections::HashMap;

use gatehouse_envelope::digest::MacKey;
use gatehouse_redactor::{Asked, Engine, Finding, Label};
use parking_lot::Mutex;

use super::cache::name;

/// The first byte.
const FORMAT: u8 = 1;
/// Bytes that a session keeps at most: its sealed head stays small.
const MOST: usize = 16 << 10;
/// Shorter texts are searched again sooner than they are worth their place.
const WORTH_IT: usize = 32;

/// Sixteen bytes of a keyed digest tell a session's texts apart.
type Name = [u8; 16];

/// What a session knows of its texts, and what this turn adds.
pub struct Kept<'k> {
    key: &'k MacKey,
    known: HashMap<Name, Vec<Finding>>,
    /// The verdicts on this turn's texts, in their order.
    used: Mutex<Vec<(Name, Vec<Finding>)>>,
}

impl<'k> Kept<'k> {
    /// What [`Kept::into_bytes`] wrote in an earlier turn. The engine knows the names of rules.
    pub fn read(key: &'k MacKey, bytes: &[u8], engine: &Engine) -> Self {
        Self {
            key,
            known: decoded(bytes, engine).unwrap_or_default(),
            used: Mutex::default(),
        }
    }

    pub(super) fn get(&self, asked: &Asked<'_>, judged_by: &[u8; 32]) -> Option<Vec<Finding>> {
        let name = self.name(asked, judged_by)?;
        self.known.get(&name).cloned()
    }

    /// Notes the verdict on a text of this turn.
    pub(super) fn note(&self, asked: &Asked<'_>, judged_by: &[u8; 32], found: &[Finding]) {
        if let Some(name) = self.name(asked, judged_by) {
            self.used.lock().push((name, found.to_vec()));
        }
    }

    fn name(&self, asked: &Asked<'_>, judged_by: &[u8; 32]) -> Option<Name> {
        let long = asked.text.len() >= WORTH_IT;
        long.then(|| name(self.key, asked, judged_by))?
            .first_chunk::<16>()
            .copied()
    }

    /// The verdicts on this turn's texts: the newest, as many as fit.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        let mut written = std::collections::HashSet::new();
        for (name, findings) in self.used.into_inner().iter().rev() {
            if !written.insert(*name) {
                continue;
            }
            let Some(entry) = encoded(name, findings) else {
                continue;
            };
            if out.len() + entry.len() > MOST {
                break;
            }
            out.extend_from_slice(&entry);
        }
        out
    }
}

/// The name, the number of findings, and each: start, end (32 bits), score, certainty, label and
/// rule (a length and the word). `None` if a number does not fit, which no real text reaches.
fn encoded(name: &Name, findings: &[Finding]) -> Option<Vec<u8>> {
    let mut out = name.to_vec();
    out.extend_from_slice(&u16::try_from(findings.len()).ok()?.to_be_bytes());
    for finding in findings {
        for place in [finding.start, finding.end] {
            out.extend_from_slice(&u32::try_from(place).ok()?.to_be_bytes());
        }
        out.push(finding.score);
        out.push(u8::from(finding.certain));
        for word in [finding.label.as_str(), finding.rule] {
            out.push(u8::try_from(word.len()).ok()?);
            out.extend_from_slice(word.as_bytes());
        }
    }
    Some(out)
}

/// `None` if these are not bytes of ours.
fn decoded(bytes: &[u8], engine: &Engine) -> Option<HashMap<Name, Vec<Finding>>> {
    let mut known = HashMap::new();
    let (format, mut rest) = bytes.split_first()?;
    if *format != FORMAT {
        return None;
    }
    while !rest.is_empty() {
        let name = taken::<16>(&mut rest)?;
        let count = u16::from_be_bytes(taken(&mut rest)?);
        let mut findings = Some(Vec::with_capacity(usize::from(count.min(64))));
        for _ in 0..count {
            let start = usize::try_from(u32::from_be_bytes(taken(&mut rest)?)).ok()?;
            let end = usize::try_from(u32::from_be_bytes(taken(&mut rest)?)).ok()?;
            let [score, certain] = taken(&mut rest)?;
            let label = Label::custom(word(&mut rest)?).ok()?;
            let rule = engine.rule_name(word(&mut rest)?);
            // A rule that this program does not have: the text is searched again.
            match (rule, &mut findings) {
                (Some(rule), Some(findings)) => findings.push(Finding {
                    start,
                    end,
                    label,
                    score,
                    rule,
                    certain: certain == 1,
                }),
                _ => findings = None,
            }
        }
        known.extend(findings.map(|findings| (name, findings)));
    }
    Some(known)
}

fn taken<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (own, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*own)
}

fn word<'b>(rest: &mut &'b [u8]) -> Option<&'b str> {
    let [length] = taken(rest)?;
    let (own, after) = rest.split_at_checked(usize::from(length))?;
    *rest = after;
    std::str::from_utf8(own).ok()
}

#[cfg(test)]
mod tests {
    use gatehouse_envelope::random;
    use gatehouse_redactor::{Direction, Field, Policy};

    use super::*;

    fn asked(text: &str) -> Asked<'_> {
        let direction = Direction::Prompt;
        Asked {
            text,
            field: Field {
                key: None,
                direction,
            },
        }
    }

    fn engine() -> Engine {
        Engine::new(&Policy::default()).unwrap()
    }

    const MAIL: &str = "write to jane.doe@example.com about the parcel";
    const JUDGE: [u8; 32] = [7; 32];

    #[test]
    fn a_turn_knows_what_the_last_one_found_and_nothing_of_other_judges_or_keys() {
        let (engine, key) = (engine(), MacKey::new(random::secret().unwrap()));
        let found = engine.find(MAIL, asked(MAIL).field).unwrap();
        assert_eq!(found.len(), 1);
        let first = Kept::read(&key, &[], &engine);
        first.note(&asked(MAIL), &JUDGE, &found);
        first.note(&asked("nothing at all stands in this text"), &JUDGE, &[]);
        first.note(&asked("short"), &JUDGE, &[]);
        let bytes = first.into_bytes();
        let second = Kept::read(&key, &bytes, &engine);
        assert_eq!(second.get(&asked(MAIL), &JUDGE), Some(found));
        let empty = second.get(&asked("nothing at all stands in this text"), &JUDGE);
        assert_eq!(empty, Some(Vec::new()));
        assert_eq!(second.get(&asked("short"), &JUDGE), None);
        assert_eq!(second.get(&asked(MAIL), &[8; 32]), None);
        let other = MacKey::new(random::secret().unwrap());
        assert_eq!(
            Kept::read(&other, &bytes, &engine).get(&asked(MAIL), &JUDGE),
            None
        );
        // The text is not in it, nor what was found.
        assert!(!bytes.windows(4).any(|part| part == b"jane"));
    }

    #[test]
    fn damage_is_a_miss_and_the_size_is_bounded() {
        let (engine, key) = (engine(), MacKey::new(random::secret().unwrap()));
        let found = engine.find(MAIL, asked(MAIL).field).unwrap();
        let kept = Kept::read(&key, &[9, 9, 9], &engine);
        assert!(kept.known.is_empty());
        for number in 0..5000 {
            let text = format!("{number} {MAIL}");
            kept.note(&asked(&text), &JUDGE, &found);
        }
        let bytes = kept.into_bytes();
        assert!(bytes.len() <= MOST && bytes.len() > MOST / 2);
        let back = Kept::read(&key, &bytes, &engine);
        let newest = format!("4999 {MAIL}");
        assert!(back.get(&asked(&newest), &JUDGE).is_some());
        for cut in 0..200 {
            // Whatever is cut off, nothing panics.
            let _ = Kept::read(&key, &bytes[..cut], &engine);
        }
    }
}
