//! A table and a bucket in an emulator of the test's own, made as terraform makes them.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::aws::{ACCESS_KEY, Emulator, Kind, REGION};

pub(super) struct Table(Emulator);

impl Table {
    pub(super) async fn start() -> Self {
        let start = || {
            let emulator = Emulator::start(Kind::MiniStack);
            make(emulator.port());
            Self(emulator)
        };
        tokio::task::spawn_blocking(start).await.unwrap()
    }

    /// What stands in `[sessions]` for it.
    pub(super) fn settings(&self) -> String {
        let endpoint = self.0.endpoint();
        format!(
            r#"
            store = "dynamodb"
            table = "sessions"
            region = "{REGION}"
            endpoint = "{endpoint}"
            parts_bucket = "parts"
            parts_endpoint = "{endpoint}"
            # One Python does the work of all.
            timeout = "20s"
            "#
        )
    }
}

fn make(port: u16) {
    let attribute =
        |name: &str, kind: &str| serde_json::json!({"AttributeName": name, "AttributeType": kind});
    let key = |name: &str, kind: &str| serde_json::json!({"AttributeName": name, "KeyType": kind});
    let table = serde_json::json!({
        "TableName": "sessions",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions":
            [attribute("pk", "S"), attribute("sk", "S"), attribute("ends_us", "N")],
        "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")],
        "LocalSecondaryIndexes": [{
            "IndexName": "by_end",
            "KeySchema": [key("pk", "HASH"), key("ends_us", "RANGE")],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
    });
    let target = "content-type: application/x-amz-json-1.0\r\nx-amz-target: \
                  DynamoDB_20120810.CreateTable\r\n";
    send(port, "POST /", "dynamodb", target, &table.to_string());
    send(port, "PUT /parts", "s3", "", "");
}

/// As its root, whose signatures it does not look at.
fn send(port: u16, what: &str, service: &str, headers: &str, body: &str) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request = format!(
        "{what} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n{headers}content-length: {}\r\n\
         authorization: AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20260101/{REGION}/{service}/aws4_request, \
         SignedHeaders=host, Signature=0\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
