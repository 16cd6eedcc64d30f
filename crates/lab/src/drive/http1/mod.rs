//! HTTP/1.1 answers as a codec without a socket (RFC 9112): one answer for each request, in order. Strict where
//! framing is at stake, because a wrong end of one answer is the wrong beginning of the next. Refuses to know
//! requests, beyond whether they were a HEAD.

mod chunked;
mod head;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use super::Failure;
use super::protocol::{Body, Event, Protocol, Request, Taken, too_large};
use crate::limits::{ANSWER_BYTES_MAX, HEAD_BYTES_MAX};
use crate::record::Trouble;
use chunked::{Chunked, Piece};
use head::{Framing, Head};

/// The longest end of a head is found again after so many bytes less.
const HEAD_END_BYTES: usize = 4;

/// One connection's place in its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Http1 {
    state: State,
    request: Option<Request>,
    keep: bool,
    /// Whether any byte of an answer has come.
    begun: bool,
}

impl Http1 {
    /// Whether any byte of the answer to the last request has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No request waits for an answer.
    #[default]
    Idle,
    /// In a head, of which so many bytes are known not to end it.
    Head {
        scanned: usize,
    },
    /// So many bytes before the end of the answer.
    Length(u64),
    Chunked(Chunked),
    /// In a body that ends with the connection.
    UntilEnd,
}

/// The value of a header in a head that has been taken.
pub(crate) fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    head::header(head, name)
}

/// The head at the front of bytes that answer no request of a load: how long it is, and its status; none before its end.
/// `scanned` is a place before which no line can end it.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn bare_head(bytes: &[u8], scanned: usize) -> Result<Option<(usize, u16)>, String> {
    let Some(length) = head::end_of_head(bytes, scanned).filter(|length| *length <= HEAD_BYTES_MAX) else {
        return Ok(None);
    };
    head::parse(&bytes[..length]).map(|head| Some((length, head.status)))
}

impl Protocol for Http1 {
    fn begin(&mut self, request: Request) {
        (self.state, self.request, self.begun) = (State::Head { scanned: 0 }, Some(request), false);
    }

    fn take(&mut self, bytes: &[u8], body: &mut Body) -> Taken {
        self.begun |= !bytes.is_empty();
        let taken = match self.state {
            State::Idle if bytes.is_empty() => Ok((0, Event::More)),
            State::Idle => Err(Failure::new(Trouble::ExcessBytes, "bytes that belong to no answer")),
            State::Head { scanned } => self.take_head(bytes, scanned),
            State::Length(left) => self.take_length(bytes, left, body),
            State::Chunked(chunked) => self.take_chunk(bytes, chunked, body),
            State::UntilEnd => body.push(bytes).map(|()| (bytes.len(), Event::More)),
        };
        let (bytes, event) = taken.unwrap_or_else(|failure| (0, Event::Broken(failure)));
        Taken { bytes, event }
    }

    fn end(&mut self) -> Event {
        let closed = |message: &str| Event::Broken(Failure::new(Trouble::Closed, message));
        let cut = |message: &str| Event::Broken(Failure::new(Trouble::Truncated, message));
        match std::mem::take(&mut self.state) {
            State::UntilEnd => Event::Done { keep: false },
            State::Idle => closed("the connection was closed"),
            State::Head { .. } if self.begun => cut("the connection was closed in the head of the answer"),
            State::Head { .. } => closed("the connection was closed before an answer had come"),
            State::Length(left) => cut(&format!("the connection was closed {left} bytes before the answer's end")),
            State::Chunked(_) => cut("the connection was closed before the answer's last chunk"),
        }
    }
}

type Step = Result<(usize, Event), Failure>;

impl Http1 {
    fn take_head(&mut self, bytes: &[u8], scanned: usize) -> Step {
        // An empty line in front of an answer is left over from the one before.
        match bytes {
            [b'\r', b'\n', ..] => return Ok((2, Event::More)),
            [b'\n', ..] => return Ok((1, Event::More)),
            _ => {}
        }
        let Some(len) = head::end_of_head(bytes, scanned) else {
            if bytes.len() > HEAD_BYTES_MAX {
                return Err(broken(&format!("the head of an answer has more than {HEAD_BYTES_MAX} bytes")));
            }
            self.state = State::Head { scanned: bytes.len().saturating_sub(HEAD_END_BYTES) };
            return Ok((0, Event::More));
        };
        if len > HEAD_BYTES_MAX {
            return Err(broken(&format!("the head of an answer has more than {HEAD_BYTES_MAX} bytes")));
        }
        let head = head::parse(&bytes[..len]).map_err(|message| broken(&message))?;
        if (100..200).contains(&head.status) && head.status != 101 {
            self.state = State::Head { scanned: 0 };
            return Ok((len, Event::More));
        }
        self.begin_body(head)?;
        Ok((len, Event::Head { status: head.status }))
    }

    fn begin_body(&mut self, head: Head) -> Result<(), Failure> {
        let head_only = self.request.is_some_and(|request| request.head_only);
        let without_body = head_only || matches!(head.status, 101 | 204 | 304);
        // Nobody asked for another protocol, so nothing that is spoken after a 101 could be understood.
        self.keep = head.keep && head.status != 101;
        self.state = match head.framing {
            _ if without_body => State::Length(0),
            Framing::Length(length) if length > ANSWER_BYTES_MAX as u64 => return Err(too_large()),
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunked(Chunked::Size),
            Framing::UntilEnd => State::UntilEnd,
        };
        Ok(())
    }

    fn take_length(&mut self, bytes: &[u8], left: u64, body: &mut Body) -> Step {
        let len = bytes.len().min(left as usize);
        body.push(&bytes[..len])?;
        self.state = State::Length(left - len as u64);
        Ok((len, if len as u64 == left { self.done() } else { Event::More }))
    }

    fn take_chunk(&mut self, bytes: &[u8], mut chunked: Chunked, body: &mut Body) -> Step {
        let piece = chunked.take(bytes).map_err(|message| Failure::new(Trouble::BadChunk, message))?;
        self.state = State::Chunked(chunked);
        match piece {
            Piece::Short => Ok((0, Event::More)),
            Piece::Frame(len) => Ok((len, Event::More)),
            Piece::End(len) => Ok((len, self.done())),
            Piece::Data(len) => {
                body.push(&bytes[..len])?;
                Ok((len, Event::More))
            }
        }
    }

    fn done(&mut self) -> Event {
        self.state = State::Idle;
        Event::Done { keep: self.keep }
    }
}

fn broken(message: &str) -> Failure {
    Failure::new(Trouble::Malformed, message)
}
