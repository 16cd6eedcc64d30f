//! The language of a connection, apart from its socket: bytes in, events out, no clock and no calls to the system.
//! The worker owns sockets, buffers and time; a codec owns the grammar. One trait for languages that answer requests
//! one by one and for those that push messages of their own accord. Refuses to know what an answer means.

use std::ops::Range;

use super::Failure;
use super::framing::FramePayload;
use crate::limits::{ANSWER_BYTES_MAX, SAMPLE_CHARS_MAX, SPARE_BUFFER_BYTES_MAX};
use crate::record::ErrorKind;

/// A language spoken on one connection. Its value is the memory of that connection between two reads, so it stays
/// small: whatever was not taken is kept by the caller, and only while a message is incomplete.
pub(crate) trait Decoder {
    /// A request is about to be sent whose answer is to be understood.
    fn expect_response(&mut self, request: ExpectedResponse);

    /// Takes what it can from the front of `bytes`. Called again with the rest until it says [`Event::NeedMore`] without
    /// having taken anything, also when the rest is empty: an end may need no bytes at all.
    fn decode(&mut self, bytes: &[u8], body: &mut ResponseBody) -> Decoded;

    /// The other side has ended its half of the connection; every byte before that has been taken.
    fn decode_eof(&mut self) -> Event;
}

/// What of a request decides how its answer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExpectedResponse {
    /// Whether the answer ends with its head, whatever that says.
    pub(crate) head_only: bool,
}

/// How much of the bytes was understood, and as what.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// Bytes from the front.
    pub(crate) consumed: usize,
    /// What they said.
    pub(crate) event: Event,
}

/// What bytes can say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Nothing by themselves.
    NeedMore,
    /// The head of the answer: the bytes taken are exactly the head, so that values can be looked up in it.
    Head {
        /// The status.
        status: u16,
    },
    /// The answer to the oldest request is complete.
    Done {
        /// Whether the connection can carry another request.
        keep: bool,
    },
    /// A frame is complete, which answers something or was pushed.
    Frame(FramePayload),
    /// The other side asks whether anybody is there: these of the bytes taken go back to it.
    Ping(Range<usize>),
    /// Both sides have agreed to speak in frames.
    Upgraded,
    /// They cannot be understood, or must not come now; the connection is of no use any more.
    Failed(Failure),
}

/// How much of a body somebody wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BodyCapture {
    /// Nothing: its bytes are counted and forgotten.
    #[default]
    Nothing,
    /// The beginning, for an error's message.
    Excerpt,
    /// All of it.
    Whole,
}

/// Bytes of a body that an error's message is made of: a character has at most four.
pub(crate) const EXCERPT_BYTES: usize = SAMPLE_CHARS_MAX * 4;

/// The body of an answer while it comes in.
#[derive(Debug, Default)]
pub(crate) struct ResponseBody {
    pub(crate) capture: BodyCapture,
    pub(crate) bytes: Vec<u8>,
    /// Bytes that came so far, wanted or not.
    pub(crate) received_bytes: usize,
}

impl ResponseBody {
    /// Gets ready for another answer; memory of a usual size stays.
    pub(crate) fn clear(&mut self) {
        (self.capture, self.received_bytes) = (BodyCapture::Nothing, 0);
        self.bytes.clear();
        if self.bytes.capacity() > SPARE_BUFFER_BYTES_MAX {
            self.bytes = Vec::new();
        }
    }

    /// Takes the next bytes of the body.
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

/// The refusal of a body that is too long.
pub(crate) fn too_large() -> Failure {
    Failure::new(ErrorKind::PictureError, format!("an answer of more than {ANSWER_BYTES_MAX} bytes"))
}
