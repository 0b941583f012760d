//! Certificates for the tests, and somebody who issues them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use windlass_host::{ServerTls, TlsOptions};

/// Somebody who issues certificates.
pub(crate) struct Authority {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    pub(crate) fn new() -> Self {
        // Authorities of one name would be taken for each other.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let name = format!("authority {}", NUMBER.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self { certificate: params.self_signed(&key).unwrap(), key }
    }

    /// What a server of these names shows.
    pub(crate) fn server(&self, names: &[&str]) -> ServerTls {
        let (chain, key) = self.issue(names);
        ServerTls::from_pem(chain.as_bytes(), key.as_bytes()).unwrap()
    }

    /// The same, for a server that is written by hand.
    pub(crate) fn server_config(&self, names: &[&str]) -> Arc<rustls::ServerConfig> {
        let (chain, key) = self.issue(names);
        let chain = vec![CertificateDer::from_pem_slice(chain.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        Arc::new(builder.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap())
    }

    /// The same, for clients only that show a certificate of this authority.
    pub(crate) fn server_for_those_it_knows(&self, names: &[&str]) -> ServerTls {
        let (chain, key) = self.issue(names);
        ServerTls::with_client_ca(chain.as_bytes(), key.as_bytes(), self.certificate.pem().as_bytes()).unwrap()
    }

    /// A client that shows a certificate of this authority.
    pub(crate) fn client(&self, options: TlsOptions) -> TlsOptions {
        let (chain, key) = self.issue(&["client.example"]);
        options.client_certificate_pem(chain.as_bytes(), key.as_bytes()).unwrap()
    }

    /// A certificate for these names, and its key.
    fn issue(&self, names: &[&str]) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let names: Vec<_> = names.iter().map(ToString::to_string).collect();
        let params = CertificateParams::new(names).unwrap();
        let certificate = params.signed_by(&key, &self.certificate, &self.key).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// Trusts this authority, and nobody else.
    pub(crate) fn trusted(&self) -> TlsOptions {
        TlsOptions::new().without_platform_roots().extra_ca_pem(self.certificate.pem().as_bytes()).unwrap()
    }
}
