//! How numbers of protocol buffers look in JSON: enumerations by name, numbers of 64 bits as text.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::marker::PhantomData;

/// An enumeration's number by its name.
#[expect(non_camel_case_types, reason = "stands where serde names a module")]
pub(crate) struct enum_name<E>(PhantomData<E>);

impl<E> enum_name<E> {
    pub(crate) fn serialize<S: Serializer>(number: &i32, serializer: S) -> Result<S::Ok, S::Error>
    where
        E: TryFrom<i32> + Serialize,
    {
        let known = E::try_from(*number).map_err(|_| S::Error::custom("a number that has no name"))?;
        known.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error>
    where
        E: Into<i32> + Deserialize<'de>,
    {
        E::deserialize(deserializer).map(Into::into)
    }
}

/// A number that may be larger than a browser's, as its digits.
#[expect(non_camel_case_types, reason = "stands where serde names a module")]
pub(crate) struct text_u64;

impl text_u64 {
    pub(crate) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom("expected a string of digits below 2^64"))
    }
}

/// Whether a number is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn is_zero(number: &u32) -> bool {
    *number == 0
}
