//! Names that a held connection has kept before a journey uses it: those that its `opening` journey keeps. A journey
//! may use a name if every phase that runs it provides that name. Read from the text alone, because a journey must know
//! its names before the phases that run it can be read. Does not know values.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{Node, Value};

/// By journey: the names that it may use without keeping them itself.
pub(super) fn inherited_names(root: &Node) -> BTreeMap<String, Vec<String>> {
    let kept: BTreeMap<&str, BTreeSet<&str>> = table_items(root, "journey")
        .filter_map(|journey| Some((text_at(journey, "name")?, kept_names(journey))))
        .collect();
    let mut shared: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for phase in table_items(root, "phase") {
        let Some(journey) = text_at(phase, "journey") else { continue };
        let given = text_at(phase, "opening").and_then(|opening| kept.get(opening)).cloned().unwrap_or_default();
        let known = shared.entry(journey).or_insert_with(|| given.clone());
        *known = known.intersection(&given).copied().collect();
    }
    let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
    shared.into_iter().map(|(journey, names)| (journey.to_owned(), owned(names))).collect()
}

/// Names that the steps of a journey keep, including those of groups of steps.
fn kept_names(steps: &Node) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for step in table_items(steps, "step") {
        if let Some(Value::Table(entries)) = step.get("keep").map(|node| &node.value) {
            names.extend(entries.iter().map(|entry| entry.key.as_str()));
        }
        names.append(&mut kept_names(step));
    }
    names
}

fn table_items<'a>(node: &'a Node, key: &str) -> impl Iterator<Item = &'a Node> {
    let list = match node.get(key).map(|node| &node.value) {
        Some(Value::Array(items)) => items.as_slice(),
        _ => &[],
    };
    list.iter()
}

fn text_at<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    match &node.get(key)?.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}
