//! The comparison for programs. Versioned; numbers that are infinite or unknown are null. Pure.

use serde_json::{Value, json as object};

use super::super::Comparison;
use super::super::figures::{Figure, Kind, Outcome, Worse};
use super::super::stats::{Change, Scale};
use super::sentence::sentence;
use super::texts::word;

/// The version of this form.
const FORMAT: u64 = 1;

/// The text of the document, with a newline at its end.
///
/// `sides[]`: `label`, `runs[]` (`id`, `verdict`, `dir`); `settings[]`: `key`, `values[]` by side; `figures[]`:
/// `subject`, `name`, `unit`, `kind`, `worse`, and `against[]`, one for each side after the first: `side`, `before`,
/// `after`, `ratio`, `outcome` (worse, better, noise, equal, or why there is no telling), `p`, `level`, and `change`
/// with `scale` (ratio or difference), `point`, `low`, `high`.
#[must_use]
pub fn json(comparison: &Comparison) -> String {
    let sides: Vec<Value> = comparison
        .sides
        .iter()
        .map(|side| {
            let run = |record: &super::super::Record| {
                object!({ "id": record.run.id, "verdict": record.run.verdict, "dir": record.dir.display().to_string() })
            };
            object!({ "label": side.label, "runs": side.records.iter().map(run).collect::<Vec<Value>>() })
        })
        .collect();
    let verdicts: Vec<String> = (0..comparison.challengers().len()).map(|side| sentence(comparison, side)).collect();
    let settings: Vec<Value> =
        comparison.evolution.iter().map(|it| object!({ "key": it.key, "values": it.values })).collect();
    let figures: Vec<Value> = comparison.figures.iter().map(|figure| of_figure(comparison, figure)).collect();
    let document = object!({
        "format": FORMAT,
        "verdicts": verdicts,
        "warnings": comparison.warnings,
        "sides": sides,
        "settings": settings,
        "figures": figures,
    });
    format!("{document:#}\n")
}

fn of_figure(comparison: &Comparison, figure: &Figure) -> Value {
    let labels = comparison.challengers().iter().map(|side| side.label.as_str());
    let against: Vec<Value> = labels.zip(&figure.outcomes).map(|(label, outcome)| of_outcome(label, outcome)).collect();
    object!({
        "subject": figure.subject,
        "name": figure.name,
        "unit": figure.unit,
        "kind": kind(figure.kind),
        "worse": if figure.worse == Worse::Higher { "higher" } else { "lower" },
        "against": against,
    })
}

fn of_outcome(label: &str, outcome: &Outcome) -> Value {
    let answer = &outcome.answer;
    let change = answer.change.map(|Change { scale, point, low, high }| {
        let scale = if scale == Scale::Ratio { "ratio" } else { "difference" };
        object!({ "scale": scale, "point": point, "low": low, "high": high })
    });
    object!({
        "side": label,
        "before": answer.before,
        "after": answer.after,
        "ratio": outcome.ratio(),
        "outcome": word(outcome.sense).replace(' ', "_"),
        "p": answer.p,
        "level": answer.level,
        "change": change,
    })
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Time => "time",
        Kind::Throughput => "throughput",
        Kind::Share => "share",
        Kind::Count => "count",
        Kind::Cost => "cost",
    }
}
