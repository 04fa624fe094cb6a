//! Postal codes of the United Kingdom (BS 7666), which name a few houses: `SW2 1AA`.

/// The areas, as Royal Mail names them.
const AREAS: &[&str] = &[
    "AB", "AL", "B", "BA", "BB", "BD", "BH", "BL", "BN", "BR", "BS", "BT", "CA", "CB", "CF", "CH",
    "CM", "CO", "CR", "CT", "CV", "CW", "DA", "DD", "DE", "DG", "DH", "DL", "DN", "DT", "DY", "E",
    "EC", "EH", "EN", "EX", "FK", "FY", "G", "GL", "GU", "GY", "HA", "HD", "HG", "HP", "HR", "HS",
    "HU", "HX", "IG", "IM", "IP", "IV", "JE", "KA", "KT", "KW", "KY", "L", "LA", "LD", "LE", "LL",
    "LN", "LS", "LU", "M", "ME", "MK", "ML", "N", "NE", "NG", "NN", "NP", "NR", "NW", "OL", "OX",
    "PA", "PE", "PH", "PL", "PO", "PR", "RG", "RH", "RM", "S", "SA", "SE", "SG", "SK", "SL", "SM",
    "SN", "SO", "SP", "SR", "SS", "ST", "SW", "SY", "TA", "TD", "TF", "TN", "TQ", "TR", "TS", "TW",
    "UB", "W", "WA", "WC", "WD", "WF", "WN", "WR", "WS", "WV", "YO", "ZE",
];

/// Whether a text is such a code, of an area that there is.
pub(super) fn is_british(code: &str) -> bool {
    let letters = code.bytes().take_while(u8::is_ascii_uppercase).count();
    let area = code.get(..letters).unwrap_or_default();
    let (district, inward) = code
        .get(letters..)
        .and_then(|rest| rest.split_once(' '))
        .unwrap_or_default();
    let last = |b: &u8| b.is_ascii_uppercase() && !b"CIKMOV".contains(b);
    let inside = |b: u8| b.is_ascii_digit() || b.is_ascii_uppercase();
    AREAS.contains(&area)
        && (1..=2).contains(&district.len())
        && district.starts_with(|c: char| c.is_ascii_digit())
        && district.bytes().all(inside)
        && matches!(inward.as_bytes(), [d, a, b] if d.is_ascii_digit() && last(a) && last(b))
}
