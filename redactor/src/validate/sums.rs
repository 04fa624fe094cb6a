//! Check sums over ASCII digits and letters.

/// The digits among the bytes, as numbers.
pub(crate) fn digits(text: &str) -> Vec<u8> {
    text.bytes()
        .filter(u8::is_ascii_digit)
        .map(|b| b - b'0')
        .collect()
}

/// So many ASCII digits as numbers; nothing if there are more, fewer or others.
pub(crate) fn numbers<const N: usize>(id: &[u8]) -> Option<[u32; N]> {
    let digits: Option<Vec<u32>> = id
        .iter()
        .map(|b| b.is_ascii_digit().then(|| u32::from(b - b'0')))
        .collect();
    digits?.try_into().ok()
}

/// The sum of products with the weights, place by place.
pub(crate) fn weighted(digits: &[u32], weights: &[u32]) -> u32 {
    digits
        .iter()
        .zip(weights)
        .map(|(digit, weight)| digit * weight)
        .sum()
}

/// The digits as one decimal number.
pub(crate) fn decimal(digits: &[u32]) -> u64 {
    digits
        .iter()
        .fold(0, |number, digit| number * 10 + u64::from(*digit))
}

/// ISO 7064 mod 11,10 over digits, the check digit last.
pub(crate) fn mod_11_10(digits: &[u32]) -> bool {
    let Some((check, body)) = digits.split_last() else {
        return false;
    };
    let product = body.iter().fold(10, |product, digit| {
        let sum = (product + digit) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (11 - product) % 10 == *check
}

/// Verhoeff's check over the dihedral group of ten elements, the check digit last.
pub(crate) fn verhoeff(digits: &[u32]) -> bool {
    /// In the group: d(a, b) for the rotations 0 to 4 and the reflections 5 to 9.
    fn product(a: u32, b: u32) -> u32 {
        match (a < 5, b < 5) {
            (true, true) => (a + b) % 5,
            (true, false) => 5 + (a + b - 5) % 5,
            (false, true) => 5 + (a - b) % 5,
            (false, false) => (5 + a - b) % 5,
        }
    }
    const STEP: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let permuted = |digit: u32, times: usize| {
        (0..times % 8).fold(digit, |digit, _| {
            usize::try_from(digit)
                .ok()
                .and_then(|at| STEP.get(at))
                .copied()
                .unwrap_or(digit)
        })
    };
    digits
        .iter()
        .rev()
        .enumerate()
        .fold(0, |sum, (place, digit)| {
            product(sum, permuted(*digit, place))
        })
        == 0
}

/// Whether day and month can be a date; the year is not looked at.
pub(crate) fn day_and_month(day: u32, month: u32) -> bool {
    (1..=31).contains(&day) && (1..=12).contains(&month)
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
    fn group_checks_know_published_examples() {
        assert!(verhoeff(&[2, 3, 6, 3]) && !verhoeff(&[2, 3, 6, 4]));
        assert!(verhoeff(&numbers::<6>(b"123451").unwrap()));
        assert!(mod_11_10(&numbers::<11>(b"94577403194").unwrap()));
        assert!(!mod_11_10(&numbers::<11>(b"94577403195").unwrap()));
    }

    #[test]
    fn mod_97_knows_published_examples() {
        assert!(iban(b"GB82WEST12345698765432"));
        assert!(!iban(b"GB83WEST12345698765432"));
        assert!(!iban(b"GB8"));
    }
}
