//! TLS on the listener: which files, and whether what is in them can serve callers.
//!
//! What would fail every handshake (another key, an expired certificate, no name) is a fault here,
//! so that `gatehouse check` finds it, and a running gateway refuses to reload it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gatehouse_envelope::{digest::sha256, small_file};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::der::oid::db::rfc5280::{ANY_EXTENDED_KEY_USAGE, ID_KP_SERVER_AUTH};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{ExtendedKeyUsage, SubjectAltName};
use zeroize::Zeroizing;

use super::check::Check;
use super::fault::Faults;
use super::raw::RawTls;
use super::secret_file;

const CERTIFICATE: &str = "tls.certificate";
const KEY: &str = "tls.key";
const CLIENT_CA: &str = "tls.client_ca";

const REREAD: Duration = Duration::from_secs(10);

/// TLS on the listener. Has no `Debug`: it holds a private key.
#[derive(Clone)]
pub struct Tls {
    /// Where it comes from.
    pub files: TlsFiles,
    /// What was in the files when the configuration was read.
    pub identity: Arc<Identity>,
}

/// The files behind the listener's TLS, which may change while the gateway runs.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// PEM: the server's certificate, then its intermediates.
    pub certificate: PathBuf,
    /// PEM: the private key of the first certificate, not encrypted.
    pub key: PathBuf,
    /// PEM: who may issue callers' certificates. If set, a caller without one is refused.
    pub client_ca: Option<PathBuf>,
    /// The names and addresses by which callers reach the gateway; the certificate has them all.
    pub names: Vec<ServerName<'static>>,
    /// How often the files are looked at.
    pub reread: Duration,
}

/// A certificate with its key, ready to serve. Has no `Debug`: it holds a private key.
pub struct Identity {
    /// For handshakes. TLS 1.2 and 1.3; h2 and HTTP/1.1 by ALPN; no early data.
    pub server: Arc<ServerConfig>,
    /// When the certificate expires.
    pub not_after: SystemTime,
    /// Of the files' contents.
    pub digest: [u8; 32],
}

/// What was in the files at one moment.
pub struct Contents {
    certificate: Vec<u8>,
    key: Zeroizing<Vec<u8>>,
    client_ca: Option<Vec<u8>>,
}

impl TlsFiles {
    /// Reads the files.
    ///
    /// # Errors
    /// A fault for each that cannot be read, and for a key that others may read or write.
    pub fn contents(&self) -> Result<Contents, Faults> {
        let mut faults = Faults::default();
        let certificate = read(
            &self.certificate,
            CERTIFICATE,
            small_file::bytes,
            &mut faults,
        );
        let key = read(&self.key, KEY, secret_file::read, &mut faults);
        let client_ca = self.client_ca.as_deref();
        let contents = Contents {
            certificate,
            key,
            client_ca: client_ca.map(|path| read(path, CLIENT_CA, small_file::bytes, &mut faults)),
        };
        if faults.is_empty() {
            Ok(contents)
        } else {
            Err(faults)
        }
    }

    /// What the contents serve as at the time `now`.
    ///
    /// # Errors
    /// Every fault that would fail handshakes.
    pub fn identity(&self, contents: &Contents, now: SystemTime) -> Result<Identity, Faults> {
        let mut faults = Faults::default();
        let chain = certificates(&contents.certificate, CERTIFICATE, &mut faults);
        let not_after = self.leaf(&chain, now, &mut faults);
        let roots = contents
            .client_ca
            .as_ref()
            .map(|pem| roots(pem, &mut faults));
        let server = server(chain, &contents.key, roots, &mut faults);
        match (server, not_after) {
            (Some(server), Some(not_after)) if faults.is_empty() => Ok(Identity {
                server: Arc::new(server),
                not_after,
                digest: contents.digest(),
            }),
            _ => Err(faults),
        }
    }

    /// Judges the server's own certificate; when it expires.
    fn leaf(
        &self,
        chain: &[CertificateDer<'_>],
        now: SystemTime,
        faults: &mut Faults,
    ) -> Option<SystemTime> {
        let der = chain.first()?;
        let (Ok(leaf), Ok(parsed)) = (Certificate::from_der(der), ParsedCertificate::try_from(der))
        else {
            faults.add(CERTIFICATE, "begins with a certificate that cannot be read");
            return None;
        };
        let validity = leaf.tbs_certificate().validity();
        let (from, until) = (validity.not_before, validity.not_after);
        if now < from.to_system_time() {
            let message = format!("is not valid before {}", from.to_date_time());
            faults.add(CERTIFICATE, message);
        }
        if now > until.to_system_time() {
            faults.add(CERTIFICATE, format!("expired at {}", until.to_date_time()));
        }
        if !has_name(&leaf) {
            let message = "has no subjectAltName with a host name or an address; clients refuse it";
            faults.add(CERTIFICATE, message);
        }
        if !is_for_servers(&leaf) {
            let message = "has an extendedKeyUsage without serverAuth; clients refuse it";
            faults.add(CERTIFICATE, message);
        }
        for name in &self.names {
            if verify_server_name(&parsed, name).is_err() {
                let message = format!("{} is not in the certificate", name.to_str());
                faults.add("tls.names", message);
            }
        }
        Some(until.to_system_time())
    }
}

impl Contents {
    /// Equal for equal contents. Not secret, but not for show either: it covers the key.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        // Digests of each, so that bytes that move from one file to another are a change.
        let ca = self.client_ca.as_deref().unwrap_or_default();
        let each = [&self.certificate, &*self.key, ca].map(|bytes: &[u8]| sha256(&[bytes]));
        sha256(&[each.as_flattened()])
    }
}

fn read<T: Default>(
    path: &Path,
    place: &str,
    how: impl Fn(&Path) -> io::Result<T>,
    faults: &mut Faults,
) -> T {
    how(path).unwrap_or_else(|error| {
        faults.add(place, format!("cannot read {}: {error}", path.display()));
        T::default()
    })
}

fn has_name(leaf: &Certificate) -> bool {
    let Ok(Some((_, names))) = leaf.tbs_certificate().get_extension::<SubjectAltName>() else {
        return false;
    };
    let usable =
        |name: &GeneralName| matches!(name, GeneralName::DnsName(_) | GeneralName::IpAddress(_));
    names.0.iter().any(usable)
}

fn is_for_servers(leaf: &Certificate) -> bool {
    match leaf.tbs_certificate().get_extension::<ExtendedKeyUsage>() {
        Ok(Some((_, usage))) => {
            usage.0.contains(&ID_KP_SERVER_AUTH) || usage.0.contains(&ANY_EXTENDED_KEY_USAGE)
        }
        Ok(None) => true,
        Err(_) => false,
    }
}

fn certificates(pem: &[u8], place: &str, faults: &mut Faults) -> Vec<CertificateDer<'static>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => found,
        Ok(_) => {
            faults.add(place, "holds no certificate in PEM");
            Vec::new()
        }
        Err(_) => {
            faults.add(place, "is not PEM");
            Vec::new()
        }
    }
}

fn roots(pem: &[u8], faults: &mut Faults) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem, CLIENT_CA, faults) {
        if roots.add(certificate).is_err() {
            faults.add(CLIENT_CA, "holds a certificate that cannot be an issuer");
        }
    }
    roots
}

/// `None` with a fault, or without one if `chain` or `roots` had theirs.
fn server(
    chain: Vec<CertificateDer<'static>>,
    key: &[u8],
    roots: Option<RootCertStore>,
    faults: &mut Faults,
) -> Option<ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let Ok(key) = PrivateKeyDer::from_pem_slice(key) else {
        faults.add(
            KEY,
            "holds no private key in PEM; encrypted ones are not read",
        );
        return None;
    };
    if chain.is_empty() {
        return None;
    }
    let certified = match CertifiedKey::from_der(chain, key, &provider) {
        Ok(certified) => certified,
        Err(rustls::Error::InconsistentKeys(_)) => {
            faults.add(KEY, "is not the key of the first certificate");
            return None;
        }
        Err(_) => {
            faults.add(KEY, "is of a kind that cannot be used");
            return None;
        }
    };
    configuration(certified, roots, provider)
        .inspect_err(|message| faults.add(CLIENT_CA, message.as_str()))
        .ok()
}

fn configuration(
    certified: CertifiedKey,
    roots: Option<RootCertStore>,
    provider: Arc<CryptoProvider>,
) -> Result<ServerConfig, String> {
    // Named, so that an update of the library does not change them.
    let versions = [&TLS13, &TLS12];
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .map_err(|error| error.to_string())?;
    let builder = match roots {
        Some(roots) => {
            let roots = Arc::new(roots);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
                .build()
                .map_err(|error| error.to_string())?;
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    let mut server = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(server)
}

impl Check<'_> {
    pub(super) fn tls(&mut self, raw: Option<&RawTls>) -> Option<Tls> {
        let raw = raw?;
        let certificate = self.tls_path(CERTIFICATE, raw.certificate.as_deref());
        let key = self.tls_key(raw.key.as_deref());
        let client_ca = match raw.client_ca.as_deref() {
            Some(path) => Some(self.tls_path(CLIENT_CA, Some(path))?),
            None => None,
        };
        let names = self.tls_names(&raw.names);
        let files = TlsFiles {
            reread: self.duration("tls.reread", raw.reread.as_deref(), REREAD),
            certificate: certificate?,
            key: key?,
            client_ca,
            names,
        };
        let contents = files.contents();
        match contents.and_then(|contents| files.identity(&contents, self.environment.now())) {
            Ok(identity) => Some(Tls {
                files,
                identity: Arc::new(identity),
            }),
            Err(faults) => {
                for fault in faults.iter() {
                    self.faults.add(fault.path.clone(), fault.message.clone());
                }
                None
            }
        }
    }

    fn tls_path(&mut self, place: &str, text: Option<&str>) -> Option<PathBuf> {
        match text {
            Some(text) if !text.is_empty() => Some(self.environment.path(text)),
            _ => {
                self.faults
                    .add(place, "is missing; write the path of a PEM file");
                None
            }
        }
    }

    /// `env:` would be a key that cannot be reloaded with its certificate.
    fn tls_key(&mut self, text: Option<&str>) -> Option<PathBuf> {
        let path = text.and_then(|text| text.strip_prefix("file:"));
        if path.is_none_or(str::is_empty) {
            let message = "must be a reference, file:PATH, never the key itself";
            self.faults.add(KEY, message);
        }
        path.map(|path| self.environment.path(path))
    }

    fn tls_names(&mut self, names: &[String]) -> Vec<ServerName<'static>> {
        let mut read = Vec::new();
        for (at, name) in names.iter().enumerate() {
            match ServerName::try_from(name.clone()) {
                Ok(name) => read.push(name),
                Err(_) => {
                    let message = "is not a host name or an address";
                    self.faults.add(format!("tls.names[{at}]"), message);
                }
            }
        }
        read
    }
}

#[cfg(test)]
mod tests;
