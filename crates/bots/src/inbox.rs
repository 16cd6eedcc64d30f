//! Bytes from a socket to whole requests. An idle connection owns no buffer: bytes are read into memory that all
//! connections of a thread share, and only the rest of an unfinished request is copied to memory of its own. Knows
//! neither how answers are sent nor any timeout.

use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;

use crate::http::{Progress, RequestParser};
use crate::limits::READ_BYTES_MAX;
use crate::reply::Reply;
use crate::service::BotService;

thread_local! {
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES_MAX].into());
}

const INTERIM: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Received bytes that are not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// Boxed, because most connections have none most of the time.
    pending: Option<Box<PendingBytes>>,
}

/// The beginning of a request, or requests that came while an earlier one was being answered.
#[derive(Debug)]
struct PendingBytes {
    bytes: Vec<u8>,
    parser: RequestParser,
}

/// What came out of some bytes.
struct ParsedRequest {
    /// The answer to the request at their front; without one, the request is incomplete.
    reply: Option<Reply>,
    /// Bytes that this request takes.
    consumed: usize,
    wants_continue: bool,
}

impl Inbox {
    /// Whether the beginning of a request is here without its end.
    pub(crate) fn is_partial(&self) -> bool {
        self.pending.is_some()
    }

    /// The answer to the next request; nothing once the client is gone.
    ///
    /// Reads with `poll_read`, which knows from a short read that the socket is empty: a readiness loop would read from
    /// the kernel once more for every request.
    pub(crate) fn poll_next(
        &mut self,
        stream: &mut TcpStream,
        service: &BotService,
        context: &mut Context<'_>,
    ) -> Poll<Option<Reply>> {
        if let Some(reply) = self.parse_pending(stream, service) {
            return Poll::Ready(Some(reply));
        }
        SCRATCH.with_borrow_mut(|scratch| {
            loop {
                let mut buffer = ReadBuf::new(scratch);
                let read = ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer));
                if read.is_err() || buffer.filled().is_empty() {
                    return Poll::Ready(None);
                }
                if let Some(reply) = self.receive(buffer.filled(), stream, service) {
                    return Poll::Ready(Some(reply));
                }
            }
        })
    }

    /// Adds `fresh` bytes and cuts one request, if that makes one whole.
    fn receive(&mut self, fresh: &[u8], stream: &TcpStream, service: &BotService) -> Option<Reply> {
        if let Some(pending) = &mut self.pending {
            pending.bytes.extend_from_slice(fresh);
            return self.parse_pending(stream, service);
        }
        let mut memo = RequestParser::default();
        let cut = parse_and_respond(fresh, &mut memo, service);
        send_continue(&cut, stream);
        if cut.reply.is_some() {
            memo = RequestParser::default();
        }
        if cut.consumed < fresh.len() {
            self.pending = Some(Box::new(PendingBytes { bytes: fresh[cut.consumed..].to_vec(), parser: memo }));
        }
        cut.reply
    }

    fn parse_pending(&mut self, stream: &TcpStream, service: &BotService) -> Option<Reply> {
        let pending = self.pending.as_mut()?;
        let cut = parse_and_respond(&pending.bytes, &mut pending.parser, service);
        send_continue(&cut, stream);
        let reply = cut.reply?;
        if cut.consumed < pending.bytes.len() {
            pending.bytes.drain(..cut.consumed);
            pending.parser = RequestParser::default();
        } else {
            self.pending = None;
        }
        Some(reply)
    }
}

/// Answers the request at the front of `bytes`, if it is complete. After noise, all bytes are used up.
fn parse_and_respond(bytes: &[u8], memo: &mut RequestParser, service: &BotService) -> ParsedRequest {
    match memo.read(bytes) {
        Ok(Progress::Complete(message)) => {
            ParsedRequest { consumed: message.used, reply: Some(service.respond(&message)), wants_continue: false }
        }
        Ok(Progress::Partial { wants_continue }) => ParsedRequest { consumed: 0, reply: None, wants_continue },
        Err(problem) => ParsedRequest {
            consumed: bytes.len(),
            reply: Some(service.respond_to_bad_request(problem)),
            wants_continue: false,
        },
    }
}

/// Sends `100 Continue`. A few bytes on a socket with nothing else to send: should they not fit all the same, the
/// client continues after a wait of its own.
fn send_continue(cut: &ParsedRequest, stream: &TcpStream) {
    if cut.wants_continue {
        let _ = stream.try_write(INTERIM);
    }
}
