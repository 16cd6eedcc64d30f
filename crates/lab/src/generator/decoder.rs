//! What decoders of a connection's bytes return: bytes in, events out, no socket, no clock. A decoder's value is its
//! connection's memory between two reads, so it stays small: the caller keeps the bytes that were not consumed, and only
//! while a message is incomplete. Does not know what a response means.

use std::ops::Range;

use super::Failure;
use crate::limits::{ANSWER_BYTES_MAX, SAMPLE_CHARS_MAX, SPARE_BUFFER_BYTES_MAX};
use crate::measurement::ErrorKind;

/// What was decoded from the front of some bytes: how many were consumed, and what they are. Decoding goes on with the
/// rest until it returns [`Event::NeedMore`] without having consumed anything, also if the rest is empty: the end of a
/// message may need no bytes. An error says that the bytes are not valid, or not allowed here; the connection is of no
/// use any more.
pub(crate) type Decoded = Result<(usize, Event), Failure>;

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
}

/// A complete frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FramePayload {
    /// Its range in the consumed bytes.
    InPlace(Range<usize>),
    /// The payload of a fragmented message.
    Reassembled(Vec<u8>),
}

impl FramePayload {
    /// The payload of a frame that was consumed from the front of `bytes`.
    pub(crate) fn bytes<'b>(&'b self, bytes: &'b [u8]) -> &'b [u8] {
        match self {
            Self::InPlace(range) => &bytes[range.clone()],
            Self::Reassembled(joined) => joined,
        }
    }
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
