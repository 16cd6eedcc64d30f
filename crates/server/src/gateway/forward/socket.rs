//! Sockets of other nodes' tables, passed through as they are. When this node leaves, a client is told so as by the table's own node:
//! by a close frame, which may stand between two frames and nowhere else.
//!
//! Knows how long frames are (RFC 6455, section 5.2), and nothing of what they say.

use super::permits::ForwardPermit;
use crate::app::App;
use crate::gateway::close_handshake::CLOSE_HANDSHAKE_MAX;
use axum::extract::ws::close_code;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::pin::pin;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::time::timeout;

/// Memory of a socket, in bytes, each way.
const BUFFER_BYTES: usize = 4_096;
/// What a client is told when this node leaves.
const DRAIN_REASON: &str = "this node leaves: connect again";
/// Opcode and final bit of a close frame.
const CLOSE_BYTE: u8 = 0x88;
const MASK_BIT: u8 = 0x80;
const MASK_BYTES: usize = 4;

/// Passes the bytes of a socket through until one side has had enough, or this process leaves.
pub(super) async fn proxy_upgrade(app: App, here: OnUpgrade, there: OnUpgrade, place: ForwardPermit) {
    if let (Ok(here), Ok(there)) = tokio::join!(here, there) {
        proxy(TokioIo::new(here), TokioIo::new(there), app.drain.begun_with_jitter()).await;
    }
    drop(place);
}

async fn proxy(client: impl AsyncRead + AsyncWrite, owner: impl AsyncRead + AsyncWrite, leaving: impl Future) {
    let ((mut from_client, mut to_client), (mut from_owner, mut to_owner)) = (split(client), split(owner));
    let mut says = pin!(copy(&mut from_client, &mut to_owner));
    let ended = tokio::select! {
        () = &mut says => ProxyEnd::PeerClosed,
        ended = copy_frames(&mut from_owner, &mut to_client, leaving) => ended,
    };
    if let ProxyEnd::Draining = ended {
        let goodbye = async {
            let frame = close_frame(close_code::RESTART, DRAIN_REASON);
            if to_client.write_all(&frame).await.is_ok() && to_client.flush().await.is_ok() {
                // What the client answers is for the owner, too: it ends the wait there.
                says.await;
            }
        };
        let _ = timeout(CLOSE_HANDSHAKE_MAX, goodbye).await;
    }
}

/// Passes on what a client says, to the end.
async fn copy(from: &mut (impl AsyncRead + Unpin), to: &mut (impl AsyncWrite + Unpin)) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if to.write_all(&buffer[..read]).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

/// Why nothing more is passed on to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProxyEnd {
    PeerClosed,
    /// This process leaves, and the last frame is whole.
    Draining,
}

/// Passes on what the owner says, until its end or, once this process leaves, the end of a frame.
async fn copy_frames(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    leaving: impl Future,
) -> ProxyEnd {
    let (mut frames, mut buffer) = (FrameTracker::default(), vec![0; BUFFER_BYTES]);
    let (mut leaving, mut is_leaving) = (pin!(leaving), false);
    while !(is_leaving && frames.is_at_boundary()) {
        let read = tokio::select! {
            biased;
            _ = &mut leaving, if !is_leaving => {
                is_leaving = true;
                continue;
            }
            read = from.read(&mut buffer) => read,
        };
        let Ok(read @ 1..) = read else { return ProxyEnd::PeerClosed };
        if to.write_all(&buffer[..read]).await.is_err() || to.flush().await.is_err() {
            return ProxyEnd::PeerClosed;
        }
        frames.advance(&buffer[..read]);
    }
    ProxyEnd::Draining
}

/// Where one is in a stream of frames.
#[derive(Debug, Default)]
struct FrameTracker {
    /// What has passed of a frame's head.
    head: Vec<u8>,
    /// What has not yet passed of its payload.
    payload_bytes_left: u64,
}

impl FrameTracker {
    /// Whether what has passed ends with a frame.
    fn is_at_boundary(&self) -> bool {
        self.head.is_empty() && self.payload_bytes_left == 0
    }

    fn advance(&mut self, mut bytes: &[u8]) {
        while let [first, rest @ ..] = bytes {
            if self.payload_bytes_left > 0 {
                let passed = bytes.len().min(usize::try_from(self.payload_bytes_left).unwrap_or(usize::MAX));
                self.payload_bytes_left -= passed as u64;
                bytes = &bytes[passed..];
                continue;
            }
            self.head.push(*first);
            bytes = rest;
            if let Some(payload_bytes) = payload_length(&self.head) {
                self.payload_bytes_left = payload_bytes;
                self.head.clear();
            }
        }
    }
}

/// The length of the payload that follows this head; `None` if the head is not whole.
fn payload_length(head: &[u8]) -> Option<u64> {
    let [_, second, rest @ ..] = head else { return None };
    let mask_bytes = if second & MASK_BIT == 0 { 0 } else { MASK_BYTES };
    let length_bytes = match second & !MASK_BIT {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    if rest.len() < length_bytes + mask_bytes {
        return None;
    }
    let length = rest[..length_bytes].iter().fold(0, |length, byte| length << 8 | u64::from(*byte));
    Some(if length_bytes == 0 { u64::from(second & !MASK_BIT) } else { length })
}

/// A server's close frame.
fn close_frame(code: u16, reason: &str) -> Vec<u8> {
    let payload = [&code.to_be_bytes(), reason.as_bytes()].concat();
    let length = u8::try_from(payload.len()).expect("our reasons are shorter than a control frame may be");
    [&[CLOSE_BYTE, length], payload.as_slice()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::future::pending;
    use tokio::io::duplex;
    use tokio::sync::oneshot;

    fn frame(payload_bytes: usize, is_masked: bool) -> Vec<u8> {
        let mask = if is_masked { MASK_BIT } else { 0 };
        let mut frame = vec![0x81];
        match payload_bytes {
            0..126 => frame.push(mask | payload_bytes as u8),
            126..65_536 => {
                frame.push(mask | 126);
                frame.extend((payload_bytes as u16).to_be_bytes());
            }
            _ => {
                frame.push(mask | 127);
                frame.extend((payload_bytes as u64).to_be_bytes());
            }
        }
        frame.extend(vec![0x7f; payload_bytes + if is_masked { MASK_BYTES } else { 0 }]);
        frame
    }

    proptest! {
        /// However the bytes come, frames end where they end.
        #[test]
        fn frames_end_where_they_end(
            sizes in prop::collection::vec((prop_oneof![0..130_usize, 65_530..65_540_usize], any::<bool>()), 1..6),
            piece_bytes in 1..70_000_usize,
        ) {
            let (mut bytes, mut ends) = (Vec::new(), vec![0]);
            for (payload_bytes, is_masked) in sizes {
                bytes.extend(frame(payload_bytes, is_masked));
                ends.push(bytes.len());
            }
            let (mut frames, mut passed) = (FrameTracker::default(), 0);
            for piece in bytes.chunks(piece_bytes) {
                frames.advance(piece);
                passed += piece.len();
                prop_assert_eq!(frames.is_at_boundary(), ends.contains(&passed), "after {} bytes", passed);
            }
        }
    }

    #[tokio::test]
    async fn who_is_sent_away_gets_the_frame_that_had_begun_and_a_close_frame() {
        let ((mut client, here), (there, mut owner)) = (duplex(64), duplex(64));
        let (leave, leaving) = oneshot::channel::<()>();
        let whole = frame(10, false);
        owner.write_all(&whole[..5]).await.unwrap();
        let passing = tokio::spawn(proxy(here, there, leaving));
        let mut heard = vec![0; 5];
        client.read_exact(&mut heard).await.unwrap();
        leave.send(()).unwrap();
        owner.write_all(&whole[5..]).await.unwrap();
        let mut rest = vec![0; whole.len() - 5 + 2 + 2 + DRAIN_REASON.len()];
        client.read_exact(&mut rest).await.unwrap();
        assert_eq!([heard, rest].concat(), [whole, close_frame(1012, DRAIN_REASON)].concat());
        // The client's own close frame reaches the owner.
        client.write_all(b"bye").await.unwrap();
        drop(client);
        let mut answer = String::new();
        owner.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "bye");
        passing.await.unwrap();
    }

    #[tokio::test]
    async fn either_side_ends_the_other() {
        for client_goes in [true, false] {
            let ((client, here), (there, owner)) = (duplex(64), duplex(64));
            let passing = tokio::spawn(proxy(here, there, pending::<()>()));
            let mut left = if client_goes {
                drop(client);
                owner
            } else {
                drop(owner);
                client
            };
            assert_eq!(left.read(&mut [0; 8]).await.unwrap(), 0);
            passing.await.unwrap();
        }
    }
}
