//! What the levels of a ladder, or of a search for the edge, show about the capacity of the target, in the terms of
//! capacity reports: peak, zero-error range, optimal range, knee, saturation, behaviour beyond it, and the resulting
//! limits. Does not compute them.

use serde_json::Value;

use super::{ContentBlock, Section, Table, TableCell, Tone};
use crate::aggregate::LoadStepFigures;
use crate::edge::{Estimate, SuggestionKind};
use crate::format::{clock, first_few, number, percent, sanitize};
use crate::limits::REPORT_ROWS_MAX;
use crate::report::charts::levels::charts;
use crate::report::levels::{describe, find_key, fit_refusal, fitted_law, ladders, levels};
use crate::report::{Run, slug};

/// The terms of the report, in order, with the keys of the record.
const TERMS: [(&str, &str); 6] = [
    ("zero_error_range", "Zero-error range"),
    ("optimal_range", "Optimal range"),
    ("knee", "Knee"),
    ("saturation", "Saturation point"),
    ("beyond", "Beyond it"),
    ("left_out", "Left out"),
];

pub(super) fn sections(run: &Run) -> Vec<Section> {
    ladders(run).into_iter().map(|phase| section(run, phase)).collect()
}

fn section(run: &Run, phase: &str) -> Section {
    let levels = levels(run, phase);
    let capacity = run.capacity.get(phase);
    let mut blocks = vec![ContentBlock::facts(capacity.map(capacity_sentences).unwrap_or_default())];
    blocks.extend(charts(&levels, capacity).into_iter().map(|chart| ContentBlock::Chart(Box::new(chart))));
    blocks.push(ContentBlock::Heading("Level by level".to_owned()));
    blocks.push(ContentBlock::Table(table(&levels)));
    let suggestions = capacity.map(suggestions).unwrap_or_default();
    if !suggestions.is_empty() {
        blocks.push(ContentBlock::Heading("Suggested limits and alerts".to_owned()));
        blocks.push(ContentBlock::facts(suggestions));
    }
    Section::new(&format!("capacity-{}", slug(phase)), &format!("Capacity: {}", sanitize(phase)), blocks)
}

fn capacity_sentences(capacity: &Value) -> Vec<String> {
    let outcome = find_key(capacity, "ending").and_then(|_| find_key(capacity, "reason")).map(describe);
    let mut words: Vec<String> = outcome.into_iter().map(|reason| format!("Edge: {reason}")).collect();
    words.extend(peak(capacity));
    for (key, term) in TERMS {
        let said = find_key(capacity, key).map(describe).filter(|said| !said.is_empty());
        words.extend(said.map(|said| format!("{term}: {said}")));
    }
    words.extend(scalability(capacity));
    words.extend(other_sentences(capacity));
    words
}

fn peak(capacity: &Value) -> Option<String> {
    let peak = find_key(capacity, "peak")?;
    let Some(throughput_per_s) = peak.get("throughput_per_s").and_then(Value::as_f64) else {
        return Some(format!("Peak: {}", describe(peak)));
    };
    let label = peak.get("level").and_then(|level| level.get("label")?.as_str()).unwrap_or_default();
    let at = if label.is_empty() { String::new() } else { format!(" at {}", sanitize(label)) };
    let state = match peak.get("healthy").and_then(Value::as_bool) {
        Some(false) => ", past the point where it was healthy",
        _ => "",
    };
    Some(format!("Peak throughput: {}/s{at}{state}", number(Some(throughput_per_s))))
}

/// The parameters of the fitted law with their intervals, or why there is none.
fn scalability(capacity: &Value) -> Option<String> {
    if let Some(refusal) = fit_refusal(capacity) {
        return Some(format!("Universal Scalability Law: not fitted. {refusal}"));
    }
    let law = fitted_law(capacity)?;
    let [one, contention, coherency] = [law.lambda_per_s, law.sigma, law.kappa].map(|Estimate { value, low, high }| {
        format!("{} ({} to {})", significant(value), significant(low), significant(high))
    });
    Some(format!(
        "Universal Scalability Law, with 95 % intervals: {one} a second for one, contention {contention}, coherency \
         {coherency}; R² {:.3}",
        law.r_squared
    ))
}

/// Parameters of a law may be far below one.
fn significant(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 { format!("{value:.2e}") } else { number(Some(value)) }
}

/// Further sentences in a record of another version.
fn other_sentences(capacity: &Value) -> Vec<String> {
    const TOLD: [&str; 10] =
        ["axis", "peak", "suggestions", "usl", "capacity", "edge", "search", "outcome", "reason", "ending"];
    let told = |key: &str| TOLD.contains(&key) || TERMS.iter().any(|(term, _)| *term == key);
    let Some(fields) = capacity.as_object() else { return vec![describe(capacity)] };
    let rest = fields.iter().filter(|(key, value)| !told(key) && !value.is_null() && !value.is_array());
    rest.map(|(key, value)| format!("{}: {}", sanitize(key).replace('_', " "), describe(value))).collect()
}

fn suggestions(capacity: &Value) -> Vec<String> {
    let list = find_key(capacity, "suggestions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().map(suggestion).collect()
}

fn suggestion(suggestion: &Value) -> String {
    let text = |key: &str| suggestion.get(key).and_then(Value::as_str).map(sanitize);
    let (Some(what), Some(value)) = (text("what"), suggestion.get("value").and_then(Value::as_f64)) else {
        return describe(suggestion);
    };
    let value = match text("unit").as_deref() {
        // As many digits as needed: 0.1 %, not 0.100 %.
        Some("share") => format!("{} %", (value * 1e6).round() / 1e4),
        Some(unit) => format!("{} {unit}", number(Some(value))),
        None => number(Some(value)),
    };
    let because = text("because").map_or_else(String::new, |because| format!(". {because}"));
    let known = suggestion.get("what").and_then(|what| serde_json::from_value::<SuggestionKind>(what.clone()).ok());
    let what = known.map_or_else(|| what.replace('_', " "), |known| known.description().to_owned());
    format!("{what}: {value}{because}")
}

fn table(levels: &[&LoadStepFigures]) -> Table {
    let heading = [
        "level",
        "judged",
        "time",
        "clients",
        "offered/s",
        "ok/s",
        "ok %",
        "denied",
        "errors",
        "not sent",
        "p50",
        "p95",
        "p99",
    ];
    let rows = levels.iter().map(|level| row(level)).collect();
    let note = "Time since the start of the plan; p50 to p99: latency in ms, from the intended moment.".to_owned();
    let notes = [note].into_iter().chain(levels.iter().filter_map(|level| overload_reasons(level))).collect();
    Table::new(2, &heading, rows).with_notes(notes).without_empty_columns().limit_rows(REPORT_ROWS_MAX)
}

fn row(level: &LoadStepFigures) -> Vec<TableCell> {
    let op = &level.op;
    let some = |count: u64| if count > 0 { count.into() } else { TableCell::from("-") };
    let judged = match (&level.void, level.overload.as_deref()) {
        (Some(_), _) => TableCell::with_tone("void", Tone::Doubtful),
        (None, None) => TableCell::from("-"),
        (None, Some([])) => TableCell::with_tone("sustained", Tone::Good),
        (None, Some(_)) => TableCell::with_tone("overload", Tone::Bad),
    };
    let times = [op.latency_ms.p50, op.latency_ms.p95, op.latency_ms.p99].map(TableCell::from);
    let clients = level.clients.map_or_else(|| TableCell::from("-"), TableCell::from);
    let head = [level.label.as_str().into(), judged, clock(level.start_s).into(), clients];
    let rates = [level.offered_per_s, level.throughput_per_s].map(TableCell::from);
    let counts = [percent(op.ok, op.count).into(), some(op.denied), op.errors.into(), some(level.not_sent)];
    head.into_iter().chain(rates).chain(counts).chain(times).collect()
}

/// Why a level counted as overloaded, or could not be evaluated.
fn overload_reasons(level: &LoadStepFigures) -> Option<String> {
    if let Some(why) = &level.void {
        return Some(format!("{} is void: {}", level.label, sanitize(why)));
    }
    let reasons = level.overload.as_deref().filter(|reasons| !reasons.is_empty())?;
    Some(format!("{} was overloaded: {}", level.label, sanitize(&first_few(reasons, "; "))))
}
