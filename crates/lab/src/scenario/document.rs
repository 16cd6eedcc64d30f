//! A scenario file with everything that the command line changes in it. Does not know what the keys mean.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toml::de::DeTable;

use super::tree::{Node, Value, convert_table, join_path, line_number, parse_setting_value};
use super::validation::{ErrorCollector, Origin, ValidationErrors};
use super::vars;
use crate::limits::SCENARIO_BYTES_MAX;

/// The value of a variable that requests a free loopback port.
const FREE_PORT: &str = "free";

/// A scenario as it was put together: the text and every change, in order. One process of the lab hands it to another,
/// so that both read the same scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioSource {
    pub(crate) text: String,
    pub(crate) changes: Vec<SourceChange>,
}

/// A change to a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SourceChange {
    Set(String),
    Target(String),
    Port(String, u16),
    File(String, String),
}

impl ScenarioSource {
    /// The files that it names: name and content.
    #[must_use]
    pub fn files(&self) -> BTreeMap<&str, &str> {
        let mut files = BTreeMap::new();
        for change in &self.changes {
            if let SourceChange::File(name, text) = change {
                files.insert(name.as_str(), text.as_str());
            }
        }
        files
    }

    /// Builds the document again.
    ///
    /// # Errors
    /// Those of the first time.
    pub fn rebuild(&self) -> Result<Document, ValidationErrors> {
        let mut document = Document::parse(&self.text)?;
        for change in &self.changes {
            match change {
                SourceChange::Set(setting) => document.set(setting)?,
                SourceChange::Target(url) => document.set_target(url),
                SourceChange::Port(variable, port) => document.set_port(variable, *port),
                SourceChange::File(name, text) => document.add_file(name, text),
            }
        }
        Ok(document)
    }
}

/// A scenario file as it was written, with the arguments that change it.
#[derive(Clone, Debug)]
pub struct Document {
    pub(crate) root: Node,
    source: ScenarioSource,
}

impl Document {
    /// Reads the text of a scenario file.
    ///
    /// # Errors
    /// The text is not TOML, or longer than a scenario can be.
    pub fn parse(text: &str) -> Result<Self, ValidationErrors> {
        if text.len() > SCENARIO_BYTES_MAX {
            let message = format!("a scenario has at most {SCENARIO_BYTES_MAX} bytes, this text has {}", text.len());
            return Err(ValidationErrors::single(Origin::Line(1), "", message));
        }
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_number(text, span.start));
            // The parser's message does not name the key; its span does.
            let key = error.span().and_then(|span| text.get(span)).filter(|_| error.message() == "duplicate key");
            let key = key.map_or_else(String::new, |key| format!(" `{key}`: it stands in this table already"));
            ValidationErrors::single(Origin::Line(line), "", format!("this is not TOML: {}{key}", error.message()))
        })?;
        let origin = |at: usize| Origin::Line(line_number(text, at));
        let root = Node { value: convert_table(table.get_ref(), &origin)?, origin: Origin::Line(1) };
        Ok(Self { root, source: ScenarioSource { text: text.to_owned(), changes: Vec::new() } })
    }

    /// The tree with its variables filled in.
    pub(crate) fn with_variables(&self, errors: &ErrorCollector) -> Node {
        let mut root = self.root.clone();
        let vars = vars::read(&root, errors);
        vars::substitute(&mut root, &vars);
        root
    }

    /// Applies one `KEY=VALUE` of the command line: a variable by its dotted name, or any key by its dotted path, where
    /// tables of a list are addressed by their `name`. If both exist, the variable is meant.
    ///
    /// # Errors
    /// The path does not exist, or the variable does not.
    pub fn set(&mut self, setting: &str) -> Result<(), ValidationErrors> {
        let origin = Origin::Argument(format!("--set {setting}"));
        let Some((key, text)) = setting.split_once('=') else {
            return Err(ValidationErrors::single(origin, "", "expected KEY=VALUE"));
        };
        let node = Node { value: parse_setting_value(text, &origin), origin: origin.clone() };
        let is_variable = vars::find_mut(&mut self.root, key).is_some();
        let path = if is_variable { format!("vars.{key}") } else { key.to_owned() };
        set_at_path(&mut self.root, "", &path, node)
            .map_err(|message| ValidationErrors::single(origin, key, message))?;
        self.source.changes.push(SourceChange::Set(setting.to_owned()));
        Ok(())
    }

    /// Points the trial at a service that is already running: the target is not started.
    pub fn set_target(&mut self, url: &str) {
        self.source.changes.push(SourceChange::Target(url.to_owned()));
        let origin = Origin::Argument(format!("--target {url}"));
        let node = Node { value: Value::Text(url.to_owned()), origin };
        let target = self.root.as_table_mut().and_then(|root| root.get_mut("target")?.as_table_mut());
        let Some(target) = target else { return };
        target.insert("url".to_owned(), node);
        let of_process = ["spawn", "env"];
        let of_tls = ["ca", "insecure"].into_iter().filter(|_| !url.starts_with("https://"));
        of_process.into_iter().chain(of_tls).for_each(|key| {
            target.shift_remove(key);
        });
    }

    /// The scenario's own summary.
    #[must_use]
    pub fn summary(&self) -> Option<&str> {
        self.root.get("summary")?.as_text()
    }

    /// Whether it starts the service that it tests.
    #[must_use]
    pub fn starts_its_target(&self) -> bool {
        self.root.get("target").is_some_and(|target| target.get("spawn").is_some())
    }

    /// The variables whose value is `free`: each requests a loopback port on which no process listens.
    #[must_use]
    pub fn free_port_variables(&self) -> Vec<String> {
        let vars = vars::read(&self.root, &ErrorCollector::default());
        vars.into_iter().filter(|(_, node)| node.as_text() == Some(FREE_PORT)).map(|(name, _)| name).collect()
    }

    /// Sets the port of such a variable. The port does not change the scenario's identity.
    pub fn set_port(&mut self, variable: &str, port: u16) {
        self.source.changes.push(SourceChange::Port(variable.to_owned(), port));
        if let Some(node) = vars::find_mut(&mut self.root, variable) {
            node.value = Value::Int(i64::from(port));
        }
    }

    /// The files that it names and that must be read with it: the definitions of its messages. Their names may contain
    /// variables.
    #[must_use]
    pub fn required_files(&self) -> Vec<String> {
        let root = self.with_variables(&ErrorCollector::default());
        let proto = root.get("target").and_then(|target| target.get("socket")?.get("proto"));
        let names = proto.into_iter().flat_map(|node| [node].into_iter().chain(node.items())).filter_map(Node::as_text);
        let files = self.source.files();
        names.filter(|name| !files.contains_key(name)).map(str::to_owned).collect()
    }

    /// The files of its feeds, each with its origin and key, whether or not the rest of the feed can be read.
    #[must_use]
    pub fn feed_files(&self) -> Vec<(Origin, String, String)> {
        let root = self.with_variables(&ErrorCollector::default());
        let named = root.entries_of("feed").filter_map(|(name, feed)| {
            let file = feed.get("file")?;
            Some((file.origin.clone(), format!("feed.{name}.file"), file.as_text()?.to_owned()))
        });
        named.collect()
    }

    /// Adds the content of one of these files. It is part of the scenario's identity.
    pub fn add_file(&mut self, name: &str, text: &str) {
        self.source.changes.push(SourceChange::File(name.to_owned(), text.to_owned()));
    }

    /// The content of these files, by name.
    pub(crate) fn files(&self) -> BTreeMap<&str, &str> {
        self.source.files()
    }

    /// SHA-256 of the text and its settings, in hexadecimal: two runs with the same value ran the same trial.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut digest = Sha256::new_with_prefix(&self.source.text);
        for change in &self.source.changes {
            match change {
                SourceChange::Set(setting) => digest = digest.chain_update(b"\0set\0").chain_update(setting),
                SourceChange::File(_, text) => digest = digest.chain_update(b"\0file\0").chain_update(text),
                SourceChange::Target(_) | SourceChange::Port(..) => {}
            }
        }
        to_hex(digest)
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// How it was put together, so that another process can rebuild it.
    #[must_use]
    pub fn source(&self) -> ScenarioSource {
        self.source.clone()
    }

    /// SHA-256 of the text alone, in hexadecimal: two runs with the same value ran the same scenario, whatever was set.
    #[must_use]
    pub fn text_hash(&self) -> String {
        to_hex(Sha256::new_with_prefix(&self.source.text))
    }

    /// The settings that were applied, in order.
    #[must_use]
    pub fn settings(&self) -> Vec<String> {
        let setting = |change: &SourceChange| match change {
            SourceChange::Set(setting) => Some(setting.clone()),
            SourceChange::Target(_) | SourceChange::Port(..) | SourceChange::File(..) => None,
        };
        self.source.changes.iter().filter_map(setting).collect()
    }
}

fn to_hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Tables with a default for every key: a file may leave them out, and a setting may still name one of their keys.
const OPTIONAL_TABLES: [&str; 5] = ["bounds", "gates", "generator", "signals", "target.limits"];

/// Follows a dotted path. A key may itself contain dots (a gate's does), so the whole rest is tried first.
fn set_at_path(node: &mut Node, walked: &str, path: &str, new: Node) -> Result<(), String> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let next = match &mut node.value {
        Value::Table(entries) if entries.contains_key(path) || !path.contains('.') || walked == "gates" => {
            match entries.contains_key(path) {
                false if vars::is_variable_path(walked) => return Err("is not a variable of this scenario".to_owned()),
                false if walked.is_empty() => return Err("is neither a variable nor a key of this scenario".to_owned()),
                _ => entries.insert(path.to_owned(), new),
            };
            return Ok(());
        }
        Value::Table(entries) => {
            if !entries.contains_key(first) && OPTIONAL_TABLES.contains(&join_path(walked, first).as_str()) {
                let table = Node { value: Value::Table(IndexMap::new()), origin: new.origin.clone() };
                entries.insert(first.to_owned(), table);
            }
            entries.get_mut(first)
        }
        Value::Array(items) => find_named_item(items, first).map(|index| &mut items[index]),
        _ => return Err(format!("leads nowhere: `{walked}` is {}", node.kind())),
    };
    let next = next.ok_or_else(|| unknown_path_message(first, walked))?;
    if rest.is_empty() {
        *next = new;
        return Ok(());
    }
    set_at_path(next, &join_path(walked, first), rest, new)
}

fn find_named_item(items: &[Node], name: &str) -> Option<usize> {
    let is_named = |item: &Node| item.text_at("name") == Some(name);
    items.iter().position(is_named).or_else(|| name.parse().ok().filter(|&index: &usize| index < items.len()))
}

fn unknown_path_message(name: &str, walked: &str) -> String {
    match walked {
        "" => format!("leads nowhere: this scenario has no `{name}`"),
        walked => format!("leads nowhere: there is no `{name}` in `{walked}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "format = 1\n[vars]\nport = \"free\"\n[target]\nurl = \"http://127.0.0.1:{{port}}\"\n";

    #[test]
    fn a_source_rebuilds_the_same_document() {
        let mut document = Document::parse(TEXT).unwrap();
        document.set("target.ready=/up").unwrap();
        document.set_target("http://127.0.0.1:9");
        document.set_port("port", 4000);
        let text = serde_json::to_string(&document.source()).unwrap();
        let again = serde_json::from_str::<ScenarioSource>(&text).unwrap().rebuild().unwrap();
        assert_eq!((again.source(), again.hash()), (document.source(), document.hash()));
        assert_eq!((again.free_port_variables(), again.settings()), (Vec::new(), document.settings()));
    }
}
