//! The heads of responses that hyper does not write: to parked requests. Pure: bytes from values.

use super::park::Persistence;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use std::time::SystemTime;

/// How a reader finds the end of the body (RFC 9112, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// After this many bytes.
    Length(usize),
    /// After an empty chunk, or, before HTTP/1.1, at the end of the connection.
    Chunked,
}

/// Headers of the connection, or known only with the response: a handler that parks a request cannot set them.
const RESERVED_HEADERS: [HeaderName; 4] =
    [header::CONNECTION, header::CONTENT_LENGTH, header::DATE, header::TRANSFER_ENCODING];

/// These headers as lines: a tenth of the memory of a map.
pub(super) fn encode_headers(headers: &HeaderMap) -> Box<[u8]> {
    let mut lines = Vec::new();
    write_headers(&mut lines, headers);
    lines.into_boxed_slice()
}

/// A whole head: the status, the stored lines, the headers of the response, and those of the connection.
pub(super) fn encode_head(
    persistence: Persistence,
    status: StatusCode,
    (kept, headers): (&[u8], &HeaderMap),
    framing: Framing,
    now: SystemTime,
) -> Vec<u8> {
    let mut head = Vec::with_capacity(256 + kept.len());
    head.extend_from_slice(if persistence.is_http10() { b"HTTP/1.0 " } else { b"HTTP/1.1 " });
    head.extend_from_slice(status.as_str().as_bytes());
    head.push(b' ');
    head.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    head.extend_from_slice(b"\r\n");
    head.extend_from_slice(kept);
    write_headers(&mut head, headers);
    match (persistence, framing) {
        (_, Framing::Length(bytes)) => {
            write_header(&mut head, &header::CONTENT_LENGTH, itoa::Buffer::new().format(bytes).as_bytes());
        }
        (Persistence::KeepAlive | Persistence::Close, Framing::Chunked) => {
            write_header(&mut head, &header::TRANSFER_ENCODING, b"chunked");
        }
        (Persistence::Http10KeepAlive | Persistence::Http10Close, Framing::Chunked) => {}
    }
    match persistence {
        Persistence::KeepAlive | Persistence::Http10Close => {}
        Persistence::Http10KeepAlive => write_header(&mut head, &header::CONNECTION, b"keep-alive"),
        Persistence::Close => write_header(&mut head, &header::CONNECTION, b"close"),
    }
    write_header(&mut head, &header::DATE, httpdate::fmt_http_date(now).as_bytes());
    head.extend_from_slice(b"\r\n");
    head
}

fn write_headers(lines: &mut Vec<u8>, headers: &HeaderMap<HeaderValue>) {
    headers
        .iter()
        .filter(|(name, _)| !RESERVED_HEADERS.contains(name))
        .for_each(|(name, value)| write_header(lines, name, value.as_bytes()));
}

fn write_header(lines: &mut Vec<u8>, name: &HeaderName, value: &[u8]) {
    for part in [name.as_str().as_bytes(), b": ", value, b"\r\n"] {
        lines.extend_from_slice(part);
    }
}

/// One chunk of a body; an empty one would be its end.
pub(super) fn encode_chunk(data: &[u8], persistence: Persistence) -> Vec<u8> {
    if persistence.is_http10() {
        return data.to_vec();
    }
    let mut chunk = Vec::with_capacity(data.len() + 16);
    chunk.extend_from_slice(format!("{:x}\r\n", data.len()).as_bytes());
    chunk.extend_from_slice(data);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// What follows the last chunk.
pub(super) fn encode_last_chunk(persistence: Persistence) -> Vec<u8> {
    if persistence.is_http10() { Vec::new() } else { b"0\r\n\r\n".to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(persistence: Persistence, framing: Framing, want: &str) {
        let of = |pairs: &[(HeaderName, &'static str)]| {
            pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect::<HeaderMap>()
        };
        let kept =
            encode_headers(&of(&[(header::VARY, "origin"), (header::CONTENT_LENGTH, "0"), (header::DATE, "then")]));
        let headers = of(&[(header::CONTENT_TYPE, "text/plain"), (header::TRANSFER_ENCODING, "gzip")]);
        let head = encode_head(persistence, StatusCode::GONE, (&kept, &headers), framing, SystemTime::UNIX_EPOCH);
        assert_eq!(String::from_utf8(head).unwrap().replace("\r\n", "|"), want);
    }

    #[test]
    fn heads_say_how_the_body_and_the_connection_end() {
        let (kept, date) = ("vary: origin|content-type: text/plain|", "date: Thu, 01 Jan 1970 00:00:00 GMT||");
        let (new, old) = (format!("HTTP/1.1 410 Gone|{kept}"), format!("HTTP/1.0 410 Gone|{kept}"));
        let length = Framing::Length(7);
        check(Persistence::KeepAlive, length, &format!("{new}content-length: 7|{date}"));
        check(Persistence::Close, length, &format!("{new}content-length: 7|connection: close|{date}"));
        check(Persistence::Http10KeepAlive, length, &format!("{old}content-length: 7|connection: keep-alive|{date}"));
        check(Persistence::Http10Close, length, &format!("{old}content-length: 7|{date}"));
        check(Persistence::KeepAlive, Framing::Chunked, &format!("{new}transfer-encoding: chunked|{date}"));
        check(Persistence::Http10Close, Framing::Chunked, &format!("{old}{date}"));
    }

    #[test]
    fn chunks_are_framed_for_clients_that_can_read_them() {
        let check =
            |persistence, want: &str| assert_eq!(encode_chunk(b"0123456789abcdefg", persistence), want.as_bytes());
        check(Persistence::KeepAlive, "11\r\n0123456789abcdefg\r\n");
        check(Persistence::Http10Close, "0123456789abcdefg");
    }
}
