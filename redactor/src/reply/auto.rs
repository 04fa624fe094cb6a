//! Whether a text is JSON shows in its first character.

use super::json::Json;
use super::text::Text;
use super::{Decided, ReplyRefusal, Sight};

/// JSON in JSON in JSON … is read as such down to here, as text below.
const DEEPEST: usize = 8;

/// More white space than this is text.
const MOST_SPACE: usize = 256;

/// A text that may turn out to be JSON.
#[derive(Clone)]
pub(super) enum Auto {
    Json(Box<Json>),
    Text(Text),
    /// Nothing but white space so far.
    Unclear {
        space: String,
        key: Option<String>,
        depth: usize,
    },
}

impl Auto {
    /// A text under a key, in so many layers of JSON in strings.
    pub(super) fn new(key: Option<String>, depth: usize) -> Self {
        if depth > DEEPEST {
            return Self::Text(Text::new(key));
        }
        Self::Unclear {
            space: String::new(),
            key,
            depth,
        }
    }

    /// A text that should be JSON.
    pub(super) fn json() -> Self {
        Self::Json(Box::new(Json::new(None, 0)))
    }

    /// Whether only what shows by itself is found in it.
    pub(super) fn is_certain_only(&self) -> bool {
        matches!(self, Self::Text(text) if text.certain_only)
    }

    pub(super) fn push(
        &mut self,
        sight: &mut Sight<'_>,
        piece: &str,
        last: bool,
    ) -> Result<Decided, ReplyRefusal> {
        match self {
            Self::Json(json) => json.push(sight, piece, last),
            Self::Text(text) => text.push(sight, piece, last),
            Self::Unclear { space, key, depth } => {
                let so_far = format!("{space}{piece}");
                let first = so_far
                    .trim_start_matches([' ', '\t', '\r', '\n'])
                    .chars()
                    .next();
                let (key, depth) = (key.take(), *depth);
                *self = match first {
                    Some('{' | '[') => Self::Json(Box::new(Json::new(key, depth))),
                    None if !last && so_far.len() <= MOST_SPACE => {
                        *self = Self::Unclear {
                            space: so_far,
                            key,
                            depth,
                        };
                        return Ok(Decided::default());
                    }
                    _ => Self::Text(Text::new(key)),
                };
                self.push(sight, &so_far, last)
            }
        }
    }
}
