//! Conditions on a value of a response or of a frame: where it is, and what it must be. Does not follow a path: the
//! generator does.

use prost_reflect::Kind;

use super::reader::{NodeReader, read_pointer};
use super::tree::Value;

/// A condition on a value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueMatch {
    pub path: ValuePath,
    /// The expected value; without one, any value matches.
    pub expected: Option<serde_json::Value>,
}

/// Where a value is in a response or in a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValuePath {
    /// As it is written: a JSON pointer (RFC 6901).
    pub pointer: String,
    /// The same for protobuf; none for JSON.
    pub protobuf: Option<ProtobufPath>,
}

/// A path in a protobuf message.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtobufPath {
    /// The fields, from the outside in.
    pub segments: Vec<PathSegment>,
    /// The type of the value.
    pub kind: Kind,
    /// Whether an omitted value means its type's zero (proto3's implicit presence).
    pub has_implicit_default: bool,
}

/// A field on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSegment {
    pub number: u32,
    /// Which item of a list, counted from 0; the last one of a field that is none.
    pub index: Option<usize>,
}

impl ValueMatch {
    /// `{ at = "/allowed", is = false }`; `read_path` reads where the value is.
    pub(super) fn read(
        at: &NodeReader<'_>,
        what: &str,
        read_path: impl FnOnce(&NodeReader<'_>) -> Option<ValuePath>,
    ) -> Option<Self> {
        at.table(|fields| Self {
            path: fields.required("at", what, read_path),
            expected: fields.required("is", "what stands there then", |at| read_comparable(at).map(Some)),
        })
    }

    /// The same for a JSON document.
    pub(super) fn read_json(at: &NodeReader<'_>) -> Option<Self> {
        let path = |at: &NodeReader<'_>| Some(ValuePath { pointer: read_pointer(at)?, protobuf: None });
        Self::read(at, "where the body says it, such as \"/allowed\"", path)
    }
}

/// Reads a value that all readers compare alike: `1` and `1.0` are the same number to some and not to others.
fn read_comparable(at: &NodeReader<'_>) -> Option<serde_json::Value> {
    match &at.node.value {
        Value::Bool(flag) => Some((*flag).into()),
        Value::Int(number) => Some((*number).into()),
        Value::Text(text) => Some(text.clone().into()),
        Value::Float(_) | Value::Array(_) | Value::Table(_) => {
            at.reject("must be true, false, a whole number or a text")
        }
    }
}
