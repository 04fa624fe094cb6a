//! Names in Chinese text that no list holds: foreign ones, which are written with characters
//! chosen for their sound, Chinese ones by surname and the characters that given names are made
//! of, and what stands behind an office or a relation.

use std::sync::LazyLock;

use super::han::{FOLLOWS, HAN_SURNAMES, NO_NAME};
use super::uncased::{Place, Script, script};

/// Characters that foreign names are written with and Chinese words rarely.
const SOUNDS: &str = "埃爾尔克德特斯拉瑪玛莉娜妮薩萨諾诺貝贝茲兹茨莎萊莱倫伦羅罗姆穆蒂迪弗菲費费霍伊艾奧奥洛麗丽莫勒芬蓋盖赫坎柯科卡凱凯肯庫库奎昆蕾琳盧卢魯鲁露曼蒙默納纳奈瑙涅紐纽歐欧帕龐庞佩珀喬乔瓊琼瑞塞賽赛瑟舍絲丝塔泰坦陶廷托陀瓦威韋韦維维沃烏乌希錫锡謝谢辛欣耶尤澤泽扎札詹芝娃朵黛戴登杜恩戈圭哈亨嘉迦賈贾傑杰朗勞劳邁迈麥麦梅尼寧宁珊妲婭娅";
/// Characters that such names hold as well, and many words.
const OTHERS: &str = "金文修柳根阿達达巴馬马安比多加林里西布伯博波邦班拜查狄果喀夸來来利路律摩墨拿頓顿圖图丹法佛福甘岡冈格根基吉簡简康考孔蘭兰雷連连列芒門门米內内密森沙施舒索提湯汤溫温魏休雅亞亚揚扬祖佐普桑";
/// Characters that given names are made of.
const GIVEN: &str = "伟偉芳娜敏静靜丽麗强強磊军軍洋勇艳艷杰傑娟涛濤明超秀霞刚剛桂英华華玉萍红紅玲芬燕彬鹏鵬浩凯凱辉輝健俊峰斌宇飞飛龙龍晨阳陽鑫建志文武东東春梅兰蘭莲蓮珍贞貞莉淑惠慧雪琳晶欣怡婷颖穎璐佳嘉琪瑶瑤倩雯雅诗詩涵梓轩軒博睿泽澤宏鸿鴻德仁义義礼禮忠孝勤祥瑞福康宁寧泉继繼承宗耀光炳炎坤乾振兴興荣榮昌盛世清海松柏森树樹芝菊云雲霖霆震宝寶庆慶喜美凤鳳鹤鶴翠碧青丹彤虹旭晓曉昕昊昱晖暉曦辰君立民胜勝良善诚誠孟仲伯达達远遠思琴豪雄虎威勋勳國国生";
/// Characters behind which a foreign name is the name of a place, a people or an institution.
const PLACES: &str = "州市國国省縣县郡島岛河山湖海灣湾港大學学校區区城鎮镇村戰战公宮宫機机街路半帝人語语族教號号級级式型隊队黨党會会獎奖杯站電电報报社鎮堡門";
/// Before a place as often as before a person.
const TOWARDS: &str = "在於于到至往赴自從从離离去";
/// Places, things and firms that are written with the sounds of names.
const THINGS: &[&str] = &[
    "阿根廷",
    "伊斯蘭",
    "伊斯兰",
    "伊拉克",
    "莫斯科",
    "維也納",
    "维也纳",
    "德克薩斯",
    "德克萨斯",
    "摩納哥",
    "摩纳哥",
    "科索沃",
    "卡塔爾",
    "卡塔尔",
    "塞內加爾",
    "塞内加尔",
    "薩爾瓦多",
    "萨尔瓦多",
    "洪都拉斯",
    "尼加拉瓜",
    "巴拿馬",
    "巴拿马",
    "委內瑞拉",
    "委内瑞拉",
    "密西西比",
    "阿拉斯加",
    "西雅圖",
    "西雅图",
    "拉斯維加斯",
    "拉斯维加斯",
    "布魯塞爾",
    "布鲁塞尔",
    "阿姆斯特丹",
    "諾貝爾",
    "诺贝尔",
    "奧林匹克",
    "奥林匹克",
    "奧斯卡",
    "奥斯卡",
    "馬拉松",
    "马拉松",
    "特斯拉",
    "馬尼拉",
    "马尼拉",
    "喀布爾",
    "喀布尔",
    "尼泊爾",
    "尼泊尔",
    "維吉尼",
    "耶路撒冷",
    "特拉維夫",
    "特拉维夫",
    "巴塞羅那",
    "巴塞罗那",
    "馬德里",
    "马德里",
    "米蘭",
    "伊利諾",
    "克拉科",
    "塞浦路斯",
    "馬耳他",
    "马耳他",
    "格林",
    "巴勒斯坦",
    "克羅埃西",
    "克里米",
    "德意志",
    "法西斯",
    "納粹",
    "纳粹",
    "布爾什維克",
    "布尔什维克",
    "凡爾賽",
    "凡尔赛",
    "伊比利",
    "安卓",
    "馬克思",
    "卡介",
];
/// Offices, trades and relations that a name stands behind.
const ROLES: &[&str] = &[
    "經理",
    "经理",
    "教授",
    "將軍",
    "将军",
    "皇帝",
    "首相",
    "總統",
    "总统",
    "演員",
    "演员",
    "作家",
    "漫畫家",
    "漫画家",
    "歌手",
    "藝人",
    "艺人",
    "導演",
    "导演",
    "醫生",
    "医生",
    "校友",
    "校長",
    "校长",
    "部長",
    "部长",
    "外相",
    "主席",
    "主教",
    "國王",
    "国王",
    "女王",
    "上校",
    "上將",
    "上将",
    "議員",
    "议员",
    "律師",
    "律师",
    "記者",
    "记者",
    "秘書",
    "秘书",
    "教練",
    "教练",
    "選手",
    "选手",
    "球員",
    "球员",
    "設計師",
    "设计师",
    "工程師",
    "工程师",
    "科學家",
    "科学家",
    "詩人",
    "诗人",
    "畫家",
    "画家",
    "作曲家",
    "董事長",
    "董事长",
    "創始人",
    "创始人",
    "妻子",
    "丈夫",
    "父親",
    "父亲",
    "母親",
    "母亲",
    "兒子",
    "儿子",
    "女兒",
    "女儿",
    "弟弟",
    "哥哥",
    "姐姐",
    "妹妹",
    "同事",
    "朋友",
    "工程师",
    "主管",
    "助理",
    "员工",
    "員工",
];

/// A set of the characters U+4E00 to U+9FFF.
struct Set([u64; 328]);

impl Set {
    fn of(text: &str) -> Self {
        let mut bits = [0; 328];
        for c in text.chars() {
            if let Some((word, bit)) = Self::place(c)
                && let Some(word) = bits.get_mut(word)
            {
                *word |= bit;
            }
        }
        Self(bits)
    }

    fn holds(&self, c: char) -> bool {
        let place = Self::place(c);
        place.is_some_and(|(word, bit)| self.0.get(word).is_some_and(|word| word & bit != 0))
    }

    fn place(c: char) -> Option<(usize, u64)> {
        let at = usize::try_from(u32::from(c).checked_sub(0x4E00)?).ok()?;
        (at < 328 * 64).then_some((at / 64, 1 << (at % 64)))
    }
}

static SOUND_SET: LazyLock<Set> = LazyLock::new(|| Set::of(SOUNDS));
static OTHER_SET: LazyLock<Set> = LazyLock::new(|| Set::of(OTHERS));
static GIVEN_SET: LazyLock<Set> = LazyLock::new(|| Set::of(GIVEN));

impl Place<'_> {
    /// A name that its characters, or an office before it, show.
    pub(super) fn unlisted(self) -> Option<(usize, u8)> {
        let c = self.rest().chars().next()?;
        let sound = SOUND_SET.holds(c) || OTHER_SET.holds(c);
        if sound && let Some(end) = self.sounded() {
            return Some((end, 66));
        }
        let mut buffer = [0; 4];
        let surname = HAN_SURNAMES.contains(&*c.encode_utf8(&mut buffer));
        if !surname || !(self.opened() || self.behind_role()) {
            return None;
        }
        self.of_given_characters().map(|end| (end, 66))
    }

    fn left(self) -> Option<char> {
        self.text.get(..self.at)?.chars().next_back()
    }

    fn behind_role(self) -> bool {
        let head = self.text.get(..self.at).unwrap_or_default();
        ROLES.iter().any(|role| head.ends_with(role))
    }

    /// Whether a sentence, a part of one or a member of a row begins here.
    fn opened(self) -> bool {
        self.left()
            .is_none_or(|c| script(c) != Script::Han && !c.is_alphanumeric())
    }

    /// `辛德勒`, `麥金萊`: three or more characters that stand for sounds.
    fn sounded(self) -> Option<usize> {
        let inside = |c: char| SOUND_SET.holds(c) || OTHER_SET.holds(c);
        let left = self.left();
        // A part of a longer word would be cut out of it.
        let free = left.is_none_or(|c| {
            !inside(c) && !TOWARDS.contains(c) && (script(c) != Script::Han || leads(c))
        });
        if !(free || self.behind_role()) || left.is_some_and(inside) {
            return None;
        }
        let rest = self.rest();
        let name = rest.get(..rest.find(|c| !inside(c)).unwrap_or(rest.len()))?;
        let count = name.chars().count();
        let sounds = name.chars().filter(|c| SOUND_SET.holds(*c)).count();
        let next = rest.get(name.len()..)?.chars().next();
        let place = next.is_some_and(|c| PLACES.contains(c) || c == '·')
            || ["亞", "亚", "蘭", "兰", "斯坦", "頓", "顿"]
                .iter()
                .any(|end| name.ends_with(end))
            || THINGS.iter().any(|thing| name.starts_with(thing));
        let named = (3..=7).contains(&count) && sounds >= 2 && sounds * 2 >= count && !place;
        named.then_some(self.at + name.len())
    }

    /// `姚立君又…`: a surname and two characters of given names, and then the sentence goes on.
    fn of_given_characters(self) -> Option<usize> {
        let name = self.take(3, Script::Han)?;
        let given = name.chars().skip(1).all(|c| GIVEN_SET.holds(c));
        let rest = self.text.get(self.at + name.len()..).unwrap_or_default();
        let next = rest.chars().next();
        let goes_on = |c: char| FOLLOWS.contains(c) || NO_NAME.contains(c);
        let ends = next.is_none_or(|c| script(c) != Script::Han || goes_on(c));
        (given && ends).then_some(self.at + name.len())
    }
}

/// Small words in front of who does something or has it done.
fn leads(c: char) -> bool {
    "和與与及由讓让給给向對对被稱称叫是而但後后時时使的說说跟同將将把以".contains(c)
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn names_that_no_list_holds() {
        found("，格倫維爾離開了", "PERSON", &["格倫維爾"]);
        found("后来萨克斯顿和莱斯特纳离婚。", "PERSON", &["莱斯特纳"]);
        found("同年，沈耀宗在上海去世。", "PERSON", &["沈耀宗"]);
        found("总经理顾宏伟在会上说", "PERSON", &["顾宏伟"]);
    }

    #[test]
    fn places_and_words_stay() {
        for text in [
            "他在莫斯科工作，后来到维也纳。",
            "德克萨斯州和阿根廷都很大。",
            "，高速公路的建设已经完成。",
            "方法是先保存文件，然后重启服务。",
            "，安全设置的默认值为空。",
            "维也纳大学和诺贝尔奖",
        ] {
            nothing(text);
        }
    }
}
