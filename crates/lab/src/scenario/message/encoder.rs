//! Protobuf messages as programs: what is the same for every arrival is encoded when the scenario is read, what differs
//! is filled in without memory of its own. Refuses to know who sends them.

use super::super::document::{Node, Value};
use super::super::reader::At;
use super::super::scope::Scope;
use super::super::template::{Names, Template};
use super::schema::{Field, Schema};
use super::way::{Kind, Wire};

/// A message, ready to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encoder {
    pieces: Vec<Piece>,
}

/// A stretch of a message.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    /// The same for every arrival.
    Bytes(Vec<u8>),
    /// A value of each arrival's own, behind the field's tag.
    Value { tag: Vec<u8>, kind: Kind, template: Template },
    /// A message inside the message.
    Nested { tag: Vec<u8>, encoder: Encoder },
}

impl Encoder {
    /// Reads a table of fields. Every mistake is noted where it stands.
    pub(super) fn read(at: &At<'_>, schema: &Schema, message: usize, names: &Names) -> Option<Self> {
        let mut encoder = Self::default();
        let mut is_right = true;
        for (name, at) in at.named()? {
            is_right &= match schema.field_of(message, name) {
                Ok(field) => encoder.field(&at, schema, field, names).is_some(),
                Err(message) => {
                    at.wrong(message);
                    false
                }
            };
        }
        is_right.then_some(encoder)
    }

    fn field(&mut self, at: &At<'_>, schema: &Schema, field: &Field, names: &Names) -> Option<()> {
        if field.is_map {
            at.wrong("is a map, which the lab does not send");
            return None;
        }
        if !field.is_list {
            return self.value(at, schema, field, names);
        }
        // Every reader takes a list of numbers in either form (protobuf's encoding, packed repeated fields).
        at.list()?.iter().map(|at| self.value(at, schema, field, names)).collect()
    }

    fn value(&mut self, at: &At<'_>, schema: &Schema, field: &Field, names: &Names) -> Option<()> {
        let mut tag = Vec::new();
        push_varint(&mut tag, u64::from(field.number) << 3 | field.kind.wire() as u64);
        if let Kind::Message(message) = field.kind {
            let encoder = Self::read(at, schema, message, names)?;
            self.nested(tag, encoder);
            return Some(());
        }
        let template = template_of(at, &field.kind, names)?;
        let Some(text) = template.constant() else {
            self.pieces.push(Piece::Value { tag, kind: field.kind.clone(), template });
            return Some(());
        };
        let mut bytes = tag;
        match push_value(&mut bytes, &field.kind, text) {
            Ok(()) => {
                self.bytes(&bytes);
                Some(())
            }
            Err(message) => {
                at.wrong(message);
                None
            }
        }
    }

    fn nested(&mut self, mut tag: Vec<u8>, encoder: Self) {
        match encoder.pieces.as_slice() {
            [] => {
                tag.push(0);
                self.bytes(&tag);
            }
            [Piece::Bytes(inner)] => {
                push_varint(&mut tag, inner.len() as u64);
                tag.extend_from_slice(inner);
                self.bytes(&tag);
            }
            _ => self.pieces.push(Piece::Nested { tag, encoder }),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            Some(Piece::Bytes(last)) => last.extend_from_slice(bytes),
            _ => self.pieces.push(Piece::Bytes(bytes.to_vec())),
        }
    }

    /// Appends the message; `text` is memory that values are written into on their way.
    ///
    /// # Errors
    /// A name has no value, or one that its field cannot hold.
    pub fn fill(&self, scope: &Scope<'_>, out: &mut Vec<u8>, text: &mut String) -> Result<(), String> {
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Value { tag, kind, template } => {
                    text.clear();
                    template.render_into(scope, text)?;
                    out.extend_from_slice(tag);
                    push_value(out, kind, text)?;
                }
                Piece::Nested { tag, encoder } => {
                    out.extend_from_slice(tag);
                    let start = out.len();
                    encoder.fill(scope, out, text)?;
                    insert_length(out, start);
                }
            }
        }
        Ok(())
    }

    /// The same program with templates bound.
    pub(super) fn bind(&self, bind: &dyn Fn(&Template) -> Template) -> Self {
        let piece = |piece: &Piece| match piece {
            Piece::Bytes(bytes) => Piece::Bytes(bytes.clone()),
            Piece::Value { tag, kind, template } => {
                Piece::Value { tag: tag.clone(), kind: kind.clone(), template: bind(template) }
            }
            Piece::Nested { tag, encoder } => Piece::Nested { tag: tag.clone(), encoder: encoder.bind(bind) },
        };
        Self { pieces: self.pieces.iter().map(piece).collect() }
    }

    /// Every template of it.
    pub(super) fn templates(&self) -> Vec<&Template> {
        let mut all = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(_) => {}
                Piece::Value { template, .. } => all.push(template),
                Piece::Nested { encoder, .. } => all.append(&mut encoder.templates()),
            }
        }
        all
    }
}

/// The text of a value. What a message, a list or an empty text cannot be is said here.
fn template_of(at: &At<'_>, kind: &Kind, names: &Names) -> Option<Template> {
    let Node { value, .. } = at.node;
    match (value, kind) {
        (Value::Flag(flag), Kind::Bool) => Some(Template::plain(flag.to_string())),
        (Value::Text(text), Kind::Text | Kind::Bytes) if text.is_empty() => Some(Template::default()),
        (Value::Text(_) | Value::Int(_) | Value::Float(_), _) => Template::read(at, names),
        (Value::Flag(_) | Value::List(_) | Value::Table(_), _) => {
            at.wrong(format!("must be {}, not {}", kind.expected(), at.node.kind()));
            None
        }
    }
}

/// Puts the length of what stands behind `start` in front of it.
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

fn push_value(out: &mut Vec<u8>, kind: &Kind, text: &str) -> Result<(), String> {
    let wrong = || format!("must be {}, not \"{text}\"", kind.expected());
    match kind.wire() {
        Wire::Varint => push_varint(out, varint_of(kind, text).ok_or_else(wrong)?),
        Wire::Fixed32 => out.extend_from_slice(&fixed32_of(kind, text).ok_or_else(wrong)?),
        Wire::Fixed64 => out.extend_from_slice(&fixed64_of(kind, text).ok_or_else(wrong)?),
        Wire::Length => {
            push_varint(out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
    }
    Ok(())
}

/// Negative numbers take all ten groups, except in the zigzag of `sint`.
fn varint_of(kind: &Kind, text: &str) -> Option<u64> {
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
            let named = words.iter().find(|(word, _)| word == text).map(|(_, number)| *number);
            named.or_else(|| text.parse().ok()).map(|number| i64::from(number) as u64)
        }
        _ => None,
    }
}

fn fixed32_of(kind: &Kind, text: &str) -> Option<[u8; 4]> {
    match kind {
        Kind::Float => text.parse::<f32>().ok().map(f32::to_le_bytes),
        Kind::Sfixed32 => text.parse::<i32>().ok().map(i32::to_le_bytes),
        _ => text.parse::<u32>().ok().map(u32::to_le_bytes),
    }
}

fn fixed64_of(kind: &Kind, text: &str) -> Option<[u8; 8]> {
    match kind {
        Kind::Double => text.parse::<f64>().ok().map(f64::to_le_bytes),
        Kind::Sfixed64 => text.parse::<i64>().ok().map(i64::to_le_bytes),
        _ => text.parse::<u64>().ok().map(u64::to_le_bytes),
    }
}
