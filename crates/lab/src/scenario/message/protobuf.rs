//! Protobuf messages by the files that a scenario names: which fields they have, what a scenario may write for each, and
//! the fields that a path into a frame leads through.

use std::collections::BTreeMap;

use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};
use protox::file::{File, FileResolver, GoogleFileResolver};

use super::super::value_match::{PathSegment, ProtobufPath};
use super::WireType;
use crate::format::known_names;

/// What a scenario may write for a value.
pub(super) fn expected(kind: &Kind) -> String {
    let text = match kind {
        Kind::Double | Kind::Float => "a number",
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => "a whole number of 32 bits",
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => "a whole number of 64 bits",
        Kind::Uint32 | Kind::Fixed32 => "a whole number of 32 bits, not below 0",
        Kind::Uint64 | Kind::Fixed64 => "a whole number of 64 bits, not below 0",
        Kind::Bool => "true or false",
        Kind::String | Kind::Bytes => "a text",
        Kind::Message(_) => "a table of its fields",
        Kind::Enum(words) => {
            let words: Vec<String> = words.values().map(|word| word.name().to_owned()).collect();
            return format!("one of {}", words.join(", "));
        }
    };
    text.to_owned()
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
pub(super) fn compile(files: &BTreeMap<&str, &str>, names: &[String]) -> Result<DescriptorPool, (usize, String)> {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let mut compiler = protox::Compiler::with_file_resolver(ProtoFiles(files));
    compiler.include_imports(true);
    for (index, name) in names.iter().enumerate() {
        let short = name.rsplit('/').next().unwrap_or(name);
        // Only the library's debug form names line and column.
        compiler.open_file(short).map_err(|error| (index, format!("{error:?}")))?;
    }
    Ok(compiler.descriptor_pool())
}

/// A field of a message by its name.
///
/// # Errors
/// The message has no such field; the sentence lists those that it has.
pub(super) fn find_field(message: &MessageDescriptor, name: &str) -> Result<FieldDescriptor, String> {
    message.get_field_by_name(name).ok_or_else(|| {
        let known: Vec<String> = message.fields().map(|field| field.name().to_owned()).collect();
        format!("names `{name}`, which is no field of {}; known: {}", message.full_name(), known_names(&known))
    })
}

/// The path that a JSON pointer means in a message.
///
/// # Errors
/// It does not exist, or ends in a list.
pub(super) fn resolve_path(message: &MessageDescriptor, pointer: &str) -> Result<ProtobufPath, String> {
    let (mut segments, mut kind, mut has_implicit_default) = (Vec::new(), Kind::Message(message.clone()), false);
    let mut tokens = pointer.split('/').skip(1);
    while let Some(token) = tokens.next() {
        let Kind::Message(message) = kind else {
            return Err(format!("leads into `{token}`, but nothing stands inside of {}", expected(&kind)));
        };
        let field = find_field(&message, token)?;
        if field.is_map() {
            return Err(format!("leads into `{token}`, a map: its entries have no places"));
        }
        kind = field.kind();
        let is_list = field.cardinality() == Cardinality::Repeated;
        let index = match is_list {
            false => None,
            true if kind.wire_type() != WireType::LengthDelimited => {
                return Err(format!("leads into `{token}`, a list of numbers: its items have no places of their own"));
            }
            true => Some(parse_index(token, tokens.next())?),
        };
        segments.push(PathSegment { number: field.number(), index });
        has_implicit_default = !field.supports_presence() && !is_list;
    }
    if segments.is_empty() {
        return Err("must lead to a field, such as \"/moved/cell\"".to_owned());
    }
    Ok(ProtobufPath { segments, kind, has_implicit_default })
}

fn parse_index(list: &str, token: Option<&str>) -> Result<usize, String> {
    let index = token.and_then(|token| token.parse().ok());
    index.ok_or_else(|| format!("leads to the list `{list}`: say which of its items, such as /{list}/0"))
}
