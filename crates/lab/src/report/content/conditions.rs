//! What the figures depend on: the trial, the machine, the program, the target's configuration. With these a run can be
//! repeated.

use serde_json::Value;

use super::time_charts::TimeCharts;
use super::{ContentBlock, Section, Table, processes};
use crate::format::{first_few, gibibytes, number, sanitize};
use crate::limits::REPORT_ROWS_MAX;
use crate::report::Run;

/// Characters of a value of the target's configuration.
const VALUE_CHARS_MAX: usize = 300;

pub(super) fn section(run: &Run, sheet: &TimeCharts<'_>) -> Section {
    let (machine, scenario) = (&run.machine, &run.scenario);
    let settings = if scenario.settings.is_empty() { "none".to_owned() } else { first_few(&scenario.settings, " ") };
    let lag = &run.results.generator.schedule_lag_ms;
    let program = if run.program.is_empty() { "an unnamed version" } else { &run.program };
    let mut facts = vec![
        format!("run {}, started {}, {} s", run.id, run.started_at, number(Some(run.duration_s))),
        format!("gauntlet {program}, record format {}", run.format),
        format!("target {}, seed {}, settings: {settings}", scenario.target, scenario.seed),
        format!("scenario {}", scenario.hash),
        format!("schedule lag of the lab: p99 {} ms, max {} ms", number(lag.p99), number(lag.max)),
        format!(
            "{} cores, {}, {}, Linux {}, fsync p50 {} ms",
            machine.cores.map_or_else(|| "?".to_owned(), |cores| cores.to_string()),
            machine.cpu_model.as_deref().unwrap_or("unknown processor"),
            machine.memory_bytes.map_or_else(|| "unknown memory".to_owned(), gibibytes),
            machine.kernel.as_deref().unwrap_or("?"),
            number(machine.fsync_ms_p50),
        ),
    ];
    facts.extend(run.notes.iter().cloned());
    let facts = facts.iter().map(|fact| sanitize(fact)).collect();
    let chart = ContentBlock::charts(processes::schedule_lag_chart(sheet));
    Section::new("conditions", "Conditions", [ContentBlock::facts(facts)].into_iter().chain(chart))
}

/// The target's configuration as it reports it, one setting per row.
pub(super) fn configuration(run: &Run) -> Section {
    let settings = run.results.server.config.as_ref().map(flatten_config).unwrap_or_default();
    let short = |value: &Value| setting_text(value).chars().take(VALUE_CHARS_MAX).collect::<String>();
    let rows = settings.iter().map(|(path, value)| vec![path.as_str().into(), short(value).into()]).collect();
    let table = Table::new(2, &["setting", "value"], rows).limit_rows(REPORT_ROWS_MAX);
    Section::new("configuration", "The target's configuration", [ContentBlock::Table(table)])
}

/// Every setting of a configuration with its value: objects become dotted paths, lists of plain values stay together,
/// and a list of objects with a `key` and a `value` is a table. A value is thus plain, a list of plain values or an empty
/// object.
pub(crate) fn flatten_config(config: &Value) -> Vec<(String, &Value)> {
    let mut settings = Vec::new();
    flatten(String::new(), config, &mut settings);
    settings
}

fn flatten<'a>(path: String, value: &'a Value, settings: &mut Vec<(String, &'a Value)>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(key, field)| flatten(below(key), field, settings));
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (i, item) in items.iter().enumerate() {
                match item.get("key").and_then(Value::as_str).zip(item.get("value")) {
                    Some((key, value)) => flatten(key.to_owned(), value, settings),
                    None => flatten(below(&i.to_string()), item, settings),
                }
            }
        }
        other => settings.push((path, other)),
    }
}

/// The value of a setting as text: a list by its items, a text without quotation marks.
pub(crate) fn setting_text(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(setting_text).collect::<Vec<_>>().join(", "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_configuration_becomes_one_setting_a_row() {
        let config = json!({
            "port": 4000, "matches": { "workers": 25, "ids": [1, 2], "none": [] },
            "nodes": [{ "id": "a" }, { "id": "b" }], "empty": {}, "off": null,
            "entries": [{ "key": "jobs.matches", "source": "default", "value": "30" }],
        });
        let settings = flatten_config(&config);
        let rows: Vec<String> =
            settings.iter().map(|(path, value)| format!("{path}={}", setting_text(value))).collect();
        let expected = [
            "empty={}",
            "jobs.matches=30",
            "matches.ids=1, 2",
            "matches.none=",
            "matches.workers=25",
            "nodes.0.id=a",
            "nodes.1.id=b",
            "off=null",
            "port=4000",
        ];
        assert_eq!(rows, expected);
    }
}
