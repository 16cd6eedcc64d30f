//! One connection, as everybody sees it who has something to tell: its socket, and what the socket has not taken. While nothing
//! is kept there is no buffer; there is never a channel, nor a timer. What is told is written at once, by whoever tells it.
//!
//! Knows how frames are framed; what is in them, others say.

use super::disconnect::{CloseMessage, Disconnect};
use super::reader::write_close_reply;
use crate::gateway::listener::{Connection, Rank};
use crate::metrics::{Metrics, WorldTransport};
use engine::limits::{WORLD_KEEPALIVE_INTERVAL, WORLD_KEEPALIVE_PROBES, WORLD_OUTBOUND_BYTES_MAX};
use futures_util::task::AtomicWaker;
use rustix::net::sockopt;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use wire::websocket::put_close;
use wire::world::{EncodeMessage, FrameFormat, Framing, encode};

/// Something is kept that the socket has not taken.
const BACKLOGGED: u8 = 1;
/// Nothing more is told.
const CLOSED: u8 = 2;
/// Frames are JSON.
const JSON: u8 = 4;
/// Refusals say in words what was wrong.
const REASONS: u8 = 8;
/// The connection is a WebSocket.
const WEBSOCKET: u8 = 16;

/// One connection.
pub(super) struct WorldConnection {
    connection: Arc<Connection>,
    state: AtomicU8,
    outbox: Mutex<Outbox>,
    /// The one task of the connection.
    task: AtomicWaker,
}

/// What waits to be written.
#[derive(Default)]
struct Outbox {
    bytes: Vec<u8>,
    /// Everything waits until the first answer has been said.
    is_held: bool,
}

/// What a connection's task is woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WakeReason {
    /// Something came, or the other side is gone.
    Readable,
    /// The socket takes more.
    Writable,
    /// Somebody ended the connection.
    Closed,
}

impl WorldConnection {
    /// A connection that speaks protocol buffers until it says otherwise.
    pub(super) fn new(connection: Arc<Connection>, framing: Framing) -> Self {
        let state = match framing {
            Framing::Delimited => 0,
            Framing::Binary => WEBSOCKET,
            Framing::Text => WEBSOCKET | JSON,
        };
        let line = Self { connection, state: AtomicU8::new(state), outbox: Mutex::default(), task: AtomicWaker::new() };
        line.metrics().world_connections().opened(line.transport());
        line
    }

    pub(super) fn stream(&self) -> &TcpStream {
        self.connection.stream()
    }

    /// Somebody of this rank moves here.
    pub(super) fn raise_rank(&self, rank: Rank) {
        self.connection.raise_rank(rank);
    }

    /// Lets the system find out whether the other side is still there, after this long without a word from it and while nothing
    /// is taken. A socket that cannot be set so is found dead later.
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

    /// How frames stand in the connection.
    pub(super) fn framing(&self) -> Framing {
        match self.state.load(Ordering::Relaxed) {
            state if state & WEBSOCKET == 0 => Framing::Delimited,
            state if state & JSON == 0 => Framing::Binary,
            _ => Framing::Text,
        }
    }

    /// How the other side is spoken to.
    pub(super) fn format(&self) -> FrameFormat {
        FrameFormat { framing: self.framing(), has_reasons: self.has_flag(REASONS) }
    }

    pub(super) fn set_json(&self) {
        self.state.fetch_or(JSON, Ordering::Relaxed);
    }

    pub(super) fn enable_reasons(&self) {
        self.state.fetch_or(REASONS, Ordering::Relaxed);
    }

    /// So many frames of so many bytes came.
    pub(super) fn record_received(&self, frames: u64, bytes: usize) {
        self.metrics().world_connections().frames_received(frames, bytes as u64);
    }

    pub(super) fn has_backlog(&self) -> bool {
        self.has_flag(BACKLOGGED)
    }

    fn has_flag(&self, bit: u8) -> bool {
        self.state.load(Ordering::Acquire) & bit != 0
    }

    /// Says one thing.
    pub(super) fn send_message(&self, told: &impl EncodeMessage) {
        let mut frame = Vec::new();
        encode(told, self.format(), &mut frame);
        self.send_frames(&frame);
    }

    /// Sends whole frames: at once what the socket takes, later the rest. Who does not read what is said is cut off.
    pub(super) fn send_frames(&self, frames: &[u8]) {
        let mut outbox = self.outbox();
        if !self.has_flag(CLOSED) {
            self.write_or_keep(&mut outbox, frames);
        }
    }

    /// Keeps everything that is told until [`Line::release_output`]: an answer goes before what follows from it.
    pub(super) fn hold_output(&self) {
        self.outbox().is_held = true;
    }

    /// Says this, and then what was told meanwhile; nothing, where the connection was ended meanwhile.
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
            self.metrics().world_connections().ended(CloseMessage::not_read().code);
            self.state.fetch_or(CLOSED, Ordering::AcqRel);
        } else {
            outbox.bytes.extend_from_slice(rest);
            self.state.fetch_or(BACKLOGGED, Ordering::AcqRel);
        }
        self.task.wake();
    }

    /// Writes what the socket takes of this. What cannot be written to a broken connection need not be kept: its task sees the end.
    fn write(&self, bytes: &[u8]) -> usize {
        match self.stream().try_write(bytes) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => bytes.len(),
        }
    }

    /// Writes what is kept, as far as the socket takes it.
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

    /// Says why the connection ends, and nothing after it. The task is woken, and takes the connection down. The first reason stands.
    pub(super) fn close_with(&self, parting: &Disconnect) {
        let mut outbox = self.outbox();
        if self.has_flag(CLOSED) {
            return;
        }
        if std::mem::take(&mut outbox.is_held) {
            // What follows from an answer that nobody gets any more.
            outbox.bytes = Vec::new();
        }
        let mut frames = Vec::new();
        match parting {
            Disconnect::Lost => outbox.bytes = Vec::new(),
            Disconnect::ClosedByPeer(status) if self.has_flag(WEBSOCKET) => write_close_reply(*status, &mut frames),
            Disconnect::ClosedByPeer(_) => {}
            Disconnect::ClosedByServer(farewell) => {
                self.metrics().world_connections().ended(farewell.code);
                encode(&farewell.frame(), self.format(), &mut frames);
                if self.has_flag(WEBSOCKET) {
                    put_close(farewell.close, farewell.code, &mut frames);
                }
            }
        }
        self.write_or_keep(&mut outbox, &frames);
        self.state.fetch_or(CLOSED, Ordering::AcqRel);
        self.task.wake();
    }

    /// Waits for something to do. Who does not take what is said is not listened to: it fills its own buffers, not ours.
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

    /// Whole even if a holder of the lock panicked: bytes are appended in one step.
    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WorldConnection {
    fn drop(&mut self) {
        self.metrics().world_connections().closed(self.transport());
    }
}
