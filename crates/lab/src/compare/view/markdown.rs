//! The comparison for people: fit for a pull request and for a terminal. The verdict is the first line, then the
//! settings that differ, the runs, and figure against figure. Pure. Contains nothing that was not measured.

use std::collections::BTreeSet;

use super::super::comparable::describe_machine;
use super::super::figures::ComparedFigure;
use super::super::stats::{Decision, TestResult, UndecidedReason};
use super::super::{Comparison, Side, unique_gates};
use super::format::{format_change, format_interval, outcome_name, reason_name, reason_sentence};
use super::sentence::verdict_sentence;
use crate::format::{count, markdown_table, number, wrap};
use crate::report::Run;
use crate::verdict::GateResult;

/// Columns that a line of text may take.
const WIDTH: usize = 80;

/// The comparison as Markdown.
pub(crate) fn markdown(comparison: &Comparison) -> String {
    let sides = 0..comparison.candidates().len();
    let verdicts =
        sides.clone().map(|side| format!("**{}.**\n", verdict_sentence(comparison, side))).collect::<Vec<_>>();
    let warnings: Vec<String> =
        comparison.warnings.iter().map(|text| wrap(&format!("> Warning: {text}"), WIDTH, "> ") + "\n").collect();
    let mut parts = vec![verdicts.join("\n")];
    parts.extend((!warnings.is_empty()).then(|| warnings.join(">\n")));
    parts.extend([settings_section(comparison), runs(comparison)]);
    parts.extend(sides.map(|side| figure_tables(comparison, side)));
    parts.extend([failing_gates(comparison), method_section(comparison)]);
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn section(title: &str, body: &str) -> String {
    if body.is_empty() { String::new() } else { format!("## {title}\n\n{body}") }
}

fn labels(comparison: &Comparison) -> Vec<&str> {
    comparison.sides.iter().map(|side| side.label.as_str()).collect()
}

fn settings_section(comparison: &Comparison) -> String {
    if comparison.setting_differences.is_empty() {
        return section("Configuration", "The same settings on all sides.\n");
    }
    let heading: Vec<&str> = ["setting"].into_iter().chain(labels(comparison)).collect();
    let rows: Vec<Vec<String>> = comparison
        .setting_differences
        .iter()
        .map(|setting| {
            let values = setting.values.iter().map(|value| value.clone().unwrap_or_else(|| "default".to_owned()));
            [setting.key.clone()].into_iter().chain(values).map(|cell| escape_cell(&cell)).collect()
        })
        .collect();
    section("Configuration", &markdown_table(1, &heading, &rows))
}

/// Text from outside must not end a cell.
fn escape_cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

fn runs(comparison: &Comparison) -> String {
    let works = comparison.sides.iter().flat_map(Side::runs).all(|run| !run.results.work.is_empty());
    let heading = if works {
        ["side", "run", "verdict", "gates", "took, s", "finished", "stuck", "per min"]
    } else {
        ["side", "run", "verdict", "gates", "took, s", "ok", "errors", "denied"]
    };
    let row = |label: &str, run: &Run| {
        let hold = run.gates.iter().filter(|gate| gate.ok).count();
        let first = [label.to_owned(), run.id.clone(), run.verdict.name().to_owned()];
        let gates = [format!("{hold} of {}", run.gates.len()), number(Some(run.duration_s))];
        let last = if works { work_cells(run) } else { request_cells(run) };
        first.into_iter().chain(gates).chain(last).collect()
    };
    let rows: Vec<Vec<String>> = comparison
        .sides
        .iter()
        .flat_map(|side| side.runs().map(|run| row(&side.label, run)).collect::<Vec<_>>())
        .collect();
    section("Runs", &markdown_table(3, &heading, &rows))
}

fn work_cells(run: &Run) -> [String; 3] {
    let Some(work) = run.results.work.values().max_by_key(|work| work.created) else { return Default::default() };
    [format!("{} / {}", count(work.finished), count(work.created)), count(work.stuck), number(work.throughput_per_min)]
}

fn request_cells(run: &Run) -> [String; 3] {
    let sum =
        |of: fn(&crate::aggregate::OpFigures) -> u64| run.results.journeys.values().map(|it| of(&it.op)).sum::<u64>();
    let (ok, all) = (sum(|op| op.ok), sum(|op| op.count));
    [format!("{} / {}", count(ok), count(all)), count(sum(|op| op.errors)), count(sum(|op| op.denied))]
}

/// One table for each subject, figure by figure.
fn figure_tables(comparison: &Comparison, side: usize) -> String {
    let (first, second) = (comparison.sides[0].label.as_str(), comparison.sides[side + 1].label.as_str());
    let mut body = String::new();
    for same in comparison.figures.chunk_by(|a, b| a.subject == b.subject) {
        let heading = [same[0].subject.as_str(), first, second, "change", "could be", ""];
        let rows: Vec<Vec<String>> = same.iter().map(|figure| row(figure, &figure.outcomes[side])).collect();
        body.push_str(&markdown_table(1, &heading, &rows));
        body.push('\n');
    }
    let reasons: BTreeSet<UndecidedReason> =
        comparison.figures.iter().filter_map(|figure| undecided_reason(&figure.outcomes[side])).collect();
    let unit_s = comparison.sides[0].records.first().map_or(1, |record| record.series.unit_s);
    for why in reasons {
        let text = format!("- {}: {}.", reason_name(why), reason_sentence(why, unit_s));
        body.push_str(&(wrap(&text, WIDTH, "  ") + "\n"));
    }
    section(&format!("{second} against {first}"), body.trim_end()) + "\n"
}

fn undecided_reason(outcome: &TestResult) -> Option<UndecidedReason> {
    match outcome.decision {
        Decision::Unknown(reason) => Some(reason),
        _ => None,
    }
}

fn row(figure: &ComparedFigure, outcome: &TestResult) -> Vec<String> {
    let unit = if figure.unit.is_empty() { String::new() } else { format!(", {}", figure.unit) };
    let word = match outcome.decision {
        Decision::Higher | Decision::Lower => format!("**{}**", outcome_name(figure, outcome)),
        _ => outcome_name(figure, outcome).to_owned(),
    };
    vec![
        format!("{}{unit}", figure.name),
        number(outcome.before),
        number(outcome.after),
        format_change(figure, outcome),
        format_interval(figure, outcome),
        word,
    ]
}

/// Gates that do not hold on some side.
fn failing_gates(comparison: &Comparison) -> String {
    let fails = |gate: &&GateResult| comparison.sides.iter().any(|side| side.matching_gates(gate).any(|own| !own.ok));
    let failing: Vec<&GateResult> =
        unique_gates(comparison.sides.iter().flat_map(Side::runs)).into_iter().filter(fails).collect();
    if failing.is_empty() {
        return section("Gates", "All gates hold in all runs.\n");
    }
    let cell = |side: &Side, gate: &GateResult| match side.gate_pass_count(gate) {
        (_, 0) => "-".to_owned(),
        (0, 1) => "FAIL".to_owned(),
        (hold, all) if hold == all => "ok".to_owned(),
        (hold, all) => format!("holds in {hold} of {all}"),
    };
    let row = |gate: &&GateResult| {
        let cells = comparison.sides.iter().map(|side| cell(side, gate));
        [escape_cell(&gate.name), escape_cell(&gate.limit)].into_iter().chain(cells).collect()
    };
    let heading: Vec<&str> = ["gate", "limit"].into_iter().chain(labels(comparison)).collect();
    let rows: Vec<Vec<String>> = failing.iter().map(row).collect();
    section("Gates that do not hold everywhere", &markdown_table(2, &heading, &rows))
}

fn method_section(comparison: &Comparison) -> String {
    let answers = || comparison.figures.iter().flat_map(|figure| &figure.outcomes);
    let strictest = answers().filter_map(|answer| answer.level).fold(1.0, f64::min);
    let mut texts = vec![
        "Only what is beyond the noise is called a difference: in at most 5 % of all comparisons without one is one \
         called anywhere."
            .to_owned(),
    ];
    if strictest < 1.0 {
        let level = number(Some(100.0 * strictest));
        texts.push(format!(
            "Each figure is tested at a level of {level} % or a wider one; \"could be\" is its interval at that level."
        ));
    }
    if comparison.sides.iter().all(|side| side.records.len() == 1) {
        texts.push(
            "One run a side: the intervals hold the noise inside these runs, not how far one run lies from the next. \
             Repeats hold both: give several runs of a side with commas between them."
                .to_owned(),
        );
    } else {
        texts.push(
            "Several runs a side: the run is the unit, and the figure of a side is the mean of its runs.".to_owned(),
        );
    }
    texts.extend(comparison.sides[0].runs().next().map(conditions));
    section(
        "How this was judged",
        &texts.iter().map(|text| wrap(&format!("- {text}"), WIDTH, "  ") + "\n").collect::<String>(),
    )
}

fn conditions(run: &Run) -> String {
    let hash: String = run.scenario.hash.chars().take(12).collect();
    format!("Scenario {} ({hash}), {}.", run.scenario.name, describe_machine(&run.machine))
}
