//! Polite refusals: which answers say "not now" instead of going wrong. Refuses to know who asked, and why not.

use super::document::Value;
use super::reader::{At, pointer_of};

/// What a denial looks like: by its status, or, where a service refuses with the status of success, by its body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Denial {
    /// Statuses that deny.
    pub statuses: Vec<u16>,
    /// What the body of an expected answer says when it denies.
    pub body: Option<Word>,
}

/// A value at a place of a JSON document.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// A JSON pointer (RFC 6901).
    pub at: String,
    /// What stands there.
    pub is: serde_json::Value,
}

impl Denial {
    /// `429`, `[429, 503]`, or `{ at = "/allowed", is = false }`.
    pub(super) fn read(at: &At<'_>) -> Self {
        if !matches!(at.node.value, Value::Table(_)) {
            return Self { statuses: statuses_of(at), body: None };
        }
        Self { statuses: Vec::new(), body: Word::read(at) }
    }

    /// Whether nothing is one.
    #[must_use]
    pub fn is_never(&self) -> bool {
        self.statuses.is_empty() && self.body.is_none()
    }
}

impl Word {
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        let fields = at.fields()?;
        let place = fields.need("at", "where the body says it, such as \"/allowed\"").and_then(|at| pointer_of(&at));
        let is = fields.need("is", "what stands there then").and_then(|at| plain(&at));
        fields.close();
        Some(Self { at: place?, is: is? })
    }
}

/// A value that can be compared without doubt: `1` and `1.0` are the same number to some readers, and not to others.
pub(super) fn plain(at: &At<'_>) -> Option<serde_json::Value> {
    match &at.node.value {
        Value::Flag(flag) => Some((*flag).into()),
        Value::Int(number) => Some((*number).into()),
        Value::Text(text) => Some(text.clone().into()),
        Value::Float(_) | Value::List(_) | Value::Table(_) => {
            at.wrong("must be true, false, a whole number or a text");
            None
        }
    }
}

/// One status or several.
pub(super) fn statuses_of(at: &At<'_>) -> Vec<u16> {
    at.one_or_many().iter().filter_map(|at| at.int(100..=599)).map(|status| status as u16).collect()
}
