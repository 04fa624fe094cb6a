//! One character in its plain form.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// What becomes of a character.
pub(crate) enum Folded {
    /// It stays.
    Same,
    /// It is a format character and is read over.
    Dropped,
    /// It reads like this.
    To(String),
}

/// The plain form of a character beyond ASCII (or out of an escape).
pub(crate) fn fold(c: char) -> Folded {
    if c.is_ascii() || is_common(c) {
        return Folded::Same;
    }
    if is_format(c) {
        return Folded::Dropped;
    }
    if let Some(digit) = digit(c) {
        return Folded::To(digit.to_string());
    }
    match c {
        '\u{058A}'
        | '\u{05BE}'
        | '\u{1400}'
        | '\u{2010}'..='\u{2015}'
        | '\u{2043}'
        | '\u{2212}'
        | '\u{2E3A}'
        | '\u{2E3B}'
        | '\u{301C}'
        | '\u{3030}'
        | '\u{FE31}'
        | '\u{FE32}'
        | '\u{FE58}'
        | '\u{FE63}'
        | '\u{FF0D}' => return Folded::To("-".into()),
        '\u{3002}' | '\u{FF61}' => return Folded::To(".".into()),
        '\u{2026}' => return Folded::To("...".into()),
        '\u{1680}' | '\u{2028}' | '\u{2029}' => return Folded::To(" ".into()),
        _ => {}
    }
    let plain: String = std::iter::once(c).nfkc().collect();
    if plain.chars().eq(std::iter::once(c)) {
        Folded::Same
    } else {
        Folded::To(plain)
    }
}

/// Letters that normalise to themselves and make up most texts.
fn is_common(c: char) -> bool {
    matches!(c,
        '\u{C0}'..='\u{131}' | '\u{134}'..='\u{13E}' | '\u{141}'..='\u{148}'
        | '\u{14A}'..='\u{17E}' | '\u{391}'..='\u{3C9}' | '\u{400}'..='\u{481}'
        | '\u{2018}'..='\u{201F}' | '\u{1F300}'..='\u{1F6FF}'
        | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7A3}')
}

/// Characters that show nothing: general category Cf, and the variation selectors and joiners
/// that are used like it.
pub(crate) fn is_format(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{600}'..='\u{605}' | '\u{61C}' | '\u{6DD}' | '\u{70F}'
        | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF9}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
}

/// The value of a decimal digit of any script. Scripts encode their ten digits in a row.
fn digit(c: char) -> Option<u32> {
    const ZEROS: &[u32] = &[
        0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6,
        0xE50, 0xED0, 0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
        0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0,
        0xFF10, 0x104A0, 0x10D30, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0,
        0x11650, 0x116C0, 0x11730, 0x118E0, 0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0,
        0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E4F0, 0x1E950,
        0x1FBF0,
    ];
    let after = ZEROS.partition_point(|zero| *zero <= u32::from(c));
    let zero = after.checked_sub(1).and_then(|at| ZEROS.get(at))?;
    let value = u32::from(c) - zero;
    (value < 10).then_some(value)
}

/// A letter without case and marks, for dictionaries: `É` and `e\u{301}` both read `e`.
pub(crate) fn plain_letters(c: char) -> impl Iterator<Item = char> {
    let stroke = match c {
        'ł' | 'Ł' => 'l',
        'ø' | 'Ø' => 'o',
        'đ' | 'Đ' => 'd',
        other => other,
    };
    std::iter::once(stroke)
        .nfkd()
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_all_scripts_have_their_value() {
        for (c, value) in [('٤', 4), ('９', 9), ('०', 0), ('𝟗', 9)] {
            assert_eq!(digit(c), Some(value));
        }
        assert_eq!(digit('a'), None);
        assert_eq!(digit('ක'), None);
    }

    #[test]
    fn common_letters_are_their_own_normal_form() {
        for c in (0xC0..0x1FFFF)
            .filter_map(char::from_u32)
            .filter(|c| is_common(*c))
        {
            assert!(std::iter::once(c).nfkc().eq(std::iter::once(c)), "{c:?}");
        }
    }

    #[test]
    fn marks_and_case_do_not_count_in_dictionaries() {
        let plain = |text: &str| text.chars().flat_map(plain_letters).collect::<String>();
        assert_eq!(plain("Zoë ŁÓDŹ"), "zoe lodz");
        assert_eq!(plain("Zoe\u{308}"), "zoe");
    }
}
