//! One idea a file, one step a function: no source file over 400 lines, no function over 60.

use crate::source::{CRATES, code_of, rust_files, shown, without_tests};

const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 60;

#[test]
fn no_file_is_over_400_lines() {
    let mut long = Vec::new();
    for path in sources() {
        let lines = std::fs::read_to_string(&path)
            .expect("readable")
            .lines()
            .count();
        if lines > FILE_LINES {
            long.push(format!("{} has {lines} lines", shown(&path)));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn no_function_is_over_60_lines() {
    let mut long = Vec::new();
    for path in sources() {
        let source = std::fs::read_to_string(&path).expect("readable");
        let code = code_of(&source);
        for (name, line, length) in functions(without_tests(&code)) {
            if length > FUNCTION_LINES {
                long.push(format!(
                    "{}:{line}: {name} has {length} lines",
                    shown(&path)
                ));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn both_binaries_have_a_short_main() {
    for path in ["gateway/src/main.rs", "auditor/src/main.rs"] {
        let source = std::fs::read_to_string(crate::source::root().join(path)).expect("readable");
        assert!(source.lines().count() < 60, "{path}");
    }
}

/// Every Rust file that is not test code as a whole.
fn sources() -> Vec<std::path::PathBuf> {
    let is_test = |path: &std::path::PathBuf| {
        let folder = path.components().any(|part| part.as_os_str() == "tests");
        folder || path.file_name().is_some_and(|name| name == "tests.rs")
    };
    let folders = CRATES.iter().map(|name| format!("{name}/src"));
    folders
        .flat_map(|folder| rust_files(&folder))
        .filter(|path| !is_test(path))
        .collect()
}

/// Name, first line and number of lines of every function with a body.
fn functions(code: &str) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let starts_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let after = &code[at + 3..];
        let name: String = after
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        if !starts_word || name.is_empty() {
            continue;
        }
        if let Some(end) = body_end(after) {
            let line = code[..at].matches('\n').count() + 1;
            found.push((name, line, after[..end].matches('\n').count() + 1));
        }
    }
    found
}

/// Where the body ends that begins with the first brace; `None` for a signature without a body.
fn body_end(after: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut nested = 0usize;
    for (at, c) in after.char_indices() {
        match c {
            // A semicolon inside `[u8; 32]` ends nothing.
            '(' | '[' => nested += 1,
            ')' | ']' => nested = nested.saturating_sub(1),
            ';' if depth == 0 && nested == 0 => return None,
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[test]
fn functions_are_measured() {
    let code = "fn a() {\n  b();\n}\nfn sig(x: [u8; 2]);\nasync fn c(x: [u8; 2])\nwhere T: X,\n{ if y { z() }\n}\n";
    let found = functions(code);
    assert_eq!(found, [("a".to_owned(), 1, 3), ("c".to_owned(), 5, 4)]);
}
