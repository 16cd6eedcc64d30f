//! A connection's input as frames: bytes are read into a buffer of the thread, parsed in place, and kept only while a frame is
//! incomplete. An idle connection has no buffer.
//!
//! Knows no worlds: each frame is passed to a callback.

use super::connection::WorldConnection;
use super::disconnect::{CloseMessage, Disconnect};
use crate::frame_rate::FrameRateLimiter;
use crate::listener::Socket;
use engine::limits::{WORLD_FRAME_BYTES_MAX, WORLD_HELLO_BYTES_MAX, WORLD_READ_BYTES};
use rustix::net::{RecvFlags, recv};
use std::cell::RefCell;
use std::io;
use tokio::io::Interest;
use wire::delimited;
use wire::websocket::{HEADER_BYTES_MAX, MASK_BYTES, MessageAssembler, MessageKind, SocketEvent, first_kind, put_pong};
use wire::world::{ClientMessage, Framing, read_json, read_protobuf};

const _: () = assert!(
    WORLD_FRAME_BYTES_MAX + HEADER_BYTES_MAX + MASK_BYTES < WORLD_READ_BYTES,
    "what is kept of a frame leaves room to read on"
);
const _: () = assert!(WORLD_HELLO_BYTES_MAX < b'A' as usize, "the first byte of a hello begins no HTTP method");

thread_local! {
    /// One for every thread that reads, not for every connection.
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; WORLD_READ_BYTES].into());
}

/// Whether the callback wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadFlow {
    Continue,
    Stop,
}

/// The state of one connection's input.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    /// Bytes of an incomplete frame, or that no callback wanted yet.
    buffered: Box<[u8]>,
    /// A fragmented message of a WebSocket.
    messages: MessageAssembler,
    frame_rate: FrameRateLimiter,
    has_greeted: bool,
}

impl FrameReader {
    /// The reader of a connection of which these bytes were read already.
    pub(super) fn new(kept: &[u8]) -> Self {
        Self { buffered: kept.into(), ..Self::default() }
    }

    /// Whether bytes are kept that may hold whole frames.
    pub(super) fn has_buffered(&self) -> bool {
        !self.buffered.is_empty()
    }

    /// Splits the kept bytes in place: the previous reader of the connection may have read more than is read here at a time.
    ///
    /// # Errors
    /// The connection ends.
    pub(super) fn read_buffered(
        &mut self,
        connection: &WorldConnection,
        now_us: i64,
        each: &mut dyn FnMut(ClientMessage) -> Result<ReadFlow, Disconnect>,
    ) -> Result<(), Disconnect> {
        let mut kept = std::mem::take(&mut self.buffered);
        let used = self.split_frames(connection, &mut kept, now_us, each)?;
        self.buffered = if used == 0 { kept } else { kept[used..].into() };
        Ok(())
    }

    /// Reads once, and passes on the frames in it.
    ///
    /// # Errors
    /// The connection ends.
    pub(super) fn read_socket(
        &mut self,
        connection: &WorldConnection,
        now_us: i64,
        each: &mut dyn FnMut(ClientMessage) -> Result<ReadFlow, Disconnect>,
    ) -> Result<(), Disconnect> {
        BUFFER.with_borrow_mut(|buffer| {
            let kept = self.buffered.len();
            let Some((before, room)) = buffer.split_at_mut_checked(kept).filter(|(_, room)| !room.is_empty()) else {
                // So many bytes hold a whole frame, or one that is too long.
                return self.read_buffered(connection, now_us, each);
            };
            let read = read(connection.stream(), room)?;
            if read == 0 {
                return Ok(());
            }
            before.copy_from_slice(&self.buffered);
            let bytes = &mut buffer[..kept + read];
            let used = self.split_frames(connection, bytes, now_us, each)?;
            // An allocation is never kept longer than a frame takes to arrive.
            self.buffered = bytes[used..].into();
            Ok(())
        })
    }

    /// Passes on the frames in these bytes, and returns how many bytes were used.
    fn split_frames(
        &mut self,
        connection: &WorldConnection,
        bytes: &mut [u8],
        now_us: i64,
        each: &mut dyn FnMut(ClientMessage) -> Result<ReadFlow, Disconnect>,
    ) -> Result<usize, Disconnect> {
        let (mut used, mut frames, mut flow) = (0, 0, ReadFlow::Continue);
        let result = loop {
            if flow == ReadFlow::Stop {
                break Ok(());
            }
            let next = match connection.framing() {
                Framing::Delimited => self.read_delimited(&bytes[used..], each),
                Framing::Binary | Framing::Text => self.read_message(connection, &mut bytes[used..], each),
            };
            match next {
                Ok((0, _)) => break Ok(()),
                Ok((length, wants)) => (used, flow) = (used + length, wants),
                Err(disconnect) => break Err(disconnect),
            }
            frames += 1;
            if !self.frame_rate.try_acquire(now_us) {
                break Err(CloseMessage::too_fast().into());
            }
        };
        connection.record_received(frames, used);
        result.map(|()| used)
    }

    /// Reads a frame behind its length.
    fn read_delimited(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(ClientMessage) -> Result<ReadFlow, Disconnect>,
    ) -> Result<(usize, ReadFlow), Disconnect> {
        let bytes_max = if self.has_greeted { WORLD_FRAME_BYTES_MAX } else { WORLD_HELLO_BYTES_MAX };
        let Some(range) = delimited::first_frame(bytes, bytes_max).map_err(CloseMessage::from)? else {
            return Ok((0, ReadFlow::Continue));
        };
        let end = range.end;
        let message = read_protobuf(&bytes[range]).map_err(CloseMessage::from)?;
        self.has_greeted = true;
        Ok((end, each(message)?))
    }

    /// Reads a frame of a WebSocket. The format of the first message decides that of the responses, even if it is malformed.
    fn read_message(
        &mut self,
        connection: &WorldConnection,
        bytes: &mut [u8],
        each: &mut dyn FnMut(ClientMessage) -> Result<ReadFlow, Disconnect>,
    ) -> Result<(usize, ReadFlow), Disconnect> {
        if !self.has_greeted && first_kind(bytes) == Some(MessageKind::Text) {
            connection.set_json();
        }
        let (used, event) = self.messages.next_event(bytes, WORLD_FRAME_BYTES_MAX).map_err(CloseMessage::from)?;
        let flow = match event {
            None | Some(SocketEvent::Pong) => ReadFlow::Continue,
            Some(SocketEvent::Ping(body)) => {
                let mut pong = Vec::new();
                put_pong(body, &mut pong);
                connection.send_frames(&pong);
                ReadFlow::Continue
            }
            Some(SocketEvent::Close(status)) => return Err(Disconnect::ClosedByPeer(status)),
            Some(SocketEvent::Message(kind, body)) => {
                self.has_greeted = true;
                let read = match kind {
                    MessageKind::Text => read_json(body),
                    MessageKind::Binary => read_protobuf(body),
                };
                each(read.map_err(CloseMessage::from)?)?
            }
        };
        self.messages.release();
        Ok((used, flow))
    }
}

/// Reads once. A socket that returned less than there was room for is empty: reading again would cost a system call for every frame.
/// Edge-triggered polling allows that (epoll(7)); later bytes are a new edge.
fn read(socket: &Socket, room: &mut [u8]) -> Result<usize, Disconnect> {
    let Some(stream) = socket.plain() else {
        return match socket.try_read(room) {
            Ok(0) => Err(Disconnect::Lost),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            read => read.map_err(|_| Disconnect::Lost),
        };
    };
    let mut read = None;
    let result = stream.try_io(Interest::READABLE, || {
        let (bytes, _) = recv(stream, &mut *room, RecvFlags::DONTWAIT)?;
        read = Some(bytes);
        if bytes > 0 && bytes < room.len() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
    });
    match (read, result) {
        (Some(0), _) => Err(Disconnect::Lost),
        (Some(bytes), _) => Ok(bytes),
        (None, Err(error)) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
        (None, _) => Err(Disconnect::Lost),
    }
}
