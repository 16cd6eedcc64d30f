//! Limits and alert thresholds, each with the figure and the level that it came from. Suggests nothing that no
//! level showed.
//!
//! A threshold between good and bad is their geometric middle: as many times above the good as below the bad.

use serde::{Deserialize, Serialize};

use super::format::{number, percent};
use super::ladder::{Axis, ERROR_SHARE_MAX, Ladder, shared_latency};

/// What a suggestion is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuggestionKind {
    /// Let no more connections in at once.
    ConnectionLimit,
    /// Beyond so many connections requests fail.
    ConnectionCeiling,
    /// Admit no more requests per second.
    RateLimit,
    /// What to plan with for one instance.
    CapacityPerInstance,
    /// Alert when latency is above it.
    AlertLatency,
    /// Alert when more than this share of the answers are errors.
    AlertErrors,
    /// Alert when throughput is below it while the load is high.
    AlertThroughput,
}

/// One figure to set somewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suggestion {
    /// What for.
    pub what: SuggestionKind,
    /// The figure.
    pub value: f64,
    /// Its unit: `connections`, `requests/s`, `ms p99`, `share`.
    pub unit: String,
    /// Where it came from, in a sentence with the figure and its level.
    pub because: String,
}

impl SuggestionKind {
    /// As it stands in a table of a report.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::ConnectionLimit => "limit of concurrent connections",
            Self::ConnectionCeiling => "ceiling of concurrent connections",
            Self::RateLimit => "limit of the request rate",
            Self::CapacityPerInstance => "capacity of one instance",
            Self::AlertLatency => "alert on latency above",
            Self::AlertErrors => "alert on errors above",
            Self::AlertThroughput => "alert on throughput below",
        }
    }

    fn suggest(self, value: f64, unit: &str, because: String) -> Suggestion {
        Suggestion { what: self, value, unit: unit.to_owned(), because }
    }
}

/// Everything that the levels support, given the first and the last of the optimal range.
pub(super) fn suggestions(ladder: &Ladder, optimal: (usize, usize)) -> Vec<Suggestion> {
    let all = [
        suggest_limit(ladder, optimal),
        suggest_ceiling(ladder, optimal),
        Some(suggest_per_instance(ladder, optimal)),
        alert_latency(ladder, optimal),
        Some(alert_errors(ladder)),
        Some(alert_throughput(ladder, optimal)),
    ];
    all.into_iter().flatten().collect()
}

/// The end of the optimal range, when something beyond it was seen to be worse.
fn suggest_limit(ladder: &Ladder, (_, to): (usize, usize)) -> Option<Suggestion> {
    let next = Some(to + 1).filter(|next| *next < ladder.levels.len())?;
    let because = format!(
        "{} gave {}/s with {} errors; {}, the next level, gave {}/s with {}.",
        ladder.name(to),
        number(ladder.throughput(to)),
        percent(ladder.levels[to].error_share),
        ladder.name(next),
        number(ladder.throughput(next)),
        percent(ladder.levels[next].error_share)
    );
    let load = ladder.load(to)?;
    match ladder.axis {
        Axis::Concurrency => Some(SuggestionKind::ConnectionLimit.suggest(load, "connections", because)),
        Axis::OfferedPerS => Some(SuggestionKind::RateLimit.suggest(load, "requests/s", because)),
        Axis::Order => None,
    }
}

/// The last level without errors, when it lies beyond the optimal range and errors came after it.
fn suggest_ceiling(ladder: &Ladder, (_, to): (usize, usize)) -> Option<Suggestion> {
    let first_error = ladder.levels.iter().position(|level| level.error_share > 0.0)?;
    let last_clean = first_error.checked_sub(1).filter(|last| *last > to && ladder.axis == Axis::Concurrency)?;
    let because = format!(
        "{} had no error; at {} {} of the answers were errors.",
        ladder.name(last_clean),
        ladder.name(first_error),
        percent(ladder.levels[first_error].error_share)
    );
    Some(SuggestionKind::ConnectionCeiling.suggest(ladder.load(last_clean)?, "connections", because))
}

/// The level of the least throughput within the optimal range.
fn least_throughput(ladder: &Ladder, (from, to): (usize, usize)) -> usize {
    let smaller = |least: usize, i: usize| if ladder.throughput(i) < ladder.throughput(least) { i } else { least };
    (from..=to).fold(from, smaller)
}

fn suggest_per_instance(ladder: &Ladder, optimal: (usize, usize)) -> Suggestion {
    let least = least_throughput(ladder, optimal);
    let throughput_per_s = ladder.throughput(least);
    let because =
        format!("{}/s at {} was the least of the optimal range.", number(throughput_per_s), ladder.name(least));
    SuggestionKind::CapacityPerInstance.suggest(throughput_per_s, "requests/s", because)
}

fn alert_latency(ladder: &Ladder, (from, to): (usize, usize)) -> Option<Suggestion> {
    let good =
        |i: usize| shared_latency(ladder.levels[i], ladder.levels[i]).map(|(name, value_ms, _)| (i, name, value_ms));
    let (level, quantile, good_ms) = (from..=to).filter_map(good).max_by(|a, b| a.2.total_cmp(&b.2))?;
    let saturated = ladder.first_saturated().map(|(i, _)| i).filter(|i| *i > to);
    let bad = saturated.and_then(|i| {
        let (name, _, bad_ms) = shared_latency(ladder.levels[level], ladder.levels[i])?;
        (name == quantile && bad_ms > good_ms).then_some((i, bad_ms))
    });
    let unit = format!("ms {quantile}");
    let good_at =
        format!("{quantile} was {} ms at {}, the slowest of the optimal range", number(good_ms), ladder.name(level));
    Some(match bad {
        Some((i, bad_ms)) => {
            let because =
                format!("{good_at}, and {} ms at {}, saturated: this is between.", number(bad_ms), ladder.name(i));
            SuggestionKind::AlertLatency.suggest((good_ms * bad_ms).sqrt(), &unit, because)
        }
        None => {
            SuggestionKind::AlertLatency.suggest(good_ms, &unit, format!("{good_at}; no saturated level was slower."))
        }
    })
}

fn alert_errors(ladder: &Ladder) -> Suggestion {
    let limit = percent(ERROR_SHARE_MAX);
    let because = match ladder.levels.iter().position(|level| level.error_share > ERROR_SHARE_MAX) {
        Some(i) => {
            let worst_before = ladder.levels[..i].iter().map(|level| level.error_share).fold(0.0, f64::max);
            format!(
                "Levels below {} had at most {} errors, that one {}: above {limit} it counts as saturated.",
                ladder.name(i),
                percent(worst_before),
                percent(ladder.levels[i].error_share)
            )
        }
        None => {
            let worst = ladder.levels.iter().map(|level| level.error_share).fold(0.0, f64::max);
            format!("The worst level had {} errors: more than {limit} was never seen.", percent(worst))
        }
    };
    SuggestionKind::AlertErrors.suggest(ERROR_SHARE_MAX, "share", because)
}

fn alert_throughput(ladder: &Ladder, optimal: (usize, usize)) -> Suggestion {
    let least = least_throughput(ladder, optimal);
    let good = ladder.throughput(least);
    let saturated = ladder.first_saturated().map(|(i, _)| i).filter(|i| *i > optimal.1);
    let bad = saturated.filter(|i| ladder.throughput(*i) < good && ladder.throughput(*i) > 0.0);
    let good_at = format!(
        "While the load is {} or more: {}/s at {} was the least of the optimal range",
        ladder.name(optimal.0),
        number(good),
        ladder.name(least)
    );
    match bad {
        Some(i) => {
            let bad = ladder.throughput(i);
            let because =
                format!("{good_at}, and {}/s at {}, saturated: this is between.", number(bad), ladder.name(i));
            SuggestionKind::AlertThroughput.suggest((good * bad).sqrt(), "requests/s", because)
        }
        None => SuggestionKind::AlertThroughput.suggest(good, "requests/s", good_at + "; no saturated level had less."),
    }
}
