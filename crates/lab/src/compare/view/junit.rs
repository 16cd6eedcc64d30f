//! The comparison as JUnit XML, for tools that show tests: one case for each figure and gate of each side after the
//! first. A case fails if a figure is worse beyond the noise and the threshold, or a gate does not hold; it is skipped
//! if the figure is undecided. Pure.

use maud::{PreEscaped, html};

use super::super::figures::ComparedFigure;
use super::super::stats::Decision;
use super::super::{Comparison, Side, unique_gates};
use super::format::{format_change, format_interval, format_value, reason_sentence};
use crate::format::sanitize_lines;
use crate::verdict::GateResult;

/// One case; it passed if it was neither skipped nor failed.
#[derive(Default)]
struct TestCase {
    class: String,
    name: String,
    /// Why it was skipped.
    skipped: Option<String>,
    failure: Option<TestFailure>,
}

struct TestFailure {
    kind: &'static str,
    message: String,
    detail: String,
}

/// The XML. `threshold` is the share by which a figure must be worse before it fails.
pub(crate) fn junit(comparison: &Comparison, threshold: f64) -> String {
    let suites: Vec<(String, Vec<TestCase>)> = (0..comparison.candidates().len())
        .map(|side| (suite_name(comparison, side), cases(comparison, side, threshold)))
        .collect();
    let totals = |cases: &[TestCase]| {
        let failed = cases.iter().filter(|case| case.failure.is_some()).count();
        [cases.len(), failed, cases.iter().filter(|case| case.skipped.is_some()).count()]
    };
    let sums = suites.iter().map(|(_, cases)| totals(cases));
    let [tests, failures, skipped] = sums.fold([0; 3], |all, one| [0, 1, 2].map(|i: usize| all[i] + one[i]));
    let document = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuites name="compare" tests=(tests) failures=(failures) errors="0" skipped=(skipped) {
            @for (name, cases) in &suites {
                @let [tests, failures, skipped] = totals(cases);
                "\n  "
                testsuite name=(name) tests=(tests) failures=(failures) errors="0" skipped=(skipped) {
                    @for case in cases {
                        "\n    "
                        testcase classname=(case.class) name=(case.name) {
                            @if let Some(why) = &case.skipped { skipped message=(why) {} }
                            @if let Some(TestFailure { kind, message, detail }) = &case.failure {
                                failure type=(kind) message=(message) { (detail) }
                            }
                        }
                    }
                    "\n  "
                }
            }
            "\n"
        }
        "\n"
    };
    sanitize_lines(&document.into_string())
}

fn suite_name(comparison: &Comparison, side: usize) -> String {
    let (first, second) = (&comparison.sides[0], &comparison.sides[side + 1]);
    let scenario = first.runs().next().map_or("", |run| run.scenario.name.as_str());
    format!("{scenario}: {} against {}", second.label, first.label)
}

fn cases(comparison: &Comparison, side: usize, threshold: f64) -> Vec<TestCase> {
    let unit_s = comparison.sides[0].records.first().map_or(1, |record| record.series.unit_s);
    let figures = comparison.figures.iter().map(|figure| figure_case(figure, side, threshold, unit_s));
    let side = &comparison.sides[side + 1];
    figures.chain(unique_gates(side.runs()).into_iter().map(|gate| gate_case(side, gate))).collect()
}

fn figure_case(figure: &ComparedFigure, side: usize, threshold: f64, unit_s: u64) -> TestCase {
    let outcome = &figure.outcomes[side];
    let skipped = match outcome.decision {
        Decision::Unknown(why) => Some(reason_sentence(why, unit_s)),
        Decision::Higher | Decision::Lower | Decision::NotSignificant | Decision::Equal => None,
    };
    let value = |value| format_value(figure, value);
    let failure = figure.worsening(side).filter(|by| *by > threshold).map(|_| TestFailure {
        kind: "regression",
        message: format!("worse: {} ({})", format_change(figure, outcome), format_interval(figure, outcome)),
        detail: format!("before {}, after {}", value(outcome.before), value(outcome.after)),
    });
    TestCase { class: figure.subject.clone(), name: figure.name.to_owned(), skipped, failure }
}

fn gate_case(side: &Side, gate: &GateResult) -> TestCase {
    let (hold, all) = side.gate_pass_count(gate);
    let failing = side.matching_gates(gate).find(|own| !own.ok);
    let failure = failing.map(|failing| TestFailure {
        kind: "gate",
        message: format!("holds in {hold} of {all} runs"),
        detail: format!("found {}", failing.value),
    });
    let name = format!("{} {}", gate.name, gate.limit);
    TestCase { class: "gates".to_owned(), name, failure, ..TestCase::default() }
}
