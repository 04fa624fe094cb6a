//! Certificates made for one test, and a client that trusts them.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gatehouse::config::{Tls, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::gate::Gate;

/// Writes a key as one has to be kept.
pub(super) fn write_key(path: &Path, key: &str) {
    use std::os::unix::fs::PermissionsExt;

    std::fs::write(path, key).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// An issuer of certificates, and a folder to put them in.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: String,
    pub(super) folder: tempfile::TempDir,
}

impl Authority {
    pub(super) fn new() -> Authority {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority {
            issuer: Issuer::new(params, key),
            pem,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A certificate and its key, in PEM.
    pub(super) fn pair(&self, name: &str) -> (String, String) {
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// Puts a pair where the gateway reads it.
    pub(super) fn install(&self, name: &str) {
        let (certificate, key) = self.pair(name);
        std::fs::write(self.path("c.pem"), certificate).unwrap();
        write_key(&self.path("k.pem"), &key);
    }

    pub(super) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn files(&self, client_ca: Option<&Path>) -> TlsFiles {
        TlsFiles {
            certificate: self.path("c.pem"),
            key: self.path("k.pem"),
            client_ca: client_ca.map(Path::to_owned),
            names: Vec::new(),
            // An hour: only those tests look again that ask.
            reread: Duration::from_secs(3600),
        }
    }

    pub(super) fn client(&self, alpn: &[&str]) -> Client {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap())
            .unwrap();
        Client {
            roots,
            alpn: alpn.iter().map(|it| it.as_bytes().to_vec()).collect(),
            versions: vec![&TLS13, &TLS12],
            certificate: None,
        }
    }
}

pub(super) struct Client {
    pub(super) roots: RootCertStore,
    pub(super) alpn: Vec<Vec<u8>>,
    pub(super) versions: Vec<&'static SupportedProtocolVersion>,
    pub(super) certificate: Option<(String, String)>,
}

impl Client {
    /// A TLS connection to the gate, which must prove to be `name`.
    pub(super) async fn connect(
        &self,
        gate: &Gate,
        name: &str,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        self.connect_to(gate.running.address(), name).await
    }

    pub(super) async fn connect_to(
        &self,
        address: SocketAddr,
        name: &str,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(ring)
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(self.roots.clone());
        let mut config = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        };
        config.alpn_protocols.clone_from(&self.alpn);
        let stream = TcpStream::connect(address).await?;
        let name = ServerName::try_from(name.to_owned()).unwrap();
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
    }
}

pub(super) fn tls(files: TlsFiles) -> Tls {
    let contents = files.contents().unwrap_or_else(|faults| panic!("{faults}"));
    let now = std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    match files.identity(&contents, now) {
        Ok(identity) => Tls {
            files,
            identity: Arc::new(identity),
        },
        Err(faults) => panic!("{faults}"),
    }
}
