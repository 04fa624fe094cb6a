//! What a query may be made of: the part of SQL that SQLite, DuckDB and Trino (so Athena) read in
//! one way, that only reads, and only the three views.

/// Functions with the same meaning everywhere.
const FUNCTIONS: [&str; 10] = [
    "coalesce", "count", "length", "lower", "max", "min", "nullif", "substr", "sum", "upper",
];
/// Words that may stand before a parenthesis and are no functions.
const BEFORE_PARENTHESIS: [&str; 17] = [
    "all", "and", "as", "by", "case", "else", "exists", "from", "having", "in", "join", "not",
    "on", "or", "then", "when", "where",
];
/// Statements and clauses that write, hide rows, or mean different things in different engines
/// (`LIKE` and its kin in upper and lower case, nulls in an order, random rows).
const FORBIDDEN: [&str; 31] = [
    "alter",
    "analyze",
    "attach",
    "begin",
    "cast",
    "collate",
    "commit",
    "copy",
    "create",
    "delete",
    "detach",
    "drop",
    "explain",
    "glob",
    "ilike",
    "insert",
    "install",
    "into",
    "like",
    "limit",
    "load",
    "match",
    "offset",
    "order",
    "pragma",
    "recursive",
    "regexp",
    "replace",
    "sample",
    "update",
    "vacuum",
];
const VIEWS: [&str; 3] = ["checks", "labels", "records"];
/// Operators and signs.
const SIGNS: [&str; 14] = [
    "(", ")", ",", ".", "=", "<>", "<", ">", "<=", ">=", "+", "-", "*", "||",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'q> {
    Number,
    Sign(&'q str),
    Text,
    Word(&'q str),
}

/// Checks one query.
///
/// # Errors
/// What is not allowed, in words.
pub(super) fn check(query: &str) -> Result<(), String> {
    let tokens = tokens(query)?;
    let word = |at: usize| match tokens.get(at) {
        Some(Token::Word(word)) => Some(word.to_ascii_lowercase()),
        _ => None,
    };
    if word(0).is_none_or(|first| first != "select" && first != "with") {
        return Err("it does not begin with SELECT or WITH".into());
    }
    if has_comma_join(&tokens) {
        return Err("tables are joined by JOIN, not by a comma".into());
    }
    // Names that `WITH name AS (` gives.
    let named: Vec<String> = (0..tokens.len())
        .filter(|at| word(at + 1).as_deref() == Some("as") && is_sign(&tokens, at + 2, "("))
        .filter_map(word)
        .collect();
    for at in 0..tokens.len() {
        let Some(name) = word(at) else { continue };
        if FORBIDDEN.contains(&name.as_str()) {
            return Err(format!("`{name}` is not allowed"));
        }
        let called = is_sign(&tokens, at + 1, "(");
        let known = [&FUNCTIONS[..], &BEFORE_PARENTHESIS, &["distinct", "select"]];
        if called && !known.iter().any(|words| words.contains(&name.as_str())) {
            return Err(format!("the function `{name}` is not on the list"));
        }
        if name == "from" || name == "join" {
            let table = word(at + 1);
            let fit = table.as_deref().is_none_or(|table| {
                VIEWS.contains(&table) || named.iter().any(|named| named == table)
            });
            if !fit || (table.is_none() && !called) || is_sign(&tokens, at + 2, ".") {
                return Err("it reads something else than the three views".into());
            }
        }
    }
    Ok(())
}

/// Whether a comma stands between tables, behind which anything could be read.
fn has_comma_join(tokens: &[Token<'_>]) -> bool {
    // For each open parenthesis: whether a list of tables is being read.
    let mut open = vec![false];
    for token in tokens {
        let Some(top) = open.last_mut() else {
            return true;
        };
        match token {
            Token::Sign("(") => open.push(false),
            Token::Sign(")") => drop(open.pop()),
            Token::Sign(",") if *top => return true,
            Token::Word(word) => match word.to_ascii_lowercase().as_str() {
                "from" | "join" => *top = true,
                "group" | "having" | "select" | "union" | "where" => *top = false,
                _ => {}
            },
            _ => {}
        }
    }
    false
}

fn is_sign(tokens: &[Token<'_>], at: usize, sign: &str) -> bool {
    tokens.get(at) == Some(&Token::Sign(sign))
}

fn tokens(query: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut rest = query.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            'a'..='z' | 'A'..='Z' => {
                let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let length = rest.find(|c| !word(c)).unwrap_or(rest.len());
                (Token::Word(rest.get(..length).unwrap_or_default()), length)
            }
            '0'..='9' => {
                let length = rest.find(|c: char| !c.is_ascii_digit());
                (Token::Number, length.unwrap_or(rest.len()))
            }
            '\'' => {
                let end = rest.get(1..).and_then(|inside| inside.find('\''));
                (Token::Text, end.ok_or("a text without its end")? + 2)
            }
            _ => sign(rest)?,
        };
        tokens.push(token);
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

fn sign(rest: &str) -> Result<(Token<'_>, usize), String> {
    if rest.starts_with("--") || rest.starts_with("/*") {
        return Err("a comment inside a query".into());
    }
    if rest.starts_with("==") {
        return Err("equality is one sign".into());
    }
    let longest = [2, 1]
        .into_iter()
        .filter_map(|length| rest.get(..length))
        .find(|sign| SIGNS.contains(sign));
    let sign = longest.ok_or_else(|| {
        let shown = rest.chars().next().unwrap_or(' ').escape_debug();
        format!("the sign `{shown}` is not allowed")
    })?;
    Ok((Token::Sign(sign), sign.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes() {
        for good in [
            "SELECT count(*) FROM records",
            "WITH a AS (SELECT sid FROM records) SELECT * FROM a JOIN labels l ON l.w = a.sid",
            "SELECT 'it''s', 1 + 2 FROM checks WHERE name IN ('a', 'b') AND NOT (n <> 3)",
            "SELECT * FROM (SELECT w FROM records) x",
            "SELECT 'drop table; -- like' FROM records",
            "SELECT count(DISTINCT sid) FROM records",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn what_does_not() {
        for bad in [
            "",
            "DELETE FROM records",
            "SELECT 1 FROM records; SELECT 2 FROM records",
            "SELECT random() FROM records",
            "SELECT strftime('%s', ts) FROM records",
            "SELECT load_extension('x') FROM records",
            "SELECT group_concat (sid) FROM records",
            "SELECT * FROM sqlite_master",
            "SELECT * FROM main.records",
            "SELECT * FROM records JOIN read_csv('x')",
            "SELECT * FROM 'file.csv'",
            "SELECT w FROM records WHERE sid LIKE 'S%'",
            "SELECT w FROM records ORDER BY w",
            "SELECT w FROM records LIMIT 1",
            "SELECT \"w\" FROM records",
            "SELECT w FROM records WHERE w == 'a'",
            "SELECT n / 2 FROM labels",
            "SELECT w FROM records WHERE w = ?1",
            "SELECT w /* x */ FROM records",
            "SELECT w -- x\n FROM records",
            "SELECT 'open FROM records",
            "WITH RECURSIVE a AS (SELECT 1) SELECT * FROM a",
            "PRAGMA user_version",
            "SELECT w FROM records, sqlite_master",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
