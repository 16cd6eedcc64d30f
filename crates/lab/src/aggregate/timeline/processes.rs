//! What processes use, over time: memory, files and threads as they are, processor time and context switches as rates.
//! Does not know how it was measured, and which process matters.

use std::collections::BTreeMap;

use super::{SeriesClass, Timeline};

/// Context switches since a process started, of both kinds or of one.
const SWITCHES: [&str; 3] = ["context_switches", "switches_voluntary", "switches_involuntary"];

impl Timeline {
    pub(super) fn add_process(&mut self, name: &str, t_s: f64, figures: &BTreeMap<String, f64>) {
        for (key, value) in figures.iter().filter(|(key, _)| !SWITCHES.contains(&key.as_str())) {
            let path = format!("process.{name}.{key}");
            match cpu_time_kind(key) {
                Some(kind) => self.push_rate(&path, &format!("process.{name}.cpu_{kind}cores"), t_s, *value),
                None => self.push(SeriesClass::Resource, &path, t_s, *value),
            }
        }
        if let Some(switches) = switches_of(figures) {
            let path = format!("process.{name}.context_switches");
            self.push_rate(&path, &format!("{path}_per_s"), t_s, switches);
        }
    }

    fn push_rate(&mut self, counter: &str, name: &str, t_s: f64, value: f64) {
        if let Some(rise) = self.counters.increase_since_last(counter, t_s, value) {
            self.push_until(SeriesClass::Resource, name, rise.span(), rise.per_s());
        }
    }
}

/// The kind of processor time that a key counts in seconds: `cpu_s` is all of it, `cpu_user_s` that of one kind.
fn cpu_time_kind(key: &str) -> Option<&str> {
    let kind = key.strip_prefix("cpu_")?.strip_suffix('s')?;
    (kind.is_empty() || kind.ends_with('_')).then_some(kind)
}

fn switches_of(figures: &BTreeMap<String, f64>) -> Option<f64> {
    let [both, voluntary, involuntary] = SWITCHES.map(|key| figures.get(key).copied());
    both.or_else(|| Some(voluntary? + involuntary?))
}
