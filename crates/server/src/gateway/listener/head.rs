//! The heads of answers that no library writes: to requests that were parked. Pure: bytes from values.

use super::park::Persistence;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use std::time::SystemTime;

/// How a reader finds the end of the body (RFC 9112, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// After so many bytes.
    Length(usize),
    /// After a chunk of no bytes, or, before HTTP/1.1, where the connection ends.
    Pieces,
}

/// Headers that belong to the connection, or that are known only with the answer: whoever parked a request cannot set them.
const OWN: [HeaderName; 4] = [header::CONNECTION, header::CONTENT_LENGTH, header::DATE, header::TRANSFER_ENCODING];

/// The lines of these headers: a tenth of the memory of a map.
pub(super) fn lines(headers: &HeaderMap) -> Box<[u8]> {
    let mut lines = Vec::new();
    put_all(&mut lines, headers);
    lines.into_boxed_slice()
}

/// A whole head: the status, the lines that were kept, the headers of the answer, and what the connection needs.
pub(super) fn head(
    persistence: Persistence,
    status: StatusCode,
    (kept, headers): (&[u8], &HeaderMap),
    framing: Framing,
    now: SystemTime,
) -> Vec<u8> {
    let mut head = Vec::with_capacity(256 + kept.len());
    head.extend_from_slice(if persistence.is_old() { b"HTTP/1.0 " } else { b"HTTP/1.1 " });
    head.extend_from_slice(status.as_str().as_bytes());
    head.push(b' ');
    head.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    head.extend_from_slice(b"\r\n");
    head.extend_from_slice(kept);
    put_all(&mut head, headers);
    match (persistence, framing) {
        (_, Framing::Length(bytes)) => {
            put(&mut head, &header::CONTENT_LENGTH, itoa::Buffer::new().format(bytes).as_bytes());
        }
        (Persistence::Keep | Persistence::Close, Framing::Pieces) => {
            put(&mut head, &header::TRANSFER_ENCODING, b"chunked");
        }
        (Persistence::KeepOld | Persistence::CloseOld, Framing::Pieces) => {}
    }
    match persistence {
        Persistence::Keep | Persistence::CloseOld => {}
        Persistence::KeepOld => put(&mut head, &header::CONNECTION, b"keep-alive"),
        Persistence::Close => put(&mut head, &header::CONNECTION, b"close"),
    }
    put(&mut head, &header::DATE, httpdate::fmt_http_date(now).as_bytes());
    head.extend_from_slice(b"\r\n");
    head
}

fn put_all(lines: &mut Vec<u8>, headers: &HeaderMap<HeaderValue>) {
    headers.iter().filter(|(name, _)| !OWN.contains(name)).for_each(|(name, value)| put(lines, name, value.as_bytes()));
}

fn put(lines: &mut Vec<u8>, name: &HeaderName, value: &[u8]) {
    for part in [name.as_str().as_bytes(), b": ", value, b"\r\n"] {
        lines.extend_from_slice(part);
    }
}

/// One piece of an answer in pieces; an empty one would be its end.
pub(super) fn chunk(piece: &[u8], persistence: Persistence) -> Vec<u8> {
    if persistence.is_old() {
        return piece.to_vec();
    }
    let mut chunk = Vec::with_capacity(piece.len() + 16);
    chunk.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
    chunk.extend_from_slice(piece);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// What comes behind the last piece.
pub(super) fn last_chunk(persistence: Persistence) -> Vec<u8> {
    if persistence.is_old() { Vec::new() } else { b"0\r\n\r\n".to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(persistence: Persistence, framing: Framing, want: &str) {
        let of = |pairs: &[(HeaderName, &'static str)]| {
            pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect::<HeaderMap>()
        };
        let kept = lines(&of(&[(header::VARY, "origin"), (header::CONTENT_LENGTH, "0"), (header::DATE, "then")]));
        let headers = of(&[(header::CONTENT_TYPE, "text/plain"), (header::TRANSFER_ENCODING, "gzip")]);
        let head = head(persistence, StatusCode::GONE, (&kept, &headers), framing, SystemTime::UNIX_EPOCH);
        assert_eq!(String::from_utf8(head).unwrap().replace("\r\n", "|"), want);
    }

    #[test]
    fn heads_say_how_the_body_and_the_connection_end() {
        let (kept, date) = ("vary: origin|content-type: text/plain|", "date: Thu, 01 Jan 1970 00:00:00 GMT||");
        let (new, old) = (format!("HTTP/1.1 410 Gone|{kept}"), format!("HTTP/1.0 410 Gone|{kept}"));
        let length = Framing::Length(7);
        check(Persistence::Keep, length, &format!("{new}content-length: 7|{date}"));
        check(Persistence::Close, length, &format!("{new}content-length: 7|connection: close|{date}"));
        check(Persistence::KeepOld, length, &format!("{old}content-length: 7|connection: keep-alive|{date}"));
        check(Persistence::CloseOld, length, &format!("{old}content-length: 7|{date}"));
        check(Persistence::Keep, Framing::Pieces, &format!("{new}transfer-encoding: chunked|{date}"));
        check(Persistence::CloseOld, Framing::Pieces, &format!("{old}{date}"));
    }

    #[test]
    fn pieces_are_framed_where_the_client_can_read_it() {
        let check = |persistence, want: &str| assert_eq!(chunk(b"0123456789abcdefg", persistence), want.as_bytes());
        check(Persistence::Keep, "11\r\n0123456789abcdefg\r\n");
        check(Persistence::CloseOld, "0123456789abcdefg");
    }
}
