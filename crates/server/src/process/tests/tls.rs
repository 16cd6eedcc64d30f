//! The API over TLS, with a certificate that changes meanwhile.

use super::*;
use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, version};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A process with a certificate for `localhost`.
pub(super) struct TlsServer {
    folder: Folder,
    pub(super) address: SocketAddr,
    pub(super) certificate: CertificateDer<'static>,
    reloads: mpsc::Sender<()>,
    leave: oneshot::Sender<()>,
    served: JoinHandle<Result<(), ServeError>>,
}

pub(super) const TOKEN: &str = "0123456789abcdef";

fn certificate() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap()
}

impl TlsServer {
    async fn start(name: &str) -> Self {
        Self::start_with(name, |_| {}).await
    }

    /// The same with other settings.
    pub(super) async fn start_with(name: &str, configure: impl FnOnce(&mut Config)) -> Self {
        let folder = Folder::new(name);
        std::fs::create_dir_all(&folder.0).unwrap();
        let made = certificate();
        let (file, key) = (folder.0.join("cert.pem"), folder.0.join("key.pem"));
        std::fs::write(&file, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let mut config = folder.config();
        (config.tls_certificate, config.tls_key) = (Some(file), Some(key));
        config.bootstrap_token = Some(Secret::new(TOKEN));
        configure(&mut config);
        let listener = listener();
        let address = listener.local_addr().unwrap();
        let (reloads, reloaded) = mpsc::channel(1);
        let (leave, left) = oneshot::channel::<()>();
        let (ready, is_ready) = oneshot::channel();
        let served = tokio::spawn(serve(config, no_trials(), listener, reloaded, || ready.send(()).unwrap(), async {
            let _ = left.await;
        }));
        is_ready.await.unwrap();
        Self { folder, address, certificate: made.cert.der().clone(), reloads, leave, served }
    }

    /// A connection of a client that trusts this certificate.
    async fn connect(
        &self,
        trusted: &CertificateDer<'static>,
        version: &'static SupportedProtocolVersion,
    ) -> io::Result<TlsStream<TcpStream>> {
        let tcp = TcpStream::connect(self.address).await?;
        handshake(tcp, trusted, version).await
    }

    async fn request(&self, lines: &str, body: &str) -> String {
        let mut client = self.connect(&self.certificate, &version::TLS13).await.unwrap();
        let length = body.len();
        let request = format!(
            "{lines} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\
             Origin: https://localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        client.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        client.read_to_string(&mut response).await.unwrap();
        response
    }

    pub(super) async fn stop(self) {
        self.leave.send(()).unwrap();
        self.served.await.unwrap().unwrap();
        drop(self.folder);
    }
}

/// The handshake of a client that trusts this certificate.
pub(super) async fn handshake(
    tcp: TcpStream,
    trusted: &CertificateDer<'static>,
    version: &'static SupportedProtocolVersion,
) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_protocol_versions(&[version]).unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, tcp).await
}

pub(super) async fn exchange(client: &mut TlsStream<TcpStream>) -> String {
    client.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut start = [0; 15];
    client.read_exact(&mut start).await.unwrap();
    let mut rest = [0; 4096];
    // The rest of a response of one record.
    let _ = client.read(&mut rest).await.unwrap();
    String::from_utf8_lossy(&start).into_owned()
}

#[tokio::test]
async fn clients_are_served_over_tls() {
    let server = TlsServer::start("tls").await;
    for version in [&version::TLS12, &version::TLS13] {
        let mut client = server.connect(&server.certificate, version).await.unwrap();
        assert_eq!(client.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        assert_eq!(exchange(&mut client).await, "HTTP/1.1 200 OK");
        assert_eq!(exchange(&mut client).await, "HTTP/1.1 200 OK", "again on the same connection");
    }
    // Many records, more than the socket takes at once.
    let document = server.request("GET /api/openapi.json", "").await;
    let (_, body) = document.split_once("\r\n\r\n").unwrap();
    assert!(body.len() > 400_000 && body.trim_end().ends_with('}'), "{} bytes", body.len());
    // The origin is the one with https, and the cookie is for https alone.
    let session = server.request("POST /api/session", "").await;
    assert!(session.starts_with("HTTP/1.1 20") && session.contains("SameSite=Strict; Secure"), "{session}");
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_tls_is_refused_and_counted() {
    let server = TlsServer::start("tls-plain").await;
    let plain = get(server.address, "/readyz", "").await;
    assert!(plain.starts_with("HTTP/1.1 400") && plain.ends_with("use https:// instead of http://.\n"), "{plain}");
    let mut garbage = TcpStream::connect(server.address).await.unwrap();
    garbage.write_all(&[0; 64]).await.unwrap();
    let mut received = Vec::new();
    let _ = garbage.read_to_end(&mut received).await;
    let stranger = certificate();
    assert!(server.connect(stranger.cert.der(), &version::TLS13).await.is_err());
    let page = server.request("GET /metrics", "").await;
    for line in ["{outcome=\"completed\"} 1", "{outcome=\"failed\"} ", "{outcome=\"plain_text\"} 1"] {
        assert!(page.contains(&format!("gauntlet_tls_handshakes_total{line}")), "{line}: {page}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_certificate_is_read_again() {
    let server = TlsServer::start("tls-reload").await;
    let mut old = server.connect(&server.certificate, &version::TLS13).await.unwrap();
    let (file, key) = (server.folder.0.join("cert.pem"), server.folder.0.join("key.pem"));
    let next = certificate();
    // A certificate without its key is refused. The third message is taken when the first has been worked off.
    std::fs::write(&file, next.cert.pem()).unwrap();
    for _ in 0..3 {
        server.reloads.send(()).await.unwrap();
    }
    let mut client = server.connect(&server.certificate, &version::TLS13).await.unwrap();
    assert_eq!(exchange(&mut client).await, "HTTP/1.1 200 OK");
    std::fs::write(&key, next.signing_key.serialize_pem()).unwrap();
    server.reloads.send(()).await.unwrap();
    let mut client = loop {
        if let Ok(client) = server.connect(next.cert.der(), &version::TLS13).await {
            break client;
        }
    };
    assert_eq!(exchange(&mut client).await, "HTTP/1.1 200 OK");
    assert_eq!(exchange(&mut old).await, "HTTP/1.1 200 OK", "a connection outlives its certificate");
    drop((old, client));
    server.stop().await;
}

#[track_caller]
fn check_refused(certificate: &str, key: &str, want: &str) {
    let folder = Folder::new("tls-files");
    std::fs::create_dir_all(&folder.0).unwrap();
    let (file, key_file) = (folder.0.join("cert.pem"), folder.0.join("key.pem"));
    std::fs::write(&file, certificate).unwrap();
    std::fs::write(&key_file, key).unwrap();
    let Err(why) = ServerTls::load(&file, &key_file) else { panic!("{want}: it was taken") };
    assert!(why.contains(want) && why.contains(".pem"), "{why}");
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let (one, other) = (certificate(), certificate());
    check_refused("", &one.signing_key.serialize_pem(), "tls.certificate");
    check_refused(&one.cert.pem(), "", "expected an unencrypted private key");
    check_refused(&one.cert.pem(), &other.signing_key.serialize_pem(), "it is not the key of the certificate");
    let missing = ServerTls::load(std::path::Path::new("/none.pem"), std::path::Path::new("/none.pem"));
    assert!(missing.is_err_and(|why| why.starts_with("tls.certificate /none.pem: ")));
}

/// A reader that opens one waits until a writer comes.
#[test]
fn a_pipe_is_no_key() {
    let folder = Folder::new("tls-pipe");
    std::fs::create_dir_all(&folder.0).unwrap();
    let (file, key) = (folder.0.join("cert.pem"), folder.0.join("key.pem"));
    std::fs::write(&file, certificate().cert.pem()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&key).status().unwrap().success());
    let Err(why) = ServerTls::load(&file, &key) else { panic!("it was taken") };
    assert!(why.contains("key.pem: it is no regular file"), "{why}");
}
