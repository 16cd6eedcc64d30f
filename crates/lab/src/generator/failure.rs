//! Why a request failed: a kind for grouping and a message for people. Does not know where it happened.

use crate::limits::SAMPLE_CHARS_MAX;
use crate::measurement::ErrorKind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: ErrorKind,
    pub message: String,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// The beginning of a body, on one line.
pub(crate) fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SAMPLE_CHARS_MAX * 4)]);
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.as_str() {
        "" => "(empty body)".to_owned(),
        line => line.chars().take(SAMPLE_CHARS_MAX).collect(),
    }
}
