//! A time stamp authority of the tests' own: `openssl ts`, with a certificate that lasts for a while.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A time stamp authority, and the authority that has issued its certificate.
pub(crate) struct Tsa(tempfile::TempDir);

/// How its certificate and its tokens are made.
pub(crate) struct Kind {
    /// The key, as `openssl req -newkey` takes it.
    pub(crate) key: &'static [&'static str],
    /// The digest that is signed.
    pub(crate) digest: &'static str,
    /// By which digest tokens name the certificate.
    pub(crate) names: &'static str,
    /// What its certificate is for.
    pub(crate) usage: &'static str,
}

/// RSA and SHA-256: what most authorities have.
pub(crate) const RSA: Kind = Kind {
    key: &["rsa:2048"],
    digest: "sha256",
    names: "sha256",
    usage: "critical,timeStamping",
};

const SETTINGS: &str = "
[req]
distinguished_name = none
[none]
[ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
[authority]
basicConstraints = CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = USAGE
[tsa]
default_tsa = own
[own]
serial = serial
signer_cert = tsa.pem
signer_key = tsa.key
signer_digest = DIGEST
default_policy = 1.3.6.1.4.1.99999.1
digests = sha256, sha384
accuracy = secs:1
ordering = yes
ess_cert_id_chain = no
ess_cert_id_alg = NAMES
";

#[allow(
    dead_code,
    reason = "not every test that has this file needs all of it"
)]
impl Tsa {
    pub(crate) fn new(kind: &Kind) -> Self {
        let tsa = Self(tempfile::tempdir().unwrap());
        let settings = SETTINGS
            .replace("USAGE", kind.usage)
            .replace("DIGEST", kind.digest)
            .replace("NAMES", kind.names);
        fs::write(tsa.path("settings"), settings).unwrap();
        fs::write(tsa.path("serial"), "01\n").unwrap();
        let ca = [
            "-x509",
            "-days",
            "36500",
            "-subj",
            "/CN=A CA",
            "-extensions",
            "ca",
            "-out",
            "ca.pem",
        ];
        tsa.request(kind, "ca.key", &ca);
        tsa.request(kind, "tsa.key", &["-subj", "/CN=A TSA", "-out", "tsa.csr"]);
        let mut issue = vec![
            "x509", "-req", "-in", "tsa.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
        ];
        issue.extend(["-CAcreateserial", "-days", "36500", "-out", "tsa.pem"]);
        issue.extend(["-extfile", "settings", "-extensions", "authority"]);
        tsa.run(&issue);
        tsa
    }

    fn request(&self, kind: &Kind, key: &str, more: &[&str]) {
        let mut words = vec![
            "req", "-nodes", "-config", "settings", "-keyout", key, "-newkey",
        ];
        words.extend(kind.key);
        words.extend(more);
        self.run(&words);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, words: &[&str]) {
        let output = openssl(self.0.path(), words);
        assert!(output.status.success(), "{words:?}: {output:?}");
    }

    /// The certificates to trust, in PEM.
    pub(crate) fn certificates(&self) -> String {
        fs::read_to_string(self.path("ca.pem")).unwrap()
    }

    /// Its own certificate in DER.
    pub(crate) fn signer(&self) -> Vec<u8> {
        self.run(&[
            "x509", "-in", "tsa.pem", "-outform", "DER", "-out", "tsa.der",
        ]);
        fs::read(self.path("tsa.der")).unwrap()
    }

    /// Replies to a request.
    pub(crate) fn reply(&self, request: &[u8]) -> Vec<u8> {
        fs::write(self.path("request.tsq"), request).unwrap();
        self.run(&[
            "ts",
            "-reply",
            "-config",
            "settings",
            "-queryfile",
            "request.tsq",
            "-out",
            "reply.tsr",
        ]);
        fs::read(self.path("reply.tsr")).unwrap()
    }

    /// Whether `openssl ts -verify` takes a reply for one on a digest.
    pub(crate) fn holds(&self, reply: &[u8], digest: &str) -> bool {
        fs::write(self.path("verified.tsr"), reply).unwrap();
        let words = [
            "ts",
            "-verify",
            "-in",
            "verified.tsr",
            "-digest",
            digest,
            "-CAfile",
            "ca.pem",
        ];
        openssl(self.0.path(), &words).status.success()
    }
}

fn openssl(folder: &Path, words: &[&str]) -> std::process::Output {
    let run = Command::new("openssl")
        .args(words)
        .current_dir(folder)
        .output();
    run.expect("the openssl program, from the package of that name")
}
