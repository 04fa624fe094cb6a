//! Values whose name stands in the field beside them: XML attributes, YAML lists of variables, JSON
//! inside of other text, flags. In a document of JSON the walk over it sees the pair.

use crate::columns::Column;
use crate::label::Label;
use crate::pair;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};

use super::assigned::is_of_form;
use super::checked;

/// Bytes before a value in which its name stands.
const REACH: usize = 160;
/// Bytes of a key before `value`.
const PREFIX: usize = 16;

const VALUE: &str = r#"(?i)values?(?:\\?["'`])?[ \t]{0,4}(?:=>|[:=>])[ \t]{0,4}"#;
const FLAG: &str = r"--(?:[a-z]{1,9}-)?value[ =]{1,2}";

/// What a variable of Terraform is if nobody sets it.
const DEFAULT: &str = r"default[ \t]{0,8}=[ \t]{0,4}";

pub(super) fn rules() -> Vec<Rule> {
    let any = (Left::Any, Tail::Value);
    let token = (Left::Token, Tail::Value);
    vec![
        checked("paired-value", Label::PASSWORD, VALUE, any, paired),
        checked("paired-default", Label::PASSWORD, DEFAULT, token, default),
        checked("paired-flag", Label::PASSWORD, FLAG, token, flagged),
    ]
}

fn paired(candidate: &Candidate<'_>) -> Option<Hit> {
    let key_at = key_before(candidate.text, candidate.start);
    let key = candidate
        .text
        .get(key_at..candidate.start + "value".len())?;
    if !pair::holds_value(key) {
        return None;
    }
    let mut before = window(candidate.text, key_at);
    // The pair is one element, one object, one paragraph.
    for end in ["{", "}", "\n\n", "</", "/>", "\r\n\r\n"] {
        before = before.rsplit_once(end).map_or(before, |(_, rest)| rest);
    }
    let mut until = before.len();
    while let Some(at) = before.get(..until)?.rfind([':', '=', '>']) {
        until = at;
        let key = key_at_end(before.get(..at)?);
        // The value of the pair before this one.
        if pair::holds_value(key) {
            return None;
        }
        if pair::holds_name(key)
            && let Some(name) = pair::name(text_of(before.get(at + 1..)?))
        {
            return judged(candidate, name);
        }
    }
    None
}

/// `variable "db_password" { default = "…" }`: the block has the name.
fn default(candidate: &Candidate<'_>) -> Option<Hit> {
    candidate.quote?;
    let before = window(candidate.text, candidate.start);
    let (_, block) = before.rsplit_once("variable ")?;
    let (name, inside) = block.split_once('{')?;
    let name = name.trim().trim_matches(['"', '\'', '\\']);
    let closed = inside.matches('}').count() > inside.matches('{').count();
    let whole = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    if closed || !whole {
        return None;
    }
    judged(candidate, name)
}

fn flagged(candidate: &Candidate<'_>) -> Option<Hit> {
    let line = window(candidate.text, candidate.start);
    let line = line.rsplit('\n').next()?;
    let mut words = line.split_whitespace().rev();
    let mut word = words.next()?;
    for flag in words {
        let key = flag.strip_prefix("--").unwrap_or_default();
        if pair::holds_name(key)
            && let Some(name) = pair::name(word.trim_matches(['"', '\'']))
        {
            return judged(candidate, name);
        }
        word = flag;
    }
    None
}

/// What the value is under its name.
fn judged(candidate: &Candidate<'_>, name: &str) -> Option<Hit> {
    let column = Column::named(name).filter(|column| !column.needs_person())?;
    let value = column.judge(candidate.value)?;
    if value.label == Label::API_KEY && is_of_form(candidate) {
        return None;
    }
    Some(Hit {
        start: candidate.value_at,
        end: candidate.value_at + value.length,
        label: value.label,
        score: value.score,
        certain: false,
    })
}

fn window(text: &str, end: usize) -> &str {
    let from = text.ceil_char_boundary(end.saturating_sub(REACH).min(text.len()));
    text.get(from..end).unwrap_or_default()
}

/// Where the key begins that goes on at `at`.
fn key_before(text: &str, at: usize) -> usize {
    let part = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let bytes = text.as_bytes().get(..at).unwrap_or_default();
    at - bytes.iter().rev().take(PREFIX).take_while(part).count()
}

/// The key that stands before a separator.
fn key_at_end(text: &str) -> &str {
    let text = text.trim_end_matches([' ', '\t', '"', '\'', '\\', '`']);
    text.get(key_before(text, text.len())..).unwrap_or_default()
}

/// The text that stands behind a separator: in quotes, or to the end of the line.
fn text_of(text: &str) -> &str {
    let text = text.trim_start_matches([' ', '\t', '>', '\\']);
    let quoted = text.strip_prefix(['"', '\'', '`']);
    let end: &[char] = match quoted {
        Some(_) => &['"', '\'', '`', '\\', '\n'],
        None => &[',', '\n', '<', ';'],
    };
    let text = quoted.unwrap_or(text);
    text.split(end).next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn a_name_in_the_field_before_tells_the_value() {
        for text in [
            "- name: DB_PASSWORD\n  value: hunter2x9\n- name: LEVEL\n  value: debug1x9\n",
            "<add key=\"db.password\" value=\"hunter2x9\" />",
            "<setting name=\"DbPassword\"><value>hunter2x9</value></setting>",
            "got {\"ParameterKey\":\"DBPassword\",\"ParameterValue\":\"hunter2x9\"} from it",
            "log: {\\\"name\\\":\\\"/prod/password\\\",\\\"value\\\":\\\"hunter2x9\\\"}",
            "put-parameter --name /prod/db/password --value hunter2x9 --type SecureString",
            "{\"type\":\"password\",\"value\":\"hunter2x9\"} and",
        ] {
            found(text, "PASSWORD", &["hunter2x9"]);
        }
        found(
            "- name: STRIPE_KEY\n  value: \"zX81kk29QpLm44RtAA\"\n",
            "API_KEY",
            &["zX81kk29QpLm44RtAA"],
        );
        found(
            "<add key=\"ApiSecret\" value=\"zX81kk29QpLm44Rt\" />",
            "API_KEY",
            &["zX81kk29QpLm44Rt"],
        );
        found(
            "the row {\"label\":\"Date of birth\",\"value\":\"1990-01-02\"}",
            "DATE_OF_BIRTH",
            &["1990-01-02"],
        );
    }

    #[test]
    fn defaults_of_variables() {
        found(
            "variable \"db_password\" {\n  type = string\n  default = \"hunter2x9\"\n}",
            "PASSWORD",
            &["hunter2x9"],
        );
        nothing("variable \"db_password\" {}\nvariable \"mode\" { default = \"hunter2x9\" }");
        nothing("variable \"db_password\" { default = var.other }");
    }

    #[test]
    fn values_of_other_names_stay() {
        nothing("- name: LOG_LEVEL\n  value: debug1x9\n");
        nothing("{\"name\":\"password\"},{\"name\":\"mode\",\"value\":\"hunter2x9\"} x");
        nothing("name: password\n\nvalue: hunter2x9\n");
        nothing("let value = hunter2x9; // the key = password\n");
        nothing("name=\"password\" value=\"\" next");
        nothing("--name mode --value hunter2x9");
    }
}
