//! The verdicts that travel with a session: sealed in its state, so that another replica, or this
//! one after a restart, pays for new text only.
//!
//! They stand under digests with the session's own key. They are a saving and nothing else: what
//! does not fit or cannot be read is searched again.

use std::collections::{HashMap, HashSet};

use gatehouse_envelope::digest::MacKey;
use gatehouse_redactor::{Asked, Engine, Finding, Label};
use parking_lot::Mutex;

use super::cache::name;

/// The first byte.
const FORMAT: u8 = 2;
/// Bytes that a session keeps at most: its sealed head stays small.
const MOST: usize = 16 << 10;

/// Twelve bytes of a keyed digest tell a session's texts apart: at most some 1,200 are kept, and who
/// does not have the key cannot look for two of the same name.
type Name = [u8; 12];

/// What finds: a label and the name of a rule. Written once, and numbered.
type Source = (Label, &'static str);

/// What a session knows of its texts, and what this turn adds.
pub struct Kept<'k> {
    key: &'k MacKey,
    known: HashMap<Name, Vec<Finding>>,
    used: Mutex<Vec<Used>>,
}

/// The verdict on a text of this turn.
struct Used {
    name: Name,
    /// Bytes of the text, which would be searched again without it.
    worth: usize,
    findings: Vec<Finding>,
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
        if self.known.is_empty() {
            return None;
        }
        self.known.get(&self.name(asked, judged_by)?).cloned()
    }

    /// Notes the verdict on a text of this turn.
    pub(super) fn note(&self, asked: &Asked<'_>, judged_by: &[u8; 32], found: &[Finding]) {
        if let Some(name) = self.name(asked, judged_by) {
            self.used.lock().push(Used {
                name,
                worth: asked.text.len(),
                findings: found.to_vec(),
            });
        }
    }

    fn name(&self, asked: &Asked<'_>, judged_by: &[u8; 32]) -> Option<Name> {
        let name = name(self.key, asked, judged_by);
        name.first_chunk::<12>().copied()
    }

    /// The verdicts on this turn's texts: all of them, or as many of the longest as fit, of two
    /// equally long ones the newer.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut used = self.used.into_inner();
        used.reverse();
        used.sort_by_key(|used| std::cmp::Reverse(used.worth));
        let (mut written, mut sources) = (HashSet::new(), Sources::default());
        let mut entries = Vec::new();
        for used in used {
            if !written.insert(used.name) {
                continue;
            }
            let before = sources.size();
            let entry = encoded(&used, &mut sources)
                .filter(|entry| 2 + sources.bytes.len() + entries.len() + entry.len() <= MOST);
            match entry {
                Some(entry) => entries.extend_from_slice(&entry),
                None => sources.forget(before),
            }
        }
        let mut out = vec![FORMAT, sources.count()];
        out.extend_from_slice(&sources.bytes);
        out.extend_from_slice(&entries);
        out
    }
}

/// The sources of the findings that are written, numbered in the order of their first use.
#[derive(Default)]
struct Sources {
    known: Vec<Source>,
    /// Of each, label and rule: a length and the word.
    bytes: Vec<u8>,
}

impl Sources {
    /// So that a number and a bit share a byte.
    const MOST: usize = 128;

    fn count(&self) -> u8 {
        u8::try_from(self.known.len()).unwrap_or(u8::MAX)
    }

    /// How many there are, and their bytes.
    fn size(&self) -> (usize, usize) {
        (self.known.len(), self.bytes.len())
    }

    /// Goes back to when the size was this.
    fn forget(&mut self, (count, bytes): (usize, usize)) {
        self.known.truncate(count);
        self.bytes.truncate(bytes);
    }

    fn number(&mut self, source: Source) -> Option<u8> {
        let known = self.known.iter().position(|known| *known == source);
        let number = known.unwrap_or(self.known.len());
        if known.is_none() {
            if number == Self::MOST {
                return None;
            }
            for word in [source.0.as_str(), source.1] {
                self.bytes.push(u8::try_from(word.len()).ok()?);
                self.bytes.extend_from_slice(word.as_bytes());
            }
            self.known.push(source);
        }
        u8::try_from(number).ok()
    }
}

/// The name, the number of findings, and each: the distance of its start from the end of the one
/// before, its length, its score, and its source with its certainty in the lowest bit. Numbers have
/// seven bits a byte. `None` if one does not fit, which no real text reaches.
fn encoded(used: &Used, sources: &mut Sources) -> Option<Vec<u8>> {
    let mut out = used.name.to_vec();
    put(&mut out, used.findings.len());
    let mut at = 0;
    for finding in &used.findings {
        put(&mut out, finding.start.checked_sub(at)?);
        put(&mut out, finding.end.checked_sub(finding.start)?);
        at = finding.end;
        let source = sources.number((finding.label, finding.rule))?;
        out.extend_from_slice(&[finding.score, source << 1 | u8::from(finding.certain)]);
    }
    Some(out)
}

/// `None` if these are not bytes of ours.
fn decoded(bytes: &[u8], engine: &Engine) -> Option<HashMap<Name, Vec<Finding>>> {
    let mut rest = bytes;
    let [format, count] = taken(&mut rest)?;
    if format != FORMAT {
        return None;
    }
    // A rule that this program does not have: the texts that it found in are searched again.
    let mut sources: Vec<Option<Source>> = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let label = Label::custom(word(&mut rest)?).ok()?;
        let rule = engine.rule_name(word(&mut rest)?);
        sources.push(rule.map(|rule| (label, rule)));
    }
    let mut known = HashMap::new();
    while !rest.is_empty() {
        let name = taken(&mut rest)?;
        let findings = findings(&mut rest, &sources)?;
        known.extend(findings.map(|findings| (name, findings)));
    }
    Some(known)
}

/// The findings of one text; nothing in it if a source is not known here.
fn findings(rest: &mut &[u8], sources: &[Option<Source>]) -> Option<Option<Vec<Finding>>> {
    let count = number(rest)?;
    let mut findings = Some(Vec::with_capacity(count.min(64)));
    let mut at = 0usize;
    for _ in 0..count {
        let start = at.checked_add(number(rest)?)?;
        let end = start.checked_add(number(rest)?)?;
        at = end;
        let [score, source] = taken(rest)?;
        match (*sources.get(usize::from(source >> 1))?, &mut findings) {
            (Some((label, rule)), Some(findings)) => findings.push(Finding {
                start,
                end,
                label,
                score,
                rule,
                certain: source & 1 == 1,
            }),
            _ => findings = None,
        }
    }
    Some(findings)
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn put(out: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or(0);
        number >>= 7;
        if number == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    let mut number = 0usize;
    for place in 0..5 {
        let [byte] = taken(rest)?;
        number |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
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

    static ENGINE: std::sync::LazyLock<Engine> =
        std::sync::LazyLock::new(|| Engine::new(&Policy::default()).unwrap());

    const MAIL: &str = "write to jane.doe@example.com about the parcel";
    const TWO: &str = "ask jane.doe@example.com, card 4111111111111111";
    const JUDGE: [u8; 32] = [7; 32];

    #[test]
    fn a_turn_knows_what_the_last_one_found_and_nothing_of_other_judges_or_keys() {
        let (engine, key) = (&*ENGINE, MacKey::new(random::secret().unwrap()));
        let found = engine.find(MAIL, asked(MAIL).field).unwrap();
        let both = engine.find(TWO, asked(TWO).field).unwrap();
        assert_eq!((found.len(), both.len()), (1, 2));
        let first = Kept::read(&key, &[], engine);
        first.note(&asked(MAIL), &JUDGE, &found);
        first.note(&asked("nothing at all stands in this text"), &JUDGE, &[]);
        first.note(&asked("short"), &JUDGE, &[]);
        first.note(&asked(TWO), &JUDGE, &both);
        let bytes = first.into_bytes();
        let second = Kept::read(&key, &bytes, engine);
        assert_eq!(second.get(&asked(MAIL), &JUDGE), Some(found));
        let empty = second.get(&asked("nothing at all stands in this text"), &JUDGE);
        assert_eq!(empty, Some(Vec::new()));
        assert_eq!(second.get(&asked("short"), &JUDGE), Some(Vec::new()));
        assert_eq!(second.get(&asked(TWO), &JUDGE), Some(both));
        assert_eq!(second.get(&asked("new"), &JUDGE), None);
        assert_eq!(second.get(&asked(MAIL), &[8; 32]), None);
        let other = MacKey::new(random::secret().unwrap());
        assert_eq!(
            Kept::read(&other, &bytes, engine).get(&asked(MAIL), &JUDGE),
            None
        );
        // The text is not in it, nor what was found.
        assert!(!bytes.windows(4).any(|part| part == b"jane"));
    }

    #[test]
    fn where_not_all_fit_the_longest_are_kept() {
        let (engine, key) = (&*ENGINE, MacKey::new(random::secret().unwrap()));
        let found = engine.find(MAIL, asked(MAIL).field).unwrap();
        let text = |number: usize| format!("{MAIL} {}", "x".repeat(number));
        let kept = Kept::read(&key, &[], engine);
        for number in 0..2000 {
            kept.note(&asked(&text(number)), &JUDGE, &found);
        }
        let bytes = kept.into_bytes();
        assert!(bytes.len() <= MOST && bytes.len() > MOST - 100);
        let back = Kept::read(&key, &bytes, engine);
        let knows = |number| back.get(&asked(&text(number)), &JUDGE).is_some();
        assert!((1100..2000).all(knows) && !(0..800).any(knows));
    }

    #[test]
    fn sources_that_have_no_number_left_and_unknown_ones_are_searched_again() {
        let (engine, key) = (&*ENGINE, MacKey::new(random::secret().unwrap()));
        let finding = |label: Label, rule| Finding {
            start: 0,
            end: 4,
            label,
            score: 90,
            rule,
            certain: false,
        };
        let labels = (0..=Sources::MOST).map(|n| Label::custom(&format!("KIND_{n}")).unwrap());
        let labels: Vec<Label> = labels.collect();
        let kept = Kept::read(&key, &[], engine);
        for (number, label) in labels.iter().enumerate() {
            // Longer ones first, so that the last has no number.
            let text = "x".repeat(300 - number);
            kept.note(&asked(&text), &JUDGE, &[finding(*label, "name")]);
        }
        kept.note(&asked("gone"), &JUDGE, &[finding(labels[0], "gone")]);
        let back = Kept::read(&key, &kept.into_bytes(), engine);
        let get = |length: usize| back.get(&asked(&"x".repeat(length)), &JUDGE);
        assert_eq!(get(300), Some(vec![finding(labels[0], "name")]));
        assert_eq!(
            get(301 - Sources::MOST),
            Some(vec![finding(labels[127], "name")])
        );
        assert_eq!(get(300 - Sources::MOST), None);
        assert_eq!(back.get(&asked("gone"), &JUDGE), None);
    }

    proptest::proptest! {
        #[test]
        fn numbers_come_back(number in 0usize..(1 << 35)) {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            let mut rest = bytes.as_slice();
            proptest::prop_assert_eq!(super::number(&mut rest), Some(number));
            proptest::prop_assert!(rest.is_empty());
        }

        /// Whatever stands in the state, nothing panics.
        #[test]
        fn damage_is_a_miss(mut bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
            let key = MacKey::new(random::secret().unwrap());
            let _either = Kept::read(&key, &bytes, &ENGINE);
            bytes.splice(0..0, [FORMAT, 1, 5, b'E', b'M', b'A', b'I', b'L', 4, b'm', b'a', b'i', b'l']);
            let _either = Kept::read(&key, &bytes, &ENGINE);
        }
    }
}
