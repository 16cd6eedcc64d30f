//! Periods in which the target answered no request, or none successfully: requests were in flight and none ended, or
//! every one that ended had failed. Used for a finished run, and by the same rule for one in progress. Does not explain
//! the cause, and does not count time in which the lab itself did not run, or a fault of the trial was active.

use std::fmt;

use super::disturbance::disturbances;
use super::format::{count, moment, number, pluralize};
use super::op_series::OpSeries;
use super::refusals::{NO_FILE_TEXTS, NO_PORT_TEXTS, unsent_requests};
use super::series::{TimeRanges, area};
use super::thresholds::{DISTURBED_MIN_S, OUTAGE_SHARE_MIN, SILENCE_MISSED_MIN, SILENCE_RATE_MIN, SILENT_MIN_S};
use super::view::RunView;
use super::{Candidate, FindingRank, error_figure};
use crate::aggregate::{Outage, Timeline};
use crate::limits::SILENCE_REPORTED_EVERY;

/// Periods that are listed one by one.
const LISTED_MAX: usize = 5;

/// At this moment the target answers no request, or none successfully.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurrentOutage {
    is_silent: bool,
    /// Since when, in seconds from the start of the plan.
    since_s: f64,
}

impl CurrentOutage {
    /// The outage at the end of a timeline that is still growing, by journey.
    pub(crate) fn find(timeline: &Timeline, journeys: &[&str]) -> Option<Self> {
        let looked_s = timeline.sampled_s()?;
        let ops: Vec<OpSeries<'_>> = journeys.iter().map(|name| OpSeries::from_timeline(name, timeline)).collect();
        let faults = disturbances(timeline, &ops);
        let faults = TimeRanges::new(faults.iter().map(|one| one.window_until_s(looked_s + 1.0)));
        let silences = silences(timeline, &ops, &faults);
        // A continuing silence is reported several times between two samples.
        let goes_on = |until_s: f64| until_s >= looked_s - 2.0 * SILENCE_REPORTED_EVERY.as_secs_f64();
        if let Some((since_s, _)) = silences.iter().find(|(_, until_s)| goes_on(*until_s)) {
            return Some(Self { is_silent: true, since_s: *since_s });
        }
        let end_s = timeline.outage()?.seconds.end as f64;
        let (since_s, _) = *outages(timeline, &ops, &faults).iter().find(|(_, to_s)| *to_s == end_s)?;
        Some(Self { is_silent: false, since_s })
    }
}

impl fmt::Display for CurrentOutage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_silent { "the target is silent since" } else { "only errors since" };
        write!(f, "{what} {}", moment(self.since_s))
    }
}

pub(super) fn candidates(view: &RunView<'_>) -> Vec<Candidate> {
    let faults = TimeRanges::new(view.disturbances.iter().map(|one| one.window_s));
    let silences = silences(view.input.timeline, &view.ops, &faults);
    let outages = outages(view.input.timeline, &view.ops, &faults.union(&after_the_load(view)));
    [target_silent(view, &silences), only_errors(view, &outages)].into_iter().flatten().collect()
}

/// Where nothing ended for long enough to be reported, the longest first: responses may have ended while the lab itself
/// did not run or did not sample.
fn silences(timeline: &Timeline, ops: &[OpSeries<'_>], faults: &TimeRanges) -> Vec<(f64, f64)> {
    let unrecorded = timeline.unrecorded.requests.iter().chain(timeline.unrecorded.samples.iter());
    let not_the_targets = faults.union(&TimeRanges::new(unrecorded));
    let all = timeline.silences.iter().flat_map(|row| {
        let left = TimeRanges::new([(row.t_s, row.until_s)]).difference(&not_the_targets);
        left.iter().collect::<Vec<_>>()
    });
    let mut found: Vec<(f64, f64)> = all.filter(|(from, to)| to - from >= SILENT_MIN_S).collect();
    // Infrequent responses leave pauses by chance.
    let usual_per_s = usual_rate(ops, &found);
    let is_missed = |(from, to): &(f64, f64)| usual_per_s * (to - from) >= SILENCE_MISSED_MIN;
    found.retain(|range| usual_per_s >= SILENCE_RATE_MIN && is_missed(range));
    longest_first(found)
}

/// Where no arrivals were due any more, to within the chance of independent arrivals: the responses that take longest end last, and those
/// that time out last of all. Unknown where requests were abandoned, which no load step counts.
fn after_the_load(view: &RunView<'_>) -> TimeRanges {
    let load_steps = &view.input.load_steps;
    if load_steps.is_empty() || view.input.results.generator.abandoned > 0 {
        return TimeRanges::default();
    }
    let due =
        load_steps.iter().map(|step| (step.start_s, (step.start_s + step.due_s().unwrap_or(step.length_s)).ceil()));
    TimeRanges::new([(0.0, f64::MAX)]).difference(&TimeRanges::new(due))
}

/// Where everything that ended had failed, for long enough to be reported, the longest first, but for time that does not count. A pause
/// of the lab causes no errors. The last requests of a load, if they fail, are few beside what usually ends in that time.
fn outages(timeline: &Timeline, ops: &[OpSeries<'_>], excluded: &TimeRanges) -> Vec<(f64, f64)> {
    let seconds = |outage: &Outage| (outage.seconds.start as f64, outage.seconds.end as f64);
    let usual_per_s = usual_rate(ops, &timeline.outages().iter().map(seconds).collect::<Vec<_>>());
    let is_material = |outage: &&Outage| {
        let (from, to) = seconds(outage);
        outage.failed as f64 >= SILENCE_MISSED_MIN.min(OUTAGE_SHARE_MIN * usual_per_s * (to - from))
    };
    let all = timeline.outages().iter().filter(is_material).flat_map(|outage| {
        let left = TimeRanges::new([seconds(outage)]).difference(excluded);
        left.iter().collect::<Vec<_>>()
    });
    longest_first(all.filter(|(from, to)| to - from >= DISTURBED_MIN_S).collect())
}

fn longest_first(mut ranges: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    ranges.sort_by(|a, b| (b.1 - b.0).total_cmp(&(a.1 - a.0)).then(a.0.total_cmp(&b.0)));
    ranges
}

fn target_silent(view: &RunView<'_>, ranges: &[(f64, f64)]) -> Option<Candidate> {
    let (from, to) = ranges.first()?;
    let sentence = format!(
        "The target was silent from {} to {}: requests were in flight, and none of them ended.",
        moment(*from),
        moment(*to)
    );
    let listed = ranges.iter().take(LISTED_MAX).map(|(from, to)| {
        let rows = view.input.timeline.silences.iter();
        let most = rows.filter(|row| row.t_s <= *from && *to <= row.until_s).map(|row| row.under_way).max();
        let text = format!("{} to {}: up to {} in flight", moment(*from), moment(*to), count(most.unwrap_or(0)));
        ("load.in_flight", text)
    });
    let case = Candidate::new("target_silent", share_of_run(view, ranges), sentence)
        .rank(FindingRank::Outage)
        .all_evidence(listed)
        .evidence("op", format!("{} responses a second otherwise", number(usual_rate(&view.ops, ranges))));
    let refuted_by = "Another client, from another machine, was answered in that time.";
    let advice = "Check what the target did then: a long garbage collection, a lock that is held over slow work, a \
                  disk or a database that did not respond, a process that was stopped.";
    Some(case.with_advice(refuted_by, advice))
}

fn only_errors(view: &RunView<'_>, ranges: &[(f64, f64)]) -> Option<Candidate> {
    let arrivals = view.arrivals();
    let is_all = arrivals.errors > 0 && arrivals.errors == arrivals.ended && view.disturbances.is_empty();
    if !is_all && ranges.is_empty() {
        return None;
    }
    let end_s = view.input.timeline.outage().map(|last| last.seconds.end as f64);
    let until = |to: f64| if Some(to) == end_s { "the end".to_owned() } else { moment(to) };
    let sentence = match ranges.first() {
        Some((from, to)) if !is_all => {
            format!("Every request that ended from {} to {} had failed.", moment(*from), until(*to))
        }
        _ => format!("Every request failed: {} of {}.", count(arrivals.errors), count(arrivals.ended)),
    };
    // The lab's lateness causes no errors, but its own lack of ports and files does.
    let is_own = [&NO_PORT_TEXTS[..], &NO_FILE_TEXTS[..]].iter().any(|words| unsent_requests(view, words).0 > 0);
    let rank = if is_own { FindingRank::Outage } else { FindingRank::Failed };
    let explains = if is_all { 1.0 } else { share_of_run(view, ranges) };
    let in_range = |(range, op): (&(f64, f64), &OpSeries<'_>)| {
        let errors = area(op.errors?, &TimeRanges::new([*range])).0.round() as u64;
        let text = format!("{} to {}: {}", moment(range.0), until(range.1), pluralize(errors, "error"));
        (errors > 0).then(|| (format!("op.{}.errors_per_s", op.name), text))
    };
    let listed = ranges.iter().take(LISTED_MAX).flat_map(|range| view.ops.iter().map(move |op| (range, op)));
    let samples = view.input.errors.iter().take(LISTED_MAX).map(|group| {
        let text = format!("{} in the whole run · {}", pluralize(group.count, "error"), group.sample);
        (error_figure(group), text)
    });
    let case = Candidate::new("only_errors", explains, sentence)
        .rank(rank)
        .all_evidence(listed.filter_map(in_range))
        .all_evidence(samples)
        .evidence("load", format!("{} of {} arrivals failed", count(arrivals.errors), count(arrivals.ended)));
    let refuted_by = "Another client that sent the same requests at that time got successful responses.";
    let advice = "The samples of the errors show what the target, or a proxy in front of it, answered: start there.";
    Some(case.with_advice(refuted_by, advice))
}

/// Successful responses a second outside these periods.
fn usual_rate(ops: &[OpSeries<'_>], ranges: &[(f64, f64)]) -> f64 {
    let mut per_s = 0.0;
    for op in ops {
        let Some(ok) = op.ok else { continue };
        let (Some(first), Some(last)) = (ok.points.first(), ok.points.last()) else { continue };
        let times = TimeRanges::new([(first.t_s, last.t_s + 1.0)]).difference(&TimeRanges::new(ranges.iter().copied()));
        let (answers, known_s) = area(ok, &times);
        per_s += if known_s > 0.0 { answers / known_s } else { 0.0 };
    }
    per_s
}

/// The share of the run that these periods cover.
fn share_of_run(view: &RunView<'_>, ranges: &[(f64, f64)]) -> f64 {
    let length_s: f64 = ranges.iter().map(|(from, to)| to - from).sum();
    let points = view.series("load.in_flight").map(|series| series.points.as_slice()).unwrap_or_default();
    let all_s = points.last().map_or(0.0, |last| last.t_s) - points.first().map_or(0.0, |first| first.t_s) + 1.0;
    (length_s / all_s.max(1.0)).min(1.0)
}
