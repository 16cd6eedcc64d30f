//! One stream of bytes, cut into segments in any way: the responses are those to the stream in one piece.

use crate::client::{MEADOW, Open, PATIENCE, at, hello, open};
use proptest::prelude::*;
use prost::Message;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{self, WebSocket};
use wire::world::{ClientFrame, ClientMessage};

/// Longest body of a ping: of all frames with a response, the most bytes per frame of the connection's rate.
const PING_BYTES: usize = 125;

/// A request that is refused once its whole body was read.
fn post(body_bytes: usize) -> Vec<u8> {
    let head = "POST /api/limits/check HTTP/1.1\r\nHost: here\r\nContent-Type: application/json";
    [format!("{head}\r\nContent-Length: {body_bytes}\r\n\r\n").into_bytes(), vec![b'x'; body_bytes]].concat()
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").into_bytes()
}

fn upgrade() -> Vec<u8> {
    let head = format!("GET /api/worlds/{MEADOW}/socket HTTP/1.1\r\nHost: here\r\n");
    let key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    format!("{head}Connection: Upgrade\r\nUpgrade: websocket\r\n{key}\r\n").into_bytes()
}

/// A hello, pings, and a frame that ends the connection: a second hello.
fn frames(pings: usize) -> Vec<u8> {
    let mut client = WebSocket::from_raw_socket(std::io::Cursor::new(Vec::new()), Role::Client, None);
    let mut put = |message| {
        client.write(message).unwrap();
        client.flush().unwrap();
    };
    let greeting = || tungstenite::Message::binary(ClientFrame { what: Some(hello()) }.encode_to_vec());
    put(greeting());
    (0..pings).for_each(|ping| put(tungstenite::Message::Ping(vec![ping as u8; PING_BYTES].into())));
    put(greeting());
    client.get_ref().get_ref().clone()
}

/// The same over TCP: a hello, registrations for a missing world, a second hello.
fn delimited(registrations: usize) -> Vec<u8> {
    let nowhere = wire::world::Register { indicator: u32::MAX, ..at(1, 1) };
    let message = std::iter::once(hello())
        .chain(std::iter::repeat_n(ClientMessage::Register(nowhere), registrations))
        .chain(std::iter::once(hello()));
    message.flat_map(|message| ClientFrame { what: Some(message) }.encode_length_delimited_to_vec()).collect()
}

/// Lets the other side read what was sent. Whether it reads segment by segment or several at once, its responses are the same.
async fn let_read() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

/// The responses to these segments, without what differs from response to response.
async fn responses(address: SocketAddr, segments: &[&[u8]]) -> Vec<u8> {
    let client = TcpStream::connect(address).await.unwrap();
    client.set_nodelay(true).unwrap();
    let (mut from, mut to) = client.into_split();
    let sending = async {
        for segment in segments {
            // A connection that was ended may not take all of it.
            let _ = to.write_all(segment).await;
            let_read().await;
        }
    };
    let mut answered = Vec::new();
    let (read, ()) = tokio::join!(timeout(PATIENCE, from.read_to_end(&mut answered)), sending);
    let _ = read.expect("the connection ends");
    without_dates(&answered)
}

fn without_dates(answered: &[u8]) -> Vec<u8> {
    let lines = answered.split_inclusive(|byte| *byte == b'\n');
    let differs = |line: &&[u8]| line.starts_with(b"date: ") || line.starts_with(b"x-request-id: ");
    lines.filter(|line| !differs(line)).flatten().copied().collect()
}

/// Reads one HTTP response to its end.
async fn one_answer(client: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        bytes.push(timeout(PATIENCE, client.read_u8()).await.expect("an answer comes").unwrap());
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
        if body.len() == length.parse::<usize>().unwrap() {
            return bytes;
        }
    }
}

/// A post whose last segment carries the last `tail` bytes of its body and `early` bytes of an upgrade; then, after the response, the rest
/// of the upgrade with frames after it, at once.
async fn check_upgrade_behind_a_body(open: &Open, (body_bytes, tail): (usize, usize), early: usize, pings: usize) {
    let (post, rest) = (post(body_bytes), [upgrade(), frames(pings)].concat());
    let want = responses(open.address, &[&post, &rest]).await;
    let mut client = TcpStream::connect(open.address).await.unwrap();
    client.set_nodelay(true).unwrap();
    let (first, last) = post.split_at(post.len() - tail);
    client.write_all(first).await.unwrap();
    let_read().await;
    client.write_all(&[last, &rest[..early]].concat()).await.unwrap();
    let mut answered = one_answer(&mut client).await;
    client.write_all(&rest[early..]).await.unwrap();
    let _ = timeout(PATIENCE, client.read_to_end(&mut answered)).await.expect("the connection ends");
    let answered = without_dates(&answered);
    let row = format!("{body_bytes} bytes of body, the last {tail} with {early} of the upgrade, {pings} pings");
    let pongs = answered.windows(2).filter(|two| *two == [0x8a, PING_BYTES as u8]).count();
    assert_eq!(pongs, pings, "{row}: pongs");
    assert!(answered == want, "{row}: {} not {}", answered.escape_ascii(), want.escape_ascii());
}

#[tokio::test]
async fn frames_after_an_upgrade_that_came_with_a_body_are_read() {
    let open = open().await;
    // The bytes that are read ahead of the frames exceed one read of frames, by little and by much.
    check_upgrade_behind_a_body(&open, (20_000, 50), 100, 236).await;
    check_upgrade_behind_a_body(&open, (20_000, 1), 100, 390).await;
    check_upgrade_behind_a_body(&open, (20_000, 1), 2, 236).await;
    check_upgrade_behind_a_body(&open, (20_000, 50), 100, 124).await;
    check_upgrade_behind_a_body(&open, (60_000, 50), 100, 236).await;
    check_upgrade_behind_a_body(&open, (20_000, 1_000), 100, 236).await;
    check_upgrade_behind_a_body(&open, (200, 50), 100, 236).await;
    check_upgrade_behind_a_body(&open, (20_000, 50), 0, 390).await;
}

/// A part of a stream.
#[derive(Clone, Copy, Debug)]
enum Part {
    Post {
        body_bytes: usize,
    },
    Get(&'static str),
    /// Ends the connection, like all that follow.
    Socket {
        pings: usize,
    },
    Tcp {
        registrations: usize,
    },
    LastGet,
    NoRequest,
}

impl Part {
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Post { body_bytes } => post(body_bytes),
            Self::Get(path) => get(path),
            Self::Socket { pings } => [upgrade(), frames(pings)].concat(),
            Self::Tcp { registrations } => delimited(registrations),
            Self::LastGet => b"GET /healthz HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".to_vec(),
            Self::NoRequest => b"no request\r\n\r\n".to_vec(),
        }
    }
}

fn stream() -> impl Strategy<Value = Vec<Part>> {
    let request = prop_oneof![
        (0_usize..40_000).prop_map(|body_bytes| Part::Post { body_bytes }),
        prop::sample::select(vec!["/healthz", "/api/worlds/meadow", "/api/nothing"]).prop_map(Part::Get),
    ];
    let last = prop_oneof![
        (0_usize..380).prop_map(|pings| Part::Socket { pings }),
        Just(Part::LastGet),
        Just(Part::NoRequest),
    ];
    let http = (prop::collection::vec(request, 0..4), last).prop_map(|(mut parts, last)| {
        parts.push(last);
        parts
    });
    prop_oneof![3 => http, 1 => (0_usize..380).prop_map(|registrations| vec![Part::Tcp { registrations }])]
}

/// A place to cut at.
#[derive(Clone, Copy, Debug)]
enum Cut {
    Anywhere(prop::sample::Index),
    /// These many bytes before and after the end of one part.
    Around(prop::sample::Index, usize, usize),
}

fn cuts() -> impl Strategy<Value = Vec<Cut>> {
    let anywhere = any::<prop::sample::Index>().prop_map(Cut::Anywhere);
    let around = (any::<prop::sample::Index>(), 0_usize..120, 0_usize..180);
    let around = around.prop_map(|(end, before, behind)| Cut::Around(end, before, behind));
    prop::collection::vec(prop_oneof![anywhere, around], 0..12)
}

/// The segments of these parts.
fn segments(parts: &[Vec<u8>], cuts: &[Cut]) -> Vec<Vec<u8>> {
    let bytes = parts.concat();
    let ends: Vec<usize> = parts
        .iter()
        .scan(0, |end, part| {
            *end += part.len();
            Some(*end)
        })
        .collect();
    let at = cuts.iter().flat_map(|cut| match cut {
        Cut::Anywhere(at) => [at.index(bytes.len()); 2],
        Cut::Around(end, before, behind) => {
            let end = ends[end.index(ends.len())];
            [end.saturating_sub(*before), bytes.len().min(end + behind)]
        }
    });
    let at: BTreeSet<usize> = at.chain([0, bytes.len()]).collect();
    at.iter().zip(at.iter().skip(1)).map(|(start, end)| bytes[*start..*end].to_vec()).collect()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn responses_do_not_depend_on_segments(parts in stream(), cuts in cuts()) {
        runtime().block_on(async {
            let open = open().await;
            let parts: Vec<Vec<u8>> = parts.iter().map(|part| part.bytes()).collect();
            let segments = segments(&parts, &cuts);
            let whole = responses(open.address, &[&parts.concat()]).await;
            let in_segments = responses(open.address, &segments.iter().map(Vec::as_slice).collect::<Vec<_>>()).await;
            prop_assert!(
                in_segments == whole,
                "segments of {:?} bytes: {} not {}",
                segments.iter().map(Vec::len).collect::<Vec<_>>(), in_segments.escape_ascii(), whole.escape_ascii()
            );
            Ok(())
        })?;
    }
}
