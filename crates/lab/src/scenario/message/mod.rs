//! Messages: what a step says over a connection that speaks in frames, and how the frame that answers it is told from
//! those that are pushed. One language for a whole target: texts of JSON, or protobuf by the files that the scenario
//! names. Refuses to know how a frame is wrapped, and what a service means by it.

mod encoder;
mod push;
mod schema;
mod socket;
mod way;

#[cfg(test)]
mod tests;

pub use encoder::Encoder;
pub(crate) use encoder::push_varint;
pub use push::{OTHER, Push};
pub use schema::Schema;
pub use socket::{Door, Grammar, Language, Socket};
pub use way::{Hop, Kind, Target, Way, Wire};

use super::denial::plain;
use super::document::Value;
use super::journey::{Keep, Source};
use super::reader::{At, Fields};
use super::template::{Names, Template};

/// A message and what answers it.
#[derive(Clone, Debug)]
pub struct Message {
    /// What is sent.
    pub says: Says,
    /// What the frames that may answer it say; without any nothing does, and the step is over once it is sent.
    pub answers: Vec<Said>,
    /// What the frames say that refuse it politely.
    pub denied: Vec<Said>,
    /// Where each kept value stands in the answer, in the order of the step's `keep`.
    pub keeps: Vec<Way>,
    /// Whether it counts the messages of its connection.
    pub is_numbered: bool,
}

/// What is sent.
#[derive(Clone, Debug)]
pub enum Says {
    /// A JSON document.
    Json(Template),
    /// A protobuf message.
    Protobuf(Encoder),
}

/// What a frame says, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Where.
    pub way: Way,
    /// What stands there; without it, that anything does.
    pub is: Option<serde_json::Value>,
}

/// What is known of the language of a target when steps are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known<'a> {
    /// It has none.
    Nothing,
    /// What is written of it has mistakes, which were noted.
    Unread,
    /// This one.
    Language(&'a Language),
}

impl<'a> Known<'a> {
    pub(crate) fn of(written: bool, socket: Option<&'a Socket>) -> Self {
        match socket {
            Some(socket) => Self::Language(&socket.language),
            None if written => Self::Unread,
            None => Self::Nothing,
        }
    }

    /// The language, for something that makes no sense without one.
    fn language(self, at: &At<'_>) -> Option<&'a Language> {
        match self {
            Self::Language(language) => Some(language),
            Self::Unread => None,
            Self::Nothing => {
                at.wrong("needs [target.socket]: where connections speak in frames, and in which language");
                None
            }
        }
    }
}

impl Message {
    /// Reads the keys of a step that are about its message.
    pub(super) fn read(
        fields: &Fields<'_>,
        known: Known<'_>,
        names: &Names,
        kept: Option<(&At<'_>, &[Keep])>,
    ) -> Option<Self> {
        let send = fields.take("send")?;
        let (answer, denied) = (fields.take("answer"), fields.take("denied"));
        let language = known.language(&send)?;
        let names = Names { numbered: true, ..names.clone() };
        let says = language.says(&send, &names);
        let said =
            |at: At<'_>| -> Option<Vec<Said>> { at.one_or_many().iter().map(|at| Said::read(at, language)).collect() };
        let (answers, denied) = (answer.map_or(Some(Vec::new()), said), denied.map_or(Some(Vec::new()), said));
        if let (Some((kept, _)), Some([])) = (kept, answers.as_deref()) {
            kept.wrong("needs `answer`: without one there is nothing to keep");
        }
        let keeps = kept.map_or_else(Vec::new, |(at, keep)| keeps_of(at, language, keep));
        let says = says?;
        let is_numbered = says.is_numbered();
        Some(Self { says, answers: answers?, denied: denied?, keeps, is_numbered })
    }

    /// The same message with templates bound.
    pub(super) fn bind(&self, bind: &dyn Fn(&Template) -> Template) -> Self {
        let says = match &self.says {
            Says::Json(template) => Says::Json(bind(template)),
            Says::Protobuf(encoder) => Says::Protobuf(encoder.bind(bind)),
        };
        Self { says, ..self.clone() }
    }

    /// Every template of it.
    pub(super) fn templates(&self) -> Vec<&Template> {
        match &self.says {
            Says::Json(template) => vec![template],
            Says::Protobuf(encoder) => encoder.templates(),
        }
    }
}

impl Says {
    fn is_numbered(&self) -> bool {
        match self {
            Self::Json(template) => template.is_numbered(),
            Self::Protobuf(encoder) => encoder.templates().into_iter().any(Template::is_numbered),
        }
    }
}

impl Said {
    /// The same where the language may not be known.
    pub(super) fn of(at: &At<'_>, known: Known<'_>) -> Option<Self> {
        Self::read(at, known.language(at)?)
    }

    /// `"/refused"`, or `{ at = "/refused/code", is = "blocked" }`.
    fn read(at: &At<'_>, language: &Language) -> Option<Self> {
        if !matches!(at.node.value, Value::Table(_)) {
            return language.way_at(at).map(|way| Self { way, is: None });
        }
        let fields = at.fields()?;
        let way = fields.need("at", "where the frame says it, such as \"/refused/code\"");
        let way = way.and_then(|at| language.way_at(&at));
        let is = fields.need("is", "what stands there then").and_then(|at| plain(&at));
        fields.close();
        Some(Self { way: way?, is: Some(is?) })
    }
}

/// Where the kept values stand. A header belongs to a request: a frame has none.
fn keeps_of(at: &At<'_>, language: &Language, keep: &[Keep]) -> Vec<Way> {
    let mut ways = Vec::with_capacity(keep.len());
    for (name, at) in at.named().unwrap_or_default() {
        match keep.iter().find(|keep| keep.name == name).map(|keep| &keep.from) {
            Some(Source::Json(_)) => ways.extend(language.way_at(&at)),
            Some(Source::Header(_)) => at.wrong("is kept of a header, but a frame has none: write a pointer"),
            // Its own mistake was noted when it was read.
            None => {}
        }
    }
    ways
}
