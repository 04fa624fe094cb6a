//! Chinese and Japanese names.

use std::sync::LazyLock;

use super::uncased::{Place, Script, Set, script, set};

pub(super) static HAN_SURNAMES: LazyLock<Set> =
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
    "護士",
    "护士",
    "总经理",
    "太太",
];
const JAPANESE_TITLES: &[&str] = &["様", "さん", "さま", "氏", "殿", "先生", "くん", "ちゃん"];
/// Characters of sentences that stand in no transliterated name.
pub(super) const NO_NAME: &str = "的了在是和与與對对向被由將将為为及於于以從从稱称說说就也都而但並并或其之因此所這这那有到把讓让給给當当後后前時时曾经經已還还又再至自使年月日第";
/// What may follow a name inside a sentence.
pub(super) const FOLLOWS: &str =
    "说說表在是于於与與和的将將就被向为為对對先出任等，。、；：！？（）即则則也曾已又";

impl Place<'_> {
    pub(super) fn han(self) -> Option<(usize, u8)> {
        self.transliterated()
            .or_else(|| self.chinese())
            .or_else(|| self.japanese())
            .or_else(|| self.unlisted())
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
            // `王小明先生` inside a sentence: two characters that no sentence is made of.
            let given_two = count == 2 && !given.contains(|c| NO_NAME.contains(c));
            if (titled
                && (border || field || known || given_two || count == 0)
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
        let run = behind.run(Script::Han);
        let given = JAPANESE_TITLES.iter().fold(run, |given, title| {
            given.split_once(title).map_or(given, |(given, _)| given)
        });
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
}
