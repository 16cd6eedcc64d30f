//! Memory: how much a work item takes, whether it was released, and whether there was enough. Growth that does not
//! matter is not a finding.

use super::format::{bytes, moment, number, pluralize, share};
use super::series::{TimeRanges, mean, steps, times_when, value_at};
use super::thresholds::{
    MEMORY_FIT_MIN, MEMORY_FULL_SHARE, MEMORY_KEPT_MIN_BYTES, MEMORY_KEPT_SHARE_MIN, MEMORY_KILLED_SHARE,
    MEMORY_POINTS_MIN, MEMORY_SHARE_MIN, SUSTAINED_MIN_S,
};
use super::view::{RunView, SERVER};
use super::{Candidate, FindingRank};
use crate::aggregate::Series;
use crate::statistics::{self, sum_of_products, sum_of_squares};

pub(super) fn candidates(view: &RunView<'_>) -> Vec<Candidate> {
    let Some(rss) = view.series(&format!("process.{SERVER}.rss_bytes")) else { return Vec::new() };
    let line = work_in_memory(view).and_then(|work| LinearFit::fit(rss, work)).filter(LinearFit::is_reportable);
    [memory_cap(view, rss, line.as_ref()), memory_per_work(view, rss, line.as_ref())].into_iter().flatten().collect()
}

/// The number of work items in the target's memory at a moment: by its own count, or by the lab's.
fn work_in_memory<'a>(view: &RunView<'a>) -> Option<&'a Series> {
    let own = view.role("work_in_memory").and_then(|role| role.gauge());
    own.or_else(|| match view.input.results.work.keys().collect::<Vec<_>>().as_slice() {
        [work] => view.series(&format!("work.{work}.unfinished")),
        _ => None,
    })
}

/// Memory against work: least squares.
struct LinearFit {
    bytes_per_item: f64,
    base_bytes: f64,
    /// The share of the variance that the fit explains.
    r_squared: f64,
    max_items: f64,
}

impl LinearFit {
    fn fit(rss: &Series, work: &Series) -> Option<Self> {
        let points = steps(rss).filter_map(|step| Some((value_at(work, step.from_s)?, step.value.mean)));
        let (items, bytes): (Vec<f64>, Vec<f64>) = points.unzip();
        let (xx, yy) = (sum_of_squares(&items), sum_of_squares(&bytes));
        if items.len() < MEMORY_POINTS_MIN || xx <= 0.0 || yy <= 0.0 {
            return None;
        }
        let xy = sum_of_products(&items, &bytes);
        let slope = xy / xx;
        let line = Self {
            bytes_per_item: slope,
            base_bytes: statistics::mean(&bytes) - slope * statistics::mean(&items),
            r_squared: xy * xy / (xx * yy),
            max_items: items.iter().copied().fold(0.0, f64::max),
        };
        (line.bytes_per_item.is_finite() && line.r_squared.is_finite()).then_some(line)
    }

    fn is_reportable(&self) -> bool {
        self.bytes_per_item > 0.0 && self.r_squared >= MEMORY_FIT_MIN
    }

    fn sentence(&self) -> String {
        format!(
            "{} per work item above {} idle, with up to {} in memory at the same time ({} of the variance)",
            bytes(self.bytes_per_item),
            bytes(self.base_bytes.max(0.0)),
            number(self.max_items),
            share(self.r_squared)
        )
    }
}

/// The kernel killed the target for its memory, or it reached its limit.
fn memory_cap(view: &RunView<'_>, rss: &Series, line: Option<&LinearFit>) -> Option<Candidate> {
    let pressure = view.limit_stats();
    let limit = view.input.limits.memory_bytes.or(view.input.machine.memory_bytes).map(|limit| limit as f64);
    let (peak_s, rss_peak) = rss.peak()?;
    // What a limit counts is not what is resident: shared pages are not in it.
    let peak = pressure.memory_peak_bytes.map_or(rss_peak, |peak| peak as f64);
    let kills = pressure.oom_kills.unwrap_or(0);
    let is_near = |least: f64| limit.is_some_and(|limit| rss_peak >= least * limit);
    let killed = view.unexpected_exits().find(|exit| exit.process == SERVER && exit.signal == Some(9));
    let is_killed = kills > 0 || (killed.is_some() && is_near(MEMORY_KILLED_SHARE));
    // Pages that several processes share are in the resident memory of each, and once in what the limit counts.
    let is_full = limit.is_some_and(|limit| rss_peak.min(peak) >= MEMORY_FULL_SHARE * limit);
    let is_at_limit = view.input.limits.memory_bytes.is_some() && is_full;
    if !is_killed && !is_at_limit {
        return None;
    }
    let own =
        if kills > 0 && view.input.limits.memory_bytes.is_some() { " that target.limits.memory allows" } else { "" };
    let of = limit.map_or_else(String::new, |limit| format!(" of {}{own}", bytes(limit)));
    let when = killed.map_or_else(String::new, |exit| format!(" at {}", moment(exit.t_s)));
    let sentence = match is_killed {
        true => format!("The target was killed for its memory{when}: it had used {}{of}.", bytes(peak)),
        false => format!("The target reached its memory limit: it used {}{of} at {}.", bytes(peak), moment(peak_s)),
    };
    let rank = if is_killed { FindingRank::TargetExited } else { FindingRank::Cause };
    let explains = if is_killed { 1.0 } else { rss_peak / limit.unwrap_or(rss_peak) };
    let rise = format!("{} first, {} at {}", bytes(rss.first().unwrap_or(0.0)), bytes(rss_peak), moment(peak_s));
    let kills = (kills > 0).then(|| pluralize(kills, "process").replace("processs", "processes"));
    let case = Candidate::new("memory_cap", explains, sentence)
        .rank(rank)
        .evidence(format!("process.{SERVER}.rss_bytes"), rise)
        .evidence("server.limits_seen.oom_kills", kills)
        .evidence("memory per work item", line.map(LinearFit::sentence));
    let refuted_by = "With twice the memory the target fails in the same way at the same moment.";
    let advice = "Admit less concurrent work, make a work item smaller, or give the target more memory.";
    Some(case.with_advice(refuted_by, advice))
}

/// Memory follows the work in it, or was not released after it.
fn memory_per_work(view: &RunView<'_>, rss: &Series, line: Option<&LinearFit>) -> Option<Candidate> {
    let limit = view.input.limits.memory_bytes.or(view.input.machine.memory_bytes)? as f64;
    let (first, (peak_s, peak)) = (rss.first()?, rss.peak()?);
    let growth = peak - first;
    let kept = bytes_after_drain(view, rss).map(|after| after - first);
    let is_kept = kept.is_some_and(|kept| kept >= MEMORY_KEPT_MIN_BYTES && kept >= MEMORY_KEPT_SHARE_MIN * growth);
    let is_much = growth >= MEMORY_SHARE_MIN * limit && line.is_some();
    if !is_much && !is_kept {
        return None;
    }
    let back = match kept {
        _ if is_kept => format!("; {} of it was not released after the work had ended", bytes(kept.unwrap_or(0.0))),
        Some(_) => "; it was released after the work had ended".to_owned(),
        None => String::new(),
    };
    let each = line.map_or_else(String::new, |line| format!(", {} per work item", bytes(line.bytes_per_item)));
    let sentence = format!("Memory grew by {} to {} at {}{each}{back}.", bytes(growth), bytes(peak), moment(peak_s));
    let case = Candidate::new("memory_per_work", 0.0, sentence)
        .evidence(
            format!("process.{SERVER}.rss_bytes"),
            format!("{} first, {} at most, {} last", bytes(first), bytes(peak), bytes(rss.last().unwrap_or(0.0))),
        )
        .evidence("memory per work item", line.map(LinearFit::sentence));
    let (refuted_by, advice) = match is_kept {
        true => (
            "A second round of the same work takes no more memory than the first: then it was kept for reuse, not leaked.",
            "Run the same work twice in one trial and compare: a leak grows with every round.",
        ),
        false => (
            "Another load with as many work items takes a different amount of memory.",
            "Plan memory for the highest number of concurrent work items, not for the average.",
        ),
    };
    Some(case.with_advice(refuted_by, advice))
}

/// Memory once all work has ended and some time has passed, if the trial sampled that long.
fn bytes_after_drain(view: &RunView<'_>, rss: &Series) -> Option<f64> {
    let work = work_in_memory(view)?;
    let ended_s = times_when(work, |work_items| work_items >= 1.0).last_s()?;
    let last_s = rss.points.last()?.t_s;
    (last_s >= ended_s + SUSTAINED_MIN_S)
        .then(|| mean(rss, &TimeRanges::new([(ended_s + SUSTAINED_MIN_S, last_s + 1.0)])))?
}
