//! Addresses in Chinese and Japanese: from the province or town down to the number of the house.

use super::uncased::{Place, Script, script};

/// Characters that one address may take.
const LONGEST: usize = 48;
/// What districts end in.
const DISTRICTS: &str = "省市区區县縣郡都府県町村州镇鎮";
/// What streets and blocks end in.
const STREETS: &str = "路街道巷弄段里目番町村";
/// What stands between and behind the figures of a house.
const HOUSE: &str = "号號室楼樓层層栋棟幢单單元座弄丁目番地之";
/// Words that an address follows, by their last characters.
const BEFORE: &str = "在住址所於于是到至寄给給";

impl Place<'_> {
    /// Where an address begins and ends that the run of characters from here on holds.
    pub(super) fn address(self) -> Option<(usize, usize)> {
        let rest = self.text.get(self.at..)?;
        let end = rest
            .char_indices()
            .nth(LONGEST)
            .map_or(rest.len(), |(at, _)| at);
        let run = rest.get(..end)?;
        let inside = |c: char| {
            script(c) == Script::Han || is_kana(c) || c.is_ascii_alphanumeric() || c == '-'
        };
        let run = run.get(..run.find(|c| !inside(c)).unwrap_or(run.len()))?;
        let figures = run.find(|c: char| c.is_ascii_digit())?;
        let names = run.get(..figures)?;
        let start = names
            .char_indices()
            .filter(|(_, c)| BEFORE.contains(*c))
            .map(|(at, c)| at + c.len_utf8())
            .next_back()
            .unwrap_or(0);
        let names = names.get(start..)?;
        let count = |of: &str| names.chars().filter(|c| of.contains(*c)).count();
        let street = names
            .chars()
            .next_back()
            .is_some_and(|c| STREETS.contains(c));
        let block = run
            .get(figures..)?
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .starts_with(['-', '丁', '番', '号', '號']);
        let districts = count(DISTRICTS);
        let sized = (4..=30).contains(&names.chars().count());
        if !sized || !(districts > 1 || (districts > 0 && street)) || !(street || block) {
            return None;
        }
        let house = run.get(figures..)?;
        let length = house
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || HOUSE.contains(c)))
            .unwrap_or(house.len());
        let length = house.get(..length)?.trim_end_matches('-').len();
        Some((self.at + start, self.at + figures + length))
    }
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30FF}')
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn houses_in_towns() {
        found(
            "我住在杭州市西湖区文三路478号，欢迎",
            "ADDRESS",
            &["杭州市西湖区文三路478号"],
        );
        found(
            "住所：大阪府吹田市千里丘3-14-2",
            "ADDRESS",
            &["大阪府吹田市千里丘3-14-2"],
        );
        found(
            "地址: 台北市信義區松仁路32號5樓",
            "ADDRESS",
            &["台北市信義區松仁路32號5樓"],
        );
    }

    #[test]
    fn other_figures() {
        for text in [
            "道路建设2024年完成",
            "全市3-5月的数据",
            "市区人口为120万",
            "版本2-1更新",
        ] {
            nothing(text);
        }
    }
}
