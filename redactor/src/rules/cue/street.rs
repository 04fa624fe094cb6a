//! A street and its number behind a word that says so, whatever it is called and in any case:
//! `address: 17 rijksweg 145`.

/// Words that one street may have.
const WORDS: usize = 5;
/// What other addresses and numbers are made of: those of memory, of lines, of networks.
const OTHERS: &[&str] = &[
    "and", "at", "bit", "bits", "book", "bus", "byte", "bytes", "column", "family", "field", "for",
    "from", "has", "in", "is", "issue", "length", "line", "mode", "not", "of", "on", "or", "over",
    "page", "port", "range", "register", "size", "space", "step", "the", "to", "type", "version",
    "width", "with", "word", "words",
];
/// What stands before addresses that are no one's home.
const NO_HOME: &[&str] = &[
    "ip",
    "ipv4",
    "ipv6",
    "mac",
    "mail",
    "email",
    "memory",
    "bind",
    "listen",
    "listening",
    "wallet",
    "base",
    "host",
    "server",
    "remote",
    "bus",
    "load",
    "start",
    "return",
    "virtual",
    "physical",
    "contract",
    "web",
    "source",
    "destination",
    "target",
    "peer",
    "client",
    "byte",
    "stack",
];

/// Whether the text before the cue says that another address is meant.
pub(super) fn is_other(head: &str) -> bool {
    let word = head
        .trim_end_matches([' ', '_', '-', '.'])
        .rsplit(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    NO_HOME.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// The length of `[number] words number` at the start of a text.
pub(super) fn length(text: &str) -> Option<usize> {
    let (mut at, mut words, mut long, mut end) = (0, 0, false, None);
    for turn in 0..=WORDS + 2 {
        let rest = text.get(at..)?;
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '-')))
            .unwrap_or(rest.len());
        let token = rest.get(..length)?;
        if token.is_empty() || token.starts_with('-') {
            break;
        }
        if token.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = token.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 5 || token.len() > digits + 1 || (words == 0 && turn > 1) {
                break;
            }
            if words > 0 {
                end = (digits < 5).then_some(at + length);
                break;
            }
        } else {
            let other = OTHERS.iter().any(|word| token.eq_ignore_ascii_case(word));
            if other || words == WORDS || !token.chars().all(|c| !c.is_ascii_digit()) {
                break;
            }
            words += 1;
            long |= token.chars().count() > 3;
        }
        at += length;
        match text.as_bytes().get(at) {
            Some(b' ') => at += 1,
            Some(b'.') if text.as_bytes().get(at + 1) == Some(&b' ') => at += 2,
            _ => break,
        }
    }
    let end = end.filter(|_| long)?;
    let behind = text.as_bytes().get(end..).unwrap_or_default();
    let goes_on = match behind {
        [b'.' | b':' | b'-' | b'/' | b'_', next, ..] => next.is_ascii_alphanumeric(),
        [b'%' | b'(' | b'=', ..] => true,
        _ => false,
    };
    (!goes_on).then_some(end)
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn streets_behind_their_cue() {
        found(
            "gave him his address: 17 rijnkade 145",
            "ADDRESS",
            &["17 rijnkade 145"],
        );
        found(
            "she lives at lindenhof 12b now",
            "ADDRESS",
            &["lindenhof 12b"],
        );
        found("Address: Vuorikatu 8, Kuopio", "ADDRESS", &["Vuorikatu 8"]);
    }

    #[test]
    fn other_addresses() {
        for text in [
            "IP address: host 12",
            "email address field 3",
            "address of line 14",
            "the address is 12 bytes",
            "base address: segment 4",
            "address: 0x7fff 12",
            "lives at version 3.2",
            "systemctl --max-addresses=0 --no-legend 2>/dev/null",
        ] {
            nothing(text);
        }
    }
}
