//! Reading one HTTP/1.1 response from bytes that arrive in pieces. Pure: bytes in, progress out (RFC 9112, sections 4–7).

use engine::health::CallFault;
use engine::limits::{BOT_ANSWER_BYTES_MAX, BOT_ANSWER_HEAD_BYTES_MAX};

const HEADERS_MAX: usize = 64;

/// A whole response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    /// The body without its framing.
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
    framing: Framing,
    keeps_alive: bool,
}

/// The result of the bytes so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More bytes are needed.
    Partial,
    /// The response is complete.
    Complete(Response),
}

/// Parses a response that arrives in pieces. Work grows with the bytes and not with the pieces, or a peer could send one byte at a time to keep
/// a worker busy: what was parsed is not parsed again, and an end is sought only in what has arrived since.
#[derive(Default)]
pub(super) struct ResponseParser {
    bytes: Vec<u8>,
    /// Bytes that are parsed: interim heads, the head, whole chunks, the size of the next one.
    parsed: usize,
    /// How many of the bytes after them were searched for the end of a head, of a chunk's size or of the trailers.
    searched: usize,
    head: Option<Head>,
    /// Of a chunked body, the size of the chunk that is arriving; zero is the last one's, which the trailers follow.
    chunk: Option<usize>,
    /// Of a chunked body, the content of its whole chunks.
    content: Vec<u8>,
}

impl ResponseParser {
    /// The buffer for arriving bytes.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What has arrived, and how much of it was parsed.
    pub(super) fn received(&self) -> (&[u8], usize) {
        (&self.bytes, self.parsed)
    }

    /// The status, once the head is complete.
    pub(super) fn status(&self) -> Option<u16> {
        self.head.map(|head| head.status)
    }

    /// Continues with what has arrived; `is_closed` says that no more will come.
    pub(super) fn advance(&mut self, is_closed: bool) -> Result<Progress, CallFault> {
        let Some(head) = self.head(is_closed)? else {
            return if is_closed { Err(CallFault::Closed) } else { Ok(Progress::Partial) };
        };
        if self.bytes.len() > BOT_ANSWER_BYTES_MAX + 2 * BOT_ANSWER_HEAD_BYTES_MAX {
            return Err(CallFault::TooLarge);
        }
        let rest = &self.bytes[self.parsed..];
        let whole = match head.framing {
            Framing::Length(length) => (rest.len() >= length).then(|| (rest[..length].to_vec(), rest.len() == length)),
            Framing::Chunked => self.chunks()?,
            Framing::UntilClose if rest.len() > BOT_ANSWER_BYTES_MAX => return Err(CallFault::TooLarge),
            Framing::UntilClose => is_closed.then(|| (rest.to_vec(), false)),
        };
        match whole {
            Some((body, is_exact)) => {
                let is_reusable = is_exact && head.keeps_alive && !is_closed;
                Ok(Progress::Complete(Response { status: head.status, body, is_reusable }))
            }
            None if is_closed => Err(CallFault::Closed),
            None => Ok(Progress::Partial),
        }
    }

    /// The head, once it is complete. Interim responses before it are skipped; together with the head they have one limit, or a peer could
    /// send them for ever. 101 would change the protocol, which was not requested: it counts as the response.
    fn head(&mut self, is_closed: bool) -> Result<Option<Head>, CallFault> {
        while self.head.is_none() {
            let searched_before = self.searched;
            let end = self.search(ends_with_empty_line)?;
            let rest = &self.bytes[self.parsed..];
            let Some(end) = end else {
                // What is not HTTP is refused without its end, which may never come. Parsed each time that it has doubled, it costs no more
                // than its length.
                if is_closed || rest.len().checked_ilog2() > searched_before.checked_ilog2() {
                    read_head(rest)?;
                }
                return Ok(None);
            };
            // Empty lines before a head are skipped.
            if end > b"\r\n".len() {
                let head = read_head(&rest[..end])?.ok_or(CallFault::NotHttp)?;
                self.head = (head.status >= 200 || head.status == 101).then_some(head);
            }
            self.skip(end);
            if self.parsed > BOT_ANSWER_HEAD_BYTES_MAX {
                return Err(CallFault::TooLarge);
            }
        }
        Ok(self.head)
    }

    /// The content of a chunked body, and whether nothing follows it; `None` while it is incomplete (RFC 9112, section 7.1).
    fn chunks(&mut self) -> Result<Option<(Vec<u8>, bool)>, CallFault> {
        loop {
            let Some(size) = self.chunk_size()? else { return Ok(None) };
            if size == 0 {
                let Some(end) = self.search(ends_with_empty_line)? else { return Ok(None) };
                self.skip(end);
                return Ok(Some((std::mem::take(&mut self.content), self.parsed == self.bytes.len())));
            }
            let rest = &self.bytes[self.parsed..];
            match rest.get(size..size + 2) {
                Some(b"\r\n") => self.content.extend_from_slice(&rest[..size]),
                Some(_) => return Err(CallFault::NotHttp),
                None => return Ok(None),
            }
            self.skip(size + 2);
            self.chunk = None;
        }
    }

    /// The size of the chunk that is arriving, once its line is complete.
    fn chunk_size(&mut self) -> Result<Option<usize>, CallFault> {
        if self.chunk.is_none()
            && let Some(end) = self.search(|line| line.ends_with(b"\n"))?
        {
            let line = &self.bytes[self.parsed..][..end];
            let Ok(httparse::Status::Complete((_, size))) = httparse::parse_chunk_size(line) else {
                return Err(CallFault::NotHttp);
            };
            if size > (BOT_ANSWER_BYTES_MAX - self.content.len()) as u64 {
                return Err(CallFault::TooLarge);
            }
            self.skip(end);
            self.chunk = Some(size as usize);
        }
        Ok(self.chunk)
    }

    /// The first end of the bytes that are not parsed for which they are what is searched for. It may be as long as a head.
    fn search(&mut self, is_found: impl Fn(&[u8]) -> bool) -> Result<Option<usize>, CallFault> {
        let rest = &self.bytes[self.parsed..];
        let end = (self.searched + 1..=rest.len()).find(|&end| is_found(&rest[..end]));
        self.searched = end.unwrap_or(rest.len());
        if self.searched > BOT_ANSWER_HEAD_BYTES_MAX { Err(CallFault::TooLarge) } else { Ok(end) }
    }

    /// The next bytes are parsed.
    fn skip(&mut self, count: usize) {
        self.parsed += count;
        self.searched = 0;
    }
}

/// Whether these lines end with an empty one. A line may end without CR (RFC 9112, section 2.2).
fn ends_with_empty_line(lines: &[u8]) -> bool {
    matches!(lines, [b'\n'] | [b'\r', b'\n'] | [.., b'\n', b'\n'] | [.., b'\n', b'\r', b'\n'])
}

/// `None`: it is not whole.
fn read_head(bytes: &[u8]) -> Result<Option<Head>, CallFault> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(CallFault::NotHttp),
    }
    let status = response.code.ok_or(CallFault::NotHttp)?;
    let framing = framing(status, response.headers)?;
    let connection_has = |what: &str| {
        response.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("connection")).any(|header| {
            header
                .value
                .split(|&byte| byte == b',')
                .any(|token| token.trim_ascii().eq_ignore_ascii_case(what.as_bytes()))
        })
    };
    let keeps_alive = if response.version == Some(1) { !connection_has("close") } else { connection_has("keep-alive") };
    Ok(Some(Head { status, framing, keeps_alive: keeps_alive && framing != Framing::UntilClose }))
}

/// RFC 9112, section 6.3. Several lengths that differ, or a transfer coding other than chunked, are refused.
fn framing(status: u16, headers: &[httparse::Header<'_>]) -> Result<Framing, CallFault> {
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
        return if is_chunked { Ok(Framing::Chunked) } else { Err(CallFault::NotHttp) };
    }
    let mut lengths = values("content-length");
    let Some(first) = lengths.next() else { return Ok(Framing::UntilClose) };
    let is_number = !first.is_empty() && first.iter().all(u8::is_ascii_digit);
    if !is_number || lengths.any(|other| other != first) {
        return Err(CallFault::NotHttp);
    }
    let length = str::from_utf8(first).ok().and_then(|text| text.parse::<usize>().ok());
    match length {
        Some(length) if length <= BOT_ANSWER_BYTES_MAX => Ok(Framing::Length(length)),
        _ => Err(CallFault::TooLarge),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(status: u16, body: &str, is_reusable: bool) -> Result<Progress, CallFault> {
        Ok(Progress::Complete(Response { status, body: body.into(), is_reusable }))
    }

    /// All of these bytes at once.
    fn read(bytes: &[u8], is_closed: bool) -> Result<Progress, CallFault> {
        ResponseParser { bytes: bytes.to_vec(), ..ResponseParser::default() }.advance(is_closed)
    }

    /// The same bytes one by one, until they are whole or refused.
    fn read_one_by_one(bytes: &[u8], is_closed: bool) -> Result<Progress, CallFault> {
        let mut incoming = ResponseParser::default();
        for &byte in bytes {
            incoming.buffer().push(byte);
            match incoming.advance(false) {
                Ok(Progress::Partial) => {}
                ended => return ended,
            }
        }
        incoming.advance(is_closed)
    }

    /// Every prefix is partial (or refused the same way), the whole is `want`.
    #[track_caller]
    fn check(bytes: &str, want: &Result<Progress, CallFault>) {
        assert_eq!(&read(bytes.as_bytes(), false), want, "{bytes:?}");
        assert_eq!(&read_one_by_one(bytes.as_bytes(), false), want, "{bytes:?} byte by byte");
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
        check(&format!("{chunked}1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n"), &whole(200, "x", true));
        check("\r\n\nHTTP/1.1 200 OK\ncontent-length: 2\n\nok", &whole(200, "ok", true));
    }

    #[test]
    fn each_byte_is_searched_once_however_it_arrives() {
        let (mut incoming, looks) = (ResponseParser::default(), std::cell::Cell::new(0));
        for _ in 0..BOT_ANSWER_HEAD_BYTES_MAX {
            incoming.buffer().push(b'x');
            let count = |_: &[u8]| {
                looks.set(looks.get() + 1);
                false
            };
            assert_eq!(incoming.search(count), Ok(None));
        }
        assert_eq!(looks.get(), BOT_ANSWER_HEAD_BYTES_MAX);
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
        let no = |error| Err(error);
        check("SSH-2.0-OpenSSH\r\n", &no(CallFault::NotHttp));
        check("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", &no(CallFault::NotHttp));
        check("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx", &no(CallFault::NotHttp));
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", &no(CallFault::NotHttp));
        check("HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n", &no(CallFault::TooLarge));
        check("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", &no(CallFault::TooLarge));
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n", &no(CallFault::TooLarge));
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n", &no(CallFault::NotHttp));
        check(&format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(9_000)), &no(CallFault::TooLarge));
        let last_chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0";
        check(&format!("{last_chunk}\r\n{}", "A: b\r\n".repeat(2_000)), &no(CallFault::TooLarge));
        check(&format!("{last_chunk};{}", "x".repeat(9_000)), &no(CallFault::TooLarge));
        check(&"\r\n".repeat(5_000), &no(CallFault::TooLarge));
        // A flood of interim responses once kept a worker busy until its lease expired.
        check(&"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000), &no(CallFault::TooLarge));
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Le", true), no(CallFault::Closed));
        assert_eq!(read_one_by_one(b"HTTP/1.1 200 OK\r\nA B: c", true), no(CallFault::NotHttp));
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", true), no(CallFault::Closed));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300), is_closed: bool) {
            let _ = read(&bytes, is_closed);
            let mut framed = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            framed.extend(bytes);
            let _ = read(&framed, is_closed);
            let _ = read_one_by_one(&framed, is_closed);
        }
    }
}
