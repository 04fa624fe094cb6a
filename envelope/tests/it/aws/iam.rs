//! Users of MiniStack's IAM: what they may do, and the credentials that it checks.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use super::emulator::{ACCESS_KEY, Emulator, Kind, REGION};

/// An access key and its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credentials {
    /// The key's id.
    pub(crate) access_key: String,
    /// The secret.
    pub(crate) secret_key: String,
}

impl Emulator {
    /// A user called `name` who may do what the policy document (JSON) says, and nothing else.
    pub(crate) fn user(&self, name: &str, policy: &str) -> Credentials {
        assert_eq!(self.kind(), Kind::MiniStack, "moto checks no rights");
        self.iam(&[("Action", "CreateUser"), ("UserName", name)]);
        self.iam(&[
            ("Action", "PutUserPolicy"),
            ("UserName", name),
            ("PolicyName", "all"),
            ("PolicyDocument", policy),
        ]);
        let made = self.iam(&[("Action", "CreateAccessKey"), ("UserName", name)]);
        Credentials {
            access_key: element(&made, "AccessKeyId"),
            secret_key: element(&made, "SecretAccessKey"),
        }
    }

    /// Gives a user other rights.
    pub(crate) fn allow(&self, name: &str, policy: &str) {
        self.iam(&[
            ("Action", "PutUserPolicy"),
            ("UserName", name),
            ("PolicyName", "all"),
            ("PolicyDocument", policy),
        ]);
    }

    /// An operation of IAM, as its root, whose signatures it does not look at.
    fn iam(&self, parameters: &[(&str, &str)]) -> String {
        let mut form = "Version=2010-05-08".to_owned();
        for (name, value) in parameters {
            form.push_str(&format!("&{name}={}", encoded(value)));
        }
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        let request = format!(
            "POST / HTTP/1.1\r\nhost: iam.amazonaws.com\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\
             authorization: AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20260101/{REGION}/iam/aws4_request, \
             SignedHeaders=host, Signature=0\r\n\r\n{form}",
            form.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(plain).collect()
}

fn element(xml: &str, name: &str) -> String {
    let (_, rest) = xml.split_once(&format!("<{name}>")).unwrap();
    let (value, _) = rest.split_once('<').unwrap();
    value.to_owned()
}
