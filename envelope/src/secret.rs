//! Values that must not be printed, copied by accident, or left in memory.

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

/// A value that is wiped when dropped and cannot be printed or serialised.
///
/// There is no `Debug`, `Display`, `Clone` or `Serialize`, so a structure that holds one cannot
/// derive them either: what can't be printed can't be logged.
pub struct Secret<T: Zeroize>(Zeroizing<T>);

impl<T: Zeroize> Secret<T> {
    /// Takes a value into custody. The caller's own copies, if any, are the caller's to wipe.
    pub fn new(value: T) -> Self {
        Self(Zeroizing::new(value))
    }

    /// The value itself. Every call of this is a place where a secret may leak: keep them few.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Zeroize + AsRef<[u8]>> Secret<T> {
    /// Compares with `other` in a time that depends on the lengths only.
    pub fn matches(&self, other: &[u8]) -> bool {
        equal(self.0.as_ref(), other)
    }
}

/// Compares two byte strings in a time that depends on their lengths only.
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_the_whole_value() {
        let secret = Secret::new(*b"0123456789abcdef");
        assert!(secret.matches(b"0123456789abcdef"));
        assert!(!secret.matches(b"0123456789abcdeF"));
        assert!(!secret.matches(b"0123456789abcde"));
        assert!(!secret.matches(b""));
    }

    #[test]
    fn text_can_be_kept() {
        let secret = Secret::new(String::from("a provider's key"));
        assert_eq!(secret.expose(), "a provider's key");
    }
}
