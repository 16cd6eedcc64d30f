//! The end of a WebSocket in order (RFC 6455, section 7.1.1): say why, hear that it was understood, and only then let go of the
//! connection. One that is closed while there is still something to read is reset, and a reset may overtake what was said last.

use super::FrameRateLimiter;
use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use std::time::Duration;
use tokio::time::timeout;

/// Time in which a client takes what is said last and says goodbye itself.
pub(crate) const CLOSE_HANDSHAKE_MAX: Duration = Duration::from_secs(1);

/// How a client that has nothing to say ends its socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It left.
    Gone,
    /// It is to be closed with this status, for this reason.
    Refused(u16, &'static str),
}

/// What a client that has nothing to say sends: the library answers its pings, which may not come faster than frames in a world.
#[derive(Debug, Default)]
pub(crate) struct Unasked(FrameRateLimiter);

impl Unasked {
    /// This came now; `None` to go on.
    pub(crate) fn received(&mut self, received: Option<Result<Message, axum::Error>>, now_us: i64) -> Option<Ended> {
        match received {
            Some(Ok(Message::Close(_))) | None => Some(Ended::Gone),
            Some(Ok(_)) => (!self.0.try_acquire(now_us)).then_some(Ended::Refused(close_code::POLICY, "too_fast")),
            Some(Err(error)) => Some(broken(&error.to_string())),
        }
    }
}

/// By the text of the library's error: its type belongs to another version of the library than ours.
fn broken(error: &str) -> Ended {
    let code = match error {
        _ if error.starts_with("UTF-8") => close_code::INVALID,
        _ if error.starts_with("Space limit") => close_code::SIZE,
        _ if error.starts_with("WebSocket protocol error") => close_code::PROTOCOL,
        _ => return Ended::Gone,
    };
    Ended::Refused(code, if code == close_code::SIZE { "oversized" } else { "malformed" })
}

/// Closes a socket, for this reason.
pub(crate) async fn close_socket(mut socket: WebSocket, code: u16, reason: &'static str) {
    let goodbye = async {
        let close = CloseFrame { code, reason: reason.into() };
        if socket.send(Message::Close(Some(close))).await.is_ok() {
            while let Some(Ok(_)) = socket.recv().await {}
        }
    };
    // Whoever does not answer is let go all the same.
    let _ = timeout(CLOSE_HANDSHAKE_MAX, goodbye).await;
}
