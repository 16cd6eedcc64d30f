//! The statistics of a comparison, pure: which figures of two sides differ by more than their noise, how much they
//! differ, and how large a difference could have stayed unseen. Refuses to know what a figure means and which way is
//! worse; the same input gives the same answer.
//!
//! Three kinds of evidence, each in its file:
//!
//! ```text
//! series    one run a side, known second by second: the unit is a block of consecutive seconds, because neighbours
//!           in time are alike. Circular block bootstrap (Politis & Romano 1992, after Künsch 1989), blocks of
//!           1.3 sqrt(n) (Lazarus, Lewis, Stock & Watson 2018), Student's t with the degrees of freedom that so few
//!           blocks leave (after Kiefer & Vogelsang 2005), and the slow part of the noise that blocks cannot see
//!           put back from a first-order autoregression (after Andrews & Monahan 1992)
//! repeats   several runs of a side: the run is the unit, Student's t over the runs' figures
//! counts    events of one run a side: the exact conditional test of two rates (Przyborowski & Wilenski 1940)
//! ```
//!
//! A comparison has many figures, so `family` finds the level at which each of them is tested, such that a
//! difference is called anywhere, where there is none, in at most [`FAMILY_LEVEL`] of all comparisons: step-down
//! min-p over the joint resamples (Westfall & Young 1993), Holm where there are none. What is called different is by
//! construction exactly what has an interval that leaves "equal" out.

mod autocorrelation;
mod blocks;
mod counts;
mod estimators;
mod family;
mod repeats;
mod resampling;
mod student;

#[cfg(test)]
pub(crate) mod synthetic;
#[cfg(test)]
mod tests;

pub use blocks::UNITS_MIN;
pub use counts::EventCount;
pub use estimators::{Distribution, Estimator, Quantile, Ratio, ValueCounts};
pub use family::Family;
pub use resampling::PairResampling;

/// The share of comparisons without any difference in which one may be called. Half of the promised 5 %: the other
/// half is left for what resampling of short and heavy-tailed series gets wrong.
pub const FAMILY_LEVEL: f64 = 0.025;

/// Resamples of a comparison: the level of each figure is read off the most extreme 50 of them.
pub const RESAMPLES: usize = 2_000;

/// The scale on which two figures are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonScale {
    /// By their ratio: times and rates.
    Ratio,
    /// By their difference: shares and counts, which may be zero.
    Difference,
}

/// What became of one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct TestResult {
    /// The figure of the first side.
    pub before: Option<f64>,
    /// The figure of the second side.
    pub after: Option<f64>,
    /// Whether they differ.
    pub decision: Decision,
    /// How far they are apart, with its interval, where that can be said.
    pub effect: Option<EffectSize>,
    /// The probability of so large a difference where there is none, for this figure alone.
    pub p: Option<f64>,
    /// The level that it was tested at, and that its interval leaves out.
    pub level: Option<f64>,
}

/// Whether two figures differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The second is higher, beyond the noise.
    Higher,
    /// The second is lower, beyond the noise.
    Lower,
    /// No difference beyond the noise.
    NotSignificant,
    /// The same number, without any noise.
    Equal,
    /// There is no telling.
    Unknown(UndecidedReason),
}

/// Why there is no telling. Closed, so that reports can group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UndecidedReason {
    /// Only one side has the figure, or neither.
    Missing,
    /// The run gives one number and nothing about its noise.
    OneRun,
    /// Runs in all, too few to know how they scatter.
    TooFewRuns,
    /// It was active for fewer units of time than the noise can be estimated from.
    TooShort,
    /// Its noise changes so slowly that the run holds too few independent stretches of it.
    TooSlow,
    /// Fewer answers than the percentile needs.
    TooFewAnswers,
    /// So few events that no split of them between the sides would be a surprise.
    TooFewEvents,
}

/// How far the second side is from the first. The interval belongs to the level of the answer; a bound may be
/// infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectSize {
    /// What the three numbers are.
    pub scale: ComparisonScale,
    /// The quotient or the difference.
    pub point: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
}

impl Decision {
    /// Whether a difference was called.
    #[must_use]
    pub fn is_different(self) -> bool {
        matches!(self, Self::Higher | Self::Lower)
    }
}

impl ComparisonScale {
    /// Onto the scale on which noise adds up.
    fn value(self, figure: f64) -> Option<f64> {
        match self {
            Self::Ratio => (figure > 0.0).then(|| figure.ln()),
            Self::Difference => figure.is_finite().then_some(figure),
        }
    }

    /// Back to what readers see.
    fn effect(self, point: f64, reach: f64) -> EffectSize {
        let (low, high) = (point - reach, point + reach);
        match self {
            Self::Ratio => EffectSize { scale: self, point: point.exp(), low: low.exp(), high: high.exp() },
            Self::Difference => EffectSize { scale: self, point, low, high },
        }
    }
}
