//! One question to one shard over HTTP, with an end: a shard that hangs must not hang whoever asks for all of them.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Time for the whole answer: shorter than what a monitor waits for ours.
const ANSWER_MAX: Duration = Duration::from_secs(3);
/// Longest answer that is read, in bytes: figures of a server are a hundredth of it.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The status and body of a GET, or `None` when there was no whole answer in time.
pub(super) async fn get(address: SocketAddr, path: &str) -> Option<(StatusCode, Bytes)> {
    timeout(ANSWER_MAX, exchange(address, path)).await.ok()?
}

async fn exchange(address: SocketAddr, path: &str) -> Option<(StatusCode, Bytes)> {
    let stream = TcpStream::connect(address).await.ok()?;
    let (mut send, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    let request = Request::get(path).header(header::HOST, address.to_string()).body(Empty::<Bytes>::new()).ok()?;
    let answer = async {
        let answer = send.send_request(request).await.ok()?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await.ok()?;
        Some((status, body.to_bytes()))
    };
    tokio::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer,
        _ = connection => answer.await,
    }
}
