//! Capitals that begin words.

use crate::seek::Places;

/// Where words with capitals may begin.
pub(super) fn capitals(text: &str) -> Places<'_, impl Fn(u8) -> bool> {
    // A capital, or the first byte of one beyond ASCII.
    Places::of(text.as_bytes(), |byte| {
        (byte.wrapping_sub(b'A') < 26) | (byte.wrapping_sub(0xC3) <= 0xD5 - 0xC3)
    })
}

/// Where the next word with a capital begins.
pub(super) fn next_capital(
    text: &str,
    from: usize,
    capitals: &mut Places<'_, impl Fn(u8) -> bool>,
) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at = capitals.from(at)?;
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let joined = before.is_some_and(|before| match before {
            0x80.. => in_word(text, at),
            before => before.is_ascii_alphanumeric() || *before == b'_',
        });
        if !joined && text.get(at..)?.starts_with(char::is_uppercase) {
            return Some(at);
        }
        at += 1;
    }
}

fn in_word(text: &str, at: usize) -> bool {
    text.get(..at)
        .and_then(|head| head.chars().next_back())
        .is_some_and(char::is_alphanumeric)
}
