//! The codec against another implementation, against every way of cutting the bytes, and against random bytes.

use super::*;
use proptest::prelude::*;
use std::io::{Cursor, Read, Write};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket};

const MAX: usize = 1_000;

/// An owned event, to be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Received {
    Message(MessageKind, Vec<u8>),
    Ping(Vec<u8>),
    Pong,
    Close(Option<u16>),
}

/// Everything in these bytes, which come in pieces of these lengths and then one by one; and why it ended, if it did.
fn receive(bytes: &[u8], pieces: &[usize]) -> (Vec<Received>, Option<Violation>) {
    let (mut messages, mut kept, mut received, mut rest) = (MessageAssembler::default(), Vec::new(), Vec::new(), bytes);
    let mut pieces = pieces.iter().copied();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(pieces.next().unwrap_or(1).min(rest.len()));
        kept.extend_from_slice(piece);
        rest = behind;
        loop {
            let used = match messages.next_event(&mut kept, MAX) {
                Ok((0, _)) => break,
                Ok((used, event)) => {
                    received.extend(event.map(|event| match event {
                        SocketEvent::Message(kind, body) => Received::Message(kind, body.to_vec()),
                        SocketEvent::Ping(body) => Received::Ping(body.to_vec()),
                        SocketEvent::Pong => Received::Pong,
                        SocketEvent::Close(status) => Received::Close(status),
                    }));
                    used
                }
                Err(violation) => return (received, Some(violation)),
            };
            kept.drain(..used);
        }
    }
    (received, None)
}

/// A client's frame.
fn frame(first: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_header(Opcode::Text, body.len(), &mut bytes);
    bytes[0] = first;
    bytes[1] |= MASKED;
    let mask = [0x12, 0xa5, 0, 0xff];
    bytes.extend_from_slice(&mask);
    let start = bytes.len();
    bytes.extend_from_slice(body);
    unmask(&mut bytes[start..], mask);
    bytes
}

#[track_caller]
fn check(frames: &[(u8, &[u8])], want: &[Received], violation: Option<Violation>) {
    let bytes: Vec<u8> = frames.iter().flat_map(|(first, body)| frame(*first, body)).collect();
    let want = (want.to_vec(), violation);
    assert_eq!(receive(&bytes, &[bytes.len()]), want);
    assert_eq!(receive(&bytes, &[]), want, "byte by byte");
    for cut in 0..bytes.len() {
        assert_eq!(receive(&bytes, &[cut, bytes.len()]), want, "cut at {cut}");
    }
}

fn text(body: &str) -> Received {
    Received::Message(MessageKind::Text, body.into())
}

fn protocol(why: &'static str) -> Option<Violation> {
    Some(Violation::Protocol(why))
}

#[test]
fn messages_are_put_together() {
    check(&[(0x81, b"hi")], &[text("hi")], None);
    check(&[(0x82, b"")], &[Received::Message(MessageKind::Binary, vec![])], None);
    check(&[(0x82, &[7; 126])], &[Received::Message(MessageKind::Binary, vec![7; 126])], None);
    check(&[(0x82, &[7; MAX])], &[Received::Message(MessageKind::Binary, vec![7; MAX])], None);
    check(&[(0x01, b"a"), (0x00, b""), (0x80, b"b"), (0x81, b"c")], &[text("ab"), text("c")], None);
    // A character may be cut by a fragment.
    check(&[(0x01, &[0xf0, 0x9f]), (0x80, &[0x98, 0x81])], &[text("😁")], None);
    check(
        &[(0x01, b"a"), (0x89, b"ping"), (0x8a, b""), (0x80, b"b"), (0x88, &[0x03, 0xe8])],
        &[Received::Ping(b"ping".to_vec()), Received::Pong, text("ab"), Received::Close(Some(1000))],
        None,
    );
    check(&[(0x88, b"")], &[Received::Close(None)], None);
    check(&[(0x88, b"\x0f\xa0bye")], &[Received::Close(Some(4000))], None);
}

#[test]
fn violations_end_the_connection() {
    check(&[(0x81, b"a"), (0x80, b"b")], &[text("a")], protocol("a message goes on that has not begun"));
    check(&[(0x01, b"a"), (0x81, b"b")], &[], protocol("a message begins inside of another"));
    check(&[(0xc1, b"a")], &[], protocol("a frame has reserved bits, and no extension was agreed on"));
    check(&[(0x83, b"a")], &[], protocol("a frame has an opcode that nothing has"));
    check(&[(0x09, b"a")], &[], protocol("a control frame is in parts, or longer than 125 bytes"));
    check(&[(0x89, &[7; 126])], &[], protocol("a control frame is in parts, or longer than 125 bytes"));
    check(&[(0x88, b"\x03")], &[], protocol("a close has half a status"));
    check(&[(0x88, b"\x03\xee")], &[], protocol("a close has a status that must not be sent"));
    check(&[(0x88, b"\x03\xe8\xff")], &[], Some(Violation::NotText));
    check(&[(0x81, b"\xff")], &[], Some(Violation::NotText));
    check(&[(0x82, &[7; MAX + 1])], &[], Some(Violation::TooLong));
    check(&[(0x02, &[7; MAX]), (0x80, b"7")], &[], Some(Violation::TooLong));
}

#[test]
fn heads_that_cannot_be_right_are_refused_at_once() {
    let check = |bytes: &[u8], want| assert_eq!(receive(bytes, &[]).1, want, "{bytes:?}");
    check(&[0x81, 0x01], protocol("a frame of a client is not masked"));
    check(&[0x82, 0xfe, 0, 125], protocol("the length of a frame is not in its shortest form"));
    check(&[0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff], protocol("the length of a frame is not in its shortest form"));
    check(&[0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Some(Violation::TooLong));
    check(&[0x82, 0xfe, 0x03, 0xe9], Some(Violation::TooLong));
}

#[test]
fn nothing_is_kept_between_messages() {
    let mut messages = MessageAssembler::default();
    for (first, body, begun) in [(0x01, "a", true), (0x80, "b", true), (0x81, "c", false)] {
        messages.next_event(&mut frame(first, body.as_bytes()), MAX).unwrap();
        assert_eq!(messages.has_fragment(), begun, "{body}");
    }
    messages.next_event(&mut frame(0x01, b"a"), MAX).unwrap();
    messages.next_event(&mut frame(0x80, b"b"), MAX).unwrap();
    messages.release();
    assert!(!messages.has_fragment());
}

/// A connection of the other codec: what it reads comes first, what it writes is kept.
struct Pipe {
    input: Cursor<Vec<u8>>,
    output: Vec<u8>,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.input.read(buffer)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn other(role: Role, input: Vec<u8>) -> WebSocket<Pipe> {
    let config = WebSocketConfig::default().max_message_size(Some(MAX)).max_frame_size(Some(MAX));
    WebSocket::from_raw_socket(Pipe { input: Cursor::new(input), output: Vec::new() }, role, Some(config))
}

#[derive(Clone, Debug)]
enum Sent {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
}

fn sent_messages() -> impl Strategy<Value = Vec<Sent>> {
    let bytes = |max| prop::collection::vec(any::<u8>(), 0..max);
    prop::collection::vec(
        prop_oneof![
            ".{0,80}".prop_map(Sent::Text),
            bytes(MAX).prop_map(Sent::Binary),
            bytes(CONTROL_BYTES_MAX).prop_map(Sent::Ping),
        ],
        0..8,
    )
}

proptest! {
    #[test]
    fn reads_what_another_implementation_writes(sent in sent_messages(), pieces in prop::collection::vec(1_usize..300, 0..20)) {
        let mut client = other(Role::Client, Vec::new());
        for message in &sent {
            client.write(match message.clone() {
                Sent::Text(text) => Message::text(text),
                Sent::Binary(bytes) => Message::binary(bytes),
                Sent::Ping(bytes) => Message::Ping(bytes.into()),
            }).unwrap();
        }
        client.flush().unwrap();
        let want: Vec<_> = sent.into_iter().map(|message| match message {
            Sent::Text(text) => Received::Message(MessageKind::Text, text.into_bytes()),
            Sent::Binary(bytes) => Received::Message(MessageKind::Binary, bytes),
            Sent::Ping(bytes) => Received::Ping(bytes),
        }).collect();
        prop_assert_eq!(receive(&client.get_ref().output, &pieces), (want, None));
    }

    #[test]
    fn what_is_written_is_read_by_another_client(bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..MAX), 0..8), reason in ".{0,200}") {
        let mut bytes = Vec::new();
        for body in &bodies {
            put_header(Opcode::Binary, body.len(), &mut bytes);
            bytes.extend_from_slice(body);
        }
        put_pong(b"here", &mut bytes);
        put_close(1008, &reason, &mut bytes);
        let mut client = other(Role::Client, bytes);
        for body in bodies {
            prop_assert_eq!(client.read().unwrap(), Message::binary(body));
        }
        prop_assert_eq!(client.read().unwrap(), Message::Pong(b"here".to_vec().into()));
        let Message::Close(Some(close)) = client.read().unwrap() else { panic!("no close") };
        prop_assert_eq!(u16::from(close.code), 1008);
        prop_assert!(reason.starts_with(close.reason.as_str()));
    }

    /// The other codec reads the same events from any bytes, up to where one of the two reports an error.
    #[test]
    fn reads_the_same_events_as_another_implementation(
        frames in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..20)), 0..10),
        pieces in prop::collection::vec(1_usize..30, 0..20),
    ) {
        let bytes: Vec<u8> = frames.iter().flat_map(|(first, body)| frame(first & 0x8f, body)).collect();
        let (received, violation) = receive(&bytes, &pieces);
        let mut server = other(Role::Server, bytes);
        let mut theirs = Vec::new();
        let end = loop {
            match server.read() {
                Ok(Message::Text(text)) => theirs.push(Received::Message(MessageKind::Text, text.as_bytes().to_vec())),
                Ok(Message::Binary(body)) => theirs.push(Received::Message(MessageKind::Binary, body.to_vec())),
                Ok(Message::Ping(body)) => theirs.push(Received::Ping(body.to_vec())),
                Ok(Message::Pong(_)) => theirs.push(Received::Pong),
                Ok(Message::Close(_)) | Err(Error::ConnectionClosed) => break None,
                Ok(Message::Frame(_)) => unreachable!("frames are not read"),
                Err(error) => break Some(error),
            }
        };
        let ours: Vec<_> = received.iter().take_while(|received| !matches!(received, Received::Close(_))).cloned().collect();
        let is_closed = ours.len() < received.len();
        // Theirs looks at a text with each fragment, ours when it is whole.
        let is_early = matches!(end, Some(Error::Utf8(_)));
        prop_assert!(if is_early { ours.starts_with(&theirs) } else { ours == theirs }, "{:?} {:?}", ours, theirs);
        // Theirs reports the end of the bytes as an error as well; ours rejects forbidden close codes.
        if !is_closed && violation.is_some() {
            prop_assert!(end.is_some() || violation == protocol("a close has a status that must not be sent"));
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic_and_independent_of_cuts(
        bytes in prop::collection::vec(any::<u8>(), 0..300), pieces in prop::collection::vec(1_usize..100, 0..10),
    ) {
        prop_assert_eq!(receive(&bytes, &[bytes.len()]), receive(&bytes, &pieces));
    }
}
