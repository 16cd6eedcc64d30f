//! Decodes what a client sent. Invalid bytes give [`Malformed`], with a text for the client.

use super::{ClientFrame, ClientMessage};
use prost::Message;
use std::fmt;

/// Not a frame, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One frame as a protocol buffer.
///
/// # Errors
/// It is malformed, or has no message that this version knows.
pub fn read_protobuf(bytes: &[u8]) -> Result<ClientMessage, Malformed> {
    let frame =
        ClientFrame::decode(bytes).map_err(|error| Malformed(format!("a frame is not a ClientFrame: {error}")))?;
    frame.what.ok_or_else(|| Malformed("a frame says nothing that version 1 knows (see world.proto)".to_owned()))
}

/// One frame as JSON.
///
/// # Errors
/// It is malformed, or has no message that this version knows.
pub fn read_json(bytes: &[u8]) -> Result<ClientMessage, Malformed> {
    serde_json::from_slice(bytes)
        .map_err(|error| Malformed(format!(r#"a message is not a frame like {{"hello":{{"version":1}}}}: {error}"#)))
}
