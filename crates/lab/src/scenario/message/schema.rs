//! The messages of a protobuf schema as a small table, made once from the files that a scenario names: which fields a
//! message has, with numbers and types. Keeps nothing of a file that no message needs.

use std::collections::BTreeMap;

use prost_reflect::{DescriptorPool, FieldDescriptor, MessageDescriptor};
use protox::file::{File, FileResolver, GoogleFileResolver};

use super::frame_path::{FieldType, PathSegment, ProtobufPath, WireType};
use crate::format::known_names;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    messages: Vec<MessageType>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct MessageType {
    name: String,
    fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    name: String,
    pub(super) number: u32,
    pub(super) field_type: FieldType,
    pub(super) is_repeated: bool,
    /// Whether an omitted value differs from zero.
    has_presence: bool,
    pub(super) is_map: bool,
}

/// The files of a scenario by name; those of the language itself are always available.
struct ProtoFiles(BTreeMap<String, String>);

impl FileResolver for ProtoFiles {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match self.0.iter().find(|(known, _)| matches_import(known, name)) {
            Some((_, text)) => File::from_source(name, text),
            None => GoogleFileResolver::new().open_file(name),
        }
    }
}

/// Whether a known file is the one that an import names: files import each other without the folder under which the
/// scenario names them.
fn matches_import(known: &str, name: &str) -> bool {
    known == name || known.strip_suffix(name).is_some_and(|rest| rest.ends_with('/'))
}

/// Compiles files; every name in them is found.
///
/// # Errors
/// The index of the file that is wrong, and a sentence that says where in it and why.
pub(super) fn compile(files: &BTreeMap<String, String>, names: &[String]) -> Result<DescriptorPool, (usize, String)> {
    let mut compiler = protox::Compiler::with_file_resolver(ProtoFiles(files.clone()));
    compiler.include_imports(true);
    for (place, name) in names.iter().enumerate() {
        let short = name.rsplit('/').next().unwrap_or(name);
        // Only the library's debug form names line and column.
        compiler.open_file(short).map_err(|error| (place, format!("{error:?}")))?;
    }
    Ok(compiler.descriptor_pool())
}

impl Schema {
    /// Adds a message and everything it consists of; returns its index.
    pub(super) fn add_message(&mut self, message: &MessageDescriptor) -> usize {
        let name = message.full_name();
        if let Some(known) = self.messages.iter().position(|known| known.name == name) {
            return known;
        }
        let place = self.messages.len();
        // Added before its fields: a message may contain itself.
        self.messages.push(MessageType { name: name.to_owned(), fields: Vec::new() });
        let fields: Vec<Field> = message.fields().map(|field| self.convert_field(&field)).collect();
        self.messages[place].fields = fields;
        place
    }

    fn convert_field(&mut self, field: &FieldDescriptor) -> Field {
        Field {
            name: field.name().to_owned(),
            number: field.number(),
            field_type: self.convert_type(field),
            is_repeated: field.is_list(),
            has_presence: field.supports_presence(),
            is_map: field.is_map(),
        }
    }

    fn convert_type(&mut self, field: &FieldDescriptor) -> FieldType {
        use prost_reflect::Kind as Found;
        match field.kind() {
            Found::Double => FieldType::Double,
            Found::Float => FieldType::Float,
            Found::Int32 => FieldType::Int32,
            Found::Int64 => FieldType::Int64,
            Found::Uint32 => FieldType::Uint32,
            Found::Uint64 => FieldType::Uint64,
            Found::Sint32 => FieldType::Sint32,
            Found::Sint64 => FieldType::Sint64,
            Found::Fixed32 => FieldType::Fixed32,
            Found::Fixed64 => FieldType::Fixed64,
            Found::Sfixed32 => FieldType::Sfixed32,
            Found::Sfixed64 => FieldType::Sfixed64,
            Found::Bool => FieldType::Bool,
            Found::String => FieldType::Text,
            Found::Bytes => FieldType::Bytes,
            Found::Message(message) => FieldType::Message(self.add_message(&message)),
            Found::Enum(words) => {
                let words = words.values().map(|word| (word.name().to_owned(), word.number()));
                FieldType::Enum(words.collect::<Vec<_>>().into())
            }
        }
    }

    /// A field of a message by its name.
    ///
    /// # Errors
    /// The message has no such field; the sentence lists those that it has.
    pub(super) fn find_field(&self, message: usize, name: &str) -> Result<&Field, String> {
        let message = &self.messages[message];
        message.fields.iter().find(|field| field.name == name).ok_or_else(|| {
            let known: Vec<&str> = message.fields.iter().map(|field| field.name.as_str()).collect();
            format!("names `{name}`, which is no field of {}; known: {}", message.name, known_names(known))
        })
    }

    /// The path that a JSON pointer means in a message.
    ///
    /// # Errors
    /// It does not exist, or ends in a list.
    pub(super) fn resolve_path(&self, message: usize, pointer: &str) -> Result<ProtobufPath, String> {
        let (mut hops, mut kind, mut has_zero) = (Vec::new(), FieldType::Message(message), false);
        let mut tokens = pointer.split('/').skip(1).peekable();
        while let Some(token) = tokens.next() {
            let FieldType::Message(at) = kind else {
                return Err(format!("leads into `{token}`, but nothing stands inside of {}", kind.expected()));
            };
            let field = self.find_field(at, token)?;
            if field.is_map {
                return Err(format!("leads into `{token}`, a map: its entries have no places"));
            }
            let index = match field.is_repeated {
                false => None,
                true if field.field_type.wire_type() != WireType::Length => {
                    return Err(format!(
                        "leads into `{token}`, a list of numbers: its items have no places of their own"
                    ));
                }
                true => Some(parse_index(token, tokens.next())?),
            };
            hops.push(PathSegment { number: field.number, index });
            has_zero = !field.has_presence && !field.is_repeated;
            kind = field.field_type.clone();
        }
        if hops.is_empty() {
            return Err("must lead to a field, such as \"/moved/cell\"".to_owned());
        }
        Ok(ProtobufPath { segments: hops, field_type: kind, has_implicit_default: has_zero })
    }
}

fn parse_index(list: &str, token: Option<&str>) -> Result<usize, String> {
    let index = token.and_then(|token| token.parse().ok());
    index.ok_or_else(|| format!("leads to the list `{list}`: say which of its items, such as /{list}/0"))
}
