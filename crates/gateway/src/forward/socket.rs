//! WebSockets of other nodes' tables, proxied byte by byte. When this node drains, it sends the client a close frame like the table's own
//! node does, and a close frame may only stand between two frames.
//!
//! Knows the length of frames (RFC 6455, section 5.2), and nothing of their content.

use crate::app::App;
use crate::forward_permits::ForwardPermit;
use crate::outbound_socket::CLOSE_HANDSHAKE_MAX;
use axum::extract::ws::close_code;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::pin::pin;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::time::timeout;

/// Buffer of a socket, in bytes, each way.
const BUFFER_BYTES: usize = 4_096;
/// The reason that a client gets when this node drains.
const DRAIN_REASON: &str = "this node leaves: connect again";
/// Opcode and final bit of a close frame.
const CLOSE_BYTE: u8 = 0x88;
const MASK_BIT: u8 = 0x80;
const MASK_BYTES: usize = 4;

/// Proxies a socket until one side closes, or this process drains.
pub(super) async fn proxy_upgrade(app: App, here: OnUpgrade, there: OnUpgrade, permit: ForwardPermit) {
    if let (Ok(here), Ok(there)) = tokio::join!(here, there) {
        proxy(TokioIo::new(here), TokioIo::new(there), app.drain.begun_with_jitter()).await;
    }
    drop(permit);
}

async fn proxy(client: impl AsyncRead + AsyncWrite, owner: impl AsyncRead + AsyncWrite, draining: impl Future) {
    let ((mut from_client, mut to_client), (mut from_owner, mut to_owner)) = (split(client), split(owner));
    let mut client_copy = pin!(copy(&mut from_client, &mut to_owner));
    let ended = tokio::select! {
        () = &mut client_copy => ProxyEnd::PeerClosed,
        ended = copy_frames(&mut from_owner, &mut to_client, draining) => ended,
    };
    if let ProxyEnd::Draining = ended {
        let handshake = async {
            let frame = close_frame(close_code::RESTART, DRAIN_REASON);
            if to_client.write_all(&frame).await.is_ok() && to_client.flush().await.is_ok() {
                // The client's close frame is passed on to the owner: it ends the wait there.
                client_copy.await;
            }
        };
        let _ = timeout(CLOSE_HANDSHAKE_MAX, handshake).await;
    }
}

/// Passes on the client's bytes, to the end.
async fn copy(from: &mut (impl AsyncRead + Unpin), to: &mut (impl AsyncWrite + Unpin)) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if to.write_all(&buffer[..read]).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

/// Why the proxying ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProxyEnd {
    PeerClosed,
    /// This process drains, and the last frame is complete.
    Draining,
}

/// Passes on the owner's bytes, until its end or, once this process drains, the end of a frame.
async fn copy_frames(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    draining: impl Future,
) -> ProxyEnd {
    let (mut frames, mut buffer) = (FrameTracker::default(), vec![0; BUFFER_BYTES]);
    let (mut draining, mut is_draining) = (pin!(draining), false);
    while !(is_draining && frames.is_at_boundary()) {
        let read = tokio::select! {
            biased;
            _ = &mut draining, if !is_draining => {
                is_draining = true;
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

/// The position in a stream of frames.
#[derive(Debug, Default)]
struct FrameTracker {
    /// The bytes of the current frame's head that have passed.
    head: Vec<u8>,
    /// The bytes of its payload that have not passed yet.
    payload_bytes_left: u64,
}

impl FrameTracker {
    /// Whether the last byte ended a frame.
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

/// The length of the payload that follows this head; `None` if the head is incomplete.
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
    let length = u8::try_from(payload.len()).expect("the reason is shorter than a control frame may be");
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
        /// Frame boundaries are found however the bytes are segmented.
        #[test]
        fn finds_frame_boundaries(
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
    async fn a_drain_finishes_the_current_frame_and_sends_a_close_frame() {
        let ((mut client, here), (there, mut owner)) = (duplex(64), duplex(64));
        let (drain, draining) = oneshot::channel::<()>();
        let whole = frame(10, false);
        owner.write_all(&whole[..5]).await.unwrap();
        let proxying = tokio::spawn(proxy(here, there, draining));
        let mut received = vec![0; 5];
        client.read_exact(&mut received).await.unwrap();
        drain.send(()).unwrap();
        owner.write_all(&whole[5..]).await.unwrap();
        let mut rest = vec![0; whole.len() - 5 + 2 + 2 + DRAIN_REASON.len()];
        client.read_exact(&mut rest).await.unwrap();
        assert_eq!([received, rest].concat(), [whole, close_frame(1012, DRAIN_REASON)].concat());
        // The client's own close frame reaches the owner.
        client.write_all(b"bye").await.unwrap();
        drop(client);
        let mut close = String::new();
        owner.read_to_string(&mut close).await.unwrap();
        assert_eq!(close, "bye");
        proxying.await.unwrap();
    }

    #[tokio::test]
    async fn closing_either_side_closes_the_other() {
        for client_goes in [true, false] {
            let ((client, here), (there, owner)) = (duplex(64), duplex(64));
            let proxying = tokio::spawn(proxy(here, there, pending::<()>()));
            let mut remaining = if client_goes {
                drop(client);
                owner
            } else {
                drop(owner);
                client
            };
            assert_eq!(remaining.read(&mut [0; 8]).await.unwrap(), 0);
            proxying.await.unwrap();
        }
    }
}
