//! Connections that speak in frames: how frames are told apart, and what one of them says. Codecs without sockets, like
//! that of requests beside them. Refuses to know when something is said, and who waits for an answer.

mod lengths;
mod protobuf;
mod reading;
mod websocket;

use std::ops::Range;

pub(crate) use lengths::Lengths;
pub(crate) use reading::{bytes_of, excerpt, holds, keep, micros, says};
pub(crate) use websocket::{Opening, WebSocket, opening};

use super::http1::Http1;
use super::protocol::{Body, Event, Protocol, Request, Taken};

/// The language of one connection.
#[derive(Debug)]
pub(crate) enum Codec {
    /// Requests and answers.
    Http1(Http1),
    /// Frames with their length in front.
    Lengths(Lengths),
    /// Frames of a WebSocket.
    WebSocket(WebSocket),
}

/// A frame that is complete.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Where it stands in the bytes that were taken.
    Here(Range<usize>),
    /// Put together of several pieces.
    Joined(Vec<u8>),
}

/// What is said over a connection that speaks in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
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
    pub(crate) fn speaks(&self) -> bool {
        !matches!(self, Self::Http1(_))
    }

    /// Whether any byte of the answer to the last request has come. Frames are whole or nothing.
    pub(crate) fn has_begun(&self) -> bool {
        matches!(self, Self::Http1(codec) if codec.has_begun())
    }

    /// Appends something as this language wraps it; `mask` is drawn anew each time.
    pub(crate) fn wrap(&self, word: Word, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
        match (self, word) {
            (Self::Lengths(_), Word::Text | Word::Binary) => lengths::wrap(payload, out),
            (Self::WebSocket(_), word) => websocket::wrap(word, payload, mask, out),
            // These have no words for it.
            (Self::Lengths(_), Word::Pong | Word::Close) | (Self::Http1(_), _) => {}
        }
    }

    fn protocol(&mut self) -> &mut dyn Protocol {
        match self {
            Self::Http1(codec) => codec,
            Self::Lengths(codec) => codec,
            Self::WebSocket(codec) => codec,
        }
    }
}

impl Protocol for Codec {
    fn begin(&mut self, request: Request) {
        self.protocol().begin(request);
    }

    fn take(&mut self, bytes: &[u8], body: &mut Body) -> Taken {
        match self {
            // Known here, so that the way of a request has no detour.
            Self::Http1(codec) => codec.take(bytes, body),
            Self::Lengths(codec) => codec.take(bytes, body),
            Self::WebSocket(codec) => codec.take(bytes, body),
        }
    }

    fn end(&mut self) -> Event {
        self.protocol().end()
    }
}
