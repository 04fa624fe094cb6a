//! Values in lists that are known by what stands beside them: an argument behind its flag, the second
//! of a pair, a cell below the name of its column.

use super::edit::Search;
use super::key::MOST_BESIDE;
use crate::json::{Kind, Node};
use crate::pair;
use crate::rules;

/// Columns of a table whose names are looked up.
const MOST_COLUMNS: usize = 64;
/// Arguments among which a program and its command are looked for.
const MOST_BEFORE: usize = 8;

/// Programs, a command of theirs if only that one takes it so, and the flag behind which a password is
/// the next argument, by their manuals. Elsewhere the same letters are ports, prefixes and prompts.
const SHORT: &[(&str, &str, &str)] = &[
    ("az", "login", "-p"),
    ("bcp", "", "-P"),
    ("cqlsh", "", "-p"),
    ("docker", "login", "-p"),
    ("helm", "login", "-p"),
    ("ipmitool", "", "-P"),
    ("ldapadd", "", "-w"),
    ("ldapdelete", "", "-w"),
    ("ldapmodify", "", "-w"),
    ("ldappasswd", "", "-w"),
    ("ldapsearch", "", "-w"),
    ("mongo", "", "-p"),
    ("mongodump", "", "-p"),
    ("mongorestore", "", "-p"),
    ("mongosh", "", "-p"),
    ("nerdctl", "login", "-p"),
    ("oc", "login", "-p"),
    ("podman", "login", "-p"),
    ("rabbitmqadmin", "", "-p"),
    ("redis-cli", "", "-a"),
    ("skopeo", "login", "-p"),
    ("sqlcmd", "", "-P"),
    ("sshpass", "", "-p"),
    ("unzip", "", "-P"),
    ("zip", "", "-P"),
];
/// Programs that take `name:password` behind these flags.
const LOGINS: &[(&str, &str)] = &[
    ("curl", "-u"),
    ("curl", "-U"),
    ("http", "-a"),
    ("https", "-a"),
];

impl Search<'_> {
    /// The name of a value in a list.
    pub(super) fn listed(&self, node: Node<'_>) -> Option<String> {
        let list = node.parent().filter(|it| it.kind() == Kind::Array)?;
        let argument = || self.argument(node, list);
        let pair = || self.second(node, list);
        argument().or_else(pair).or_else(|| self.cell(node, list))
    }

    /// `["--token", "x"]`: the flag names the argument behind it.
    fn argument(&self, node: Node<'_>, list: Node<'_>) -> Option<String> {
        let flag = node.leaf_before()?;
        let is_value = node.kind() == Kind::String && !node.raw().starts_with(b"\"-");
        if !is_value || !flag.raw().starts_with(b"\"-") {
            return None;
        }
        let flag = flag.text()?;
        let name = flag.trim_start_matches('-');
        let is_named = flag.starts_with("--") || name.len() > 3;
        if is_named
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        {
            let named = rules::names_secret(name) || self.decides(name);
            return named.then(|| name.to_owned());
        }
        is_password_of(&flag, node, list).then(|| pair::SECRET.to_owned())
    }

    /// `[["DB_PASSWORD", "x"]]`: a list of names and values. A plain word may as well be what the word
    /// before it is in another language.
    fn second(&self, node: Node<'_>, list: Node<'_>) -> Option<String> {
        let is_pair = node.index() == 1 && list.children().nth(2).is_none();
        let in_list = || list.parent().is_some_and(|it| it.kind() == Kind::Array);
        if !is_pair || !in_list() {
            return None;
        }
        let is_word = node
            .raw()
            .iter()
            .all(|b| b.is_ascii_alphabetic() || *b == b'"');
        let name = node.leaf_before().filter(|_| !is_word)?.text()?;
        self.says(&name)
    }

    /// `{"columns": ["name", "password"], "rows": [["lena", "x"]]}`, also with
    /// `{"name": "password", "type": "text"}` for a column.
    fn cell(&self, node: Node<'_>, list: Node<'_>) -> Option<String> {
        let rows = list.parent().filter(|it| it.kind() == Kind::Array)?;
        let table = rows.parent().filter(|it| it.kind() == Kind::Object)?;
        let is_head = |it: &Node<'_>| {
            let names = || it.key().is_some_and(|key| pair::holds_columns(&key));
            it.kind() == Kind::Array && *it != rows && names()
        };
        let head = table.children().take(MOST_BESIDE).find(is_head)?;
        let column = head.children().take(MOST_COLUMNS).nth(node.index())?;
        let named = |it: &Node<'_>| it.key().is_some_and(|key| pair::holds_name(&key));
        let name = match column.kind() {
            Kind::Object => column.children().take(MOST_BESIDE).find(named)?,
            _ => column,
        };
        self.says(&name.text()?)
    }
}

/// Whether an argument behind a flag of one letter is a password for the program that is called.
fn is_password_of(flag: &str, value: Node<'_>, list: Node<'_>) -> bool {
    let before = value.index().saturating_sub(1);
    let words = || {
        let words = list.children().take(before.min(MOST_BEFORE));
        words.filter_map(Node::text)
    };
    let calls = |program: &str| words().any(|word| word.rsplit('/').next() == Some(program));
    let commands = |command: &str| command.is_empty() || words().any(|word| word == command);
    let short = SHORT
        .iter()
        .any(|(program, command, own)| *own == flag && calls(program) && commands(command));
    let is_login = || value.text().is_some_and(|text| text.contains(':'));
    let login = || {
        LOGINS
            .iter()
            .any(|(program, own)| *own == flag && calls(program))
    };
    short || (login() && is_login())
}
