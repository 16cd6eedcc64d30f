//! Whole connections for the fuzzer (`crates/fuzz`): bytes in, over a socket of the loopback interface, and everything that comes back until
//! the server has closed. The requests are parked, read, upgraded in vain and refused as anywhere.

use super::park::{LongPoll, MaybePark, WaitEnd, park_or_wait};
use super::proxy_header::{Parsed, parse};
use super::{ListenerConfig, ReadRateLimits, serve};
use crate::request_head::validate_head;
use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{any, get};
use bytes::Bytes;
use http::Response;
use metrics::Metrics;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::{Instant, timeout};

/// So long that whatever waits for it has failed.
const NEVER: Duration = Duration::from_secs(20);

/// A wait that ends as soon as it is parked.
struct AtOnce;

impl LongPoll for AtOnce {
    fn poll_response(&mut self, _: &mut Context<'_>) -> Poll<Response<Bytes>> {
        Poll::Ready(Response::new(Bytes::from_static(b"parked")))
    }

    fn finish(&mut self, _: WaitEnd) -> Response<Bytes> {
        Response::new(Bytes::from_static(b"never"))
    }
}

/// A server, and its clients.
pub struct HttpConnections {
    runtime: Runtime,
    address: SocketAddr,
}

impl HttpConnections {
    /// A server on a free port of this machine.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port of the loopback interface");
        let address = listener.local_addr().expect("a bound socket has an address");
        let park = async |MaybePark(token): MaybePark| park_or_wait(token, Instant::now() + NEVER, AtOnce).await;
        let read = async |body: Bytes| format!("{} bytes", body.len());
        let router = Router::new().route("/park", get(park)).fallback(any(read)).layer(from_fn(validate_head));
        let config = ListenerConfig {
            header_timeout: NEVER,
            body_timeout: NEVER,
            idle_timeout: NEVER,
            read_rate: ReadRateLimits { stall_max: NEVER, bytes_per_s_min: 1 },
            connections_max: 8,
            drain_max: NEVER,
        };
        let metrics = Arc::<Metrics>::default();
        runtime.spawn(async move { serve(listener, router, config, metrics, std::future::pending()).await });
        Self { runtime, address }
    }

    /// What the server answers to these pieces, after which the client sends no more. Dates are left out.
    ///
    /// # Panics
    /// If the server does not answer.
    pub fn exchange<'a>(&self, pieces: impl Iterator<Item = &'a [u8]>) -> String {
        self.runtime.block_on(async {
            let exchange = async {
                let mut client = TcpStream::connect(self.address).await.expect("the server accepts");
                client.set_nodelay(true).expect("a connected socket");
                for piece in pieces {
                    // The server may have closed already; what it said before is read all the same.
                    if client.write_all(piece).await.is_err() {
                        break;
                    }
                    // The server reads this piece before the next one is sent.
                    for _ in 0..3 {
                        yield_now().await;
                    }
                }
                let _ = client.shutdown().await;
                read_all(&mut client).await
            };
            timeout(NEVER, exchange).await.expect("a connection that its client has ended ends")
        })
    }
}

impl Default for HttpConnections {
    fn default() -> Self {
        Self::new()
    }
}

/// What is read of the beginning of a load balancer's connection that arrives in these pieces.
///
/// # Panics
/// If a byte behind a header is taken.
pub fn read_proxy_header<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> String {
    let mut read = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty()
            && let Ok(Parsed::Incomplete(least)) = parse(&read)
        {
            let taken = piece.len().min(least - read.len());
            read.extend_from_slice(&piece[..taken]);
            piece = &piece[taken..];
        }
    }
    let parsed = parse(&read);
    if let Ok(Parsed::Complete(_, bytes)) = parsed {
        assert_eq!(bytes, read.len(), "a header, and nothing behind it");
    }
    format!("{parsed:?}")
}

async fn read_all(client: &mut TcpStream) -> String {
    let mut received = Vec::new();
    if let Err(error) = client.read_to_end(&mut received).await {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    let received = String::from_utf8_lossy(&received);
    received.lines().filter(|line| !line.starts_with("date: ")).collect::<Vec<_>>().join("\n")
}
