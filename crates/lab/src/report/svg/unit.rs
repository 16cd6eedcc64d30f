//! How the figures of an axis are written: their unit, how it scales with them, and readable steps between ticks. Does
//! not know the size of the drawing.

use crate::format::{clock, number};

const KIB: f64 = 1024.0;

/// Steps between ticks that are usual for time, in seconds.
const TIME_STEPS: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 28_800.0,
    86_400.0,
];

/// From here on a tick has a short form: `250k`.
const SHORT_FROM: f64 = 20_000.0;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::report) enum Unit {
    /// A plain number, followed by the unit's name: `ms`, `a second`.
    Number(String),
    /// Whole things.
    Count(String),
    /// Bytes, in whichever of KiB, MiB, GiB fits.
    Bytes,
    /// A moment in seconds since the start.
    Time,
    /// One of this many is larger: 100 is the 99th percentile.
    PercentileRank,
    /// Named items in a row: 1 is the first.
    Items(Vec<String>),
}

impl Default for Unit {
    fn default() -> Self {
        Self::number("")
    }
}

impl Unit {
    pub(in crate::report) fn number(name: &str) -> Self {
        Self::Number(name.to_owned())
    }

    pub(in crate::report) fn count(name: &str) -> Self {
        Self::Count(name.to_owned())
    }

    /// The unit in which figures up to `highest` are written: what one of it is in the figures' own unit, and its name.
    pub(super) fn scale(&self, highest: f64) -> (f64, &str) {
        match self {
            Self::Number(name) | Self::Count(name) => (1.0, name),
            Self::Time => (1.0, "time since the start"),
            Self::PercentileRank => (1.0, "percentile"),
            Self::Items(_) => (1.0, ""),
            Self::Bytes if highest >= KIB * KIB * KIB => (KIB * KIB * KIB, "GiB"),
            Self::Bytes if highest >= KIB * KIB => (KIB * KIB, "MiB"),
            Self::Bytes => (KIB, "KiB"),
        }
    }

    /// A single figure, as in a tooltip.
    pub(super) fn format(&self, value: f64) -> String {
        match self {
            Self::Count(_) => number(Some(value)),
            Self::Number(name) => {
                let blank = if name.is_empty() { "" } else { " " };
                format!("{}{blank}{name}", number(Some(value)))
            }
            Self::Time => clock(value),
            Self::PercentileRank => percentile_label(value),
            Self::Items(names) => item_name(names, value),
            Self::Bytes => {
                let (factor, name) = self.scale(value);
                format!("{} {name}", number(Some(value / factor)))
            }
        }
    }

    /// The smallest step, in the figure's own unit, that covers `span` with at most `ticks_max` ticks.
    pub(super) fn step(&self, factor: f64, span: f64, ticks_max: usize) -> f64 {
        let least = span / ticks_max.max(1) as f64;
        match self {
            Self::Time => TIME_STEPS.into_iter().find(|step| *step >= least).unwrap_or_else(|| round_step(least)),
            Self::Count(_) => round_step(least).max(1.0),
            Self::Items(_) => 1.0,
            Self::Number(_) | Self::Bytes | Self::PercentileRank => round_step(least / factor) * factor,
        }
    }

    /// The text at a tick, where ticks are `step` apart.
    pub(super) fn tick(&self, factor: f64, value: f64, step: f64) -> String {
        match self {
            Self::Time => return clock(value),
            Self::PercentileRank => return percentile_label(value),
            Self::Items(names) => return item_name(names, value),
            Self::Number(_) | Self::Count(_) | Self::Bytes => {}
        }
        let (value, step) = (value / factor, step / factor);
        let (value, step, suffix) = match value.abs() {
            magnitude if magnitude >= 1e6 => (value / 1e6, step / 1e6, "M"),
            magnitude if magnitude >= SHORT_FROM => (value / 1e3, step / 1e3, "k"),
            _ => (value, step, ""),
        };
        let digits = (-step.log10()).ceil().clamp(0.0, 6.0) as usize;
        let exact = format!("{value:.digits$}");
        // Thousands are separated only in numbers without a fraction.
        let text = if digits == 0 { number(Some(value.round())) } else { exact };
        text + suffix
    }
}

/// 100 → `p99`, 1000 → `p99.9`. Rounded to the digits that this many nines need.
fn percentile_label(one_of: f64) -> String {
    let digits = one_of.log10().ceil().clamp(2.0, 6.0) as usize - 2;
    format!("p{:.digits$}", 100.0 - 100.0 / one_of)
}

/// Nothing beside the items.
fn item_name(names: &[String], item: f64) -> String {
    names.get((item - 1.0) as usize).filter(|_| item >= 1.0).cloned().unwrap_or_default()
}

/// 1, 2 or 5 times a power of ten, at least `least`.
pub(super) fn round_step(least: f64) -> f64 {
    if !(least.is_finite() && least > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    // A small tolerance: the logarithm of a step itself may come out slightly too low.
    steps.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(unit: &Unit, span: f64, ticks_max: usize, step: f64, ticks: &[(f64, &str)]) {
        let (factor, _) = unit.scale(span);
        let found = unit.step(factor, span, ticks_max);
        assert!((found - step).abs() < step * 1e-9, "{found}");
        for (value, text) in ticks {
            assert_eq!(unit.tick(factor, *value, found), *text);
        }
    }

    #[test]
    fn ticks_are_round_and_short() {
        let ms = Unit::number("ms");
        check(&ms, 1.0, 5, 0.2, &[(0.0, "0.0"), (0.6, "0.6")]);
        check(&ms, 450.0, 5, 100.0, &[(0.0, "0"), (400.0, "400")]);
        check(&ms, 4000.0, 5, 1000.0, &[(4000.0, "4,000")]);
        check(&ms, 240_000.0, 5, 50_000.0, &[(0.0, "0"), (50_000.0, "50k"), (200_000.0, "200k")]);
        check(&ms, 3e6, 5, 1e6, &[(2e6, "2M")]);
        check(&Unit::count("games"), 2.0, 5, 1.0, &[(2.0, "2")]);
        check(&Unit::Bytes, 300.0 * KIB * KIB, 5, 100.0 * KIB * KIB, &[(200.0 * KIB * KIB, "200")]);
        check(&Unit::Bytes, 4.0 * KIB * KIB * KIB, 5, KIB * KIB * KIB, &[(3.0 * KIB * KIB * KIB, "3")]);
        check(&Unit::Time, 170.0, 6, 30.0, &[(90.0, "1:30")]);
        check(&Unit::Time, 40_000.0, 6, 7200.0, &[(7200.0, "2:00:00")]);
    }

    #[test]
    fn figures_by_themselves_have_their_unit() {
        assert_eq!(Unit::number("ms").format(12.34), "12.3 ms");
        assert_eq!(Unit::number("").format(3.0), "3");
        assert_eq!(Unit::Bytes.format(140.0 * KIB * KIB), "140 MiB");
        assert_eq!(Unit::Time.format(61.0), "1:01");
        assert_eq!(
            [2.0, 10.0, 100.0, 200.0, 1000.0].map(|value| Unit::PercentileRank.format(value)).join(" "),
            "p50 p90 p99 p99.5 p99.9"
        );
    }
}
