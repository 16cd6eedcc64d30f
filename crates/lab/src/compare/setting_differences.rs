//! The settings in which sides differ: what the command line changed, and what the target reports of itself. Pure. Does
//! not say which of them caused a difference.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use serde::Serialize;

use super::Side;
use crate::report::{Run, flatten_config, setting_text};

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

/// The target's configuration as it reports it, without what differs in every run, its port and its directory, and
/// without what says nothing: null, empty objects, empty lists.
fn target_config(run: &Run) -> BTreeMap<String, String> {
    let port = run.scenario.target.rsplit_once(':').map_or("", |(_, port)| port.split('/').next().unwrap_or(""));
    let is_own = |text: &String| text.contains(&run.id) || (!port.is_empty() && text == port);
    let settings = run.results.server.config.as_ref().map(flatten_config).unwrap_or_default();
    let known = settings.into_iter().filter_map(|(path, value)| {
        let items = value.as_array().map_or_else(|| slice::from_ref(value), Vec::as_slice);
        let items = items.iter().filter(|item| !item.is_null() && !item.is_object());
        let texts: Vec<String> = items.map(setting_text).filter(|text| !is_own(text)).collect();
        (!texts.is_empty()).then(|| (path, texts.join(", ")))
    });
    known.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::compare::tests::fixture::TEST_RUN;

    /// What is compared of this configuration of a target at port 4000.
    #[track_caller]
    fn check(config: Value, expected: &[(&str, &str)]) {
        let mut run = TEST_RUN.record().run;
        run.results.server.config = Some(config);
        let settings = target_config(&run);
        let found: Vec<(&str, &str)> = settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_configuration_is_compared_without_what_differs_in_every_run() {
        let data = format!("runs/{}/server.db", TEST_RUN.id());
        check(json!({}), &[]);
        check(json!({ "a": { "b": 1, "c": "x" }, "e": true }), &[("a.b", "1"), ("a.c", "x"), ("e", "true")]);
        check(json!({ "l": [1, { "x": 2 }] }), &[("l.0", "1"), ("l.1.x", "2")]);
        check(json!({ "entries": [{ "key": "jobs", "source": "default", "value": "25" }] }), &[("jobs", "25")]);
        check(json!({ "port": 4000, "text": "4000", "data": data, "other": 40000 }), &[("other", "40000")]);
        check(json!({ "ports": [4000, 5000], "files": ["a", data, "b"] }), &[("files", "a, b"), ("ports", "5000")]);
        check(json!({ "ports": [4000], "files": [data] }), &[]);
        check(json!({ "none": null, "text": "null", "list": [null, "null"] }), &[("list", "null"), ("text", "null")]);
        check(json!({ "object": {}, "list": [], "lists": [[], {}], "text": "" }), &[("text", "")]);
    }
}
