//! Encodes a server's frames as bytes, the framing of their connection included, into a reused buffer.

use super::{Dug, Error, Grabbed, Moved, Refused, Registered, Round, View, Watched, Welcome};
use crate::websocket::{Opcode, put_header};
use prost::Message;
use prost::encoding::{encode_varint, encoded_len_varint};
use serde::Serialize;

/// How frames stand in their connection, and in which of the two languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Protocol buffers behind their length: TCP.
    Delimited,
    /// Protocol buffers, each a binary message of a WebSocket.
    Binary,
    /// JSON, each a text message of a WebSocket.
    Text,
}

/// The format of one client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameFormat {
    /// How frames stand in the connection.
    pub framing: Framing,
    /// Whether refusals contain a text.
    pub has_reasons: bool,
}

/// A message of the server.
pub trait EncodeMessage: Serialize {
    /// Its field of `ServerFrame`.
    const FIELD: u8;
    /// Its name in `ServerFrame`.
    const NAME: &'static str;

    /// Bytes of it as a protocol buffer.
    fn len_bytes(&self) -> usize;
    /// Appends it as a protocol buffer.
    fn put(&self, out: &mut Vec<u8>);
}

macro_rules! encode_message {
    ($($message:ty = $field:literal $name:literal),* $(,)?) => {$(
        impl EncodeMessage for $message {
            const FIELD: u8 = $field;
            const NAME: &'static str = $name;

            fn len_bytes(&self) -> usize {
                self.encoded_len()
            }

            fn put(&self, out: &mut Vec<u8>) {
                self.encode_raw(out);
            }
        }
    )*};
}

encode_message! {
    Welcome = 1 "welcome",
    Registered = 2 "registered",
    Moved = 3 "moved",
    Dug = 4 "dug",
    Grabbed = 5 "grabbed",
    View = 6 "view",
    Refused = 7 "refused",
    Round = 8 "round",
    Error = 9 "error",
    Watched = 10 "watched",
}

/// Appends one frame. Nothing else is allocated.
pub fn encode(message: &impl EncodeMessage, format: FrameFormat, out: &mut Vec<u8>) {
    match format.framing {
        Framing::Delimited => {
            encode_varint(frame_len(message) as u64, out);
            put_frame(message, out);
        }
        Framing::Binary => {
            put_header(Opcode::Binary, frame_len(message), out);
            put_frame(message, out);
        }
        Framing::Text => put_text(message, out),
    }
}

/// Bytes of the whole `ServerFrame`.
fn frame_len<T: EncodeMessage>(message: &T) -> usize {
    let len = message.len_bytes();
    1 + encoded_len_varint(len as u64) + len
}

/// `ServerFrame`, whose only field this is: a key, a length, the message. Fields below 16 have keys of one byte.
fn put_frame<T: EncodeMessage>(message: &T, out: &mut Vec<u8>) {
    const { assert!(T::FIELD < 16) };
    const LENGTH_DELIMITED: u8 = 2;
    out.push(T::FIELD << 3 | LENGTH_DELIMITED);
    encode_varint(message.len_bytes() as u64, out);
    message.put(out);
}

/// The header is known behind the text, and goes before it.
fn put_text<T: EncodeMessage>(message: &T, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(b"{\"");
    out.extend_from_slice(T::NAME.as_bytes());
    out.extend_from_slice(b"\":");
    serde_json::to_writer(&mut *out, message).expect("shapes of ours are JSON, and memory takes every byte");
    out.push(b'}');
    let len = out.len() - start;
    put_header(Opcode::Text, len, out);
    let header = out.len() - start - len;
    out[start..].rotate_right(header);
}
