//! Texts with `{{names}}` in them. What a scenario determines is filled in when it is read; what only a run knows
//! (secrets, kept values, the arrival's own draws) is filled in for each request. Does not know clocks and random
//! sources: the same arrival renders the same text, in a retry and in a second run with the same id and seed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

use super::feed::FeedOrder;
use super::keys::{KeyDraw, KeySet};
use super::reader::NodeReader;
use super::rng::{DrawPurpose, draw, to_range};
use super::scope::Scope;
use super::tree::{Node, Value};
use crate::format::known_names;
use crate::limits::KEY_DRAWS_MAX;

/// A text with placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template(Vec<TemplatePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    /// A value of the whole run, or one kept from a response; escaped if it is inside a JSON string.
    Name {
        name: String,
        json: bool,
    },
    /// One item of a list, chosen by the arrival; `draw` tells several choices of one arrival apart.
    Pick {
        list: usize,
        draw: u64,
        json: bool,
    },
    /// A column of the arrival's row of a feed.
    Column {
        feed: usize,
        column: usize,
        order: FeedOrder,
        json: bool,
    },
    Key(KeyDraw),
    Uuid,
    Index,
    Round,
    /// Which message of its connection this is.
    MessageNumber,
}

/// The names that a template may use at one place of the scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct TemplateNames {
    /// Values of the whole run, and those kept so far.
    pub(crate) known: BTreeSet<String>,
    /// Lists to pick from, in order.
    pub(crate) picks: Vec<String>,
    /// Feeds, in order.
    pub(crate) feeds: Vec<FeedColumns>,
    /// Keys to draw from, in order.
    pub(crate) keys: Vec<KeySet>,
    /// Whether the text belongs to an arrival, with its index, uuid, picks, rows and keys.
    pub(crate) has_arrival: bool,
    /// Whether the text is part of a message, which has a number among those of its connection.
    pub(crate) has_message_number: bool,
    /// Picks so far: each has its own draw.
    pub(crate) draw_count: Cell<u64>,
}

/// A feed, as templates know it.
#[derive(Clone, Debug)]
pub(crate) struct FeedColumns {
    pub(crate) name: String,
    pub(crate) order: FeedOrder,
    /// The columns that any template has used so far: their indices are those of the rows at run time.
    pub(crate) columns: Rc<RefCell<Vec<String>>>,
}

impl FeedColumns {
    /// The index of a column, which is used from now on.
    pub(crate) fn index_of(&self, column: &str) -> usize {
        let mut columns = self.columns.borrow_mut();
        let used = columns.iter().position(|known| known == column);
        used.unwrap_or_else(|| {
            columns.push(column.to_owned());
            columns.len() - 1
        })
    }
}

impl Template {
    pub(crate) fn read(at: &NodeReader<'_>, names: &TemplateNames) -> Option<Self> {
        // A variable that fills a whole text keeps its type; here its digits are meant.
        if let Value::Int(_) | Value::Float(_) = at.node.value {
            return at.node.as_plain_text().map(Self::from_text);
        }
        let mut template = Self::default();
        at.accept(template.push(at.text()?, names, false)).map(|()| template)
    }

    /// A JSON value with templates in its texts, as one template of its serialized form.
    pub(crate) fn read_json(at: &NodeReader<'_>, names: &TemplateNames) -> Option<Self> {
        let mut template = Self::default();
        at.accept(template.push_json(at.node, names)).map(|()| template)
    }

    pub(super) fn from_text(text: String) -> Self {
        Self(vec![TemplatePart::Text(text)])
    }

    /// The same template without its first `len` bytes, which must be plain text.
    pub(crate) fn without_prefix(mut self, len: usize) -> Self {
        if let Some(TemplatePart::Text(text)) = self.0.first_mut() {
            text.drain(..len.min(text.len()));
        }
        self
    }

    fn push(&mut self, text: &str, names: &TemplateNames, json: bool) -> Result<(), String> {
        let mut rest = text;
        while let Some(open) = rest.find("{{") {
            self.push_text(&rest[..open], json);
            let inner = &rest[open + 2..];
            let close = inner.find("}}").ok_or("has `{{` without `}}`")?;
            self.0.push(parse_part(inner[..close].trim(), names, json)?);
            rest = &inner[close + 2..];
        }
        self.push_text(rest, json);
        Ok(())
    }

    fn push_text(&mut self, text: &str, json: bool) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(TemplatePart::Text(last)) => push_value(last, text, json),
            _ => {
                self.0.push(TemplatePart::Text(String::new()));
                self.push_text(text, json);
            }
        }
    }

    fn push_json(&mut self, node: &Node, names: &TemplateNames) -> Result<(), String> {
        match &node.value {
            Value::Text(text) if is_numeric_variable(text) => self.push(text, names, false)?,
            Value::Text(text) => {
                self.push_text("\"", false);
                self.push(text, names, true)?;
                self.push_text("\"", false);
            }
            Value::Float(float) if !float.is_finite() => return Err("has a number that JSON cannot hold".to_owned()),
            Value::Int(_) | Value::Float(_) | Value::Bool(_) => {
                self.push_text(&node.as_plain_text().unwrap_or_default(), false);
            }
            Value::Array(items) => {
                self.push_text("[", false);
                for (i, item) in items.iter().enumerate() {
                    self.push_text(if i == 0 { "" } else { "," }, false);
                    self.push_json(item, names)?;
                }
                self.push_text("]", false);
            }
            Value::Table(entries) => {
                self.push_text("{", false);
                for (i, (key, node)) in entries.iter().enumerate() {
                    self.push_text(if i == 0 { "\"" } else { ",\"" }, false);
                    self.push_text(key, true);
                    self.push_text("\":", false);
                    self.push_json(node, names)?;
                }
                self.push_text("}", false);
            }
        }
        Ok(())
    }

    /// The text with every placeholder filled in.
    ///
    /// # Errors
    /// A name has no value in this scope; the sentence says which.
    pub fn render(&self, scope: &Scope<'_>) -> Result<String, String> {
        let mut out = String::new();
        self.render_into(scope, &mut out)?;
        Ok(out)
    }

    /// Appends the text with every placeholder filled in, without allocating a text of its own.
    ///
    /// # Errors
    /// As for [`Template::render`]; what was appended until then stays.
    pub fn render_into(&self, scope: &Scope<'_>, out: &mut String) -> Result<(), String> {
        self.0.iter().try_for_each(|part| part.render(scope, out))
    }

    /// The same template with the values of the run filled in, so that an arrival copies them with the text around
    /// them. Names that a journey keeps itself stay open: the kept value counts.
    #[must_use]
    pub fn bind(&self, globals: &BTreeMap<String, String>, is_kept: &dyn Fn(&str) -> bool) -> Self {
        let mut bound = Self::default();
        for part in &self.0 {
            match part {
                TemplatePart::Text(text) => bound.push_text(text, false),
                TemplatePart::Name { name, json } if !is_kept(name) && globals.contains_key(name) => {
                    bound.push_text(&globals[name], *json);
                }
                other => bound.0.push(other.clone()),
            }
        }
        bound
    }

    /// The names of the values of the run or of responses that it uses.
    pub(crate) fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            TemplatePart::Name { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// The first character of its own text, outside placeholders, that `allowed` rejects.
    pub(crate) fn first_disallowed_char(&self, allowed: impl Fn(char) -> bool) -> Option<char> {
        let texts = self.0.iter().filter_map(|part| match part {
            TemplatePart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.flat_map(str::chars).find(|c| !allowed(*c))
    }

    pub(crate) fn uses_message_number(&self) -> bool {
        self.0.contains(&TemplatePart::MessageNumber)
    }

    /// The text, if it is the same for every arrival and needs nothing of the run.
    #[must_use]
    pub fn as_constant(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }
}

impl TemplatePart {
    fn render(&self, scope: &Scope<'_>, out: &mut String) -> Result<(), String> {
        let arrival = || scope.arrival.ok_or("a value of an arrival was asked for outside of one");
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Name { name, json } => push_value(out, scope.value(name)?, *json),
            Self::Pick { list, draw: ordinal, json } => {
                let items = scope.picks.get(*list).filter(|items| !items.is_empty()).ok_or("an empty list to pick")?;
                let chosen = to_range(draw(arrival()?.seed, DrawPurpose::Pick, *ordinal), items.len() as u64);
                push_value(out, &items[chosen as usize], *json);
            }
            Self::Column { feed, column, order, json } => {
                let rows = &scope.feeds.get(*feed).ok_or("a feed without rows")?.rows;
                let row = arrival()?.feed_row(*feed, *order, rows.len()).ok_or("a feed without rows")?;
                push_value(out, rows[row].get(*column).ok_or("a row without this column")?, *json);
            }
            Self::Key(key) => push_number(out, key.draw_key(arrival()?.seed)),
            Self::Uuid => arrival()?.push_uuid(out),
            Self::Index => push_number(out, arrival()?.index),
            Self::Round => push_number(out, arrival()?.round),
            Self::MessageNumber => push_number(out, arrival()?.message_number),
        }
        Ok(())
    }
}

fn parse_part(name: &str, names: &TemplateNames, json: bool) -> Result<TemplatePart, String> {
    let (kind, rest) = name.split_once('.').unwrap_or((name, ""));
    let of_arrival = match (kind, rest) {
        ("uuid" | "index" | "round" | "nth", "") | ("pick" | "feed" | "key", _) => true,
        _ => return variable_part(name, names, json),
    };
    if of_arrival && !names.has_arrival {
        return Err(format!("uses `{{{{{name}}}}}`, which only the steps of a journey have"));
    }
    if kind == "nth" && !names.has_message_number {
        return Err("uses `{{nth}}`, which only messages have: those of a connection are counted".to_owned());
    }
    match kind {
        "uuid" => Ok(TemplatePart::Uuid),
        "index" => Ok(TemplatePart::Index),
        "round" => Ok(TemplatePart::Round),
        "nth" => Ok(TemplatePart::MessageNumber),
        "pick" => pick_part(name, rest, names, json),
        "feed" => column_part(name, rest, names, json),
        _ => key_part(name, rest, names),
    }
}

fn variable_part(name: &str, names: &TemplateNames, json: bool) -> Result<TemplatePart, String> {
    if names.known.contains(name) {
        return Ok(TemplatePart::Name { name: name.to_owned(), json });
    }
    let known: Vec<_> = names.known.iter().map(String::as_str).collect();
    Err(format!("uses `{{{{{name}}}}}`, which nothing has set before; known here: {}", known_names(known)))
}

fn pick_part(name: &str, list: &str, names: &TemplateNames, json: bool) -> Result<TemplatePart, String> {
    let list = names.picks.iter().position(|pick| pick == list);
    let list = list.ok_or_else(|| format!("uses `{{{{{name}}}}}`, but [pick] has no such list"))?;
    let draw = names.draw_count.get();
    names.draw_count.set(draw + 1);
    Ok(TemplatePart::Pick { list, draw, json })
}

fn column_part(name: &str, path: &str, names: &TemplateNames, json: bool) -> Result<TemplatePart, String> {
    let (feed, column) = path
        .split_once('.')
        .filter(|(_, column)| !column.is_empty())
        .ok_or_else(|| format!("uses `{{{{{name}}}}}`, which names no column: write {{{{feed.NAME.COLUMN}}}}"))?;
    let index = names.feeds.iter().position(|known| known.name == feed);
    let index = index.ok_or_else(|| format!("uses `{{{{{name}}}}}`, but there is no [feed.{feed}]"))?;
    let column = names.feeds[index].index_of(column);
    Ok(TemplatePart::Column { feed: index, column, order: names.feeds[index].order, json })
}

/// `key.NAME` draws once for the whole arrival, `key.NAME.2` a second time, and so on.
fn key_part(name: &str, path: &str, names: &TemplateNames) -> Result<TemplatePart, String> {
    let (key, ordinal) = path.split_once('.').unwrap_or((path, "1"));
    let index = names.keys.iter().position(|known| known.name == key);
    let index = index.ok_or_else(|| format!("uses `{{{{{name}}}}}`, but there is no [key.{key}]"))?;
    let ordinal = ordinal.parse().ok().filter(|ordinal| (1..=KEY_DRAWS_MAX).contains(ordinal)).ok_or_else(|| {
        format!("uses `{{{{{name}}}}}`, but its draws are numbered: {{{{key.{key}.2}}}} up to {KEY_DRAWS_MAX}")
    })?;
    Ok(TemplatePart::Key(KeyDraw::new(&names.keys[index], index, ordinal)))
}

/// Whether a text of a JSON document is a single name whose value is a number: it stays a number, as a variable does.
fn is_numeric_variable(text: &str) -> bool {
    let alone = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).map(str::trim);
    let is_number = |name: &str| matches!(name, "index" | "round" | "nth") || name.starts_with("key.");
    alone.is_some_and(|name| is_number(name) && !name.contains("}}"))
}

fn push_number(out: &mut String, number: u64) {
    // Writing to a string never fails.
    let _ = write!(out, "{number}");
}

fn push_value(out: &mut String, value: &str, json: bool) {
    if json { push_escaped(out, value) } else { out.push_str(value) }
}

/// The inside of a JSON string (RFC 8259, section 7).
fn push_escaped(out: &mut String, text: &str) {
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate().filter(|(_, byte)| *byte < 0x20 || matches!(byte, b'"' | b'\\')) {
        out.push_str(&text[plain..at]);
        plain = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
    }
    out.push_str(&text[plain..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_escaped_text_is_the_inside_of_a_json_string(text in "(?s)[\u{0}-\u{7f}é\u{2028}🐍]*") {
            let mut out = "\"".to_owned();
            push_escaped(&mut out, &text);
            out.push('"');
            prop_assert_eq!(serde_json::from_str::<String>(&out).ok(), Some(text));
        }
    }
}
