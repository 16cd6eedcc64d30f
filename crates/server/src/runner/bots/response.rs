//! Reading one HTTP/1.1 response from bytes that arrive in pieces. Pure: bytes in, progress out (RFC 9112, sections 4–7).

use super::exchange::Failure;
use engine::limits::{BOT_ANSWER_BYTES_MAX, BOT_ANSWER_HEAD_BYTES_MAX};

const HEADERS_MAX: usize = 64;

/// A whole response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Response {
    /// Its status code.
    pub(super) status: u16,
    /// Its body, out of whatever framing it came in.
    pub(super) body: Vec<u8>,
    /// Whether the connection may serve another request.
    pub(super) is_reusable: bool,
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    status: u16,
    bytes: usize,
    framing: Framing,
    keeps_alive: bool,
}

/// What came of the bytes so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More bytes are needed.
    Partial,
    /// It is all there.
    Whole(Response),
}

/// Reads the response in `bytes`, which are all that arrived since the request; `is_closed` says that no more will come.
pub(super) fn read(bytes: &[u8], is_closed: bool) -> Result<Progress, Failure> {
    let mut skipped = 0;
    let head = loop {
        match read_head(&bytes[skipped..])? {
            None if is_closed => return Err(Failure::Unreachable),
            None => return Ok(Progress::Partial),
            // An interim response: the real one follows. 101 would change the protocol, which nobody asked for.
            Some(head) if head.status < 200 && head.status != 101 => skipped += head.bytes,
            Some(head) => break head,
        }
    };
    let body = &bytes[skipped + head.bytes..];
    if body.len() > BOT_ANSWER_BYTES_MAX + BOT_ANSWER_HEAD_BYTES_MAX {
        return Err(Failure::Oversized);
    }
    let whole = match head.framing {
        Framing::Length(length) => (body.len() >= length).then(|| (body[..length].to_vec(), body.len() == length)),
        Framing::Chunked => read_chunks(body)?.map(|(content, used)| (content, body.len() == used)),
        Framing::UntilClose => is_closed.then(|| (body.to_vec(), false)),
    };
    match whole {
        Some((content, _)) if content.len() > BOT_ANSWER_BYTES_MAX => Err(Failure::Oversized),
        Some((content, is_exact)) => Ok(Progress::Whole(Response {
            status: head.status,
            body: content,
            is_reusable: is_exact && head.keeps_alive && !is_closed,
        })),
        None if is_closed => Err(Failure::Unreachable),
        None if body.len() > BOT_ANSWER_BYTES_MAX && head.framing == Framing::UntilClose => Err(Failure::Oversized),
        None => Ok(Progress::Partial),
    }
}

fn read_head(bytes: &[u8]) -> Result<Option<Head>, Failure> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let length = match response.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= BOT_ANSWER_HEAD_BYTES_MAX => length,
        Ok(httparse::Status::Partial) if bytes.len() <= BOT_ANSWER_HEAD_BYTES_MAX => return Ok(None),
        Ok(_) => return Err(Failure::Oversized),
        Err(_) => return Err(Failure::Malformed),
    };
    let status = response.code.ok_or(Failure::Malformed)?;
    let framing = framing(status, response.headers)?;
    let says = |what: &str| {
        response.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("connection")).any(|header| {
            header
                .value
                .split(|&byte| byte == b',')
                .any(|token| token.trim_ascii().eq_ignore_ascii_case(what.as_bytes()))
        })
    };
    let keeps_alive = if response.version == Some(1) { !says("close") } else { says("keep-alive") };
    Ok(Some(Head { status, bytes: length, framing, keeps_alive: keeps_alive && framing != Framing::UntilClose }))
}

/// RFC 9112, section 6.3. Several lengths that differ, or a transfer coding other than chunked, are refused.
fn framing(status: u16, headers: &[httparse::Header<'_>]) -> Result<Framing, Failure> {
    if status < 200 || status == 204 || status == 304 {
        return Ok(Framing::Length(0));
    }
    let values = |name: &'static str| {
        headers
            .iter()
            .filter(move |header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value.trim_ascii())
    };
    if let Some(coding) = values("transfer-encoding").next() {
        let is_chunked = coding.eq_ignore_ascii_case(b"chunked") && values("transfer-encoding").count() == 1;
        return if is_chunked { Ok(Framing::Chunked) } else { Err(Failure::Malformed) };
    }
    let mut lengths = values("content-length");
    let Some(first) = lengths.next() else { return Ok(Framing::UntilClose) };
    let is_number = !first.is_empty() && first.iter().all(u8::is_ascii_digit);
    if !is_number || lengths.any(|other| other != first) {
        return Err(Failure::Malformed);
    }
    let length = str::from_utf8(first).ok().and_then(|text| text.parse::<usize>().ok());
    match length {
        Some(length) if length <= BOT_ANSWER_BYTES_MAX => Ok(Framing::Length(length)),
        _ => Err(Failure::Oversized),
    }
}

/// The content of a chunked body and the bytes it used; `None` while it is not whole (RFC 9112, section 7.1).
fn read_chunks(body: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Failure> {
    let mut content = Vec::new();
    let mut at = 0;
    loop {
        let (line, size) = match httparse::parse_chunk_size(&body[at..]) {
            Ok(httparse::Status::Complete(found)) => found,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(Failure::Malformed),
        };
        at += line;
        if size == 0 {
            return Ok(end_of_trailers(&body[at..]).map(|trailers| (content, at + trailers)));
        }
        if size > (BOT_ANSWER_BYTES_MAX - content.len()) as u64 {
            return Err(Failure::Oversized);
        }
        let Some(chunk) = body[at..].get(..size as usize) else { return Ok(None) };
        content.extend_from_slice(chunk);
        at += size as usize;
        match body[at..].get(..2) {
            Some(b"\r\n") => at += 2,
            Some(_) => return Err(Failure::Malformed),
            None => return Ok(None),
        }
    }
}

/// Bytes up to and with the empty line that ends the trailers.
fn end_of_trailers(bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(b"\r\n") {
        return Some(2);
    }
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(status: u16, body: &str, is_reusable: bool) -> Result<Progress, Failure> {
        Ok(Progress::Whole(Response { status, body: body.into(), is_reusable }))
    }

    /// Every prefix is partial (or refused the same way), the whole is `want`.
    #[track_caller]
    fn check(bytes: &str, want: &Result<Progress, Failure>) {
        assert_eq!(&read(bytes.as_bytes(), false), want, "{bytes:?}");
        if want.is_ok() {
            for cut in 0..bytes.len() {
                assert_eq!(read(&bytes.as_bytes()[..cut], false), Ok(Progress::Partial), "{bytes:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn framings() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", &whole(200, "ok", true));
        check("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nConnection: close\r\n\r\nok", &whole(200, "ok", false));
        check("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", &whole(200, "ok", false));
        check("HTTP/1.0 200 OK\r\ncontent-length: 2\r\nConnection: Keep-Alive\r\n\r\nok", &whole(200, "ok", true));
        check("HTTP/1.1 204 No Content\r\n\r\n", &whole(204, "", true));
        check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", &whole(200, "x", true));
        check("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", &whole(302, "", true));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(&format!("{chunked}2\r\nok\r\n1;x=y\r\n!\r\n0\r\n\r\n"), &whole(200, "ok!", true));
        check(&format!("{chunked}1\r\nx\r\n0\r\nA: b\r\n\r\n"), &whole(200, "x", true));
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let bytes = b"HTTP/1.1 200 OK\r\n\r\nhello";
        assert_eq!(read(bytes, false), Ok(Progress::Partial));
        assert_eq!(read(bytes, true), whole(200, "hello", false));
    }

    #[test]
    fn leftovers_spoil_the_connection() {
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy", false), whole(200, "x", false));
    }

    #[test]
    fn refusals() {
        let no = |why| Err(why);
        check("SSH-2.0-OpenSSH\r\n", &no(Failure::Malformed));
        check("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", &no(Failure::Malformed));
        check("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx", &no(Failure::Malformed));
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", &no(Failure::Malformed));
        check("HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n", &no(Failure::Oversized));
        check("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", &no(Failure::Oversized));
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n", &no(Failure::Oversized));
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n", &no(Failure::Malformed));
        check(&format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(9_000)), &no(Failure::Oversized));
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Le", true), no(Failure::Unreachable));
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", true), no(Failure::Unreachable));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300), is_closed: bool) {
            let _ = read(&bytes, is_closed);
            let mut framed = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            framed.extend(bytes);
            let _ = read(&framed, is_closed);
        }
    }
}
