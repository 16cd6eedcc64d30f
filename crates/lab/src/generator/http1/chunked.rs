//! The chunked transfer coding (RFC 9112, section 7.1): sizes, data, trailers. Does not know what is in the data.

use memchr::memchr;

use super::head::printable;
use crate::limits::{CHUNK_LINE_BYTES_MAX, HEAD_BYTES_MAX};

/// The position in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkedDecoder {
    /// In the line with the size of a chunk.
    Size,
    /// The bytes left in a chunk.
    Data(u64),
    /// In the line end after a chunk.
    DataEnd,
    /// In the trailers, of which so many bytes have passed.
    Trailers(u32),
}

/// What the front of some bytes is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChunkToken {
    Incomplete,
    /// So many bytes of framing.
    Framing(usize),
    /// So many bytes of data.
    Data(usize),
    /// So many bytes that end the body.
    End(usize),
}

impl ChunkedDecoder {
    /// The next token.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn next_token(&mut self, bytes: &[u8]) -> Result<ChunkToken, String> {
        match self {
            Self::Size => self.parse_size(bytes),
            Self::Data(left) => {
                let len = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= len as u64;
                if *left == 0 {
                    *self = Self::DataEnd;
                }
                Ok(if len == 0 { ChunkToken::Incomplete } else { ChunkToken::Data(len) })
            }
            Self::DataEnd => match bytes {
                [b'\r', b'\n', ..] => {
                    *self = Self::Size;
                    Ok(ChunkToken::Framing(2))
                }
                [] | [b'\r'] => Ok(ChunkToken::Incomplete),
                _ => Err(format!("a chunk is longer than its size: {:?} stands behind it", printable(bytes))),
            },
            Self::Trailers(passed) => {
                let Some(len) = line_length(bytes, HEAD_BYTES_MAX - *passed as usize, "trailers")? else {
                    return Ok(ChunkToken::Incomplete);
                };
                *passed += len as u32;
                Ok(if len == 2 { ChunkToken::End(len) } else { ChunkToken::Framing(len) })
            }
        }
    }

    fn parse_size(&mut self, bytes: &[u8]) -> Result<ChunkToken, String> {
        let Some(len) = line_length(bytes, CHUNK_LINE_BYTES_MAX, "the size of a chunk")? else {
            return Ok(ChunkToken::Incomplete);
        };
        let text = bytes[..len - 2].split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
        let wrong = || format!("not the size of a chunk: {:?}", printable(text));
        let digits = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let size = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or_else(wrong)?;
        *self = if size == 0 { Self::Trailers(0) } else { Self::Data(size) };
        Ok(ChunkToken::Framing(len))
    }
}

/// The length of the first line, its CRLF included.
fn line_length(bytes: &[u8], max: usize, what: &str) -> Result<Option<usize>, String> {
    let end = memchr(b'\n', bytes);
    if end.unwrap_or(bytes.len()) >= max {
        return Err(format!("{what} of more than {max} bytes"));
    }
    match end {
        None => Ok(None),
        Some(at) if at > 0 && bytes[at - 1] == b'\r' => Ok(Some(at + 1)),
        Some(_) => Err(format!("a line of a chunked body must end with CR and LF: {:?}", printable(bytes))),
    }
}
