//! TLS of a listener: its certificate and key, read again on request, and the handshake of a connection.

use super::METHOD_BYTES;
use super::connection::Connection;
use metrics::{Handshake, Metrics};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// The name of HTTP/1.1 in ALPN (RFC 7301).
const HTTP_1_1: &[u8] = b"http/1.1";
/// What a client gets that does not begin with TLS.
const PLAIN_TEXT_REFUSAL: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 55\r\n\
    connection: close\r\n\r\nThis port speaks TLS: use https:// instead of http://.\n";
/// What a client gets that finds no room: a fatal alert, `internal_error` (RFC 8446, section 6).
pub(super) const FULL_ALERT: &[u8] = &[21, 3, 3, 0, 2, 2, 80];

/// The certificate and the key in force, and the files that they come from.
pub struct ServerTls {
    certificate: PathBuf,
    key: PathBuf,
    config: RwLock<Arc<ServerConfig>>,
}

impl ServerTls {
    /// Reads both files (PEM).
    ///
    /// # Errors
    /// What is wrong with them, and what to do.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, String> {
        let config = RwLock::new(server_config(certificate, key)?);
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), config })
    }

    /// Reads both files again, for connections that come from now on. Where something is wrong with them, what was read before stays.
    /// Blocks for as long as the disk does.
    pub fn reload(&self) {
        match server_config(&self.certificate, &self.key) {
            Ok(config) => {
                *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
                tracing::info!(certificate = %self.certificate.display(), "the certificate was read again");
            }
            Err(error) => tracing::error!("{error}; the certificate that was read before stays in use"),
        }
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A pipe would be waited for, without end.
fn require_file(path: &Path) -> Result<(), String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if metadata.is_file() { Ok(()) } else { Err("it is no regular file: name a file in PEM".to_owned()) }
}

fn server_config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let of_certificate = |why: String| format!("tls.certificate {}: {why}", certificate.display());
    let of_key = |why: String| format!("tls.key {}: {why}", key.display());
    require_file(certificate).map_err(of_certificate)?;
    require_file(key).map_err(of_key)?;
    let chain: Vec<_> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| of_certificate(error.to_string()))?;
    if chain.is_empty() {
        return Err(of_certificate("there is no certificate in it; expected PEM (BEGIN CERTIFICATE)".to_owned()));
    }
    let secret = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| of_key(format!("{error}; expected an unencrypted private key in PEM (BEGIN PRIVATE KEY)")))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, secret).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => of_key(format!(
            "it is not the key of the certificate in {}: name the two that belong together",
            certificate.display()
        )),
        other => of_certificate(other.to_string()),
    })?;
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    // No memory for clients that have gone, and no tickets for them to keep.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// Makes the handshake of a connection that has one.
///
/// # Errors
/// It failed, or the client speaks HTTP without TLS, and was told so. The connection ends.
pub(super) async fn handshake(connection: &Connection) -> io::Result<()> {
    let mut counted = Counted { metrics: connection.metrics(), outcome: Handshake::TimedOut };
    let socket = connection.stream();
    let mut first = [0; 1];
    let seen = socket.tcp().peek(&mut first).await;
    if seen.as_ref().is_ok_and(|seen| *seen > 0) && METHOD_BYTES.contains(&first[0]) {
        counted.outcome = Handshake::PlainText;
        // A client that does not take so few bytes gets nothing. What it sent is read: a reset could overtake the refusal.
        let _ = socket.tcp().try_write(PLAIN_TEXT_REFUSAL);
        let _ = socket.tcp().try_read(&mut [0; 4096]);
        return Err(io::ErrorKind::InvalidData.into());
    }
    let result = match seen {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => socket.handshake().await,
        Err(error) => Err(error),
    };
    counted.outcome = if result.is_ok() { Handshake::Completed } else { Handshake::Failed };
    result
}

/// Counts a handshake when it ends; one that is dropped took too long, or the process drained.
struct Counted<'a> {
    metrics: &'a Metrics,
    outcome: Handshake,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.metrics.process.tls_handshakes.inc(self.outcome);
    }
}
