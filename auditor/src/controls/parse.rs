//! A control's file: a block of comments, then two queries under headings of their own.

use super::Control;

/// Reads a control.
///
/// # Errors
/// What is missing or not understood, in words.
pub(super) fn parse(text: &str) -> Result<Control, String> {
    let (head, rest) = split(text, "-- population")?;
    let (population, exceptions) = split(rest, "-- exceptions")?;
    let fields = fields(head)?;
    let field = |key: &str| {
        let found = fields.iter().find(|(name, _)| name == key);
        let value = found.map(|(_, value)| value.trim().to_owned());
        value
            .filter(|value| !value.is_empty())
            .ok_or_else(|| format!("`{key}` is missing"))
    };
    let severity = match field("severity")?.as_str() {
        "1" => 1,
        "2" => 2,
        "3" => 3,
        _ => return Err("`severity` is 1, 2 or 3".into()),
    };
    let id = field("id")?;
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-';
    if id.len() > 16 || !id.chars().all(plain) {
        return Err("`id` is capital letters, digits and dashes".into());
    }
    Ok(Control {
        optional: field("optional").ok(),
        id,
        title: field("title")?,
        tsc: field("tsc")?,
        iso: field("iso")?,
        severity,
        supports: field("supports")?,
        remediation: field("remediation")?,
        population: query(population, "population")?,
        exceptions: query(exceptions, "exceptions")?,
        text: text.to_owned(),
        fixtures: None,
    })
}

/// What stands before and behind a heading, a line of its own.
fn split<'t>(text: &'t str, heading: &str) -> Result<(&'t str, &'t str), String> {
    let missing = || format!("the line `{heading}` is missing");
    let (before, rest) = text
        .split_once(&format!("\n{heading}\n"))
        .ok_or_else(missing)?;
    Ok((before, rest))
}

/// `-- key: value`, gone on with in lines of `--` and three blanks.
fn fields(head: &str) -> Result<Vec<(String, String)>, String> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in head.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(more) = line.strip_prefix("--   ") {
            let (_, value) = fields.last_mut().ok_or("a line goes on from nothing")?;
            value.push(' ');
            value.push_str(more.trim());
        } else {
            let field = line.strip_prefix("-- ").and_then(|f| f.split_once(": "));
            let (key, value) = field.ok_or_else(|| format!("not a field: {line}"))?;
            if fields.iter().any(|(name, _)| name == key) {
                return Err(format!("`{key}` stands twice"));
            }
            fields.push((key.to_owned(), value.trim().to_owned()));
        }
    }
    Ok(fields)
}

/// One query without the semicolon that ends it.
fn query(text: &str, name: &str) -> Result<String, String> {
    let query = text.trim().strip_suffix(';');
    let query = query.ok_or_else(|| format!("the {name} query does not end with a semicolon"))?;
    Ok(query.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "-- id: XX-01\n-- title: T\n-- tsc: CC6.1\n-- iso: A.8.5\n-- severity: 2\n-- supports: one\n--   two\n-- remediation: r\n\n-- population\nSELECT 1 AS ts_us;\n\n-- exceptions\nSELECT 2 AS ts_us;\n";

    #[test]
    fn a_control_in_its_parts() {
        let control = parse(GOOD).unwrap();
        assert_eq!((control.id.as_str(), control.severity), ("XX-01", 2));
        assert_eq!(
            (control.supports.as_str(), control.optional),
            ("one two", None)
        );
        let optional = GOOD.replace("-- remed", "-- optional: without X\n-- remed");
        let optional = parse(&optional).unwrap().optional;
        assert_eq!(optional.as_deref(), Some("without X"));
        assert_eq!(control.population, "SELECT 1 AS ts_us");
        assert_eq!(control.exceptions, "SELECT 2 AS ts_us");
    }

    #[test]
    fn nothing_may_be_missing() {
        for (part, by) in [
            ("-- title: T\n", ""),
            ("-- iso: A.8.5\n", ""),
            ("-- severity: 2", "-- severity: 9"),
            ("-- id: XX-01", "-- id: ../x"),
            ("-- title: T", "-- title: T\n-- title: T"),
            ("-- exceptions\n", ""),
            ("-- population\n", ""),
            ("AS ts_us;\n\n", "AS ts_us\n\n"),
            ("-- tsc: CC6.1", "tsc: CC6.1"),
        ] {
            assert!(parse(&GOOD.replace(part, by)).is_err(), "{part}");
        }
    }
}
