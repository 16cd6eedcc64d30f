//! What the response to a step means: which statuses are expected, which refuse politely, which values later steps use,
//! whether it is waited for, and what it must show of a sequence: nothing left out, nothing sent twice. Does not know
//! who was refused and why, and how long a wait may be: that is the step's `timeout`.

use http::HeaderName;

use super::reader::{NodeReader, check_template_name, read_pointer};
use super::tree::Value;

/// A value of a response that later steps use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepRule {
    pub name: String,
    pub source: ValueSource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueSource {
    /// A JSON pointer into the body (RFC 6901).
    Json(String),
    Header(HeaderName),
}

/// Expected statuses; an empty list stands for any 2xx.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedStatuses(pub Vec<u16>);

impl ExpectedStatuses {
    #[must_use]
    pub fn matches(&self, status: u16) -> bool {
        if self.0.is_empty() { (200..300).contains(&status) } else { self.0.contains(&status) }
    }
}

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

/// A request whose response is waited for. The time until it arrives says nothing about speed; its delay after the
/// event does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LongPoll {
    /// The pointer to the time of the event, in microseconds of Unix time.
    pub event_time: Option<String>,
    /// A pointer that exists only in responses that report an event; without it, all responses do.
    pub event_pointer: Option<String>,
}

/// What a response must show of a sequence that the journey follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceCheck {
    /// The kept value up to which the journey has seen everything. It never goes back.
    pub cursor: String,
    /// The list of new items, and the pointer to the number within each item: consecutive from the cursor on, and the
    /// last of them is the new cursor.
    pub items: Option<(String, String)>,
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

pub(super) fn read_keep_rules(at: &NodeReader<'_>) -> Vec<KeepRule> {
    let kept = |(name, at): (&str, NodeReader<'_>)| {
        check_template_name(&at, name);
        Some(KeepRule { name: name.to_owned(), source: read_value_source(&at)? })
    };
    at.named_entries().unwrap_or_default().into_iter().filter_map(kept).collect()
}

/// `"/pointer"`, or `{ header = "name" }`.
fn read_value_source(at: &NodeReader<'_>) -> Option<ValueSource> {
    if !matches!(at.node.value, Value::Table(_)) {
        return read_pointer(at).map(ValueSource::Json);
    }
    let fields = at.table()?;
    let header = fields.required("header", "the header that holds it, such as { header = \"location\" }");
    fields.reject_unknown_keys();
    let header = header?;
    let name = HeaderName::from_bytes(header.text()?.as_bytes()).ok();
    if name.is_none() {
        header.add_error("is not the name of a header");
    }
    name.map(ValueSource::Header)
}

impl LongPoll {
    /// `true`, or `{ since, event }`.
    pub(super) fn read(at: &NodeReader<'_>) -> Option<Self> {
        if !matches!(at.node.value, Value::Table(_)) {
            return at.bool()?.then(Self::default);
        }
        let fields = at.table()?;
        let since = fields.required("since", "where the answer says when it happened, in microseconds of Unix time");
        let since = since.and_then(|at| read_pointer(&at));
        let event = fields.optional("event").and_then(|at| read_pointer(&at));
        fields.reject_unknown_keys();
        Some(Self { event_time: Some(since?), event_pointer: event })
    }
}

impl SequenceCheck {
    /// `{ cursor, items, number }`.
    pub(super) fn read(at: &NodeReader<'_>, keep: &[KeepRule]) -> Option<Self> {
        let fields = at.table()?;
        let cursor_at = fields.required("cursor", "the kept value that says how far everything was seen");
        let cursor = cursor_at.as_ref().and_then(NodeReader::text);
        if let (Some(at), Some(cursor)) = (&cursor_at, cursor)
            && !keep.iter().any(|keep| keep.name == cursor)
        {
            at.add_error(format!("needs the new one of every answer: keep = {{ {cursor} = \"/seq\" }}"));
        }
        let items = fields.optional("items").and_then(|at| read_pointer(&at));
        let number = fields.optional("number").and_then(|at| read_pointer(&at));
        if fields.has("items") != fields.has("number") {
            at.add_error("needs `items` and `number` together: the list, and where in each item its number stands");
        }
        fields.reject_unknown_keys();
        Some(Self { cursor: cursor?.to_owned(), items: items.zip(number) })
    }
}
