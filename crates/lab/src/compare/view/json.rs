//! The comparison for programs. Versioned; numbers that are infinite or unknown are null. Pure.

use serde_json::{Value, json as object};

use super::super::figures::ComparedFigure;
use super::super::stats::TestResult;
use super::super::{Comparison, RunRecord, Side};
use super::format::outcome_name;
use super::sentence::verdict_sentence;

/// The version of this form.
const FORMAT: u64 = 1;

/// The text of the document, with a newline at its end.
///
/// `sides[]`: `label`, `runs[]` (`id`, `verdict`, `dir`); `settings[]`: `key`, `values[]` by side; `figures[]`:
/// `subject`, `name`, `unit`, `kind`, `worse`, and `against[]`, one for each side after the first: `side`, `before`,
/// `after`, `ratio`, `outcome` (worse, better, noise, equal, or why it is undecided), `p`, `level`, and `change` with
/// `scale` (ratio or difference), `point`, `low`, `high`.
pub(crate) fn json(comparison: &Comparison) -> String {
    let run = |record: &RunRecord| object!({ "id": record.run.id, "verdict": record.run.verdict, "dir": record.dir.display().to_string() });
    let runs = |side: &Side| side.records.iter().map(run).collect::<Vec<Value>>();
    let sides: Vec<Value> =
        comparison.sides.iter().map(|side| object!({ "label": side.label, "runs": runs(side) })).collect();
    let verdicts: Vec<String> =
        (0..comparison.candidates().len()).map(|side| verdict_sentence(comparison, side)).collect();
    let figures: Vec<Value> = comparison.figures.iter().map(|figure| figure_json(comparison, figure)).collect();
    let document = object!({
        "format": FORMAT,
        "verdicts": verdicts,
        "warnings": comparison.warnings,
        "sides": sides,
        "settings": comparison.setting_differences,
        "figures": figures,
    });
    format!("{document:#}\n")
}

fn figure_json(comparison: &Comparison, figure: &ComparedFigure) -> Value {
    let labels = comparison.candidates().iter().map(|side| side.label.as_str());
    let against = labels.zip(&figure.outcomes).map(|(label, outcome)| outcome_json(label, figure, outcome));
    object!({
        "subject": figure.subject,
        "name": figure.name,
        "unit": figure.unit,
        "kind": figure.kind,
        "worse": figure.worse_direction,
        "against": against.collect::<Vec<Value>>(),
    })
}

fn outcome_json(label: &str, figure: &ComparedFigure, outcome: &TestResult) -> Value {
    object!({
        "side": label,
        "before": outcome.before,
        "after": outcome.after,
        "ratio": outcome.ratio(),
        "outcome": outcome_name(figure, outcome).replace(' ', "_"),
        "p": outcome.p,
        "level": outcome.level,
        "change": outcome.effect,
    })
}
