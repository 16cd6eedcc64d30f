//! Capacity as reports present it: peak, range without errors, optimal range, saturation and what happened beyond it.
//! Does not know how the levels were driven, and states nothing that the levels do not show.

use serde::{Deserialize, Serialize};

use super::format::{number, percent};
use super::knee::{Knee, knee};
use super::ladder::{Axis, ERROR_SHARE_MAX, Ladder, LevelPoint, LevelRef, SaturationSign, shared_latency};
use super::suggest::{Suggestion, suggestions};

/// Levels with at least this share of the best healthy throughput are as good as the best.
const OPTIMAL_SHARE: f64 = 0.95;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    pub level: LevelRef,
    /// Its throughput, ok responses per second.
    pub throughput_per_s: f64,
    /// Whether the level was not saturated and its latency still linear.
    pub healthy: bool,
}

/// Consecutive levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    pub from: LevelRef,
    pub to: LevelRef,
    /// What they have in common and what ends the range, in a sentence.
    pub because: String,
}

/// The first saturated level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saturation {
    pub level: LevelRef,
    pub sign: SaturationSign,
    /// The sign with its figures, in a sentence.
    pub because: String,
}

/// What happened between the best healthy level and the highest load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastPeak {
    /// The best healthy level.
    pub from: LevelRef,
    /// The level of the highest load.
    pub to: LevelRef,
    /// Throughput of the latter divided by that of the former, minus one: -0.25 is a quarter less.
    pub throughput_change: f64,
    /// Errors at the highest load.
    pub error_share: f64,
    /// Denials at the highest load.
    pub denied_share: f64,
    /// Latency of the latter divided by that of the former, at the highest quantile that both have.
    pub latency_factor: Option<f64>,
    /// All of it in a sentence.
    pub sentence: String,
}

/// What the levels show about a service; the rest is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// What the levels are ordered by.
    pub axis: Axis,
    /// The largest throughput.
    pub peak: Option<Peak>,
    /// From the lowest load up to the last level before the first error.
    pub zero_error_range: Option<Range>,
    /// The levels around the best healthy one that are as good as it.
    pub optimal_range: Option<Range>,
    /// Where more load stops paying.
    pub knee: Option<Knee>,
    /// The first level that was too much.
    pub saturation: Option<Saturation>,
    /// What happened past the peak.
    pub beyond: Option<PastPeak>,
    /// Limits and alert thresholds, each with the figure that it came from.
    pub suggestions: Vec<Suggestion>,
    /// Levels that could not be used, each in a sentence.
    pub left_out: Vec<String>,
}

/// Derives the capacity of a service from its levels, in any order. Of two levels with the same load the later one
/// counts: a search repeats what it doubts. Void levels must not be passed.
#[must_use]
pub fn capacity(levels: &[LevelPoint]) -> Capacity {
    let (usable, left_out) = split_usable(levels);
    let ladder = Ladder::new(usable);
    let zero_error_range = zero_error_range(&ladder);
    let optimal = optimal_levels(&ladder);
    let saturation = ladder.first_saturated().map(|(i, sign)| saturation(&ladder, i, sign));
    let mut capacity = Capacity {
        axis: ladder.axis,
        peak: ladder.peak().map(|i| peak(&ladder, i)),
        zero_error_range,
        optimal_range: optimal.map(|(from, to)| optimal_range(&ladder, from, to)),
        knee: knee(&ladder),
        saturation,
        beyond: beyond(&ladder),
        suggestions: Vec::new(),
        left_out,
    };
    if let Some(optimal) = optimal {
        capacity.suggestions = suggestions(&ladder, optimal);
    }
    capacity
}

fn split_usable(levels: &[LevelPoint]) -> (Vec<&LevelPoint>, Vec<String>) {
    let is_share = |share: f64| (0.0..=1.0).contains(&share);
    let is_figure = |value: Option<f64>| value.is_none_or(|value| value.is_finite() && value >= 0.0);
    let fits = |level: &LevelPoint| {
        is_share(level.error_share)
            && is_share(level.denied_share)
            && [Some(level.throughput_per_s), level.concurrency, level.offered_per_s].into_iter().all(is_figure)
            && [level.latency_p50_ms, level.latency_p95_ms, level.latency_p99_ms].into_iter().all(is_figure)
    };
    let (usable, unusable): (Vec<&LevelPoint>, Vec<&LevelPoint>) = levels.iter().partition(|level| fits(level));
    let sentence = |level: &LevelPoint| {
        format!("{} has a figure that is no finite number, or a share beyond 0 to 1: left out.", level.label)
    };
    (usable, unusable.into_iter().map(sentence).collect())
}

fn peak(ladder: &Ladder, i: usize) -> Peak {
    Peak { level: ladder.level_ref(i), throughput_per_s: ladder.throughput(i), healthy: ladder.is_healthy(i) }
}

fn zero_error_range(ladder: &Ladder) -> Option<Range> {
    let first_error = ladder.levels.iter().position(|level| level.error_share > 0.0);
    let end = first_error.unwrap_or(ladder.levels.len()).checked_sub(1)?;
    let because = match first_error {
        Some(i) => {
            let share = percent(ladder.levels[i].error_share);
            format!("No error up to {}; at {} {share} of the answers were errors.", ladder.name(end), ladder.name(i))
        }
        None => format!("No error at any level, up to {}.", ladder.name(end)),
    };
    Some(Range { from: ladder.level_ref(0), to: ladder.level_ref(end), because })
}

/// The first and the last of the levels around the best healthy one that are as good as it.
fn optimal_levels(ladder: &Ladder) -> Option<(usize, usize)> {
    let best = ladder.best_healthy()?;
    let least = OPTIMAL_SHARE * ladder.throughput(best);
    let good = |i: &usize| ladder.is_healthy(*i) && ladder.throughput(*i) >= least;
    let from = (0..=best).rev().take_while(good).last()?;
    let to = (best..ladder.levels.len()).take_while(good).last()?;
    Some((from, to))
}

fn optimal_range(ladder: &Ladder, from: usize, to: usize) -> Range {
    let best = ladder.best_healthy().unwrap_or(from);
    let throughput = number(ladder.throughput(best));
    let mut because = format!(
        "The best healthy level is {} with {throughput}/s; these are within {} of it.",
        ladder.name(best),
        percent(1.0 - OPTIMAL_SHARE)
    );
    if let Some(next) = Some(to + 1).filter(|next| *next < ladder.levels.len()) {
        because += &format!(" The next, {}, {}.", ladder.name(next), unfit_reason(ladder, next));
    }
    Range { from: ladder.level_ref(from), to: ladder.level_ref(to), because }
}

/// Why a level is not in the optimal range.
fn unfit_reason(ladder: &Ladder, i: usize) -> String {
    let level = ladder.levels[i];
    if level.overloaded == Some(true) {
        return "was overloaded".to_owned();
    }
    if level.error_share > ERROR_SHARE_MAX {
        return format!("had {} errors", percent(level.error_share));
    }
    if !ladder.is_latency_linear(i) {
        let latency =
            ladder.typical_ms(i).map_or(String::new(), |latency_ms| format!(", to {} ms", number(latency_ms)));
        return format!("had its latency grow faster than its load{latency}");
    }
    format!("had {}/s", number(level.throughput_per_s))
}

fn saturation(ladder: &Ladder, i: usize, sign: SaturationSign) -> Saturation {
    let level = ladder.levels[i];
    let name = ladder.name(i);
    let because = match sign {
        SaturationSign::Overloaded => {
            format!("{name} was the first level judged an overload, with {}/s.", number(level.throughput_per_s))
        }
        SaturationSign::Errors => format!("{name} was the first level with {} errors.", percent(level.error_share)),
        SaturationSign::ThroughputFell => {
            let peak = ladder.peak().map_or(0.0, |peak| ladder.throughput(peak));
            let fallen = percent(1.0 - level.throughput_per_s / peak);
            format!(
                "At {name} throughput had fallen by {fallen} from its peak, to {}/s.",
                number(level.throughput_per_s)
            )
        }
    };
    Saturation { level: ladder.level_ref(i), sign, because }
}

fn beyond(ladder: &Ladder) -> Option<PastPeak> {
    let from = ladder.best_healthy()?;
    let to = ladder.levels.len() - 1;
    if to <= from {
        return None;
    }
    let (low, high) = (ladder.levels[from], ladder.levels[to]);
    let throughput_change = high.throughput_per_s / low.throughput_per_s - 1.0;
    let latency = shared_latency(low, high);
    let mut sentence = format!(
        "From {} to {} throughput went from {}/s to {}/s ({}{}), errors from {} to {}",
        ladder.name(from),
        ladder.name(to),
        number(low.throughput_per_s),
        number(high.throughput_per_s),
        if throughput_change > 0.0 { "+" } else { "" },
        percent(throughput_change),
        percent(low.error_share),
        percent(high.error_share),
    );
    if high.denied_share > 0.0 {
        sentence += &format!(", denials from {} to {}", percent(low.denied_share), percent(high.denied_share));
    }
    if let Some((quantile, before_ms, after_ms)) = latency {
        let factor = number(after_ms / before_ms);
        sentence += &format!(", {quantile} from {} to {} ms (x {factor})", number(before_ms), number(after_ms));
    }
    Some(PastPeak {
        from: ladder.level_ref(from),
        to: ladder.level_ref(to),
        throughput_change,
        error_share: high.error_share,
        denied_share: high.denied_share,
        latency_factor: latency.map(|(_, before_ms, after_ms)| after_ms / before_ms),
        sentence: sentence + ".",
    })
}
