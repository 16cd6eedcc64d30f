//! The head of an HTTP/1 response (RFC 9112): status line and the few headers that say where the response ends. What
//! the standard calls faulty framing is rejected with a message: a tester that guesses would time the wrong response.
//! Does not know bodies and connections.

use memchr::{memchr, memchr_iter};

/// What a head says about the bytes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    pub(super) framing: Framing,
    /// Whether the server keeps the connection open.
    pub(super) keep_alive: bool,
}

/// Where a body ends (RFC 9112, section 6.3), regardless of the request and the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

/// Where the head ends, empty line included; no line before `from` can end it.
pub(super) fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    for at in memchr_iter(b'\n', bytes.get(from..)?) {
        let next = from + at + 1;
        match bytes.get(next..) {
            Some([b'\n', ..]) => return Some(next + 1),
            Some([b'\r', b'\n', ..]) => return Some(next + 2),
            _ => {}
        }
    }
    None
}

/// Parses a whole head, empty line included.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(head: &[u8]) -> Result<ResponseHead, String> {
    let mut lines = HeadLines(head);
    let (minor, status) = status_line(lines.next().unwrap_or_default())?;
    let mut framing_headers = FramingHeaders::default();
    for line in lines {
        if line.is_empty() {
            break;
        }
        framing_headers.add_line(line)?;
    }
    let framing = framing_headers.framing(minor)?;
    let keep = match (framing_headers.close, framing_headers.keep_alive, minor) {
        (true, _, _) => false,
        (false, keep_alive, 0) => keep_alive,
        (false, _, _) => true,
    };
    Ok(ResponseHead { status, framing, keep_alive: keep })
}

/// The value of the first header of that name; `head` was parsed before.
pub(crate) fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    HeadLines(head).skip(1).find_map(|line| {
        let (found, value) = line.split_at(memchr(b':', line)?);
        found.eq_ignore_ascii_case(name.as_bytes()).then(|| value[1..].trim_ascii())
    })
}

/// Lines without their ends; both CRLF and LF end one (RFC 9112, section 2.2).
struct HeadLines<'a>(&'a [u8]);

impl<'a> Iterator for HeadLines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let at = memchr(b'\n', self.0)?;
        let line = &self.0[..at];
        self.0 = &self.0[at + 1..];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// The minor version and the status.
fn status_line(line: &[u8]) -> Result<(u8, u16), String> {
    let wrong = || format!("not an HTTP/1 answer: it begins with {:?}", printable(line));
    let (minor, rest) = match line {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ (b'0' | b'1'), b' ', rest @ ..] => (minor - b'0', rest),
        _ => return Err(wrong()),
    };
    let digits = match rest {
        [_, _, _] => rest,
        [_, _, _, b' ', reason @ ..] if reason.iter().all(|byte| is_field_byte(*byte)) => &rest[..3],
        _ => return Err(wrong()),
    };
    let digit = |sum: Option<u16>, byte: &u8| Some(sum? * 10 + u16::from(byte.is_ascii_digit().then(|| byte - b'0')?));
    let status = digits.iter().fold(Some(0), digit).filter(|status| *status >= 100).ok_or_else(wrong)?;
    Ok((minor, status))
}

/// What the headers have said so far.
#[derive(Default)]
struct FramingHeaders {
    length: Option<u64>,
    /// The last transfer coding, if there is any: whether it is `chunked`.
    chunked: Option<bool>,
    close: bool,
    keep_alive: bool,
}

impl FramingHeaders {
    fn add_line(&mut self, line: &[u8]) -> Result<(), String> {
        if matches!(line, [b' ' | b'\t', ..]) {
            return Err("a header goes on in a second line, which the standard has given up".to_owned());
        }
        let colon = memchr(b':', line).ok_or_else(|| format!("a header without a colon: {:?}", printable(line)))?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if name.is_empty() || !name.iter().all(|byte| IS_TOKEN[usize::from(*byte)]) {
            return Err(format!("not the name of a header: {:?}", printable(name)));
        }
        if !value.iter().all(|byte| is_field_byte(*byte)) {
            return Err(format!("a control character in header {:?}", printable(name)));
        }
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => self.add_connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.add_content_length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                let last = list_items(value).next_back();
                self.chunked = Some(last.is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked")));
            }
            _ => {}
        }
        Ok(())
    }

    fn add_connection(&mut self, value: &[u8]) {
        for option in list_items(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// The same length twice counts as one (RFC 9112, section 6.3).
    fn add_content_length(&mut self, value: &[u8]) -> Result<(), String> {
        for item in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            let wrong = || format!("not a content length: {:?}", printable(item));
            let length = parse_decimal(item).ok_or_else(wrong)?;
            if self.length.is_some_and(|before| before != length) {
                return Err("two content lengths that differ".to_owned());
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn framing(&self, minor: u8) -> Result<Framing, String> {
        match (self.chunked, self.length) {
            (Some(_), Some(_)) => Err("both a content length and a transfer coding".to_owned()),
            (Some(_), None) if minor == 0 => Err("a transfer coding in HTTP/1.0".to_owned()),
            (Some(true), None) => Ok(Framing::Chunked),
            (None, Some(length)) => Ok(Framing::Length(length)),
            (Some(false) | None, None) => Ok(Framing::UntilClose),
        }
    }
}

fn list_items(value: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|item| !item.is_empty())
}

fn parse_decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// Whether a byte may stand in a header's value: everything but controls, a tab excepted (RFC 9110, section 5.5).
fn is_field_byte(byte: u8) -> bool {
    (byte >= b' ' && byte != 0x7f) || byte == b'\t'
}

/// The bytes of a token (RFC 9110, section 5.6.2).
const IS_TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let marks = b"!#$%&'*+-.^_`|~";
    let mut i = 0;
    while i < marks.len() {
        table[marks[i] as usize] = true;
        i += 1;
    }
    table
};

/// The beginning of some bytes, fit for a message.
pub(super) fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned()
}
