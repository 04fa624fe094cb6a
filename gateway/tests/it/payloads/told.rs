//! The commands that change a session say what they have done, and what is so from then on.

use gatehouse::config::KeptReply;

use super::erased::used;
use super::keeping;
use crate::gate::Gate;

/// Runs `gatehouse session` beside the gateway: its exit status, and what it says.
async fn session(gate: &Gate, words: &[&str]) -> (Option<i32>, String) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_gatehouse"));
    command.arg("session").args(words).args(["--data", "."]);
    let output = command.current_dir(gate.data.path()).output().await;
    let output = output.unwrap();
    assert!(output.stdout.is_empty(), "nothing of it is a result");
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), said)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_is_told_what_was_done_with_a_session() {
    let gate = keeping(KeptReply::Received).await;
    let (one, other) = (used(&gate).await, used(&gate).await);
    let (one, other) = (one.as_str(), other.as_str());
    let done: [(&[&str], &str); 6] = [
        (&["hold", one, "--reason", "case:1"], "is on hold (case:1)"),
        (&["hold", one, "--reason", "case:1"], "is on hold (case:1)"),
        (&["release", one], "is not on hold any more"),
        (&["revoke", one], "is revoked: its state is destroyed"),
        (&["erase", one], "is erased: its state and its key"),
        (&["erase", other], "is erased: its state and its key"),
    ];
    for (words, told) in done {
        let (code, said) = session(&gate, words).await;
        assert_eq!(code, Some(0), "{words:?} {said}");
        let reference = words[1];
        let begins = format!("session {reference} {told}");
        assert!(said.starts_with(&begins), "{words:?} {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    // What was not done is not said to be.
    for words in [&["release", one][..], &["erase", one], &["revoke", other]] {
        let (code, said) = session(&gate, words).await;
        assert_eq!(code, Some(1), "{words:?}");
        assert!(said.starts_with("gatehouse: "), "{words:?} {said}");
    }
}
