//! The settings in which sides differ: what the command line changed, and what the target reports of itself. Pure. Does
//! not say which of them caused a difference.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::Side;
use crate::report::Run;

/// A setting that differs between sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SettingDifference {
    pub(crate) key: String,
    /// Its value on each side, if known.
    pub(crate) values: Vec<Option<String>>,
}

/// Settings of the command line first, then those of the target's own configuration; only those that differ.
pub(crate) fn setting_differences(sides: &[Side]) -> Vec<SettingDifference> {
    let of_sides = |settings: fn(&Run) -> BTreeMap<String, String>| {
        differing(&sides.iter().map(|side| side.runs().next().map(settings).unwrap_or_default()).collect::<Vec<_>>())
    };
    let mut settings = of_sides(command_line_settings);
    for setting in of_sides(target_config) {
        if !settings.iter().any(|known| known.key == setting.key) {
            settings.push(setting);
        }
    }
    settings
}

fn differing(sides: &[BTreeMap<String, String>]) -> Vec<SettingDifference> {
    let keys: BTreeSet<&String> = sides.iter().flat_map(BTreeMap::keys).collect();
    let setting = |key: &String| SettingDifference {
        key: key.clone(),
        values: sides.iter().map(|side| side.get(key).cloned()).collect(),
    };
    keys.into_iter().map(setting).filter(|setting| setting.values.windows(2).any(|pair| pair[0] != pair[1])).collect()
}

/// What the command line changed; for a key that was set twice, the last value.
fn command_line_settings(run: &Run) -> BTreeMap<String, String> {
    let pairs = run.scenario.settings.iter().filter_map(|setting| setting.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The target's configuration as it reports it, without what differs in every run: its port and its directory.
fn target_config(run: &Run) -> BTreeMap<String, String> {
    let mut entries = BTreeMap::new();
    if let Some(config) = &run.results.server.config {
        flatten("", config, &mut entries);
    }
    let port = run.scenario.target.rsplit_once(':').map_or("", |(_, port)| port.split('/').next().unwrap_or(""));
    entries.retain(|_, value| !value.contains(&run.id) && (port.is_empty() || value.as_str() != port));
    entries
}

/// Every leaf by its path. A list of objects with a `key` and a `value` is treated as a table.
fn flatten(path: &str, value: &Value, entries: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| flatten(&below(key), value, entries)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                match (item.get("key").and_then(Value::as_str), item.get("value")) {
                    (Some(key), Some(value)) => flatten(key, value, entries),
                    _ => flatten(&below(&index.to_string()), item, entries),
                }
            }
        }
        Value::String(text) => drop(entries.insert(path.to_owned(), text.clone())),
        Value::Null => {}
        leaf => drop(entries.insert(path.to_owned(), leaf.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(config: &Value, expected: &[(&str, &str)]) {
        let mut entries = BTreeMap::new();
        flatten("", config, &mut entries);
        let found: Vec<(&str, &str)> = entries.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn configurations_are_flattened() {
        check(&json!({}), &[]);
        check(
            &json!({ "a": { "b": 1, "c": "x" }, "d": null, "e": true }),
            &[("a.b", "1"), ("a.c", "x"), ("e", "true")],
        );
        check(&json!({ "l": [1, { "x": 2 }] }), &[("l.0", "1"), ("l.1.x", "2")]);
        let entries = json!({ "entries": [{ "key": "jobs.matches", "source": "default", "value": "25" }] });
        check(&entries, &[("jobs.matches", "25")]);
    }
}
