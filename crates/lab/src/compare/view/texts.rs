//! The words of a comparison: changes, intervals, and why there is no telling. Pure. Refuses to know tables.

use super::super::figures::{Figure, Kind, Outcome, Sense};
use super::super::stats::{Change, Reason, Scale, UNITS_MIN};
use crate::report::words::number;

/// From this ratio on, times are easier to read than percent.
const TIMES_FROM: f64 = 2.0;

/// Below this ratio, parts are easier to read than percent.
const PARTS_FROM: f64 = 0.1;

/// An interval that reaches as far as this ratio both ways says nothing.
const ANYTHING_FROM: f64 = 5.0;

/// A ratio as a change: `+12 %`, `-3.4 %`, `2.5x`, `1/40`.
pub(super) fn percent(ratio: f64) -> String {
    let change = 100.0 * (ratio - 1.0);
    match change.abs() {
        _ if ratio.is_infinite() => "from 0".to_owned(),
        _ if ratio >= TIMES_FROM => format!("{}x", number(Some(ratio))),
        _ if ratio > 0.0 && ratio < PARTS_FROM => format!("1/{}", number(Some(1.0 / ratio))),
        size if size >= 9.95 => format!("{change:+.0} %"),
        size if size < 0.05 => "0 %".to_owned(),
        _ => format!("{change:+.1} %"),
    }
}

/// How far the second figure is from the first.
pub(super) fn change(figure: &Figure, outcome: &Outcome) -> String {
    let both = outcome.answer.before.zip(outcome.answer.after);
    match (figure.kind, both) {
        (_, None) => "-".to_owned(),
        (Kind::Share, Some((before, after))) => match signed(after - before) {
            none if none == "0" => none,
            points => format!("{points} points"),
        },
        (Kind::Count, Some((before, after))) => signed(after - before),
        (Kind::Time | Kind::Throughput | Kind::Cost, Some(_)) => {
            outcome.ratio().map_or_else(|| "-".to_owned(), percent)
        }
    }
}

/// What the change could be, at the level of its answer.
pub(super) fn interval(figure: &Figure, outcome: &Outcome) -> String {
    let Some(Change { scale, low, high, .. }) = outcome.answer.change else { return String::new() };
    match scale {
        Scale::Ratio if high > ANYTHING_FROM && low < 1.0 / ANYTHING_FROM => "anything".to_owned(),
        Scale::Ratio if high.is_infinite() => format!("over {}", percent(low)),
        Scale::Ratio => joined(&percent(low), &percent(high)),
        Scale::Difference => {
            let points = if figure.kind == Kind::Share { " points" } else { "" };
            format!("{} .. {}{points}", signed(low), signed(high))
        }
    }
}

/// Two ends of one unit say it once.
fn joined(low: &str, high: &str) -> String {
    match (low.strip_suffix(" %"), high.ends_with(" %")) {
        (Some(low), true) => format!("{low} .. {high}"),
        _ => format!("{low} .. {high}"),
    }
}

fn signed(value: f64) -> String {
    let text = number(Some(value.abs()));
    match value {
        _ if text == "0" || text.starts_with('<') => "0".to_owned(),
        _ if text == "-" => text,
        value if value < 0.0 => format!("-{text}"),
        _ => format!("+{text}"),
    }
}

/// A figure in its unit.
pub(super) fn value(figure: &Figure, value: Option<f64>) -> String {
    let text = number(value);
    match figure.unit {
        _ if value.is_none() => text,
        "" => text,
        unit if unit.starts_with('/') => format!("{text}{unit}"),
        unit => format!("{text} {unit}"),
    }
}

/// `latency p99 +12 % (+8.0 .. +17 %)`, with what it is of.
pub(super) fn named(figure: &Figure, outcome: &Outcome) -> String {
    let (change, interval) = (change(figure, outcome), interval(figure, outcome));
    let interval = if interval.is_empty() { interval } else { format!(" ({interval})") };
    format!("{} {} {change}{interval}", figure.subject, figure.name)
}

/// The word in a table.
pub(super) fn word(sense: Sense) -> &'static str {
    match sense {
        Sense::Worse => "worse",
        Sense::Better => "better",
        Sense::Noise => "noise",
        Sense::Equal => "equal",
        Sense::Unknown(reason) => reason_word(reason),
    }
}

/// Why there is no telling, in a word.
pub(super) fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Missing => "missing",
        Reason::OneRun => "one run",
        Reason::TooFewRuns => "few runs",
        Reason::TooShort => "too short",
        Reason::TooSlow => "drifts",
        Reason::TooFewAnswers => "few answers",
        Reason::TooFewEvents => "few events",
    }
}

/// Why there is no telling, and what to do about it.
pub(super) fn reason(reason: Reason, unit_s: u64) -> String {
    let least_s = UNITS_MIN as u64 * unit_s;
    match reason {
        Reason::Missing => "only one side has the figure".to_owned(),
        Reason::OneRun => "a run gives one such figure and nothing about its noise; repeat the runs".to_owned(),
        Reason::TooFewRuns => "three runs in all do not say how far runs scatter; give one more".to_owned(),
        Reason::TooShort => {
            format!(
                "fewer than {least_s} s of activity do not say how far seconds scatter; run longer, or repeat the runs"
            )
        }
        Reason::TooSlow => {
            "it drifts so slowly that a run holds fewer than five independent stretches of it; run longer, or repeat \
             the runs"
                .to_owned()
        }
        Reason::TooFewAnswers => "fewer than ten answers lie beyond the percentile".to_owned(),
        Reason::TooFewEvents => "so few that no split between the sides would be a surprise".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::figures::Worse;
    use super::super::super::stats::{Answer, Call};
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
        rows.iter().for_each(|(ratio, text)| assert_eq!(percent(*ratio), *text));
        assert_eq!([joined("+8.0 %", "+17 %"), joined("+8.0 %", "2.5x")], ["+8.0 .. +17 %", "+8.0 % .. 2.5x"]);
        assert_eq!([-0.000_1, 0.0, 1.5, -2000.0].map(signed), ["0", "0", "+1.50", "-2,000"]);
    }

    #[track_caller]
    fn check_interval(kind: Kind, change: Change, expected: &str) {
        let (before, after) = (Some(1.0), Some(2.0));
        let answer = Answer { before, after, call: Call::Noise, change: Some(change), p: None, level: None };
        let outcome = Outcome { answer, sense: Sense::Noise };
        let (subject, outcomes) = (String::new(), Vec::new());
        let figure = Figure { subject, name: "", unit: "", kind, worse: Worse::Higher, outcomes };
        assert_eq!(interval(&figure, &outcome), expected);
    }

    #[test]
    fn intervals() {
        let ratio = |low, high| Change { scale: Scale::Ratio, point: 1.0, low, high };
        let difference = |low, high| Change { scale: Scale::Difference, point: 0.0, low, high };
        check_interval(Kind::Time, ratio(0.98, 1.05), "-2.0 .. +5.0 %");
        check_interval(Kind::Time, ratio(0.9, 3.0), "-10 % .. 3x");
        check_interval(Kind::Time, ratio(0.01, 400.0), "anything");
        check_interval(Kind::Count, ratio(3.2, f64::INFINITY), "over 3.20x");
        check_interval(Kind::Count, difference(-1.5, 20.0), "-1.50 .. +20");
        check_interval(Kind::Share, difference(-0.5, 0.25), "-0.500 .. +0.250 points");
    }
}
