//! Where messages go, and in which language: `[target.socket]`. Refuses to open a connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::reader::{At, Fields, pointer_of};
use super::super::target::Base;
use super::super::template::{Names, Template};
use super::Says;
use super::encoder::Encoder;
use super::schema::{Schema, compile};
use super::way::Way;
use crate::limits::ENDPOINTS_MAX;
use crate::report::words::known_names;

/// Where messages go.
#[derive(Clone, Debug, PartialEq)]
pub struct Socket {
    /// The places that connections are opened to, in turn.
    pub doors: Vec<Door>,
    /// What is spoken there.
    pub language: Language,
    /// What a frame holds that says that something is wrong.
    pub error: Option<Way>,
}

/// A place that connections are opened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Door {
    /// Host and port.
    pub base: Base,
    /// How frames are told apart there.
    pub grammar: Grammar,
}

/// How frames are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// Each has its length in front of it (protobuf's length-delimited messages).
    Lengths,
    /// WebSocketDecoder (RFC 6455), asked for at this path.
    WebSocketDecoder(Template),
}

/// What frames are written in.
#[derive(Clone, Debug, PartialEq)]
pub enum Language {
    /// Texts of JSON.
    Json,
    /// Protobuf: the messages that are sent and received.
    Protobuf {
        /// All messages.
        schema: Arc<Schema>,
        /// What is sent, by its place.
        send: usize,
        /// What is received, by its place.
        receive: usize,
    },
}

impl Socket {
    /// Whether any of its doors speaks TLS.
    pub(crate) fn speaks_tls(&self) -> bool {
        self.doors.iter().any(|door| door.base.tls)
    }

    pub(crate) fn read(at: &At<'_>, names: &Names, files: &BTreeMap<String, String>) -> Option<Self> {
        let fields = at.fields()?;
        let urls = fields.need("url", "where connections are opened to: one or several, tcp:// or ws://");
        let written = urls.as_ref().map(At::one_or_many).unwrap_or_default();
        let doors: Option<Vec<Vec<Door>>> = written.iter().map(|at| Door::read(at, names)).collect();
        let language = Language::read(&fields, files);
        let error = fields.take("error");
        let error = error.and_then(|at| language.as_ref()?.way_at(&at));
        fields.close();
        let (doors, language, urls): (Vec<Door>, _, _) = (doors?.into_iter().flatten().collect(), language?, urls?);
        if doors.is_empty() || doors.len() > ENDPOINTS_MAX {
            urls.wrong(format!("must lead to one place, or up to {ENDPOINTS_MAX}, not to {}", doors.len()));
        }
        if language == Language::Json && doors.iter().any(|door| door.grammar == Grammar::Lengths) {
            at.wrong("needs `proto` for tcp://: there, frames are protobuf with their length in front");
        }
        Some(Self { doors, language, error })
    }
}

impl Door {
    /// Reads `tcp://host:port`, `ws://host[:port]/path` or `wss://…`; a port may be a range, such as 4001-4053.
    fn read(at: &At<'_>, names: &Names) -> Option<Vec<Self>> {
        let text = at.text()?;
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        // Only the host is read as one: the path may have names of the run in it.
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let grammar = match (scheme, path) {
            ("tcp", "") if authority.contains(':') => Grammar::Lengths,
            ("tcp", _) => {
                at.wrong("must be tcp:// with a host and a port, and nothing behind them");
                return None;
            }
            ("ws" | "wss", "") => Grammar::WebSocketDecoder(Template::plain("/".to_owned())),
            ("ws" | "wss", _) => {
                Grammar::WebSocketDecoder(Template::read(at, names)?.without_prefix(text.len() - path.len()))
            }
            _ => {
                at.wrong(format!("must start with tcp://, ws:// or wss://, not \"{text}\""));
                return None;
            }
        };
        let as_http = if scheme == "wss" { "https" } else { "http" };
        let door = |authority: String| match Base::parse(&format!("{as_http}://{authority}")) {
            Ok((base, _)) => Some(Self { base, grammar: grammar.clone() }),
            Err(message) => {
                at.wrong(message);
                None
            }
        };
        authorities(authority).into_iter().map(door).collect()
    }
}

/// One host at each port of a range, where there is one.
fn authorities(authority: &str) -> Vec<String> {
    let range = authority.rsplit_once(':').and_then(|(host, ports)| {
        let (first, last) = ports.split_once('-')?;
        Some((host, first.parse::<u16>().ok()?..=last.parse::<u16>().ok()?))
    });
    match range {
        Some((host, ports)) => ports.map(|port| format!("{host}:{port}")).collect(),
        None => vec![authority.to_owned()],
    }
}

impl Language {
    fn read(fields: &Fields<'_>, files: &BTreeMap<String, String>) -> Option<Self> {
        let (proto, send, receive) = (fields.take("proto"), fields.take("send"), fields.take("receive"));
        let Some(proto) = proto else {
            for at in [send, receive].into_iter().flatten() {
                at.wrong("names a message, but no `proto` says what it is made of");
            }
            return Some(Self::Json);
        };
        let list = proto.one_or_many();
        let names: Vec<String> = list.iter().filter_map(At::text).map(str::to_owned).collect();
        for (at, name) in list.iter().zip(&names) {
            if !files.contains_key(name) {
                at.wrong(format!("names \"{name}\", and there is no such file beside the scenario"));
                return None;
            }
        }
        let pool = match compile(files, &names) {
            Ok(pool) => pool,
            Err((place, message)) => {
                list[place].wrong(format!("is not right: {message}"));
                return None;
            }
        };
        let mut schema = Schema::default();
        let mut root = |at: Option<At<'_>>, key: &str, what: &str| {
            let Some(at) = at else {
                fields.at.wrong(format!("needs `{key}`: {what}"));
                return None;
            };
            let name = at.text()?;
            let Some(message) = pool.get_message_by_name(name) else {
                at.wrong(format!("names \"{name}\", which is no message of {}", known_names(&names)));
                return None;
            };
            Some(schema.add(&message))
        };
        let send = root(send, "send", "the message that every frame to the service is");
        let receive = root(receive, "receive", "the message that every frame from it is");
        let (send, receive) = (send?, receive?);
        Some(Self::Protobuf { schema: Arc::new(schema), send, receive })
    }

    /// A message that a step sends.
    pub(super) fn says(&self, at: &At<'_>, names: &Names) -> Option<Says> {
        match self {
            Self::Json => Template::read_json(at, names).map(Says::Json),
            Self::Protobuf { schema, send, .. } => Encoder::read(at, schema, *send, names).map(Says::Protobuf),
        }
    }

    /// A place in a frame that comes.
    pub(super) fn way_at(&self, at: &At<'_>) -> Option<Way> {
        let text = pointer_of(at)?;
        match self {
            Self::Json => Some(Way { text, fields: None }),
            Self::Protobuf { schema, receive, .. } => match schema.target(*receive, &text) {
                Ok(target) => Some(Way { text, fields: Some(target) }),
                Err(message) => {
                    at.wrong(message);
                    None
                }
            },
        }
    }
}
