//! The end of a WebSocket in order (RFC 6455, section 7.1.1): say why, hear that it was understood, and only then let go of the
//! connection. One that is closed while there is still something to read is reset, and a reset may overtake what was said last.

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use std::time::Duration;
use tokio::time::timeout;

/// Time in which a client takes what is said last and says goodbye itself.
pub(crate) const HANGUP_MAX: Duration = Duration::from_secs(1);

/// Closes a socket, for this reason.
pub(crate) async fn hang_up(mut socket: WebSocket, code: u16, reason: &'static str) {
    let goodbye = async {
        let close = CloseFrame { code, reason: reason.into() };
        if socket.send(Message::Close(Some(close))).await.is_ok() {
            while let Some(Ok(_)) = socket.recv().await {}
        }
    };
    // Whoever does not answer is let go all the same.
    let _ = timeout(HANGUP_MAX, goodbye).await;
}
