//! Where messages are sent, and in which format: `[target.socket]`. Opens no connection.

use std::collections::BTreeMap;

use prost_reflect::MessageDescriptor;

use super::super::reader::{NodeReader, TableReader, read_pointer};
use super::super::target::BaseUrl;
use super::super::template::{Template, TemplateNames};
use super::super::value_match::{ValueMatch, ValuePath};
use super::MessagePayload;
use super::encoder::ProtobufEncoder;
use super::protobuf::{compile, resolve_path};
use crate::format::known_names;
use crate::limits::ENDPOINTS_MAX;

/// Where messages are sent.
#[derive(Clone, Debug, PartialEq)]
pub struct SocketTarget {
    /// The endpoints to which connections are opened, in turn.
    pub endpoints: Vec<MessageEndpoint>,
    pub format: MessageFormat,
    /// Where an error frame is marked as one.
    pub error_path: Option<ValuePath>,
}

/// An endpoint to which connections are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageEndpoint {
    /// Host and port.
    pub base: BaseUrl,
    pub framing: MessageFraming,
}

/// How frames are delimited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageFraming {
    /// Each is preceded by its length (protobuf's length-delimited messages).
    LengthDelimited,
    /// WebSocket (RFC 6455), requested at this path.
    WebSocket(Template),
}

/// How frames are written.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageFormat {
    Json,
    /// Protobuf, with the messages that are sent and received.
    Protobuf {
        send: MessageDescriptor,
        receive: MessageDescriptor,
    },
}

impl SocketTarget {
    /// Whether any of its endpoints uses TLS.
    pub(crate) fn uses_tls(&self) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.base.uses_tls)
    }

    pub(crate) fn read(at: &NodeReader<'_>, names: &TemplateNames, files: &BTreeMap<&str, &str>) -> Option<Self> {
        let endpoints = |at: &NodeReader<'_>| -> Option<Vec<MessageEndpoint>> {
            let endpoints = at.one_or_many().iter().map(|at| MessageEndpoint::read(at, names)).collect::<Vec<_>>();
            let endpoints: Vec<_> = endpoints.into_iter().collect::<Option<Vec<_>>>()?.concat();
            if endpoints.is_empty() || endpoints.len() > ENDPOINTS_MAX {
                let count = endpoints.len();
                at.add_error(format!("must lead to one place, or up to {ENDPOINTS_MAX}, not to {count}"));
            }
            Some(endpoints)
        };
        at.table(|fields| {
            let what = "where connections are opened to: one or several, tcp:// or ws://";
            let endpoints = fields.required("url", what, endpoints);
            let format = MessageFormat::read(fields, files);
            let error_path = fields.optional("error", |at| format.as_ref()?.read_frame_path(at));
            let format = format?;
            let is_framed = |endpoint: &MessageEndpoint| endpoint.framing == MessageFraming::LengthDelimited;
            if format == MessageFormat::Json && endpoints.iter().any(is_framed) {
                at.add_error("needs `proto` for tcp://: there, frames are protobuf with their length in front");
            }
            Some(Self { endpoints, format, error_path })
        })?
    }
}

impl MessageEndpoint {
    /// Reads `tcp://host:port`, `ws://host[:port]/path` or `wss://…`; a port may be a range, such as 4001-4053.
    fn read(at: &NodeReader<'_>, names: &TemplateNames) -> Option<Vec<Self>> {
        let text = at.text()?;
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        // Only the host is parsed here: the path may contain names of the run.
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let framing = match (scheme, path) {
            ("tcp", "") if authority.contains(':') => MessageFraming::LengthDelimited,
            ("tcp", _) => return at.reject("must be tcp:// with a host and a port, and nothing behind them"),
            ("ws" | "wss", "") => MessageFraming::WebSocket(Template::from_text("/".to_owned())),
            ("ws" | "wss", _) => {
                MessageFraming::WebSocket(Template::read(at, names)?.without_prefix(text.len() - path.len()))
            }
            _ => return at.reject(format!("must start with tcp://, ws:// or wss://, not \"{text}\"")),
        };
        let as_http = if scheme == "wss" { "https" } else { "http" };
        let endpoint = |authority: String| {
            let (base, _) = at.accept(BaseUrl::parse(&format!("{as_http}://{authority}")))?;
            Some(Self { base, framing: framing.clone() })
        };
        expand_ports(authority).into_iter().map(endpoint).collect()
    }
}

/// One host for each port of a range, if there is one.
fn expand_ports(authority: &str) -> Vec<String> {
    let range = authority.rsplit_once(':').and_then(|(host, ports)| {
        let (first, last) = ports.split_once('-')?;
        Some((host, first.parse::<u16>().ok()?..=last.parse::<u16>().ok()?))
    });
    match range {
        Some((host, ports)) => ports.map(|port| format!("{host}:{port}")).collect(),
        None => vec![authority.to_owned()],
    }
}

impl MessageFormat {
    fn read(fields: &TableReader<'_>, files: &BTreeMap<&str, &str>) -> Option<Self> {
        let (proto, send, receive) = (fields.get("proto"), fields.get("send"), fields.get("receive"));
        let Some(proto) = proto else {
            for at in [send, receive].into_iter().flatten() {
                at.add_error("names a message, but no `proto` says what it is made of");
            }
            return Some(Self::Json);
        };
        let list = proto.one_or_many();
        let names: Vec<String> = list.iter().filter_map(NodeReader::string).collect();
        for (at, name) in list.iter().zip(&names) {
            if !files.contains_key(name.as_str()) {
                return at.reject(format!("names \"{name}\", and there is no such file beside the scenario"));
            }
        }
        let pool = match compile(files, &names) {
            Ok(pool) => pool,
            Err((index, message)) => return list[index].reject(format!("is not right: {message}")),
        };
        let message = |at: Option<NodeReader<'_>>, key: &str, what: &str| {
            let Some(at) = at else { return fields.reader.reject(format!("needs `{key}`: {what}")) };
            let name = at.text()?;
            let message = pool.get_message_by_name(name);
            message.or_else(|| at.reject(format!("names \"{name}\", which is no message of {}", known_names(&names))))
        };
        let send = message(send, "send", "the message that every frame to the service is");
        let receive = message(receive, "receive", "the message that every frame from it is");
        Some(Self::Protobuf { send: send?, receive: receive? })
    }

    /// Reads a message that a step sends.
    pub(super) fn read_payload(&self, at: &NodeReader<'_>, names: &TemplateNames) -> Option<MessagePayload> {
        match self {
            Self::Json => Template::read_json(at, names).map(MessagePayload::Json),
            Self::Protobuf { send, .. } => ProtobufEncoder::read(at, send, names).map(MessagePayload::Protobuf),
        }
    }

    /// `"/refused"`, or `{ at = "/refused/code", is = "blocked" }`.
    pub(crate) fn read_frame_match(&self, at: &NodeReader<'_>) -> Option<ValueMatch> {
        if !at.is_table() {
            return self.read_frame_path(at).map(|path| ValueMatch { path, expected: None });
        }
        let what = "where the frame says it, such as \"/refused/code\"";
        ValueMatch::read(at, what, |at| self.read_frame_path(at))
    }

    /// Reads a path into a received frame.
    pub(crate) fn read_frame_path(&self, at: &NodeReader<'_>) -> Option<ValuePath> {
        let text = read_pointer(at)?;
        match self {
            Self::Json => Some(ValuePath { pointer: text, protobuf: None }),
            Self::Protobuf { receive, .. } => {
                let path = at.accept(resolve_path(receive, &text))?;
                Some(ValuePath { pointer: text, protobuf: Some(path) })
            }
        }
    }
}
