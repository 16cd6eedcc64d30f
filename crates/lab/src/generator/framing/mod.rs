//! Connections that speak in frames: how frames are told apart, and what one of them says. Codecs without sockets, like
//! that of requests beside them. Refuses to know when something is said, and who waits for an answer.

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

/// The language of one connection.
#[derive(Debug)]
pub(crate) enum Codec {
    /// Requests and answers.
    Http1(Http1Decoder),
    /// Frames with their length in front.
    LengthDelimited(LengthDelimited),
    /// Frames of a WebSocket.
    WebSocket(WebSocketDecoder),
}

/// A frame that is complete.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FramePayload {
    /// Where it stands in the bytes that were taken.
    InPlace(Range<usize>),
    /// Put together of several pieces.
    Reassembled(Vec<u8>),
}

/// What is said over a connection that speaks in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    /// A message of text.
    Text,
    /// A message of bytes.
    Binary,
    /// The answer to whether anybody is there.
    Pong,
    /// Nothing more.
    Close,
}

impl Codec {
    /// Whether it speaks in frames.
    pub(crate) fn is_framed(&self) -> bool {
        !matches!(self, Self::Http1(_))
    }

    /// Whether any byte of the answer to the last request has come. Frames are whole or nothing.
    pub(crate) fn has_response_started(&self) -> bool {
        matches!(self, Self::Http1(codec) if codec.has_response_started())
    }

    /// Appends something as this language wraps it; `mask` is drawn anew each time.
    pub(crate) fn encode_frame(&self, opcode: Opcode, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
        match (self, opcode) {
            (Self::LengthDelimited(_), Opcode::Text | Opcode::Binary) => length_delimited::encode_frame(payload, out),
            (Self::WebSocket(_), opcode) => websocket::encode_frame(opcode, payload, mask, out),
            // These have no words for it.
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
            // Known here, so that the way of a request has no detour.
            Self::Http1(codec) => codec.decode(bytes, body),
            Self::LengthDelimited(codec) => codec.decode(bytes, body),
            Self::WebSocket(codec) => codec.decode(bytes, body),
        }
    }

    fn decode_eof(&mut self) -> Event {
        self.decoder().decode_eof()
    }
}
