//! Steps that wait: requests that the target answers when something has happened, and what their answers must show:
//! nothing left out, nothing said twice. Refuses to know how long a wait may be: that is the step's `timeout`.

use super::document::Value;
use super::journey::Keep;
use super::reader::{At, pointer_of};

/// A request whose answer is waited for. The time until it comes says nothing about speed; how late it came after what
/// it tells of does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Where the answer says when that happened, in microseconds of Unix time.
    pub since: Option<String>,
    /// Where something stands only in answers that tell of something; without it all do.
    pub news: Option<String>,
}

/// What an answer must show of a sequence that the journey follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follows {
    /// The kept value up to which the journey has seen everything. It never goes back.
    pub cursor: String,
    /// The list of what came since, and where in each item its number stands: one by one from the cursor on, and the
    /// last of them is the new cursor.
    pub items: Option<(String, String)>,
}

impl Waits {
    /// `true`, or `{ since, news }`.
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        if !matches!(at.node.value, Value::Table(_)) {
            return at.flag()?.then(Self::default);
        }
        let fields = at.fields()?;
        let since = fields.need("since", "where the answer says when it happened, in microseconds of Unix time");
        let since = since.and_then(|at| pointer_of(&at));
        let news = fields.take("news").and_then(|at| pointer_of(&at));
        fields.close();
        Some(Self { since: Some(since?), news })
    }
}

impl Follows {
    /// `{ cursor, items, number }`.
    pub(super) fn read(at: &At<'_>, keep: &[Keep]) -> Option<Self> {
        let fields = at.fields()?;
        let cursor_at = fields.need("cursor", "the kept value that says how far everything was seen");
        let cursor = cursor_at.as_ref().and_then(At::text);
        if let (Some(at), Some(cursor)) = (&cursor_at, cursor)
            && !keep.iter().any(|keep| keep.name == cursor)
        {
            at.wrong(format!("needs the new one of every answer: keep = {{ {cursor} = \"/seq\" }}"));
        }
        let items = fields.take("items").and_then(|at| pointer_of(&at));
        let number = fields.take("number").and_then(|at| pointer_of(&at));
        if fields.has("items") != fields.has("number") {
            at.wrong("needs `items` and `number` together: the list, and where in each item its number stands");
        }
        fields.close();
        Some(Self { cursor: cursor?.to_owned(), items: items.zip(number) })
    }
}
