//! Lines of `.pgpass`: `host:port:database:user:password`, with `*` for any.
//!
//! Source: PostgreSQL 17, "The Password File".

use super::Record;
use crate::label::Label;
use crate::rule::Hit;

/// What is known of a value that stands there.
const SCORE: u8 = 88;
/// Host, database or user may be so long.
const LONGEST: usize = 128;
/// And the line behind the host.
const LINE: usize = 1024;

/// Reads the line of which the place is the port.
pub(super) fn line(text: &str, at: usize, hits: &mut Vec<Hit>) -> Option<Record> {
    let from = text.ceil_char_boundary(at.saturating_sub(LONGEST));
    let before = text.get(from..at)?;
    let begins = before.rfind(['\n', '\r']).map(|end| from + end + 1);
    let start = begins.or((from == 0).then_some(0))?;
    let host = text.get(start..at)?;
    let near = text.get(at..text.floor_char_boundary(at + LINE))?;
    let most = at + near.find(['\n', '\r']).unwrap_or(near.len());
    // What is longer is no such line.
    if most == at + near.len() && most < text.len() {
        return None;
    }
    let mut fields = text.get(at + 1..most)?.splitn(4, ':');
    let port = fields.next()?;
    let is_port = port == "*" || port.parse::<u16>().is_ok();
    let (database, user, password) = (fields.next(), fields.next(), fields.next());
    let names = [Some(host), database, user].into_iter().flatten();
    if !is_port || !names.filter(|name| !name.is_empty()).all(is_name) {
        return None;
    }
    let password = password.unwrap_or_default();
    if host.is_empty() || !is_password(password, port == "*") {
        // More may come.
        let open = (most == text.len()).then_some(start);
        return open.map(|_| Record { end: at, open });
    }
    hits.push(Hit {
        start: most - password.len(),
        end: most,
        label: Label::PASSWORD,
        score: SCORE,
        certain: false,
    });
    let open = (most == text.len()).then_some(start);
    Some(Record { end: most, open })
}

/// A colon in it has a backslash. Lists of anything have stars too, so that behind one a word is none; and
/// what a program puts in is none.
fn is_password(field: &str, star: bool) -> bool {
    let word = star && field.bytes().all(|b| b.is_ascii_lowercase());
    let filled = ["${", "$(", "{{", "%("]
        .iter()
        .any(|mark| field.starts_with(mark));
    let variable = field
        .strip_prefix('$')
        .is_some_and(|name| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'));
    let plain = !field.contains([' ', '\t']) && !word && !filled && !variable;
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
        let marked = "db.example.org:5432:app:admin:Pa$$w0rd(9)'\"\n";
        found(marked, "PASSWORD", &["Pa$$w0rd(9)'\""]);
    }

    #[test]
    fn other_lines_with_colons() {
        nothing("listening on 127.0.0.1:5432: ok:then:what\n");
        nothing("db:5432:app\n0.0.0.0:5432:5432:x:y:z\n");
        nothing("image: postgres:5432:a b:c:dddd\n");
        nothing("db.example.org:5432:app:admin:${PGPASSWORD}\n");
        nothing("org:*:project:read:write\ncache:*:v1:user:profile\n");
    }
}
