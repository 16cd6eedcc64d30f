//! A decoder of HTTP/1.1 responses without a socket (RFC 9112): one response for each request, in order. Strict about
//! framing, because a wrong end of one response is the wrong start of the next. Does not know requests, except whether
//! they were a HEAD.

mod chunked;
mod head;
#[cfg(test)]
mod tests;

use super::Failure;
use super::decoder::{Decoded, Event, ResponseBody, too_large};
use crate::limits::{ANSWER_BYTES_MAX, HEAD_BYTES_MAX};
use crate::measurement::ErrorKind;
use chunked::{ChunkToken, ChunkedDecoder};
use head::Framing;
pub(crate) use head::{ResponseHead, header};

/// The length of the longest end of a head: the search resumes that many bytes earlier.
const HEAD_END_BYTES: usize = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Http1Decoder {
    state: DecodeState,
    /// Whether the response has no body, whatever its head says.
    head_only: bool,
    keep_alive: bool,
    /// Whether any byte of a response was received.
    response_started: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DecodeState {
    /// No request waits for a response.
    #[default]
    Idle,
    /// In a head; its first `scanned` bytes do not end it.
    Head {
        scanned: usize,
    },
    /// The bytes left in the response.
    Length(u64),
    Chunked(ChunkedDecoder),
    /// In a body that ends with the connection.
    UntilClose,
}

/// The head at the front of `bytes`, and its length; none before it is complete. No line before `scanned` can end it.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parse_head(bytes: &[u8], scanned: &mut usize) -> Result<Option<(usize, ResponseHead)>, String> {
    let length = head::end_of_head(bytes, *scanned);
    if length.unwrap_or(bytes.len()) > HEAD_BYTES_MAX {
        return Err(format!("the head of an answer has more than {HEAD_BYTES_MAX} bytes"));
    }
    *scanned = bytes.len().saturating_sub(HEAD_END_BYTES);
    length.map(|length| Ok((length, head::parse(&bytes[..length])?))).transpose()
}

impl Http1Decoder {
    /// Whether any byte of the response to the last request was received.
    pub(crate) fn has_response_started(&self) -> bool {
        self.response_started
    }

    pub(crate) fn expect_response(&mut self, head_only: bool) {
        (self.state, self.head_only, self.response_started) = (DecodeState::Head { scanned: 0 }, head_only, false);
    }

    pub(crate) fn decode(&mut self, bytes: &[u8], body: &mut ResponseBody) -> Decoded {
        self.response_started |= !bytes.is_empty();
        match self.state {
            DecodeState::Idle if bytes.is_empty() => Ok((0, Event::NeedMore)),
            DecodeState::Idle => Err(Failure::new(ErrorKind::ExcessBytes, "bytes that belong to no answer")),
            DecodeState::Head { scanned } => self.decode_head(bytes, scanned),
            DecodeState::Length(left) => self.decode_sized_body(bytes, left, body),
            DecodeState::Chunked(chunked) => self.decode_chunk(bytes, chunked, body),
            DecodeState::UntilClose => body.push(bytes).map(|()| (bytes.len(), Event::NeedMore)),
        }
    }

    pub(crate) fn decode_eof(&mut self) -> Result<(), Failure> {
        let closed = |message: &str| Err(Failure::new(ErrorKind::Closed, message));
        let cut = |message: &str| Err(Failure::new(ErrorKind::Truncated, message));
        match std::mem::take(&mut self.state) {
            DecodeState::UntilClose => Ok(()),
            DecodeState::Idle => closed("the connection was closed"),
            DecodeState::Head { .. } if self.response_started => {
                cut("the connection was closed in the head of the answer")
            }
            DecodeState::Head { .. } => closed("the connection was closed before an answer had come"),
            DecodeState::Length(left) => {
                cut(&format!("the connection was closed {left} bytes before the answer's end"))
            }
            DecodeState::Chunked(_) => cut("the connection was closed before the answer's last chunk"),
        }
    }

    fn decode_head(&mut self, bytes: &[u8], mut scanned: usize) -> Decoded {
        // An empty line before a response is left over from the one before.
        match bytes {
            [b'\r', b'\n', ..] => return Ok((2, Event::NeedMore)),
            [b'\n', ..] => return Ok((1, Event::NeedMore)),
            _ => {}
        }
        let head = parse_head(bytes, &mut scanned).map_err(|message| Failure::new(ErrorKind::Malformed, message))?;
        let Some((len, head)) = head else {
            self.state = DecodeState::Head { scanned };
            return Ok((0, Event::NeedMore));
        };
        if (100..200).contains(&head.status) && head.status != 101 {
            self.state = DecodeState::Head { scanned: 0 };
            return Ok((len, Event::NeedMore));
        }
        self.begin_body(head)?;
        Ok((len, Event::Head { status: head.status }))
    }

    fn begin_body(&mut self, head: ResponseHead) -> Result<(), Failure> {
        let without_body = self.head_only || matches!(head.status, 101 | 204 | 304);
        // No other protocol was requested, so nothing after a 101 could be understood.
        self.keep_alive = head.keep_alive && head.status != 101;
        self.state = match head.framing {
            _ if without_body => DecodeState::Length(0),
            Framing::Length(length) if length > ANSWER_BYTES_MAX as u64 => return Err(too_large()),
            Framing::Length(length) => DecodeState::Length(length),
            Framing::Chunked => DecodeState::Chunked(ChunkedDecoder::Size),
            Framing::UntilClose => DecodeState::UntilClose,
        };
        Ok(())
    }

    fn decode_sized_body(&mut self, bytes: &[u8], left: u64, body: &mut ResponseBody) -> Decoded {
        let len = bytes.len().min(left as usize);
        body.push(&bytes[..len])?;
        self.state = DecodeState::Length(left - len as u64);
        Ok((len, if len as u64 == left { self.finish_response() } else { Event::NeedMore }))
    }

    fn decode_chunk(&mut self, bytes: &[u8], mut chunked: ChunkedDecoder, body: &mut ResponseBody) -> Decoded {
        let token = chunked.next_token(bytes).map_err(|message| Failure::new(ErrorKind::BadChunk, message))?;
        self.state = DecodeState::Chunked(chunked);
        match token {
            ChunkToken::Incomplete => Ok((0, Event::NeedMore)),
            ChunkToken::Framing(len) => Ok((len, Event::NeedMore)),
            ChunkToken::End(len) => Ok((len, self.finish_response())),
            ChunkToken::Data(len) => {
                body.push(&bytes[..len])?;
                Ok((len, Event::NeedMore))
            }
        }
    }

    fn finish_response(&mut self) -> Event {
        self.state = DecodeState::Idle;
        Event::Done { keep: self.keep_alive }
    }
}
