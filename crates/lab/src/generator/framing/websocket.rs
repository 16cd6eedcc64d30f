//! A client's side of a WebSocket (RFC 6455) without a socket: the upgrade request, the check of its response, and
//! frames. No extension is offered, so none is used. Strict, as the other codecs are: what no server may send is
//! rejected with a message. Does not know what messages mean.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

use super::super::Failure;
use super::super::decoder::{Decoded, Event, FramePayload};
use super::super::http1;
use super::Opcode;
use crate::limits::FRAME_BYTES_MAX;
use crate::measurement::ErrorKind;
use crate::scenario::mix;

/// The GUID that a server appends to the key (section 1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The longest payload of a control frame (section 5.5).
const CONTROL_BYTES_MAX: usize = 125;

/// The status of a normal closure (section 7.4.1).
const CLOSE_NORMAL: u16 = 1000;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WebSocketDecoder {
    state: WebSocketState,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum WebSocketState {
    /// The response to the upgrade is incomplete; the first `scanned` bytes of its head do not end it.
    Handshake { nonce: u64, scanned: usize },
    #[default]
    Open,
    /// In a fragmented message.
    Fragments(Vec<u8>),
}

/// The upgrade request: what is the same for every connection.
#[derive(Clone, Debug)]
pub(crate) struct UpgradeRequest {
    head: String,
}

/// The upgrade request for a path of a host, with the target's headers.
///
/// # Errors
/// The path cannot stand in a request.
pub(crate) fn upgrade_request(
    authority: &str,
    path: &str,
    headers: &[(String, String)],
) -> Result<UpgradeRequest, String> {
    check_path(path)?;
    let mut head = format!("GET {path} HTTP/1.1\r\nhost: {authority}\r\n");
    let reserved = ["host", "connection", "upgrade", "content-length", "transfer-encoding"];
    for (name, value) in headers {
        if reserved.contains(&name.as_str()) || name.starts_with("sec-websocket-") && name != "sec-websocket-protocol" {
            continue;
        }
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n");
    Ok(UpgradeRequest { head })
}

/// A path must not end the request line.
///
/// # Errors
/// It would.
pub(crate) fn check_path(path: &str) -> Result<(), String> {
    let whole = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() || byte >= 0x80);
    if whole { Ok(()) } else { Err(format!("`{path}` is not a path")) }
}

impl UpgradeRequest {
    /// Writes the request of one connection; returns the decoder of its response.
    pub(crate) fn write(&self, nonce: u64, out: &mut Vec<u8>) -> WebSocketDecoder {
        out.extend_from_slice(self.head.as_bytes());
        out.extend_from_slice(format!("sec-websocket-key: {}\r\n\r\n", handshake_key(nonce)).as_bytes());
        WebSocketDecoder { state: WebSocketState::Handshake { nonce, scanned: 0 } }
    }
}

/// Sixteen bytes that no other connection has.
fn handshake_key(nonce: u64) -> String {
    let halves = [mix(nonce, 0), mix(nonce, 1)].map(u64::to_be_bytes);
    STANDARD.encode(halves.concat())
}

/// What a server answers to a key, to prove that it has read it.
fn accept_key(key: &str) -> String {
    STANDARD.encode(Sha1::new_with_prefix(key).chain_update(GUID).finalize())
}

/// Appends a frame, masked as every client's is.
pub(super) fn encode_frame(opcode: Opcode, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
    let code = match opcode {
        Opcode::Text => 0x1,
        Opcode::Binary => 0x2,
        Opcode::Close => 0x8,
        Opcode::Pong => 0xa,
    };
    let close_status = CLOSE_NORMAL.to_be_bytes();
    let payload = if opcode == Opcode::Close { close_status.as_slice() } else { payload };
    out.push(0x80 | code);
    match payload.len() {
        length @ 0..=125 => out.push(0x80 | length as u8),
        length @ 126..=0xffff => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
    let start = out.len();
    out.extend_from_slice(payload);
    out[start..].iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
}

struct FrameHeader {
    is_last: bool,
    opcode: u8,
    header_len: usize,
    payload_len: usize,
}

impl WebSocketDecoder {
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> Decoded {
        match self.state {
            WebSocketState::Handshake { nonce, ref mut scanned } => {
                let head = http1::parse_head(bytes, scanned).map_err(|message| refused(&message))?;
                head.map_or(Ok((0, Event::NeedMore)), |(length, head)| {
                    self.finish_handshake(bytes, length, head, nonce)
                })
            }
            WebSocketState::Open | WebSocketState::Fragments(_) => self.decode_frame(bytes),
        }
    }

    /// What it means that the connection was closed.
    pub(crate) fn eof_failure(&self) -> Failure {
        let in_handshake = matches!(self.state, WebSocketState::Handshake { .. });
        let kind = if in_handshake { ErrorKind::Connect } else { ErrorKind::Closed };
        Failure::new(kind, "the connection was closed")
    }

    fn finish_handshake(&mut self, bytes: &[u8], length: usize, head: http1::ResponseHead, nonce: u64) -> Decoded {
        if head.status != 101 {
            let excerpt = super::super::excerpt(&bytes[length..]);
            return Err(refused(&format!("answered {} instead of 101: {excerpt}", head.status)));
        }
        if http1::header(&bytes[..length], "sec-websocket-accept") != Some(accept_key(&handshake_key(nonce)).as_bytes())
        {
            return Err(refused("the answer does not show that the key was read (Sec-WebSocket-Accept)"));
        }
        self.state = WebSocketState::Open;
        Ok((length, Event::Upgraded))
    }

    fn decode_frame(&mut self, bytes: &[u8]) -> Decoded {
        let Some(head) = parse_frame_header(bytes)? else { return Ok((0, Event::NeedMore)) };
        let (start, end) = (head.header_len, head.header_len + head.payload_len);
        if bytes.len() < end {
            return Ok((0, Event::NeedMore));
        }
        let payload = &bytes[start..end];
        let event = match (head.opcode, &mut self.state) {
            (0x0, WebSocketState::Fragments(fragments)) => {
                if fragments.len() + payload.len() > FRAME_BYTES_MAX {
                    return Err(too_large(fragments.len() + payload.len()));
                }
                fragments.extend_from_slice(payload);
                if head.is_last {
                    Event::Frame(FramePayload::Reassembled(self.take_fragments()))
                } else {
                    Event::NeedMore
                }
            }
            (0x1 | 0x2, WebSocketState::Open) if head.is_last => Event::Frame(FramePayload::InPlace(start..end)),
            (0x1 | 0x2, WebSocketState::Open) => {
                self.state = WebSocketState::Fragments(payload.to_vec());
                Event::NeedMore
            }
            (0x8, _) => return Err(Failure::new(ErrorKind::Closed, close_reason(payload))),
            (0x9, _) => Event::Ping(start..end),
            (0xa, _) => Event::NeedMore,
            (0x0, _) => return Err(protocol_error("a piece of a message that has not begun")),
            (0x1 | 0x2, _) => return Err(protocol_error("a message inside of another one")),
            (code, _) => return Err(protocol_error(&format!("a frame of kind {code:#x}, which was not negotiated"))),
        };
        Ok((end, event))
    }

    fn take_fragments(&mut self) -> Vec<u8> {
        match std::mem::take(&mut self.state) {
            WebSocketState::Fragments(fragments) => fragments,
            WebSocketState::Open | WebSocketState::Handshake { .. } => Vec::new(),
        }
    }
}

fn parse_frame_header(bytes: &[u8]) -> Result<Option<FrameHeader>, Failure> {
    let [first, second, rest @ ..] = bytes else { return Ok(None) };
    if first & 0x70 != 0 {
        return Err(protocol_error("a frame of an extension that was not negotiated"));
    }
    if second & 0x80 != 0 {
        return Err(protocol_error("a masked frame: only clients mask"));
    }
    let (length, bytes) = match (second & 0x7f, rest) {
        (126, [a, b, ..]) => (u64::from(u16::from_be_bytes([*a, *b])), 4),
        (127, [long @ .., _]) if long.len() >= 7 => {
            (rest[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)), 10)
        }
        (126 | 127, _) => return Ok(None),
        (short, _) => (u64::from(short), 2),
    };
    let (is_last, code) = (first & 0x80 != 0, first & 0x0f);
    if code & 0x8 != 0 && (!is_last || length > CONTROL_BYTES_MAX as u64) {
        return Err(protocol_error("a control frame that is too long or in pieces"));
    }
    match usize::try_from(length).ok().filter(|length| *length <= FRAME_BYTES_MAX) {
        Some(length) => Ok(Some(FrameHeader { is_last, opcode: code, header_len: bytes, payload_len: length })),
        None => Err(too_large(usize::try_from(length).unwrap_or(usize::MAX))),
    }
}

/// The reason that the peer gives for closing the connection.
fn close_reason(payload: &[u8]) -> String {
    match payload {
        [a, b, reason @ ..] => {
            let status = u16::from_be_bytes([*a, *b]);
            format!("the connection was closed with {status} {}", super::super::excerpt(reason))
        }
        _ => "the connection was closed without a reason".to_owned(),
    }
}

fn refused(message: &str) -> Failure {
    Failure::new(ErrorKind::Connect, format!("no WebSocket: {message}"))
}

fn protocol_error(message: &str) -> Failure {
    Failure::new(ErrorKind::Answer, message)
}

fn too_large(bytes: usize) -> Failure {
    Failure::new(ErrorKind::TooLarge, format!("a message of {bytes} bytes; the lab takes up to {FRAME_BYTES_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame as a server sends it.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut masked = Vec::new();
        encode_frame(Opcode::Text, payload, [0; 4], &mut masked);
        let head = masked.len() - payload.len() - 4;
        let mut bytes = masked[..head].to_vec();
        (bytes[0], bytes[1]) = (first, bytes[1] & 0x7f);
        bytes.extend_from_slice(payload);
        bytes
    }

    /// What is decoded from these bytes, byte by byte.
    fn received(mut codec: WebSocketDecoder, bytes: &[u8]) -> Vec<String> {
        let (mut waiting, mut received) = (Vec::new(), Vec::new());
        for byte in bytes {
            waiting.push(*byte);
            loop {
                let (bytes, event) = match codec.decode(&waiting) {
                    Ok(decoded) => decoded,
                    Err(failure) => {
                        received.push(format!("{}: {}", failure.kind, failure.message));
                        return received;
                    }
                };
                let text =
                    |range: &std::ops::Range<usize>| String::from_utf8_lossy(&waiting[range.clone()]).into_owned();
                match &event {
                    Event::NeedMore if bytes == 0 => break,
                    Event::NeedMore => {}
                    Event::Frame(FramePayload::InPlace(range)) => received.push(text(range)),
                    Event::Frame(FramePayload::Reassembled(joined)) => {
                        received.push(String::from_utf8_lossy(joined).into_owned());
                    }
                    Event::Ping(range) => received.push(format!("ping {}", text(range))),
                    Event::Upgraded => received.push("agreed".to_owned()),
                    Event::Head { .. } | Event::Done { .. } => panic!("{event:?} is no event of a WebSocket"),
                }
                waiting.drain(..bytes);
            }
        }
        received
    }

    #[track_caller]
    fn check(frames: &[(u8, &str)], expected: &[&str]) {
        // Characters up to 255 stand for their bytes.
        let bytes = |text: &str| -> Vec<u8> { text.chars().map(|c| c as u8).collect() };
        let bytes: Vec<u8> = frames.iter().flat_map(|(first, payload)| frame(*first, &bytes(payload))).collect();
        assert_eq!(received(WebSocketDecoder::default(), &bytes), expected);
    }

    #[test]
    fn conversations() {
        let long = "x".repeat(70_000);
        check(&[(0x81, "a"), (0x82, ""), (0x82, &long)], &["a", "", &long]);
        // Control frames may come between the fragments of a message.
        check(&[(0x01, "a"), (0x89, "there?"), (0x00, "b"), (0x8a, ""), (0x80, "c")], &["ping there?", "abc"]);
        check(&[(0x88, "\u{3}\u{e8}bye")], &["closed: the connection was closed with 1000 bye"]);
        check(&[(0x88, "")], &["closed: the connection was closed without a reason"]);
        check(&[(0x80, "")], &["answer: a piece of a message that has not begun"]);
        check(&[(0x01, ""), (0x81, "")], &["answer: a message inside of another one"]);
        check(&[(0x09, "")], &["answer: a control frame that is too long or in pieces"]);
        check(&[(0xc1, "")], &["answer: a frame of an extension that was not negotiated"]);
        check(&[(0x83, "")], &["answer: a frame of kind 0x3, which was not negotiated"]);
    }

    #[test]
    fn rejects_masked_frames_and_too_long_messages() {
        assert_eq!(received(WebSocketDecoder::default(), &[0x81, 0x80]), ["answer: a masked frame: only clients mask"]);
        let huge: Vec<u8> = [0x82, 127].into_iter().chain((FRAME_BYTES_MAX as u64 + 1).to_be_bytes()).collect();
        let message =
            format!("too_large: a message of {} bytes; the lab takes up to {FRAME_BYTES_MAX}", FRAME_BYTES_MAX + 1);
        assert_eq!(received(WebSocketDecoder::default(), &huge), [message]);
    }

    fn upgraded(answer: impl Fn(&str) -> String) -> Vec<String> {
        let mut request = Vec::new();
        let codec = upgrade_request("h", "/p", &[]).unwrap().write(7, &mut request);
        let request = String::from_utf8(request).unwrap();
        let key = request.lines().find_map(|line| line.strip_prefix("sec-websocket-key: ")).unwrap();
        received(codec, answer(key).as_bytes())
    }

    #[test]
    fn the_response_must_accept_the_upgrade() {
        let agreed = |key: &str| format!("HTTP/1.1 101 S\r\nSec-WebSocket-Accept: {}\r\n\r\n", accept_key(key));
        assert_eq!(upgraded(|key| agreed(key) + "\u{1}"), ["agreed"]);
        let other = upgraded(|_| agreed("another"));
        assert!(other[0].starts_with("connect: no WebSocket: the answer does not show"), "{other:?}");
        let refused = upgraded(|_| "HTTP/1.1 404 N\r\ncontent-length: 4\r\n\r\ngone".to_owned());
        assert!(refused[0].starts_with("connect: no WebSocket: answered 404 instead of 101"), "{refused:?}");
    }

    #[test]
    fn the_example_of_the_standard() {
        assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        let mut masked = Vec::new();
        encode_frame(Opcode::Text, b"Hello", [0x37, 0xfa, 0x21, 0x3d], &mut masked);
        assert_eq!(masked, [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]);
    }
}
