//! Reads typed values out of a document and collects every error on the way instead of stopping at the first. Does not
//! know scenarios: only texts, numbers, durations, lists and tables with a stated set of keys.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::tree::{Node, TableEntry, Value, join_path};
use super::validation::ErrorCollector;
use crate::limits::RATE_PER_S_MAX;

/// First segments of the names that templates define themselves.
const BUILTIN_NAMES: [&str; 8] = ["run", "pick", "feed", "key", "uuid", "index", "round", "nth"];

/// One value, its path, and the collector for errors about it.
#[derive(Clone)]
pub(crate) struct NodeReader<'a> {
    pub(crate) node: &'a Node,
    pub(crate) path: String,
    pub(crate) errors: &'a ErrorCollector,
}

impl<'a> NodeReader<'a> {
    pub(crate) fn new(node: &'a Node, path: &str, notes: &'a ErrorCollector) -> Self {
        Self { node, path: path.to_owned(), errors: notes }
    }

    /// Adds an error about this value.
    pub(crate) fn add_error(&self, message: impl Into<String>) {
        self.errors.add(&self.node.origin, &self.path, message);
    }

    fn expected<T>(&self, what: &str) -> Option<T> {
        self.add_error(format!("must be {what}, not {}", self.node.kind()));
        None
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        match &self.node.value {
            Value::Text(text) if text.is_empty() => {
                self.add_error("must not be empty");
                None
            }
            Value::Text(text) => Some(text),
            _ => self.expected("a text"),
        }
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        match self.node.value {
            Value::Bool(flag) => Some(flag),
            _ => self.expected("true or false"),
        }
    }

    pub(crate) fn int(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let (low, high) = (range.start(), range.end());
        let Value::Int(int) = self.node.value else {
            return self.expected(&format!("a whole number from {low} to {high}"));
        };
        let found = u64::try_from(int).ok().filter(|int| range.contains(int));
        if found.is_none() {
            self.add_error(format!("must be from {low} to {high}, not {int}"));
        }
        found
    }

    pub(crate) fn float(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let (low, high) = (range.start(), range.end());
        let number = match self.node.value {
            Value::Int(int) => int as f64,
            Value::Float(float) => float,
            _ => return self.expected(&format!("a number from {low} to {high}")),
        };
        if range.contains(&number) {
            return Some(number);
        }
        self.add_error(format!("must be from {low} to {high}, not {number}"));
        None
    }

    /// A number per second above zero.
    pub(crate) fn rate(&self) -> Option<f64> {
        let rate = match self.node.value {
            Value::Int(int) => int as f64,
            Value::Float(float) => float,
            _ => return self.expected(&format!("a number above 0, and at most {RATE_PER_S_MAX}")),
        };
        let fits = rate > 0.0 && rate <= RATE_PER_S_MAX;
        if !fits {
            self.add_error(format!("must be above 0, and at most {RATE_PER_S_MAX}, not {rate}"));
        }
        fits.then_some(rate)
    }

    /// An amount of memory in powers of 1024.
    pub(crate) fn bytes(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let expected = "a size such as \"64KiB\", \"512MiB\" or \"2GiB\"";
        let Value::Text(text) = &self.node.value else { return self.expected(expected) };
        match parse_bytes(text) {
            Some(bytes) if range.contains(&bytes) => Some(bytes),
            Some(_) => {
                self.add_error(format!(
                    "must be from {} to {}, not {text}",
                    format_bytes(*range.start()),
                    format_bytes(*range.end())
                ));
                None
            }
            None => {
                self.add_error(format!("must be {expected}, not \"{text}\""));
                None
            }
        }
    }

    /// One of a few words, each with its meaning.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        let words = || choices.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let Value::Text(text) = &self.node.value else { return self.expected(&format!("one of {}", words())) };
        let found = choices.iter().find(|(word, _)| word == text).map(|(_, meaning)| *meaning);
        if found.is_none() {
            self.add_error(format!("must be one of {}, not \"{text}\"", words()));
        }
        found
    }

    pub(crate) fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        let Value::Text(text) = &self.node.value else {
            return self.expected("a duration such as \"500ms\", \"30s\" or \"5m\"");
        };
        match parse_duration(text) {
            Some(duration) if range.contains(&duration) => Some(duration),
            Some(_) => {
                self.add_error(format!("must be from {:?} to {:?}, not {text}", range.start(), range.end()));
                None
            }
            None => {
                self.add_error(format!("must be a duration such as \"500ms\", \"30s\" or \"5m\", not \"{text}\""));
                None
            }
        }
    }

    pub(crate) fn list(&self) -> Option<Vec<NodeReader<'a>>> {
        let Value::Array(items) = &self.node.value else { return self.expected("a list") };
        Some(items.iter().enumerate().map(|(i, node)| self.item_reader(node, i)).collect())
    }

    /// A list, or a single value that stands for a list of one.
    pub(crate) fn one_or_many(&self) -> Vec<NodeReader<'a>> {
        match &self.node.value {
            Value::Array(items) => items.iter().enumerate().map(|(i, node)| self.item_reader(node, i)).collect(),
            _ => vec![self.clone()],
        }
    }

    fn item_reader(&self, node: &'a Node, index: usize) -> NodeReader<'a> {
        let name = node.text_at("name").map_or_else(|| index.to_string(), str::to_owned);
        NodeReader { node, path: join_path(&self.path, &name), errors: self.errors }
    }

    pub(crate) fn table(&self) -> Option<TableReader<'a>> {
        let Value::Table(entries) = &self.node.value else { return self.expected("a table") };
        Some(TableReader { reader: self.clone(), entries, read_keys: RefCell::default() })
    }

    /// The entries of a table whose keys are names that the scenario chooses.
    pub(crate) fn named_entries(&self) -> Option<Vec<(&'a str, NodeReader<'a>)>> {
        let Value::Table(entries) = &self.node.value else { return self.expected("a table") };
        let entry = |entry: &'a TableEntry| (entry.key.as_str(), self.entry_reader(entry));
        Some(entries.iter().map(entry).collect())
    }

    fn entry_reader(&self, entry: &'a TableEntry) -> NodeReader<'a> {
        NodeReader { node: &entry.node, path: join_path(&self.path, &entry.key), errors: self.errors }
    }
}

/// A table with a stated set of keys: a key that no reader requested is unknown, and unknown keys are rejected.
pub(crate) struct TableReader<'a> {
    pub(crate) reader: NodeReader<'a>,
    entries: &'a [TableEntry],
    read_keys: RefCell<Vec<&'static str>>,
}

impl<'a> TableReader<'a> {
    pub(crate) fn optional(&self, key: &'static str) -> Option<NodeReader<'a>> {
        self.read_keys.borrow_mut().push(key);
        self.entries.iter().find(|entry| entry.key == key).map(|entry| self.reader.entry_reader(entry))
    }

    pub(crate) fn required(&self, key: &'static str, what: &str) -> Option<NodeReader<'a>> {
        let found = self.optional(key);
        if found.is_none() {
            self.reader.add_error(format!("needs `{key}`: {what}"));
        }
        found
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// Rejects the keys that no reader requested.
    pub(crate) fn reject_unknown_keys(self) {
        let asked = self.read_keys.into_inner();
        #[cfg(test)]
        self.reader.errors.tables.borrow_mut().push({
            let used = asked.iter().copied().filter(|key| self.entries.iter().any(|entry| entry.key == *key));
            (asked.clone(), used.collect())
        });
        for entry in self.entries.iter().filter(|entry| !asked.contains(&entry.key.as_str())) {
            self.reader
                .entry_reader(entry)
                .add_error(format!("is not a key that stands here; known: {}", asked.join(", ")));
        }
    }
}

/// A name that other parts of the scenario refer to; it becomes part of figures' paths.
pub(crate) fn read_name(at: &NodeReader<'_>) -> Option<String> {
    let text = at.text()?;
    if is_valid_name(text) {
        return Some(text.to_owned());
    }
    at.add_error(format!("must be a name of small letters, digits and _ that starts with a letter, not \"{text}\""));
    None
}

/// Checks a name that templates use; some names are built in.
pub(crate) fn check_template_name(at: &NodeReader<'_>, name: &str) {
    if !is_valid_name(name) {
        at.add_error("must be named with small letters, digits and _");
    }
    if BUILTIN_NAMES.contains(&name) {
        at.add_error(format!("must be called otherwise: {} are the lab's own names", BUILTIN_NAMES.join(", ")));
    }
}

pub(crate) fn is_valid_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// A JSON pointer (RFC 6901): empty for the whole value, or segments that each start with `/`.
pub(crate) fn read_pointer(at: &NodeReader<'_>) -> Option<String> {
    match &at.node.value {
        Value::Text(text) if text.is_empty() || text.starts_with('/') => Some(text.clone()),
        _ => at.expected("a JSON pointer such as \"/id\""),
    }
}

/// The larger ones first, for formatting.
const BYTE_UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

fn format_bytes(bytes: u64) -> String {
    let (name, unit) = BYTE_UNITS.into_iter().find(|(_, unit)| bytes.is_multiple_of(*unit)).unwrap_or((" bytes", 1));
    format!("{}{name}", bytes / unit)
}

fn parse_bytes(text: &str) -> Option<u64> {
    let (number, unit) = BYTE_UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
    number.trim().parse::<u64>().ok()?.checked_mul(unit)
}

pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let number: f64 = text[..split].trim().parse().ok()?;
    let seconds_each = match &text[split..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * seconds_each).ok()
}
