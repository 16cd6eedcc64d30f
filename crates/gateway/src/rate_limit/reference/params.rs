//! The parameters of a request, from its body, its query and its path: whichever of them says something, in the reference's
//! order. Values are kept as they came; what they mean is for others to say.

use serde::de::value::{self, StrDeserializer};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A parameter as it came.
#[derive(Clone, Debug)]
pub(super) enum Param<'a> {
    /// Of a JSON body: the value's text.
    Json(&'a str),
    /// Of a form, a query or a path.
    Text(Cow<'a, str>),
    /// Of a form or a query with names such as `a[b]`.
    Tree(Value),
}

/// The parameters that any route knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
pub(super) enum ParamName {
    ClientId,
    Resource,
    WindowSeconds,
    RequestPerWindow,
    #[serde(rename = "_method")]
    Method,
    #[serde(rename = "_format")]
    Format,
    /// No route knows it: it is never kept.
    #[serde(other)]
    Unknown,
}

impl ParamName {
    const KNOWN: usize = Self::Unknown as usize;

    pub(super) fn of(text: &str) -> Option<Self> {
        let name = Self::deserialize(StrDeserializer::<value::Error>::new(text)).ok();
        name.filter(|name| *name != Self::Unknown)
    }
}

/// What a request says.
#[derive(Clone, Debug, Default)]
pub(super) struct Params<'a>([Option<Param<'a>>; ParamName::KNOWN]);

/// It cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

impl<'a> Params<'a> {
    pub(super) fn get(&self, name: ParamName) -> Option<&Param<'a>> {
        self.0[name as usize].as_ref()
    }

    pub(super) fn set(&mut self, name: ParamName, param: Param<'a>) {
        self.0[name as usize] = Some(param);
    }

    pub(super) fn take(&mut self, name: ParamName) -> Option<Param<'a>> {
        self.0[name as usize].take()
    }

    /// These, and where they say nothing, the weaker ones.
    pub(super) fn with_fallback(mut self, weaker: Self) -> Self {
        for (mine, theirs) in self.0.iter_mut().zip(weaker.0) {
            if mine.is_none() {
                *mine = theirs;
            }
        }
        self
    }

    /// A parameter that is a plain text.
    pub(super) fn text(&self, name: ParamName) -> Option<Cow<'_, str>> {
        match self.get(name)? {
            Param::Json(json) => serde_json::from_str(json).ok().map(Cow::Owned),
            Param::Text(text) => Some(Cow::Borrowed(text)),
            Param::Tree(_) => None,
        }
    }
}

/// An object's members; whatever else is JSON says nothing.
pub(super) fn parse_json(body: &[u8]) -> Result<Params<'_>, Unreadable> {
    let text = std::str::from_utf8(body).map_err(|_| Unreadable)?;
    let start = text.trim_ascii_start();
    if start.starts_with('{') {
        return serde_json::from_str(text).map_err(|_| Unreadable);
    }
    if start.is_empty() {
        return Ok(Params::default());
    }
    serde_json::from_str::<IgnoredAny>(text).map(|_| Params::default()).map_err(|_| Unreadable)
}

impl<'de> Deserialize<'de> for Params<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

/// Reads members without looking into their values. Of two with one name the later counts.
struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Params<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Params<'de>, A::Error> {
        let mut params = Params::default();
        while let Some(name) = members.next_key()? {
            match name {
                ParamName::Unknown => drop(members.next_value::<IgnoredAny>()?),
                name => params.set(name, Param::Json(members.next_value::<&'de RawValue>()?.get())),
            }
        }
        Ok(params)
    }
}
