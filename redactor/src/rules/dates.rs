//! Dates: how long one is behind a cue, and whether a number is part of one.

/// The first letters of months, in the languages whose dates are written with words.
const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    // German, Dutch, Nordic, Romance
    "jän", "mär", "mai", "okt", "dez", "mrt", "maa", "mei", "maj", "des", "fév", "avr", "jui",
    "aoû", "déc", "gen", "mag", "giu", "lug", "ago", "set", "ott", "dic", "ene", "abr", "fev",
    "out", "dez", "ian", "iun", "iul", "noi", // Slavic, Hungarian, Finnish, Turkish
    "sty", "lut", "kwi", "cze", "lip", "sie", "wrz", "paź", "lis", "gru", "led", "úno", "bře",
    "dub", "kvě", "čer", "srp", "zář", "říj", "pro", "sij", "vel", "ožu", "tra", "svi", "kol",
    "ruj", "stu", "febr", "márc", "ápr", "máj", "jún", "júl", "tam", "hel", "huh", "tou", "kes",
    "hei", "elo", "syy", "lok", "mar", "jou", "oca", "şub", "nis", "haz", "tem", "ağu", "eyl",
    "eki", "kas", "ara", "янв", "фев", "мар", "апр", "мая", "май", "июн", "июл", "авг", "сен",
    "окт", "ноя", "дек", "січ", "лют", "бер", "кві", "тра", "чер", "лип", "сер", "вер", "жов",
    "лис", "гру", "ιαν", "φεβ", "μαρ", "απρ", "μαΐ", "μαϊ", "ιου", "αυγ", "σεπ", "οκτ", "νοε",
    "δεκ",
];
const LONGEST_MONTH: usize = 24;

/// The length of the date that the text begins with: in figures (`1990-01-02`, `2.1.1990`,
/// `01/02/90`) or with the month's name.
pub(super) fn length(text: &str) -> Option<usize> {
    in_figures(text)
        .or_else(|| in_words(text))
        .or_else(|| east_asian(text))
}

/// Whether the date that the text is may be that of a birth, rather than of a record: its year
/// is written out and lies some time back.
pub(super) fn may_be_birth(date: &str) -> bool {
    date.split(|c: char| !c.is_ascii_digit())
        .filter(|part| part.len() == 4)
        .filter_map(|part| part.parse::<u32>().ok())
        .any(|year| (1915..=2012).contains(&year))
}

fn in_figures(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut groups: Vec<&str> = Vec::with_capacity(3);
    let (mut at, mut mark) = (0, None);
    while groups.len() < 3 {
        let length = bytes
            .iter()
            .skip(at)
            .take_while(|b| b.is_ascii_digit())
            .count();
        groups.push(text.get(at..at + length)?);
        at += length;
        if groups.len() == 3 || length == 0 {
            break;
        }
        let next = bytes.get(at).copied().filter(|b| b"-/. ".contains(b))?;
        if *mark.get_or_insert(next) != next {
            return None;
        }
        at += 1;
        // `2. 1. 1990`
        at += usize::from(next == b'.' && bytes.get(at) == Some(&b' '));
    }
    let sizes: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let sized = matches!(sizes.as_slice(), [4, 1..=2, 1..=2] | [1..=2, 1..=2, 4 | 2]);
    let value = |at: usize| {
        groups
            .get(at)
            .and_then(|g| g.parse::<u32>().ok())
            .unwrap_or(99)
    };
    let pair = match sizes.first() {
        Some(4) => (value(1), value(2)),
        _ => (value(0), value(1)),
    };
    let real = (1..=31).contains(&pair.0) && (1..=31).contains(&pair.1) && pair.0.min(pair.1) <= 12;
    let ends = bytes.get(at).is_none_or(|b| !b.is_ascii_digit());
    (sized && real && ends).then_some(at)
}

fn in_words(text: &str) -> Option<usize> {
    let mut at = 0;
    let (mut day, mut month, mut year) = (false, false, false);
    while let Some(c) = text.get(at..)?.chars().next() {
        let rest = text.get(at..)?;
        let part = |inside: fn(char) -> bool| {
            rest.find(|c: char| !inside(c))
                .unwrap_or(rest.len())
                .min(LONGEST_MONTH)
        };
        let length = if c.is_ascii_digit() {
            let length = part(|c| c.is_ascii_digit());
            match length {
                1 | 2 if !day => day = true,
                4 if !year => year = true,
                _ => return None,
            }
            let suffix = rest
                .get(length..length + 2)
                .is_some_and(|s| ["st", "nd", "rd", "th"].contains(&s));
            length + if suffix { 2 } else { 0 }
        } else if c.is_alphabetic() {
            let word = rest.get(..part(char::is_alphabetic))?;
            let lower = word.to_lowercase();
            match lower.as_str() {
                "of" | "de" | "del" | "г" => {}
                _ if !month && MONTHS.iter().any(|name| lower.starts_with(name)) => month = true,
                _ => return None,
            }
            word.len()
        } else {
            return None;
        };
        at += length;
        if day && month && year {
            return Some(at);
        }
        let rest = text.get(at..)?;
        at += rest.len() - rest.trim_start_matches([' ', '.', ',', '-', '/']).len();
    }
    None
}

/// `1990年1月2日`
fn east_asian(text: &str) -> Option<usize> {
    let (year, rest) = text.split_once(['年', '년'])?;
    let digits =
        |part: &str| part.trim().bytes().all(|b| b.is_ascii_digit()) && !part.trim().is_empty();
    let (month, rest) = rest.split_once(['月', '월'])?;
    let day = rest.find(['日', '일'])?;
    let sure = digits(year) && year.len() <= 4 && digits(month) && digits(rest.get(..day)?);
    sure.then(|| text.len() - rest.len() + day + '日'.len_utf8())
}

/// `19900102`
pub(super) fn is_compact(text: &str) -> bool {
    let number = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse().ok());
    text.len() == 8
        && text.bytes().all(|b| b.is_ascii_digit())
        && number(0, 4).is_some_and(|year: u32| (1900..2030).contains(&year))
        && number(4, 6).is_some_and(|month: u32| (1..=12).contains(&month))
        && number(6, 8).is_some_and(|day: u32| (1..=31).contains(&day))
}

/// Day, month and year in some order, or a date and a time.
pub(super) fn is_date(groups: &[&str]) -> bool {
    let number = |at: usize| {
        groups
            .get(at)
            .and_then(|g| g.parse::<u32>().ok())
            .unwrap_or(99)
    };
    let length = |at: usize| groups.get(at).map_or(0, |g| g.len());
    let year = |at: usize| length(at) == 4 && (1900..2100).contains(&number(at));
    let pair = |a: usize, b: usize| {
        length(a) <= 2
            && length(b) <= 2
            && (1..=31).contains(&number(a))
            && (1..=31).contains(&number(b))
    };
    (year(0) && pair(1, 2)) || (pair(0, 1) && year(2)) || (groups.len() == 2 && year(0) && year(1))
}

/// Whether a date of ISO 8601 stands in it, and what comes before is another number: a release
/// `1.6.1 (2022-12-09)`, or a log's next line.
pub(super) fn holds_date(text: &str) -> bool {
    text.as_bytes().windows(10).any(|window| {
        let [y0, y1, y2, y3, a, m0, m1, b, d0, d1] = window else {
            return false;
        };
        let digits = [y0, y1, y2, y3, m0, m1, d0, d1];
        digits.iter().all(|b| b.is_ascii_digit())
            && a == b
            && matches!(a, b'-' | b'/' | b'.')
            && matches!((y0, y1), (b'1', b'9') | (b'2', b'0'))
            && matches!((m0, m1), (b'0', b'1'..=b'9') | (b'1', b'0'..=b'2'))
            && matches!(d0, b'0'..=b'3')
    })
}
