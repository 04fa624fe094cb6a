//! Certificates that change under a running gateway.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::authority::{Authority, write_key};
use super::{ask, completion, gate, seen};
use crate::gate::Script;

#[tokio::test(flavor = "multi_thread")]
async fn a_new_pair_is_served_while_old_connections_go_on() {
    let authority = Authority::new();
    let gate = gate(&authority, |_| {}).await;
    gate.provider.play(Script::json(&completion()));
    let client = authority.client(&["http/1.1"]);
    let mut old = client.connect(&gate, "one.example").await.unwrap();
    assert_eq!(ask(&gate, &mut old).await, 200);

    // A certificate without its key is refused, loudly, and changes nothing.
    let (certificate, key) = authority.pair("two.example");
    std::fs::write(authority.path("c.pem"), certificate).unwrap();
    gate.running.reload();
    seen(&gate, "gatehouse_tls_reloads_total{outcome=\"refused\"} 1").await;
    seen(&gate, "gatehouse_tls_stale 1").await;
    client.connect(&gate, "one.example").await.unwrap();

    write_key(&authority.path("k.pem"), &key);
    gate.running.reload();
    seen(&gate, "gatehouse_tls_reloads_total{outcome=\"loaded\"} 1").await;
    seen(&gate, "gatehouse_tls_stale 0").await;
    let mut new = client.connect(&gate, "two.example").await.unwrap();
    assert!(client.connect(&gate, "one.example").await.is_err());
    assert_eq!(ask(&gate, &mut new).await, 200);
    assert_eq!(
        ask(&gate, &mut old).await,
        200,
        "the old connection goes on"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_files_is_noticed_without_a_signal() {
    let authority = Authority::new();
    let gate = gate(&authority, |config| {
        if let Some(tls) = &mut config.tls {
            tls.files.reread = Duration::from_millis(50);
        }
    })
    .await;
    authority.install("two.example");
    seen(&gate, "gatehouse_tls_reloads_total{outcome=\"loaded\"} 1").await;
    let client = authority.client(&[]);
    client.connect(&gate, "two.example").await.unwrap();
    std::fs::remove_file(authority.path("k.pem")).unwrap();
    seen(&gate, "gatehouse_tls_stale 1").await;
    client.connect(&gate, "two.example").await.unwrap();
    authority.install("three.example");
    seen(&gate, "gatehouse_tls_stale 0").await;
    client.connect(&gate, "three.example").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_reads_the_files_again_and_ends_nothing() {
    let authority = Authority::new();
    authority.install("127.0.0.1");
    let text = "config_version = 1\nlisten = '127.0.0.1:0'\nadmin_listen = '127.0.0.1:0'\n\
                [tls]\ncertificate = 'c.pem'\nkey = 'file:k.pem'\nnames = ['127.0.0.1']\n\
                reread = '1h'\n[[provider]]\nname = 'echo'\nprotocol = 'echo'\n";
    std::fs::write(authority.path("gatehouse.toml"), text).unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_gatehouse"))
        .args(["up", "--no-model", "--config", "gatehouse.toml"])
        .env_clear()
        .current_dir(authority.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = String::new();
    // Stays open: the key comes after the first line.
    let mut out = BufReader::new(process.stdout.take().unwrap());
    out.read_line(&mut first).unwrap();
    let address = first
        .split("https://")
        .nth(1)
        .and_then(|rest| rest.split(';').next());
    let address: SocketAddr = address
        .unwrap_or_else(|| panic!("{first}"))
        .parse()
        .unwrap();
    let client = authority.client(&[]);
    let certificate = async || {
        let stream = client.connect_to(address, "127.0.0.1").await.unwrap();
        stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    };
    let before = certificate().await;
    assert_eq!(before, certificate().await);
    authority.install("127.0.0.1");
    let signal = |name: &str| {
        let mut kill = Command::new("kill");
        kill.args([name, &process.id().to_string()]);
        assert!(kill.status().unwrap().success());
    };
    signal("-HUP");
    let mut tries = 0;
    while certificate().await == before {
        tries += 1;
        assert!(tries < 200, "the new certificate is served");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    signal("-TERM");
    assert!(process.wait().unwrap().success());
    drop(out);
}
