//! What the fuzzer reads with decoders that are private otherwise (`crates/fuzz`). Nothing else uses it.

use super::decoder::{BodyCapture, Event, ResponseBody};
use super::framing::{Codec, WebSocketDecoder};
use super::http1::Http1Decoder;
use super::json_pointer;
use crate::measurement::ErrorKind;

/// What came over a connection.
#[derive(Debug, PartialEq, Eq)]
pub struct Received {
    /// Heads, frames, pings and ends in their order, as text.
    pub events: Vec<String>,
    /// The body of a response.
    pub body: Vec<u8>,
    /// Why no more can be read.
    pub failure: Option<(ErrorKind, String)>,
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug)]
pub enum Protocol {
    Http1,
    LengthDelimited,
    /// After its upgrade.
    WebSocket,
}

/// Reads these pieces, and then the end of the connection.
#[must_use]
pub fn read<'a>(protocol: Protocol, pieces: impl Iterator<Item = &'a [u8]>) -> Received {
    let mut codec = match protocol {
        Protocol::Http1 => Codec::Http1(Http1Decoder::default()),
        Protocol::LengthDelimited => Codec::LengthDelimited,
        Protocol::WebSocket => Codec::WebSocket(WebSocketDecoder::default()),
    };
    codec.expect_response(false);
    let mut body = ResponseBody { capture: BodyCapture::Whole, ..ResponseBody::default() };
    let (mut waiting, mut events) = (Vec::new(), Vec::new());
    for piece in pieces {
        waiting.extend_from_slice(piece);
        loop {
            let (consumed, event) = match codec.decode(&waiting, &mut body) {
                Ok(decoded) => decoded,
                Err(failure) => {
                    return Received { events, body: body.bytes, failure: Some((failure.kind, failure.message)) };
                }
            };
            let shown = match &event {
                Event::NeedMore => None,
                Event::Head { status } => Some(format!("head {status}")),
                Event::Done { keep } => Some(format!("done {keep}")),
                Event::Frame(frame) => Some(format!("frame {:02x?}", frame.bytes(&waiting))),
                Event::Ping(range) => Some(format!("ping {:02x?}", &waiting[range.clone()])),
                Event::Upgraded => Some("upgraded".to_owned()),
            };
            let is_over = matches!(event, Event::Done { .. });
            events.extend(shown);
            waiting.drain(..consumed);
            if is_over {
                return Received { events, body: body.bytes, failure: None };
            }
            if consumed == 0 && event == Event::NeedMore {
                break;
            }
        }
    }
    let failure = codec.decode_eof().err().map(|failure| (failure.kind, failure.message));
    Received { events, body: body.bytes, failure }
}

/// Looks a value up in a text that may be JSON.
pub fn find_in_json(text: &[u8], pointer: &str) {
    let _ = json_pointer::find(text, pointer).map(|found| found.and_then(json_pointer::scalar_text));
}
