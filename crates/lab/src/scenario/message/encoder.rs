//! Protobuf messages as programs: what is the same for every arrival is encoded when the scenario is read, what differs
//! is filled in without allocating. Does not know who sends them.

use super::super::reader::NodeReader;
use super::super::scope::Scope;
use super::super::template::{Template, TemplateNames};
use super::super::tree::{Node, Value};
use super::frame_path::{FieldType, WireType};
use super::schema::{Field, Schema};

/// A message, ready to be encoded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProtobufEncoder {
    fragments: Vec<MessageFragment>,
}

/// A section of a message.
#[derive(Clone, Debug, PartialEq)]
enum MessageFragment {
    /// The same for every arrival.
    Bytes(Vec<u8>),
    /// A value that differs per arrival, after the field's tag.
    Value { tag: Vec<u8>, kind: FieldType, template: Template },
    /// A message inside the message.
    Nested { tag: Vec<u8>, encoder: ProtobufEncoder },
}

impl ProtobufEncoder {
    /// Reads a table of fields. Every error is added where it was written.
    pub(super) fn read(at: &NodeReader<'_>, schema: &Schema, message: usize, names: &TemplateNames) -> Option<Self> {
        let mut encoder = Self::default();
        let mut is_right = true;
        for (name, at) in at.named_entries()? {
            is_right &= match schema.find_field(message, name) {
                Ok(field) => encoder.push_field(&at, schema, field, names).is_some(),
                Err(message) => {
                    at.add_error(message);
                    false
                }
            };
        }
        is_right.then_some(encoder)
    }

    fn push_field(&mut self, at: &NodeReader<'_>, schema: &Schema, field: &Field, names: &TemplateNames) -> Option<()> {
        if field.is_map {
            at.add_error("is a map, which the lab does not send");
            return None;
        }
        if !field.is_repeated {
            return self.push_field_value(at, schema, field, names);
        }
        // Every decoder accepts a list of numbers in either form (protobuf's encoding, packed repeated fields).
        at.list()?.iter().map(|at| self.push_field_value(at, schema, field, names)).collect()
    }

    fn push_field_value(
        &mut self,
        at: &NodeReader<'_>,
        schema: &Schema,
        field: &Field,
        names: &TemplateNames,
    ) -> Option<()> {
        let mut tag = Vec::new();
        push_varint(&mut tag, u64::from(field.number) << 3 | field.field_type.wire_type() as u64);
        if let FieldType::Message(message) = field.field_type {
            let encoder = Self::read(at, schema, message, names)?;
            self.push_nested(tag, encoder);
            return Some(());
        }
        let template = read_field_template(at, &field.field_type, names)?;
        let Some(text) = template.as_constant() else {
            self.fragments.push(MessageFragment::Value { tag, kind: field.field_type.clone(), template });
            return Some(());
        };
        let mut bytes = tag;
        match push_value(&mut bytes, &field.field_type, text) {
            Ok(()) => {
                self.push_bytes(&bytes);
                Some(())
            }
            Err(message) => {
                at.add_error(message);
                None
            }
        }
    }

    fn push_nested(&mut self, mut tag: Vec<u8>, encoder: Self) {
        match encoder.fragments.as_slice() {
            [] => {
                tag.push(0);
                self.push_bytes(&tag);
            }
            [MessageFragment::Bytes(inner)] => {
                push_varint(&mut tag, inner.len() as u64);
                tag.extend_from_slice(inner);
                self.push_bytes(&tag);
            }
            _ => self.fragments.push(MessageFragment::Nested { tag, encoder }),
        }
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        match self.fragments.last_mut() {
            Some(MessageFragment::Bytes(last)) => last.extend_from_slice(bytes),
            _ => self.fragments.push(MessageFragment::Bytes(bytes.to_vec())),
        }
    }

    /// Appends the message; `text` is a scratch buffer for rendered values.
    ///
    /// # Errors
    /// A name has no value, or one that its field cannot hold.
    pub fn encode(&self, scope: &Scope<'_>, out: &mut Vec<u8>, text: &mut String) -> Result<(), String> {
        for piece in &self.fragments {
            match piece {
                MessageFragment::Bytes(bytes) => out.extend_from_slice(bytes),
                MessageFragment::Value { tag, kind, template } => {
                    text.clear();
                    template.render_into(scope, text)?;
                    out.extend_from_slice(tag);
                    push_value(out, kind, text)?;
                }
                MessageFragment::Nested { tag, encoder } => {
                    out.extend_from_slice(tag);
                    let start = out.len();
                    encoder.encode(scope, out, text)?;
                    insert_length(out, start);
                }
            }
        }
        Ok(())
    }

    /// The same program with templates bound.
    pub(super) fn bind(&self, bind: &dyn Fn(&Template) -> Template) -> Self {
        let piece = |piece: &MessageFragment| match piece {
            MessageFragment::Bytes(bytes) => MessageFragment::Bytes(bytes.clone()),
            MessageFragment::Value { tag, kind, template } => {
                MessageFragment::Value { tag: tag.clone(), kind: kind.clone(), template: bind(template) }
            }
            MessageFragment::Nested { tag, encoder } => {
                MessageFragment::Nested { tag: tag.clone(), encoder: encoder.bind(bind) }
            }
        };
        Self { fragments: self.fragments.iter().map(piece).collect() }
    }

    pub(super) fn templates(&self) -> Vec<&Template> {
        let mut all = Vec::new();
        for piece in &self.fragments {
            match piece {
                MessageFragment::Bytes(_) => {}
                MessageFragment::Value { template, .. } => all.push(template),
                MessageFragment::Nested { encoder, .. } => all.append(&mut encoder.templates()),
            }
        }
        all
    }
}

/// The text of a value. Values that cannot be a message, a list or an empty text are rejected here.
fn read_field_template(at: &NodeReader<'_>, kind: &FieldType, names: &TemplateNames) -> Option<Template> {
    let Node { value, .. } = at.node;
    match (value, kind) {
        (Value::Bool(flag), FieldType::Bool) => Some(Template::from_text(flag.to_string())),
        (Value::Text(text), FieldType::Text | FieldType::Bytes) if text.is_empty() => Some(Template::default()),
        (Value::Text(_) | Value::Int(_) | Value::Float(_), _) => Template::read(at, names),
        (Value::Bool(_) | Value::Array(_) | Value::Table(_), _) => {
            at.add_error(format!("must be {}, not {}", kind.expected(), at.node.kind()));
            None
        }
    }
}

/// Inserts the length of what follows `start` in front of it.
fn insert_length(out: &mut Vec<u8>, start: usize) {
    let end = out.len();
    push_varint(out, (end - start) as u64);
    let prefix = out.len() - end;
    out[start..].rotate_right(prefix);
}

/// A number in groups of seven bits, the lowest first.
pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn push_value(out: &mut Vec<u8>, kind: &FieldType, text: &str) -> Result<(), String> {
    let wrong = || format!("must be {}, not \"{text}\"", kind.expected());
    match kind.wire_type() {
        WireType::Varint => push_varint(out, parse_varint(kind, text).ok_or_else(wrong)?),
        WireType::Fixed32 => out.extend_from_slice(&parse_fixed32(kind, text).ok_or_else(wrong)?),
        WireType::Fixed64 => out.extend_from_slice(&parse_fixed64(kind, text).ok_or_else(wrong)?),
        WireType::Length => {
            push_varint(out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
    }
    Ok(())
}

/// Negative numbers take all ten groups, except in the zigzag encoding of `sint`.
fn parse_varint(kind: &FieldType, text: &str) -> Option<u64> {
    let zigzag = |value: i64| (value << 1 ^ value >> 63) as u64;
    match kind {
        FieldType::Int32 => text.parse::<i32>().ok().map(|value| i64::from(value) as u64),
        FieldType::Int64 => text.parse::<i64>().ok().map(|value| value as u64),
        FieldType::Uint32 => text.parse::<u32>().ok().map(u64::from),
        FieldType::Uint64 => text.parse().ok(),
        FieldType::Sint32 => text.parse::<i32>().ok().map(|value| zigzag(value.into())),
        FieldType::Sint64 => text.parse().ok().map(zigzag),
        FieldType::Bool => text.parse::<bool>().ok().map(u64::from),
        FieldType::Enum(words) => {
            let named = words.iter().find(|(word, _)| word == text).map(|(_, number)| *number);
            named.or_else(|| text.parse().ok()).map(|number| i64::from(number) as u64)
        }
        _ => None,
    }
}

fn parse_fixed32(kind: &FieldType, text: &str) -> Option<[u8; 4]> {
    match kind {
        FieldType::Float => text.parse::<f32>().ok().map(f32::to_le_bytes),
        FieldType::Sfixed32 => text.parse::<i32>().ok().map(i32::to_le_bytes),
        _ => text.parse::<u32>().ok().map(u32::to_le_bytes),
    }
}

fn parse_fixed64(kind: &FieldType, text: &str) -> Option<[u8; 8]> {
    match kind {
        FieldType::Double => text.parse::<f64>().ok().map(f64::to_le_bytes),
        FieldType::Sfixed64 => text.parse::<i64>().ok().map(i64::to_le_bytes),
        _ => text.parse::<u64>().ok().map(u64::to_le_bytes),
    }
}
