//! Reading DER (X.690 §10): definite lengths in their shortest form, one-byte tags.
//!
//! Written here since a time stamp is a few nested sequences of which the exact bytes matter, and
//! since no released crate for them (`cms`, `x509-tsp`) stands on the version of `der` that is linked.

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTETS: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
/// `[n]`, constructed.
pub(super) const fn context(n: u8) -> u8 {
    0xa0 | n
}

/// What is left to be read of a value's content.
#[derive(Clone, Copy)]
pub(super) struct Reader<'d>(&'d [u8]);

/// One element.
#[derive(Clone, Copy)]
pub(super) struct Element<'d> {
    pub(super) tag: u8,
    pub(super) content: &'d [u8],
    /// With its tag and length.
    pub(super) whole: &'d [u8],
}

impl<'d> Reader<'d> {
    pub(super) fn new(bytes: &'d [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next element; none where there is none, or something else.
    pub(super) fn next(&mut self) -> Option<Element<'d>> {
        let (&tag, rest) = self.0.split_first()?;
        // Longer tags are of nothing that is read here.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (length, rest) = length(rest)?;
        let (content, after) = rest.split_at_checked(length)?;
        let whole = self.0.get(..self.0.len() - after.len())?;
        self.0 = after;
        Some(Element {
            tag,
            content,
            whole,
        })
    }

    /// The next element's content, which has this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<&'d [u8]> {
        let element = self.next()?;
        (element.tag == tag).then_some(element.content)
    }

    /// The next element, if it has this tag; nothing is read if not.
    pub(super) fn optional(&mut self, tag: u8) -> Option<Element<'d>> {
        let mut ahead = *self;
        let element = ahead.next().filter(|element| element.tag == tag)?;
        *self = ahead;
        Some(element)
    }

    /// A reader of the content of the next element, which has this tag.
    pub(super) fn enter(&mut self, tag: u8) -> Option<Self> {
        self.expect(tag).map(Self)
    }

    /// The content of the one element that there is, which has this tag.
    pub(super) fn only(mut self, tag: u8) -> Option<&'d [u8]> {
        self.expect(tag).filter(|_| self.is_empty())
    }
}

/// A length, and what is behind it.
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        return Some((usize::from(first), rest));
    }
    // Three bytes of length are more than anything read here has.
    let count = usize::from(first & 0x7f);
    if count == 0 || count > 3 {
        return None;
    }
    let (digits, rest) = rest.split_at_checked(count)?;
    let length = digits
        .iter()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let shortest = length >= 0x80 && digits.first() != Some(&0);
    shortest.then_some((length, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_one_after_the_other() {
        let bytes = [0x30, 0x03, 0x02, 0x01, 0x05, 0x04, 0x00];
        let mut reader = Reader::new(&bytes);
        assert_eq!(
            reader.enter(SEQUENCE).unwrap().only(INTEGER),
            Some(&[5][..])
        );
        assert!(reader.optional(BOOLEAN).is_none());
        assert_eq!(reader.optional(OCTETS).unwrap().whole, [0x04, 0x00]);
        assert!(reader.is_empty() && reader.next().is_none());
        let long = [&[0x04, 0x81, 0x80][..], &[7; 128]].concat();
        assert_eq!(Reader::new(&long).only(OCTETS), Some(&[7; 128][..]));
    }

    #[test]
    fn other_encodings_are_none() {
        for bad in [
            &[0x04][..],
            &[0x04, 0x01],
            &[0x04, 0x80, 0x00, 0x00],
            &[0x04, 0x81, 0x01, 0x00],
            &[0x04, 0x82, 0x00, 0x80],
            &[0x04, 0x84, 0x00, 0x00, 0x00, 0x01, 0x00],
            &[0x1f, 0x01, 0x00],
        ] {
            assert!(Reader::new(bad).next().is_none(), "{bad:?}");
        }
    }
}
