//! Looks up values in a frame, in either message format. Does not know what they are for.

use prost_reflect::{EnumDescriptor, Kind};
use serde_json::Value;

use super::super::{Failure, json_pointer};
use super::protobuf::{FieldLookup, Malformed, WireValue, find};
use crate::measurement::ErrorKind;
use crate::scenario::{MessageFormat, ProtobufPath, ValueMatch, ValuePath};

/// Whether there is a value at a path.
///
/// # Errors
/// The frame is not of the message format.
pub(crate) fn has_value(path: &ValuePath, frame: &[u8]) -> Result<bool, Failure> {
    match &path.protobuf {
        None => Ok(find_value(path, frame)?.is_some_and(|value| !value.is_null())),
        Some(target) => Ok(matches!(find_field(target, frame)?, FieldLookup::Value(_))),
    }
}

/// Whether a frame, or the body of a response, matches.
///
/// # Errors
/// As for [`has_value`].
pub(crate) fn value_matches(matcher: &ValueMatch, frame: &[u8]) -> Result<bool, Failure> {
    match &matcher.expected {
        None => has_value(&matcher.path, frame),
        Some(is) => Ok(find_value(&matcher.path, frame)?.as_ref() == Some(is)),
    }
}

/// Whether a frame, or the body of a response, matches any of these.
///
/// # Errors
/// As for [`has_value`].
pub(crate) fn any_matches(matchers: &[ValueMatch], frame: &[u8]) -> Result<bool, Failure> {
    matchers.iter().try_fold(false, |is, matcher| Ok(is || value_matches(matcher, frame)?))
}

/// An integer at a path; none if there is no value, or only zero.
///
/// # Errors
/// As for [`has_value`].
pub(crate) fn read_micros(path: &ValuePath, frame: &[u8]) -> Result<Option<i64>, Failure> {
    let found = match &path.protobuf {
        None => find_value(path, frame)?.and_then(|value| value.as_i64()),
        Some(target) => match find_field(target, frame)? {
            FieldLookup::Value(raw) => number(&target.kind, raw),
            FieldLookup::Omitted | FieldLookup::Missing => None,
        },
    };
    Ok(found.filter(|at| *at != 0))
}

/// The text of a value that is kept.
///
/// # Errors
/// There is none, or one that is no text and no number.
pub(crate) fn read_text(path: &ValuePath, language: &MessageFormat, frame: &[u8]) -> Result<String, Failure> {
    find_value(path, frame)?.and_then(json_pointer::scalar_text).ok_or_else(|| {
        let message = format!("nothing at `{}`: {}", path.pointer, excerpt(language, frame));
        Failure::new(ErrorKind::Answer, message)
    })
}

/// What an error's message shows of a frame.
pub(crate) fn excerpt(language: &MessageFormat, frame: &[u8]) -> String {
    match language {
        MessageFormat::Json => super::super::excerpt(frame),
        MessageFormat::Protobuf { .. } => {
            // A reader understands only the texts in it.
            let readable = |byte: &u8| if (b' '..0x7f).contains(byte) { *byte } else { b' ' };
            let texts: Vec<u8> = frame.iter().map(readable).collect();
            format!("{} bytes with {}", frame.len(), super::super::excerpt(&texts))
        }
    }
}

fn find_value(path: &ValuePath, frame: &[u8]) -> Result<Option<Value>, Failure> {
    let Some(target) = &path.protobuf else { return json_pointer::find(frame, &path.pointer) };
    Ok(match find_field(target, frame)? {
        FieldLookup::Value(raw) => value(&target.kind, raw),
        FieldLookup::Omitted if target.has_implicit_default => default_value(&target.kind),
        FieldLookup::Omitted | FieldLookup::Missing => None,
    })
}

fn find_field<'b>(target: &ProtobufPath, frame: &'b [u8]) -> Result<FieldLookup<'b>, Failure> {
    find(frame, &target.segments).map_err(|Malformed| {
        Failure::new(ErrorKind::Answer, format!("a frame of {} bytes that is no message of the schema", frame.len()))
    })
}

/// A value by its type; none if the wire type does not fit.
fn value(kind: &Kind, raw: WireValue<'_>) -> Option<Value> {
    match (kind, raw) {
        (Kind::Uint64, WireValue::Varint(value)) => Some(value.into()),
        (Kind::Fixed64, WireValue::Fixed64(bytes)) => Some(u64::from_le_bytes(bytes).into()),
        (Kind::Bool, WireValue::Varint(value)) => Some((value != 0).into()),
        (Kind::Double, WireValue::Fixed64(bytes)) => Some(f64::from_le_bytes(bytes).into()),
        (Kind::Float, WireValue::Fixed32(bytes)) => Some(f32::from_le_bytes(bytes).into()),
        (Kind::Enum(words), WireValue::Varint(number)) => Some(enum_name(words, number as i32)),
        (Kind::String | Kind::Bytes, WireValue::Length(bytes)) => {
            Some(String::from_utf8_lossy(bytes).into_owned().into())
        }
        (Kind::Message(_), WireValue::Length(_)) => Some(Value::Object(serde_json::Map::new())),
        _ => number(kind, raw).map(Value::from),
    }
}

fn enum_name(words: &EnumDescriptor, number: i32) -> Value {
    words.get_value(number).map_or_else(|| number.into(), |word| word.name().into())
}

fn number(kind: &Kind, raw: WireValue<'_>) -> Option<i64> {
    match (kind, raw) {
        (Kind::Int32 | Kind::Int64, WireValue::Varint(value)) => Some(value as i64),
        (Kind::Uint32 | Kind::Uint64, WireValue::Varint(value)) => i64::try_from(value).ok(),
        (Kind::Sint32 | Kind::Sint64, WireValue::Varint(value)) => Some((value >> 1) as i64 ^ -((value & 1) as i64)),
        (Kind::Fixed32, WireValue::Fixed32(bytes)) => Some(u32::from_le_bytes(bytes).into()),
        (Kind::Sfixed32, WireValue::Fixed32(bytes)) => Some(i32::from_le_bytes(bytes).into()),
        (Kind::Fixed64, WireValue::Fixed64(bytes)) => i64::try_from(u64::from_le_bytes(bytes)).ok(),
        (Kind::Sfixed64, WireValue::Fixed64(bytes)) => Some(i64::from_le_bytes(bytes)),
        _ => None,
    }
}

/// The value of an omitted field.
fn default_value(kind: &Kind) -> Option<Value> {
    match kind {
        Kind::String | Kind::Bytes => Some("".into()),
        Kind::Bool => Some(false.into()),
        Kind::Double | Kind::Float => Some(0.0.into()),
        Kind::Enum(words) => Some(enum_name(words, 0)),
        Kind::Message(_) => None,
        _ => Some(0.into()),
    }
}
