//! The comparison as a document of blocks, as the console's pages draw reports. Pure. Decides nothing.

use serde::Serialize;
use serde_json::Value;

use super::super::figures::ComparedFigure;
use super::super::stats::{Decision, TestResult};
use super::super::{Comparison, Side, unique_gates};
use super::format::{format_change, format_interval, outcome_name};
use super::sentence::verdict_sentence;
use crate::format::number;
use crate::report::{ContentBlock, DOCUMENT_FORMAT, Section, Table, TableCell, Tone, sanitized};
use crate::verdict::{GateResult, Verdict};

#[derive(Serialize)]
struct Document {
    format: u64,
    /// The scenario of the first run.
    title: String,
    /// One for each side after the first.
    verdicts: Vec<String>,
    warnings: Vec<String>,
    sections: Vec<Section>,
}

/// The comparison as a document.
pub(crate) fn document(comparison: &Comparison) -> Value {
    let sides = 0..comparison.candidates().len();
    let mut sections = vec![runs(comparison), settings(comparison), gates(comparison)];
    sections.extend(sides.clone().map(|side| figures(comparison, side)));
    sections.retain(|section| !section.blocks.is_empty());
    let first = comparison.sides.first().and_then(|side| side.runs().next());
    sanitized(&Document {
        format: DOCUMENT_FORMAT,
        title: first.map_or_else(String::new, |run| run.scenario.name.clone()),
        verdicts: sides.map(|side| format!("{}.", verdict_sentence(comparison, side))).collect(),
        warnings: comparison.warnings.clone(),
        sections,
    })
}

fn runs(comparison: &Comparison) -> Section {
    let row = |side: &Side| {
        let row = side.runs().map(|run| {
            let hold = run.gates.iter().filter(|gate| gate.ok).count();
            let tone = match run.verdict {
                Verdict::Passed => Tone::Good,
                Verdict::Failed => Tone::Bad,
                Verdict::Void | Verdict::Interrupted => Tone::Doubtful,
            };
            vec![
                side.label.as_str().into(),
                run.id.as_str().into(),
                TableCell::with_tone(run.verdict.name(), tone),
                format!("{hold} of {}", run.gates.len()).into(),
                number(Some(run.duration_s)).into(),
            ]
        });
        row.collect::<Vec<_>>()
    };
    let rows = comparison.sides.iter().flat_map(row).collect();
    let table = Table::new(3, &["side", "run", "verdict", "gates", "took, s"], rows);
    Section::new("runs", "Runs", [ContentBlock::Table(table)])
}

fn settings(comparison: &Comparison) -> Section {
    let labels = comparison.sides.iter().map(|side| side.label.as_str());
    let heading: Vec<&str> = ["setting"].into_iter().chain(labels).collect();
    let rows = comparison.setting_differences.iter().map(|setting| {
        let values = setting.values.iter().map(|value| value.as_deref().unwrap_or("default").into());
        [TableCell::from(setting.key.as_str())].into_iter().chain(values).collect()
    });
    let table = Table::new(heading.len(), &heading, rows.collect());
    Section::new("settings", "Settings that differ", [ContentBlock::Table(table)])
}

/// Gates that do not hold on some side.
fn gates(comparison: &Comparison) -> Section {
    let fails = |gate: &&GateResult| comparison.sides.iter().any(|side| side.matching_gates(gate).any(|own| !own.ok));
    let cell = |side: &Side, gate: &GateResult| match side.gate_pass_count(gate) {
        (_, 0) => "-".into(),
        (hold, all) if hold == all => TableCell::with_tone("ok", Tone::Good),
        (0, 1) => TableCell::with_tone("FAIL", Tone::Bad),
        (hold, all) => TableCell::with_tone(&format!("holds in {hold} of {all}"), Tone::Bad),
    };
    let row = |gate: &GateResult| {
        let cells = comparison.sides.iter().map(|side| cell(side, gate));
        [TableCell::from(gate.name.as_str()), gate.limit.as_str().into()].into_iter().chain(cells).collect()
    };
    let failing = unique_gates(comparison.sides.iter().flat_map(Side::runs)).into_iter().filter(fails);
    let labels = comparison.sides.iter().map(|side| side.label.as_str());
    let heading: Vec<&str> = ["gate", "limit"].into_iter().chain(labels).collect();
    let table = Table::new(heading.len(), &heading, failing.map(row).collect());
    Section::new("gates", "Gates that do not hold everywhere", [ContentBlock::Table(table)])
}

/// A table for each subject, figure by figure.
fn figures(comparison: &Comparison, side: usize) -> Section {
    let (first, second) = (comparison.sides[0].label.as_str(), comparison.sides[side + 1].label.as_str());
    let tables = comparison.figures.chunk_by(|a, b| a.subject == b.subject).map(|same| {
        let heading = [same[0].subject.as_str(), first, second, "change", "could be", "outcome"];
        let rows = same.iter().map(|figure| row(figure, side)).collect();
        ContentBlock::Table(Table::new(1, &heading, rows))
    });
    Section::new(&format!("figures-{second}"), &format!("{second} against {first}"), tables)
}

fn row(figure: &ComparedFigure, side: usize) -> Vec<TableCell> {
    let outcome = &figure.outcomes[side];
    let unit = if figure.unit.is_empty() { String::new() } else { format!(", {}", figure.unit) };
    vec![
        format!("{}{unit}", figure.name).into(),
        number(outcome.before).into(),
        number(outcome.after).into(),
        format_change(figure, outcome).into(),
        format_interval(figure, outcome).into(),
        TableCell::with_tone(outcome_name(figure, outcome), tone(figure, outcome)),
    ]
}

fn tone(figure: &ComparedFigure, outcome: &TestResult) -> Tone {
    match outcome.decision {
        Decision::Higher | Decision::Lower if figure.is_worse(outcome) => Tone::Bad,
        Decision::Higher | Decision::Lower => Tone::Good,
        Decision::NotSignificant | Decision::Equal | Decision::Unknown(_) => Tone::Plain,
    }
}
