//! One exchange from four sides: what the caller sent, what the provider saw, what the provider
//! said, what the caller got. And the fifth: what the log says.

use serde_json::{Value, json};

use crate::gate::{Gate, Script, exchanges, only};

const MAIL: &str = "lena.fors@example.org";

fn chat(content: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": content}]})
}

fn completion(content: &str) -> String {
    json!({
        "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    })
    .to_string()
}

/// The first token in a text.
pub(crate) fn token(text: &str) -> String {
    let start = text
        .find("<EMAIL_")
        .unwrap_or_else(|| panic!("no token in {text}"));
    let end = text[start..].find('>').unwrap();
    text[start..=start + end].to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_goes_out_as_a_token_and_comes_back() {
    let gate = Gate::up().await;
    gate.provider.play(Script::json("").made(|request| {
        vec![completion(&format!("I wrote to {}.", token(&request.text()))).into_bytes()]
    }));
    let answer = gate
        .caller()
        .post("/v1/chat/completions", &chat(&format!("mail {MAIL}")))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(
        answer.json()["choices"][0]["message"]["content"],
        format!("I wrote to {MAIL}.")
    );
    assert!(answer.header("x-request-id").unwrap().starts_with("r_"));
    assert!(
        answer
            .header("x-gatehouse-session")
            .unwrap()
            .starts_with("s_")
    );
    assert_eq!(answer.header("cache-control").unwrap(), "no-store");
    let received = gate.provider.received();
    assert_eq!(received.len(), 1);
    assert!(!received[0].text().contains(MAIL));
    assert!(
        received[0]
            .head
            .contains("authorization: Bearer sk-provider-key")
    );
    let records = gate.records().await;
    assert_eq!(
        exchanges(&records),
        ["exchange.admitted", "exchange.settled"]
    );
    let settled = only(&records, "exchange.settled");
    assert_eq!(settled["ending"], "done");
    assert_eq!(settled["use"]["in_tokens"], 7);
    assert!(!serde_json::to_string(&records).unwrap().contains(MAIL));
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_is_spoken_to_those_who_begin_with_it() {
    use http_body_util::{BodyExt, Full};
    use hyper_util::client::legacy::Client;
    use hyper_util::client::legacy::connect::HttpConnector;
    use hyper_util::rt::TokioExecutor;

    let gate = Gate::up().await;
    gate.provider.play(Script::json(&completion("ok")));
    let client: Client<HttpConnector, Full<bytes::Bytes>> = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build(HttpConnector::new());
    for _ in 0..2 {
        let request = http::Request::post(format!(
            "http://{}/v1/chat/completions",
            gate.running.address()
        ))
        .header("authorization", format!("Bearer {}", gate.token))
        .body(Full::from(chat(&format!("mail {MAIL}")).to_string()))
        .unwrap();
        let response = client.request(request).await.unwrap();
        assert_eq!(
            (response.status().as_u16(), response.version()),
            (200, http::Version::HTTP_2)
        );
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, completion("ok"));
    }
    drop(client);
    let records = gate.records().await;
    assert_eq!(
        exchanges(&records),
        ["exchange.admitted", "exchange.settled"].repeat(2)
    );
}
