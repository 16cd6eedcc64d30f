//! Stretches in which the target answered nobody, or nobody well: requests were under way and none ended, or every one
//! that ended had failed; told of a run that is over, and by the same rule of one that goes on. Refuses to say why, and to
//! count a time in which the lab itself did not run, or a fault of the trial was at work.

use std::fmt;

use super::disturbed::disturbances;
use super::series::{Times, area};
use super::thresholds::{DISTURBED_MIN_S, SILENCE_RATE_MIN};
use super::view::{Op, View};
use super::words::{counted, digits, moment};
use super::{Candidate, Case, Rank};
use crate::fold::{Outage, OutageKind, Series, Timeline};

/// Stretches that are told one by one.
const TOLD_MAX: usize = 5;

/// The target answers nobody at this moment, or nobody well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutageNow {
    kind: OutageKind,
    /// Since when, in seconds from the start of the plan.
    since_s: f64,
}

impl OutageNow {
    /// What goes on at the end of this timeline, to which rows are still added, by journey.
    pub(crate) fn find(timeline: &Timeline, journeys: &[&str]) -> Option<Self> {
        let Outage { kind, seconds } = timeline.outage()?;
        let end_s = seconds.end as f64;
        let ops: Vec<Op<'_>> = journeys.iter().map(|name| Op::of(name, timeline)).collect();
        let faults = disturbances(timeline, &ops);
        let faults = Times::of(faults.iter().map(|one| one.window_until_s(end_s)));
        let stretches = stretches(timeline, *kind, &faults.and(&unrecorded(timeline)));
        let since_s = stretches.iter().find(|(_, to)| *to == end_s)?.0;
        let is_told = *kind == OutageKind::OnlyErrors || usual_rate(&ops, &stretches) >= SILENCE_RATE_MIN;
        is_told.then_some(Self { kind: *kind, since_s })
    }
}

impl fmt::Display for OutageNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            OutageKind::Silent => "the target is silent since",
            OutageKind::OnlyErrors => "only errors since",
        };
        write!(f, "{what} {}", moment(self.since_s))
    }
}

pub(super) fn candidates(view: &View<'_>) -> Vec<Candidate> {
    // Where steps wait for something by plan, as long polls do, silence is what was asked for.
    if view.input.results.journeys.values().any(|journey| journey.paced) {
        return Vec::new();
    }
    let faults = Times::of(view.disturbances.iter().map(|one| one.window_s));
    let not_the_targets = faults.and(&unrecorded(view.input.timeline));
    let of = |kind| stretches(view.input.timeline, kind, &not_the_targets);
    [silent(view, &of(OutageKind::Silent)), failed(view, &of(OutageKind::OnlyErrors))].into_iter().flatten().collect()
}

/// When the lab itself did not run, or did not look.
fn unrecorded(timeline: &Timeline) -> Times {
    Times::of(timeline.unrecorded.requests.iter().chain(timeline.unrecorded.samples.iter()))
}

/// Where whole seconds of one kind follow each other, for long enough to be told: the longest first.
fn stretches(timeline: &Timeline, kind: OutageKind, not_the_targets: &Times) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = Vec::new();
    let outages = timeline.outages().iter().filter(|outage| outage.kind == kind);
    for t_s in outages.flat_map(|outage| outage.seconds.clone()).map(|second| second as f64) {
        let second = Times::of([(t_s, t_s + 1.0)]);
        if second.without(not_the_targets) != second {
            continue;
        }
        match found.last_mut().filter(|last| last.1 == t_s) {
            Some(last) => last.1 = t_s + 1.0,
            None => found.push((t_s, t_s + 1.0)),
        }
    }
    found.retain(|(from, to)| to - from >= DISTURBED_MIN_S);
    found.sort_by(|a, b| (b.1 - b.0).total_cmp(&(a.1 - a.0)).then(a.0.total_cmp(&b.0)));
    found
}

fn silent(view: &View<'_>, stretches: &[(f64, f64)]) -> Option<Candidate> {
    // Answers that come seldom leave pauses by chance.
    let (from, to) = stretches.first()?;
    let usual_per_s = Some(usual_rate(&view.ops, stretches)).filter(|per_s| *per_s >= SILENCE_RATE_MIN)?;
    let sentence = format!(
        "The target was silent from {} to {}: requests were under way, and none of them ended.",
        moment(*from),
        moment(*to)
    );
    let mut case = Case::new("target_silent", share(view, stretches), sentence).rank(Rank::Outage);
    for (from, to) in stretches.iter().take(TOLD_MAX) {
        let most = highest(view.series("load.in_flight"), *from, *to);
        case = case.evidence(
            "load.in_flight",
            format!("{} to {}: up to {} under way", moment(*from), moment(*to), digits(most)),
        );
    }
    case = case.evidence("op", format!("{} answers a second otherwise", digits(usual_per_s)));
    let refuted_by = "Another client, from another machine, was answered in that time.";
    let advice = "Look at what the target did then: a long pause of its memory management, a lock that is held over slow work, a disk \
                  or a database that stood still, a process that was stopped.";
    Some(case.close(refuted_by, advice))
}

fn failed(view: &View<'_>, stretches: &[(f64, f64)]) -> Option<Candidate> {
    let (from, to) = stretches.first()?;
    let sentence = format!("Every request that ended from {} to {} had failed.", moment(*from), moment(*to));
    let mut case = Case::new("only_errors", share(view, stretches), sentence).rank(Rank::Outage);
    for (from, to) in stretches.iter().take(TOLD_MAX) {
        let times = Times::of([(*from, *to)]);
        for op in &view.ops {
            let errors = op.errors.map_or(0.0, |errors| area(errors, &times).0).round() as u64;
            if errors > 0 {
                let says = format!("{} to {}: {}", moment(*from), moment(*to), counted(errors, "error"));
                case = case.evidence(format!("op.{}.errors_per_s", op.name), says);
            }
        }
    }
    for group in view.input.errors.iter().take(TOLD_MAX) {
        let says = format!("{} in the whole run · {}", counted(group.count, "error"), group.sample);
        case = case.evidence(format!("errors.{}.{}", group.journey, group.kind), says);
    }
    let refuted_by = "Another client, asking the same at that time, got good answers.";
    let advice = "The samples of the errors say what the target, or what stands before it, answered: begin there.";
    Some(case.close(refuted_by, advice))
}

/// Good answers a second outside these stretches.
fn usual_rate(ops: &[Op<'_>], stretches: &[(f64, f64)]) -> f64 {
    let mut per_s = 0.0;
    for op in ops {
        let Some(ok) = op.ok else { continue };
        let (Some(first), Some(last)) = (ok.points.first(), ok.points.last()) else { continue };
        let times = Times::of([(first.t_s, last.t_s + 1.0)]).without(&Times::of(stretches.iter().copied()));
        let (answers, known_s) = area(ok, &times);
        per_s += if known_s > 0.0 { answers / known_s } else { 0.0 };
    }
    per_s
}

/// How much of the run these stretches are.
fn share(view: &View<'_>, stretches: &[(f64, f64)]) -> f64 {
    let length_s: f64 = stretches.iter().map(|(from, to)| to - from).sum();
    let points = view.series("load.in_flight").map(|series| series.points.as_slice()).unwrap_or_default();
    let all_s = points.last().map_or(0.0, |last| last.t_s) - points.first().map_or(0.0, |first| first.t_s) + 1.0;
    (length_s / all_s.max(1.0)).min(1.0)
}

/// The highest value at any look in a stretch.
fn highest(series: Option<&Series>, from_s: f64, to_s: f64) -> f64 {
    let points = series.map(|series| series.points.as_slice()).unwrap_or_default();
    points.iter().filter(|point| (from_s..=to_s).contains(&point.t_s)).map(|point| point.mean).fold(0.0, f64::max)
}
