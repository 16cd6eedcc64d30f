//! Reads typed values out of a document and collects every error on the way instead of stopping at the first. Does not
//! know scenarios: only texts, numbers, durations, lists and tables with a stated set of keys.

use std::cell::{Cell, RefCell};
use std::ops::RangeInclusive;
use std::time::Duration;

use indexmap::IndexMap;

use super::tree::{Node, Value, join_path};
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
    pub(crate) fn new(node: &'a Node, path: &str, errors: &'a ErrorCollector) -> Self {
        Self { node, path: path.to_owned(), errors }
    }

    /// Adds an error about this value.
    pub(crate) fn add_error(&self, message: impl Into<String>) {
        self.errors.add(&self.node.origin, &self.path, message);
    }

    /// Adds an error about this value, which then has no meaning.
    pub(crate) fn reject<T>(&self, message: impl Into<String>) -> Option<T> {
        self.add_error(message);
        None
    }

    /// What was made of this value, or an error about it.
    pub(crate) fn accept<T>(&self, result: Result<T, String>) -> Option<T> {
        result.map_or_else(|message| self.reject(message), Some)
    }

    fn expected<T>(&self, what: &str) -> Option<T> {
        self.reject(format!("must be {what}, not {}", self.node.kind()))
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        match &self.node.value {
            Value::Text(text) if text.is_empty() => self.reject("must not be empty"),
            Value::Text(text) => Some(text),
            _ => self.expected("a text"),
        }
    }

    pub(crate) fn string(&self) -> Option<String> {
        self.text().map(str::to_owned)
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
        found.or_else(|| self.reject(format!("must be from {low} to {high}, not {int}")))
    }

    pub(crate) fn float(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let bounds = format!("from {} to {}", range.start(), range.end());
        self.number(&format!("a number {bounds}"), &bounds, |number| range.contains(&number))
    }

    /// A number per second above zero.
    pub(crate) fn rate(&self) -> Option<f64> {
        let bounds = format!("above 0, and at most {RATE_PER_S_MAX}");
        self.number(&format!("a number {bounds}"), &bounds, |rate| rate > 0.0 && rate <= RATE_PER_S_MAX)
    }

    fn number(&self, expected: &str, bounds: &str, fits: impl Fn(f64) -> bool) -> Option<f64> {
        let number = match self.node.value {
            Value::Int(int) => int as f64,
            Value::Float(float) => float,
            _ => return self.expected(expected),
        };
        if fits(number) { Some(number) } else { self.reject(format!("must be {bounds}, not {number}")) }
    }

    /// An amount of memory in powers of 1024.
    pub(crate) fn bytes(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let expected = "a size such as \"64KiB\", \"512MiB\" or \"2GiB\"";
        self.quantity(expected, &range, parse_bytes, |bytes| format_bytes(*bytes))
    }

    pub(crate) fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        let expected = "a duration such as \"500ms\", \"30s\" or \"5m\"";
        self.quantity(expected, &range, parse_duration, |duration| format!("{duration:?}"))
    }

    /// A number with its unit, written as a text.
    fn quantity<T: PartialOrd>(
        &self,
        expected: &str,
        range: &RangeInclusive<T>,
        parse: fn(&str) -> Option<T>,
        show: fn(&T) -> String,
    ) -> Option<T> {
        let Some(text) = self.node.as_text() else { return self.expected(expected) };
        let Some(quantity) = parse(text) else { return self.reject(format!("must be {expected}, not \"{text}\"")) };
        if range.contains(&quantity) {
            return Some(quantity);
        }
        self.reject(format!("must be from {} to {}, not {text}", show(range.start()), show(range.end())))
    }

    /// One of a few words, each with its meaning.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        let words = || choices.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let Some(text) = self.node.as_text() else { return self.expected(&format!("one of {}", words())) };
        let found = choices.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        found.or_else(|| self.reject(format!("must be one of {}, not \"{text}\"", words())))
    }

    pub(crate) fn list(&self) -> Option<Vec<NodeReader<'a>>> {
        let Value::Array(items) = &self.node.value else { return self.expected("a list") };
        Some(items.iter().enumerate().map(|(i, node)| self.item_reader(node, i)).collect())
    }

    /// What `read` makes of the items of a list.
    pub(crate) fn items<T>(&self, read: impl FnMut(&NodeReader<'a>) -> Option<T>) -> Vec<T> {
        self.list().unwrap_or_default().iter().filter_map(read).collect()
    }

    /// A list, or a single value that stands for a list of one.
    pub(crate) fn one_or_many(&self) -> Vec<NodeReader<'a>> {
        match &self.node.value {
            Value::Array(_) => self.list().unwrap_or_default(),
            _ => vec![self.clone()],
        }
    }

    fn item_reader(&self, node: &'a Node, index: usize) -> NodeReader<'a> {
        let name = node.text_at("name").map_or_else(|| index.to_string(), str::to_owned);
        NodeReader { node, path: join_path(&self.path, &name), errors: self.errors }
    }

    pub(crate) fn is_table(&self) -> bool {
        self.node.as_table().is_some()
    }

    /// What `read` makes of a table with a stated set of keys: a key that it does not ask for is unknown, and an error.
    /// None if a value is missing or wrong without which the whole has no meaning; its errors were added.
    pub(crate) fn table<T>(&self, read: impl FnOnce(&TableReader<'a>) -> T) -> Option<T> {
        let Some(entries) = self.node.as_table() else { return self.expected("a table") };
        let fields =
            TableReader { reader: self.clone(), entries, read_keys: RefCell::default(), is_complete: Cell::new(true) };
        let value = read(&fields);
        let is_complete = fields.is_complete();
        fields.reject_unknown_keys();
        is_complete.then_some(value)
    }

    /// What `read` makes of the entries of a table whose keys are names that the scenario chooses.
    pub(crate) fn entries<T>(&self, mut read: impl FnMut(&'a str, &NodeReader<'a>) -> Option<T>) -> Vec<T> {
        let entries = self.node.as_table().or_else(|| self.expected("a table"));
        entries.into_iter().flatten().filter_map(|(key, node)| read(key, &self.entry_reader(key, node))).collect()
    }

    fn entry_reader(&self, key: &str, node: &'a Node) -> NodeReader<'a> {
        NodeReader { node, path: join_path(&self.path, key), errors: self.errors }
    }
}

/// A table with a stated set of keys. Reading never stops: a placeholder stands for what is missing or wrong, and the
/// table as a whole is then incomplete, unless it can do without.
pub(crate) struct TableReader<'a> {
    pub(crate) reader: NodeReader<'a>,
    entries: &'a IndexMap<String, Node>,
    read_keys: RefCell<Vec<&'static str>>,
    is_complete: Cell<bool>,
}

impl<'a> TableReader<'a> {
    /// The value of a key, to be read by the caller.
    pub(crate) fn get(&self, key: &'static str) -> Option<NodeReader<'a>> {
        self.read_keys.borrow_mut().push(key);
        self.entries.get(key).map(|node| self.reader.entry_reader(key, node))
    }

    /// The same for a key that must be there; `what` says what it is for.
    pub(crate) fn get_required(&self, key: &'static str, what: &str) -> Option<NodeReader<'a>> {
        let found = self.get(key);
        if found.is_none() {
            self.reader.add_error(format!("needs `{key}`: {what}"));
        }
        found
    }

    /// A value that must be there and right.
    pub(crate) fn required<T: Default>(
        &self,
        key: &'static str,
        what: &str,
        read: impl FnOnce(&NodeReader<'a>) -> Option<T>,
    ) -> T {
        self.need(self.get_required(key, what).and_then(|at| read(&at)))
    }

    /// A value, or what stands for it if it is not there or wrong.
    pub(crate) fn or<T>(&self, key: &'static str, or: T, read: impl FnOnce(&NodeReader<'a>) -> Option<T>) -> T {
        self.optional(key, read).unwrap_or(or)
    }

    pub(crate) fn optional<T>(&self, key: &'static str, read: impl FnOnce(&NodeReader<'a>) -> Option<T>) -> Option<T> {
        self.get(key).and_then(|at| read(&at))
    }

    /// The same for what is empty if it is not there.
    pub(crate) fn or_default<T: Default>(&self, key: &'static str, read: impl FnOnce(&NodeReader<'a>) -> T) -> T {
        self.get(key).map_or_else(T::default, |at| read(&at))
    }

    /// Marks the table as incomplete if there is no value; its error was added.
    pub(crate) fn need<T: Default>(&self, value: Option<T>) -> T {
        value.unwrap_or_else(|| {
            self.is_complete.set(false);
            T::default()
        })
    }

    /// Whether nothing is missing so far, so that values can be compared with each other.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete.get()
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Rejects the keys that were not asked for.
    fn reject_unknown_keys(self) {
        let known = self.read_keys.take();
        #[cfg(test)]
        self.reader.errors.tables.borrow_mut().push({
            let used = known.iter().copied().filter(|key| self.has(key));
            (known.clone(), used.collect())
        });
        for (key, node) in self.entries.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            let at = self.reader.entry_reader(key, node);
            at.add_error(format!("is not a key that stands here; known: {}", known.join(", ")));
        }
    }
}

/// A name that other parts of the scenario refer to; it becomes part of figures' paths.
pub(crate) fn read_name(at: &NodeReader<'_>) -> Option<String> {
    let text = at.text()?;
    if is_valid_name(text) {
        return Some(text.to_owned());
    }
    at.reject(format!("must be a name of small letters, digits and _ that starts with a letter, not \"{text}\""))
}

/// Checks the key of an entry that is a name.
pub(crate) fn check_name(at: &NodeReader<'_>, name: &str) {
    if !is_valid_name(name) {
        at.add_error("must be named with small letters, digits and _");
    }
}

/// Checks a name that templates use; some names are built in.
pub(crate) fn check_template_name(at: &NodeReader<'_>, name: &str) {
    check_name(at, name);
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
