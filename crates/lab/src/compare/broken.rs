//! Differences that need no time series: a verdict that turned from passed to failed, and arrivals of which next to
//! none failed before and most fail now. They hold whatever the length of the runs. Does not look at times.

use super::{Comparison, Side};
use crate::findings::format::{count, share};
use crate::verdict::Verdict;

/// The share of the arrivals up to which next to none failed, and from which most did.
const FEW_ERRORS_MAX: f64 = 0.01;
const MOST_ERRORS_MIN: f64 = 0.5;

/// Arrivals of each side from which that is no chance: of 20 of which one in a hundred fails, half fail once in 10^15
/// runs.
const ARRIVALS_MIN: u64 = 20;

impl Comparison {
    /// What is broken on a side after the first and was not on the first, each a sentence without a full stop.
    pub(crate) fn broken(&self, side: usize) -> Vec<String> {
        let (first, second) = (&self.sides[0], &self.sides[side + 1]);
        let all = |side: &Side, verdict: Verdict| side.runs().all(|run| run.verdict == verdict);
        let turned = all(first, Verdict::Passed) && all(second, Verdict::Failed);
        let turned = turned.then(|| format!("{} failed where {} passed", second.label, first.label));
        turned.into_iter().chain(errors(first, second)).collect()
    }
}

fn errors(first: &Side, second: &Side) -> Option<String> {
    let ended = |side: &Side| {
        let ops = side.runs().flat_map(|run| run.results.journeys.values()).map(|journey| &journey.op);
        ops.fold((0, 0), |(errors, all), op| (errors + op.errors, all + op.count))
    };
    let ((errors_before, before), (errors_after, after)) = (ended(first), ended(second));
    let part = |errors: u64, all: u64| errors as f64 / all.max(1) as f64;
    let is_known = before >= ARRIVALS_MIN && after >= ARRIVALS_MIN;
    let is_broken = part(errors_before, before) <= FEW_ERRORS_MAX && part(errors_after, after) >= MOST_ERRORS_MIN;
    (is_known && is_broken).then(|| {
        format!(
            "{} of the arrivals failed in {} ({} of {}), {} in {}",
            share(part(errors_after, after)),
            second.label,
            count(errors_after),
            count(after),
            share(part(errors_before, before)),
            first.label
        )
    })
}
