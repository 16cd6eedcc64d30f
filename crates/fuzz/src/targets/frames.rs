//! Frames of connections to worlds and of WebSockets.

use crate::Pieces;
use prost::Message;
use wire::delimited::{FramingError, first_frame};
use wire::websocket::{MessageAssembler, MessageKind, SocketEvent, Violation};
use wire::world::{
    ClientFrame, ClientMessage, Dig, Hello, Move, Register, Resume, Step, ViewOptions, read_json, read_protobuf,
};

/// Longest message and frame that the targets read, in bytes: as for worlds.
const FRAME_BYTES_MAX: usize = engine::limits::WORLD_FRAME_BYTES_MAX;

/// An event, with bytes of its own.
#[derive(Debug, PartialEq, Eq)]
enum OwnedEvent {
    Message(MessageKind, Vec<u8>),
    Ping(Vec<u8>),
    Pong,
    Close(Option<u16>),
}

/// Reads what there is; what is left of it, and why no more can be read.
fn read_events(
    assembler: &mut MessageAssembler,
    buffer: &mut Vec<u8>,
    events: &mut Vec<OwnedEvent>,
) -> Result<(), Violation> {
    loop {
        let (used, event) = assembler.next_event(buffer, FRAME_BYTES_MAX)?;
        if let Some(event) = event {
            events.push(match event {
                SocketEvent::Message(kind, body) => {
                    assert!(body.len() <= FRAME_BYTES_MAX, "a message of {} bytes", body.len());
                    OwnedEvent::Message(kind, body.to_vec())
                }
                SocketEvent::Ping(body) => OwnedEvent::Ping(body.to_vec()),
                SocketEvent::Pong => OwnedEvent::Pong,
                SocketEvent::Close(status) => OwnedEvent::Close(status),
            });
        }
        if used == 0 {
            return Ok(());
        }
        buffer.drain(..used);
    }
}

fn read_socket<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<OwnedEvent>, Result<(), Violation>) {
    let (mut assembler, mut buffer, mut events) = (MessageAssembler::default(), Vec::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        let read = read_events(&mut assembler, &mut buffer, &mut events);
        if read.is_err() {
            return (events, read);
        }
    }
    (events, Ok(()))
}

pub(super) fn websocket(input: &[u8]) {
    let Some(pieces) = Pieces::of(input) else { return };
    assert_eq!(read_socket(pieces.cut()), read_socket(std::iter::once(pieces.whole)), "in pieces, and at once");
}

/// A client's frame with an empty mask, so that its bytes are what they say.
fn frame(first: u8, body: &[u8]) -> Vec<u8> {
    let length = match body.len() {
        0..126 => vec![body.len() as u8 | 0x80],
        _ => [&[126 | 0x80][..], &(body.len() as u16).to_be_bytes()].concat(),
    };
    [&[first][..], &length, &[0; 4], body].concat()
}

pub(super) fn websocket_seeds() -> Vec<Vec<u8>> {
    let whole = frame(0x81, br#"{"dig":{"seq":8}}"#);
    let fragments = [frame(0x02, b"ab"), frame(0x89, b"ping"), frame(0x00, b"cd"), frame(0x80, &[7; 200])].concat();
    let closing = [frame(0x8a, b""), frame(0x88, b"\x03\xe8bye")].concat();
    [whole, fragments, closing].map(|bytes| [&[0x31][..], &bytes].concat()).into()
}

fn read_frames<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, Result<(), FramingError>) {
    let (mut buffer, mut frames) = (Vec::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            match first_frame(&buffer, FRAME_BYTES_MAX) {
                Ok(Some(range)) => {
                    frames.push(buffer[range.clone()].to_vec());
                    buffer.drain(..range.end);
                }
                Ok(None) => break,
                Err(error) => return (frames, Err(error)),
            }
        }
    }
    (frames, Ok(()))
}

pub(super) fn delimited(input: &[u8]) {
    let Some(pieces) = Pieces::of(input) else { return };
    let whole = read_frames(std::iter::once(pieces.whole));
    assert_eq!(read_frames(pieces.cut()), whole, "in pieces, and at once");
    let (frames, _) = whole;
    assert!(frames.iter().all(|frame| (1..=FRAME_BYTES_MAX).contains(&frame.len())), "frames of these lengths");
}

pub(super) fn delimited_seeds() -> Vec<Vec<u8>> {
    let frames = messages().into_iter().map(|what| ClientFrame { what: Some(what) }.encode_length_delimited_to_vec());
    vec![[vec![0x20], frames.collect::<Vec<_>>().concat()].concat(), vec![0, 0x80, 0x80, 0x80, 0x80, 0x01]]
}

/// What was read is written and read again, in both forms, and is the same.
fn check_message(message: &ClientMessage) {
    let bytes = ClientFrame { what: Some(message.clone()) }.encode_to_vec();
    assert_eq!(read_protobuf(&bytes).as_ref(), Ok(message), "as a protocol buffer");
}

pub(super) fn world_protobuf(bytes: &[u8]) {
    if let Ok(message) = read_protobuf(bytes) {
        check_message(&message);
    }
}

pub(super) fn world_protobuf_seeds() -> Vec<Vec<u8>> {
    messages().into_iter().map(|what| ClientFrame { what: Some(what) }.encode_to_vec()).collect()
}

pub(super) fn world_json(bytes: &[u8]) {
    if let Ok(message) = read_json(bytes) {
        check_message(&message);
        let text = serde_json::to_vec(&message).expect("a message that was read can be written");
        assert_eq!(read_json(&text).as_ref(), Ok(&message), "as JSON");
    }
}

pub(super) fn world_json_seeds() -> Vec<Vec<u8>> {
    messages().iter().map(|message| serde_json::to_vec(message).expect("a message can be written")).collect()
}

fn messages() -> Vec<ClientMessage> {
    let view = ViewOptions { radius_x: 13, radius_y: 8, per_s: 5 };
    let register = Register {
        world: "plaza".to_owned(),
        token: "gst_x".to_owned(),
        indicator: 3,
        at: Some(wire::world::Cell { x: 10, y: 11 }),
        view: Some(view),
        resume: Some(Resume { id: 9, key: u64::MAX }),
    };
    vec![
        ClientMessage::Hello(Hello { version: 1, capabilities: vec!["reasons".to_owned()] }),
        ClientMessage::Register(register),
        ClientMessage::Move(Move { seq: 7, step: Step::Sw.into() }),
        ClientMessage::Dig(Dig { seq: 8 }),
    ]
}
