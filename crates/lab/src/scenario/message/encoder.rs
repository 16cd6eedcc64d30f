//! Protobuf messages as programs: what is the same for every arrival is encoded when the scenario is read, what differs
//! is filled in without allocating. Does not know who sends them.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

use super::super::reader::NodeReader;
use super::super::scope::Scope;
use super::super::template::{Template, TemplateNames};
use super::super::tree::{Node, Value};
use super::protobuf::{expected, find_field};
use super::{WireType, encode_varint};

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
    Value { tag: Vec<u8>, kind: Kind, template: Template },
    /// A message inside the message.
    Nested { tag: Vec<u8>, encoder: ProtobufEncoder },
}

impl ProtobufEncoder {
    /// Reads a table of fields. Every error is added where it was written.
    pub(super) fn read(at: &NodeReader<'_>, message: &MessageDescriptor, names: &TemplateNames) -> Option<Self> {
        let mut encoder = Self::default();
        let fields = at.entries(|name, at| {
            Some(at.accept(find_field(message, name)).and_then(|field| encoder.push_field(at, &field, names)))
        });
        (at.is_table() && fields.iter().all(Option::is_some)).then_some(encoder)
    }

    fn push_field(&mut self, at: &NodeReader<'_>, field: &FieldDescriptor, names: &TemplateNames) -> Option<()> {
        if field.is_map() {
            return at.reject("is a map, which the lab does not send");
        }
        if !field.is_list() {
            return self.push_field_value(at, field, names);
        }
        // Every decoder accepts a list of numbers in either form (protobuf's encoding, packed repeated fields).
        at.list()?.iter().map(|at| self.push_field_value(at, field, names)).collect()
    }

    fn push_field_value(&mut self, at: &NodeReader<'_>, field: &FieldDescriptor, names: &TemplateNames) -> Option<()> {
        let kind = field.kind();
        let mut tag = Vec::new();
        encode_varint(u64::from(field.number()) << 3 | kind.wire_type() as u64, &mut tag);
        if let Kind::Message(message) = &kind {
            let encoder = Self::read(at, message, names)?;
            self.push_nested(tag, encoder);
            return Some(());
        }
        let template = read_field_template(at, &kind, names)?;
        let Some(text) = template.as_constant() else {
            self.fragments.push(MessageFragment::Value { tag, kind, template });
            return Some(());
        };
        let mut bytes = tag;
        at.accept(push_value(&mut bytes, &kind, text))?;
        self.push_bytes(&bytes);
        Some(())
    }

    fn push_nested(&mut self, mut tag: Vec<u8>, encoder: Self) {
        match encoder.fragments.as_slice() {
            [] => {
                tag.push(0);
                self.push_bytes(&tag);
            }
            [MessageFragment::Bytes(inner)] => {
                encode_varint(inner.len() as u64, &mut tag);
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
        for fragment in &self.fragments {
            match fragment {
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

    pub(super) fn visit_templates(&mut self, visit: &mut dyn FnMut(&mut Template)) {
        for fragment in &mut self.fragments {
            match fragment {
                MessageFragment::Bytes(_) => {}
                MessageFragment::Value { template, .. } => visit(template),
                MessageFragment::Nested { encoder, .. } => encoder.visit_templates(visit),
            }
        }
    }
}

/// The text of a value. Values that cannot be a message, a list or an empty text are rejected here.
fn read_field_template(at: &NodeReader<'_>, kind: &Kind, names: &TemplateNames) -> Option<Template> {
    let Node { value, .. } = at.node;
    match (value, kind) {
        (Value::Bool(flag), Kind::Bool) => Some(Template::from_text(flag.to_string())),
        (Value::Text(text), Kind::String | Kind::Bytes) if text.is_empty() => Some(Template::default()),
        (Value::Text(_) | Value::Int(_) | Value::Float(_), _) => Template::read(at, names),
        (Value::Bool(_) | Value::Array(_) | Value::Table(_), _) => {
            at.reject(format!("must be {}, not {}", expected(kind), at.node.kind()))
        }
    }
}

/// Inserts the length of what follows `start` in front of it.
fn insert_length(out: &mut Vec<u8>, start: usize) {
    let end = out.len();
    encode_varint((end - start) as u64, out);
    let prefix = out.len() - end;
    out[start..].rotate_right(prefix);
}

fn push_value(out: &mut Vec<u8>, kind: &Kind, text: &str) -> Result<(), String> {
    let wrong = || format!("must be {}, not \"{text}\"", expected(kind));
    match kind.wire_type() {
        WireType::Varint => encode_varint(parse_varint(kind, text).ok_or_else(wrong)?, out),
        WireType::ThirtyTwoBit => out.extend_from_slice(&parse_fixed32(kind, text).ok_or_else(wrong)?),
        WireType::SixtyFourBit => out.extend_from_slice(&parse_fixed64(kind, text).ok_or_else(wrong)?),
        WireType::LengthDelimited | WireType::StartGroup | WireType::EndGroup => {
            encode_varint(text.len() as u64, out);
            out.extend_from_slice(text.as_bytes());
        }
    }
    Ok(())
}

/// Negative numbers take all ten groups, except in the zigzag encoding of `sint`.
fn parse_varint(kind: &Kind, text: &str) -> Option<u64> {
    let zigzag = |value: i64| (value << 1 ^ value >> 63) as u64;
    match kind {
        Kind::Int32 => text.parse::<i32>().ok().map(|value| i64::from(value) as u64),
        Kind::Int64 => text.parse::<i64>().ok().map(|value| value as u64),
        Kind::Uint32 => text.parse::<u32>().ok().map(u64::from),
        Kind::Uint64 => text.parse().ok(),
        Kind::Sint32 => text.parse::<i32>().ok().map(|value| zigzag(value.into())),
        Kind::Sint64 => text.parse().ok().map(zigzag),
        Kind::Bool => text.parse::<bool>().ok().map(u64::from),
        Kind::Enum(words) => {
            let named = words.get_value_by_name(text).map(|word| word.number());
            named.or_else(|| text.parse().ok()).map(|number| i64::from(number) as u64)
        }
        _ => None,
    }
}

fn parse_fixed32(kind: &Kind, text: &str) -> Option<[u8; 4]> {
    match kind {
        Kind::Float => text.parse::<f32>().ok().map(f32::to_le_bytes),
        Kind::Sfixed32 => text.parse::<i32>().ok().map(i32::to_le_bytes),
        _ => text.parse::<u32>().ok().map(u32::to_le_bytes),
    }
}

fn parse_fixed64(kind: &Kind, text: &str) -> Option<[u8; 8]> {
    match kind {
        Kind::Double => text.parse::<f64>().ok().map(f64::to_le_bytes),
        Kind::Sfixed64 => text.parse::<i64>().ok().map(i64::to_le_bytes),
        _ => text.parse::<u64>().ok().map(u64::to_le_bytes),
    }
}
