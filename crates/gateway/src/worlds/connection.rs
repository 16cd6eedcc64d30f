//! One connection to a world: its socket, and the output that the socket has not accepted. While nothing is pending there is no buffer;
//! there is never a channel, nor a timer. The sender of a message writes it at once, in its own thread.
//!
//! Knows the framing, and nothing of the content of frames.

use super::disconnect::{CloseMessage, Disconnect};
use crate::listener::{Connection, Rank, Socket};
use engine::limits::{WORLD_KEEPALIVE_INTERVAL, WORLD_KEEPALIVE_PROBES, WORLD_LINGER_MAX, WORLD_OUTBOUND_BYTES_MAX};
use futures_util::task::AtomicWaker;
use metrics::{Metrics, WorldTransport};
use rustix::net::sockopt;
use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::timeout;
use wire::websocket::put_close;
use wire::world::{EncodeMessage, FrameFormat, Framing, encode};

/// Output is pending that the socket has not accepted.
const BACKLOGGED: u8 = 1;
/// No more output is accepted.
const CLOSED: u8 = 2;
/// Frames are JSON.
const JSON: u8 = 4;
/// Refusals carry a reason in words.
const REASONS: u8 = 8;
/// The connection is a WebSocket.
const WEBSOCKET: u8 = 16;

/// Bytes that are discarded at a time.
const DISCARD_BUFFER_BYTES: usize = 1024;

pub(super) struct WorldConnection {
    connection: Arc<Connection>,
    state: AtomicU8,
    outbox: Mutex<Outbox>,
    /// The one task of the connection.
    task: AtomicWaker,
}

/// Pending output.
#[derive(Default)]
struct Outbox {
    bytes: Vec<u8>,
    /// Everything is held until the first response has been sent.
    is_held: bool,
}

/// Why a connection's task is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WakeReason {
    /// Input arrived, or the peer disconnected.
    Readable,
    /// The socket accepts more output.
    Writable,
    /// The connection was closed by the server.
    Closed,
}

impl WorldConnection {
    /// A connection that speaks protocol buffers until the client chooses another format.
    pub(super) fn new(connection: Arc<Connection>, framing: Framing) -> Self {
        let state = match framing {
            Framing::Delimited => 0,
            Framing::Binary => WEBSOCKET,
            Framing::Text => WEBSOCKET | JSON,
        };
        let connection =
            Self { connection, state: AtomicU8::new(state), outbox: Mutex::default(), task: AtomicWaker::new() };
        connection.metrics().process.world_connections.opened(connection.transport());
        connection
    }

    pub(super) fn stream(&self) -> &Socket {
        self.connection.stream()
    }

    /// Raises the rank of the connection to that of its mover.
    pub(super) fn raise_rank(&self, rank: Rank) {
        self.connection.raise_rank(rank);
    }

    /// Enables TCP keepalive: the system probes the peer after this long without input and while no output is accepted. A socket that
    /// cannot be configured so is found dead later.
    pub(super) fn enable_keepalive(&self, silence: Duration) {
        let dead = silence + WORLD_KEEPALIVE_INTERVAL * WORLD_KEEPALIVE_PROBES;
        let _ = sockopt::set_tcp_keepidle(self.stream(), silence)
            .and_then(|()| sockopt::set_tcp_keepintvl(self.stream(), WORLD_KEEPALIVE_INTERVAL))
            .and_then(|()| sockopt::set_tcp_keepcnt(self.stream(), WORLD_KEEPALIVE_PROBES))
            .and_then(|()| sockopt::set_tcp_user_timeout(self.stream(), dead.as_millis() as u32))
            .and_then(|()| sockopt::set_socket_keepalive(self.stream(), true));
    }

    pub(super) fn metrics(&self) -> &Metrics {
        self.connection.metrics()
    }

    fn transport(&self) -> WorldTransport {
        if self.has_flag(WEBSOCKET) { WorldTransport::WebSocket } else { WorldTransport::Tcp }
    }

    pub(super) fn framing(&self) -> Framing {
        match self.state.load(Ordering::Relaxed) {
            state if state & WEBSOCKET == 0 => Framing::Delimited,
            state if state & JSON == 0 => Framing::Binary,
            _ => Framing::Text,
        }
    }

    /// The format of frames to this client.
    pub(super) fn format(&self) -> FrameFormat {
        FrameFormat { framing: self.framing(), has_reasons: self.has_flag(REASONS) }
    }

    pub(super) fn set_json(&self) {
        self.state.fetch_or(JSON, Ordering::Relaxed);
    }

    pub(super) fn enable_reasons(&self) {
        self.state.fetch_or(REASONS, Ordering::Relaxed);
    }

    /// Counts so many frames of so many bytes.
    pub(super) fn record_received(&self, frames: u64, bytes: usize) {
        self.metrics().process.world_connections.frames_received(frames, bytes as u64);
    }

    pub(super) fn has_backlog(&self) -> bool {
        self.has_flag(BACKLOGGED)
    }

    fn has_flag(&self, bit: u8) -> bool {
        self.state.load(Ordering::Acquire) & bit != 0
    }

    pub(super) fn send_message(&self, message: &impl EncodeMessage) {
        let mut frame = Vec::new();
        encode(message, self.format(), &mut frame);
        self.send_frames(&frame);
    }

    /// Sends whole frames: at once what the socket accepts, the rest later. A client that does not read is disconnected.
    pub(super) fn send_frames(&self, frames: &[u8]) {
        let mut outbox = self.outbox();
        if !self.has_flag(CLOSED) {
            self.write_or_keep(&mut outbox, frames);
        }
    }

    /// Holds all output until [`WorldConnection::release_output`], so that a response precedes what follows from it.
    pub(super) fn hold_output(&self) {
        self.outbox().is_held = true;
    }

    /// Sends this, and then what was held; nothing, if the connection was closed meanwhile.
    pub(super) fn release_output(&self, first: Option<&impl EncodeMessage>) {
        let mut frames = Vec::new();
        if let Some(first) = first {
            encode(first, self.format(), &mut frames);
        }
        let mut outbox = self.outbox();
        let was_held = std::mem::take(&mut outbox.is_held);
        if self.has_flag(CLOSED) {
            if was_held {
                outbox.bytes = Vec::new();
            }
            return;
        }
        frames.append(&mut outbox.bytes);
        self.state.fetch_and(!BACKLOGGED, Ordering::AcqRel);
        self.write_or_keep(&mut outbox, &frames);
    }

    fn write_or_keep(&self, outbox: &mut Outbox, frames: &[u8]) {
        let written = if outbox.is_held || !outbox.bytes.is_empty() { 0 } else { self.write(frames) };
        let rest = &frames[written..];
        if rest.is_empty() {
            return;
        }
        if outbox.bytes.len() + rest.len() > WORLD_OUTBOUND_BYTES_MAX {
            self.metrics().process.world_connections.ended(CloseMessage::slow_consumer().code);
            self.state.fetch_or(CLOSED, Ordering::AcqRel);
        } else {
            outbox.bytes.extend_from_slice(rest);
            self.state.fetch_or(BACKLOGGED, Ordering::AcqRel);
        }
        self.task.wake();
    }

    /// Writes what the socket accepts. Output to a broken connection need not be kept: its task sees the end.
    fn write(&self, bytes: &[u8]) -> usize {
        match self.stream().try_write(bytes) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => bytes.len(),
        }
    }

    /// Writes pending output, as far as the socket accepts it.
    pub(super) fn flush(&self) {
        let mut outbox = self.outbox();
        if outbox.is_held {
            return;
        }
        let written = self.write(&outbox.bytes);
        if written < outbox.bytes.len() {
            outbox.bytes.drain(..written);
        } else {
            outbox.bytes = Vec::new();
            self.state.fetch_and(!BACKLOGGED, Ordering::AcqRel);
        }
    }

    /// Sends why the connection ends, and nothing after it. The task is woken, and closes the connection. Only the first reason is sent.
    pub(super) fn close_with(&self, disconnect: &Disconnect) {
        let mut outbox = self.outbox();
        if self.has_flag(CLOSED) {
            return;
        }
        if std::mem::take(&mut outbox.is_held) {
            // Consequences of a response that will not be sent.
            outbox.bytes = Vec::new();
        }
        let mut frames = Vec::new();
        match disconnect {
            Disconnect::Lost => outbox.bytes = Vec::new(),
            Disconnect::ClosedByPeer(status) if self.has_flag(WEBSOCKET) => write_close_reply(*status, &mut frames),
            Disconnect::ClosedByPeer(_) => {}
            Disconnect::ClosedByServer(message) => {
                self.metrics().process.world_connections.ended(message.code);
                encode(&message.frame(), self.format(), &mut frames);
                if self.has_flag(WEBSOCKET) {
                    put_close(message.close, message.code, &mut frames);
                }
            }
        }
        self.write_or_keep(&mut outbox, &frames);
        self.state.fetch_or(CLOSED, Ordering::AcqRel);
        self.task.wake();
    }

    /// Waits for something to do. A client that does not read its output is not read either: it fills its own buffers, not the server's.
    pub(super) fn poll_ready(&self, context: &mut Context<'_>) -> Poll<WakeReason> {
        self.task.register(context.waker());
        if self.has_flag(CLOSED) {
            return Poll::Ready(WakeReason::Closed);
        }
        if self.has_flag(BACKLOGGED) && !self.outbox().is_held {
            return self.stream().poll_write_ready(context).map(|_| WakeReason::Writable);
        }
        self.stream().poll_read_ready(context).map(|_| WakeReason::Readable)
    }

    /// Consistent even if a holder of the lock panicked: bytes are appended in one step.
    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appends the reply to a close frame.
fn write_close_reply(status: Option<u16>, out: &mut Vec<u8>) {
    const NORMAL: u16 = 1000;
    put_close(status.unwrap_or(NORMAL), "", out);
}

impl Drop for WorldConnection {
    fn drop(&mut self) {
        self.metrics().process.world_connections.closed(self.transport());
    }
}

/// The lingering close: pending output is written and further input discarded, so that the system does not answer it with a reset that
/// would overtake the last message (RFC 1122, section 4.2.2.13). Short, and bounded.
pub(super) async fn linger(connection: Arc<WorldConnection>) {
    let _ = timeout(WORLD_LINGER_MAX, async {
        while connection.has_backlog() {
            if poll_fn(|context| connection.stream().poll_write_ready(context)).await.is_err() {
                return;
            }
            connection.flush();
        }
        if connection.stream().shutdown_output().is_ok() {
            discard_input(&connection).await;
        }
    })
    .await;
}

/// Reads until the peer has closed, too.
async fn discard_input(connection: &WorldConnection) {
    let mut bytes = [0; DISCARD_BUFFER_BYTES];
    poll_fn(|context| {
        loop {
            if ready!(connection.stream().poll_read_ready(context)).is_err() {
                return Poll::Ready(());
            }
            match connection.stream().try_read(&mut bytes) {
                Ok(0) => return Poll::Ready(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Poll::Ready(()),
            }
        }
    })
    .await;
}
