//! Looks up values by JSON pointer (RFC 6901) in one pass over the text: no tree is built for the rest of the response.
//! Does not know what the values are for.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::failure::{Failure, excerpt};
use crate::measurement::ErrorKind;

/// The value at `pointer`, if there is one.
///
/// # Errors
/// The text is not JSON.
pub(crate) fn find(text: &[u8], pointer: &str) -> Result<Option<Value>, Failure> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let found = PointerRest(pointer).deserialize(&mut reader).and_then(|found| reader.end().map(|()| found));
    found.map_err(|error| Failure::new(ErrorKind::Answer, format!("not JSON ({error}): {}", excerpt(text))))
}

/// The text of a value that is no list, no object and not null.
pub(crate) fn scalar_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The rest of the pointer: empty, or a slash and what follows.
#[derive(Clone, Copy)]
struct PointerRest<'p>(&'p str);

impl<'p> PointerRest<'p> {
    /// The next token of the pointer, and the pointer after it.
    fn split_token(self) -> (&'p str, Self) {
        let rest = self.0.strip_prefix('/').unwrap_or(self.0);
        match rest.find('/') {
            Some(at) => (&rest[..at], Self(&rest[at..])),
            None => (rest, Self("")),
        }
    }
}

/// Whether a pointer's token names a key of an object.
fn matches_key(token: &str, key: &str) -> bool {
    if !token.contains('~') {
        return token == key;
    }
    token.replace("~1", "/").replace("~0", "~") == key
}

/// The index that a pointer's token names in a list: digits without a leading zero.
fn array_index(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    token.parse().ok().filter(|_| plain)
}

impl<'de> DeserializeSeed<'de> for PointerRest<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Option<Value>, D::Error> {
        match self.0 {
            "" => serde::Deserialize::deserialize(reader).map(Some),
            _ => reader.deserialize_any(self),
        }
    }
}

/// A key, compared in place.
struct KeyMatcher<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for KeyMatcher<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyMatcher<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        Ok(matches_key(self.0, key))
    }
}

impl<'de> Visitor<'de> for PointerRest<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    /// If a key occurs twice, the last one counts.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Value>, A::Error> {
        let (token, rest) = self.split_token();
        let mut found = None;
        while let Some(wanted) = map.next_key_seed(KeyMatcher(token))? {
            if wanted {
                found = map.next_value_seed(rest)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<Value>, A::Error> {
        let (token, rest) = self.split_token();
        let wanted = array_index(token);
        let (mut found, mut at) = (None, 0);
        loop {
            if wanted == Some(at) {
                match list.next_element_seed(rest)? {
                    Some(value) => found = value,
                    None => return Ok(found),
                }
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(found);
            }
            at += 1;
        }
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<Value>, E> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, pointer: &str, expected: Option<&str>) {
        let found = find(text.as_bytes(), pointer).unwrap();
        assert_eq!(found.map(|value| value.to_string()).as_deref(), expected, "{pointer} in {text}");
    }

    #[test]
    fn values() {
        let text = r#" {"id": 7, "a": {"b": [10, {"c": "d"}], "": true}, "x/y": 1, "m~n": 2, "id": "last"} "#;
        check(text, "/id", Some("\"last\""));
        check(text, "/a/b/0", Some("10"));
        check(text, "/a/b/1/c", Some("\"d\""));
        check(text, "/a/b", Some(r#"[10,{"c":"d"}]"#));
        check(text, "/a/", Some("true"));
        check(text, "/x~1y", Some("1"));
        check(text, "/m~0n", Some("2"));
        check(text, "/a/b/2", None);
        check(text, "/a/b/00", None);
        check(text, "/a/b/c", None);
        check(text, "/missing", None);
        check(text, "/id/deeper", None);
        check("[1,2]", "", Some("[1,2]"));
        check("null", "/a", None);
        check(r#"{"\u0069d": 3}"#, "/id", Some("3"));
    }

    #[test]
    fn text_that_is_not_json_is_rejected_wherever_it_is_wrong() {
        for text in ["", "{", "{\"id\": 1", "{\"id\": 1} x", "{\"other\": [1, }", "<html>"] {
            assert!(find(text.as_bytes(), "/id").is_err(), "{text}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c~/\"]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ab~/0]{0,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn finds_what_a_whole_tree_would_have(json in any_json(), pointer in "(/([ab0-2]|~0|~1){0,2}){0,3}") {
            let found = find(json.to_string().as_bytes(), &pointer).unwrap();
            prop_assert_eq!(found.as_ref(), json.pointer(&pointer));
        }
    }
}
