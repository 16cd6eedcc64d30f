//! The statistics of a comparison, pure: which figures of two sides differ by more than their noise, how much they
//! differ, and how large an undetected difference could be. Does not know what a figure means and which direction is
//! worse; the same input gives the same result.
//!
//! Three kinds of evidence, each in its file:
//!
//! ```text
//! resampling  one run per side, known second by second: the unit is a block of consecutive seconds, because
//!             neighbours in time are alike. Circular block bootstrap (Politis & Romano 1992, after Künsch 1989),
//!             blocks of 1.3 sqrt(n) (Lazarus, Lewis, Stock & Watson 2018), Student's t with the degrees of freedom
//!             that so few blocks leave (after Kiefer & Vogelsang 2005), and the slow part of the noise that blocks
//!             cannot see restored from a first-order autoregression (after Andrews & Monahan 1992)
//! repeats     several runs per side: the run is the unit, Student's t over the runs' figures
//! counts      events of one run per side: the exact conditional test of two rates (Przyborowski & Wilenski 1940)
//! ```
//!
//! A comparison has many figures, so `family` finds the level at which each of them is tested, such that any false
//! difference is reported in at most [`FAMILY_LEVEL`] of all comparisons: step-down min-p over the joint resamples
//! (Westfall & Young 1993), Holm without resamples. What is reported as different is by construction exactly what has
//! an interval that excludes "equal".

mod autocorrelation;
mod blocks;
mod counts;
mod estimators;
mod family;
mod repeats;
mod resampling;

#[cfg(test)]
pub(crate) mod tests;

use serde::Serialize;

pub(crate) use blocks::UNITS_MIN;
pub(crate) use counts::EventCount;
pub(crate) use estimators::{Distribution, Estimator, Quantile, Ratio, ValueCounts};
pub(crate) use family::Family;
pub(crate) use resampling::PairResampling;

/// The share of comparisons without any difference in which one may be reported. Half of the promised 5 %: the other
/// half is left for the errors of resampling short and heavy-tailed series.
pub(crate) const FAMILY_LEVEL: f64 = 0.025;

/// Resamples of a comparison: the level of each figure is read off the most extreme 50 of them.
pub(crate) const RESAMPLES: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ComparisonScale {
    /// By their ratio: times and rates.
    Ratio,
    /// By their difference: shares and counts, which may be zero.
    Difference,
}

/// The result for one figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TestResult {
    /// The figure of the first side.
    pub(crate) before: Option<f64>,
    /// The figure of the second side.
    pub(crate) after: Option<f64>,
    pub(crate) decision: Decision,
    /// How far they are apart, with its interval, if that is known.
    pub(crate) effect: Option<EffectSize>,
    /// The probability of such a large difference if there is none, for this figure alone.
    pub(crate) p: Option<f64>,
    /// The level at which it was tested, and which its interval excludes.
    pub(crate) level: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The second is higher, beyond the noise.
    Higher,
    /// The second is lower, beyond the noise.
    Lower,
    /// No difference beyond the noise.
    NotSignificant,
    /// The same number, without any noise.
    Equal,
    /// It cannot be decided.
    Unknown(UndecidedReason),
}

/// Why it cannot be decided. Closed, so that reports can group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UndecidedReason {
    /// Only one side has the figure, or neither.
    Missing,
    /// The run gives one number and nothing about its noise.
    OneRun,
    /// Runs in total, too few to know their spread.
    TooFewRuns,
    /// It was active for fewer units of time than needed to estimate the noise.
    TooShort,
    /// Its noise changes so slowly that the run holds too few independent sections of it.
    TooSlow,
    /// Fewer responses than the percentile needs.
    TooFewAnswers,
    /// So few events that no split of them between the sides would be significant.
    TooFewEvents,
}

/// How far the second side is from the first. The interval belongs to the level of the result; a bound may be infinite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct EffectSize {
    /// What the three numbers are.
    pub(crate) scale: ComparisonScale,
    /// The quotient or the difference.
    pub(crate) point: f64,
    /// The lower end of its interval.
    pub(crate) low: f64,
    /// The upper end of its interval.
    pub(crate) high: f64,
}

impl TestResult {
    /// The second side's figure over the first's; infinite from zero to a positive value.
    pub(crate) fn ratio(&self) -> Option<f64> {
        match (self.effect, self.before.zip(self.after)) {
            (Some(EffectSize { scale: ComparisonScale::Ratio, point, .. }), _) => Some(point),
            (_, Some((before, after))) if before > 0.0 => Some(after / before),
            (_, Some((_, after))) => Some(if after > 0.0 { f64::INFINITY } else { 1.0 }),
            (_, None) => None,
        }
    }
}

impl ComparisonScale {
    /// Converts to the scale on which noise adds up.
    fn value(self, figure: f64) -> Option<f64> {
        match self {
            Self::Ratio => (figure > 0.0).then(|| figure.ln()),
            Self::Difference => figure.is_finite().then_some(figure),
        }
    }

    /// Converts back to what readers see.
    fn effect(self, point: f64, reach: f64) -> EffectSize {
        let (low, high) = (point - reach, point + reach);
        match self {
            Self::Ratio => EffectSize { scale: self, point: point.exp(), low: low.exp(), high: high.exp() },
            Self::Difference => EffectSize { scale: self, point, low, high },
        }
    }
}
