//! Connections for which there is no room: each is told so at once, in the language that it speaks, and closed. How many are
//! told at a time is bounded; the others hear it without being waited for.

use super::park::Persistence;
use super::permits::PermitError;
use super::response_head::{Framing, encode_head};
use super::{Begun, RequestHandler, what_begins};
use crate::gateway::problem::ApiError;
use axum::body::to_bytes;
use axum::response::IntoResponse;
use engine::limits::{CONNECTION_REFUSAL_TIMEOUT, CONNECTION_REFUSALS_MAX};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Time for the first byte, which says in which language to refuse: HTTP where none comes.
const FIRST_BYTE_WAIT: Duration = Duration::from_millis(250);
/// Bytes of a refused request that are read and thrown away at a time.
const DISCARD_BUFFER_BYTES: usize = 4 * 1024;
/// Longer than any refusal.
const BODY_BYTES_MAX: usize = 4 * 1024;

/// Refuses connections of one listener.
pub(super) struct RefusalSender(Arc<Semaphore>);

impl RefusalSender {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(CONNECTION_REFUSALS_MAX)))
    }

    /// Says why, and closes.
    pub(super) async fn refuse(&self, stream: TcpStream, why: PermitError, answers: &impl RequestHandler) {
        let error = ApiError::from(why);
        let frame = answers.can_handle_raw().then(|| answers.refusal_frame(&error));
        let refusal = EncodedRefusal { http: http_response(error).await, frame };
        match self.0.clone().try_acquire_owned() {
            Ok(permit) => {
                tokio::spawn(async move {
                    let _ = timeout(CONNECTION_REFUSAL_TIMEOUT, refusal.send_and_close(stream)).await;
                    drop(permit);
                });
            }
            Err(_) => refusal.send_now(&stream),
        }
    }
}

/// The same refusal in both languages.
struct EncodedRefusal {
    http: Vec<u8>,
    frame: Option<Vec<u8>>,
}

impl EncodedRefusal {
    fn bytes(&self, first: &[u8]) -> &[u8] {
        match &self.frame {
            Some(frame) if what_begins(first) == Some(Begun::Other) => frame,
            _ => &self.http,
        }
    }

    /// Waits for the first byte, and then for the client to close: a reset would overtake what it is told.
    async fn send_and_close(&self, stream: TcpStream) {
        let mut bytes = vec![0; DISCARD_BUFFER_BYTES];
        let mut first = [0; 3];
        let seen = timeout(FIRST_BYTE_WAIT, stream.peek(&mut first)).await;
        let seen = seen.ok().and_then(Result::ok).unwrap_or_default();
        let is_told = send(&stream, self.bytes(&first[..seen]), SEND_FLAGS).is_ok();
        if !is_told || shutdown(&stream, Shutdown::Write).is_err() {
            return;
        }
        while stream.readable().await.is_ok() {
            match stream.try_read(&mut bytes) {
                Ok(1..) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Ok(0) | Err(_) => return,
            }
        }
    }

    /// Waits for nothing.
    fn send_now(&self, stream: &TcpStream) {
        let mut bytes = [0; DISCARD_BUFFER_BYTES];
        let seen = recv(stream, &mut bytes[..], RecvFlags::DONTWAIT).map_or(0, |(read, _)| read);
        let _ = send(stream, self.bytes(&bytes[..seen.min(3)]), SEND_FLAGS);
    }
}

const SEND_FLAGS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// The whole answer: there is no request that it could be different for.
async fn http_response(error: ApiError) -> Vec<u8> {
    let (parts, body) = error.into_response().into_parts();
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap_or_default();
    let framing = Framing::Length(body.len());
    let mut bytes = encode_head(Persistence::Close, parts.status, (&[], &parts.headers), framing, SystemTime::now());
    bytes.extend_from_slice(&body);
    bytes
}

impl From<PermitError> for ApiError {
    fn from(why: PermitError) -> Self {
        match why {
            PermitError::Address { max } => Self::TooManyConnections { max },
            PermitError::Full => Self::ConnectionsFull,
        }
    }
}
