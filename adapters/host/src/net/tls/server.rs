//! What a server shows, and to whom.

use std::fmt;
use std::sync::Arc;

use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use super::{Identity, PROTOCOL, TlsError, certificates, provider};

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

    pub(in crate::net) fn config(&self) -> &Arc<ServerConfig> {
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
