//! A target that speaks in frames: length-delimited over TCP, or over WebSockets of a library that is not the lab's.
//! Its messages are encoded and decoded by another library as well, to check the lab's own encoding against it.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage as _, Value};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

pub(crate) const PROTO: &str = r#"
syntax = "proto3";
package spoken;
message Say { oneof what { Hello hello = 1; Move move = 2; Leave leave = 3; } }
message Hello { string name = 1; repeated uint32 versions = 2; }
message Move { uint32 seq = 1; Step step = 2; sint32 by = 3; fixed64 key = 4; }
message Leave {}
enum Step { STAY = 0; NORTH = 1; SOUTH = 2; }
message Heard { oneof what { Welcome welcome = 1; Moved moved = 2; Refused refused = 3; View view = 4; Error error = 5; Tick tick = 6; } }
message Welcome { uint32 id = 1; repeated Place places = 2; }
message Place { string name = 1; }
message Moved { uint32 seq = 1; int64 x = 2; Step step = 3; }
message Refused { uint32 seq = 1; string code = 2; }
message View { int64 at_us = 1; bytes filler = 2; }
message Error { string code = 1; }
message Tick {}
"#;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestFraming {
    LengthDelimited,
    Binary,
    Text,
}

/// The reaction to a message.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A frame of the message `ReceivedMessage`, as JSON.
    Frame(serde_json::Value),
    /// A text in two fragments with a ping in between, whose pong is awaited (WebSocket).
    Pieces(&'static str),
    /// Raw bytes (length-delimited).
    Raw(Vec<u8>),
    Close,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReceivedMessage {
    pub(crate) connection: u64,
    /// As JSON, with the names of the schema.
    pub(crate) message: serde_json::Value,
}

#[derive(Debug, Default)]
struct MessageLog {
    received: Mutex<Vec<ReceivedMessage>>,
    /// For each connection, whether it was closed in order.
    ended: Mutex<BTreeMap<u64, bool>>,
    changed: Condvar,
}

#[derive(Debug)]
pub(crate) struct MessageServer {
    pub(crate) address: SocketAddr,
    log: Arc<MessageLog>,
}

type Script = dyn Fn(&ReceivedMessage) -> Vec<Reply> + Send + Sync;

impl MessageServer {
    pub(crate) fn start(
        framing: TestFraming,
        script: impl Fn(&ReceivedMessage) -> Vec<Reply> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::<MessageLog>::default());
        let (script, known): (Arc<Script>, _) = (Arc::new(script), seen.clone());
        std::thread::spawn(move || {
            for (number, stream) in (0..).zip(listener.incoming().map_while(Result::ok)) {
                let (script, seen) = (script.clone(), known.clone());
                std::thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    let in_order = match framing {
                        TestFraming::LengthDelimited => LengthDelimitedServer(stream).serve(number, &*script, &seen),
                        TestFraming::Binary | TestFraming::Text => {
                            serve_socket(stream, framing, number, &*script, &seen)
                        }
                    };
                    seen.ended.lock().unwrap().insert(number, in_order);
                    seen.changed.notify_all();
                });
            }
        });
        Self { address, log: seen }
    }

    pub(crate) fn received(&self) -> Vec<ReceivedMessage> {
        self.log.received.lock().unwrap().clone()
    }

    /// The messages of each connection, in order.
    pub(crate) fn by_connection(&self) -> BTreeMap<u64, Vec<serde_json::Value>> {
        let mut all: BTreeMap<u64, Vec<serde_json::Value>> = BTreeMap::new();
        self.received()
            .into_iter()
            .for_each(|received| all.entry(received.connection).or_default().push(received.message));
        all
    }

    /// Waits until so many connections have ended; returns how many of them were closed in order.
    pub(crate) fn await_ends(&self, count: usize) -> usize {
        let ended = self.log.ended.lock().unwrap();
        let ended = self.log.changed.wait_while(ended, |ended| ended.len() < count).unwrap();
        ended.values().filter(|in_order| **in_order).count()
    }
}

impl MessageLog {
    fn record(&self, connection: u64, message: serde_json::Value) -> ReceivedMessage {
        let received = ReceivedMessage { connection, message };
        self.received.lock().unwrap().push(received.clone());
        self.changed.notify_all();
        received
    }
}

pub(crate) fn pool() -> DescriptorPool {
    struct Only;
    impl protox::file::FileResolver for Only {
        fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
            protox::file::File::from_source(name, PROTO)
        }
    }
    let mut compiler = protox::Compiler::with_file_resolver(Only);
    compiler.open_file("spoken.proto").unwrap();
    compiler.descriptor_pool()
}

/// As JSON in the schema's own names, zeros left out.
fn decoded(bytes: &[u8]) -> serde_json::Value {
    let message = pool().get_message_by_name("spoken.Say").unwrap();
    json(&DynamicMessage::decode(message, bytes).unwrap())
}

fn json(message: &DynamicMessage) -> serde_json::Value {
    let field = |(field, value): (prost_reflect::FieldDescriptor, &Value)| (field.name().to_owned(), json_value(value));
    serde_json::Value::Object(message.fields().map(field).collect())
}

fn json_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::I32(value) | Value::EnumNumber(value) => (*value).into(),
        Value::I64(value) => (*value).into(),
        Value::U32(value) => (*value).into(),
        Value::U64(value) => (*value).into(),
        Value::String(value) => value.as_str().into(),
        Value::Message(message) => json(message),
        Value::List(list) => list.iter().map(json_value).collect(),
        other => panic!("no test has {other:?}"),
    }
}

/// `{ "moved": { "seq": 1 } }` as the message `ReceivedMessage`.
fn encoded(frame: &serde_json::Value) -> Vec<u8> {
    let mut message = DynamicMessage::new(pool().get_message_by_name("spoken.Heard").unwrap());
    fill(&mut message, frame);
    message.encode_to_vec()
}

fn fill(message: &mut DynamicMessage, values: &serde_json::Value) {
    use prost_reflect::Kind;
    for (name, value) in values.as_object().unwrap() {
        let field = message.descriptor().get_field_by_name(name).unwrap();
        let one = |value: &serde_json::Value| match field.kind() {
            Kind::Message(inner) => {
                let mut inner = DynamicMessage::new(inner);
                fill(&mut inner, value);
                Value::Message(inner)
            }
            Kind::String => Value::String(value.as_str().unwrap().to_owned()),
            Kind::Bytes => Value::Bytes(value.as_str().unwrap().to_owned().into()),
            Kind::Int64 => Value::I64(value.as_i64().unwrap()),
            Kind::Enum(_) => Value::EnumNumber(value.as_i64().unwrap() as i32),
            _ => Value::U32(value.as_u64().unwrap() as u32),
        };
        let value =
            if field.is_list() { Value::List(value.as_array().unwrap().iter().map(one).collect()) } else { one(value) };
        message.set_field(&field, value);
    }
}

struct LengthDelimitedServer(TcpStream);

impl LengthDelimitedServer {
    fn serve(mut self, number: u64, script: &Script, seen: &MessageLog) -> bool {
        while let Some(length) = self.length() {
            let mut bytes = vec![0; length];
            if self.0.read_exact(&mut bytes).is_err() {
                return false;
            }
            for reply in script(&seen.record(number, decoded(&bytes))) {
                let bytes = match reply {
                    Reply::Frame(frame) => {
                        let frame = encoded(&frame);
                        let mut bytes = Vec::new();
                        prost_reflect::prost::encoding::encode_varint(frame.len() as u64, &mut bytes);
                        bytes.extend(frame);
                        bytes
                    }
                    Reply::Raw(bytes) => bytes,
                    Reply::Close => return true,
                    Reply::Pieces(_) => panic!("lengths have no pieces"),
                };
                if self.0.write_all(&bytes).is_err() {
                    return false;
                }
            }
        }
        true
    }

    fn length(&mut self) -> Option<usize> {
        let (mut length, mut shift) = (0, 0);
        loop {
            let mut byte = [0];
            self.0.read_exact(&mut byte).ok()?;
            length |= usize::from(byte[0] & 0x7f) << shift;
            shift += 7;
            if byte[0] & 0x80 == 0 {
                return Some(length);
            }
        }
    }
}

fn serve_socket(stream: TcpStream, framing: TestFraming, number: u64, script: &Script, seen: &MessageLog) -> bool {
    let Ok(mut socket) = tungstenite::accept(stream) else { return false };
    loop {
        let message = match socket.read() {
            Ok(Message::Binary(bytes)) if framing == TestFraming::Binary => decoded(&bytes),
            Ok(Message::Text(text)) if framing == TestFraming::Text => serde_json::from_str(&text).unwrap(),
            Ok(Message::Close(frame)) => return frame.is_some_and(|frame| u16::from(frame.code) == 1000),
            Ok(Message::Ping(_) | Message::Pong(_)) => continue,
            Ok(other) => panic!("{other:?} in the wrong framing"),
            Err(_) => return false,
        };
        for reply in script(&seen.record(number, message)) {
            let sent = match (reply, framing) {
                (Reply::Frame(frame), TestFraming::Text) => socket.send(Message::text(frame.to_string())),
                (Reply::Frame(frame), _) => socket.send(Message::binary(encoded(&frame))),
                (Reply::Pieces(text), _) => send_fragments(&mut socket, text),
                (Reply::Close | Reply::Raw(_), _) => return true,
            };
            if sent.is_err() {
                return false;
            }
        }
    }
}

/// Waits for the pong before it sends the second fragment.
fn send_fragments(socket: &mut WebSocket<TcpStream>, text: &str) -> tungstenite::Result<()> {
    use tungstenite::protocol::frame::Frame;
    use tungstenite::protocol::frame::coding::{Data, OpCode};
    let (first, second) = text.split_at(text.len() / 2);
    let piece = |text: &str, code, last| Message::Frame(Frame::message(text.to_owned(), OpCode::Data(code), last));
    socket.send(piece(first, Data::Text, false))?;
    socket.send(Message::Ping("there?".into()))?;
    loop {
        if let Message::Pong(payload) = socket.read()? {
            assert_eq!(payload, "there?");
            break;
        }
    }
    socket.send(piece(second, Data::Continue, true))
}
