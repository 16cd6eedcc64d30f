//! One connection to a bot: a TCP socket, or TLS over one. Waiting for an answer holds the socket and no buffer.

use super::target::Target;
use crate::address::is_public;
use engine::matches::entry::AnswerClass;
use metrics::Metrics;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Bytes read at a time, on the stack of one poll.
const READ_BYTES: usize = 4 * 1024;

/// An open connection: the metrics count it until it is dropped.
pub(super) struct BotConnection {
    stream: BotStream,
    metrics: Arc<Metrics>,
}

enum BotStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl BotConnection {
    /// Connects to the target, at an address that was checked after it was resolved.
    pub(super) async fn open(
        target: &Target,
        is_private_allowed: bool,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, AnswerClass> {
        let mut failure = AnswerClass::Unreachable;
        for address in addresses(target).await? {
            if !is_private_allowed && !is_public(address.ip()) {
                failure = AnswerClass::Forbidden;
                continue;
            }
            if let Ok(stream) = TcpStream::connect(address).await {
                // Requests are small and wait for each other; a failure to set this only costs time.
                let _ = stream.set_nodelay(true);
                let stream = secure(stream, target).await?;
                metrics.matches.bot_connections_opened.inc();
                metrics.matches.bot_connections.inc();
                return Ok(Self { stream, metrics: metrics.clone() });
            }
        }
        Err(failure)
    }

    /// Whether an idle connection can still be used: no unexpected bytes came, and the peer has not closed it.
    pub(super) fn is_reusable(&self) -> bool {
        let stream = match &self.stream {
            BotStream::Plain(stream) => stream,
            BotStream::Tls(tls) => tls.get_ref().0,
        };
        let mut byte = [0];
        match stream.try_read(&mut byte) {
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            Ok(_) => false,
        }
    }

    pub(super) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            BotStream::Plain(stream) => stream.write_all(bytes).await,
            BotStream::Tls(tls) => {
                tls.write_all(bytes).await?;
                tls.flush().await
            }
        }
    }

    /// Appends what has arrived to `bytes`; waits if nothing has. Zero means that the peer has closed.
    pub(super) async fn read_more(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        match &mut self.stream {
            BotStream::Plain(stream) => loop {
                stream.readable().await?;
                match read_now(stream, bytes) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    read => return read,
                }
            },
            BotStream::Tls(tls) => {
                bytes.reserve(READ_BYTES);
                tls.read_buf(bytes).await
            }
        }
    }
}

impl Drop for BotConnection {
    fn drop(&mut self) {
        self.metrics.matches.bot_connections.dec();
    }
}

async fn secure(stream: TcpStream, target: &Target) -> Result<BotStream, AnswerClass> {
    if !target.key.is_tls {
        return Ok(BotStream::Plain(stream));
    }
    let name = ServerName::try_from(target.key.host.clone()).map_err(|_| AnswerClass::Unreachable)?;
    let tls = TlsConnector::from(tls_config()).connect(name, stream).await.map_err(|_| AnswerClass::Unreachable)?;
    Ok(BotStream::Tls(Box::new(tls)))
}

/// The stack buffer lives only while this runs, never across a wait.
fn read_now(stream: &TcpStream, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let mut buffer = [0; READ_BYTES];
    let count = stream.try_read(&mut buffer)?;
    bytes.extend_from_slice(&buffer[..count]);
    Ok(count)
}

async fn addresses(target: &Target) -> Result<Vec<SocketAddr>, AnswerClass> {
    if let Ok(ip) = target.key.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, target.key.port)]);
    }
    match lookup_host((target.key.host.as_str(), target.key.port)).await {
        Ok(found) => Ok(found.collect()),
        Err(_) => Err(AnswerClass::Unreachable),
    }
}

/// Trusts the certificate authorities that browsers trust.
fn tls_config() -> Arc<ClientConfig> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let make = || {
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider supports the default versions of TLS");
        Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
    };
    CONFIG.get_or_init(make).clone()
}
