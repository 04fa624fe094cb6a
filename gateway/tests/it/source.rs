//! Reads this project's own sources, for the tests that hold it to its rules.

use std::path::{Path, PathBuf};

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    let gateway = Path::new(env!("CARGO_MANIFEST_DIR"));
    gateway
        .parent()
        .expect("the workspace around this crate")
        .to_owned()
}

/// The crates of the workspace, by folder.
pub(crate) const CRATES: [&str; 5] = ["auditor", "envelope", "gateway", "ledger", "redactor"];

/// Every Rust file under a folder of the workspace, in a fixed order.
pub(crate) fn rust_files(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(&root().join(folder), &mut files);
    files.sort();
    assert!(!files.is_empty(), "no Rust files under {folder}");
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// A path as the workspace sees it, for messages.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// The source with comments, strings and character literals blanked out, lines kept: what is left
/// of braces and words is code.
pub(crate) fn code_of(source: &str) -> String {
    let mut lexer = Lexer {
        rest: source,
        out: String::with_capacity(source.len()),
    };
    while let Some(first) = lexer.rest.chars().next() {
        match first {
            '/' if lexer.rest.starts_with("//") => lexer.blank(line_end(lexer.rest)),
            '/' if lexer.rest.starts_with("/*") => lexer.blank(block_comment(lexer.rest)),
            '"' => lexer.blank(string(lexer.rest)),
            '\'' => match character(lexer.rest) {
                Some(length) => lexer.blank(length),
                None => lexer.keep(1),
            },
            c if c.is_alphanumeric() || c == '_' => match raw_string(lexer.rest) {
                Some(length) => lexer.blank(length),
                None => lexer.keep(word(lexer.rest)),
            },
            c => lexer.keep(c.len_utf8()),
        }
    }
    lexer.out
}

/// The code before the file's own unit tests.
pub(crate) fn without_tests(code: &str) -> &str {
    code.split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(code)
}

struct Lexer<'s> {
    rest: &'s str,
    out: String,
}

impl Lexer<'_> {
    fn keep(&mut self, length: usize) {
        let (kept, rest) = self.rest.split_at(length);
        self.out.push_str(kept);
        self.rest = rest;
    }

    fn blank(&mut self, length: usize) {
        let (gone, rest) = self.rest.split_at(length);
        self.out
            .extend(gone.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }
}

fn line_end(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal; `None` for a lifetime or a loop label.
fn character(text: &str) -> Option<usize> {
    let mut characters = text.char_indices().skip(1);
    let (_, first) = characters.next()?;
    if first == '\\' {
        let (_, _escaped) = characters.next()?;
        return characters.find(|(_, c)| *c == '\'').map(|(at, _)| at + 1);
    }
    let (at, second) = characters.next()?;
    (second == '\'').then_some(at + 1)
}

/// The length of `r"…"`, `br#"…"#` and the like; `None` if the word is something else.
fn raw_string(text: &str) -> Option<usize> {
    let after = ["br", "cr", "r"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let inside = after[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inside.find(&close)?;
    Some(text.len() - inside.len() + end + close.len())
}

fn word(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len())
}

#[test]
fn comments_and_literals_are_no_code() {
    let source = "let a = \"fn {\"; // {\n/* { /* } */ */ let b = '{'; let c: &'static str = r#\"}\"#;\n\
                  let d = b'\\''; let e = \"\\\"{\"; 'outer: loop { }\n";
    let code = code_of(source);
    assert_eq!(code.matches('{').count(), 1, "{code}");
    assert_eq!(code.matches('}').count(), 1, "{code}");
    assert_eq!(code.lines().count(), source.lines().count());
    assert!(code.contains("'static"));
}
