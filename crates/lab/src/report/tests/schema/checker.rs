//! The part of JSON Schema 2020-12 that the schema of a record uses. An unknown keyword makes it panic, so that the
//! schema promises nothing that is not checked. Reads no files.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keywords that do not constrain values.
const ANNOTATION_KEYWORDS: [&str; 4] = ["$schema", "$defs", "title", "description"];

pub(crate) struct SchemaChecker<'a> {
    schema: &'a Value,
    /// Members that were found, by their path in the schema.
    seen_members: BTreeSet<String>,
}

/// A position in the schema, and one in the value.
#[derive(Clone, Copy)]
struct CheckPosition<'a> {
    rule: &'a str,
    value: &'a str,
}

impl<'a> SchemaChecker<'a> {
    pub(crate) fn new(schema: &'a Value) -> Self {
        Self { schema, seen_members: BTreeSet::new() }
    }

    /// All violations of the schema by the value.
    pub(crate) fn check(&mut self, value: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.walk(self.schema, value, CheckPosition { rule: "#", value: "" }, &mut errors);
        errors
    }

    /// Members that were found.
    pub(crate) fn seen_members(&self) -> &BTreeSet<String> {
        &self.seen_members
    }

    /// Members that the schema describes.
    pub(crate) fn described_members(&self) -> BTreeSet<String> {
        let mut described = BTreeSet::new();
        let members = |rule: &'a Value| rule.get("properties").and_then(Value::as_object);
        let definitions = self.schema["$defs"].as_object().into_iter().flatten();
        let named = definitions.map(|(name, rule)| (format!("#/$defs/{name}"), rule));
        for (position, rule) in named.chain([("#".to_owned(), self.schema)]) {
            described.extend(members(rule).into_iter().flatten().map(|(name, _)| format!("{position}/{name}")));
        }
        described
    }

    fn walk(&mut self, rule: &'a Value, value: &Value, at: CheckPosition<'_>, errors: &mut Vec<String>) {
        let keywords = match rule {
            Value::Bool(true) => return,
            Value::Object(keywords) => keywords,
            other => panic!("{} is no schema: {other}", at.rule),
        };
        for (keyword, wanted) in keywords {
            match keyword.as_str() {
                "$ref" => self.check_reference(wanted, value, at, errors),
                "type" if !is_type(wanted, value) => errors.push(format!("{} is no {}", at.value, type_names(wanted))),
                "const" if value != wanted => errors.push(format!("{} is not {wanted}", at.value)),
                "enum" if !list(wanted).contains(value) => errors.push(format!("{} is none of its words", at.value)),
                "minimum" if value.as_f64() < wanted.as_f64() && value.is_number() => {
                    errors.push(format!("{} is below {wanted}", at.value));
                }
                "anyOf" => self.check_any_of(list(wanted), value, at, errors),
                "required" => {
                    let missing =
                        list(wanted).iter().filter_map(Value::as_str).filter(|name| value.get(name).is_none());
                    errors.extend(missing.map(|name| format!("{}/{name} is missing", at.value)));
                }
                "items" => {
                    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.walk(wanted, item, CheckPosition { value: &format!("{}/{i}", at.value), ..at }, errors);
                    }
                }
                "properties" | "additionalProperties" => {}
                "type" | "const" | "enum" | "minimum" => {}
                word if ANNOTATION_KEYWORDS.contains(&word) => {}
                unknown => panic!("{} has the keyword {unknown}, which nobody checks", at.rule),
            }
        }
        self.check_members(keywords, value, at, errors);
    }

    fn check_reference(&mut self, target: &Value, value: &Value, at: CheckPosition<'_>, errors: &mut Vec<String>) {
        let target = target.as_str().expect("a reference is a text");
        let rule =
            self.schema.pointer(target.trim_start_matches('#')).unwrap_or_else(|| panic!("{target} leads nowhere"));
        self.walk(rule, value, CheckPosition { rule: target, ..at }, errors);
    }

    fn check_any_of(&mut self, rules: &'a [Value], value: &Value, at: CheckPosition<'_>, errors: &mut Vec<String>) {
        let holds = rules.iter().any(|rule| {
            let mut inner = Vec::new();
            self.walk(rule, value, at, &mut inner);
            inner.is_empty()
        });
        if !holds {
            errors.push(format!("{} is none of what it may be", at.value));
        }
    }

    fn check_members(
        &mut self,
        keywords: &'a Map<String, Value>,
        value: &Value,
        at: CheckPosition<'_>,
        errors: &mut Vec<String>,
    ) {
        let known = keywords.get("properties");
        for (name, member) in value.as_object().into_iter().flatten() {
            let below = format!("{}/{name}", at.value);
            let rule = known.and_then(|known| known.get(name));
            if rule.is_some() {
                self.seen_members.insert(format!("{}/{name}", at.rule));
            }
            match rule.or(keywords.get("additionalProperties")) {
                Some(Value::Bool(false)) => errors.push(format!("{below} is not described")),
                Some(rule) => self.walk(rule, member, CheckPosition { value: &below, ..at }, errors),
                None => {}
            }
        }
    }
}

/// Checks that everything written is described.
#[track_caller]
pub(crate) fn check_described(schema: &Value, documents: &[Value], renew: &str) {
    for document in documents {
        assert_eq!(SchemaChecker::new(schema).check(document), Vec::<String>::new(), "{renew}");
    }
}

/// Checks that everything described is written in one of these documents.
#[track_caller]
pub(crate) fn check_written(schema: &Value, documents: &[Value], renew: &str) {
    let mut checker = SchemaChecker::new(schema);
    documents.iter().for_each(|document| drop(checker.check(document)));
    let described = checker.described_members();
    let missing: Vec<&String> = described.difference(checker.seen_members()).collect();
    assert!(missing.is_empty(), "{renew}: {missing:?}");
}

/// Checks that a document with this change at this path is rejected for this reason.
#[track_caller]
pub(crate) fn check_refused(
    schema: &Value,
    mut document: Value,
    pointer: &str,
    change: impl FnOnce(&mut Value),
    expected: &str,
) {
    change(document.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is in the document")));
    let errors = SchemaChecker::new(schema).check(&document);
    assert!(errors.iter().any(|error| error == expected), "{errors:?}");
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

fn is_type(wanted: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other} is no type"),
    };
    list(wanted).iter().filter_map(Value::as_str).any(is)
}

fn type_names(types: &Value) -> String {
    list(types).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
}
