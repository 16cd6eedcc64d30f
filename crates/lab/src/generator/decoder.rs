//! The protocol of a connection, apart from its socket: bytes in, events out, no clock and no system calls. The worker
//! owns sockets, buffers and time; a decoder owns the grammar. One trait for protocols that answer requests one by one
//! and for those that push messages. Does not know what a response means.

use std::ops::Range;

use super::Failure;
use super::framing::FramePayload;
use crate::limits::{ANSWER_BYTES_MAX, SAMPLE_CHARS_MAX, SPARE_BUFFER_BYTES_MAX};
use crate::measurement::ErrorKind;

/// A protocol on one connection. Its value is that connection's memory between two reads, so it stays small: the caller
/// keeps the bytes that were not consumed, and only while a message is incomplete.
pub(crate) trait Decoder {
    /// A request is about to be sent whose response is to be decoded.
    fn expect_response(&mut self, request: ExpectedResponse);

    /// Decodes from the front of `bytes`. Called again with the rest until it returns [`Event::NeedMore`] without
    /// having consumed anything, also if the rest is empty: the end of a message may need no bytes.
    fn decode(&mut self, bytes: &[u8], body: &mut ResponseBody) -> Decoded;

    /// The peer has closed its half of the connection; every byte before that has been consumed.
    fn decode_eof(&mut self) -> Event;
}

/// What in a request decides how its response is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExpectedResponse {
    /// Whether the response has no body, whatever its head says.
    pub(crate) head_only: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// Bytes consumed from the front.
    pub(crate) consumed: usize,
    pub(crate) event: Event,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Nothing by themselves.
    NeedMore,
    /// The head of the response: the consumed bytes are exactly the head, so that headers can be looked up in it.
    Head { status: u16 },
    /// The response to the oldest request is complete.
    Done {
        /// Whether the connection can carry another request.
        keep: bool,
    },
    /// A frame is complete; it answers a step or was pushed.
    Frame(FramePayload),
    /// A ping: this range of the consumed bytes is sent back.
    Ping(Range<usize>),
    /// The upgrade is complete; frames follow.
    Upgraded,
    /// The bytes are not valid, or not allowed here; the connection is of no use any more.
    Failed(Failure),
}

/// How much of a body is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BodyCapture {
    /// Nothing: its bytes are only counted.
    #[default]
    Nothing,
    /// The beginning, for an error's message.
    Excerpt,
    Whole,
}

/// Bytes of a body from which an error's message is made: a character has at most four.
pub(crate) const EXCERPT_BYTES: usize = SAMPLE_CHARS_MAX * 4;

/// The body of a response while it is received.
#[derive(Debug, Default)]
pub(crate) struct ResponseBody {
    pub(crate) capture: BodyCapture,
    pub(crate) bytes: Vec<u8>,
    /// Bytes received so far, kept or not.
    pub(crate) received_bytes: usize,
}

impl ResponseBody {
    /// Prepares for another response; memory of a usual size is kept.
    pub(crate) fn clear(&mut self) {
        (self.capture, self.received_bytes) = (BodyCapture::Nothing, 0);
        self.bytes.clear();
        if self.bytes.capacity() > SPARE_BUFFER_BYTES_MAX {
            self.bytes = Vec::new();
        }
    }

    /// Adds the next bytes of the body.
    ///
    /// # Errors
    /// It is longer than the lab reads.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.received_bytes = self.received_bytes.saturating_add(bytes.len());
        if self.received_bytes > ANSWER_BYTES_MAX {
            return Err(too_large());
        }
        match self.capture {
            BodyCapture::Nothing => {}
            BodyCapture::Excerpt => {
                let room = EXCERPT_BYTES.saturating_sub(self.bytes.len());
                self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            BodyCapture::Whole => self.bytes.extend_from_slice(bytes),
        }
        Ok(())
    }
}

pub(crate) fn too_large() -> Failure {
    Failure::new(ErrorKind::TooLarge, format!("an answer of more than {ANSWER_BYTES_MAX} bytes"))
}
