//! What the response to a step means: which statuses are expected, which refuse politely, which values later steps use,
//! whether it is waited for, and what it must show of a sequence: nothing left out, nothing sent twice. Does not know
//! who was refused and why, and how long a wait may be: that is the step's `timeout`.

use http::HeaderName;

use super::message::FormatStatus;
use super::reader::{NodeReader, check_template_name, read_pointer};
use super::value_match::{ValueMatch, ValuePath};

/// A value of a response that later steps use.
#[derive(Clone, Debug, PartialEq)]
pub struct KeepRule {
    pub name: String,
    pub source: ValueSource,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ValueSource {
    /// Where the body has it, or the frame.
    Content(ValuePath),
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

/// What a denial looks like: its status, or its content where a service refuses with a success status or in a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Denial {
    pub statuses: Vec<u16>,
    /// What the body of an expected response contains if it is a denial, or a frame.
    pub matches: Vec<ValueMatch>,
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
    /// `429`, `[429, 503]`, or `{ at = "/allowed", is = false }`; if `frames` says how frames are written, one condition
    /// on a frame or several.
    pub(super) fn read(at: &NodeReader<'_>, frames: Option<FormatStatus<'_>>) -> Self {
        match frames {
            Some(FormatStatus::Known(format)) => {
                let matches = at.one_or_many().iter().filter_map(|at| format.read_frame_match(at)).collect();
                Self { statuses: Vec::new(), matches }
            }
            // Its own error was added where the message is read.
            Some(FormatStatus::Absent | FormatStatus::Invalid) => Self::default(),
            None if at.is_table() => {
                Self { statuses: Vec::new(), matches: ValueMatch::read_json(at).into_iter().collect() }
            }
            None => Self { statuses: read_statuses(at), matches: Vec::new() },
        }
    }

    /// Whether no response is a denial.
    #[must_use]
    pub fn is_never(&self) -> bool {
        self.statuses.is_empty() && self.matches.is_empty()
    }
}

pub(super) fn read_statuses(at: &NodeReader<'_>) -> Vec<u16> {
    at.one_or_many().iter().filter_map(|at| at.int(100..=599)).map(|status| status as u16).collect()
}

/// Reads what is kept of a response, or of a frame if `frames` says how those are written.
pub(super) fn read_keep_rules(at: &NodeReader<'_>, frames: Option<FormatStatus<'_>>) -> Vec<KeepRule> {
    at.entries(|name, at| {
        check_template_name(at, name);
        Some(KeepRule { name: name.to_owned(), source: read_value_source(at, frames)? })
    })
}

/// `"/pointer"`, or `{ header = "name" }`. A header belongs to a request: a frame has none.
fn read_value_source(at: &NodeReader<'_>, frames: Option<FormatStatus<'_>>) -> Option<ValueSource> {
    if at.is_table() {
        let what = "the header that holds it, such as { header = \"location\" }";
        let header =
            at.table(|fields| fields.required("header", what, |at| Some(read_header_name(at, at.text()?))))??;
        return match frames {
            None => Some(ValueSource::Header(header)),
            Some(_) => at.reject("is kept of a header, but a frame has none: write a pointer"),
        };
    }
    let path = match frames {
        Some(FormatStatus::Known(format)) => format.read_frame_path(at)?,
        _ => ValuePath { pointer: read_pointer(at)?, protobuf: None },
    };
    Some(ValueSource::Content(path))
}

pub(super) fn read_header_name(at: &NodeReader<'_>, name: &str) -> Option<HeaderName> {
    HeaderName::from_bytes(name.as_bytes()).ok().or_else(|| at.reject("is not the name of a header"))
}

impl LongPoll {
    /// `true`, or `{ since, event }`.
    pub(super) fn read(at: &NodeReader<'_>) -> Option<Self> {
        if !at.is_table() {
            return at.bool()?.then(Self::default);
        }
        let since = "where the answer says when it happened, in microseconds of Unix time";
        at.table(|fields| Self {
            event_time: fields.required("since", since, |at| read_pointer(at).map(Some)),
            event_pointer: fields.optional("event", read_pointer),
        })
    }
}

impl SequenceCheck {
    /// `{ cursor, items, number }`.
    pub(super) fn read(at: &NodeReader<'_>, keep: &[KeepRule]) -> Option<Self> {
        at.table(|fields| {
            let cursor = fields.required("cursor", "the kept value that says how far everything was seen", |at| {
                let cursor = at.string()?;
                if !keep.iter().any(|keep| keep.name == cursor) {
                    at.add_error(format!("needs the new one of every answer: keep = {{ {cursor} = \"/seq\" }}"));
                }
                Some(cursor)
            });
            let items = fields.optional("items", read_pointer);
            let number = fields.optional("number", read_pointer);
            if fields.has("items") != fields.has("number") {
                at.add_error("needs `items` and `number` together: the list, and where in each item its number stands");
            }
            Self { cursor, items: items.zip(number) }
        })
    }
}
