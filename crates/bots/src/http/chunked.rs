//! Chunked bodies, decoded as they arrive. Extensions and trailers are skipped; lengths are bounded both as decoded
//! and as sent. Knows nothing of heads.

use super::problem::{Problem, bad_request, too_large_body};
use crate::limits::{BODY_BYTES_MAX, CHUNKED_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX};

/// A chunked body of which the first part has been decoded.
#[derive(Debug, Default)]
pub(super) struct ChunkedDecoder {
    body: Vec<u8>,
    /// Bytes of the encoded form that are decoded already.
    position: usize,
    /// The last chunk is behind us, trailers follow.
    ended: bool,
}

impl ChunkedDecoder {
    /// Decodes on; `bytes` begins with the first byte of the encoded body. Its encoded length once it is complete.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<Option<usize>, Problem> {
        while !self.ended {
            if !self.read_chunk(&bytes[self.position..])? {
                return Ok(None);
            }
        }
        self.read_trailers(&bytes[self.position..])
    }

    /// The decoded body so far.
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Takes one whole chunk from the front of `rest`, or reports that it is not complete yet.
    fn read_chunk(&mut self, rest: &[u8]) -> Result<bool, Problem> {
        let Some((line_bytes, size)) = read_size(rest)? else { return Ok(false) };
        let size = usize::try_from(size).map_err(|_| too_large_body())?;
        if size == 0 {
            self.position += line_bytes;
            self.ended = true;
            return Ok(true);
        }
        let chunk_end = line_bytes.saturating_add(size);
        let encoded = self.position.saturating_add(chunk_end);
        if self.body.len().saturating_add(size) > BODY_BYTES_MAX || encoded > CHUNKED_BYTES_MAX {
            return Err(too_large_body());
        }
        let Some(end) = rest.get(chunk_end..chunk_end + 2) else { return Ok(false) };
        if end != b"\r\n" {
            return Err(bad_request("a chunk is longer or shorter than it says"));
        }
        self.body.extend_from_slice(&rest[line_bytes..chunk_end]);
        self.position += chunk_end + 2;
        Ok(true)
    }

    fn read_trailers(&mut self, rest: &[u8]) -> Result<Option<usize>, Problem> {
        let mut fields = [httparse::EMPTY_HEADER; HEADERS_MAX];
        match httparse::parse_headers(rest, &mut fields) {
            Ok(httparse::Status::Complete((bytes, _))) => Ok(Some(self.position + bytes)),
            Ok(httparse::Status::Partial) if rest.len() > HEAD_BYTES_MAX => Err(too_large_body()),
            Ok(httparse::Status::Partial) => Ok(None),
            Err(error) => Err(bad_request(format!("the trailers of a chunked body are no fields: {error}"))),
        }
    }
}

/// The size line at the front of `rest`: its own length, and the size it names.
fn read_size(rest: &[u8]) -> Result<Option<(usize, u64)>, Problem> {
    match httparse::parse_chunk_size(rest) {
        Ok(httparse::Status::Complete(found)) => Ok(Some(found)),
        Ok(httparse::Status::Partial) if rest.len() > HEAD_BYTES_MAX => {
            Err(bad_request("the size line of a chunk does not end"))
        }
        Ok(httparse::Status::Partial) => Ok(None),
        Err(_) => Err(bad_request("a chunk does not begin with its size in hexadecimal")),
    }
}
