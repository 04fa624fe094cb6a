//! The state as its owner is shown it: names that stay, times as text, no parts.

use serde_json::{Map, Value, json};

use super::Phases;
use super::model::{Artifact, Checkpoint, Fault, Pause, ToolResult, Typed};
use crate::clock::rfc3339;
use crate::session::Spend;

/// All of it.
pub(super) fn whole(
    typed: &Typed,
    reference: &str,
    (steps, spend): (u64, Spend),
    phases: &dyn Phases,
) -> Value {
    let entities = typed.entities.iter();
    let entities: Map<_, _> = entities
        .map(|(name, value)| (name.clone(), value.as_str().into()))
        .collect();
    let artifacts = typed.artifacts.iter();
    let artifacts: Vec<_> = artifacts
        .flat_map(|(name, versions)| versions.iter().map(|version| artifact(name, version)))
        .collect();
    json!({
        "reference": reference,
        "version": typed.version,
        "steps": steps,
        "spend": spend.json(),
        "phase": typed.phase(phases),
        "goal": typed.goal.as_ref().map(|goal| goal.as_str()),
        "entities": entities,
        "tool_results": typed.results.iter().map(result).collect::<Vec<_>>(),
        "errors": typed.errors.iter().map(fault).collect::<Vec<_>>(),
        "errors_total": typed.errors_total,
        "checkpoints": typed.checkpoints.iter().map(checkpoint).collect::<Vec<_>>(),
        "artifacts": artifacts,
        "pause": typed.pause.as_ref().map(pause),
        "answers": typed.answers.iter().map(pause).collect::<Vec<_>>(),
    })
}

/// A tool's result without its text.
pub(super) fn result(result: &ToolResult) -> Value {
    let proposal = result.proposal.as_ref();
    json!({
        "call": result.call,
        "tool": result.tool,
        "state": result.life.word(),
        "failed": result.failed,
        "bytes": result.bytes,
        "step": result.step,
        "kept": result.part.is_some(),
        "proposal": proposal.map(|it| json!({"to": it.to, "accepted": it.accepted})),
    })
}

/// A version of an artifact without its content.
pub(super) fn artifact(name: &str, artifact: &Artifact) -> Value {
    let evaluation = artifact.evaluation.as_ref().map(|evaluation| {
        json!({
            "passed": evaluation.passed,
            "at": rfc3339(evaluation.at_us),
            "agent": evaluation.agent,
            "author": evaluation.author,
            "request": evaluation.request,
        })
    });
    json!({
        "name": name,
        "version": artifact.n,
        "at": rfc3339(artifact.at_us),
        "step": artifact.step,
        "bytes": artifact.bytes,
        "sha256": artifact.sha256,
        "media_type": artifact.media,
        "agent": artifact.agent,
        "author": artifact.author,
        "request": artifact.request,
        "evaluation": evaluation,
    })
}

fn fault(fault: &Fault) -> Value {
    json!({
        "at": rfc3339(fault.at_us),
        "step": fault.step,
        "call": fault.call,
        "text": fault.text.as_ref().map(|text| text.as_str()),
    })
}

fn checkpoint(checkpoint: &Checkpoint) -> Value {
    json!({
        "name": checkpoint.name,
        "at": rfc3339(checkpoint.at_us),
        "step": checkpoint.step,
        "version": checkpoint.version,
    })
}

fn pause(pause: &Pause) -> Value {
    json!({
        "question": pause.question.as_str(),
        "asked_at": rfc3339(pause.asked_us),
        "answer": pause.answer.as_ref().map(|answer| answer.as_str()),
        "answered_at": pause.answered_us.map(rfc3339),
    })
}
