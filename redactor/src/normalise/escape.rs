//! One escaped character: percent (RFC 3986), HTML entities, JSON and string escapes, and
//! quoted-printable (RFC 2045).

use crate::seek::seek;

/// The longest escape that the end of a text may cut off, in bytes: a pair of surrogates behind
/// backslashes that were themselves escaped twice.
const LONGEST: usize = 28;
/// More backslashes in a row than any nesting of strings makes.
const MOST_SLASHES: usize = 8;
/// Lines of quoted-printable text that go on are at least this long.
const SOFT_LINE: usize = 60;
/// The shortest run of base64 whose padding is told from a soft break.
const BASE64: usize = 20;
/// How much of a token beside an escape is looked at, in bytes.
const TOKEN: usize = 64;
/// How much behind a soft break or an escaped mark decides about it, with what it is written as.
const BEHIND: usize = TOKEN + 8;

/// Whether ASCII text may hold an escape at all.
pub(super) fn possible(text: &[u8]) -> bool {
    let opens = |b: u8| (b == b'%') | (b == b'&') | (b == b'\\') | (b == super::sequence::ESCAPE);
    seek(text, opens).is_some()
        || memchr::memchr_iter(b'=', text).any(|at| {
            matches!(
                text.get(at + 1),
                Some(b'3' | b'4' | b'\n' | b'\r' | b'A'..=b'F' | b'a'..=b'f')
            )
        })
}

/// Whether an escape may begin a text, by its first two bytes: most of what looks like one is
/// none.
pub(super) fn may_open(text: &[u8]) -> bool {
    match text {
        [b'%', b, ..] => b.is_ascii_hexdigit(),
        [b'&', b, ..] => b.is_ascii_alphabetic() || *b == b'#',
        [b'=', b, ..] => b.is_ascii_hexdigit() || matches!(b, b'\r' | b'\n'),
        [b'\\', b, ..] => matches!(
            b,
            b'\\' | b'n' | b'r' | b't' | b'/' | b'x' | b'u' | b'\n' | b'\r' | b'0' | b'e' | b'E'
        ),
        _ => false,
    }
}

/// The character that the escape at `at` stands for, and the escape's length.
pub(super) fn open(source: &str, at: usize) -> Option<(char, usize)> {
    let text = source.get(at..)?;
    match text.as_bytes().first()? {
        b'%' => percent(text),
        b'&' => entity(text),
        b'\\' => backslash(text),
        b'=' => quoted_printable(source.get(..at)?, text),
        _ => None,
    }
}

/// Where an escape begins that may go on behind the end of the text; the text's length if none
/// does.
pub(crate) fn cut_off(text: &str) -> usize {
    let bytes = text.as_bytes();
    let from = bytes.len().saturating_sub(LONGEST);
    let inside = |b: &u8| b.is_ascii_alphanumeric() || b"%&\\#={}".contains(b);
    let length = bytes
        .iter()
        .rev()
        .take(LONGEST)
        .take_while(|b| inside(b))
        .count();
    let run = bytes.len() - length;
    let leads = |b: &u8| matches!(b, b'%' | b'&' | b'\\' | b'=');
    let first = bytes
        .get(run.max(from)..)
        .unwrap_or_default()
        .iter()
        .position(leads);
    // A line break after `=` or a backslash may have a second half.
    let soft = ["=\r", "\\\r"]
        .iter()
        .find_map(|end| text.strip_suffix(end))
        .map(str::len);
    let cut = soft.or(first.map(|at| run + at)).unwrap_or(text.len());
    cut.min(undecided(text)).min(super::sequence::cut_off(text))
}

/// Where an escape of quoted-printable text stands that what follows decides about, if the text
/// ends before it does; the text's length if there is none.
fn undecided(text: &str) -> usize {
    let bytes = text.as_bytes();
    let from = bytes.len().saturating_sub(BEHIND);
    let near = bytes.get(from..).unwrap_or_default();
    let Some(first) = memchr::memchr(b'=', near) else {
        return bytes.len();
    };
    let open = |at: &usize| match near.get(*at..).unwrap_or_default() {
        [b'=', b'\n', rest @ ..] | [b'=', b'\r', b'\n', rest @ ..] => !rest.contains(&b'\n'),
        [b'=', b'2' | b'5', rest @ ..] => rest.iter().all(|b| is_part(*b)),
        _ => false,
    };
    let found = (first..near.len()).find(open);
    found.map_or(bytes.len(), |at| from + at)
}

fn hex(bytes: Option<&[u8]>) -> Option<u32> {
    bytes?.iter().try_fold(0, |value, b| {
        Some(value * 16 + char::from(*b).to_digit(16)?)
    })
}

fn percent(text: &str) -> Option<(char, usize)> {
    octets(text, b'%')
}

/// What cannot be an assignment: `=40` inside a word (a mail address), `=3D` (no value of a
/// parameter begins so but by chance), the marks of an address whose `@` is written so, a
/// character of several bytes, and a soft break, which stands for nothing (a joiner that is
/// dropped).
fn quoted_printable(before: &str, text: &str) -> Option<(char, usize)> {
    let broken = ["=\n", "=\r\n"]
        .into_iter()
        .find(|end| text.starts_with(end));
    if let Some(end) = broken {
        let rest = text.get(end.len()..)?;
        return is_soft(before, rest).then_some(('\u{2060}', end.len()));
    }
    let (character, length) = octets(text, b'=')?;
    let before_it = before.bytes().next_back();
    let behind = text.as_bytes().get(length);
    let inside = before_it.is_some_and(|b| b.is_ascii_alphanumeric())
        && behind.is_some_and(u8::is_ascii_alphabetic);
    let mark = matches!(character, '-' | '.' | '_' | '+') && is_of_address(before, text);
    let opened =
        !character.is_ascii() || (character == '@' && inside) || text.starts_with("=3D") || mark;
    opened.then_some((character, length))
}

/// Whether a line that ends with `=` goes on in the next: it is as long as such lines are, or it
/// breaks inside of a number or an address. What pads base64 ends it.
fn is_soft(before: &str, rest: &str) -> bool {
    let line = before.bytes().rev().take(SOFT_LINE);
    if line.clone().count() == SOFT_LINE && !line.clone().any(|b| b == b'\n') {
        return !is_padding(before, rest);
    }
    let digit = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_digit());
    let mut next = rest.bytes();
    let first = next.next();
    let number = digit(first) || (matches!(first, Some(b' ' | b'-')) && digit(next.next()));
    let (own, rest) = (token_before(before), token_of(rest));
    let within = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    let apart = own.contains('=') || rest.contains('=');
    let address = own.contains('@') != rest.contains('@')
        && !apart
        && within(own.bytes().next_back())
        && within(rest.bytes().next());
    (digit(before.bytes().next_back()) && number) || address
}

/// Whether the `=` behind a text pads base64: the one before it does, or the run is as long as
/// padding makes it and an assignment or nothing follows.
fn is_padding(before: &str, rest: &str) -> bool {
    if before.ends_with('=') {
        return true;
    }
    let part = |b: &u8| b.is_ascii_alphanumeric() || b"+/-_".contains(b);
    let run = before.bytes().rev().take_while(part).count() + 1;
    let named = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
    let name = rest.bytes().take(TOKEN).take_while(|b| named(*b)).count();
    let behind = rest.get(name..).unwrap_or_default();
    let behind = behind.strip_prefix(' ').unwrap_or(behind);
    let escaped = hex(behind.as_bytes().get(1..3)).is_some() || behind.starts_with("=\n");
    let assigned = name > 0 && behind.starts_with(['=', ':']) && !escaped;
    run >= BASE64 && run % 4 == 0 && (assigned || rest.is_empty())
}

/// Whether a mark stands in a token with an `@` that is escaped too.
fn is_of_address(before: &str, text: &str) -> bool {
    let at = |token: &str| token.contains("=40") || token.contains('@');
    at(token_of(text)) || at(token_before(before))
}

/// What a token may hold that quoted-printable text writes.
fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"=._+-@".contains(&byte)
}

fn token_of(text: &str) -> &str {
    let most = text.floor_char_boundary(TOKEN);
    let near = text.get(..most).unwrap_or(text);
    let length = near.bytes().position(|b| !is_part(b));
    near.get(..length.unwrap_or(near.len())).unwrap_or_default()
}

fn token_before(text: &str) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(TOKEN));
    let near = text.get(from..).unwrap_or_default();
    let start = near
        .bytes()
        .rposition(|b| !is_part(b))
        .map_or(0, |at| at + 1);
    near.get(start..).unwrap_or_default()
}

/// One character as UTF-8 bytes, each written as a mark and two hex digits.
fn octets(text: &str, mark: u8) -> Option<(char, usize)> {
    let bytes = text.as_bytes();
    let mut at = 1;
    // `%2540`: the percent sign itself is escaped, any number of times.
    while mark == b'%'
        && bytes.get(at..at + 2) == Some(b"25")
        && hex(bytes.get(at + 2..at + 4)).is_some()
    {
        at += 2;
    }
    let first = u8::try_from(hex(bytes.get(at..at + 2))?).ok()?;
    at += 2;
    let more = match first {
        0..=0x7F => return Some((char::from(first), at)),
        0xC2..=0xDF => 1,
        0xE0..=0xEF => 2,
        0xF0..=0xF4 => 3,
        _ => return None,
    };
    let mut utf8 = [first, 0, 0, 0];
    for slot in utf8.iter_mut().skip(1).take(more) {
        if bytes.get(at) != Some(&mark) {
            return None;
        }
        *slot = u8::try_from(hex(bytes.get(at + 1..at + 3))?).ok()?;
        at += 3;
    }
    let utf8 = utf8.get(..=more)?;
    Some((std::str::from_utf8(utf8).ok()?.chars().next()?, at))
}

fn entity(text: &str) -> Option<(char, usize)> {
    // `&amp;#64;`: escaped twice.
    let skip = if text.starts_with("&amp;#") { 4 } else { 0 };
    let body = text.get(skip + 1..)?;
    let length = body.bytes().take(10).position(|b| b == b';')?;
    let name = body.get(..length)?;
    let character = match name.strip_prefix('#') {
        Some(number) => {
            let value = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(value.ok()?)?
        }
        None => named(name)?,
    };
    Some((character, skip + length + 2))
}

/// The named entities (HTML) that stand for what values are made of.
fn named(name: &str) -> Option<char> {
    const NAMES: &[(&str, char)] = &[
        ("amp", '&'),
        ("apos", '\''),
        ("colon", ':'),
        ("comma", ','),
        ("commat", '@'),
        ("dash", '-'),
        ("equals", '='),
        ("gt", '>'),
        ("hyphen", '-'),
        ("lowbar", '_'),
        ("lpar", '('),
        ("lt", '<'),
        ("mdash", '-'),
        ("minus", '-'),
        ("nbsp", ' '),
        ("ndash", '-'),
        ("num", '#'),
        ("period", '.'),
        ("plus", '+'),
        ("quot", '"'),
        ("rpar", ')'),
        ("shy", '\u{AD}'),
        ("sol", '/'),
        ("zwj", '\u{200D}'),
        ("zwnj", '\u{200C}'),
        ("ZeroWidthSpace", '\u{200B}'),
    ];
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, character)| *character)
}

/// Any number of backslashes before the letter: a text may be a string in a string in a string.
/// Before the end of a line one continues it (shells, C, Python, Rust) and stands for nothing.
fn backslash(text: &str) -> Option<(char, usize)> {
    for continued in ["\\\n", "\\\r\n"] {
        if text.starts_with(continued) {
            return Some(('\u{2060}', continued.len()));
        }
    }
    let bytes = text.as_bytes();
    let row = bytes.iter().take(MOST_SLASHES + 1);
    let slashes = row.take_while(|b| **b == b'\\').count();
    if slashes > MOST_SLASHES {
        return None;
    }
    let (character, length) = match bytes.get(slashes)? {
        b'n' => ('\n', 1),
        b'r' => ('\r', 1),
        b't' => ('\t', 1),
        b'/' => ('/', 1),
        b'x' => (
            char::from_u32(hex(bytes.get(slashes + 1..slashes + 3))?)?,
            3,
        ),
        b'u' => unicode(text, slashes)?,
        _ => return None,
    };
    Some((character, slashes + length))
}

/// Whether the escape at the start of `text` stays one in the plain form: a quote or a backslash
/// behind a backslash, because a value ends at the quote that is not escaped.
pub(super) fn stays_escaped(text: &[u8], character: char) -> bool {
    text.first() == Some(&b'\\') && matches!(character, '"' | '\\' | '\'')
}

/// `u0040`, `u{40}`, or two such for a character beyond the basic plane.
fn unicode(text: &str, slashes: usize) -> Option<(char, usize)> {
    let bytes = text.as_bytes();
    if bytes.get(slashes + 1) == Some(&b'{') {
        let digits = bytes
            .get(slashes + 2..)?
            .iter()
            .take(7)
            .position(|b| *b == b'}')?;
        let value = hex(bytes.get(slashes + 2..slashes + 2 + digits))?;
        return Some((char::from_u32(value)?, digits + 3));
    }
    let first = hex(bytes.get(slashes + 1..slashes + 5))?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 5));
    }
    let second = slashes + 5;
    let between = bytes
        .get(second..)?
        .iter()
        .take(2 * MOST_SLASHES)
        .take_while(|b| **b == b'\\')
        .count();
    let low = second + between;
    if !(0xD800..0xDC00).contains(&first) || between == 0 || bytes.get(low) != Some(&b'u') {
        return None;
    }
    let trail = hex(bytes.get(low + 1..low + 5))?
        .checked_sub(0xDC00)
        .filter(|t| *t < 0x400)?;
    let value = 0x10000 + ((first - 0xD800) << 10) + trail;
    Some((char::from_u32(value)?, low + 5 - slashes))
}
