//! Whom a client trusts.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use super::{Identity, PROTOCOL, TlsError, certificates, provider};
use crate::net::trust::Trust;

/// How a client secures its connections: whom it trusts and what it shows.
///
/// Trusted is whom the platform trusts; where the variables `SSL_CERT_FILE` or `SSL_CERT_DIR` are set, those whom they
/// name instead. The certificates are read once, at the first secured connection, and shared by clones of these
/// options.
///
/// ```
/// use windlass_host::{DialOptions, TlsOptions};
///
/// # fn example(corporate_ca: &[u8]) -> Result<(), windlass_host::TlsError> {
/// let options = DialOptions::new().tls(TlsOptions::new().extra_ca_pem(corporate_ca)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TlsOptions {
    platform_roots: bool,
    extra_roots: Vec<CertificateDer<'static>>,
    identity: Option<Arc<Identity>>,
    accept_any: bool,
    loaded: Arc<OnceLock<Loaded>>,
}

type Loaded = Result<Arc<ClientConfig>, TlsError>;

impl TlsOptions {
    /// Trusts whom the platform trusts, and shows nothing.
    pub fn new() -> Self {
        Self {
            platform_roots: true,
            extra_roots: Vec::new(),
            identity: None,
            accept_any: false,
            loaded: Arc::default(),
        }
    }

    /// Trusts these certificate authorities as well, and servers that show one of these very certificates: one that
    /// vouches for itself, as `openssl req -x509` makes it, is given here.
    ///
    /// # Errors
    ///
    /// When there is no certificate in the text.
    pub fn extra_ca_pem(mut self, pem: &[u8]) -> Result<Self, TlsError> {
        self.extra_roots.extend(certificates(pem, "the CA")?);
        Ok(self.changed())
    }

    /// Trusts the certificate authorities that were given, and nobody else.
    #[must_use]
    pub fn without_platform_roots(self) -> Self {
        Self { platform_roots: false, ..self }.changed()
    }

    /// Shows this certificate to servers that ask for one. `chain` begins with the client's own.
    ///
    /// # Errors
    ///
    /// When there is no certificate or no key in the text.
    pub fn client_certificate_pem(self, chain: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let identity = Identity::from_pem(chain, key)?;
        Ok(Self { identity: Some(Arc::new(identity)), ..self }.changed())
    }

    /// Takes any certificate for good: **whoever is in between can read and change everything**. For tests.
    #[must_use]
    pub fn danger_accept_any_certificate(self) -> Self {
        Self { accept_any: true, ..self }.changed()
    }

    /// Reads the certificates now. It is done at the first secured connection anyway; here, what is wrong with them is
    /// seen sooner.
    ///
    /// # Errors
    ///
    /// When nobody would be trusted, or the key does not belong to the certificate.
    pub fn load(&self) -> Result<(), TlsError> {
        self.client_config().map(|_| ())
    }

    /// Reads the certificates, if that has not been done. This may take a while.
    pub(in crate::net) fn client_config(&self) -> Loaded {
        self.loaded.get_or_init(|| self.build()).clone()
    }

    /// Whether [`client_config`](Self::client_config) has its answer ready.
    pub(in crate::net) fn is_loaded(&self) -> bool {
        self.loaded.get().is_some()
    }

    /// What was loaded belongs to other options.
    fn changed(self) -> Self {
        Self { loaded: Arc::default(), ..self }
    }

    fn build(&self) -> Loaded {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::new(error.to_string()))?;
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(self.trust()?));
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
                .map_err(|error| TlsError::new(format!("the client certificate and its key: {error}")))?,
        };
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Arc::new(config))
    }

    fn trust(&self) -> Result<Trust, TlsError> {
        if self.accept_any {
            return Ok(Trust::AnyCertificate);
        }
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(self.roots()?), provider()).build();
        let usual = usual.map_err(|error| TlsError::new(format!("the CA cannot be used: {error}")))?;
        Ok(Trust::Vouched { usual, given: self.extra_roots.clone() })
    }

    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        for root in &self.extra_roots {
            roots.add(root.clone()).map_err(|error| TlsError::new(format!("the CA cannot be used: {error}")))?;
        }
        let mut complaint = String::new();
        if self.platform_roots {
            let found = rustls_native_certs::load_native_certs();
            // A platform has certificates that nobody can read any more; the others are still good.
            roots.add_parsable_certificates(found.certs);
            complaint = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        }
        if roots.is_empty() {
            return Err(TlsError::new(format!(
                "there is no certificate authority to trust{complaint}; set SSL_CERT_FILE, or give one to the TLS options"
            )));
        }
        Ok(roots)
    }
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TlsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsOptions")
            .field("platform_roots", &self.platform_roots)
            .field("extra_roots", &self.extra_roots.len())
            .field("identity", &self.identity.as_ref().map(|_| "(hidden)"))
            .field("accept_any", &self.accept_any)
            .finish()
    }
}
