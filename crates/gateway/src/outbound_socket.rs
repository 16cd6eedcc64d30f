//! WebSockets on which only the server has messages to send: feeds of tables, frames of matches.
//!
//! They end with the closing handshake (RFC 6455, section 7.1.1): send a close frame, wait for the client's, and only then close the
//! connection. One that is closed while there is still something to read is reset, and a reset may overtake the last message.

use crate::frame_rate::FrameRateLimiter;
use crate::problem::{ApiError, ApiResult};
use axum::extract::FromRequestParts;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::request::Parts;
use bytes::Bytes;
use node::clock::Clock;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, Interval, interval_at, timeout};

/// Time in which a client must read the last message and send its own close frame.
pub(crate) const CLOSE_HANDSHAKE_MAX: Duration = Duration::from_secs(1);

/// A client that reads nothing for so long is disconnected.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Buffer of one socket, in bytes: clients send nothing large.
const READ_BUFFER_BYTES: usize = 512;
const INCOMING_BYTES_MAX: usize = 4_096;

/// The upgrade to such a socket; a request that asks for none is refused.
pub(crate) struct OutboundUpgrade(pub(crate) WebSocketUpgrade);

impl<S: Send + Sync> FromRequestParts<S> for OutboundUpgrade {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let upgrade =
            WebSocketUpgrade::from_request_parts(parts, state).await.map_err(|_| ApiError::UpgradeRequired)?;
        let upgrade = upgrade.read_buffer_size(READ_BUFFER_BYTES).write_buffer_size(0);
        Ok(Self(upgrade.max_message_size(INCOMING_BYTES_MAX).max_frame_size(INCOMING_BYTES_MAX)))
    }
}

/// How a socket ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The client disconnected, or reads nothing any more.
    Gone,
    /// The server closes it with this status and reason.
    Closed(u16, &'static str),
}

/// Such a socket: it is written to, pinged, and read for what clients must not send.
pub(crate) struct OutboundSocket<'a> {
    socket: WebSocket,
    /// A quiet client is pinged this often, so that one with a dead network does not stay for ever.
    ping: Interval,
    /// What comes from the client: the library answers its pings, which may not come faster than frames in a world.
    inbound: FrameRateLimiter,
    clock: &'a Clock,
}

impl<'a> OutboundSocket<'a> {
    pub(crate) fn new(socket: WebSocket, ping_interval: Duration, clock: &'a Clock) -> Self {
        let ping = interval_at(Instant::now() + ping_interval, ping_interval);
        Self { socket, ping, inbound: FrameRateLimiter::default(), clock }
    }

    /// Waits for this event, as long as the client is there and behaves.
    ///
    /// # Errors
    /// The socket ends.
    pub(crate) async fn wait_for<T>(&mut self, event: impl Future<Output = T>) -> Result<T, Ended> {
        let mut event = pin!(event);
        loop {
            tokio::select! {
                happened = &mut event => return Ok(happened),
                _ = self.ping.tick() => self.send(Message::Ping(Bytes::new())).await?,
                received = self.socket.recv() => self.check_received(received)?,
            }
        }
    }

    /// Sends a message, as long as the client reads.
    ///
    /// # Errors
    /// The socket ends.
    pub(crate) async fn send(&mut self, message: Message) -> Result<(), Ended> {
        match timeout(SEND_TIMEOUT, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Ended::Gone),
        }
    }

    fn check_received(&mut self, received: Option<Result<Message, axum::Error>>) -> Result<(), Ended> {
        match received {
            Some(Ok(Message::Close(_))) | None => Err(Ended::Gone),
            Some(Ok(_)) if self.inbound.try_acquire(self.clock.steady_us()) => Ok(()),
            Some(Ok(_)) => Err(Ended::Closed(close_code::POLICY, "too_fast")),
            Some(Err(error)) => Err(broken(&error.to_string())),
        }
    }

    /// Closes the socket with this status and reason.
    pub(crate) async fn close(mut self, code: u16, reason: impl Into<Utf8Bytes>) {
        let handshake = async {
            let close = CloseFrame { code, reason: reason.into() };
            if self.socket.send(Message::Close(Some(close))).await.is_ok() {
                while let Some(Ok(_)) = self.socket.recv().await {}
            }
        };
        // A client that does not answer is disconnected all the same.
        let _ = timeout(CLOSE_HANDSHAKE_MAX, handshake).await;
    }
}

/// Classified by the text of the library's error: its type belongs to another version of the library.
fn broken(error: &str) -> Ended {
    let code = match error {
        _ if error.starts_with("UTF-8") => close_code::INVALID,
        _ if error.starts_with("Space limit") => close_code::SIZE,
        _ if error.starts_with("WebSocket protocol error") => close_code::PROTOCOL,
        _ => return Ended::Gone,
    };
    Ended::Closed(code, if code == close_code::SIZE { "oversized" } else { "malformed" })
}
