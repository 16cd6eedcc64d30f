//! A decoder of HTTP/1.1 responses without a socket (RFC 9112): one response for each request, in order. Strict about
//! framing, because a wrong end of one response is the wrong start of the next. Does not know requests, except whether
//! they were a HEAD.

mod chunked;
mod head;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use super::Failure;
use super::decoder::{Decoded, Decoder, Event, ExpectedResponse, ResponseBody, too_large};
use crate::limits::{ANSWER_BYTES_MAX, HEAD_BYTES_MAX};
use crate::measurement::ErrorKind;
use chunked::{ChunkToken, ChunkedDecoder};
use head::{Framing, ResponseHead};

/// The length of the longest end of a head: the search resumes that many bytes earlier.
const HEAD_END_BYTES: usize = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Http1Decoder {
    state: DecodeState,
    request: Option<ExpectedResponse>,
    keep_alive: bool,
    /// Whether any byte of a response was received.
    response_started: bool,
}

impl Http1Decoder {
    /// Whether any byte of the response to the last request was received.
    pub(crate) fn has_response_started(&self) -> bool {
        self.response_started
    }
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

/// The value of a header in a head that was consumed.
pub(crate) fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    head::header(head, name)
}

/// The head at the front of bytes that answer no request of a load: its length and status; none before it is complete.
/// No line before `scanned` can end it.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn try_parse_head(bytes: &[u8], scanned: usize) -> Result<Option<(usize, u16)>, String> {
    let Some(length) = head::end_of_head(bytes, scanned).filter(|length| *length <= HEAD_BYTES_MAX) else {
        return Ok(None);
    };
    head::parse(&bytes[..length]).map(|head| Some((length, head.status)))
}

impl Decoder for Http1Decoder {
    fn expect_response(&mut self, request: ExpectedResponse) {
        (self.state, self.request, self.response_started) = (DecodeState::Head { scanned: 0 }, Some(request), false);
    }

    fn decode(&mut self, bytes: &[u8], body: &mut ResponseBody) -> Decoded {
        self.response_started |= !bytes.is_empty();
        let taken = match self.state {
            DecodeState::Idle if bytes.is_empty() => Ok((0, Event::NeedMore)),
            DecodeState::Idle => Err(Failure::new(ErrorKind::ExcessBytes, "bytes that belong to no answer")),
            DecodeState::Head { scanned } => self.decode_head(bytes, scanned),
            DecodeState::Length(left) => self.decode_sized_body(bytes, left, body),
            DecodeState::Chunked(chunked) => self.decode_chunk(bytes, chunked, body),
            DecodeState::UntilClose => body.push(bytes).map(|()| (bytes.len(), Event::NeedMore)),
        };
        let (bytes, event) = taken.unwrap_or_else(|failure| (0, Event::Failed(failure)));
        Decoded { consumed: bytes, event }
    }

    fn decode_eof(&mut self) -> Event {
        let closed = |message: &str| Event::Failed(Failure::new(ErrorKind::Closed, message));
        let cut = |message: &str| Event::Failed(Failure::new(ErrorKind::Truncated, message));
        match std::mem::take(&mut self.state) {
            DecodeState::UntilClose => Event::Done { keep: false },
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
}

type DecodeResult = Result<(usize, Event), Failure>;

impl Http1Decoder {
    fn decode_head(&mut self, bytes: &[u8], scanned: usize) -> DecodeResult {
        // An empty line before a response is left over from the one before.
        match bytes {
            [b'\r', b'\n', ..] => return Ok((2, Event::NeedMore)),
            [b'\n', ..] => return Ok((1, Event::NeedMore)),
            _ => {}
        }
        let Some(len) = head::end_of_head(bytes, scanned) else {
            if bytes.len() > HEAD_BYTES_MAX {
                return Err(malformed(&format!("the head of an answer has more than {HEAD_BYTES_MAX} bytes")));
            }
            self.state = DecodeState::Head { scanned: bytes.len().saturating_sub(HEAD_END_BYTES) };
            return Ok((0, Event::NeedMore));
        };
        if len > HEAD_BYTES_MAX {
            return Err(malformed(&format!("the head of an answer has more than {HEAD_BYTES_MAX} bytes")));
        }
        let head = head::parse(&bytes[..len]).map_err(|message| malformed(&message))?;
        if (100..200).contains(&head.status) && head.status != 101 {
            self.state = DecodeState::Head { scanned: 0 };
            return Ok((len, Event::NeedMore));
        }
        self.begin_body(head)?;
        Ok((len, Event::Head { status: head.status }))
    }

    fn begin_body(&mut self, head: ResponseHead) -> Result<(), Failure> {
        let head_only = self.request.is_some_and(|request| request.head_only);
        let without_body = head_only || matches!(head.status, 101 | 204 | 304);
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

    fn decode_sized_body(&mut self, bytes: &[u8], left: u64, body: &mut ResponseBody) -> DecodeResult {
        let len = bytes.len().min(left as usize);
        body.push(&bytes[..len])?;
        self.state = DecodeState::Length(left - len as u64);
        Ok((len, if len as u64 == left { self.finish_response() } else { Event::NeedMore }))
    }

    fn decode_chunk(&mut self, bytes: &[u8], mut chunked: ChunkedDecoder, body: &mut ResponseBody) -> DecodeResult {
        let piece = chunked.next_token(bytes).map_err(|message| Failure::new(ErrorKind::BadChunk, message))?;
        self.state = DecodeState::Chunked(chunked);
        match piece {
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

fn malformed(message: &str) -> Failure {
    Failure::new(ErrorKind::Malformed, message)
}
