//! Phases that loaded the target at several levels, one after the other: ladders of clients, and searches for the edge.
//! Their capacity is read out of the record by key, ignoring unknown keys, so that a record of another version still
//! gives a report. Pure.

use serde_json::Value;

use super::Run;
use crate::aggregate::LoadStepFigures;
use crate::edge::{FitError, Usl};
use crate::format::{first_few, number, sanitize};

/// The keys below a phase's capacity that may hold its parts: what levels show, and how a search ended.
const CAPACITY_KEYS: [&str; 4] = ["capacity", "edge", "search", "outcome"];

/// The phases that were ladders, in the order in which they began.
pub(super) fn ladders(run: &Run) -> Vec<&str> {
    let mut phases: Vec<&str> = Vec::new();
    let of_parts = run.load_steps.iter().map(|part| part.phase.as_str());
    for phase in of_parts.chain(run.capacity.keys().map(String::as_str)) {
        if !phases.contains(&phase) && is_ladder(run, phase) {
            phases.push(phase);
        }
    }
    phases
}

/// Whether a phase was a ladder: it has a capacity or evaluated levels, or the number of clients changed.
pub(super) fn is_ladder(run: &Run, phase: &str) -> bool {
    let levels = levels(run, phase);
    let changes = levels.windows(2).any(|pair| pair[0].clients != pair[1].clients);
    run.capacity.contains_key(phase)
        || changes
        || levels.iter().any(|level| level.overload.is_some() || level.void.is_some())
}

pub(super) fn levels<'a>(run: &'a Run, phase: &str) -> Vec<&'a LoadStepFigures> {
    run.load_steps.iter().filter(|part| part.phase == phase).collect()
}

/// The load of each level: its clients if every level has some, else the offered rate.
pub(super) fn loads(levels: &[&LoadStepFigures]) -> Vec<Option<f64>> {
    let by_clients = levels.iter().all(|level| level.clients.is_some());
    let load = |level: &&LoadStepFigures| {
        if by_clients { level.clients.map(|clients| clients as f64) } else { level.offered_per_s }
    };
    levels.iter().map(load).collect()
}

/// A key of a phase's capacity, here or in one of its parts.
pub(super) fn find_key<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let parts = CAPACITY_KEYS.iter().filter_map(|position| value.get(position));
    [value].into_iter().chain(parts).find_map(|part| part.get(key).filter(|found| !found.is_null()))
}

/// A number of a phase's capacity.
pub(super) fn find_number(value: &Value, key: &str) -> Option<f64> {
    find_key(value, key).and_then(Value::as_f64)
}

/// The load to which a part of the capacity refers, as in `{ "level": { "load": … } }`.
pub(super) fn level_load(value: &Value, key: &str) -> Option<f64> {
    find_key(value, key)?.get("level")?.get("load")?.as_f64()
}

/// The fitted scalability law of a phase, if there is one.
pub(super) fn fitted_law(capacity: &Value) -> Option<Usl> {
    serde_json::from_value(find_key(capacity, "usl")?.clone()).ok()
}

/// Why no law was fitted, if there is none.
pub(super) fn fit_refusal(capacity: &Value) -> Option<String> {
    let usl = find_key(capacity, "usl").filter(|usl| usl.get("refusal").is_some())?;
    if let Ok(known) = serde_json::from_value::<FitError>(usl.clone()) {
        return Some(known.to_string());
    }
    let alone = usl.as_object().is_some_and(|fields| fields.len() == 1);
    Some(describe(if alone { &usl["refusal"] } else { usl }))
}

/// A value in words: its own sentence if it has one, else its figures by name.
pub(super) fn describe(value: &Value) -> String {
    let sentence = ["sentence", "because", "reason"].iter().find_map(|key| value.get(key)?.as_str());
    match (sentence, value) {
        (Some(sentence), _) => sanitize(sentence),
        (None, Value::String(text)) => sanitize(text),
        (None, Value::Number(value)) => number(value.as_f64()),
        (None, Value::Object(fields)) => {
            let told =
                |(key, value): (&String, &Value)| format!("{} {}", sanitize(key).replace('_', " "), describe(value));
            first_few(fields.iter().map(told), ", ")
        }
        (None, Value::Array(items)) => first_few(items.iter().map(describe), "; "),
        (None, Value::Bool(true)) => "yes".to_owned(),
        (None, Value::Bool(false)) => "no".to_owned(),
        (None, Value::Null) => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_found_wherever_a_record_keeps_them() {
        let here = json!({ "knee": { "level": { "load": 50.0 } }, "peak": null, "usl": { "peak": 1, "knee": 2 } });
        let below = json!({ "capacity": here });
        assert_eq!((level_load(&here, "knee"), level_load(&below, "knee")), (Some(50.0), Some(50.0)));
        assert_eq!((find_key(&here, "peak"), find_key(&json!({ "else": here }), "knee")), (None, None));
        assert_eq!(find_key(&json!("text"), "knee"), None);
    }

    #[test]
    fn a_value_without_a_sentence_lists_its_figures() {
        assert_eq!(describe(&json!({ "refusal": "too_few_levels", "have": 3 })), "have 3, refusal too_few_levels");
        assert_eq!(describe(&json!({ "because": "It\u{1b} fell.", "x": 1 })), "It\u{fffd} fell.");
        assert_eq!(describe(&json!([1500.4, true, null, "a"])), "1,500; yes; none; a");
    }

    #[test]
    fn a_refusal_has_its_reason() {
        let refused = |refusal: Value| refusal_of(&json!({ "usl": refusal }));
        assert!(refused(json!({ "refusal": "too_few_levels", "have": 3 })).starts_with("3 levels of concurrency are"));
        assert_eq!(refused(json!({ "refusal": "of_tomorrow", "have": 3 })), "have 3, refusal of_tomorrow");
        assert_eq!(refused(json!({ "refusal": "In a sentence." })), "In a sentence.");
    }

    fn refusal_of(capacity: &Value) -> String {
        assert!(fitted_law(capacity).is_none());
        fit_refusal(capacity).unwrap()
    }
}
