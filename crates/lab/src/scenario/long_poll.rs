//! Long polls: requests that the target answers when an event has happened, and what their responses must show: nothing
//! left out, nothing sent twice. Does not know how long a wait may be: that is the step's `timeout`.

use super::document::Value;
use super::reader::{NodeReader, read_pointer};
use super::step::KeepRule;

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
