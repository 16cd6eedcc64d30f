//! Framed connections: how frames are delimited, and what one of them contains. Codecs without sockets, like that of
//! HTTP. Does not know when something is sent, and what waits for a response.

mod frame_fields;
mod length_delimited;
mod protobuf;
mod websocket;

pub(crate) use frame_fields::{any_matches, excerpt, has_value, read_micros, read_text, value_matches};
pub(crate) use websocket::{UpgradeRequest, WebSocketDecoder, check_path, upgrade_request};

use super::Failure;
use super::decoder::{Decoded, ResponseBody};
use super::http1::Http1Decoder;
use crate::measurement::ErrorKind;

/// The protocol of one connection.
#[derive(Debug)]
pub(crate) enum Codec {
    Http1(Http1Decoder),
    /// No state: the caller keeps what is incomplete.
    LengthDelimited,
    WebSocket(WebSocketDecoder),
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
            (Self::LengthDelimited, Opcode::Text | Opcode::Binary) => length_delimited::encode_frame(payload, out),
            (Self::WebSocket(_), opcode) => websocket::encode_frame(opcode, payload, mask, out),
            // The protocol has no such frames.
            (Self::LengthDelimited, Opcode::Pong | Opcode::Close) | (Self::Http1(_), _) => {}
        }
    }

    /// A request is about to be sent; with `head_only` its response has no body, whatever its head says.
    pub(crate) fn expect_response(&mut self, head_only: bool) {
        if let Self::Http1(codec) = self {
            codec.expect_response(head_only);
        }
    }

    /// Decodes from the front of `bytes`; bytes of a response's body are added to `body`.
    pub(crate) fn decode(&mut self, bytes: &[u8], body: &mut ResponseBody) -> Decoded {
        match self {
            Self::Http1(codec) => codec.decode(bytes, body),
            Self::LengthDelimited => length_delimited::decode(bytes),
            Self::WebSocket(codec) => codec.decode(bytes),
        }
    }

    /// The peer has closed its half of the connection; every byte before that has been consumed. That ends the response.
    ///
    /// # Errors
    /// The response is cut off, or there was none.
    pub(crate) fn decode_eof(&mut self) -> Result<(), Failure> {
        match self {
            Self::Http1(codec) => codec.decode_eof(),
            Self::LengthDelimited => Err(Failure::new(ErrorKind::Closed, "the connection was closed")),
            Self::WebSocket(codec) => Err(codec.eof_failure()),
        }
    }
}
