//! What is known of a span once it has ended, and where and when spans are.

use crate::context::TraceContext;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    Internal,
    /// A request that this process answers.
    Server,
    /// A request that it makes.
    Client,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    Text(String),
    Number(i64),
    Bool(bool),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for AttributeValue {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for AttributeValue {
    fn from(is_so: bool) -> Self {
        Self::Bool(is_so)
    }
}

pub(crate) type Attribute = (&'static str, AttributeValue);

/// Where a span is in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpanPosition {
    pub(crate) trace_id: u128,
    pub(crate) span_id: u64,
    pub(crate) parent_id: Option<u64>,
    /// Whether the parent is of another process.
    pub(crate) has_remote_parent: bool,
}

impl SpanPosition {
    pub(crate) fn context(self, is_sampled: bool) -> TraceContext {
        TraceContext { trace_id: self.trace_id, span_id: self.span_id, is_sampled }
    }
}

/// When something began, on both clocks: its length is not changed by a clock that is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    unix_ns: u64,
    at: Instant,
}

impl Beginning {
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX), at: Instant::now() }
    }

    /// When it began and when it ends, if that is now; in nanoseconds since 1970.
    pub(crate) fn until_now(self) -> (u64, u64) {
        let took_ns = u64::try_from(self.at.elapsed().as_nanos()).unwrap_or(u64::MAX);
        (self.unix_ns, self.unix_ns.saturating_add(took_ns))
    }
}

/// A span that has ended.
#[derive(Debug)]
pub(crate) struct SpanRecord {
    pub(crate) position: SpanPosition,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    pub(crate) began_unix_ns: u64,
    pub(crate) ended_unix_ns: u64,
    pub(crate) attributes: Vec<Attribute>,
    /// What failed, if it did.
    pub(crate) failure: Option<String>,
}
