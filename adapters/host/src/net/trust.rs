//! Trust in the very certificate that a server shows.
//!
//! Usually an authority vouches for a server. A certificate that was given as an authority and is shown by the server
//! itself needs nobody else's word: `openssl req -x509` makes such ones, and curl takes them. The usual way refuses
//! them, because an authority's certificate is not a server's. What else a certificate has to do still holds: it is for
//! this server's name, now is within its time, and the server has its key.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use super::tls::provider;

/// Who is trusted.
#[derive(Debug)]
pub(super) enum Trust {
    /// Whom the authorities vouch for, and the certificates that were given as such.
    Vouched { usual: Arc<WebPkiServerVerifier>, given: Vec<CertificateDer<'static>> },
    /// Any certificate is taken, but not any signature: the server at least has the key to what it shows.
    AnyCertificate,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Self::Vouched { usual, given } = self else { return Ok(ServerCertVerified::assertion()) };
        if !given.iter().any(|given| given == end_entity) {
            return usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        }
        let Validity { not_before, not_after } =
            Validity::of(end_entity).ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
        if now < not_before {
            return Err(CertificateError::NotValidYetContext { time: now, not_before }.into());
        }
        if now > not_after {
            return Err(CertificateError::ExpiredContext { time: now, not_after }.into());
        }
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
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

/// When a certificate is good. rustls tells it of no certificate that it does not verify as a whole.
#[derive(Debug, PartialEq, Eq)]
struct Validity {
    not_before: UnixTime,
    not_after: UnixTime,
}

/// Tags of the encoding (X.690) that lead to the validity.
mod tag {
    pub(super) const INTEGER: u8 = 0x02;
    pub(super) const UTC_TIME: u8 = 0x17;
    pub(super) const GENERALIZED_TIME: u8 = 0x18;
    pub(super) const SEQUENCE: u8 = 0x30;
    pub(super) const VERSION: u8 = 0xa0;
}

impl Validity {
    /// `None` if it cannot be read (RFC 5280, 4.1).
    fn of(certificate: &[u8]) -> Option<Self> {
        let (mut certificate, _) = element(certificate, tag::SEQUENCE)?;
        let mut signed = take(&mut certificate, tag::SEQUENCE)?;
        // The first version has no number.
        let _version = take(&mut signed, tag::VERSION);
        let _serial_number = take(&mut signed, tag::INTEGER)?;
        let _algorithm = take(&mut signed, tag::SEQUENCE)?;
        let _issuer = take(&mut signed, tag::SEQUENCE)?;
        let mut validity = take(&mut signed, tag::SEQUENCE)?;
        Some(Self { not_before: time(&mut validity)?, not_after: time(&mut validity)? })
    }
}

/// Takes the element that comes next, if it has this tag.
fn take<'a>(rest: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (content, after) = element(rest, tag)?;
    *rest = after;
    Some(content)
}

/// The content of an element, and what comes behind it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, length], rest) = bytes.split_first_chunk()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        // Longer ones say how many bytes their length has. Nobody has a certificate of more than 64 KiB.
        0x81 | 0x82 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            (digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

fn time(rest: &mut &[u8]) -> Option<UnixTime> {
    let (century, digits) = match take(rest, tag::UTC_TIME) {
        // Two digits of a year are of the years from 1950 to 2049.
        Some(digits) => (if *digits.first()? < b'5' { 20 } else { 19 }, digits),
        None => {
            let (century, digits) = take(rest, tag::GENERALIZED_TIME)?.split_at_checked(2)?;
            (number(century)?, digits)
        }
    };
    let (digits, b"Z") = digits.split_at_checked(12)? else { return None };
    let mut fields = digits.chunks(2).map(number);
    let mut field = || fields.next()?;
    let (year, month, day) = (century * 100 + field()?, field()?, field()?);
    let (hour, minute, second) = (field()?, field()?, field()?);
    let seconds = days_since_1970(year, month, day)? * 86_400 + hour * 3_600 + minute * 60 + second;
    // What is before 1970 is over in any case.
    Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds.try_into().unwrap_or(0))))
}

fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?.parse().ok()
}

fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    /// Days of a year before each of its months.
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let before = BEFORE.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    let leap_days = |until: i64| until / 4 - until / 100 + until / 400;
    // The leap day of this year counts once it is over.
    let last_leap = if month > 2 { year } else { year - 1 };
    Some((year - 1970) * 365 + leap_days(last_leap) - leap_days(1969) + before + day - 1)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    fn seconds(validity: &Validity) -> (u64, u64) {
        (validity.not_before.as_secs(), validity.not_after.as_secs())
    }

    #[test]
    fn times_of_both_forms_are_read() {
        let key = KeyPair::generate().unwrap();
        for (from, to) in [
            ((1975, 1, 1), (2049, 12, 31)),
            ((2000, 2, 29), (2000, 3, 1)),
            ((1999, 12, 31), (2100, 3, 1)),
            ((2024, 2, 29), (2052, 2, 29)),
        ] {
            let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
            params.not_before = date_time_ymd(from.0, from.1, from.2);
            params.not_after = date_time_ymd(to.0, to.1, to.2);
            let expected = (params.not_before.unix_timestamp() as u64, params.not_after.unix_timestamp() as u64);
            let certificate = params.self_signed(&key).unwrap();
            assert_eq!(seconds(&Validity::of(certificate.der()).unwrap()), expected, "{from:?} {to:?}");
        }
    }

    #[test]
    fn what_is_cut_off_is_not_read() {
        let certificate = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap().cert;
        let whole: &[u8] = certificate.der();
        for length in 0..whole.len() {
            assert_eq!(Validity::of(&whole[..length]), None, "the first {length} bytes");
        }
        assert!(Validity::of(whole).is_some());
    }
}
