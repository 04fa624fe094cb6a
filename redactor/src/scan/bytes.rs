//! Sets of bytes, and how common bytes are.

use regex_syntax::hir::{Class, Hir, HirKind};

/// A set of bytes.
#[derive(Clone, PartialEq)]
pub(super) struct Bytes(Box<[bool; 256]>);

impl Default for Bytes {
    fn default() -> Self {
        Self(Box::new([false; 256]))
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let held = (0..=u8::MAX).filter(|byte| self.holds(*byte));
        f.debug_set().entries(held.map(char::from)).finish()
    }
}

impl From<u8> for Bytes {
    fn from(byte: u8) -> Self {
        let mut set = Self::default();
        set.add(byte);
        set
    }
}

impl Bytes {
    pub(super) fn holds(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)).copied().unwrap_or(true)
    }

    /// Whether it has nothing but ASCII letters and digits.
    pub(super) fn is_word(&self) -> bool {
        let mut held = (0..=u8::MAX).filter(|byte| self.holds(*byte));
        held.all(|byte| byte.is_ascii_alphanumeric())
    }

    pub(super) fn add(&mut self, byte: u8) {
        if let Some(slot) = self.0.get_mut(usize::from(byte)) {
            *slot = true;
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        let both = self.0.iter_mut().zip(other.0.iter());
        both.for_each(|(slot, more)| *slot |= more);
    }

    /// About how many bytes of texts belong to it.
    pub(super) fn share(&self) -> f32 {
        let held = (0..=u8::MAX).filter(|byte| self.holds(*byte));
        // Words end.
        let most = if self.holds(b' ') { 1.0 } else { 0.8 };
        held.map(share).sum::<f32>().min(most)
    }

    /// Every byte that a match may hold.
    pub(super) fn of(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => literal.0.iter().for_each(|byte| self.add(*byte)),
            HirKind::Class(Class::Bytes(class)) => class
                .iter()
                .flat_map(|range| range.start()..=range.end())
                .for_each(|byte| self.add(byte)),
            HirKind::Class(Class::Unicode(class)) => {
                for range in class.iter() {
                    let (start, end) = (u32::from(range.start()), u32::from(range.end()));
                    let ascii = (start..=end.min(127)).filter_map(|c| u8::try_from(c).ok());
                    ascii.for_each(|byte| self.add(byte));
                    if end > 127 {
                        (128..=255).for_each(|byte| self.add(byte));
                    }
                }
            }
            HirKind::Repetition(repetition) => self.of(&repetition.sub),
            HirKind::Capture(capture) => self.of(&capture.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => {
                parts.iter().for_each(|part| self.of(part));
            }
        }
    }
}

/// About how often a literal stands at a place of a text.
pub(super) fn frequency(literal: &[u8]) -> f32 {
    literal.iter().map(|byte| share(*byte)).product()
}

/// About how often a byte stands at a place of a text.
pub(super) fn share(byte: u8) -> f32 {
    match byte {
        b' ' => 0.15,
        b'~' => 0.0003,
        b'a' | b'e' | b'i' | b'o' | b't' | b'n' | b's' | b'r' => 0.07,
        b'a'..=b'z' => 0.025,
        b'A'..=b'Z' => 0.004,
        b'0'..=b'9' => 0.02,
        b'\n' => 0.02,
        b'.' | b',' | b'-' | b'_' | b'/' | b':' | b'"' | b'=' | b'(' | b')' => 0.012,
        _ => 0.003,
    }
}
