//! One connection to a bot: a TCP socket, or TLS over one. Waiting for an answer holds the socket and no buffer.

use super::address::is_public;
use super::clock::CallClock;
use super::failure::{self, CallFailure};
use super::names::Names;
use super::target::Target;
use engine::health::CallFault;
use metrics::Metrics;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Bytes read at a time, on the stack of one poll.
const READ_BYTES: usize = 4 * 1024;

/// How long the steps of opening a connection took; `None` for those that were not finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectTimes {
    /// To resolve the name; hardly anything for a literal address.
    pub resolve: Option<Duration>,
    /// To connect, over all addresses that were tried.
    pub connect: Option<Duration>,
    /// The TLS handshake; only of https.
    pub tls: Option<Duration>,
}

/// An open connection: the metrics count it until it is dropped.
pub(super) struct BotConnection {
    stream: BotStream,
    address: IpAddr,
    metrics: Arc<Metrics>,
    _open: Option<Arc<()>>,
}

enum BotStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl BotConnection {
    /// Connects to the target at one of its addresses. `open` is dropped when the connection is.
    pub(super) async fn open(
        target: &Target,
        address: SocketAddr,
        open: Option<Arc<()>>,
        metrics: &Arc<Metrics>,
        times: &mut ConnectTimes,
    ) -> Result<Self, CallFailure> {
        let begun = Instant::now();
        let stream = TcpStream::connect(address).await.map_err(|error| failure::connect_fault(&error, address))?;
        let connected = Instant::now();
        times.connect = Some(times.connect.unwrap_or_default() + (connected - begun));
        // Requests are small and wait for each other; a failure to set this only costs time.
        let _ = stream.set_nodelay(true);
        let stream = match target.key.is_tls {
            true => secure(stream, target).await.inspect(|_| times.tls = Some(connected.elapsed()))?,
            false => BotStream::Plain(stream),
        };
        metrics.matches.bot_connections_opened.inc();
        metrics.matches.bot_connections.inc();
        Ok(Self { stream, address: address.ip(), metrics: metrics.clone(), _open: open })
    }

    /// Where it leads.
    pub(super) fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether it ends where it began: at an address of this machine.
    pub(super) fn leads_to_this_machine(&self) -> bool {
        self.socket().local_addr().is_ok_and(|local| local.ip() == self.address)
    }

    /// Whether an idle connection can still be used: no unexpected bytes came, and the peer has not closed it.
    pub(super) fn is_reusable(&self) -> bool {
        let mut byte = [0];
        match self.socket().try_read(&mut byte) {
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            Ok(_) => false,
        }
    }

    /// Acknowledges at once what has arrived. A peer that sends head and body in two writes, without `TCP_NODELAY`, holds the body back until its
    /// head is acknowledged (Nagle's algorithm), and the kernel would delay that for 40 ms, in the hope of data to send with it.
    pub(super) fn acknowledge_now(&self) {
        // A failure to set this only costs time.
        #[cfg(target_os = "linux")]
        let _ = self.socket().set_quickack(true);
    }

    /// Whether the kernel acknowledges at once what arrives, as far as it knows.
    #[cfg(test)]
    pub(super) fn is_acknowledging_now(&self) -> bool {
        self.socket().quickack().unwrap_or(true)
    }

    fn socket(&self) -> &TcpStream {
        match &self.stream {
            BotStream::Plain(stream) => stream,
            BotStream::Tls(tls) => tls.get_ref().0,
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

async fn secure(stream: TcpStream, target: &Target) -> Result<BotStream, CallFailure> {
    let failed = |detail: &str| CallFailure::with_detail(CallFault::TlsFailed, detail);
    let name = ServerName::try_from(target.key.host.clone()).map_err(|_| failed("the host is no name for TLS"))?;
    match TlsConnector::from(tls_config()).connect(name, stream).await {
        Ok(tls) => Ok(BotStream::Tls(Box::new(tls))),
        Err(error) => Err(failed(&error.to_string())),
    }
}

/// The stack buffer lives only while this runs, never across a wait.
fn read_now(stream: &TcpStream, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let mut buffer = [0; READ_BYTES];
    let count = stream.try_read(&mut buffer)?;
    bytes.extend_from_slice(&buffer[..count]);
    Ok(count)
}

/// The addresses of the target that may be called, at least one. The address that is connected to is the one that was checked.
pub(super) async fn addresses(
    names: &Names,
    target: &Target,
    is_private_allowed: bool,
    clock: &mut CallClock<'_>,
) -> Result<Vec<SocketAddr>, CallFailure> {
    let is_allowed = |ip: &IpAddr| is_private_allowed || is_public(*ip);
    let of_target = |ip: IpAddr| SocketAddr::new(ip, target.key.port);
    let allowed: Vec<_> = match target.key.host.parse::<IpAddr>() {
        Ok(ip) => Some(ip).filter(is_allowed).map(of_target).into_iter().collect(),
        Err(_) => {
            let found = names.addresses(&target.key.host, clock).await?;
            found.iter().copied().filter(is_allowed).map(of_target).collect()
        }
    };
    if allowed.is_empty() { Err(CallFault::NoPublicAddress.into()) } else { Ok(allowed) }
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
