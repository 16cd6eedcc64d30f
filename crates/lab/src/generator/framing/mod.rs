//! Framed connections: how frames are delimited, and what one of them contains. Codecs without sockets, like that of
//! HTTP. Does not know when something is sent, and what waits for a response.

mod frame_fields;
mod length_delimited;
mod protobuf;
mod websocket;

use std::ops::Range;

pub(crate) use frame_fields::{excerpt, frame_matches, has_value, payload_of, read_micros, read_text};
pub(crate) use length_delimited::LengthDelimited;
pub(crate) use websocket::{UpgradeRequest, WebSocketDecoder, upgrade_request};

use super::decoder::{Decoded, Decoder, Event, ExpectedResponse, ResponseBody};
use super::http1::Http1Decoder;

/// The protocol of one connection.
#[derive(Debug)]
pub(crate) enum Codec {
    Http1(Http1Decoder),
    LengthDelimited(LengthDelimited),
    WebSocket(WebSocketDecoder),
}

/// A complete frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FramePayload {
    /// Its range in the consumed bytes.
    InPlace(Range<usize>),
    /// The payload of a fragmented message.
    Reassembled(Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Text,
    Binary,
    Pong,
    Close,
}

impl Codec {
    pub(crate) fn is_framed(&self) -> bool {
        !matches!(self, Self::Http1(_))
    }

    /// Whether any byte of the response to the last request was received. Frames are whole or nothing.
    pub(crate) fn has_response_started(&self) -> bool {
        matches!(self, Self::Http1(codec) if codec.has_response_started())
    }

    /// Appends a frame; `mask` is drawn anew for each.
    pub(crate) fn encode_frame(&self, opcode: Opcode, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
        match (self, opcode) {
            (Self::LengthDelimited(_), Opcode::Text | Opcode::Binary) => length_delimited::encode_frame(payload, out),
            (Self::WebSocket(_), opcode) => websocket::encode_frame(opcode, payload, mask, out),
            // The protocol has no such frames.
            (Self::LengthDelimited(_), Opcode::Pong | Opcode::Close) | (Self::Http1(_), _) => {}
        }
    }

    fn decoder(&mut self) -> &mut dyn Decoder {
        match self {
            Self::Http1(codec) => codec,
            Self::LengthDelimited(codec) => codec,
            Self::WebSocket(codec) => codec,
        }
    }
}

impl Decoder for Codec {
    fn expect_response(&mut self, request: ExpectedResponse) {
        self.decoder().expect_response(request);
    }

    fn decode(&mut self, bytes: &[u8], body: &mut ResponseBody) -> Decoded {
        match self {
            // Called directly, so that the path of a request has no detour.
            Self::Http1(codec) => codec.decode(bytes, body),
            Self::LengthDelimited(codec) => codec.decode(bytes, body),
            Self::WebSocket(codec) => codec.decode(bytes, body),
        }
    }

    fn decode_eof(&mut self) -> Event {
        self.decoder().decode_eof()
    }
}
