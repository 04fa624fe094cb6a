//! Check sums over ASCII digits and letters.

/// The digits among the bytes, as numbers.
pub(crate) fn digits(text: &str) -> Vec<u8> {
    text.bytes()
        .filter(u8::is_ascii_digit)
        .map(|b| b - b'0')
        .collect()
}

/// ISO/IEC 7812-1 annex B.
pub(crate) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// ISO 7064 mod 97-10 over an IBAN without separators: country and check digits moved behind.
pub(crate) fn iban(compact: &[u8]) -> bool {
    let (Some(head), Some(rest)) = (compact.get(..4), compact.get(4..)) else {
        return false;
    };
    let mut remainder = 0u32;
    for byte in rest.iter().chain(head) {
        remainder = match byte {
            b'0'..=b'9' => remainder * 10 + u32::from(byte - b'0'),
            b'A'..=b'Z' => remainder * 100 + u32::from(byte - b'A') + 10,
            _ => return false,
        } % 97;
    }
    remainder == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luhn_knows_published_test_numbers() {
        assert!(luhn(&digits("4111 1111 1111 1111")));
        assert!(luhn(&digits("3782-822463-10005")));
        assert!(!luhn(&digits("4111 1111 1111 1112")));
    }

    #[test]
    fn mod_97_knows_published_examples() {
        assert!(iban(b"GB82WEST12345698765432"));
        assert!(!iban(b"GB83WEST12345698765432"));
        assert!(!iban(b"GB8"));
    }
}
