//! Names in scripts without capitals: Chinese, Japanese, Korean, Hebrew, Arabic, Thai, Devanagari.
//!
//! A list alone says little where words are not set apart, so a name needs a border, an
//! honorific or a field beside it.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::Found;
use super::lists::{Kind, kind};

/// Bytes behind a character that a verdict on it may look at.
const AHEAD: usize = 48;

type Set = HashSet<&'static str>;

fn set(lists: &[&'static str]) -> Set {
    lists
        .iter()
        .flat_map(|list| list.lines())
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .collect()
}

static HAN_SURNAMES: LazyLock<Set> =
    LazyLock::new(|| set(&[include_str!("../../data/names/han-surnames.txt")]));
static HAN_GIVEN: LazyLock<Set> =
    LazyLock::new(|| set(&[include_str!("../../data/names/han-given.txt")]));
static JAPANESE: LazyLock<Set> = LazyLock::new(|| {
    set(&[
        include_str!("../../data/names/japanese-surnames.txt"),
        "佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田 佐々木 山口 松本 井上 木村 林 斎藤 清水 山崎 森 池田 橋本 阿部 石川 山下 中島 石井 小川 前田 岡田 長谷川 藤田 後藤 近藤 村上 遠藤 青木 坂本 福田 太田 西村 藤井 金子 岡本 藤原 三浦 中野 原田 松田 竹内 上田 中山 和田 森田 石田 上野 原 内田 柴田 酒井 宮崎 横山 高木 安藤 宮本 大野 小島 工藤 谷口 今井 高田 増田 丸山 杉山 村田 大塚 新井 小山 平野 藤本 河野 上原 武田 野口 松井 千葉 菅原 岩崎 久保 木下 佐野 野村 松尾 菊地 市川 杉本 古川 島田 水野 桜井 高野 渡部 吉川 山内 西田 飯田 菊池 西川 小松 北村 安田 五十嵐 川口 平田 関 中田 服部 東 岩田 川崎 土屋 福島 本田 辻 樋口 秋山 田村 永井 中川 須藤 大西",
    ])
});
static JAPANESE_GIVEN: LazyLock<Set> =
    LazyLock::new(|| set(&[include_str!("../../data/names/japanese-given.txt")]));
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
const HAN_TITLES: &[&str] = &[
    "先生",
    "女士",
    "小姐",
    "老师",
    "老師",
    "经理",
    "經理",
    "同学",
    "同學",
    "医生",
    "醫生",
    "医师",
    "教授",
    "主任",
    "律师",
    "律師",
    "总经理",
    "太太",
];
const JAPANESE_TITLES: &[&str] = &["様", "さん", "さま", "氏", "殿", "先生", "くん", "ちゃん"];
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
/// Characters of sentences that stand in no transliterated name.
const NO_NAME: &str = "的了在是和与與對对向被由將将為为及於于以從从稱称說说就也都而但並并或其之因此所這这那有到把讓让給给當当後后前時时曾经經已還还又再至自使年月日第";
/// What may follow a name inside a sentence.
const FOLLOWS: &str =
    "说說表在是于於与與和的将將就被向为為对對先出任等，。、；：！？（）即则則也曾已又";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Han,
    Hangul,
    Spaced,
    Thai,
    Other,
}

fn script(c: char) -> Script {
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
        let here = script(c);
        let begins = here != before || here == Script::Han;
        before = here;
        if here == Script::Other || !begins {
            at += c.len_utf8();
            continue;
        }
        if at + AHEAD > text.len() {
            found.settled = found.settled.min(at);
        }
        let place = Place { text, at };
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
struct Place<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Place<'t> {
    fn rest(self) -> &'t str {
        let end = self.text.floor_char_boundary(self.at.saturating_add(AHEAD));
        self.text.get(self.at..end).unwrap_or_default()
    }

    /// So many characters from here on, if they are of one script.
    fn take(self, count: usize, of: Script) -> Option<&'t str> {
        let rest = self.rest();
        let end = rest
            .char_indices()
            .nth(count)
            .map_or(rest.len(), |(at, _)| at);
        let part = rest.get(..end)?;
        (part.chars().count() == count && part.chars().all(|c| script(c) == of)).then_some(part)
    }

    fn run(self, of: Script) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| script(c) != of).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    /// What stands before, with the marks of a field left out; and whether there were any.
    fn before(self) -> (&'t str, bool) {
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

    fn in_field(self) -> bool {
        let (before, _) = self.before();
        FIELDS.iter().any(|field| before.ends_with(field))
    }

    /// Whether a word of this script may begin here.
    fn at_border(self, of: Script) -> bool {
        let head = self.text.get(..self.at).unwrap_or_default();
        head.chars().next_back().is_none_or(|c| script(c) != of)
    }

    fn han(self) -> Option<(usize, u8)> {
        self.transliterated()
            .or_else(|| self.chinese())
            .or_else(|| self.japanese())
    }

    /// `玛丽·乔·怀特`: the dot is written between the parts of foreign names only.
    fn transliterated(self) -> Option<(usize, u8)> {
        let rest = self.rest();
        let inside = |c: char| script(c) == Script::Han && !NO_NAME.contains(c);
        let dot = |c: char| matches!(c, '·' | '・' | '‧' | '•');
        let end = rest.find(|c| !inside(c) && !dot(c)).unwrap_or(rest.len());
        let name = rest.get(..end)?.trim_end_matches(dot);
        let parts: Vec<usize> = name.split(dot).map(|part| part.chars().count()).collect();
        let sized = parts.len() > 1 && parts.iter().all(|count| (1..=6).contains(count));
        // A part that goes on to the left would be cut in two.
        let head = self.text.get(..self.at).unwrap_or_default();
        let whole = head
            .chars()
            .next_back()
            .is_none_or(|c| !inside(c) && !dot(c));
        let last = name.rsplit(dot).next()?;
        let cut = if last.chars().count() > 4 {
            last.char_indices()
                .nth(4)
                .map_or(0, |(at, _)| last.len() - at)
        } else {
            0
        };
        (sized && whole).then_some((self.at + name.len() - cut, 76))
    }

    fn chinese(self) -> Option<(usize, u8)> {
        let surname = [2, 1].into_iter().find_map(|count| {
            self.take(count, Script::Han)
                .filter(|part| HAN_SURNAMES.contains(part))
        })?;
        let behind = Place {
            at: self.at + surname.len(),
            ..self
        };
        let (field, border) = (self.in_field(), self.at_border(Script::Han));
        for count in [2, 1, 0] {
            let Some(given) = behind.take(count, Script::Han) else {
                continue;
            };
            let end = behind.at + given.len();
            let rest = self.text.get(end..).unwrap_or_default();
            let next = rest.chars().next();
            let titled = HAN_TITLES.iter().any(|title| rest.starts_with(title));
            let known = HAN_GIVEN.contains(given) && count > 0;
            let ends = next.is_none_or(|c| script(c) != Script::Han || FOLLOWS.contains(c));
            let named = known && ends && (border || field);
            let filled = field
                && count > 0
                && (ends || count == 2)
                && !given.contains(|c| NO_NAME.contains(c));
            if (titled
                && (border || field || known || count == 0)
                && self.surname_alone(border, count))
                || named
                || filled
            {
                return Some((end, if named || filled { 78 } else { 74 }));
            }
        }
        None
    }

    /// A surname of one character before a title, only at a border: `国王先生` names nobody.
    fn surname_alone(self, border: bool, count: usize) -> bool {
        count > 0 || border || self.in_field()
    }

    fn japanese(self) -> Option<(usize, u8)> {
        let surname = [3, 2, 1].into_iter().find_map(|count| {
            self.take(count, Script::Han)
                .filter(|part| JAPANESE.contains(part))
        })?;
        if !self.at_border(Script::Han) {
            return None;
        }
        let mut end = self.at + surname.len();
        let spaced = self
            .text
            .get(end..)
            .is_some_and(|rest| rest.starts_with(' '));
        let behind = Place {
            at: end + usize::from(spaced),
            ..self
        };
        let given = behind.run(Script::Han);
        let count = given.chars().count();
        let known = JAPANESE_GIVEN.contains(given);
        let field = self.in_field();
        if known || ((1..=3).contains(&count) && (field || !spaced)) {
            end = behind.at + given.len();
        }
        let rest = self.text.get(end..).unwrap_or_default();
        let titled = JAPANESE_TITLES
            .iter()
            .any(|title| rest.starts_with(title) || rest.trim_start().starts_with(title));
        (known || titled || field).then_some((end, 76))
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
