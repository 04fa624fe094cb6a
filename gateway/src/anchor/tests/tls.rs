//! Servers with certificates of an issuer of their own.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

use super::*;

/// An issuer, in PEM, and a port where TLS with its certificate for `localhost` leads to `plain`.
async fn front(plain: SocketAddr) -> (Vec<u8>, u16, JoinSet<()>) {
    let key = KeyPair::generate().unwrap();
    let mut root = CertificateParams::new([]).unwrap();
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = root.self_signed(&key).unwrap().pem().into_bytes();
    let issuer = Issuer::new(root, key);
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let ciphers = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(ciphers)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let config = config.with_single_cert(vec![leaf.der().clone()], key);
    let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // Whoever does not trust it hangs up.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut plain = TcpStream::connect(plain).await.unwrap();
            let _ended = tokio::io::copy_bidirectional(&mut stream, &mut plain).await;
        }
    });
    (pem, port, serving)
}

#[tokio::test]
async fn an_issuer_of_its_own_is_trusted_for_the_witness_that_names_it_and_for_no_other() {
    let log = Log::new();
    log.grow(1);
    let house = House::start(&log).await;
    let (ca, port, _serving) = front(house.server.address).await;
    let (another, ..) = front(house.server.address).await;
    let follower = |ca: Option<Vec<u8>>| {
        let post = Post::new(ca.as_deref()).unwrap();
        let witness = config::Witness {
            url: format!("https://localhost:{port}/add-checkpoint")
                .parse()
                .unwrap(),
            key: house.key(),
            ca,
            timeout: Duration::from_secs(30),
        };
        Follower::new(
            Arc::new(witness),
            log.anchors.clone(),
            post,
            log.clocks.clone(),
        )
    };
    for stranger in [None, Some(another)] {
        let follower = follower(stranger);
        follower.attempt().await;
        let why = "no TLS, or a certificate that is not trusted (ca)";
        assert_eq!(followed(&follower), (1, why.to_owned()));
    }
    assert!(house.olds().is_empty());
    let follower = follower(Some(ca));
    follower.attempt().await;
    assert_eq!(followed(&follower), (0, String::new()));
}
