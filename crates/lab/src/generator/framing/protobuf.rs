//! Looks up a field by its path in the bytes of a protobuf message, without decoding the rest and without allocating.
//! Does not know names: a path consists of field numbers.

use crate::scenario::message::{PathSegment, WireType};

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

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldLookup<'b> {
    Value(WireValue<'b>),
    /// The enclosing message is there, the value itself is omitted.
    Omitted,
    /// The enclosing message is missing as well.
    Missing,
}

pub(super) fn find<'b>(mut bytes: &'b [u8], hops: &[PathSegment]) -> Result<FieldLookup<'b>, Malformed> {
    let Some((last, around)) = hops.split_last() else { return Ok(FieldLookup::Missing) };
    for hop in around {
        bytes = match field(bytes, *hop)? {
            Some(WireValue::Length(inner)) => inner,
            Some(_) => return Err(Malformed),
            None => return Ok(FieldLookup::Missing),
        };
    }
    Ok(field(bytes, *last)?.map_or(FieldLookup::Omitted, FieldLookup::Value))
}

/// The field of a message: the last one with the number counts, unless an index into a list is given.
fn field(mut bytes: &[u8], hop: PathSegment) -> Result<Option<WireValue<'_>>, Malformed> {
    let (mut found, mut place) = (None, 0);
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let value = value(&mut bytes, tag & 0x7)?;
        if tag >> 3 != u64::from(hop.number) {
            continue;
        }
        match hop.index {
            None => found = Some(value),
            Some(index) if index == place => found = Some(value),
            Some(_) => {}
        }
        place += 1;
    }
    Ok(found)
}

fn value<'b>(bytes: &mut &'b [u8], wire: u64) -> Result<WireValue<'b>, Malformed> {
    match wire {
        wire if wire == WireType::Varint as u64 => varint(bytes).map(WireValue::Varint),
        wire if wire == WireType::SixtyFourBit as u64 => fixed(bytes).map(WireValue::Fixed64),
        wire if wire == WireType::ThirtyTwoBit as u64 => fixed(bytes).map(WireValue::Fixed32),
        wire if wire == WireType::LengthDelimited as u64 => {
            let length = usize::try_from(varint(bytes)?).map_err(|_| Malformed)?;
            let (value, rest) = bytes.split_at_checked(length).ok_or(Malformed)?;
            *bytes = rest;
            Ok(WireValue::Length(value))
        }
        // Groups are deprecated.
        _ => Err(Malformed),
    }
}

fn fixed<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (value, rest) = bytes.split_first_chunk().ok_or(Malformed)?;
    *bytes = rest;
    Ok(*value)
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(Malformed)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], path: &[(u32, Option<usize>)], expected: Result<FieldLookup<'_>, Malformed>) {
        let hops: Vec<PathSegment> =
            path.iter().map(|(number, index)| PathSegment { number: *number, index: *index }).collect();
        assert_eq!(find(bytes, &hops), expected);
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
