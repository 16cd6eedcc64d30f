//! Texts with `{{names}}` in them. What a scenario can know is filled in when it is read; what only a run knows
//! (secrets, kept values, the arrival's own draws) is filled in for each request. Refuses to know clocks and
//! dice: the same arrival renders the same text, on a retry and in a second run with the same id and seed.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::document::{Node, Value};
use super::reader::At;

/// A text with places to fill in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// A value of the whole run, or one kept from an answer; escaped where it stands inside a JSON string.
    Name {
        name: String,
        json: bool,
    },
    /// One of a list, chosen by the arrival; `draw` tells apart several choices of one arrival.
    Pick {
        list: usize,
        draw: u64,
        json: bool,
    },
    Uuid,
    Index,
}

/// The names that may stand in a template at one place of the scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Values of the whole run, and those kept so far.
    pub(crate) known: BTreeSet<String>,
    /// Lists to pick from, in their order.
    pub(crate) picks: Vec<String>,
    /// Whether an arrival stands behind the text, with its index, uuid and picks.
    pub(crate) arrival: bool,
    /// Picks so far: each has its own draw.
    pub(crate) draws: Cell<u64>,
}

/// What one arrival is made of, besides the moment it is due.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a> {
    /// The id of the run: uuids differ between runs, and stay for the retries of one.
    pub run_id: &'a str,
    /// The part of the trial.
    pub part: u32,
    /// The arrival's place in its leg, counted from 0.
    pub index: u64,
    /// The arrival's own seed, from the plan.
    pub seed: u64,
}

/// The rows of a feed: each has a value for each column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The values.
    pub rows: Vec<Vec<Box<str>>>,
}

/// Where a template's names find their values.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Values of the whole run: its id, secrets, what the setup kept.
    pub globals: &'a BTreeMap<String, String>,
    /// What this journey kept so far; the latest of a name counts.
    pub kept: &'a [(String, String)],
    /// The lists to pick from, filled in.
    pub picks: &'a [Vec<String>],
    /// The rows of every feed.
    pub feeds: &'a [Rows],
    /// The arrival, where there is one.
    pub draw: Option<Draw<'a>>,
}

impl Template {
    pub(crate) fn read(at: &At<'_>, names: &Names) -> Option<Self> {
        // A variable that fills a whole text keeps its type; here its digits are what was meant.
        match at.node.value {
            Value::Int(int) => return Some(Self::plain(int.to_string())),
            Value::Float(float) => return Some(Self::plain(float.to_string())),
            Value::Text(_) | Value::Flag(_) | Value::List(_) | Value::Table(_) => {}
        }
        let mut template = Self::default();
        match template.push(at.text()?, names, false) {
            Ok(()) => Some(template),
            Err(message) => {
                at.wrong(message);
                None
            }
        }
    }

    /// A JSON value with templates in its texts, as one template of its serialized form.
    pub(crate) fn read_json(at: &At<'_>, names: &Names) -> Option<Self> {
        let mut template = Self::default();
        match template.push_json(at.node, names) {
            Ok(()) => Some(template),
            Err(message) => {
                at.wrong(message);
                None
            }
        }
    }

    fn plain(text: String) -> Self {
        Self(vec![Part::Text(text)])
    }

    /// The same template without its first `len` bytes, which must be plain text.
    pub(crate) fn without_prefix(mut self, len: usize) -> Self {
        if let Some(Part::Text(text)) = self.0.first_mut() {
            text.drain(..len.min(text.len()));
        }
        self
    }

    fn push(&mut self, text: &str, names: &Names, json: bool) -> Result<(), String> {
        let mut rest = text;
        while let Some(open) = rest.find("{{") {
            self.push_text(&rest[..open], json);
            let inner = &rest[open + 2..];
            let close = inner.find("}}").ok_or("has `{{` without `}}`")?;
            self.0.push(part(inner[..close].trim(), names, json)?);
            rest = &inner[close + 2..];
        }
        self.push_text(rest, json);
        Ok(())
    }

    fn push_text(&mut self, text: &str, json: bool) {
        let text = if json { escaped(text) } else { text.to_owned() };
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Text(last)) => last.push_str(&text),
            _ => self.0.push(Part::Text(text)),
        }
    }

    fn push_json(&mut self, node: &Node, names: &Names) -> Result<(), String> {
        match &node.value {
            Value::Text(text) => {
                self.push_text("\"", false);
                self.push(text, names, true)?;
                self.push_text("\"", false);
            }
            Value::Int(int) => self.push_text(&int.to_string(), false),
            Value::Float(float) if float.is_finite() => self.push_text(&float.to_string(), false),
            Value::Float(_) => return Err("has a number that JSON cannot hold".to_owned()),
            Value::Flag(flag) => self.push_text(&flag.to_string(), false),
            Value::List(items) => {
                self.push_text("[", false);
                for (i, item) in items.iter().enumerate() {
                    self.push_text(if i == 0 { "" } else { "," }, false);
                    self.push_json(item, names)?;
                }
                self.push_text("]", false);
            }
            Value::Table(entries) => {
                self.push_text("{", false);
                for (i, entry) in entries.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    self.push_text(&format!("{comma}\"{}\":", escaped(&entry.key)), false);
                    self.push_json(&entry.node, names)?;
                }
                self.push_text("}", false);
            }
        }
        Ok(())
    }

    /// The text with every place filled in.
    ///
    /// # Errors
    /// A name has no value in this scope; the sentence says which.
    pub fn render(&self, scope: &Scope<'_>) -> Result<String, String> {
        let mut out = String::new();
        self.render_into(scope, &mut out)?;
        Ok(out)
    }

    /// Appends the text with every place filled in, without memory of its own.
    ///
    /// # Errors
    /// As for [`Template::render`]; what was appended until then stays.
    pub fn render_into(&self, scope: &Scope<'_>, out: &mut String) -> Result<(), String> {
        self.0.iter().try_for_each(|part| part.render(scope, out))
    }

    /// The text, where it is the same for every arrival and needs nothing of the run.
    #[must_use]
    pub fn constant(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }
}

impl Part {
    fn render(&self, scope: &Scope<'_>, out: &mut String) -> Result<(), String> {
        let draw = || scope.draw.ok_or("a value of an arrival was asked for outside of one");
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Name { name, json } => push_value(out, scope.value(name)?, *json),
            Self::Pick { list, draw: ordinal, json } => {
                let items = scope.picks.get(*list).filter(|items| !items.is_empty()).ok_or("an empty list to pick")?;
                let arrival = draw()?;
                let chosen = mix(arrival.seed, ordinal.wrapping_add(1)) % items.len() as u64;
                push_value(out, &items[chosen as usize], *json);
            }
            Self::Uuid => out.push_str(&draw()?.uuid()),
            Self::Index => {
                let _ = write!(out, "{}", draw()?.index);
            }
        }
        Ok(())
    }
}

impl<'a> Scope<'a> {
    /// The values of the whole run alone.
    #[must_use]
    pub fn of_run(globals: &'a BTreeMap<String, String>) -> Self {
        Self { globals, kept: &[], picks: &[], feeds: &[], draw: None }
    }

    fn value(&self, name: &str) -> Result<&'a str, String> {
        let kept = self.kept.iter().rev().find(|(kept, _)| kept == name).map(|(_, value)| value);
        kept.or_else(|| self.globals.get(name)).map(String::as_str).ok_or_else(|| format!("`{name}` has no value yet"))
    }
}

impl Draw<'_> {
    /// A UUID (version 8, RFC 9562) made of the run's id and the arrival's place in it.
    #[must_use]
    pub fn uuid(&self) -> String {
        let digest = Sha256::new_with_prefix(self.run_id)
            .chain_update(u64::from(self.part).to_be_bytes())
            .chain_update(self.index.to_be_bytes())
            .finalize();
        let mut bytes: [u8; 16] = std::array::from_fn(|i| digest[i]);
        bytes[6] = 0x80 | (bytes[6] & 0x0f);
        bytes[8] = 0x80 | (bytes[8] & 0x3f);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }
}

/// Two words of 64 bits into one, so that neighbours share nothing (the finalizer of SplitMix64).
#[must_use]
pub(crate) fn mix(seed: u64, word: u64) -> u64 {
    let mut z = seed.wrapping_add(word.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn part(name: &str, names: &Names, json: bool) -> Result<Part, String> {
    let arrival = matches!(name, "uuid" | "index") || name.starts_with("pick.");
    if arrival && !names.arrival {
        return Err(format!("uses `{{{{{name}}}}}`, which only the steps of a journey have"));
    }
    if let Some(list) = name.strip_prefix("pick.") {
        let list = names.picks.iter().position(|pick| pick == list);
        let list = list.ok_or_else(|| format!("uses `{{{{{name}}}}}`, but [pick] has no such list"))?;
        let draw = names.draws.get();
        names.draws.set(draw + 1);
        return Ok(Part::Pick { list, draw, json });
    }
    match name {
        "uuid" => Ok(Part::Uuid),
        "index" => Ok(Part::Index),
        name if names.known.contains(name) => Ok(Part::Name { name: name.to_owned(), json }),
        name => {
            let known: Vec<_> = names.known.iter().map(String::as_str).collect();
            Err(format!("uses `{{{{{name}}}}}`, which nothing has set before; known here: {}", known.join(", ")))
        }
    }
}

fn push_value(out: &mut String, value: &str, json: bool) {
    if json { out.push_str(&escaped(value)) } else { out.push_str(value) }
}

fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::String(text.to_owned()).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Fills in the scenario's variables, everywhere below `node`. A text that is nothing but one variable takes
/// the variable's type, so that a number stays a number.
pub(crate) fn fill(node: &mut Node, vars: &BTreeMap<String, Value>) {
    match &mut node.value {
        Value::Text(text) => {
            if let Some(value) = filled(text, vars) {
                node.value = value;
            }
        }
        Value::List(items) => items.iter_mut().for_each(|item| fill(item, vars)),
        Value::Table(entries) => entries.iter_mut().for_each(|entry| fill(&mut entry.node, vars)),
        Value::Int(_) | Value::Float(_) | Value::Flag(_) => {}
    }
}

fn filled(text: &str, vars: &BTreeMap<String, Value>) -> Option<Value> {
    let whole = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).map(str::trim);
    if let Some(value) = whole.and_then(|name| vars.get(name)) {
        return Some(value.clone());
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, inner)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, after)) = inner.split_once("}}") else {
            rest = &rest[before.len()..];
            break;
        };
        match vars.get(name.trim()) {
            Some(value) => out.push_str(&plain(value)),
            None => out.extend(["{{", name, "}}"]),
        }
        rest = after;
    }
    out.push_str(rest);
    (out != text).then_some(Value::Text(out))
}

fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Int(int) => int.to_string(),
        Value::Float(float) => float.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::List(_) | Value::Table(_) => String::new(),
    }
}
