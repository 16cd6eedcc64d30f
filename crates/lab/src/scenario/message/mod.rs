//! Messages: what a step sends over a connection that carries frames, and how the frame that answers it is told from
//! pushed ones. One message format per target: JSON texts, or protobuf by the files that the scenario names. Does not
//! know how a frame is wrapped, and what a message means to the service.

mod encoder;
mod protobuf;
mod socket;

#[cfg(test)]
mod tests;

pub use encoder::ProtobufEncoder;
pub(crate) use prost_reflect::prost::encoding::{WireType, encode_varint};
pub use protobuf::{FramePath, PathSegment, ProtobufPath};
pub use socket::{MessageEndpoint, MessageFormat, MessageFraming, SocketTarget};

use super::reader::{NodeReader, TableReader, read_name};
use super::response::{KeepRule, ValueSource, read_comparable};
use super::template::{Template, TemplateNames};
use super::tree::Value;

/// A message and what answers it.
#[derive(Clone, Debug)]
pub struct Message {
    pub payload: MessagePayload,
    /// What a frame must contain to be the response; if empty, there is no response, and the step is over once the
    /// message is sent.
    pub answer_matches: Vec<FrameMatch>,
    /// What a frame contains that denies the message politely.
    pub denied: Vec<FrameMatch>,
    /// Where each kept value is in the response, in the order of the step's `keep`.
    pub kept_paths: Vec<FramePath>,
    /// Whether it uses the message number of its connection.
    pub is_numbered: bool,
}

/// What is sent.
#[derive(Clone, Debug)]
pub enum MessagePayload {
    Json(Template),
    Protobuf(ProtobufEncoder),
}

/// A condition on a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameMatch {
    pub path: FramePath,
    /// The expected value; without one, any value matches.
    pub expected: Option<serde_json::Value>,
}

/// What is known of a target's message format when steps are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FormatStatus<'a> {
    /// The target has none.
    Absent,
    /// It has errors, which were already added.
    Invalid,
    Known(&'a MessageFormat),
}

impl<'a> FormatStatus<'a> {
    pub(crate) fn from_socket(written: bool, socket: Option<&'a SocketTarget>) -> Self {
        match socket {
            Some(socket) => Self::Known(&socket.format),
            None if written => Self::Invalid,
            None => Self::Absent,
        }
    }

    /// The format, for a value that makes no sense without one.
    fn require(self, at: &NodeReader<'_>) -> Option<&'a MessageFormat> {
        match self {
            Self::Known(language) => Some(language),
            Self::Invalid => None,
            Self::Absent => {
                at.add_error("needs [target.socket]: where connections speak in frames, and in which language");
                None
            }
        }
    }
}

impl Message {
    /// Reads the keys of a step that concern its message.
    pub(super) fn read(
        fields: &TableReader<'_>,
        known: FormatStatus<'_>,
        names: &TemplateNames,
        kept: Option<(&NodeReader<'_>, &[KeepRule])>,
    ) -> Option<Self> {
        let send = fields.optional("send")?;
        let (answer, denied) = (fields.optional("answer"), fields.optional("denied"));
        let language = known.require(&send)?;
        let names = TemplateNames { has_message_number: true, ..names.clone() };
        let says = language.read_payload(&send, &names);
        let said = |at: NodeReader<'_>| -> Option<Vec<FrameMatch>> {
            at.one_or_many().iter().map(|at| FrameMatch::read(at, language)).collect()
        };
        let (answers, denied) = (answer.map_or(Some(Vec::new()), said), denied.map_or(Some(Vec::new()), said));
        if let (Some((kept, _)), Some([])) = (kept, answers.as_deref()) {
            kept.add_error("needs `answer`: without one there is nothing to keep");
        }
        let keeps = kept.map_or_else(Vec::new, |(at, keep)| kept_paths(at, language, keep));
        let (mut payload, mut is_numbered) = (says?, false);
        payload.visit_templates(&mut |template| is_numbered |= template.uses_message_number());
        Some(Self { payload, answer_matches: answers?, denied: denied?, kept_paths: keeps, is_numbered })
    }
}

impl MessagePayload {
    pub(super) fn visit_templates(&mut self, visit: &mut dyn FnMut(&mut Template)) {
        match self {
            Self::Json(template) => visit(template),
            Self::Protobuf(encoder) => encoder.visit_templates(visit),
        }
    }
}

impl FrameMatch {
    /// The same if the format may be unknown.
    pub(super) fn read_known(at: &NodeReader<'_>, known: FormatStatus<'_>) -> Option<Self> {
        Self::read(at, known.require(at)?)
    }

    /// `"/refused"`, or `{ at = "/refused/code", is = "blocked" }`.
    fn read(at: &NodeReader<'_>, language: &MessageFormat) -> Option<Self> {
        if !matches!(at.node.value, Value::Table(_)) {
            return language.read_frame_path(at).map(|way| Self { path: way, expected: None });
        }
        let fields = at.table()?;
        let way = fields.required("at", "where the frame says it, such as \"/refused/code\"");
        let way = way.and_then(|at| language.read_frame_path(&at));
        let is = fields.required("is", "what stands there then").and_then(|at| read_comparable(&at));
        fields.reject_unknown_keys();
        Some(Self { path: way?, expected: Some(is?) })
    }
}

/// Where the kept values are. A header belongs to a request: a frame has none.
fn kept_paths(at: &NodeReader<'_>, language: &MessageFormat, keep: &[KeepRule]) -> Vec<FramePath> {
    let mut ways = Vec::with_capacity(keep.len());
    for (name, at) in at.named_entries().unwrap_or_default() {
        match keep.iter().find(|keep| keep.name == name).map(|keep| &keep.source) {
            Some(ValueSource::Json(_)) => ways.extend(language.read_frame_path(&at)),
            Some(ValueSource::Header(_)) => at.add_error("is kept of a header, but a frame has none: write a pointer"),
            // Its own error was added when it was read.
            None => {}
        }
    }
    ways
}

/// A kind of pushed frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Push {
    /// Its name; figures are found under it.
    pub name: String,
    /// What such a frame contains.
    pub path: FramePath,
    /// Where the frame has the time of its event, in microseconds of Unix time.
    pub event_time: Option<FramePath>,
}

/// The name under which frames are counted that match no other name and answer no message.
pub const OTHER_PUSH: &str = "other";

impl Push {
    pub(crate) fn read(at: &NodeReader<'_>, known: FormatStatus<'_>) -> Option<Self> {
        let language = known.require(at)?;
        let fields = at.table()?;
        let name_at = fields.required("name", "its figures are found under it");
        let name = name_at.as_ref().and_then(read_name);
        if let (Some(at), Some(OTHER_PUSH)) = (&name_at, name.as_deref()) {
            at.add_error(format!("must be called otherwise: `{OTHER_PUSH}` are the frames that have no name"));
        }
        let holds = fields.required("at", "what such a frame holds, such as \"/view\"");
        let holds = holds.and_then(|at| language.read_frame_path(&at));
        let since = fields.optional("since").map(|at| language.read_frame_path(&at));
        fields.reject_unknown_keys();
        Some(Self { name: name?, path: holds?, event_time: since.map_or(Some(None), |way| way.map(Some))? })
    }
}
