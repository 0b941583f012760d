//! Connections with TLS at both ends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use rustls::{ClientConnection, StreamOwned};

use super::rig::{Client, Server, Side, connect, drive_to_end, drive_until, round_trip, server};
use crate::net::{DialOptions, HttpListener, ServerTls, TlsOptions};

const PING: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

/// Somebody who issues certificates.
pub(super) struct Authority {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    pub(super) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // Authorities of one name would be taken for each other.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("authority {}", NUMBER.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self { certificate: params.self_signed(&key).unwrap(), key }
    }

    pub(super) fn pem(&self) -> String {
        self.certificate.pem()
    }

    fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.certificate, &self.key).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    pub(super) fn server(&self, name: &str) -> ServerTls {
        let (chain, key) = self.issue(name);
        ServerTls::from_pem(chain.as_bytes(), key.as_bytes()).unwrap()
    }

    pub(super) fn trusted(&self) -> TlsOptions {
        only(&self.pem())
    }
}

/// A client and a server with a connection between them, before the handshake.
fn pair(host: &str, tls: TlsOptions, server_tls: ServerTls) -> (Side<Client>, Side<Server>) {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap().with_tls(server_tls);
    let port = listener.local_addr().unwrap().port();
    assert_eq!(listener.url("/mcp"), format!("https://127.0.0.1:{port}/mcp"));
    let mut client = Side::dial(host, port, true, DialOptions::new().tls(tls));
    let connection = connect(&mut client, &listener);
    (client, Side::accepted(server(), connection))
}

/// A call of this many bytes gets through.
fn works(host: &str, tls: TlsOptions, server_tls: ServerTls, bytes: usize) {
    let (mut client, mut server) = pair(host, tls, server_tls);
    round_trip(&mut client, &mut server, bytes);
}

/// What the client says in the end.
fn failure(host: &str, tls: TlsOptions, server_tls: ServerTls) -> String {
    let (mut client, mut server) = pair(host, tls, server_tls);
    drive_until(&mut [&mut client, &mut server], "closed")
}

#[test]
fn small_and_large_transfers_both_ways() {
    let authority = Authority::new();
    for bytes in [10, 8 << 20] {
        works("127.0.0.1", authority.trusted(), authority.server("127.0.0.1"), bytes);
    }
}

#[test]
fn a_name_is_checked() {
    let authority = Authority::new();
    works("localhost", authority.trusted(), authority.server("localhost"), 10);
    let failure = failure("localhost", authority.trusted(), authority.server("other.example"));
    assert!(failure.contains("could not be reached: localhost:"), "{failure}");
    assert!(failure.contains("not valid for name \"localhost\""), "{failure}");
    assert!(failure.contains("other.example"), "{failure}");
}

#[test]
fn a_stranger_is_refused() {
    let (friend, stranger) = (Authority::new(), Authority::new());
    let (mut client, mut server) = pair("127.0.0.1", friend.trusted(), stranger.server("127.0.0.1"));
    let failure = drive_until(&mut [&mut client, &mut server], "closed");
    assert!(failure.contains("could not be reached: 127.0.0.1:"), "{failure}");
    assert!(failure.contains("UnknownIssuer") && failure.contains("add its certificate authority"), "{failure}");
    let refusal = drive_until(&mut [&mut server], "closed");
    assert!(refusal.contains("UnknownCA") || refusal.contains("BadCertificate"), "the server is told: {refusal}");
}

/// A certificate that vouches for itself, as `openssl req -x509` makes it, with its key.
fn self_signed(change: impl FnOnce(&mut CertificateParams)) -> (String, ServerTls) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "localhost");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    let certificate = params.self_signed(&key).unwrap().pem();
    let shown = ServerTls::from_pem(certificate.as_bytes(), key.serialize_pem().as_bytes()).unwrap();
    (certificate, shown)
}

fn only(pem: &str) -> TlsOptions {
    TlsOptions::new().without_platform_roots().extra_ca_pem(pem.as_bytes()).unwrap()
}

#[test]
fn a_certificate_that_is_trusted_itself_is_taken() {
    for is_ca in [IsCa::Ca(BasicConstraints::Unconstrained), IsCa::ExplicitNoCa, IsCa::NoCa] {
        let (certificate, shown) = self_signed(|params| params.is_ca = is_ca);
        works("localhost", only(&certificate), shown, 10);
    }
    // One whose authority nobody knows is as good.
    let (chain, key) = Authority::new().issue("localhost");
    let shown = ServerTls::from_pem(chain.as_bytes(), key.as_bytes()).unwrap();
    works("localhost", only(&chain), shown, 10);
}

#[test]
fn a_certificate_that_is_trusted_itself_is_for_its_name_only() {
    let (certificate, shown) = self_signed(|_| {});
    let failure = failure("127.0.0.1", only(&certificate), shown);
    assert!(failure.contains("not valid for name \"127.0.0.1\""), "{failure}");
}

#[test]
fn a_certificate_that_is_trusted_itself_is_for_its_time_only() {
    let (certificate, shown) = self_signed(|params| params.not_after = rcgen::date_time_ymd(2020, 1, 1));
    let expired = failure("localhost", only(&certificate), shown);
    assert!(expired.contains("expired"), "{expired}");
    let (certificate, shown) = self_signed(|params| params.not_before = rcgen::date_time_ymd(2999, 1, 1));
    let early = failure("localhost", only(&certificate), shown);
    assert!(early.contains("not valid yet"), "{early}");
}

#[test]
fn another_certificate_of_the_same_name_is_not_trusted() {
    let (certificate, _) = self_signed(|_| {});
    let (_, impostor) = self_signed(|_| {});
    let refused = failure("localhost", only(&certificate), impostor);
    assert!(refused.contains("CaUsedAsEndEntity") && refused.contains("add this very certificate"), "{refused}");
    let (certificate, _) = self_signed(|params| params.is_ca = IsCa::NoCa);
    let (_, impostor) = self_signed(|params| params.is_ca = IsCa::NoCa);
    let refused = failure("localhost", only(&certificate), impostor);
    assert!(refused.contains("invalid peer certificate"), "{refused}");
}

/// Shows a certificate that is somebody else's.
#[derive(Debug)]
struct Thief(Arc<rustls::sign::CertifiedKey>);

impl rustls::server::ResolvesServerCert for Thief {
    fn resolve(&self, _: rustls::server::ClientHello<'_>) -> Option<Arc<rustls::sign::CertifiedKey>> {
        Some(self.0.clone())
    }
}

#[test]
fn a_certificate_that_is_trusted_itself_is_for_whoever_has_its_key() {
    let (certificate, _) = self_signed(|_| {});
    let shown = rustls::pki_types::pem::PemObject::from_pem_slice(certificate.as_bytes()).unwrap();
    let own_key = KeyPair::generate().unwrap().serialize_der();
    let own_key = rustls::crypto::ring::sign::any_ecdsa_type(&rustls::pki_types::PrivateKeyDer::Pkcs8(own_key.into()));
    let thief = Thief(Arc::new(rustls::sign::CertifiedKey::new(vec![shown], own_key.unwrap())));
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(thief));
    let refused = failure("localhost", only(&certificate), Arc::new(config).into());
    assert!(refused.contains("BadSignature"), "{refused}");
}

#[test]
fn a_stranger_is_taken_if_anybody_is() {
    let tls = TlsOptions::new().danger_accept_any_certificate();
    works("127.0.0.1", tls, Authority::new().server("other.example"), 10);
}

#[test]
fn clients_that_have_to_show_a_certificate() {
    let authority = Authority::new();
    let (chain, key) = authority.issue("127.0.0.1");
    let server = || ServerTls::with_client_ca(chain.as_bytes(), key.as_bytes(), authority.pem().as_bytes()).unwrap();
    let (own, own_key) = authority.issue("client.example");
    let shown = authority.trusted().client_certificate_pem(own.as_bytes(), own_key.as_bytes()).unwrap();
    assert!(!format!("{shown:?}").contains("PRIVATE"));
    works("127.0.0.1", shown, server(), 10);
    let refused = failure("127.0.0.1", authority.trusted(), server());
    assert!(refused.contains("CertificateRequired"), "{refused}");
}

#[test]
fn a_server_that_does_not_speak_tls() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let talk = thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = peer.read(&mut [0; 4096]);
    });
    let tls = TlsOptions::new().danger_accept_any_certificate();
    let mut client = Side::dial("127.0.0.1", port, true, DialOptions::new().tls(tls));
    let failure = drive_until(&mut [&mut client], "closed");
    talk.join().unwrap();
    assert!(failure.contains("does the other side speak TLS at all?"), "{failure}");
}

#[test]
fn nobody_to_trust() {
    let empty = TlsOptions::new().without_platform_roots();
    assert!(empty.load().unwrap_err().to_string().contains("no certificate authority"));
    assert!(TlsOptions::new().extra_ca_pem(b"nothing").is_err());
    assert!(TlsOptions::new().client_certificate_pem(b"nothing", b"nothing").is_err());
    let (chain, _) = Authority::new().issue("a.example");
    let (_, other_key) = Authority::new().issue("a.example");
    assert!(ServerTls::from_pem(chain.as_bytes(), b"nothing").unwrap_err().to_string().contains("private key"));
    assert!(ServerTls::from_pem(chain.as_bytes(), other_key.as_bytes()).is_err(), "the key is another's");
}

/// What the variable names is trusted. A process has to be started with it, so this test runs itself once more.
#[test]
fn the_environment_names_whom_to_trust() {
    if std::env::var_os("WINDLASS_TEST_TRUST").is_some() {
        let authority = std::env::var("SSL_CERT_FILE").unwrap();
        let key = std::fs::read_to_string(format!("{authority}.key")).unwrap();
        let chain = std::fs::read_to_string(format!("{authority}.chain")).unwrap();
        let tls = ServerTls::from_pem(chain.as_bytes(), key.as_bytes()).unwrap();
        works("127.0.0.1", TlsOptions::new(), tls, 10);
        return;
    }
    let authority = Authority::new();
    let (chain, key) = authority.issue("127.0.0.1");
    let file = std::env::temp_dir().join(format!("windlass-net-{}.pem", std::process::id()));
    let beside = |ending: &str| std::path::PathBuf::from(format!("{}{ending}", file.display()));
    std::fs::write(&file, authority.pem()).unwrap();
    std::fs::write(beside(".key"), key).unwrap();
    std::fs::write(beside(".chain"), chain).unwrap();
    let run = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "net::tests::secured::the_environment_names_whom_to_trust"])
        .env("SSL_CERT_FILE", &file)
        .env("WINDLASS_TEST_TRUST", "1")
        .output()
        .unwrap();
    for file in [file.clone(), beside(".key"), beside(".chain")] {
        std::fs::remove_file(file).unwrap();
    }
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
}

/// A client of rustls' own, blocking, on a connection that sends a byte at a time; and the server.
fn with_blocking_client() -> (StreamOwned<ClientConnection, ByteByByte>, Side<Server>) {
    let authority = Authority::new();
    let listener = HttpListener::bind("127.0.0.1:0").unwrap().with_tls(authority.server("127.0.0.1"));
    let config = authority.trusted().client_config().unwrap();
    let session = ClientConnection::new(config, "127.0.0.1".try_into().unwrap()).unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    socket.set_nodelay(true).unwrap();
    let side = Side::accepted(server(), listener.accept().unwrap());
    (StreamOwned::new(session, ByteByByte(socket)), side)
}

struct ByteByByte(TcpStream);

impl Read for ByteByByte {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(&mut buffer[..1])
    }
}

impl Write for ByteByByte {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(&bytes[..1])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn byte_by_byte_and_a_polite_end() {
    let (mut peer, mut side) = with_blocking_client();
    let talk = thread::spawn(move || {
        peer.write_all(PING).unwrap();
        assert_eq!(peer.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
        let mut answer = [0; 20];
        peer.read_exact(&mut answer).unwrap();
        peer.conn.send_close_notify();
        peer.flush().unwrap();
        // An end without a goodbye would be an error here.
        let mut rest = Vec::new();
        peer.read_to_end(&mut rest).unwrap();
        answer
    });
    drive_until(&mut [&mut side], "closed the peer closed the connection");
    drive_to_end(&mut [&mut side]);
    assert!(talk.join().unwrap().starts_with(b"{\"jsonrpc\":\"2.0\""));
}

#[test]
fn an_end_without_a_goodbye_is_none() {
    let (mut peer, mut side) = with_blocking_client();
    let talk = thread::spawn(move || {
        peer.write_all(PING).unwrap();
        peer.read_exact(&mut [0; 20]).unwrap();
        peer.sock.0.shutdown(std::net::Shutdown::Write).unwrap();
        peer
    });
    let failure = drive_until(&mut [&mut side], "closed");
    assert!(failure.contains("without a goodbye (close_notify)"), "{failure}");
    drop(talk.join().unwrap());
}

#[test]
fn a_client_that_says_nothing_is_given_up_by_its_machine_not_by_the_connection() {
    let authority = Authority::new();
    let listener = HttpListener::bind("127.0.0.1:0").unwrap().with_tls(authority.server("127.0.0.1"));
    let silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let connection = listener.accept().unwrap();
    assert!(!connection.is_open() && connection.deadline().is_none());
    let interest = connection.interest(false, true);
    assert!(interest.read && !interest.write && !interest.now, "the handshake comes first: {interest:?}");
    drop(silent);
}

#[test]
fn options_are_shared_and_read_once() {
    let tls = Authority::new().trusted();
    let clone = tls.clone();
    assert!(!clone.is_loaded());
    let config = tls.client_config().unwrap();
    assert!(clone.is_loaded() && Arc::ptr_eq(&config, &clone.client_config().unwrap()));
}
