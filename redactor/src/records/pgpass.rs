//! Lines of `.pgpass`: `host:port:database:user:password`, with `*` for any.
//!
//! Source: PostgreSQL 17, "The Password File".

use super::{Record, line_end};
use crate::label::Label;
use crate::rule::Hit;

/// What is known of a value that stands there.
const SCORE: u8 = 88;
/// Host, database or user may be so long.
const LONGEST: usize = 128;

/// Reads the line of which the place is the port.
pub(super) fn line(text: &str, at: usize, hits: &mut Vec<Hit>) -> Option<Record> {
    let from = text.ceil_char_boundary(at.saturating_sub(LONGEST));
    let before = text.get(from..at)?;
    let begins = before.rfind(['\n', '\r']).map(|end| from + end + 1);
    let start = begins.or((from == 0).then_some(0))?;
    let host = text.get(start..at)?;
    let most = text.floor_char_boundary((at + 3 * LONGEST).min(line_end(text, at)));
    let mut fields = text.get(at + 1..most)?.splitn(4, ':');
    let port = fields.next()?;
    let is_port = port == "*" || port.parse::<u16>().is_ok();
    let (database, user, password) = (fields.next(), fields.next(), fields.next());
    let names = [Some(host), database, user].into_iter().flatten();
    if !is_port || !names.filter(|name| !name.is_empty()).all(is_name) {
        return None;
    }
    let password = password.unwrap_or_default();
    if host.is_empty() || !is_password(password) {
        // More may come.
        let open = most == text.len();
        return open.then_some(Record {
            end: most,
            last: start,
        });
    }
    hits.push(Hit {
        start: most - password.len(),
        end: most,
        label: Label::PASSWORD,
        score: SCORE,
        certain: false,
    });
    Some(Record {
        end: most,
        last: start,
    })
}

/// A colon in it has a backslash.
fn is_password(field: &str) -> bool {
    let plain = !field.contains([' ', '\t', '"', '\'', ')', '$']);
    plain && field.len() >= 4 && !field.replace("\\:", "").contains(':')
}

fn is_name(field: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || "._-/@\\".contains(c);
    field == "*"
        || (field.starts_with(|c: char| c.is_alphanumeric() || c == '/') && field.chars().all(part))
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn passwords_of_lines() {
        let text = "# hosts\ndb.example.org:5432:app:admin:hunter2x9\n*:*:*:postgres:Kd8s\\:Q2\nlocalhost:5432:*:bo_b:blue-heron\n";
        found(text, "PASSWORD", &["hunter2x9", "Kd8s\\:Q2", "blue-heron"]);
    }

    #[test]
    fn other_lines_with_colons() {
        nothing("listening on 127.0.0.1:5432: ok:then:what\n");
        nothing("db:5432:app\n0.0.0.0:5432:5432:x:y:z\n");
        nothing("image: postgres:5432:a b:c:dddd\n");
        nothing("db.example.org:5432:app:admin:${PGPASSWORD}\n");
    }
}
