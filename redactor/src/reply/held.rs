//! Texts of a reply that are held until the local model has read them: a name tells itself by the
//! words behind it as well. What the model finds is masked first; the rules then read what is left,
//! as they read every reply.

use std::ops::Range;

use super::tolerant::tokens;
use super::{ReplyRefusal, Sight};
use crate::finder::{Asked, Finder};
use crate::finding::{Field, Finding, ScanError};
use crate::json::{Document, Kind, Limits, Node, Splice};
use crate::policy::Direction;

/// Longer prose is read and released in parts.
const WINDOW: usize = 64 << 10;
/// Text behind what a part releases, which the model has read as well.
const BEHIND: usize = 1024;
/// A longer JSON document is refused: what is cut is none.
const LONGEST_JSON: usize = 256 << 10;
/// What the model's findings are called; see `crate::model`.
const RULE: &str = "model";

/// A text that waits for the model.
#[derive(Clone, Default)]
pub(super) struct Waiting {
    text: String,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Takes the next piece. What the model has read, with its findings masked; empty while it
    /// waits.
    pub(super) fn push(
        &mut self,
        sight: &mut Sight<'_>,
        finder: &dyn Finder,
        piece: &str,
        last: bool,
    ) -> Result<String, ReplyRefusal> {
        self.text.push_str(piece);
        if last {
            return masked(sight, finder, &std::mem::take(&mut self.text));
        }
        let json = self.text.trim_start().starts_with(['{', '[']);
        let most = if json { LONGEST_JSON } else { WINDOW };
        match self.text.len() > most {
            false => Ok(String::new()),
            true if json => Err(ScanError::TooLongForModel.into()),
            true => self.part(sight, finder),
        }
    }

    /// All of the text but its end, cut where no finding lies, behind a word if there is one.
    fn part(&mut self, sight: &mut Sight<'_>, finder: &dyn Finder) -> Result<String, ReplyRefusal> {
        let text = std::mem::take(&mut self.text);
        let findings = findings(finder, &text, None)?;
        let most = text.floor_char_boundary(text.len() - BEHIND);
        let before = text.get(..most).unwrap_or_default();
        let spaces = before.rmatch_indices(char::is_whitespace);
        let free = |at: &usize| {
            let inside = |found: &Finding| found.start < *at && *at < found.end;
            !findings.iter().any(inside)
        };
        let cut = spaces.map(|(at, space)| at + space.len()).find(free);
        // Without a space that is free, in front of the finding that lies there.
        let across = findings.iter().find(|it| it.start < most && most < it.end);
        let cut = cut.unwrap_or(across.map_or(most, |it| it.start));
        if cut == 0 {
            return Err(ScanError::TooLongForModel.into());
        }
        let (done, rest) = text.split_at(cut);
        rest.clone_into(&mut self.text);
        let within = findings.iter().filter(|found| found.end <= done.len());
        shown(sight, done, within)
    }
}

/// The text with the model's findings masked; of JSON, in its strings.
fn masked(sight: &mut Sight<'_>, finder: &dyn Finder, text: &str) -> Result<String, ReplyRefusal> {
    let document = Document::parse(text.as_bytes(), &Limits::default());
    let document = document.ok().filter(|it| !it.root().is_leaf());
    let Some(document) = document else {
        return shown(sight, text, &findings(finder, text, None)?);
    };
    let mut splice = Splice::new(&document);
    for leaf in document.leaves().filter(|leaf| leaf.kind() == Kind::String) {
        let inner = leaf.text().unwrap_or_default();
        let key = key_of(leaf);
        let found = findings(finder, &inner, key.as_deref())?;
        let shown = shown(sight, &inner, &found)?;
        if shown != inner {
            splice.set_text(leaf, &shown);
        }
    }
    let bytes = splice.finish();
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

fn key_of(leaf: Node<'_>) -> Option<String> {
    let mut here = Some(leaf);
    while let Some(node) = here {
        if let Some(key) = node.key() {
            return Some(key.into_owned());
        }
        here = node.parent();
    }
    None
}

/// What the model finds; the rules read the text later, in their own windows.
fn findings(finder: &dyn Finder, text: &str, key: Option<&str>) -> Result<Vec<Finding>, ScanError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let direction = Direction::Reply;
    let field = Field { key, direction };
    let found = finder.find_all(&[Asked { text, field }])?;
    let found = found.into_iter().next().ok_or(ScanError::Unanswered)?;
    Ok(found.into_iter().filter(|it| it.rule == RULE).collect())
}

/// The text with masks in place of findings. The session's tokens stay, and of a finding that
/// reaches over one, what stands beside it is masked.
fn shown<'f>(
    sight: &mut Sight<'_>,
    text: &str,
    findings: impl IntoIterator<Item = &'f Finding>,
) -> Result<String, ReplyRefusal> {
    let held = tokens(text, None, sight.cx.vault, true).found;
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for found in findings {
        for part in beside(text, found.start..found.end, &held) {
            let value = text.get(part.clone()).unwrap_or_default();
            if let Some(mask) = sight.masked(value, found.label, found.rule)? {
                out.push_str(text.get(at..part.start).unwrap_or_default());
                out.push_str(&mask);
                at = part.end;
            }
        }
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Ok(out)
}

/// What of a range is words, outside of tokens.
fn beside(text: &str, range: Range<usize>, held: &[super::tolerant::Token]) -> Vec<Range<usize>> {
    let (mut parts, mut from) = (Vec::new(), range.start);
    let inside = held
        .iter()
        .filter(|token| token.range.start < range.end && range.start < token.range.end);
    for token in inside {
        parts.push(from..token.range.start.max(from));
        from = token.range.end.max(from);
    }
    parts.push(from..range.end.max(from));
    let trimmed = parts.into_iter().map(|part| {
        let words = text.get(part.clone()).unwrap_or_default();
        let rest = words.trim_start_matches(|c: char| !c.is_alphanumeric());
        let start = part.start + words.len() - rest.len();
        let kept = rest.trim_end_matches(|c: char| !c.is_alphanumeric());
        start..start + kept.len()
    });
    trimmed.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Label;
    use crate::reply::{Channel, ReplyContext};
    use crate::testing::Session;

    /// Finds words that begin with Z, as a model would find names; gives up on `overload`.
    struct Zs;

    impl Finder for Zs {
        fn gathers(&self) -> bool {
            true
        }

        fn find_all(&self, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError> {
            texts.iter().map(|asked| zs(asked.text)).collect()
        }
    }

    fn zs(text: &str) -> Result<Vec<Finding>, ScanError> {
        if text.contains("overload") {
            return Err(ScanError::Overloaded);
        }
        let words = text.split_inclusive(|c: char| !c.is_alphanumeric() && !"<>_".contains(c));
        let (mut at, mut found) = (0, Vec::new());
        for word in words {
            let name = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '>');
            if name.contains('Z') {
                found.push(Finding {
                    start: at,
                    end: at + name.len(),
                    label: Label::PERSON,
                    score: 90,
                    rule: RULE,
                    certain: false,
                });
            }
            at += word.len();
        }
        Ok(found)
    }

    fn session() -> Session {
        Session::with("[labels.PERSON]\nreply = 'mask'")
    }

    fn run(
        session: &Session,
        mut channel: Channel,
        pieces: &[&str],
    ) -> Result<String, ReplyRefusal> {
        let cx = ReplyContext {
            model: Some(&Zs),
            ..session.context()
        };
        let mut out = String::new();
        for piece in pieces {
            out.push_str(&channel.push(&cx, piece)?);
        }
        out.push_str(&channel.finish(&cx)?);
        Ok(out)
    }

    #[test]
    fn names_are_masked_wherever_the_text_is_cut() {
        let mut session = session();
        let token = session.learn(Label::EMAIL, "lena.fors@example.org");
        let text = format!("é Zoran wrote to {token} and new.one@example.org, Zed.");
        let wanted = "é <PERSON> wrote to lena.fors@example.org and <EMAIL>, <PERSON>.";
        for (cut, _) in text.char_indices() {
            let pieces = [&text[..cut], &text[cut..]];
            assert_eq!(run(&session, Channel::text(), &pieces).unwrap(), wanted);
        }
    }

    #[test]
    fn tokens_inside_a_finding_are_put_back() {
        let mut session = session();
        let token = session.learn(Label::PERSON, "Ada");
        let text = format!("by Z{token}Zed now");
        let shown = run(&session, Channel::text(), &[&text]).unwrap();
        assert!(!shown.contains("Zed"), "{shown}");
    }

    #[test]
    fn strings_of_arguments_are_read_one_by_one() {
        let json = r#"{"to":"Zoran\n","n":1,"l":["a Zed"]}"#;
        let shown = run(&session(), Channel::json_arguments("t"), &[json]).unwrap();
        assert_eq!(shown, r#"{"to":"<PERSON>\n","n":1,"l":["a <PERSON>"]}"#);
    }

    #[test]
    fn nothing_is_shown_that_the_model_has_not_read() {
        let session = session();
        let refused = run(&session, Channel::text(), &["Zoran ", "overload"]);
        assert_eq!(refused, Err(ScanError::Overloaded.into()));
        let cx = ReplyContext {
            model: Some(&Zs),
            ..session.context()
        };
        let mut channel = Channel::text();
        assert_eq!(channel.push(&cx, "Hello Zoran, ").unwrap(), "");
        assert_eq!(channel.held(), "Hello Zoran, ".len());
    }

    #[test]
    fn long_prose_is_read_in_parts_and_long_json_refused() {
        let session = session();
        let text = "so Zoran says it ".repeat((3 * WINDOW) / 17);
        let pieces: Vec<&str> = text.split_inclusive(' ').collect();
        let shown = run(&session, Channel::text(), &pieces).unwrap();
        assert_eq!(shown, text.replace("Zoran", "<PERSON>"));
        let long = format!("[\"{}", "x".repeat(LONGEST_JSON));
        let refused = run(&session, Channel::json_arguments("t"), &[&long, "\"]"]);
        assert_eq!(refused, Err(ScanError::TooLongForModel.into()));
    }
}
