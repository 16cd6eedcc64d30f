//! Paths into a frame: a JSON pointer as it is written, and, where frames are protobuf, the fields that it leads
//! through. Does not follow them: the generator does.

use std::sync::Arc;

/// Where a value is in a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FramePath {
    /// As it is written: a JSON pointer (RFC 6901).
    pub pointer: String,
    /// The same for protobuf; none if frames are JSON.
    pub protobuf: Option<ProtobufPath>,
}

/// A path in a protobuf message.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtobufPath {
    /// The fields, from the outside in.
    pub segments: Vec<PathSegment>,
    /// The type of the value.
    pub field_type: FieldType,
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

/// The type of a protobuf field (the scalar types of the language, and messages).
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum FieldType {
    Double,
    Float,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    Text,
    Bytes,
    /// Names and numbers of its values.
    Enum(Arc<[(String, i32)]>),
    /// A message, by its index in the schema.
    Message(usize),
}

/// How a value is encoded (the wire types of protobuf's encoding).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WireType {
    Varint = 0,
    Fixed64 = 1,
    Length = 2,
    Fixed32 = 5,
}

impl FieldType {
    #[must_use]
    pub fn wire_type(&self) -> WireType {
        match self {
            Self::Int32
            | Self::Int64
            | Self::Uint32
            | Self::Uint64
            | Self::Sint32
            | Self::Sint64
            | Self::Bool
            | Self::Enum(_) => WireType::Varint,
            Self::Double | Self::Fixed64 | Self::Sfixed64 => WireType::Fixed64,
            Self::Float | Self::Fixed32 | Self::Sfixed32 => WireType::Fixed32,
            Self::Text | Self::Bytes | Self::Message(_) => WireType::Length,
        }
    }

    /// What a scenario may write for it.
    pub(super) fn expected(&self) -> String {
        match self {
            Self::Double | Self::Float => "a number".to_owned(),
            Self::Int32 | Self::Sint32 | Self::Sfixed32 => "a whole number of 32 bits".to_owned(),
            Self::Int64 | Self::Sint64 | Self::Sfixed64 => "a whole number of 64 bits".to_owned(),
            Self::Uint32 | Self::Fixed32 => "a whole number of 32 bits, not below 0".to_owned(),
            Self::Uint64 | Self::Fixed64 => "a whole number of 64 bits, not below 0".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Text | Self::Bytes => "a text".to_owned(),
            Self::Enum(words) => {
                let words: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
                format!("one of {}", words.join(", "))
            }
            Self::Message(_) => "a table of its fields".to_owned(),
        }
    }
}
