//! Looks up a field by its path in the bytes of a protobuf message, without decoding the rest and without allocating.
//! Does not know names: a path consists of field numbers.

use prost_reflect::prost::DecodeError;
use prost_reflect::prost::encoding::{WireType, decode_key, decode_varint};

use crate::scenario::PathSegment;

/// A value on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireValue<'b> {
    Varint(u64),
    Fixed64([u8; 8]),
    Length(&'b [u8]),
    Fixed32([u8; 4]),
}

/// The bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl From<DecodeError> for Malformed {
    fn from(_: DecodeError) -> Self {
        Self
    }
}

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldLookup<'b> {
    Value(WireValue<'b>),
    /// The enclosing message is there, the value itself is omitted.
    Omitted,
    /// The enclosing message is missing as well.
    Missing,
}

pub(super) fn find<'b>(mut bytes: &'b [u8], segments: &[PathSegment]) -> Result<FieldLookup<'b>, Malformed> {
    let Some((last, outer)) = segments.split_last() else { return Ok(FieldLookup::Missing) };
    for segment in outer {
        bytes = match field(bytes, *segment)? {
            Some(WireValue::Length(inner)) => inner,
            Some(_) => return Err(Malformed),
            None => return Ok(FieldLookup::Missing),
        };
    }
    Ok(field(bytes, *last)?.map_or(FieldLookup::Omitted, FieldLookup::Value))
}

/// The field of a message: the last one with the number counts, unless an index into a list is given.
fn field(mut bytes: &[u8], segment: PathSegment) -> Result<Option<WireValue<'_>>, Malformed> {
    let (mut found, mut position) = (None, 0);
    while !bytes.is_empty() {
        let (number, wire) = decode_key(&mut bytes)?;
        let value = value(&mut bytes, wire)?;
        if number != segment.number {
            continue;
        }
        match segment.index {
            None => found = Some(value),
            Some(index) if index == position => found = Some(value),
            Some(_) => {}
        }
        position += 1;
    }
    Ok(found)
}

fn value<'b>(bytes: &mut &'b [u8], wire: WireType) -> Result<WireValue<'b>, Malformed> {
    match wire {
        WireType::Varint => Ok(WireValue::Varint(decode_varint(bytes)?)),
        WireType::SixtyFourBit => fixed(bytes).map(WireValue::Fixed64),
        WireType::ThirtyTwoBit => fixed(bytes).map(WireValue::Fixed32),
        WireType::LengthDelimited => {
            let length = usize::try_from(decode_varint(bytes)?).map_err(|_| Malformed)?;
            let (value, rest) = bytes.split_at_checked(length).ok_or(Malformed)?;
            *bytes = rest;
            Ok(WireValue::Length(value))
        }
        // Groups are deprecated.
        WireType::StartGroup | WireType::EndGroup => Err(Malformed),
    }
}

fn fixed<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (value, rest) = bytes.split_first_chunk().ok_or(Malformed)?;
    *bytes = rest;
    Ok(*value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], path: &[(u32, Option<usize>)], expected: Result<FieldLookup<'_>, Malformed>) {
        let segments: Vec<PathSegment> =
            path.iter().map(|(number, index)| PathSegment { number: *number, index: *index }).collect();
        assert_eq!(find(bytes, &segments), expected);
    }

    #[test]
    fn paths() {
        // 1: 150, 2: { 3: "hi", 4 (fixed32): 1 }, 5: "a", 5: "b", 1: 7
        let bytes = [
            0x08, 0x96, 0x01, 0x12, 0x09, 0x1a, 0x02, b'h', b'i', 0x25, 1, 0, 0, 0, 0x2a, 1, b'a', 0x2a, 1, b'b', 0x08,
            7,
        ];
        check(&bytes, &[(1, None)], Ok(FieldLookup::Value(WireValue::Varint(7))));
        check(&bytes, &[(2, None), (3, None)], Ok(FieldLookup::Value(WireValue::Length(b"hi"))));
        check(&bytes, &[(2, None), (4, None)], Ok(FieldLookup::Value(WireValue::Fixed32([1, 0, 0, 0]))));
        check(&bytes, &[(2, None), (9, None)], Ok(FieldLookup::Omitted));
        check(&bytes, &[(6, None), (1, None)], Ok(FieldLookup::Missing));
        check(&bytes, &[(5, Some(0))], Ok(FieldLookup::Value(WireValue::Length(b"a"))));
        check(&bytes, &[(5, Some(1))], Ok(FieldLookup::Value(WireValue::Length(b"b"))));
        check(&bytes, &[(5, Some(2))], Ok(FieldLookup::Omitted));
        check(&[], &[(1, None)], Ok(FieldLookup::Omitted));
        // Cut off, a group, a length beyond the end, a number without an end, a path into a number.
        check(&bytes[..6], &[(2, None)], Err(Malformed));
        check(&[0x0b], &[(1, None)], Err(Malformed));
        check(&[0x12, 0x05, 0], &[(2, None)], Err(Malformed));
        check(&[0xff; 11], &[(1, None)], Err(Malformed));
        check(&bytes, &[(1, None), (2, None)], Err(Malformed));
    }
}
