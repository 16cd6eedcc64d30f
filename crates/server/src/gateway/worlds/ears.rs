//! What a connection says, as frames: bytes are read into a buffer of the thread, looked at where they lie, and kept only while a
//! frame is not whole. A connection that says nothing holds no buffer.
//!
//! Knows no worlds: each frame is handed to whoever listens.

use super::line::Line;
use super::pace::Pace;
use super::parting::{Farewell, Parting};
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
pub(super) enum Flow {
    /// The next frame.
    On,
    /// Nothing more for now.
    Stop,
}

/// What is remembered of what one connection says.
#[derive(Debug, Default)]
pub(super) struct Ears {
    /// Bytes that are no whole frame, or that nobody wanted yet.
    kept: Box<[u8]>,
    /// A message of a WebSocket in parts.
    messages: MessageAssembler,
    pace: Pace,
    has_greeted: bool,
}

impl Ears {
    /// Of a connection of which this was read already.
    pub(super) fn new(kept: &[u8]) -> Self {
        Self { kept: kept.into(), ..Self::default() }
    }

    /// Whether bytes are kept that may hold whole frames.
    pub(super) fn has_kept(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Looks again at what is kept, where it is: whoever read requests before may have read more of the connection than is read
    /// here at a time.
    ///
    /// # Errors
    /// The connection ends.
    pub(super) fn hear_kept(
        &mut self,
        line: &Line,
        now_us: i64,
        each: &mut dyn FnMut(ClientMessage) -> Result<Flow, Parting>,
    ) -> Result<(), Parting> {
        let mut kept = std::mem::take(&mut self.kept);
        let used = self.split(line, &mut kept, now_us, each)?;
        self.kept = if used == 0 { kept } else { kept[used..].into() };
        Ok(())
    }

    /// Reads what has come, once, and hands out the frames in it.
    ///
    /// # Errors
    /// The connection ends.
    pub(super) fn hear_more(
        &mut self,
        line: &Line,
        now_us: i64,
        each: &mut dyn FnMut(ClientMessage) -> Result<Flow, Parting>,
    ) -> Result<(), Parting> {
        BUFFER.with_borrow_mut(|buffer| {
            let kept = self.kept.len();
            let Some((before, room)) = buffer.split_at_mut_checked(kept).filter(|(_, room)| !room.is_empty()) else {
                // So many bytes hold a whole frame, or one that is too long.
                return self.hear_kept(line, now_us, each);
            };
            let read = read(line.stream(), room)?;
            if read == 0 {
                return Ok(());
            }
            before.copy_from_slice(&self.kept);
            let bytes = &mut buffer[..kept + read];
            let used = self.split(line, bytes, now_us, each)?;
            // The same allocation is never kept longer than a frame takes to come.
            self.kept = bytes[used..].into();
            Ok(())
        })
    }

    /// Hands out the frames in these bytes, and says how many of them were used.
    fn split(
        &mut self,
        line: &Line,
        bytes: &mut [u8],
        now_us: i64,
        each: &mut dyn FnMut(ClientMessage) -> Result<Flow, Parting>,
    ) -> Result<usize, Parting> {
        let (mut used, mut frames, mut flow) = (0, 0, Flow::On);
        let result = loop {
            if flow == Flow::Stop {
                break Ok(());
            }
            let next = match line.framing() {
                Framing::Delimited => self.delimited(&bytes[used..], each),
                Framing::Binary | Framing::Text => self.message(line, &mut bytes[used..], each),
            };
            match next {
                Ok((0, _)) => break Ok(()),
                Ok((length, wants)) => (used, flow) = (used + length, wants),
                Err(parting) => break Err(parting),
            }
            frames += 1;
            if !self.pace.frame(now_us) {
                break Err(Farewell::too_fast().into());
            }
        };
        line.heard(frames, used);
        result.map(|()| used)
    }

    /// A frame behind its length.
    fn delimited(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(ClientMessage) -> Result<Flow, Parting>,
    ) -> Result<(usize, Flow), Parting> {
        let bytes_max = if self.has_greeted { WORLD_FRAME_BYTES_MAX } else { WORLD_HELLO_BYTES_MAX };
        let Some(place) = delimited::first_frame(bytes, bytes_max).map_err(Farewell::from)? else {
            return Ok((0, Flow::On));
        };
        let end = place.end;
        let asked = read_protobuf(&bytes[place]).map_err(Farewell::from)?;
        self.has_greeted = true;
        Ok((end, each(asked)?))
    }

    /// A frame of a WebSocket. The first message says in which language its client wants to be answered, also when it cannot be read.
    fn message(
        &mut self,
        line: &Line,
        bytes: &mut [u8],
        each: &mut dyn FnMut(ClientMessage) -> Result<Flow, Parting>,
    ) -> Result<(usize, Flow), Parting> {
        if !self.has_greeted && first_kind(bytes) == Some(MessageKind::Text) {
            line.speak_json();
        }
        let (used, event) = self.messages.next_event(bytes, WORLD_FRAME_BYTES_MAX).map_err(Farewell::from)?;
        let flow = match event {
            None | Some(SocketEvent::Pong) => Flow::On,
            Some(SocketEvent::Ping(body)) => {
                let mut pong = Vec::new();
                put_pong(body, &mut pong);
                line.tell_now(&pong);
                Flow::On
            }
            Some(SocketEvent::Close(status)) => return Err(Parting::Bye(status)),
            Some(SocketEvent::Message(kind, body)) => {
                self.has_greeted = true;
                let read = match kind {
                    MessageKind::Text => read_json(body),
                    MessageKind::Binary => read_protobuf(body),
                };
                each(read.map_err(Farewell::from)?)?
            }
        };
        self.messages.release();
        Ok((used, flow))
    }
}

/// Appends what answers a close.
pub(super) fn put_bye(status: Option<u16>, out: &mut Vec<u8>) {
    const NORMAL: u16 = 1000;
    put_close(status.unwrap_or(NORMAL), "", out);
}

/// Reads once. A socket that gave less than there was room for is empty: asking it again would cost a call for every frame.
/// Edge-triggered polling allows that (epoll(7)); whatever comes later is a new edge.
fn read(stream: &TcpStream, room: &mut [u8]) -> Result<usize, Parting> {
    let mut read = None;
    let tried = stream.try_io(Interest::READABLE, || {
        let (bytes, _) = recv(stream, &mut *room, RecvFlags::DONTWAIT)?;
        read = Some(bytes);
        if bytes > 0 && bytes < room.len() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
    });
    match (read, tried) {
        (Some(0), _) => Err(Parting::Gone),
        (Some(bytes), _) => Ok(bytes),
        (None, Err(error)) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
        (None, _) => Err(Parting::Gone),
    }
}
