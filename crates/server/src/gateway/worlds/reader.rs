//! What a connection says, as frames: bytes are read into a buffer of the thread, looked at where they lie, and kept only while a
//! frame is not whole. A connection that says nothing holds no buffer.
//!
//! Knows no worlds: each frame is handed to whoever listens.

use super::connection::WorldConnection;
use super::disconnect::{CloseMessage, Disconnect};
use super::frame_rate::FrameRateLimiter;
use engine::limits::{WORLD_FRAME_BYTES_MAX, WORLD_HELLO_BYTES_MAX, WORLD_READ_BYTES};
use rustix::net::{RecvFlags, recv};
use std::cell::RefCell;
use std::io;
use tokio::io::Interest;
use tokio::net::TcpStream;
use wire::delimited;
use wire::websocket::{
    HEADER_BYTES_MAX, MASK_BYTES, MessageAssembler, MessageKind, SocketEvent, first_kind, put_close, put_pong,
};
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

/// Whether whoever listens wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadFlow {
    /// The next frame.
    Continue,
    /// Nothing more for now.
    Stop,
}

/// What is remembered of what one connection says.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    /// Bytes that are no whole frame, or that nobody wanted yet.
    buffered: Box<[u8]>,
    /// A message of a WebSocket in parts.
    messages: MessageAssembler,
    frame_rate: FrameRateLimiter,
    has_greeted: bool,
}

impl FrameReader {
    /// Of a connection of which this was read already.
    pub(super) fn new(kept: &[u8]) -> Self {
        Self { buffered: kept.into(), ..Self::default() }
    }

    /// Whether bytes are kept that may hold whole frames.
    pub(super) fn has_buffered(&self) -> bool {
        !self.buffered.is_empty()
    }

    /// Looks again at what is kept, where it is: whoever read requests before may have read more of the connection than is read
    /// here at a time.
    ///
    /// # Errors
    /// The connection ends.
    pub(super) fn read_buffered(
        &mut self,
        line: &WorldConnection,
        now_us: i64,
        each: &mut dyn FnMut(ClientMessage) -> Result<ReadFlow, Disconnect>,
    ) -> Result<(), Disconnect> {
        let mut kept = std::mem::take(&mut self.buffered);
        let used = self.split_frames(line, &mut kept, now_us, each)?;
        self.buffered = if used == 0 { kept } else { kept[used..].into() };
        Ok(())
    }

    /// Reads what has come, once, and hands out the frames in it.
    ///
    /// # Errors
    /// The connection ends.
    pub(super) fn read_socket(
        &mut self,
        line: &WorldConnection,
        now_us: i64,
        each: &mut dyn FnMut(ClientMessage) -> Result<ReadFlow, Disconnect>,
    ) -> Result<(), Disconnect> {
        BUFFER.with_borrow_mut(|buffer| {
            let kept = self.buffered.len();
            let Some((before, room)) = buffer.split_at_mut_checked(kept).filter(|(_, room)| !room.is_empty()) else {
                // So many bytes hold a whole frame, or one that is too long.
                return self.read_buffered(line, now_us, each);
            };
            let read = read(line.stream(), room)?;
            if read == 0 {
                return Ok(());
            }
            before.copy_from_slice(&self.buffered);
            let bytes = &mut buffer[..kept + read];
            let used = self.split_frames(line, bytes, now_us, each)?;
            // The same allocation is never kept longer than a frame takes to come.
            self.buffered = bytes[used..].into();
            Ok(())
        })
    }

    /// Hands out the frames in these bytes, and says how many of them were used.
    fn split_frames(
        &mut self,
        line: &WorldConnection,
        bytes: &mut [u8],
        now_us: i64,
        each: &mut dyn FnMut(ClientMessage) -> Result<ReadFlow, Disconnect>,
    ) -> Result<usize, Disconnect> {
        let (mut used, mut frames, mut flow) = (0, 0, ReadFlow::Continue);
        let result = loop {
            if flow == ReadFlow::Stop {
                break Ok(());
            }
            let next = match line.framing() {
                Framing::Delimited => self.read_delimited(&bytes[used..], each),
                Framing::Binary | Framing::Text => self.read_message(line, &mut bytes[used..], each),
            };
            match next {
                Ok((0, _)) => break Ok(()),
                Ok((length, wants)) => (used, flow) = (used + length, wants),
                Err(parting) => break Err(parting),
            }
            frames += 1;
            if !self.frame_rate.try_acquire(now_us) {
                break Err(CloseMessage::too_fast().into());
            }
        };
        line.record_received(frames, used);
        result.map(|()| used)
    }

    /// A frame behind its length.
    fn read_delimited(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(ClientMessage) -> Result<ReadFlow, Disconnect>,
    ) -> Result<(usize, ReadFlow), Disconnect> {
        let bytes_max = if self.has_greeted { WORLD_FRAME_BYTES_MAX } else { WORLD_HELLO_BYTES_MAX };
        let Some(place) = delimited::first_frame(bytes, bytes_max).map_err(CloseMessage::from)? else {
            return Ok((0, ReadFlow::Continue));
        };
        let end = place.end;
        let asked = read_protobuf(&bytes[place]).map_err(CloseMessage::from)?;
        self.has_greeted = true;
        Ok((end, each(asked)?))
    }

    /// A frame of a WebSocket. The first message says in which language its client wants to be answered, also when it cannot be read.
    fn read_message(
        &mut self,
        line: &WorldConnection,
        bytes: &mut [u8],
        each: &mut dyn FnMut(ClientMessage) -> Result<ReadFlow, Disconnect>,
    ) -> Result<(usize, ReadFlow), Disconnect> {
        if !self.has_greeted && first_kind(bytes) == Some(MessageKind::Text) {
            line.set_json();
        }
        let (used, event) = self.messages.next_event(bytes, WORLD_FRAME_BYTES_MAX).map_err(CloseMessage::from)?;
        let flow = match event {
            None | Some(SocketEvent::Pong) => ReadFlow::Continue,
            Some(SocketEvent::Ping(body)) => {
                let mut pong = Vec::new();
                put_pong(body, &mut pong);
                line.send_frames(&pong);
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

/// Appends what answers a close.
pub(super) fn write_close_reply(status: Option<u16>, out: &mut Vec<u8>) {
    const NORMAL: u16 = 1000;
    put_close(status.unwrap_or(NORMAL), "", out);
}

/// Reads once. A socket that gave less than there was room for is empty: asking it again would cost a call for every frame.
/// Edge-triggered polling allows that (epoll(7)); whatever comes later is a new edge.
fn read(stream: &TcpStream, room: &mut [u8]) -> Result<usize, Disconnect> {
    let mut read = None;
    let tried = stream.try_io(Interest::READABLE, || {
        let (bytes, _) = recv(stream, &mut *room, RecvFlags::DONTWAIT)?;
        read = Some(bytes);
        if bytes > 0 && bytes < room.len() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
    });
    match (read, tried) {
        (Some(0), _) => Err(Disconnect::Lost),
        (Some(bytes), _) => Ok(bytes),
        (None, Err(error)) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
        (None, _) => Err(Disconnect::Lost),
    }
}
