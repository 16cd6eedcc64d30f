//! Variables: names for values of the scenario that the command line changes. They are filled in before anything else
//! is read, so that a number stays a number. Does not know values that only a run has.

use std::collections::BTreeMap;

use super::reader::{NodeReader, check_name, check_template_name};
use super::tree::{Node, Value, join_path};
use super::validation::{ErrorCollector, Origin};

/// The table of variables.
const VARS_TABLE: &str = "vars";

/// All variables by their dotted names: `[vars.jobs] matches` is `jobs.matches`.
pub(crate) fn read(root: &Node, errors: &ErrorCollector) -> BTreeMap<String, Node> {
    let mut vars = BTreeMap::new();
    if let Some(node) = root.get(VARS_TABLE) {
        NodeReader::new(node, VARS_TABLE, errors).entries::<()>(|name, at| {
            check_template_name(at, name);
            collect(name, at, &mut vars);
            None
        });
    }
    vars
}

fn collect(dotted: &str, at: &NodeReader<'_>, vars: &mut BTreeMap<String, Node>) {
    match &at.node.value {
        Value::Table(_) => {
            for (name, at) in at.entries(|name, at| Some((name, at.clone()))) {
                check_name(&at, name);
                collect(&join_path(dotted, name), &at, vars);
            }
        }
        Value::Array(_) => at.add_error(format!("must be a text or a number, not {}", at.node.kind())),
        Value::Text(text) if text.contains("{{") => at.add_error("must not use other names: variables are plain"),
        _ => {
            vars.insert(dotted.to_owned(), at.node.clone());
        }
    }
}

/// The variable of this dotted name.
pub(crate) fn find_mut<'a>(root: &'a mut Node, dotted: &str) -> Option<&'a mut Node> {
    let mut path = [VARS_TABLE].into_iter().chain(dotted.split('.'));
    let found = path.try_fold(root, |node, key| node.as_table_mut()?.get_mut(key))?;
    (!matches!(found.value, Value::Table(_))).then_some(found)
}

/// Whether a dotted path is that of a variable.
pub(crate) fn is_variable_path(path: &str) -> bool {
    path == VARS_TABLE || path.strip_prefix(VARS_TABLE).is_some_and(|rest| rest.starts_with('.'))
}

/// Fills in the scenario's variables, everywhere below `node`. A text that consists of one variable takes the
/// variable's type, so that a number stays a number. An error in a value that the command line set has that argument as
/// its origin, not the line that uses it.
pub(crate) fn substitute(node: &mut Node, vars: &BTreeMap<String, Node>) {
    match &mut node.value {
        Value::Text(text) => {
            let set = overriding_argument(text, vars).cloned();
            if let Some(value) = substituted(text, vars) {
                node.value = value;
            }
            node.origin = set.unwrap_or_else(|| node.origin.clone());
        }
        Value::Array(items) => items.iter_mut().for_each(|item| substitute(item, vars)),
        Value::Table(entries) => entries.values_mut().for_each(|node| substitute(node, vars)),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => {}
    }
}

/// The argument that set a variable of this text.
fn overriding_argument<'a>(text: &str, vars: &'a BTreeMap<String, Node>) -> Option<&'a Origin> {
    let mut names = text.split("{{").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0.trim()));
    names.find_map(|name| vars.get(name).map(|node| &node.origin).filter(|from| matches!(from, Origin::Argument(_))))
}

fn substituted(text: &str, vars: &BTreeMap<String, Node>) -> Option<Value> {
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
            Some(node) => out.extend(node.as_plain_text()),
            None => out.extend(["{{", name, "}}"]),
        }
        rest = after;
    }
    out.push_str(rest);
    (out != text).then_some(Value::Text(out))
}
