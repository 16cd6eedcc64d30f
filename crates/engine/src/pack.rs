//! How values become bytes and back: logs, snapshots and records of matches, tables and worlds.
//!
//! The form is canonical: every value has one byte string, and what is read is checked. Integers of 32 bits are
//! varints, larger ones 8 bytes little endian, lists and texts begin with their length.

use crate::ids::{PlayerId, TableId};
use crate::time::UnixMs;
use rules::chance::Seed;
use rules::stories::{self, Card, CardSet, Standing};
use std::sync::Arc;
use std::time::Duration;

/// Bytes that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub &'static str);

/// Reads forward through bytes; every read reports when they end too early.
pub(crate) struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    /// Starts at the first byte.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// When there are fewer.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(DecodeError("it ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// An unsigned LEB128 number in its shortest form, of at most 32 bits.
    ///
    /// # Errors
    /// When it ends too early, is larger, or could have been written shorter.
    pub(crate) fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0u64;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let is_shortest = byte != 0 || shift == 0;
                return if is_shortest { Ok(value) } else { Err(DecodeError("a number not in its shortest form")) };
            }
        }
        Err(DecodeError("a number beyond 32 bits"))
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, DecodeError> {
        let length = self.varint()? as usize;
        str::from_utf8(self.take(length)?).map_err(|_| DecodeError("a text that is not UTF-8"))
    }

    /// Whether everything is read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Refuses leftovers.
    ///
    /// # Errors
    /// When bytes are left.
    pub(crate) fn finish(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError("something follows its end")) }
    }
}

/// Writes an unsigned LEB128 number.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend(text.as_bytes());
}

/// A value with a byte form.
pub(crate) trait Pack: Sized {
    /// Appends it.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads it.
    ///
    /// # Errors
    /// [`DecodeError`] when these bytes are not its canonical form.
    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError>;
}

pub(crate) fn to_bytes(value: &impl Pack) -> Vec<u8> {
    let mut out = Vec::new();
    value.put(&mut out);
    out
}

/// A whole value as a byte string of its own, which begins with the number of its format.
pub(crate) fn encode_versioned(format: u8, value: &impl Pack) -> Vec<u8> {
    let mut out = vec![format];
    value.put(&mut out);
    out
}

/// The value of a byte string of [`seal`].
pub(crate) fn decode_versioned<T: Pack>(format: u8, bytes: &[u8]) -> Result<T, DecodeError> {
    let mut from = ByteReader::new(bytes);
    if u8::get(&mut from)? != format {
        return Err(DecodeError("written in another format: by a newer version?"));
    }
    let value = T::get(&mut from)?;
    from.finish()?;
    Ok(value)
}

/// A struct is its fields, in this order.
macro_rules! packed {
    ($name:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::pack::Pack for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $($crate::pack::Pack::put(&self.$field, out);)+
            }

            fn get(from: &mut $crate::pack::ByteReader<'_>) -> Result<Self, $crate::pack::DecodeError> {
                Ok(Self { $($field: $crate::pack::Pack::get(from)?),+ })
            }
        }
    };
}

/// An enum is the code of its variant, then its fields. Codes are never changed and never used again.
macro_rules! packed_variants {
    ($name:ident { $($code:literal => $variant:ident { $($field:ident),* }),+ $(,)? }) => {
        impl $crate::pack::Pack for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field),* } => {
                        out.push($code);
                        $($crate::pack::Pack::put($field, out);)*
                    })+
                }
            }

            fn get(from: &mut $crate::pack::ByteReader<'_>) -> Result<Self, $crate::pack::DecodeError> {
                match <u8 as $crate::pack::Pack>::get(from)? {
                    $($code => Ok(Self::$variant { $($field: $crate::pack::Pack::get(from)?),* }),)+
                    _ => Err($crate::pack::DecodeError(concat!("an unknown kind of ", stringify!($name)))),
                }
            }
        }
    };
}

pub(crate) use {packed, packed_variants};

fn array<const N: usize>(from: &mut ByteReader<'_>) -> Result<[u8; N], DecodeError> {
    let mut array = [0; N];
    array.copy_from_slice(from.take(N)?);
    Ok(array)
}

impl Pack for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        array::<1>(from).map(|[byte]| byte)
    }
}

impl Pack for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        match u8::get(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError("a truth value that is neither 0 nor 1")),
        }
    }
}

impl Pack for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(*self));
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        Self::try_from(from.varint()?).map_err(|_| DecodeError("a number beyond 32 bits"))
    }
}

impl Pack for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        array(from).map(Self::from_le_bytes)
    }
}

impl Pack for UnixMs {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.0.to_le_bytes());
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        array(from).map(|bytes| Self(i64::from_le_bytes(bytes)))
    }
}

impl Pack for Duration {
    /// Whole milliseconds.
    fn put(&self, out: &mut Vec<u8>) {
        u64::try_from(self.as_millis()).unwrap_or(u64::MAX).put(out);
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        u64::get(from).map(Self::from_millis)
    }
}

impl Pack for Seed {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        u64::get(from).map(Self)
    }
}

impl Pack for PlayerId {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.to_bytes());
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        array(from).map(Self::from_bytes)
    }
}

impl Pack for TableId {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.to_bytes());
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        array(from).map(Self::from_bytes)
    }
}

impl Pack for Box<str> {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.len() as u64);
        out.extend(self.as_bytes());
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        let length = u32::get(from)? as usize;
        let text = str::from_utf8(from.take(length)?).map_err(|_| DecodeError("a text that is not UTF-8"))?;
        Ok(text.into())
    }
}

impl Pack for Arc<str> {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.len() as u64);
        out.extend(self.as_bytes());
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        Box::<str>::get(from).map(Self::from)
    }
}

impl<T: Pack> Pack for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        if bool::get(from)? { T::get(from).map(Some) } else { Ok(None) }
    }
}

impl<T: Pack> Pack for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        T::put(self, out);
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        T::get(from).map(Self::new)
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.len() as u64);
        for item in self {
            item.put(out);
        }
    }

    /// Takes no room ahead of what is really there: a length is only believed as far as items follow.
    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        let count = u32::get(from)?;
        let mut items = Self::new();
        for _ in 0..count {
            items.push(T::get(from)?);
        }
        items.shrink_to_fit();
        Ok(items)
    }
}

impl Pack for Card {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.0);
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        Self::new(u8::get(from)?).ok_or(DecodeError("a card that does not exist"))
    }
}

impl Pack for CardSet {
    fn put(&self, out: &mut Vec<u8>) {
        self.bits().put(out);
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        Self::from_bits(u64::get(from)?).ok_or(DecodeError("cards that do not exist"))
    }
}

packed!(Standing { score, score_prev, levelups, earned, earned_last });

/// Foreign structs with public fields, named by their path.
type Rules = stories::GameSettings;
packed!(Rules { players_max, hand, deck, picked_min, voted_min });
