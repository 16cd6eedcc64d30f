//! Variables: names for values of the scenario that the command line changes. They are filled in before anything else
//! is read, so that a number stays a number. Refuses to know what only a run knows.

use std::collections::BTreeMap;

use super::document::{Node, Value, join};
use super::mistakes::{Notes, Origin};
use super::reader::{At, check_template_name, is_name};

/// Where variables stand.
const TABLE: &str = "vars";

/// All variables by their dotted names: `[vars.jobs] matches` is `jobs.matches`.
pub(crate) fn read(root: &Node, notes: &Notes) -> BTreeMap<String, Node> {
    let mut vars = BTreeMap::new();
    let Some(node) = root.get(TABLE) else { return vars };
    for (name, at) in At::new(node, TABLE, notes).named().unwrap_or_default() {
        check_template_name(&at, name);
        collect(name, &at, &mut vars);
    }
    vars
}

fn collect(dotted: &str, at: &At<'_>, vars: &mut BTreeMap<String, Node>) {
    match &at.node.value {
        Value::Table(_) => {
            for (name, at) in at.named().unwrap_or_default() {
                if !is_name(name) {
                    at.wrong("must be named with small letters, digits and _");
                }
                collect(&join(dotted, name), &at, vars);
            }
        }
        Value::List(_) => at.wrong(format!("must be a text or a number, not {}", at.node.kind())),
        Value::Text(text) if text.contains("{{") => at.wrong("must not use other names: variables are plain"),
        _ => {
            vars.insert(dotted.to_owned(), at.node.clone());
        }
    }
}

/// The variable of this dotted name.
pub(crate) fn find_mut<'a>(root: &'a mut Node, dotted: &str) -> Option<&'a mut Node> {
    let found = dotted.split('.').try_fold(root.get_mut(TABLE)?, |node, key| node.get_mut(key))?;
    (!matches!(found.value, Value::Table(_))).then_some(found)
}

/// The dotted names of the variables whose value is this text, in the order in which they are written.
pub(crate) fn with_text(root: &Node, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(node) = root.get(TABLE) {
        gather("", node, text, &mut found);
    }
    found
}

fn gather(dotted: &str, node: &Node, text: &str, found: &mut Vec<String>) {
    match &node.value {
        Value::Table(entries) => {
            entries.iter().for_each(|entry| gather(&join(dotted, &entry.key), &entry.node, text, found));
        }
        Value::Text(value) if value == text => found.push(dotted.to_owned()),
        _ => {}
    }
}

/// Whether a dotted path that leads here is one of a variable.
pub(crate) fn holds(path: &str) -> bool {
    path == TABLE || path.strip_prefix(TABLE).is_some_and(|rest| rest.starts_with('.'))
}

/// Fills in the scenario's variables, everywhere below `node`. A text that is nothing but one variable takes
/// the variable's type, so that a number stays a number. What the command line set is where the mistake is, if there is
/// one: not the line that uses it.
pub(crate) fn fill(node: &mut Node, vars: &BTreeMap<String, Node>) {
    match &mut node.value {
        Value::Text(text) => {
            let set = set_in(text, vars).cloned();
            if let Some(value) = filled(text, vars) {
                node.value = value;
            }
            node.origin = set.unwrap_or_else(|| node.origin.clone());
        }
        Value::List(items) => items.iter_mut().for_each(|item| fill(item, vars)),
        Value::Table(entries) => entries.iter_mut().for_each(|entry| fill(&mut entry.node, vars)),
        Value::Int(_) | Value::Float(_) | Value::Flag(_) => {}
    }
}

/// The argument that set a variable of this text.
fn set_in<'a>(text: &str, vars: &'a BTreeMap<String, Node>) -> Option<&'a Origin> {
    let mut names = text.split("{{").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0.trim()));
    names.find_map(|name| vars.get(name).map(|node| &node.origin).filter(|from| matches!(from, Origin::Argument(_))))
}

fn filled(text: &str, vars: &BTreeMap<String, Node>) -> Option<Value> {
    let whole = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).map(str::trim);
    if let Some(value) = whole.and_then(|name| vars.get(name)) {
        return Some(value.value.clone());
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
            Some(node) => out.push_str(&plain(&node.value)),
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
