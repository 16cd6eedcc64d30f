//! Forms, URL-encoded or in parts: text in, parameters out. Strict where the reference is: what is not percent-encoded well, or
//! not UTF-8, is refused.

use super::params::{Param, ParamName, Params, Unreadable};
use bytes::Bytes;
use futures_util::{FutureExt, stream};
use multer::Multipart;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::convert::Infallible;

/// Brackets in one name that are looked into.
const DEPTH_MAX: usize = 16;
/// Fields of a form, or of a query. The requests of this API have five members at most.
const FIELDS_MAX: usize = 1_000;

/// The fields of a URL-encoded form, or of a query.
pub(super) fn urlencoded(form: &[u8]) -> Result<Params<'_>, Unreadable> {
    if form.iter().filter(|byte| **byte == b'&').count() >= FIELDS_MAX {
        return Err(Unreadable);
    }
    let mut params = Params::default();
    for pair in form.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
        let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        let (name, value) =
            (percent_decode(&pair[..at], true)?, percent_decode(pair.get(at + 1..).unwrap_or_default(), true)?);
        set_field(&mut params, &name, value);
    }
    Ok(params)
}

/// The fields of a form in parts. Files say nothing.
pub(super) fn multipart<'a>(boundary: &str, body: &[u8]) -> Result<Params<'a>, Unreadable> {
    let whole = stream::iter([Ok::<_, Infallible>(Bytes::copy_from_slice(body))]);
    let mut parts = Multipart::new(whole, boundary);
    let mut params = Params::default();
    let mut fields = 0;
    // All of it is here: nothing ever has to be waited for.
    while let Some(field) = parts.next_field().now_or_never().ok_or(Unreadable)?.map_err(|_| Unreadable)? {
        fields += 1;
        if fields > FIELDS_MAX {
            return Err(Unreadable);
        }
        let name = field.name().unwrap_or_default().to_owned();
        let is_file = field.file_name().is_some();
        let value = field.bytes().now_or_never().ok_or(Unreadable)?.map_err(|_| Unreadable)?;
        if !is_file {
            let value = std::str::from_utf8(&value).map_err(|_| Unreadable)?.to_owned();
            set_field(&mut params, &name, Cow::Owned(value));
        }
    }
    Ok(params)
}

/// A field: plain, or a leaf of the tree that names such as `a[b][]` describe.
fn set_field<'a>(params: &mut Params<'a>, name: &str, value: Cow<'a, str>) {
    let Some((base, keys)) = parse_name(name) else { return };
    if keys.is_empty() {
        return params.set(base, Param::Text(value));
    }
    let mut tree = match params.take(base) {
        Some(Param::Tree(tree)) => tree,
        Some(Param::Json(_) | Param::Text(_)) | None => Value::Null,
    };
    insert_leaf(&mut tree, &keys, value.into_owned());
    params.set(base, Param::Tree(tree));
}

/// `client_id[a][]` is `client_id` with the keys `a` and nothing. A name whose brackets do not match is ignored.
fn parse_name(name: &str) -> Option<(ParamName, Vec<&str>)> {
    let Some((base, rest)) = name.split_once('[') else {
        return Some((ParamName::of(name)?, Vec::new()));
    };
    let keys: Vec<&str> = rest.strip_suffix(']')?.split("][").collect();
    let is_plain = keys.len() <= DEPTH_MAX && keys.iter().all(|key| !key.contains(['[', ']']));
    is_plain.then_some((ParamName::of(base)?, keys))
}

fn insert_leaf(tree: &mut Value, keys: &[&str], leaf: String) {
    match keys {
        [] => *tree = Value::String(leaf),
        ["", rest @ ..] => {
            if !tree.is_array() {
                *tree = Value::Array(Vec::new());
            }
            if let Value::Array(items) = tree {
                items.push(Value::Null);
                insert_leaf(items.last_mut().expect("one was pushed"), rest, leaf);
            }
        }
        [key, rest @ ..] => {
            if !tree.is_object() {
                *tree = Value::Object(Map::new());
            }
            insert_leaf(&mut tree[*key], rest, leaf);
        }
    }
}

/// Percent-decoded text; `+` is a space in forms and queries, and itself in paths.
pub(super) fn percent_decode(text: &[u8], is_form: bool) -> Result<Cow<'_, str>, Unreadable> {
    if !text.iter().any(|byte| *byte == b'%' || is_form && *byte == b'+') {
        return std::str::from_utf8(text).map(Cow::Borrowed).map_err(|_| Unreadable);
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        decoded.push(match byte {
            b'%' => {
                let digit = |at: usize| (*after.get(at)? as char).to_digit(16);
                let byte = digit(0).zip(digit(1)).map(|(high, low)| (high * 16 + low) as u8);
                rest = after.get(2..).unwrap_or_default();
                byte.ok_or(Unreadable)?
            }
            b'+' if is_form => b' ',
            byte => *byte,
        });
    }
    String::from_utf8(decoded).map(Cow::Owned).map_err(|_| Unreadable)
}
