//! Names in scripts without capitals: Chinese, Japanese, Korean, Hebrew, Arabic, Thai, Devanagari.
//!
//! A list alone says little where words are not set apart, so a name needs a border, an
//! honorific or a field beside it.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::Found;
use super::lists::{Kind, kind};
use crate::label::Label;
use crate::seek::seek;

/// Bytes behind a character that a verdict on it may look at.
const AHEAD: usize = 48;
/// Bytes that an address in Chinese may take.
const HOUSE: usize = 160;

pub(super) type Set = HashSet<&'static str>;

pub(super) fn set(lists: &[&'static str]) -> Set {
    lists
        .iter()
        .flat_map(|list| list.lines())
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .collect()
}

static KOREAN_SURNAMES: LazyLock<Set> =
    LazyLock::new(|| set(&[include_str!("../../data/names/korean-surnames.txt")]));
static KOREAN_GIVEN: LazyLock<Set> =
    LazyLock::new(|| set(&[include_str!("../../data/names/korean-given.txt")]));

/// What a name's field is called, and words that a name follows.
const FIELDS: &[&str] = &[
    "姓名",
    "名字",
    "联系人",
    "聯絡人",
    "收件人",
    "收货人",
    "收貨人",
    "客户",
    "客戶",
    "患者",
    "用户",
    "经办人",
    "申请人",
    "持卡人",
    "户名",
    "戶名",
    "负责人",
    "法定代表人",
    "签名",
    "簽名",
    "作者",
    "我叫",
    "名叫",
    "叫做",
    "我是",
    "尊敬的",
    "氏名",
    "名前",
    "担当者",
    "担当",
    "お名前",
    "이름",
    "성명",
    "고객명",
    "담당자",
    "환자명",
    "예금주",
    "수신자",
    "고객",
    "שם",
    "שם מלא",
    "לקוח",
    "الاسم",
    "اسم",
    "العميل",
    "المريض",
    "نام",
    "नाम",
    "ชื่อ",
];
const KOREAN_TITLES: &[&str] = &[
    "씨",
    "님",
    " 씨",
    " 님",
    " 선생님",
    " 교수",
    " 대표",
    " 과장",
    " 부장",
    " 팀장",
    " 대리",
    " 고객님",
];
const KOREAN_PARTICLES: &[&str] = &[
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "의",
    "에게",
    "께",
    "과",
    "와",
    "도",
    "입니다",
    "이라고",
    "라고",
    "으로",
    "로",
    "씨",
    "님",
];
const SEMITIC_TITLES: &[&str] = &[
    "السيد",
    "السيدة",
    "الدكتور",
    "الدكتورة",
    "الأستاذ",
    "الأستاذة",
    "المهندس",
    "מר",
    "גב'",
    "גברת",
    "ד\"ר",
    "ד״ר",
    "פרופ'",
    "פרופסור",
    "עו\"ד",
    "آقای",
    "خانم",
    "श्री",
    "श्रीमती",
    "डॉ",
    "डॉ.",
];
const THAI_TITLES: &[&str] = &["นางสาว", "นาย", "นาง", "คุณ", "น.ส.", "ดร."];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Han,
    Hangul,
    Spaced,
    Thai,
    Other,
}

pub(super) fn script(c: char) -> Script {
    match c {
        '\u{3400}'..='\u{9FFF}' => Script::Han,
        '\u{AC00}'..='\u{D7A3}' => Script::Hangul,
        '\u{590}'..='\u{6FF}' | '\u{900}'..='\u{97F}' | '\u{10A0}'..='\u{10FF}' => Script::Spaced,
        '\u{E00}'..='\u{E7F}' => Script::Thai,
        _ => Script::Other,
    }
}

pub(super) fn find(text: &str, found: &mut Found) {
    let mut at = 0;
    let mut before = Script::Other;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        // What begins with a lesser byte than Hebrew does is of no such script. (U+0580 to U+058F
        // begin with the same byte: they are stepped over one by one.)
        if c < '\u{580}' {
            let rest = text.as_bytes().get(at..).unwrap_or_default();
            let Some(gap) = seek(rest, |b| b >= 0xD6) else {
                break;
            };
            (at, before) = (at + gap, Script::Other);
            continue;
        }
        let here = script(c);
        let begins = here != before || here == Script::Han;
        before = here;
        if here == Script::Other || !begins {
            at += c.len_utf8();
            continue;
        }
        let place = Place { text, at };
        let bordered = here == Script::Han && place.at_border(Script::Han);
        let ahead = if bordered { HOUSE } else { AHEAD };
        if at + ahead > text.len() {
            found.settled = found.settled.min(at);
        }
        if bordered && let Some((from, end)) = place.address() {
            found.push(Label::ADDRESS, from, end, 76);
            (at, before) = (end, Script::Other);
            continue;
        }
        let name = match here {
            Script::Han => place.han(),
            Script::Hangul => place.hangul(),
            Script::Spaced => place.spaced(),
            Script::Thai => place.thai(),
            Script::Other => None,
        };
        match name {
            Some((end, score)) => {
                found.person(at, end, score);
                at = end;
                before = Script::Other;
            }
            None => at += c.len_utf8(),
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Place<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Place<'t> {
    pub(super) fn rest(self) -> &'t str {
        let end = self.text.floor_char_boundary(self.at.saturating_add(AHEAD));
        self.text.get(self.at..end).unwrap_or_default()
    }

    /// So many characters from here on, if they are of one script.
    pub(super) fn take(self, count: usize, of: Script) -> Option<&'t str> {
        let rest = self.rest();
        let end = rest
            .char_indices()
            .nth(count)
            .map_or(rest.len(), |(at, _)| at);
        let part = rest.get(..end)?;
        (part.chars().count() == count && part.chars().all(|c| script(c) == of)).then_some(part)
    }

    pub(super) fn run(self, of: Script) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| script(c) != of).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    /// What stands before, with the marks of a field left out; and whether there were any.
    pub(super) fn before(self) -> (&'t str, bool) {
        let head = self.text.get(..self.at).unwrap_or_default();
        let marks = |c: char| {
            matches!(
                c,
                ':' | '：' | ' ' | '"' | '=' | '>' | '\t' | '|' | '「' | '“'
            )
        };
        let kept = head.trim_end_matches(marks);
        let gap = head.get(kept.len()..).unwrap_or_default();
        let near = gap.len() <= 8;
        (
            if near { kept } else { "" },
            near && gap.contains([':', '：', '=', '>', '"']),
        )
    }

    pub(super) fn in_field(self) -> bool {
        let (before, _) = self.before();
        FIELDS.iter().any(|field| before.ends_with(field))
    }

    /// Whether a word of this script may begin here.
    pub(super) fn at_border(self, of: Script) -> bool {
        let head = self.text.get(..self.at).unwrap_or_default();
        head.chars().next_back().is_none_or(|c| script(c) != of)
    }

    fn hangul(self) -> Option<(usize, u8)> {
        let word = self.run(Script::Hangul);
        let surname = self.take(1, Script::Hangul)?;
        let count = word.chars().count();
        if self.in_field() && self.before().1 && (2..=4).contains(&count) {
            return Some((self.at + word.len(), 78));
        }
        let name = self.take(3, Script::Hangul)?;
        let given = name.get(surname.len()..)?;
        if !KOREAN_SURNAMES.contains(surname) {
            return None;
        }
        let rest = self.text.get(self.at + name.len()..).unwrap_or_default();
        let behind = word.get(name.len()..)?;
        let particle =
            behind.is_empty() || KOREAN_PARTICLES.iter().any(|end| behind.starts_with(end));
        let titled = KOREAN_TITLES.iter().any(|title| rest.starts_with(title));
        ((KOREAN_GIVEN.contains(given) && particle) || titled).then_some((self.at + name.len(), 76))
    }

    /// Scripts that set words apart.
    fn spaced(self) -> Option<(usize, u8)> {
        let first = self.run(Script::Spaced);
        let first_kind = kind(first);
        let (mut end, mut known) = (self.at + first.len(), 0);
        for _ in 0..2 {
            let next = Place {
                at: end + 1,
                ..self
            };
            let word = next.run(Script::Spaced);
            let listed = kind(word);
            let gap = self
                .text
                .get(end..)
                .is_some_and(|rest| rest.starts_with(' '));
            if !gap || word.is_empty() || !(listed.is(Kind::SURNAME) || listed.is(Kind::GIVEN)) {
                break;
            }
            end = next.at + word.len();
            known += 1;
        }
        let (before, marked) = self.before();
        let titled = SEMITIC_TITLES.iter().any(|title| before.ends_with(title));
        if titled || (marked && self.in_field()) {
            let next = Place {
                at: end + 1,
                ..self
            };
            let gap = self
                .text
                .get(end..)
                .is_some_and(|rest| rest.starts_with(' '));
            let more = if known == 0 && gap {
                next.run(Script::Spaced)
            } else {
                ""
            };
            let end = if more.is_empty() {
                end
            } else {
                next.at + more.len()
            };
            return Some((end, 80));
        }
        (first_kind.is(Kind::GIVEN) && known > 0 && first.chars().count() > 1).then_some((end, 74))
    }

    fn thai(self) -> Option<(usize, u8)> {
        let run = self.run(Script::Thai);
        let title = THAI_TITLES.iter().find(|title| run.starts_with(**title))?;
        let name = run
            .get(title.len()..)
            .filter(|name| name.chars().count() >= 2)?;
        let mut end = self.at + title.len() + name.len();
        let next = Place {
            at: end + 1,
            ..self
        };
        if self
            .text
            .get(end..)
            .is_some_and(|rest| rest.starts_with(' '))
        {
            end = match next.run(Script::Thai) {
                "" => end,
                surname => next.at + surname.len(),
            };
        }
        Some((end, 74))
    }
}
