//! A strict reader of the JSON that may stand in events. It allocates nothing per value.
//!
//! Beyond RFC 8259 it refuses what two readers could take differently: duplicate keys, escapes in
//! keys, numbers that are not integers of up to 2^53 - 1, deep nesting, white space.

use crate::event::MAX_INTEGER;

/// How deep arrays and objects may nest.
const MAX_DEPTH: usize = 32;
/// Up to so many keys, comparing all pairs is faster than sorting.
const FEW: usize = 16;

/// What is wrong with an event's JSON. Carries no text of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonFault {
    #[error("nested too deeply")]
    Depth,
    #[error("a key stands twice in one object")]
    DuplicateKey,
    #[error("a number is not an integer up to 2^53 - 1")]
    Number,
    #[error("not JSON without white space")]
    Syntax,
}

/// A value as it stands in the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw<'j>(&'j str);

impl<'j> Raw<'j> {
    /// The string, if it is one without escapes; ids and digests never have any.
    pub(crate) fn text(self) -> Option<&'j str> {
        let inner = self.0.strip_prefix('"')?.strip_suffix('"')?;
        (!inner.contains('\\')).then_some(inner)
    }

    /// The integer, if it is one.
    pub(crate) fn integer(self) -> Option<u64> {
        self.0.parse().ok()
    }

    /// The bytes.
    pub(crate) fn bytes(self) -> &'j [u8] {
        self.0.as_bytes()
    }
}

/// A reader that can be used again, so that its memory is.
#[derive(Default)]
pub(crate) struct Scanner {
    /// Where the keys of all open objects stand.
    keys: Vec<(usize, usize)>,
}

impl Scanner {
    /// Checks that `bytes` is one object and calls `field` with each of its own members.
    pub(crate) fn object<'j>(
        &mut self,
        bytes: &'j [u8],
        mut field: impl FnMut(&'j str, Raw<'j>),
    ) -> Result<(), JsonFault> {
        self.keys.clear();
        let text = std::str::from_utf8(bytes).map_err(|_| JsonFault::Syntax)?;
        let mut reader = Reader {
            text,
            bytes,
            at: 0,
            keys: &mut self.keys,
        };
        reader.object(0, &mut field)?;
        if reader.at == bytes.len() {
            Ok(())
        } else {
            Err(JsonFault::Syntax)
        }
    }
}

struct Reader<'j, 's> {
    text: &'j str,
    bytes: &'j [u8],
    at: usize,
    keys: &'s mut Vec<(usize, usize)>,
}

impl<'j> Reader<'j, '_> {
    fn value(&mut self, depth: usize) -> Result<(), JsonFault> {
        match self.peek() {
            Some(b'{') => self.object(depth, &mut |_, _| {}),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => Err(JsonFault::Syntax),
        }
    }

    fn object(
        &mut self,
        depth: usize,
        field: &mut dyn FnMut(&'j str, Raw<'j>),
    ) -> Result<(), JsonFault> {
        let first = self.keys.len();
        self.expect(b'{')?;
        if depth >= MAX_DEPTH {
            return Err(JsonFault::Depth);
        }
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let (start, end, escaped) = self.string()?;
            if escaped {
                return Err(JsonFault::Syntax);
            }
            self.keys.push((start, end));
            self.expect(b':')?;
            let begin = self.at;
            self.value(depth + 1)?;
            field(self.slice(start, end), Raw(self.slice(begin, self.at)));
            match self.next() {
                Some(b',') => {}
                Some(b'}') => break,
                _ => return Err(JsonFault::Syntax),
            }
        }
        self.check_keys(first)
    }

    fn array(&mut self, depth: usize) -> Result<(), JsonFault> {
        self.expect(b'[')?;
        if depth >= MAX_DEPTH {
            return Err(JsonFault::Depth);
        }
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            match self.next() {
                Some(b',') => {}
                Some(b']') => return Ok(()),
                _ => return Err(JsonFault::Syntax),
            }
        }
    }

    /// Reads a string; gives where its inside begins and ends, and whether it has escapes.
    fn string(&mut self) -> Result<(usize, usize, bool), JsonFault> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.next() {
                Some(b'"') => return Ok((start, self.at - 1, escaped)),
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(0..=0x1f) | None => return Err(JsonFault::Syntax),
                Some(_) => {}
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonFault> {
        match self.next() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(()),
            // Surrogates have no place: the writer escapes control characters only.
            Some(b'u') => match (self.hex()? << 8) | self.hex()? {
                0xd800..=0xdfff => Err(JsonFault::Syntax),
                _ => Ok(()),
            },
            _ => Err(JsonFault::Syntax),
        }
    }

    fn hex(&mut self) -> Result<u32, JsonFault> {
        let mut digit = || {
            let byte = self.next().ok_or(JsonFault::Syntax)?;
            char::from(byte).to_digit(16).ok_or(JsonFault::Syntax)
        };
        Ok((digit()? << 4) | digit()?)
    }

    fn number(&mut self) -> Result<(), JsonFault> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        let after = matches!(self.peek(), Some(b'.' | b'e' | b'E' | b'-' | b'+'));
        parse_integer(self.slice(start, self.at).as_bytes())
            .filter(|_| !after)
            .map(|_| ())
            .ok_or(JsonFault::Number)
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonFault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(JsonFault::Syntax);
        }
        self.at += word.len();
        Ok(())
    }

    /// Checks the keys of the object that ends here, and forgets them.
    fn check_keys(&mut self, first: usize) -> Result<(), JsonFault> {
        let (text, bytes) = (self.text, self.bytes);
        let key = |&(start, end): &(usize, usize)| bytes.get(start..end).unwrap_or(text.as_bytes());
        let keys = self.keys.get_mut(first..).unwrap_or_default();
        let twice = if keys.len() <= FEW {
            let same = |(index, one): (usize, &(usize, usize))| {
                keys.iter().take(index).any(|other| key(other) == key(one))
            };
            keys.iter().enumerate().any(same)
        } else {
            keys.sort_unstable_by(|a, b| key(a).cmp(key(b)));
            keys.array_windows().any(|[a, b]| key(a) == key(b))
        };
        self.keys.truncate(first);
        if twice {
            Err(JsonFault::DuplicateKey)
        } else {
            Ok(())
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonFault> {
        if self.next() == Some(byte) {
            Ok(())
        } else {
            Err(JsonFault::Syntax)
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Positions come from the scan itself and stand at ASCII bytes, so they are always in range.
    fn slice(&self, start: usize, end: usize) -> &'j str {
        self.text.get(start..end).unwrap_or_default()
    }
}

/// The value of decimal digits without a leading zero, up to 2^53 - 1.
pub(crate) fn parse_integer(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 || (digits.len() > 1 && digits.first() == Some(&b'0'))
    {
        return None;
    }
    let mut value = 0u64;
    for digit in digits {
        value = value * 10 + u64::from(digit.checked_sub(b'0').filter(|d| *d < 10)?);
    }
    (value <= MAX_INTEGER).then_some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scan(text: &str) -> Result<Vec<(String, String)>, JsonFault> {
        let mut fields = Vec::new();
        Scanner::default().object(text.as_bytes(), |key, raw| {
            fields.push((key.to_owned(), raw.0.to_owned()))
        })?;
        Ok(fields)
    }

    #[test]
    fn members_are_given_raw() {
        let fields = scan(r#"{"a":1,"b":{"a":[1,{"a":"x\n\u00e4"}]},"c":null,"d":"ü"}"#).unwrap();
        let want = [
            ("a", "1"),
            ("b", r#"{"a":[1,{"a":"x\n\u00e4"}]}"#),
            ("c", "null"),
            ("d", "\"ü\""),
        ];
        assert!(
            fields
                .iter()
                .map(|(k, v)| (k.as_str(), v.as_str()))
                .eq(want)
        );
        assert_eq!(Raw("\"s_1\"").text(), Some("s_1"));
        assert_eq!(Raw("\"a\\n\"").text(), None);
        assert_eq!(Raw("17").integer(), Some(17));
    }

    #[test]
    fn what_is_refused() {
        use JsonFault::{Depth, DuplicateKey, Number, Syntax};
        let many: String = (0..40).map(|n| format!("\"k{n}\":{n},")).collect();
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(40), "]".repeat(40));
        for (bad, fault) in [
            ("", Syntax),
            ("1", Syntax),
            ("{}x", Syntax),
            ("{\"a\":1,}", Syntax),
            ("{\"a\" :1}", Syntax),
            ("{\"a\":\"\u{1}\"}", Syntax),
            ("{\"a\":\"\\x\"}", Syntax),
            ("{\"a\":\"\\ud800\"}", Syntax),
            ("{\"\\u0061\":1}", Syntax),
            ("{\"a\":tru}", Syntax),
            ("{\"a\":[1}", Syntax),
            ("{\"a\":1.0}", Number),
            ("{\"a\":1e3}", Number),
            ("{\"a\":-1}", Number),
            ("{\"a\":01}", Number),
            ("{\"a\":9007199254740992}", Number),
            ("{\"a\":1,\"a\":2}", DuplicateKey),
            ("{\"x\":{\"a\":1,\"b\":{\"c\":1},\"a\":2}}", DuplicateKey),
            (&format!("{{{many}\"k7\":0}}"), DuplicateKey),
            (&deep, Depth),
        ] {
            assert_eq!(scan(bad), Err(fault), "{bad}");
        }
        assert!(scan(&format!("{{{many}\"z\":0}}")).is_ok());
        assert!(scan("{\"a\":9007199254740991,\"b\":0}").is_ok());
        assert!(
            Scanner::default()
                .object(b"{\"a\":\"\xff\"}", |_, _| {})
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn agrees_with_another_reader(text in "[{}\\[\\]\",:a0-9\\\\ntu.\u{e4}-]{0,24}") {
            let other: Result<serde_json::Value, _> = serde_json::from_str(&text);
            if scan(&text).is_ok() {
                prop_assert!(other.is_ok_and(|value| value.is_object()));
            }
        }

        #[test]
        fn accepts_what_is_written_without_floats(keys in prop::collection::btree_map("[a-z]{1,3}", 0..=MAX_INTEGER, 0..30)) {
            let text = serde_json::to_string(&keys).unwrap();
            prop_assert_eq!(scan(&text).unwrap().len(), keys.len());
        }
    }
}
