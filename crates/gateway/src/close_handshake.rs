//! The closing handshake of a WebSocket (RFC 6455, section 7.1.1): send a close frame, wait for the client's, and only then close the
//! connection. One that is closed while there is still something to read is reset, and a reset may overtake the last message.

use crate::frame_rate::FrameRateLimiter;
use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use std::time::Duration;
use tokio::time::timeout;

/// Time in which a client must read the last message and send its own close frame.
pub(crate) const CLOSE_HANDSHAKE_MAX: Duration = Duration::from_secs(1);

/// How the socket of a client without messages ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The client disconnected.
    Gone,
    /// The server closes it with this status and reason.
    Refused(u16, &'static str),
}

/// A socket whose client has no messages to send: the library answers its pings, which may not come faster than frames in a world.
#[derive(Debug, Default)]
pub(crate) struct Unasked(FrameRateLimiter);

impl Unasked {
    /// Handles what came now; `None` to go on.
    pub(crate) fn received(&mut self, received: Option<Result<Message, axum::Error>>, now_us: i64) -> Option<Ended> {
        match received {
            Some(Ok(Message::Close(_))) | None => Some(Ended::Gone),
            Some(Ok(_)) => (!self.0.try_acquire(now_us)).then_some(Ended::Refused(close_code::POLICY, "too_fast")),
            Some(Err(error)) => Some(broken(&error.to_string())),
        }
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
    Ended::Refused(code, if code == close_code::SIZE { "oversized" } else { "malformed" })
}

/// Closes a socket with this status and reason.
pub(crate) async fn close_socket(mut socket: WebSocket, code: u16, reason: &'static str) {
    let handshake = async {
        let close = CloseFrame { code, reason: reason.into() };
        if socket.send(Message::Close(Some(close))).await.is_ok() {
            while let Some(Ok(_)) = socket.recv().await {}
        }
    };
    // A client that does not answer is disconnected all the same.
    let _ = timeout(CLOSE_HANDSHAKE_MAX, handshake).await;
}
