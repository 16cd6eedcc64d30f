//! Connections without worlds: framing of input, encoding of output, and closing.

use super::connection::{WakeReason, WorldConnection, linger};
use super::disconnect::{CloseMessage, Disconnect};
use super::mover_connection::MoverConnection;
use super::reader::{FrameReader, ReadFlow};
use crate::listener::{Connection, ConnectionPermits};
use engine::limits::{
    MOVER_NAME_CHARS_MAX, VIEW_MARGIN_CELLS, VIEW_MOVERS_MAX, VIEW_RADIUS_MAX, WORLD_FRAME_BYTES_MAX,
    WORLD_FRAMES_BURST, WORLD_HELLO_BYTES_MAX, WORLD_OUTBOUND_BYTES_MAX,
};
use engine::worlds::{Answer, Done, EnteredMover, MoverId, MoverRef, Refusal, ViewDelta};
use metrics::Metrics;
use proptest::prelude::*;
use prost::Message;
use rules::world::{Cell, Indicator, Item, PowerUp};
use rustix::net::sockopt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{self, WebSocket};
use wire::delimited;
use wire::world::{
    ClientFrame, ClientMessage, Framing, Hello, Leave, Move, Register, Registered, ServerFrame, ServerMessage, View,
};
use worlds::{ClientSink, CloseReason, OutboundMessage};

/// A client's side of a connection, and the server's.
async fn connection(framing: Framing) -> (TcpStream, Arc<WorldConnection>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (client, accepted) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
    let permit = ConnectionPermits::new(1, None, None, Arc::new(Metrics::default()))
        .acquire([127, 0, 0, 1].into(), &mut None)
        .await;
    (client.unwrap(), Arc::new(WorldConnection::new(Connection::new(accepted.unwrap().0, permit.unwrap()), framing)))
}

/// Reads everything until the connection ends, then closes it as the server does.
async fn read_to_end(connection: Arc<WorldConnection>) -> (Vec<ClientMessage>, Disconnect) {
    let (mut reader, mut received) = (FrameReader::default(), Vec::new());
    let disconnect = loop {
        let more = match poll_fn(|context| connection.poll_ready(context)).await {
            WakeReason::Readable => reader.read_socket(&connection, 0, &mut |message| {
                received.push(message);
                Ok(ReadFlow::Continue)
            }),
            WakeReason::Writable => {
                connection.flush();
                Ok(())
            }
            WakeReason::Closed => Err(Disconnect::Lost),
        };
        if let Err(disconnect) = more {
            break disconnect;
        }
    };
    connection.close_with(&disconnect);
    linger(connection).await;
    (received, disconnect)
}

fn client_frames() -> Vec<ClientMessage> {
    let hello = ClientMessage::Hello(Hello { version: 1, capabilities: vec!["reasons".to_owned()] });
    let register = Register { world: "plaza".to_owned(), token: "t".repeat(200), ..Register::default() };
    let step = ClientMessage::Move(Move { seq: 1, step: 3 });
    vec![hello, ClientMessage::Register(register), step, ClientMessage::Leave(Leave {})]
}

fn delimited_bytes(message: &[ClientMessage]) -> Vec<u8> {
    message
        .iter()
        .flat_map(|message| ClientFrame { what: Some(message.clone()) }.encode_length_delimited_to_vec())
        .collect()
}

/// The same as a client of WebSockets sends it: some fragmented, and with pings between.
fn websocket_bytes(message: &[ClientMessage], is_json: bool) -> Vec<u8> {
    let mut client = WebSocket::from_raw_socket(std::io::Cursor::new(Vec::new()), Role::Client, None);
    for message in message {
        client.write(tungstenite::Message::Ping(vec![7; 3].into())).unwrap();
        let message = if is_json {
            tungstenite::Message::text(serde_json::to_string(message).unwrap())
        } else {
            tungstenite::Message::binary(ClientFrame { what: Some(message.clone()) }.encode_to_vec())
        };
        client.write(message).unwrap();
    }
    client.flush().unwrap();
    client.get_ref().get_ref().clone()
}

/// The same frames must be read wherever the bytes are split.
async fn check_cuts(framing: Framing, bytes: &[u8]) {
    for cut in 0..=bytes.len() {
        let (mut client, connection) = connection(framing).await;
        let reading = tokio::spawn(read_to_end(connection));
        client.set_nodelay(true).unwrap();
        client.write_all(&bytes[..cut]).await.unwrap();
        // Whether both parts come in one read or in two, the same is read.
        tokio::task::yield_now().await;
        client.write_all(&bytes[cut..]).await.unwrap();
        client.shutdown().await.unwrap();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        assert_eq!(reading.await.unwrap(), (client_frames(), Disconnect::Lost), "cut at {cut}");
    }
}

#[tokio::test]
async fn frames_are_the_same_wherever_the_bytes_are_split() {
    check_cuts(Framing::Delimited, &delimited_bytes(&client_frames())).await;
    check_cuts(Framing::Binary, &websocket_bytes(&client_frames(), false)).await;
    check_cuts(Framing::Binary, &websocket_bytes(&client_frames(), true)).await;
}

/// Decodes everything that a server sent over TCP.
fn decode_frames(mut bytes: &[u8]) -> Vec<ServerMessage> {
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let range = delimited::first_frame(bytes, usize::MAX).unwrap().expect("frames are whole");
        let end = range.end;
        messages.push(ServerFrame::decode(&bytes[range]).unwrap().what.expect("frames say something known"));
        bytes = &bytes[end..];
    }
    messages
}

/// The response to a client that sends these bytes and no more.
async fn answer_to(framing: Framing, bytes: &[u8]) -> (Disconnect, Vec<u8>) {
    let (mut client, connection) = connection(framing).await;
    let reading = tokio::spawn(read_to_end(connection));
    // A closed connection may not accept all of it.
    let _ = client.write_all(bytes).await;
    let _ = client.shutdown().await;
    let mut received = Vec::new();
    let _ = client.read_to_end(&mut received).await;
    (reading.await.unwrap().1, received)
}

/// A client that sends this gets one error, and nothing after it.
async fn check_ended(framing: Framing, bytes: &[u8], code: &str, close: u32) {
    let (disconnect, received) = answer_to(framing, bytes).await;
    assert!(
        matches!(&disconnect, Disconnect::ClosedByServer(message) if message.code == code),
        "{code}: {disconnect:?}"
    );
    let check = |error: &wire::world::Error| {
        assert_eq!((error.code.as_str(), error.close), (code, close), "{error:?}");
        assert!(error.reason.len() > 15, "{error:?}");
    };
    if framing == Framing::Delimited {
        match decode_frames(&received).as_slice() {
            [ServerMessage::Error(error)] => check(error),
            others => panic!("{code}: {others:?}"),
        }
        return;
    }
    let mut client = WebSocket::from_raw_socket(std::io::Cursor::new(received), Role::Client, None);
    // A client that begins with a text is answered in texts, even if the text is malformed.
    let is_text = bytes[0] & 0x0f == 1;
    let error = match client.read().unwrap() {
        tungstenite::Message::Text(text) if is_text => serde_json::from_str(&text).unwrap(),
        tungstenite::Message::Binary(frame) if !is_text => ServerFrame::decode(frame).unwrap().what.unwrap(),
        other => panic!("{code}: {other:?}"),
    };
    assert!(matches!(&error, ServerMessage::Error(error) if { check(error); true }), "{error:?}");
    let tungstenite::Message::Close(Some(sent)) = client.read().unwrap() else { panic!("{code}: no close") };
    assert_eq!((u32::from(u16::from(sent.code)), sent.reason.as_str()), (close, code));
}

#[tokio::test]
async fn a_malformed_frame_gets_one_error_and_a_close() {
    let tcp = Framing::Delimited;
    check_ended(tcp, &[0], "malformed", 1002).await;
    check_ended(tcp, &[0xff; 5], "malformed", 1002).await;
    check_ended(tcp, &[2, 0x08, 0x01], "malformed", 1002).await;
    check_ended(tcp, &[3, 0x22, 0x09, 0x08], "malformed", 1002).await;
    check_ended(tcp, &[WORLD_HELLO_BYTES_MAX as u8 + 1], "oversized", 1009).await;
    let hello = delimited_bytes(&client_frames()[..1]);
    let long = [&hello[..], &[0x81, 0x10]].concat();
    assert_eq!((0x81 & 0x7f) | 0x10 << 7, WORLD_FRAME_BYTES_MAX + 1);
    check_ended(tcp, &long, "oversized", 1009).await;

    let socket = Framing::Binary;
    check_ended(socket, &[0x81, 0x01], "malformed", 1002).await;
    check_ended(socket, &[0x82, 0xfe, 0xff, 0xff], "oversized", 1009).await;
    check_ended(socket, &[0x81, 0xfe, 0xff, 0xff], "oversized", 1009).await;
    let text = |text: &str| {
        let mut client = WebSocket::from_raw_socket(std::io::Cursor::new(Vec::new()), Role::Client, None);
        client.send(tungstenite::Message::text(text)).unwrap();
        client.get_ref().get_ref().clone()
    };
    check_ended(socket, &text("{"), "malformed", 1002).await;
    check_ended(socket, &text(r#"{"move":{"seq":1,"step":"up"}}"#), "malformed", 1002).await;
    let mut not_text = text("?");
    *not_text.last_mut().unwrap() ^= 0x80;
    check_ended(socket, &not_text, "malformed", 1007).await;
}

#[tokio::test]
async fn too_many_frames_close_the_connection() {
    let frames = WORLD_FRAMES_BURST as usize;
    let steps = |count| vec![ClientMessage::Move(Move { seq: 1, step: 0 }); count];
    let (disconnect, received) = answer_to(Framing::Delimited, &delimited_bytes(&steps(frames))).await;
    assert_eq!((disconnect, received), (Disconnect::Lost, Vec::new()));
    check_ended(Framing::Delimited, &delimited_bytes(&steps(frames + 1)), "too_fast", 1008).await;
    let pings = [0x89, 0x80, 0, 0, 0, 0].repeat(frames + 1);
    let (disconnect, _) = answer_to(Framing::Binary, &pings).await;
    assert_eq!(disconnect, Disconnect::ClosedByServer(CloseMessage::too_fast()));
}

#[tokio::test]
async fn a_close_is_answered_with_a_close_and_a_ping_with_a_pong() {
    let mut client = WebSocket::from_raw_socket(std::io::Cursor::new(Vec::new()), Role::Client, None);
    client.write(tungstenite::Message::Ping(b"here".to_vec().into())).unwrap();
    client.flush().unwrap();
    let mut bytes = client.get_ref().get_ref().clone();
    bytes.extend([0x88, 0x82, 0, 0, 0, 0, 0x0f, 0xa0]);
    let (disconnect, received) = answer_to(Framing::Binary, &bytes).await;
    assert_eq!(disconnect, Disconnect::ClosedByPeer(Some(4_000)));
    assert_eq!(received, [&[0x8a, 4][..], b"here", &[0x88, 2, 0x0f, 0xa0]].concat());
}

fn answer(seq: u32, result: Result<Done, Refusal>) -> Answer {
    Answer { tag: 0, mover: MoverRef { slot: 0, id: MoverId(1) }, seq, result }
}

fn send_outbound(connection: &WorldConnection, message: &OutboundMessage<'_>) {
    let mut frame = Vec::new();
    connection.encode(message, &mut frame);
    connection.send(&frame);
}

#[tokio::test]
async fn output_before_the_first_response_is_sent_after_it() {
    let (mut client, connection) = connection(Framing::Delimited).await;
    connection.hold_output();
    send_outbound(&connection, &OutboundMessage::Answer(&answer(1, Ok(Done::Moved(Cell { x: 2, y: 3 })))));
    assert!(connection.has_backlog(), "no view is computed before the first response");
    connection.release_output(Some(&Registered { id: 1, ..Registered::default() }));
    assert!(!connection.has_backlog());
    send_outbound(&connection, &OutboundMessage::Answer(&answer(2, Err(Refusal::Blocked))));
    connection.close(CloseReason::Replaced);
    send_outbound(&connection, &OutboundMessage::Answer(&answer(3, Err(Refusal::Blocked))));
    assert_eq!(poll_fn(|context| connection.poll_ready(context)).await, WakeReason::Closed);
    tokio::spawn(linger(connection));
    let mut received = Vec::new();
    client.read_to_end(&mut received).await.unwrap();
    let messages = decode_frames(&received);
    let [
        ServerMessage::Registered(_),
        ServerMessage::Moved(moved),
        ServerMessage::Refused(refused),
        ServerMessage::Error(error),
    ] = messages.as_slice()
    else {
        panic!("{messages:?}")
    };
    assert_eq!((moved.seq, moved.x, moved.y), (1, 2, 3));
    assert_eq!((refused.seq, refused.code.as_str(), refused.reason.as_str()), (2, "blocked", ""));
    assert_eq!(error.code, "replaced");
}

/// Three connections resume the same mover at once: two of them are replaced before their response.
#[tokio::test]
async fn nothing_follows_an_error_that_overtakes_the_first_response() {
    for framing in [Framing::Delimited, Framing::Binary] {
        let (mut client, connection) = connection(framing).await;
        connection.hold_output();
        send_outbound(&connection, &OutboundMessage::View(&ViewDelta { is_full: true, ..ViewDelta::default() }));
        connection.close(CloseReason::Replaced);
        connection.release_output(Some(&Registered { id: 1, ..Registered::default() }));
        send_outbound(&connection, &OutboundMessage::Answer(&answer(1, Err(Refusal::Blocked))));
        tokio::spawn(linger(connection));
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.unwrap();
        let close = [&[0x88, 2 + b"replaced".len() as u8, 0x03, 0xf0][..], b"replaced"].concat();
        let frame = match framing {
            Framing::Delimited => received.as_slice(),
            _ => received.strip_suffix(close.as_slice()).expect("a close is the last thing").get(1..).unwrap(),
        };
        assert!(
            matches!(decode_frames(frame).as_slice(), [ServerMessage::Error(error)] if error.code == "replaced"),
            "{received:?}"
        );
    }
}

#[tokio::test]
async fn pending_output_of_a_slow_client_comes_later_and_in_order() {
    let (mut client, connection) = connection(Framing::Delimited).await;
    let mut frames = 0;
    while !connection.has_backlog() {
        frames += 1;
        send_outbound(
            &connection,
            &OutboundMessage::View(&ViewDelta { tick: frames, left: vec![MoverId(7); 10_000], ..ViewDelta::default() }),
        );
    }
    let reading = tokio::spawn(read_to_end(connection.clone()));
    let mut received = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    while connection.has_backlog() {
        let count = client.read(&mut chunk).await.unwrap();
        received.extend_from_slice(&chunk[..count]);
    }
    client.shutdown().await.unwrap();
    client.read_to_end(&mut received).await.unwrap();
    let ticks: Vec<_> = decode_frames(&received)
        .iter()
        .map(|message| if let ServerMessage::View(view) = message { view.tick } else { 0 })
        .collect();
    assert_eq!(ticks, (1..=frames).collect::<Vec<_>>());
    assert_eq!(reading.await.unwrap().1, Disconnect::Lost);
}

/// The peer's machine may vanish without a packet: the kernel probes for that.
#[tokio::test]
async fn keepalive_detects_dead_peers() {
    let (_client, connection) = connection(Framing::Delimited).await;
    connection.enable_keepalive(Duration::from_millis(90_500));
    let socket = connection.stream();
    assert!(sockopt::socket_keepalive(socket).unwrap());
    let keepalive = (sockopt::tcp_keepidle(socket), sockopt::tcp_keepintvl(socket), sockopt::tcp_keepcnt(socket));
    // The kernel counts whole seconds of silence.
    assert_eq!(keepalive, (Ok(Duration::from_secs(91)), Ok(Duration::from_secs(10)), Ok(3)));
    assert_eq!(sockopt::tcp_user_timeout(socket), Ok(120_500));
}

#[tokio::test]
async fn a_client_that_never_reads_is_disconnected() {
    let (_client, connection) = connection(Framing::Delimited).await;
    let frame = vec![0; WORLD_OUTBOUND_BYTES_MAX / 2];
    let (_, disconnect) =
        tokio::join!(async { (0..1_000).for_each(|_| connection.send(&frame)) }, read_to_end(connection.clone()));
    assert_eq!(disconnect.1, Disconnect::Lost);
    let page = connection.metrics().page().into_text();
    assert!(page.contains(r#"gauntlet_world_connections_ended_total{code="not_read"} 1"#), "{page}");
}

#[test]
fn a_view_is_encoded_as_it_was_computed() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (_client, connection) = connection(Framing::Delimited).await;
        let first = ViewDelta { trees: vec![Cell { x: 1, y: 2 }], score: Some(3), ..ViewDelta::default() };
        let second = ViewDelta { left: vec![MoverId(4)], oldest_change_us: Some(5), ..ViewDelta::default() };
        let mut frames = Vec::new();
        [&first, &second].into_iter().for_each(|delta| connection.encode(&OutboundMessage::View(delta), &mut frames));
        // Nothing of the first is left in the second, although the memory is the same.
        let want = [
            View { trees: vec![1, 2], score: Some(3), ..View::default() },
            View { left: vec![4], oldest_change_us: 5, ..View::default() },
        ];
        assert_eq!(decode_frames(&frames), want.map(|view| ServerMessage::View(Box::new(view))));
    });
}

/// A client that reads everything at once is not disconnected for a large view, in the most verbose format.
#[test]
fn the_largest_view_fits_into_the_pending_output() {
    let side = 2 * u16::from(VIEW_RADIUS_MAX + VIEW_MARGIN_CELLS) + 1;
    let cells = || (0..side).flat_map(|y| (0..side).map(move |x| Cell { x: 4_095 - x, y: 4_095 - y }));
    let longest = Indicator::from(Item::PowerUp(PowerUp::DoubleStep));
    let name: Arc<str> = "🎴".repeat(MOVER_NAME_CHARS_MAX).into();
    let entered = |number| EnteredMover {
        id: MoverId(u32::MAX - number),
        cell: Cell { x: 4_095, y: 4_095 },
        indicator: Indicator::of_mover(19).unwrap(),
        name: Some(name.clone()),
    };
    // A hunt's next round begins among bacteria, and all movers nearby are new.
    let view = ViewDelta {
        entered: (0..VIEW_MOVERS_MAX as u32).map(entered).collect(),
        left: vec![MoverId(u32::MAX); VIEW_MOVERS_MAX],
        items_gone: cells().collect(),
        items_in: cells().map(|cell| (cell, longest)).collect(),
        life_on: cells().collect(),
        oldest_change_us: Some(i64::MAX),
        ..ViewDelta::default()
    };
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (_client, connection) = connection(Framing::Text).await;
        connection.enable_reasons();
        let mut frames = Vec::new();
        connection.encode(&OutboundMessage::View(&view), &mut frames);
        let refused = answer(u32::MAX, Err(Refusal::OutOfOrder { expected: u32::MAX }));
        (0..WORLD_FRAMES_BURST).for_each(|_| connection.encode(&OutboundMessage::Answer(&refused), &mut frames));
        assert!(frames.len() <= WORLD_OUTBOUND_BYTES_MAX, "{} bytes", frames.len());
    });
}

#[test]
fn a_connection_is_small() {
    // Tokio's overhead for a future: its header, the scheduler's state, its list entries. Its tasks are aligned to 128 bytes.
    const TASK_BYTES: usize = 96;
    let sizes = (size_of::<WorldConnection>(), size_of::<MoverConnection>());
    assert!(sizes.0 <= 144, "a connection has {} bytes", sizes.0);
    assert!(sizes.1 + TASK_BYTES <= 256, "a connection's task has {} bytes of its own", sizes.1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is sent: no panic; at most one error, which comes last; and then the end.
    #[test]
    fn any_bytes_end_in_one_error_at_most(
        bytes in prop::collection::vec(any::<u8>(), 0..400), has_hello in any::<bool>(), is_tcp in any::<bool>(),
    ) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let hello = &client_frames()[..1];
        let (framing, before) = if is_tcp {
            (Framing::Delimited, delimited_bytes(hello))
        } else {
            (Framing::Binary, websocket_bytes(hello, false))
        };
        let bytes = if has_hello { [before, bytes].concat() } else { bytes };
        let (disconnect, received) = runtime.block_on(answer_to(framing, &bytes));
        if is_tcp {
            let errors = decode_frames(&received);
            prop_assert_eq!(errors.len(), usize::from(matches!(disconnect, Disconnect::ClosedByServer(_))), "{:?}", errors);
        } else if disconnect == Disconnect::Lost {
            let pong = |bytes: &[u8]| bytes.is_empty() || bytes[0] == 0x8a;
            prop_assert!(pong(&received), "{:?}", received);
        } else {
            prop_assert!(received.contains(&0x88), "{:?}: a close ends it", disconnect);
        }
    }
}
