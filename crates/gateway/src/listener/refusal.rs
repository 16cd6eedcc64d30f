//! Refusals of connections beyond the cap: each gets a refusal at once, in the protocol that it speaks, and is closed. How many
//! refusals wait for their clients at a time is bounded; the others are sent without waiting.

use super::connection::PermitError;
use super::park::Persistence;
use super::response_head::{Framing, encode_head};
use super::tls::FULL_ALERT;
use super::{Protocol, RequestHandler, identify_protocol};
use crate::problem::ApiError;
use engine::limits::{CONNECTION_REFUSAL_TIMEOUT, CONNECTION_REFUSALS_MAX};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Time for the first byte, which identifies the protocol: HTTP where none comes.
const FIRST_BYTE_WAIT: Duration = Duration::from_millis(250);
/// Bytes of a refused request that are read and discarded at a time.
const DISCARD_BUFFER_BYTES: usize = 4 * 1024;

/// Refuses connections of one listener.
pub(super) struct RefusalSender(Arc<Semaphore>);

impl RefusalSender {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(CONNECTION_REFUSALS_MAX)))
    }

    /// Sends the reason, and closes.
    pub(super) fn refuse(&self, stream: TcpStream, error: PermitError, handler: &impl RequestHandler, has_tls: bool) {
        let error = ApiError::from(error);
        let frame = handler.can_handle_raw().then(|| handler.refusal_frame(&error));
        // Limits hold before the handshake, and a response cannot be read before it.
        let refusal = if has_tls {
            EncodedRefusal { http: FULL_ALERT.to_vec(), frame: None }
        } else {
            EncodedRefusal { http: http_response(error), frame }
        };
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

/// The same refusal in both protocols.
struct EncodedRefusal {
    http: Vec<u8>,
    frame: Option<Vec<u8>>,
}

impl EncodedRefusal {
    fn bytes(&self, first: &[u8]) -> &[u8] {
        match &self.frame {
            Some(frame) if identify_protocol(first) == Some(Protocol::Other) => frame,
            _ => &self.http,
        }
    }

    /// Waits for the first byte, and then for the client to close: a reset could overtake the refusal.
    async fn send_and_close(&self, stream: TcpStream) {
        let mut bytes = vec![0; DISCARD_BUFFER_BYTES];
        let mut first = [0; 3];
        let seen = timeout(FIRST_BYTE_WAIT, stream.peek(&mut first)).await;
        let seen = seen.ok().and_then(Result::ok).unwrap_or_default();
        let is_sent = send(&stream, self.bytes(&first[..seen]), SEND_FLAGS).is_ok();
        if !is_sent || shutdown(&stream, Shutdown::Write).is_err() {
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

    /// Sends without waiting.
    fn send_now(&self, stream: &TcpStream) {
        let mut bytes = [0; DISCARD_BUFFER_BYTES];
        let seen = recv(stream, &mut bytes[..], RecvFlags::DONTWAIT).map_or(0, |(read, _)| read);
        let _ = send(stream, self.bytes(&bytes[..seen.min(3)]), SEND_FLAGS);
    }
}

const SEND_FLAGS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// The whole response: it is the same for every request.
fn http_response(error: ApiError) -> Vec<u8> {
    let (parts, body) = error.into_complete_response().into_parts();
    let framing = Framing::Length(body.len());
    let mut bytes = encode_head(Persistence::Close, parts.status, (&[], &parts.headers), framing, SystemTime::now());
    bytes.extend_from_slice(&body);
    bytes
}

impl From<PermitError> for ApiError {
    fn from(error: PermitError) -> Self {
        match error {
            PermitError::Address { max } => Self::TooManyConnections { max },
            PermitError::Full => Self::ConnectionsFull,
        }
    }
}
