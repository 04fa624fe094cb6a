//! Whose certificates servers may have, where they are not those that browsers trust.

use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, pem::PemObject};

use super::check::Check;

impl Check<'_> {
    /// A file of certificates of issuers, in PEM: as it was read, since it holds nothing else.
    pub(super) fn issuers(&mut self, key: &str, file: &str) -> Option<Vec<u8>> {
        let text = self.environment.file(file);
        let checked = text.and_then(|text| {
            let issuers: Result<Vec<_>, _> =
                CertificateDer::pem_slice_iter(text.as_bytes()).collect();
            let issuers = issuers.map_err(|_| format!("{file} is not PEM"))?;
            let mut roots = RootCertStore::empty();
            let (good, bad) = roots.add_parsable_certificates(issuers);
            if good == 0 || bad > 0 {
                return Err(format!("{file} must hold certificates of issuers, as PEM"));
            }
            Ok(text.into_bytes())
        });
        checked
            .map_err(|message| self.faults.add(key, message))
            .ok()
    }

    /// Issuers for an address that may not be one with TLS.
    pub(super) fn issuers_for(
        &mut self,
        key: &str,
        file: Option<&str>,
        is_https: bool,
    ) -> Option<Vec<u8>> {
        let file = file?;
        if !is_https {
            self.faults.add(key, "is for https only");
        }
        self.issuers(key, file)
    }
}
