//! Polite refusals: which answers say "not now" instead of going wrong. Refuses to know who asked, and why not.

use super::document::Value;
use super::reader::{NodeReader, read_pointer};

/// What a denial looks like: by its status, or, where a service refuses with the status of success, by its body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Denial {
    /// Statuses that deny.
    pub statuses: Vec<u16>,
    /// What the body of an expected answer says when it denies.
    pub body: Option<JsonMatch>,
}

/// A value at a place of a JSON document.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonMatch {
    /// A JSON pointer (RFC 6901).
    pub pointer: String,
    /// What stands there.
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

    /// Whether nothing is one.
    #[must_use]
    pub fn is_never(&self) -> bool {
        self.statuses.is_empty() && self.body.is_none()
    }
}

impl JsonMatch {
    pub(super) fn read(at: &NodeReader<'_>) -> Option<Self> {
        let fields = at.table()?;
        let place =
            fields.required("at", "where the body says it, such as \"/allowed\"").and_then(|at| read_pointer(&at));
        let is = fields.required("is", "what stands there then").and_then(|at| read_comparable(&at));
        fields.reject_unknown_keys();
        Some(Self { pointer: place?, expected: is? })
    }
}

/// A value that can be compared without doubt: `1` and `1.0` are the same number to some readers, and not to others.
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

/// One status or several.
pub(super) fn read_statuses(at: &NodeReader<'_>) -> Vec<u16> {
    at.one_or_many().iter().filter_map(|at| at.int(100..=599)).map(|status| status as u16).collect()
}
