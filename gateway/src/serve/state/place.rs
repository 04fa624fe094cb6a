//! The paths below `/v1/sessions/{s_…}/`.

use crate::session::typed::{is_call_id, is_name};

/// A part of a session's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::serve) enum Place {
    Answer,
    Artifact {
        name: String,
        /// The last version where none is named.
        n: Option<u64>,
    },
    Checkpoint {
        name: String,
    },
    Checkpoints,
    Context,
    Errors,
    Evaluation {
        name: String,
        n: u64,
    },
    Pause,
    Phase,
    Progress,
    Restore {
        name: String,
    },
    Result {
        call: String,
    },
    Resume,
    State,
}

impl Place {
    /// Reads a path behind the session's reference. Names that nothing can have are no places.
    pub(in crate::serve) fn of(path: &str) -> Option<Self> {
        let steps: Vec<_> = path.split('/').collect();
        let named = |name: &str| is_name(name).then(|| name.to_owned());
        Some(match *steps.as_slice() {
            ["answer"] => Self::Answer,
            ["checkpoints"] => Self::Checkpoints,
            ["context"] => Self::Context,
            ["errors"] => Self::Errors,
            ["pause"] => Self::Pause,
            ["phase"] => Self::Phase,
            ["progress"] => Self::Progress,
            ["resume"] => Self::Resume,
            ["state"] => Self::State,
            ["checkpoints", name] => Self::Checkpoint { name: named(name)? },
            ["checkpoints", name, "restore"] => Self::Restore { name: named(name)? },
            ["tool-results", call] => {
                // The one character of such ids that clients may escape in a path.
                let call = call.replace("%3A", ":").replace("%3a", ":");
                is_call_id(&call).then_some(Self::Result { call })?
            }
            ["artifacts", name] => Self::Artifact {
                name: named(name)?,
                n: None,
            },
            ["artifacts", name, n] => Self::Artifact {
                name: named(name)?,
                n: Some(number(n)?),
            },
            ["artifacts", name, n, "evaluation"] => Self::Evaluation {
                name: named(name)?,
                n: number(n)?,
            },
            _ => return None,
        })
    }

    /// The methods that it takes, as `Allow` names them.
    pub(in crate::serve) fn methods(&self) -> &'static str {
        match self {
            Self::Answer | Self::Checkpoints | Self::Errors => "POST",
            Self::Pause | Self::Restore { .. } | Self::Resume => "POST",
            Self::Artifact { n: None, .. } | Self::Result { .. } => "GET, PUT",
            Self::Artifact { n: Some(_), .. } | Self::Context | Self::Progress => "GET",
            Self::Checkpoint { .. } => "DELETE",
            Self::Evaluation { .. } | Self::Phase => "PUT",
            Self::State => "GET, PATCH",
        }
    }
}

/// A version as we write it: digits alone, none too many.
fn number(text: &str) -> Option<u64> {
    let n: u64 = text.parse().ok()?;
    (n.to_string() == text).then_some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let artifact = |n| {
            Some(Place::Artifact {
                name: "plan.md".to_owned(),
                n,
            })
        };
        assert_eq!(Place::of("artifacts/plan.md"), artifact(None));
        assert_eq!(Place::of("artifacts/plan.md/12"), artifact(Some(12)));
        let call = "functions.look_up:0".to_owned();
        let result = Some(Place::Result { call });
        assert_eq!(Place::of("tool-results/functions.look_up:0"), result);
        assert_eq!(Place::of("tool-results/functions.look_up%3A0"), result);
        for none in [
            "",
            "states",
            "state/",
            "State",
            "artifacts",
            "artifacts/",
            "artifacts/../state",
            "artifacts/a/+1",
            "artifacts/a/01",
            "artifacts/a%2Fb",
            "artifacts/a/1/evaluation/",
            "checkpoints/.hidden",
            "tool-results/a b",
        ] {
            assert_eq!(Place::of(none), None, "{none}");
        }
    }
}
