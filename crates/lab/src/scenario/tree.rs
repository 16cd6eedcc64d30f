//! A scenario as a tree of values that remember where they were written, so that arguments can change any of them and
//! every error can name its origin. Does not know what the keys mean.

use indexmap::IndexMap;
use toml::de::{DeTable, DeValue};

use super::validation::{Origin, ValidationErrors};

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    Array(Vec<Node>),
    /// Keys in the order in which they are written.
    Table(IndexMap<String, Node>),
}

impl Node {
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a text",
            Value::Int(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Bool(_) => "true or false",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    pub(crate) fn as_table(&self) -> Option<&IndexMap<String, Node>> {
        if let Value::Table(entries) = &self.value { Some(entries) } else { None }
    }

    pub(super) fn as_table_mut(&mut self) -> Option<&mut IndexMap<String, Node>> {
        if let Value::Table(entries) = &mut self.value { Some(entries) } else { None }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.as_table()?.get(key)
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        let Value::Text(text) = &self.value else { return None };
        Some(text)
    }

    /// A text, a number or a flag as it is written into a text; none for lists and tables.
    pub(super) fn as_plain_text(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.clone()),
            Value::Int(int) => Some(int.to_string()),
            Value::Float(float) => Some(float.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Array(_) | Value::Table(_) => None,
        }
    }

    /// The text under a key of this table.
    pub(super) fn text_at(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// The items of this list; none if it is something else.
    pub(super) fn items(&self) -> &[Node] {
        if let Value::Array(items) = &self.value { items } else { &[] }
    }

    /// The items of the list under a key of this table.
    pub(super) fn items_of(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Node::items)
    }

    /// The entries of the table under a key of this table.
    pub(super) fn entries_of(&self, key: &str) -> impl Iterator<Item = (&String, &Node)> {
        self.get(key).and_then(Node::as_table).into_iter().flatten()
    }
}

pub(super) fn line_number(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

pub(super) fn convert_table(table: &DeTable<'_>, origin: &dyn Fn(usize) -> Origin) -> Result<Value, ValidationErrors> {
    let mut written: Vec<_> = table.iter().collect();
    written.sort_by_key(|(key, _)| key.span().start);
    let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        // The origin of the key, not of the value: a value may start lines below its key.
        let value = convert_value(value.get_ref(), &key.span(), origin)?;
        Ok((ToString::to_string(key.get_ref()), Node { value, origin: origin(key.span().start) }))
    };
    written.into_iter().map(entry).collect::<Result<_, _>>().map(Value::Table)
}

fn convert_value(
    value: &DeValue<'_>,
    span: &std::ops::Range<usize>,
    origin: &dyn Fn(usize) -> Origin,
) -> Result<Value, ValidationErrors> {
    let refuse = |message: &str| ValidationErrors::single(origin(span.start), "", message);
    Ok(match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(int) => {
            let digits = i64::from_str_radix(int.as_str(), int.radix());
            Value::Int(digits.map_err(|_| refuse("a whole number must fit 64 bits"))?)
        }
        DeValue::Float(float) => {
            Value::Float(float.as_str().parse().map_err(|_| refuse("this number cannot be read"))?)
        }
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(_) => return Err(refuse("dates have no meaning in a scenario: write a text in quotes")),
        DeValue::Array(items) => {
            let item = |item: &toml::Spanned<DeValue<'_>>| {
                let value = convert_value(item.get_ref(), &item.span(), origin)?;
                Ok(Node { value, origin: origin(item.span().start) })
            };
            Value::Array(items.iter().map(item).collect::<Result<_, ValidationErrors>>()?)
        }
        DeValue::Table(table) => convert_table(table, origin)?,
    })
}

/// The right side of `--set`: a TOML value if it parses as one, else the text itself.
pub(super) fn parse_setting_value(text: &str, origin: &Origin) -> Value {
    let line = format!("v = {text}");
    let same = |_: usize| origin.clone();
    let table = DeTable::parse(&line).ok().filter(|table| table.get_ref().len() == 1);
    let value = table.and_then(|table| convert_value(table.get_ref().get("v")?.get_ref(), &(0..0), &same).ok());
    value.unwrap_or_else(|| Value::Text(text.to_owned()))
}

pub(crate) fn join_path(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
