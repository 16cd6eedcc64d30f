//! What the fuzzer reads with parsers that are private otherwise (`crates/fuzz`). Nothing else uses it.

use crate::http::{Progress, RequestParser};

/// The first request of a connection.
#[derive(Debug, PartialEq, Eq)]
pub struct FirstRequest {
    pub method: &'static str,
    pub target: String,
    pub body: Vec<u8>,
    pub keep_alive: bool,
    /// Bytes that it takes.
    pub used: usize,
}

/// The first request of these pieces, or the code of the refusal; `None`: it is not whole.
#[must_use]
pub fn read_request<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Option<Result<FirstRequest, &'static str>> {
    let (mut parser, mut bytes) = (RequestParser::default(), Vec::new());
    for piece in pieces {
        bytes.extend_from_slice(piece);
        match parser.read(&bytes) {
            Ok(Progress::Complete(message)) => {
                return Some(Ok(FirstRequest {
                    method: message.method.name(),
                    target: message.target.to_owned(),
                    body: message.body.to_vec(),
                    keep_alive: message.keep_alive,
                    used: message.used,
                }));
            }
            Ok(Progress::Partial { .. }) => {}
            Err(problem) => return Some(Err(problem.code)),
        }
    }
    None
}
