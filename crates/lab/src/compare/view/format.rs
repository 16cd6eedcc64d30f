//! The texts of a comparison: changes, intervals, and why a figure is undecided. Pure. Does not know tables.

use super::super::figures::{ComparedFigure, FigureKind};
use super::super::stats::{ComparisonScale, Decision, EffectSize, TestResult, UNITS_MIN, UndecidedReason};
use crate::format::number;

/// From this ratio on, a factor is easier to read than percent.
const MULTIPLE_FROM: f64 = 2.0;

/// Below this ratio, a fraction is easier to read than percent.
const FRACTION_BELOW: f64 = 0.1;

/// An interval that extends as far as this ratio both ways is uninformative.
const UNINFORMATIVE_RATIO: f64 = 5.0;

/// A ratio as a change: `+12 %`, `-3.4 %`, `2.5x`, `1/40`.
pub(super) fn format_ratio(ratio: f64) -> String {
    let change = 100.0 * (ratio - 1.0);
    match change.abs() {
        _ if ratio.is_infinite() => "from 0".to_owned(),
        _ if ratio >= MULTIPLE_FROM => format!("{}x", number(Some(ratio))),
        _ if ratio > 0.0 && ratio < FRACTION_BELOW => format!("1/{}", number(Some(1.0 / ratio))),
        size if size >= 9.95 => format!("{change:+.0} %"),
        size if size < 0.05 => "0 %".to_owned(),
        _ => format!("{change:+.1} %"),
    }
}

/// How far the second figure is from the first.
pub(super) fn format_change(figure: &ComparedFigure, outcome: &TestResult) -> String {
    let both = outcome.before.zip(outcome.after);
    match (figure.kind, both) {
        (_, None) => "-".to_owned(),
        (FigureKind::Share, Some((before, after))) => match format_signed(after - before) {
            none if none == "0" => none,
            points => format!("{points} points"),
        },
        (FigureKind::Count, Some((before, after))) => format_signed(after - before),
        (FigureKind::Time | FigureKind::Throughput | FigureKind::Cost, Some(_)) => {
            outcome.ratio().map_or_else(|| "-".to_owned(), format_ratio)
        }
    }
}

/// The interval of the change, at the level of its result.
pub(super) fn format_interval(figure: &ComparedFigure, outcome: &TestResult) -> String {
    let Some(EffectSize { scale, low, high, .. }) = outcome.effect else { return String::new() };
    match scale {
        ComparisonScale::Ratio if high > UNINFORMATIVE_RATIO && low < 1.0 / UNINFORMATIVE_RATIO => {
            "anything".to_owned()
        }
        ComparisonScale::Ratio if high.is_infinite() => format!("over {}", format_ratio(low)),
        ComparisonScale::Ratio => join_bounds(&format_ratio(low), &format_ratio(high)),
        ComparisonScale::Difference => {
            let points = if figure.kind == FigureKind::Share { " points" } else { "" };
            format!("{} .. {}{points}", format_signed(low), format_signed(high))
        }
    }
}

/// If both ends have the same unit, it is written once.
fn join_bounds(low: &str, high: &str) -> String {
    match (low.strip_suffix(" %"), high.ends_with(" %")) {
        (Some(low), true) => format!("{low} .. {high}"),
        _ => format!("{low} .. {high}"),
    }
}

fn format_signed(value: f64) -> String {
    let text = number(Some(value.abs()));
    match value {
        _ if text == "0" || text.starts_with('<') => "0".to_owned(),
        _ if text == "-" => text,
        value if value < 0.0 => format!("-{text}"),
        _ => format!("+{text}"),
    }
}

/// A figure in its unit.
pub(super) fn format_value(figure: &ComparedFigure, value: Option<f64>) -> String {
    let text = number(value);
    match figure.unit {
        _ if value.is_none() => text,
        "" => text,
        unit if unit.starts_with('/') => format!("{text}{unit}"),
        unit => format!("{text} {unit}"),
    }
}

/// `latency p99 +12 % (+8.0 .. +17 %)`, with its subject.
pub(super) fn describe_outcome(figure: &ComparedFigure, outcome: &TestResult) -> String {
    let (change, interval) = (format_change(figure, outcome), format_interval(figure, outcome));
    let interval = if interval.is_empty() { interval } else { format!(" ({interval})") };
    format!("{} {} {change}{interval}", figure.subject, figure.name)
}

/// The word in a table.
pub(super) fn outcome_name(figure: &ComparedFigure, outcome: &TestResult) -> &'static str {
    match outcome.decision {
        Decision::Higher | Decision::Lower if figure.is_worse(outcome) => "worse",
        Decision::Higher | Decision::Lower => "better",
        Decision::NotSignificant => "noise",
        Decision::Equal => "equal",
        Decision::Unknown(reason) => reason_name(reason),
    }
}

/// Why it is undecided, in a word.
pub(super) fn reason_name(reason: UndecidedReason) -> &'static str {
    match reason {
        UndecidedReason::Missing => "missing",
        UndecidedReason::OneRun => "one run",
        UndecidedReason::TooFewRuns => "few runs",
        UndecidedReason::TooShort => "too short",
        UndecidedReason::TooSlow => "drifts",
        UndecidedReason::TooFewAnswers => "few answers",
        UndecidedReason::TooFewEvents => "few events",
    }
}

/// Why it is undecided, and what to do about it.
pub(super) fn reason_sentence(reason: UndecidedReason, unit_s: u64) -> String {
    let least_s = UNITS_MIN as u64 * unit_s;
    match reason {
        UndecidedReason::Missing => "only one side has the figure".to_owned(),
        UndecidedReason::OneRun => {
            "a run gives one such figure and nothing about its noise; repeat the runs".to_owned()
        }
        UndecidedReason::TooFewRuns => "three runs in all do not say how far runs scatter; give one more".to_owned(),
        UndecidedReason::TooShort => {
            format!(
                "fewer than {least_s} s of activity do not say how far seconds scatter; run longer, or repeat the runs"
            )
        }
        UndecidedReason::TooSlow => {
            "it drifts so slowly that a run holds fewer than five independent stretches of it; run longer, or repeat \
             the runs"
                .to_owned()
        }
        UndecidedReason::TooFewAnswers => "fewer than ten answers lie beyond the percentile".to_owned(),
        UndecidedReason::TooFewEvents => "so few that no split between the sides would be a surprise".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::figures::WorseDirection;
    use super::super::super::stats::{Decision, TestResult};
    use super::*;

    #[test]
    fn changes() {
        let rows = [
            (1.0, "0 %"),
            (1.0004, "0 %"),
            (1.034, "+3.4 %"),
            (1.124, "+12 %"),
            (0.966, "-3.4 %"),
            (0.15, "-85 %"),
            (0.05, "1/20"),
            (0.000_975, "1/1,026"),
            (1.996, "+100 %"),
            (2.46, "2.46x"),
            (0.0, "-100 %"),
            (f64::INFINITY, "from 0"),
        ];
        rows.iter().for_each(|(ratio, text)| assert_eq!(format_ratio(*ratio), *text));
        assert_eq!(
            [join_bounds("+8.0 %", "+17 %"), join_bounds("+8.0 %", "2.5x")],
            ["+8.0 .. +17 %", "+8.0 % .. 2.5x"]
        );
        assert_eq!([-0.000_1, 0.0, 1.5, -2000.0].map(format_signed), ["0", "0", "+1.50", "-2,000"]);
    }

    #[track_caller]
    fn check_interval(kind: FigureKind, change: EffectSize, expected: &str) {
        let (before, after) = (Some(1.0), Some(2.0));
        let outcome = TestResult {
            before,
            after,
            decision: Decision::NotSignificant,
            effect: Some(change),
            p: None,
            level: None,
        };
        let (subject, outcomes) = (String::new(), Vec::new());
        let figure =
            ComparedFigure { subject, name: "", unit: "", kind, worse_direction: WorseDirection::Higher, outcomes };
        assert_eq!(format_interval(&figure, &outcome), expected);
    }

    #[test]
    fn intervals() {
        let ratio = |low, high| EffectSize { scale: ComparisonScale::Ratio, point: 1.0, low, high };
        let difference = |low, high| EffectSize { scale: ComparisonScale::Difference, point: 0.0, low, high };
        check_interval(FigureKind::Time, ratio(0.98, 1.05), "-2.0 .. +5.0 %");
        check_interval(FigureKind::Time, ratio(0.9, 3.0), "-10 % .. 3x");
        check_interval(FigureKind::Time, ratio(0.01, 400.0), "anything");
        check_interval(FigureKind::Count, ratio(3.2, f64::INFINITY), "over 3.20x");
        check_interval(FigureKind::Count, difference(-1.5, 20.0), "-1.50 .. +20");
        check_interval(FigureKind::Share, difference(-0.5, 0.25), "-0.500 .. +0.250 points");
    }
}
