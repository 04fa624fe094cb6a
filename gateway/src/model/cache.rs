//! What was found in texts before: spans under keyed digests, never text.
//!
//! Each tenant has a key and a table of its own: whether a text was searched before can be told by
//! the time that a request takes, and must not be told across tenants.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use gatehouse_envelope::digest::MacKey;
use gatehouse_envelope::random;
use gatehouse_redactor::{Asked, Direction, Finding};
use parking_lot::Mutex;

/// Bytes of verdicts that one tenant keeps, about, and all tenants together.
const MOST: usize = 4 << 20;
const ALL: usize = 8 << 20;
/// What an entry takes besides its findings.
const ENTRY: usize = 96;
/// Tenants that have a table. Past it all are forgotten, which costs time and nothing else.
const TENANTS: usize = 64;

/// The tables of all tenants.
#[derive(Default)]
pub(super) struct Cache(Mutex<HashMap<String, Arc<Table>>>);

impl Cache {
    /// The tenant's table; `None` if there is no key for one.
    pub(super) fn of(&self, tenant: &str) -> Option<Arc<Table>> {
        let mut tables = self.0.lock();
        if let Some(table) = tables.get(tenant) {
            return Some(Arc::clone(table));
        }
        if tables.len() >= TENANTS {
            tables.clear();
        }
        let table = Arc::new(Table::new(MacKey::new(random::secret::<32>().ok()?)));
        tables.insert(tenant.to_owned(), Arc::clone(&table));
        let share = (ALL / tables.len()).min(MOST);
        for table in tables.values() {
            table.generations.lock().bound(share);
        }
        Some(table)
    }
}

/// The verdicts of one tenant, in two generations: when the young one is full it becomes the old
/// one, and what nobody asked for meanwhile is gone.
pub(super) struct Table {
    key: MacKey,
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: HashMap<[u8; 32], Arc<[Finding]>>,
    old: HashMap<[u8; 32], Arc<[Finding]>>,
    /// In bytes.
    size: usize,
    old_size: usize,
    /// What both may take.
    most: usize,
}

impl Table {
    fn new(key: MacKey) -> Self {
        Self {
            key,
            generations: Mutex::default(),
        }
    }

    /// The name of a verdict: what was asked, and by what it was judged.
    pub(super) fn name(&self, asked: &Asked<'_>, judged_by: &[u8; 32]) -> [u8; 32] {
        name(&self.key, asked, judged_by)
    }

    pub(super) fn get(&self, name: &[u8; 32]) -> Option<Arc<[Finding]>> {
        let mut generations = self.generations.lock();
        if let Some(found) = generations.young.get(name) {
            return Some(Arc::clone(found));
        }
        let found = generations.old.remove(name)?;
        generations.insert(*name, Arc::clone(&found));
        Some(found)
    }

    pub(super) fn insert(&self, name: [u8; 32], findings: Arc<[Finding]>) {
        self.generations.lock().insert(name, findings);
    }
}

impl Generations {
    fn insert(&mut self, name: [u8; 32], findings: Arc<[Finding]>) {
        let size = ENTRY + mem::size_of_val(&*findings);
        if size > self.most / 8 {
            return;
        }
        if self.size + size > self.most / 2 {
            self.age();
        }
        self.size += size;
        self.young.insert(name, findings);
    }

    /// Changes what both may take. What is too large for that is forgotten.
    fn bound(&mut self, most: usize) {
        self.most = most;
        if self.old_size > most / 2 {
            self.old = HashMap::new();
            self.old_size = 0;
        }
        if self.size > most / 2 {
            self.young = HashMap::new();
            self.size = 0;
        }
    }

    fn age(&mut self) {
        self.old = mem::take(&mut self.young);
        self.old_size = mem::take(&mut self.size);
    }
}

/// The keyed digest of a text in its field and of what judges it.
pub(super) fn name(key: &MacKey, asked: &Asked<'_>, judged_by: &[u8; 32]) -> [u8; 32] {
    let field = asked.field.key;
    let direction: &[u8] = match asked.field.direction {
        Direction::Prompt => b"prompt",
        Direction::Reply => b"reply",
        Direction::System => b"system",
        Direction::ToolArguments => b"tool_arguments",
        Direction::ToolOutput => b"tool_output",
        Direction::ToolSchema => b"tool_schema",
    };
    let named: &[u8] = if field.is_some() { b"1" } else { b"0" };
    let parts = [
        asked.text.as_bytes(),
        named,
        field.unwrap_or_default().as_bytes(),
        direction,
        judged_by,
    ];
    key.mac("gatehouse verdict", &parts)
}

#[cfg(test)]
mod tests {
    use gatehouse_redactor::Field;

    use super::*;

    fn asked<'t>(text: &'t str, key: Option<&'t str>) -> Asked<'t> {
        let direction = Direction::Prompt;
        Asked {
            text,
            field: Field { key, direction },
        }
    }

    #[test]
    fn a_verdict_is_for_one_text_one_key_one_direction_one_judge_and_one_tenant() {
        let cache = Cache::default();
        let (one, other) = (cache.of("one").unwrap(), cache.of("other").unwrap());
        let base = asked("text", Some("key"));
        let mut system = base;
        system.field.direction = Direction::System;
        let names = [
            one.name(&base, &[0; 32]),
            one.name(&asked("text", None), &[0; 32]),
            one.name(&asked("text", Some("")), &[0; 32]),
            one.name(&asked("tex", Some("tkey")), &[0; 32]),
            one.name(&system, &[0; 32]),
            one.name(&base, &[1; 32]),
            other.name(&base, &[0; 32]),
        ];
        let distinct: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        assert_eq!(names[0], cache.of("one").unwrap().name(&base, &[0; 32]));
    }

    #[test]
    fn tables_stay_small_and_keep_what_is_asked_for() {
        let cache = Cache::default();
        let table = cache.of("one").unwrap();
        let empty: Arc<[Finding]> = Arc::new([]);
        let number = |n: u32| {
            let mut name = [0; 32];
            name[..4].copy_from_slice(&n.to_be_bytes());
            name
        };
        for n in 0..200_000 {
            table.insert(number(n), Arc::clone(&empty));
            assert!(table.get(&number(0)).is_some(), "asked for again and again");
        }
        let kept = |table: &Table| {
            let generations = table.generations.lock();
            generations.young.len() + generations.old.len()
        };
        assert!(kept(&table) * ENTRY <= MOST && kept(&table) * ENTRY > MOST / 2);
        assert!(table.get(&number(1)).is_none());
        // Who comes later gets a share of the same room.
        for n in 1..TENANTS {
            let other = cache.of(&n.to_string()).unwrap();
            for n in 0..500 {
                other.insert(number(n), Arc::clone(&empty));
            }
        }
        let tables = cache.0.lock();
        assert_eq!(tables.len(), TENANTS);
        let all: usize = tables.values().map(|table| kept(table)).sum();
        assert!(all * ENTRY <= ALL && all > 20_000, "{all}");
    }
}
