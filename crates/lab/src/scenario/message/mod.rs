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
pub use socket::{MessageEndpoint, MessageFormat, MessageFraming, SocketTarget};

use super::reader::{NodeReader, TableReader, read_name};
use super::template::{Template, TemplateNames};
use super::value_match::{ValueMatch, ValuePath};

/// A message and what answers it.
#[derive(Clone, Debug)]
pub struct Message {
    pub payload: MessagePayload,
    /// What a frame must contain to be the response; if empty, there is no response, and the step is over once the
    /// message is sent.
    pub answer_matches: Vec<ValueMatch>,
    /// Whether it uses the message number of its connection.
    pub is_numbered: bool,
}

/// What is sent.
#[derive(Clone, Debug)]
pub enum MessagePayload {
    Json(Template),
    Protobuf(ProtobufEncoder),
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
            Self::Known(format) => Some(format),
            Self::Invalid => None,
            Self::Absent => {
                at.reject("needs [target.socket]: where connections speak in frames, and in which language")
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
        kept: Option<&NodeReader<'_>>,
    ) -> Option<Self> {
        let send = fields.get("send")?;
        let answer = fields.get("answer");
        let format = known.require(&send)?;
        let names = TemplateNames { has_message_number: true, ..names.clone() };
        let payload = format.read_payload(&send, &names);
        let answers = answer.iter().flat_map(NodeReader::one_or_many);
        let answer_matches: Option<Vec<_>> = answers.map(|at| format.read_frame_match(&at)).collect();
        if let (Some(kept), Some([])) = (kept, answer_matches.as_deref()) {
            kept.add_error("needs `answer`: without one there is nothing to keep");
        }
        let (mut payload, mut is_numbered) = (payload?, false);
        payload.visit_templates(&mut |template| is_numbered |= template.uses_message_number());
        Some(Self { payload, answer_matches: answer_matches?, is_numbered })
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

/// Reads a condition on a frame, whose format may be unknown.
pub(super) fn read_frame_match(at: &NodeReader<'_>, known: FormatStatus<'_>) -> Option<ValueMatch> {
    known.require(at)?.read_frame_match(at)
}

/// A kind of pushed frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Push {
    /// Its name; figures are found under it.
    pub name: String,
    /// What such a frame contains.
    pub path: ValuePath,
    /// Where the frame has the time of its event, in microseconds of Unix time.
    pub event_time: Option<ValuePath>,
}

/// The name under which frames are counted that match no other name and answer no message.
pub const OTHER_PUSH: &str = "other";

impl Push {
    pub(crate) fn read(at: &NodeReader<'_>, known: FormatStatus<'_>) -> Option<Self> {
        let format = known.require(at)?;
        let path = |at: &NodeReader<'_>| format.read_frame_path(at);
        let name = |at: &NodeReader<'_>| {
            let name = read_name(at)?;
            if name == OTHER_PUSH {
                at.add_error(format!("must be called otherwise: `{OTHER_PUSH}` are the frames that have no name"));
            }
            Some(name)
        };
        at.table(|fields| Self {
            name: fields.required("name", "its figures are found under it", name),
            path: fields.required("at", "what such a frame holds, such as \"/view\"", path),
            event_time: fields.optional("since", path),
        })
    }
}
