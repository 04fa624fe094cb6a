//! What becomes of the same values under the policies of different tenants.

use serde_json::json;

use crate::gate::{Gate, Script};

const REPLY: &str = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"ask new.one@example.org"}}]}"#;

/// What the provider was sent and the caller got under a policy of whose tenants one is the
/// caller's, `default`.
async fn exchange(policy: &str) -> (u16, String, String) {
    let gate = Gate::with(policy, |_| {}).await;
    gate.provider.play(Script::json(REPLY));
    let key = ["ghp", "_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5"].concat();
    let text = format!("I am lena.fors@example.org, aged 41, with {key}");
    let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
    let answer = gate.caller().post("/v1/chat/completions", &body).await;
    let sent = gate.provider.received();
    let sent = sent.first().map(|it| it.text()).unwrap_or_default();
    assert!(!sent.contains(&key));
    (answer.status, sent, answer.text())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tenant_has_its_own_profile_and_actions() {
    let (_, sent, got) = exchange("[tenant.other]\nprofile = 'secrets-only'").await;
    assert!(!sent.contains("lena") && sent.contains("41"), "{sent}");
    assert!(!got.contains("new.one"), "{got}");

    let (_, sent, got) = exchange("[tenant.default]\nprofile = 'secrets-only'").await;
    assert!(sent.contains("lena.fors@example.org"), "{sent}");
    assert!(got.contains("new.one@example.org"), "{got}");

    let (_, sent, _) = exchange("[tenant.default]\nprofile = 'strict'").await;
    assert!(!sent.contains("lena") && !sent.contains("41"), "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_s_table_holds_in_its_direction_alone() {
    let (status, sent, _) = exchange("[tenant.default.labels.EMAIL]\nprompt = 'block'").await;
    assert_eq!((status, sent.as_str()), (403, ""));
    let (status, sent, _) = exchange("[tenant.default.labels.EMAIL]\nreply = 'block'").await;
    assert!(status != 200 && sent.contains("<EMAIL_"), "{status} {sent}");
}
