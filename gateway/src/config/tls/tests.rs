//! Certificates as operators get them wrong, and the example file's section.

use std::time::UNIX_EPOCH;

use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair, date_time_ymd};

use super::*;
use crate::config::{Config, Environment, Overrides};

const ECHO: &str = "config_version = 1\n[[provider]]\nname = 'e'\nprotocol = 'echo'\n";
const TLS: &str = "[tls]\ncertificate = 'c.pem'\nkey = 'file:k.pem'\n";

struct Folder(tempfile::TempDir);

impl Folder {
    /// With a pair whose certificate is for localhost and 127.0.0.1, changed by `change`.
    fn new(change: impl FnOnce(&mut CertificateParams)) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("names");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("signed");
        folder.write("c.pem", &certificate.pem());
        folder.write("k.pem", &key.serialize_pem());
        folder
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("written");
        self.mode(name, 0o600);
    }

    fn mode(&self, name: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt;

        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.0.path().join(name), mode).expect("set");
    }

    fn parse(&self, text: &str) -> Result<Config, Faults> {
        let environment = Environment::new(|_| None, self.0.path());
        Config::parse(text, &Overrides::default(), &environment)
    }

    fn faults(&self, tls: &str) -> Vec<String> {
        match self.parse(&format!("{ECHO}{tls}")) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.iter().map(ToString::to_string).collect(),
        }
    }
}

#[test]
fn a_good_pair_serves_and_any_address_may_be_listened_on() {
    let folder = Folder::new(|params| params.not_after = date_time_ymd(2100, 1, 1));
    let names = "names = ['localhost', '127.0.0.1']\n";
    let text = format!("listen = '0.0.0.0:8443'\n{ECHO}{TLS}{names}");
    let config = folder.parse(&text).unwrap_or_else(|it| panic!("{it}"));
    let tls = config.tls.expect("TLS");
    assert_eq!(tls.files.reread, Duration::from_secs(10));
    assert_eq!(tls.files.names.len(), 2);
    assert_eq!(tls.files.key, folder.0.path().join("k.pem"));
    let year_2100 = UNIX_EPOCH + Duration::from_secs(4_102_444_800);
    assert_eq!(tls.identity.not_after, year_2100);
    let server = &tls.identity.server;
    assert_eq!(
        server.alpn_protocols,
        [b"h2".to_vec(), b"http/1.1".to_vec()]
    );
    assert_eq!(server.max_early_data_size, 0);
}

#[test]
fn a_key_that_others_may_read_is_a_fault_a_certificate_is_not() {
    let folder = Folder::new(|_| ());
    folder.mode("c.pem", 0o644);
    assert!(folder.faults(TLS).is_empty());
    folder.mode("k.pem", 0o644);
    let faults = folder.faults(TLS);
    assert!(faults[0].starts_with("tls.key: cannot read "), "{faults:?}");
    assert!(faults[0].contains("its mode must be 0600"), "{faults:?}");
}

#[test]
fn what_would_fail_every_handshake_is_a_fault() {
    let fault = |change: fn(&mut CertificateParams)| Folder::new(change).faults(TLS);
    let expired = fault(|it| it.not_after = date_time_ymd(2020, 5, 1));
    assert_eq!(
        expired,
        ["tls.certificate: expired at 2020-05-01T00:00:00Z"]
    );
    let early = fault(|it| it.not_before = date_time_ymd(2099, 5, 1));
    assert_eq!(
        early,
        ["tls.certificate: is not valid before 2099-05-01T00:00:00Z"]
    );
    let nameless = fault(|it| it.subject_alt_names.clear());
    assert_eq!(nameless.len(), 1, "{nameless:?}");
    assert!(nameless[0].contains("no subjectAltName"), "{nameless:?}");
    let client = |it: &mut CertificateParams| {
        it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    };
    let client = fault(client);
    assert!(client[0].contains("without serverAuth"), "{client:?}");
    let folder = Folder::new(|_| {});
    let names = "names = ['-', 'localhost', 'gate.example']\n";
    let found = folder.faults(&format!("{TLS}{names}"));
    let expected = [
        "tls.names[0]: is not a host name or an address",
        "tls.names: gate.example is not in the certificate",
    ];
    assert_eq!(found, expected);
    let other_key = KeyPair::generate().expect("a key").serialize_pem();
    folder.write("k.pem", &other_key);
    let mixed = folder.faults(TLS);
    assert_eq!(mixed, ["tls.key: is not the key of the first certificate"]);
}

#[test]
fn an_expiry_is_judged_by_the_time_that_is_handed_in() {
    let folder = Folder::new(|it| it.not_after = date_time_ymd(2020, 5, 1));
    let then = UNIX_EPOCH + Duration::from_secs(1_588_000_000);
    let environment = Environment::new(|_| None, folder.0.path()).at(then);
    let text = format!("{ECHO}{TLS}");
    assert!(Config::parse(&text, &Overrides::default(), &environment).is_ok());
}

#[test]
fn every_fault_of_the_files_is_listed_and_none_shows_a_key() {
    let folder = Folder::new(|_| {});
    let found =
        folder.faults("[tls]\ncertificate = 'no.pem'\nkey = 'file:no.key'\nclient_ca = 'ca'\n");
    let places = [
        "tls.certificate: cannot",
        "tls.key: cannot",
        "tls.client_ca: cannot",
    ];
    assert_eq!(found.len(), 3, "{found:?}");
    for place in places {
        assert!(found.iter().any(|it| it.starts_with(place)), "{found:?}");
    }
    let inline = folder.faults("[tls]\nkey = '-----BEGIN PRIVATE KEY-----sssh'\n");
    assert_eq!(inline.len(), 2, "{inline:?}");
    assert!(!inline.iter().any(|it| it.contains("sssh")), "{inline:?}");
    folder.write("c.pem", "not PEM at all");
    folder.write("k.pem", "nor this");
    folder.write(
        "ca",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );
    let found = folder.faults(&format!("{TLS}client_ca = 'ca'\n"));
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("no certificate in PEM"), "{found:?}");
    assert!(found[1].contains("cannot be an issuer"), "{found:?}");
    assert!(found[2].contains("no private key"), "{found:?}");
}

#[test]
fn allowing_plain_http_beside_tls_is_a_contradiction() {
    let folder = Folder::new(|_| {});
    let text = format!("allow_plain_listen = true\n{ECHO}{TLS}");
    let faults = folder.parse(&text).err().expect("a fault");
    assert!(
        faults.to_string().starts_with("allow_plain_listen: "),
        "{faults}"
    );
}

#[test]
fn the_example_s_section_is_good_once_its_files_are_there() {
    let example = include_str!("../../../../policies/gatehouse.example.toml");
    let section = example.split("# [tls]\n").nth(1).expect("the section");
    let lines = section.lines().map_while(|line| line.strip_prefix("# "));
    let section: String = lines.map(|line| format!("{line}\n")).collect();
    let folder = Folder::new(|it| {
        let name = "gatehouse.example.org".try_into().expect("a name");
        it.subject_alt_names = vec![rcgen::SanType::DnsName(name)];
    });
    let pem = |name| std::fs::read_to_string(folder.0.path().join(name)).expect("readable");
    std::fs::create_dir(folder.0.path().join("tls")).expect("made");
    for (from, to) in [
        ("c.pem", "fullchain.pem"),
        ("k.pem", "key.pem"),
        ("c.pem", "callers-ca.pem"),
    ] {
        folder.write(&format!("tls/{to}"), &pem(from));
    }
    let text = format!("{ECHO}[tls]\n{section}");
    let config = folder
        .parse(&text)
        .unwrap_or_else(|it| panic!("{it}\n{text}"));
    let files = config.tls.expect("TLS").files;
    assert_eq!(files.reread, REREAD, "the example says the default");
    assert!(files.client_ca.is_some() && files.names.len() == 1);
    let keys = ["certificate", "client_ca", "key", "names", "reread"];
    let named = section.parse::<toml::Table>().expect("TOML");
    assert_eq!(named.keys().collect::<Vec<_>>(), keys, "every setting");
}
