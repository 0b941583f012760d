//! Who is trusted, and what is shown to them.

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "server")]
mod server;

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CertificateError, Error};

#[cfg(feature = "client")]
pub use client::TlsOptions;
#[cfg(feature = "server")]
pub use server::ServerTls;

/// What is spoken inside: both sides say so, so that neither takes the other for something else.
const PROTOCOL: &[u8] = b"http/1.1";

/// A certificate with its key.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
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

pub(crate) fn certificates(pem: &[u8], whose: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| TlsError::new(format!("{whose} is not PEM: {error}")))?;
    if found.is_empty() {
        return Err(TlsError::new(format!("{whose}: there is no certificate in the PEM text")));
    }
    Ok(found)
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    PROVIDER.get_or_init(|| Arc::new(rustls::crypto::ring::default_provider())).clone()
}
