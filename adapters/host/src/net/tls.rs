//! Who is trusted, and what is shown to them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, ServerConfig, SignatureScheme,
};

use super::trust::Trust;

/// What is spoken inside: both sides say so, so that neither takes the other for something else.
const PROTOCOL: &[u8] = b"http/1.1";

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

/// A certificate with its key.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

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
    pub(super) fn client_config(&self) -> Loaded {
        self.loaded.get_or_init(|| self.build()).clone()
    }

    /// Whether [`client_config`](Self::client_config) has its answer ready.
    pub(super) fn is_loaded(&self) -> bool {
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
        let builder = match self.accept_any {
            true => builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate)),
            false => builder.dangerous().with_custom_certificate_verifier(Arc::new(self.trust()?)),
        };
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
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(self.roots()?), provider()).build();
        let usual = usual.map_err(|error| TlsError::new(format!("the CA cannot be used: {error}")))?;
        Ok(Trust::new(usual, self.extra_roots.clone()))
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

/// How a server secures the connections of its clients.
#[derive(Clone)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
}

impl ServerTls {
    /// Shows this certificate. `chain` begins with the server's own; `key` belongs to that.
    ///
    /// # Errors
    ///
    /// When there is no certificate or no key in the text, or the one does not belong to the other.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        Self::build(chain, key, None)
    }

    /// The same, for clients only that show a certificate of this authority.
    ///
    /// # Errors
    ///
    /// As [`from_pem`](Self::from_pem), and when there is no certificate in `client_ca`.
    pub fn with_client_ca(chain: &[u8], key: &[u8], client_ca: &[u8]) -> Result<Self, TlsError> {
        Self::build(chain, key, Some(client_ca))
    }

    fn build(chain: &[u8], key: &[u8], client_ca: Option<&[u8]>) -> Result<Self, TlsError> {
        let Identity { chain, key } = Identity::from_pem(chain, key)?;
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::new(error.to_string()))?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                for root in certificates(pem, "the clients' CA")? {
                    roots
                        .add(root)
                        .map_err(|error| TlsError::new(format!("the clients' CA cannot be used: {error}")))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider()).build();
                builder.with_client_cert_verifier(
                    verifier.map_err(|error| TlsError::new(format!("the clients' CA cannot be used: {error}")))?,
                )
            }
        };
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| TlsError::new(format!("the server's certificate and its key: {error}")))?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Self { config: Arc::new(config) })
    }

    pub(super) fn config(&self) -> &Arc<ServerConfig> {
        &self.config
    }
}

/// For those who need more than this offers: certificates that change, a provider of their own.
impl From<Arc<ServerConfig>> for ServerTls {
    fn from(config: Arc<ServerConfig>) -> Self {
        Self { config }
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").finish_non_exhaustive()
    }
}

/// Why connections cannot be secured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError {
    detail: String,
}

impl TlsError {
    fn new(detail: impl Into<String>) -> Self {
        Self { detail: detail.into() }
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for TlsError {}

/// What went wrong in a session, and what to do about it if that is known.
pub(super) fn describe(error: &Error) -> String {
    let advice = match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "; nobody who is trusted vouches for it: add its certificate authority to the TLS options"
        }
        // There is no word of rustls' own for it.
        Error::InvalidCertificate(CertificateError::Other(other)) if other.to_string() == "CaUsedAsEndEntity" => {
            "; it is an authority's own, which nobody can vouch for: add this very certificate to the TLS options"
        }
        // What a server says in place of an alert, if it expects plain HTTP.
        Error::InvalidMessage(_) => "; does the other side speak TLS at all?",
        _ => "",
    };
    format!("TLS: {error}{advice}")
}

impl Identity {
    fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain = certificates(chain, "the certificate")?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| TlsError::new(format!("there is no private key in the PEM text: {error}")))?;
        Ok(Self { chain, key })
    }
}

fn certificates(pem: &[u8], whose: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| TlsError::new(format!("{whose} is not PEM: {error}")))?;
    if found.is_empty() {
        return Err(TlsError::new(format!("{whose}: there is no certificate in the PEM text")));
    }
    Ok(found)
}

fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    PROVIDER.get_or_init(|| Arc::new(rustls::crypto::ring::default_provider())).clone()
}

/// Takes any certificate, but not any signature: the server at least has the key to what it shows.
#[derive(Debug)]
struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &provider().signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &provider().signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}
