//! Parses requests from the bytes of a connection, however they were split on the way.
//!
//! The usual request arrives in one piece and is parsed in place, without a copy. One that comes in parts is parsed
//! again from its first byte whenever more has come; the [`RequestParser`] remembers what need not be found out twice,
//! so that the cost stays linear in the body. It refuses every framing that two parsers could understand differently.

use std::ops::Range;

use super::chunked::ChunkedDecoder;
use super::problem::{Method, Problem, Status, bad_request, too_large_body};
use crate::limits::{BODY_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX};

/// A complete request, borrowed from the bytes it was cut from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedMessage<'b> {
    pub(crate) method: Method,
    pub(crate) target: &'b str,
    pub(crate) body: &'b [u8],
    /// Whether the connection stays open afterwards.
    pub(crate) keep_alive: bool,
    /// Bytes that the message takes; the next one follows.
    pub(crate) used: usize,
}

/// How far the bytes reach.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress<'b> {
    Complete(ParsedMessage<'b>),
    /// More bytes are needed; `wants_continue` once per message whose sender waits for `100 Continue`.
    Partial {
        wants_continue: bool,
    },
}

/// What is known of a message that has not arrived completely.
#[derive(Debug, Default)]
pub(crate) struct RequestParser {
    head: Option<RequestHead>,
    chunks: ChunkedDecoder,
    continue_asked: bool,
}

#[derive(Debug)]
struct RequestHead {
    method: Method,
    target: Range<usize>,
    framing: Framing,
    keep_alive: bool,
    expects_continue: bool,
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
}

impl RequestParser {
    /// Parses the message that begins with the first of `bytes`: the same bytes as last time, and more.
    ///
    /// # Errors
    /// The problem to answer with; the rest of the connection can then no longer be parsed.
    pub(crate) fn read<'b>(&'b mut self, bytes: &'b [u8]) -> Result<Progress<'b>, Problem> {
        if self.head.is_none() {
            self.head = read_head(bytes)?;
        }
        let Some(head) = &self.head else { return Ok(Progress::Partial { wants_continue: false }) };
        let rest = &bytes[head.bytes..];
        let body = match head.framing {
            Framing::Length(length) => rest.get(..length).map(|body| (body, length)),
            Framing::Chunked => self.chunks.read(rest)?.map(|used| (self.chunks.body(), used)),
        };
        let Some((body, body_used)) = body else {
            let wants_continue = head.expects_continue && rest.is_empty() && !self.continue_asked;
            self.continue_asked |= wants_continue;
            return Ok(Progress::Partial { wants_continue });
        };
        let target = std::str::from_utf8(&bytes[head.target.clone()]).unwrap_or_default();
        let (method, keep_alive, used) = (head.method, head.keep_alive, head.bytes + body_used);
        Ok(Progress::Complete(ParsedMessage { method, target, body, keep_alive, used }))
    }
}

/// The head at the start of `bytes`, or nothing while it is incomplete.
fn read_head(bytes: &[u8]) -> Result<Option<RequestHead>, Problem> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let window = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
    match request.parse(window) {
        Ok(httparse::Status::Complete(head_bytes)) => interpret_head(&request, window, head_bytes).map(Some),
        Ok(httparse::Status::Partial) if window.len() == HEAD_BYTES_MAX => Err(too_large_head()),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(too_large_head()),
        Err(error) => Err(bad_request(format!("this is not HTTP/1.1: {error}"))),
    }
}

fn interpret_head(
    request: &httparse::Request<'_, '_>,
    bytes: &[u8],
    head_bytes: usize,
) -> Result<RequestHead, Problem> {
    let method = match request.method {
        Some("GET") => Method::Get,
        Some("POST") => Method::Post,
        _ => Method::Other,
    };
    let fields = HeaderFields::read(request.headers)?;
    let keep_alive = if request.version == Some(0) { fields.keep_alive } else { !fields.close };
    Ok(RequestHead {
        method,
        target: range_within(bytes, request.path.unwrap_or_default()),
        framing: fields.framing(method)?,
        keep_alive,
        expects_continue: fields.expects_continue && request.version == Some(1),
        bytes: head_bytes,
    })
}

/// Where `part`, a piece of `bytes`, lies in them.
fn range_within(bytes: &[u8], part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(bytes.as_ptr() as usize).min(bytes.len());
    start..(start + part.len()).min(bytes.len())
}

/// What the header fields mean for framing and connection.
#[derive(Default)]
struct HeaderFields {
    length: Option<usize>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
}

impl HeaderFields {
    fn read(headers: &[httparse::Header<'_>]) -> Result<HeaderFields, Problem> {
        let mut fields = HeaderFields::default();
        for header in headers {
            if header.name.eq_ignore_ascii_case("content-length") {
                fields.set_content_length(header.value)?;
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                fields.set_transfer_encoding(header.value)?;
            } else if header.name.eq_ignore_ascii_case("connection") {
                fields.close |= has_token(header.value, "close");
                fields.keep_alive |= has_token(header.value, "keep-alive");
            } else if header.name.eq_ignore_ascii_case("expect") {
                fields.expects_continue |= has_token(header.value, "100-continue");
            }
        }
        Ok(fields)
    }

    fn set_content_length(&mut self, value: &[u8]) -> Result<(), Problem> {
        let digits = std::str::from_utf8(value).ok().map(str::trim).filter(|v| v.bytes().all(|b| b.is_ascii_digit()));
        let length = digits.and_then(|digits| digits.parse().ok());
        let length = length.ok_or_else(|| bad_request("content-length is not a number of bytes"))?;
        if self.length.replace(length).is_some_and(|before| before != length) {
            return Err(bad_request("two content-length fields contradict each other"));
        }
        Ok(())
    }

    fn set_transfer_encoding(&mut self, value: &[u8]) -> Result<(), Problem> {
        if self.chunked || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
            let detail = "the only transfer-encoding understood here is chunked, once";
            return Err(Problem::new(Status::NOT_IMPLEMENTED, "unknown_transfer_encoding", detail));
        }
        self.chunked = true;
        Ok(())
    }

    fn framing(&self, method: Method) -> Result<Framing, Problem> {
        match (self.length, self.chunked) {
            (Some(_), true) => Err(bad_request("content-length and transfer-encoding exclude each other")),
            (None, true) => Ok(Framing::Chunked),
            (Some(length), false) if length > BODY_BYTES_MAX => Err(too_large_body()),
            (Some(length), false) => Ok(Framing::Length(length)),
            (None, false) if method == Method::Post => {
                let detail = "a POST says how long its body is: content-length, or transfer-encoding: chunked";
                Err(Problem::new(Status::LENGTH_REQUIRED, "length_required", detail))
            }
            (None, false) => Ok(Framing::Length(0)),
        }
    }
}

fn has_token(value: &[u8], token: &str) -> bool {
    value.split(|&byte| byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

fn too_large_head() -> Problem {
    let detail = format!("a request line with its headers has at most {HEAD_BYTES_MAX} bytes and {HEADERS_MAX} fields");
    Problem::new(Status::HEADER_FIELDS_TOO_LARGE, "head_too_large", detail)
}

#[cfg(test)]
mod tests;
