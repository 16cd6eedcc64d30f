//! Who a client is: any JSON value but null and the empty text, and two values are one client where they are one value. The key
//! that is counted is the value's canonical JSON text, so that the number 1 and the text "1" are two.
//!
//! A long key is held as its digest: what a client costs in memory, and in the store, does not depend on what it calls itself.

use super::params::Param;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Longest text of a value that names a client, in bytes. The reference has no bound; its own tests go to 10,000 characters.
pub(super) const CLIENT_BYTES_MAX: usize = 64 * 1024;
/// Arrays and objects within each other that name a client.
const DEPTH_MAX: usize = 32;
/// Longest key that is held as it is.
const KEY_BYTES_MAX: usize = 256;
/// What keys begin with that are digests: no JSON text does.
const DIGEST_PREFIX: u8 = b'#';

/// Why a value identifies no client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientIdError {
    /// Null, or not there.
    Missing,
    /// The empty text.
    Empty,
    /// Longer, or deeper, than any name.
    TooLong,
    /// Not a value at all: half of a pair of surrogates, a number beyond all numbers.
    Unreadable,
}

/// The key of the client that a parameter names.
pub(super) fn client_key<'a>(param: Option<&Param<'a>>) -> Result<Cow<'a, [u8]>, ClientIdError> {
    let text: Cow<'a, str> = match param.ok_or(ClientIdError::Missing)? {
        Param::Json(json) => {
            if json.len() > CLIENT_BYTES_MAX {
                return Err(ClientIdError::TooLong);
            }
            canonical_json(json, 0)?
        }
        Param::Text(text) => Cow::Owned(json_string(text)),
        Param::Tree(tree) => {
            let json = tree.to_string();
            if json.len() > CLIENT_BYTES_MAX {
                return Err(ClientIdError::TooLong);
            }
            Cow::Owned(canonical_json(&json, 0)?.into_owned())
        }
    };
    match text.len() {
        _ if text == "null" => Err(ClientIdError::Missing),
        _ if text == "\"\"" => Err(ClientIdError::Empty),
        0..=KEY_BYTES_MAX => Ok(into_bytes(text)),
        bytes if bytes > CLIENT_BYTES_MAX => Err(ClientIdError::TooLong),
        _ => {
            let digest = Sha256::digest(text.as_bytes());
            Ok(Cow::Owned(std::iter::once(DIGEST_PREFIX).chain(digest).collect()))
        }
    }
}

/// Whether a parameter is there at all, as the reference has it.
pub(super) fn check_present(param: Option<&Param<'_>>) -> Result<(), ClientIdError> {
    match param.ok_or(ClientIdError::Missing)? {
        Param::Json("null") => Err(ClientIdError::Missing),
        Param::Json("\"\"") => Err(ClientIdError::Empty),
        Param::Text(text) if text.is_empty() => Err(ClientIdError::Empty),
        Param::Json(_) | Param::Text(_) | Param::Tree(_) => Ok(()),
    }
}

fn into_bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// The one text of all texts of this value.
fn canonical_json(json: &str, depth: usize) -> Result<Cow<'_, str>, ClientIdError> {
    if depth > DEPTH_MAX {
        return Err(ClientIdError::TooLong);
    }
    match json.as_bytes().first() {
        // What has no escapes is its own text.
        Some(b'"') if !json.contains('\\') => Ok(Cow::Borrowed(json)),
        Some(b'"') => serde_json::from_str(json).map(|text: String| Cow::Owned(json_string(&text))).map_err(unreadable),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(json).map_err(unreadable)?;
            let items =
                items.iter().map(|item| canonical_json(item.get(), depth + 1)).collect::<Result<Vec<_>, _>>()?;
            Ok(Cow::Owned(format!("[{}]", items.join(","))))
        }
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(json).map_err(unreadable)?;
            let member = |(name, value): (&String, &&RawValue)| {
                Ok(format!("{}:{}", json_string(name), canonical_json(value.get(), depth + 1)?))
            };
            let members = members.iter().map(member).collect::<Result<Vec<_>, _>>()?;
            Ok(Cow::Owned(format!("{{{}}}", members.join(","))))
        }
        Some(b'-' | b'0'..=b'9') => canonical_number(json),
        _ => Ok(Cow::Borrowed(json)),
    }
}

fn json_string(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// Integers are exact however long; other numbers are what a processor makes of them, and never the same as an integer.
fn canonical_number(json: &str) -> Result<Cow<'_, str>, ClientIdError> {
    if !json.contains(['.', 'e', 'E']) {
        return Ok(Cow::Borrowed(if json == "-0" { "0" } else { json }));
    }
    let number: f64 = json.parse().map_err(|_| ClientIdError::Unreadable)?;
    if number.is_finite() { Ok(Cow::Owned(format!("{number:?}"))) } else { Err(ClientIdError::Unreadable) }
}

fn unreadable(_: serde_json::Error) -> ClientIdError {
    ClientIdError::Unreadable
}
