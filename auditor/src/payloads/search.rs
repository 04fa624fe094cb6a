//! Today's detectors over an opened payload: where they find what, never what it is.

use std::{collections::HashMap, ops::Range};

use gatehouse_ledger::payload::Part;
use gatehouse_redactor::{
    Action, Direction, Engine, Field, Finding, Policy, ScanError,
    json::{Document, Limits, Node},
};

/// Deeper and wider than what gateways let through.
const LIMITS: Limits = Limits {
    depth: 512,
    leaves: 10_000_000,
};

/// Something that a detector found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) label: &'static str,
    pub(super) rule: &'static str,
    /// Bytes of the payload.
    pub(super) at: Range<usize>,
}

/// The detectors and the policy that says what counts.
pub(super) struct Searcher {
    engine: Engine,
    policy: Policy,
}

/// Why a payload could not be searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unsearched {
    #[error(transparent)]
    Scan(#[from] ScanError),
    #[error("not text")]
    NotText,
}

/// The pieces of one text of a stream: where each begins in the text, and where it is in the payload.
#[derive(Default)]
struct Stretch {
    text: String,
    pieces: Vec<(usize, Range<usize>)>,
}

impl Searcher {
    pub(super) fn new(policy: Policy) -> Result<Self, String> {
        let engine = Engine::new(&policy).map_err(|error| error.to_string())?;
        Ok(Self { engine, policy })
    }

    /// Everything that the policy would do something about.
    pub(super) fn search(&self, part: Part, payload: &[u8]) -> Result<Vec<Hit>, Unsearched> {
        let direction = match part {
            Part::Request => Direction::Prompt,
            Part::Reply => Direction::Reply,
        };
        if let Ok(document) = Document::parse(payload, &LIMITS) {
            return self.document(&document, 0, direction);
        }
        let text = std::str::from_utf8(payload).map_err(|_| Unsearched::NotText)?;
        match text.lines().any(|line| line.starts_with("data:")) {
            true => self.events(text, direction),
            false => self.text(text, None, direction, |range| range),
        }
    }

    fn document(
        &self,
        document: &Document<'_>,
        start: usize,
        direction: Direction,
    ) -> Result<Vec<Hit>, Unsearched> {
        let mut hits = Vec::new();
        for node in document.nodes() {
            self.key(node, start, &mut hits)?;
            let key = node.key();
            let span = shifted(node.span(), start);
            if let Some(text) = node.text() {
                let place = |range| shifted(node.place_of(range), start);
                hits.extend(self.text(&text, key.as_deref(), direction, place)?);
            } else if let Some(number) = node.number() {
                let found = self.text(number, key.as_deref(), direction, |_| span.clone())?;
                hits.extend(found);
            }
        }
        Ok(hits)
    }

    /// A key counts by what shows in it alone.
    fn key(&self, node: Node<'_>, start: usize, hits: &mut Vec<Hit>) -> Result<(), Unsearched> {
        if let Some(key) = node.key() {
            let found = self.engine.find_certain(&key)?;
            let at = shifted(node.span(), start);
            hits.extend(found.iter().map(|finding| hit(finding, at.clone())));
        }
        Ok(())
    }

    /// A stream of events: a text that comes in pieces is put together again. Pieces of one text stand
    /// under one path, in events that say the same of the text's number.
    fn events(&self, stream: &str, direction: Direction) -> Result<Vec<Hit>, Unsearched> {
        let (mut texts, mut hits) = (HashMap::<String, Stretch>::new(), Vec::new());
        let mut order = Vec::new();
        let mut at = 0;
        for line in stream.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let Some(data) = line.strip_prefix("data:") else {
                continue;
            };
            let lead = line.len() - data.trim_start().len();
            let data = data.trim();
            let Ok(document) = Document::parse(data.as_bytes(), &LIMITS) else {
                let place = |range| shifted(range, start + lead);
                hits.extend(self.text(data, None, direction, place)?);
                continue;
            };
            let number = document.root().get("index").and_then(Node::number);
            for node in document.nodes() {
                self.key(node, start + lead, &mut hits)?;
                let Some(text) = node.text() else { continue };
                let path = format!("{} {}", number.unwrap_or_default(), node.path());
                let stretch = texts.entry(path.clone()).or_insert_with(|| {
                    order.push(path);
                    Stretch::default()
                });
                stretch.add(&text, shifted(node.span(), start + lead));
            }
        }
        for path in order {
            let Some(stretch) = texts.remove(&path) else {
                continue;
            };
            let key = path.rsplit(['.', ' ']).next().filter(|key| !key.is_empty());
            let place = |range: Range<usize>| stretch.place(&range);
            hits.extend(self.text(&stretch.text, key, direction, place)?);
        }
        Ok(hits)
    }

    fn text(
        &self,
        text: &str,
        key: Option<&str>,
        direction: Direction,
        place: impl Fn(Range<usize>) -> Range<usize>,
    ) -> Result<Vec<Hit>, Unsearched> {
        let found = self.engine.find(text, Field { key, direction })?;
        let counts =
            |finding: &&Finding| self.policy.action(finding.label, direction) != Action::Allow;
        let hits = found.iter().filter(counts);
        Ok(hits
            .map(|finding| hit(finding, place(finding.start..finding.end)))
            .collect())
    }
}

impl Stretch {
    /// Adds a piece. Ids and names that each event repeats are no text in pieces.
    fn add(&mut self, piece: &str, at: Range<usize>) {
        let last = self
            .pieces
            .last()
            .and_then(|(start, _)| self.text.get(*start..));
        let repeated = piece.len() > 3 && last == Some(piece);
        if !repeated && !piece.is_empty() {
            self.pieces.push((self.text.len(), at));
            self.text.push_str(piece);
        }
    }

    /// From the piece in which a range begins to the one in which it ends.
    fn place(&self, range: &Range<usize>) -> Range<usize> {
        let piece = |at: usize| {
            let after = self.pieces.partition_point(|(start, _)| *start <= at);
            self.pieces.get(after.saturating_sub(1)).map(|(_, at)| at)
        };
        let (first, last) = (piece(range.start), piece(range.end.saturating_sub(1)));
        let start = first.map_or(0, |at| at.start);
        start..last.map_or(start, |at| at.end)
    }
}

fn hit(finding: &Finding, at: Range<usize>) -> Hit {
    Hit {
        label: finding.label.as_str(),
        rule: finding.rule,
        at,
    }
}

fn shifted(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(part: Part, payload: &str) -> Vec<(&'static str, String)> {
        let searcher = Searcher::new(Policy::default()).unwrap();
        let hits = searcher.search(part, payload.as_bytes()).unwrap();
        let shown = |hit: &Hit| (hit.label, payload.get(hit.at.clone()).unwrap().to_owned());
        hits.iter().map(shown).collect()
    }

    #[test]
    fn requests_are_searched_leaf_by_leaf_and_places_are_exact() {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"caf\u00e9: write to jane.doe@example.org now"}],"seed":4111111111111111}"#;
        let found = found(Part::Request, body);
        assert!(
            found.contains(&("EMAIL", "jane.doe@example.org".into())),
            "{found:?}"
        );
        assert!(
            found
                .iter()
                .any(|(label, at)| *label == "CREDIT_CARD" && at == "4111111111111111")
        );
    }

    #[test]
    fn what_the_policy_leaves_does_not_count() {
        let clean = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hello from <PERSON_k7q2mz> in Paris"}]}"#;
        assert_eq!(found(Part::Request, clean), []);
    }

    #[test]
    fn a_value_that_comes_in_pieces_is_found_and_placed() {
        let event = |text: &str| {
            format!(
                "data: {{\"id\":\"chatcmpl-1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
            )
        };
        let stream = [
            event("Write to ja"),
            event("ne.doe@exam"),
            event("ple.org."),
            "data: [DONE]\n\n".into(),
        ]
        .concat();
        let found = found(Part::Reply, &stream);
        assert_eq!(found.len(), 1, "{found:?}");
        let (label, at) = &found[0];
        assert_eq!(*label, "EMAIL");
        assert!(
            at.starts_with("\"Write to ja") && at.ends_with("ple.org.\""),
            "{at}"
        );
    }

    #[test]
    fn plain_text_is_searched_and_other_bytes_are_not() {
        assert_eq!(
            found(Part::Reply, "mail jane.doe@example.org"),
            [("EMAIL", "jane.doe@example.org".into())]
        );
        let searcher = Searcher::new(Policy::default()).unwrap();
        assert_eq!(
            searcher.search(Part::Reply, &[0xff, 0xfe]),
            Err(Unsearched::NotText)
        );
    }
}
