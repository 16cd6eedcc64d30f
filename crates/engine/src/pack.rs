//! How values become bytes and back: one trait for logs, snapshots and records of matches, tables and worlds.
//!
//! The form is canonical: every value has one byte string, and what is read is checked. Integers of 32 bits are
//! varints, larger ones 8 bytes little endian, lists and texts begin with their length.

use crate::ids::{AccountId, BotId, CompetitionId, MatchId, PlayerId, TableId};
use crate::time::UnixMs;
use rules::chance::Seed;
use rules::stories::{self, Card, CardSet, Standing};
use std::sync::Arc;
use std::time::Duration;

/// Bytes that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub &'static str);

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

/// Reads forward through bytes; every read reports when they end too early.
pub(crate) struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    /// Starts at the first byte.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Starts behind the first byte, which is the number of the format.
    pub(crate) fn of_format(format: u8, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut from = Self::new(bytes);
        if u8::get(&mut from)? != format {
            return Err(DecodeError("written in another format: by a newer version?"));
        }
        Ok(from)
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(DecodeError("it ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// As many bytes as the length before them says.
    pub(crate) fn counted(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = u32::get(self)?;
        self.take(length as usize)
    }

    /// Whether everything is read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Refuses leftovers.
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

/// Writes bytes behind their length.
pub(crate) fn put_counted(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend(bytes);
}

/// A whole value as a byte string of its own, which begins with the number of its format.
pub(crate) fn encode_versioned(format: u8, value: &impl Pack) -> Vec<u8> {
    let mut out = Vec::with_capacity(32);
    out.push(format);
    value.put(&mut out);
    out
}

/// The value of a byte string of [`encode_versioned`].
pub(crate) fn decode_versioned<T: Pack>(format: u8, bytes: &[u8]) -> Result<T, DecodeError> {
    let mut from = ByteReader::of_format(format, bytes)?;
    let value = T::get(&mut from)?;
    from.finish()?;
    Ok(value)
}

/// A struct is its fields, in this order.
macro_rules! packed {
    ($name:ty { $($field:ident),+ $(,)? }) => {
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

/// A value is the bytes of another one, which it becomes and is read back from.
macro_rules! packed_as {
    ($name:ty: $form:ty, $to:expr, $back:expr) => {
        impl $crate::pack::Pack for $name {
            fn put(&self, out: &mut Vec<u8>) {
                let to: fn(&Self) -> $form = $to;
                $crate::pack::Pack::put(&to(self), out);
            }

            fn get(from: &mut $crate::pack::ByteReader<'_>) -> Result<Self, $crate::pack::DecodeError> {
                let back: fn($form) -> Result<Self, $crate::pack::DecodeError> = $back;
                back($crate::pack::Pack::get(from)?)
            }
        }
    };
}

pub(crate) use {packed, packed_as, packed_variants};

impl<const N: usize> Pack for [u8; N] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self);
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(from.take(N)?);
        Ok(array)
    }
}

impl Pack for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        <[Self; 1]>::get(from).map(|[byte]| byte)
    }
}

impl Pack for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(*self));
    }

    /// In its shortest form.
    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        let mut value = 0u64;
        for shift in [0, 7, 14, 21, 28] {
            let byte = u8::get(from)?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                if byte == 0 && shift > 0 {
                    return Err(DecodeError("a number not in its shortest form"));
                }
                return Self::try_from(value).map_err(|_| DecodeError("a number beyond 32 bits"));
            }
        }
        Err(DecodeError("a number beyond 32 bits"))
    }
}

packed_as!(u16: u32, |number| u32::from(*number), |number| {
    Self::try_from(number).map_err(|_| DecodeError("a number beyond 16 bits"))
});
packed_as!(u64: [u8; 8], |number| number.to_le_bytes(), |bytes| Ok(Self::from_le_bytes(bytes)));
packed_as!(f64: u64, |number| number.to_bits(), |bits| Ok(Self::from_bits(bits)));
packed_as!(bool: u8, |is_true| u8::from(*is_true), |byte| match byte {
    0 => Ok(false),
    1 => Ok(true),
    _ => Err(DecodeError("a truth value that is neither 0 nor 1")),
});
packed_as!(UnixMs: [u8; 8], |at| at.0.to_le_bytes(), |bytes| Ok(Self(i64::from_le_bytes(bytes))));
// Whole milliseconds.
packed_as!(Duration: u64, |span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX), |ms| Ok(Self::from_millis(ms)));
packed_as!(Seed: u64, |seed| seed.0, |bits| Ok(Self(bits)));
packed_as!(PlayerId: [u8; 16], |id| id.to_bytes(), |bytes| Ok(Self::from_bytes(bytes)));
packed_as!(TableId: [u8; 16], |id| id.to_bytes(), |bytes| Ok(Self::from_bytes(bytes)));
packed_as!(AccountId: [u8; 16], |id| id.to_bytes(), |bytes| Ok(Self::from_bytes(bytes)));
packed_as!(BotId: [u8; 16], |id| id.to_bytes(), |bytes| Ok(Self::from_bytes(bytes)));
packed_as!(MatchId: [u8; 16], |id| id.to_bytes(), |bytes| Ok(Self::from_bytes(bytes)));
packed_as!(CompetitionId: [u8; 16], |id| id.to_bytes(), |bytes| Ok(Self::from_bytes(bytes)));
packed_as!(Card: u8, |card| card.0, |number| Self::new(number).ok_or(DecodeError("a card that does not exist")));
packed_as!(CardSet: u64, |cards| cards.bits(), |bits| {
    Self::from_bits(bits).ok_or(DecodeError("cards that do not exist"))
});

/// Texts: their bytes behind their length.
macro_rules! packed_text {
    ($($name:ty),+) => {$(
        impl Pack for $name {
            fn put(&self, out: &mut Vec<u8>) {
                put_counted(out, self.as_bytes());
            }

            fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
                let text = str::from_utf8(from.counted()?).map_err(|_| DecodeError("a text that is not UTF-8"))?;
                Ok(text.into())
            }
        }
    )+};
}
packed_text!(Box<str>, Arc<str>, String);

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
        self.iter().for_each(|item| item.put(out));
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

packed!(Standing { score, score_prev, levelups, earned, earned_last });

packed!(stories::GameSettings { players_max, hand, deck, picked_min, voted_min });
