//! The settings in which sides differ: what the command line changed, and what the target reports of itself. Pure. Does
//! not say which of them caused a difference.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Side;
use crate::report::{Run, flatten_config};

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
    let port = run.scenario.target.rsplit_once(':').map_or("", |(_, port)| port.split('/').next().unwrap_or(""));
    let is_own = |value: &str| value.contains(&run.id) || (!port.is_empty() && value == port);
    let settings = run.results.server.config.as_ref().map(flatten_config).unwrap_or_default();
    settings.into_iter().filter(|(_, value)| value != "null" && !is_own(value)).collect()
}
