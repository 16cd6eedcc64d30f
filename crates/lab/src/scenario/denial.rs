//! Denials: which responses refuse a request politely instead of failing. Does not know who was refused, and why.

use super::document::Value;
use super::reader::{NodeReader, read_pointer};

/// What a denial looks like: its status, or its body where a service refuses with a success status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Denial {
    pub statuses: Vec<u16>,
    /// What the body of an expected response contains if it is a denial.
    pub body: Option<JsonMatch>,
}

/// A value expected at a JSON pointer.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonMatch {
    /// A JSON pointer (RFC 6901).
    pub pointer: String,
    pub expected: serde_json::Value,
}

impl Denial {
    /// `429`, `[429, 503]`, or `{ at = "/allowed", is = false }`.
    pub(super) fn read(at: &NodeReader<'_>) -> Self {
        if !matches!(at.node.value, Value::Table(_)) {
            return Self { statuses: read_statuses(at), body: None };
        }
        Self { statuses: Vec::new(), body: JsonMatch::read(at) }
    }

    /// Whether no response is a denial.
    #[must_use]
    pub fn is_never(&self) -> bool {
        self.statuses.is_empty() && self.body.is_none()
    }
}

impl JsonMatch {
    pub(super) fn read(at: &NodeReader<'_>) -> Option<Self> {
        let fields = at.table()?;
        let index =
            fields.required("at", "where the body says it, such as \"/allowed\"").and_then(|at| read_pointer(&at));
        let is = fields.required("is", "what stands there then").and_then(|at| read_comparable(&at));
        fields.reject_unknown_keys();
        Some(Self { pointer: index?, expected: is? })
    }
}

/// Reads a value that all readers compare alike: `1` and `1.0` are the same number to some and not to others.
pub(super) fn read_comparable(at: &NodeReader<'_>) -> Option<serde_json::Value> {
    match &at.node.value {
        Value::Bool(flag) => Some((*flag).into()),
        Value::Int(number) => Some((*number).into()),
        Value::Text(text) => Some(text.clone().into()),
        Value::Float(_) | Value::Array(_) | Value::Table(_) => {
            at.add_error("must be true, false, a whole number or a text");
            None
        }
    }
}

pub(super) fn read_statuses(at: &NodeReader<'_>) -> Vec<u16> {
    at.one_or_many().iter().filter_map(|at| at.int(100..=599)).map(|status| status as u16).collect()
}
