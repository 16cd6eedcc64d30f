//! Stretches in which the target answered nobody, or nobody well: requests were under way and none ended, or every one
//! that ended had failed. Refuses to say why, and to count a time in which the lab itself did not run, or a fault of the
//! trial was at work.

use super::series::{Times, area, at};
use super::thresholds::{DISTURBED_MIN_S, SILENCE_RATE_MIN};
use super::view::View;
use super::words::{counted, digits, moment};
use super::{Candidate, Case, Rank};
use crate::fold::Series;

/// Stretches that are told one by one.
const TOLD_MAX: usize = 5;

/// How a second of the run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    /// Requests were under way, and none ended.
    Silent,
    /// Some ended, all of them with errors.
    Failed,
    Other,
}

pub(super) fn candidates(view: &View<'_>) -> Vec<Candidate> {
    // Where steps wait for something by plan, as long polls do, silence is what was asked for.
    if view.input.results.journeys.values().any(|journey| journey.paced) {
        return Vec::new();
    }
    let seconds = seconds(view);
    [silent(view, &stretches(&seconds, Second::Silent)), failed(view, &stretches(&seconds, Second::Failed))]
        .into_iter()
        .flatten()
        .collect()
}

/// Each whole second in which the lab looked at its load, after the first answer.
fn seconds(view: &View<'_>) -> Vec<(f64, Second)> {
    let Some(in_flight) = view.series("load.in_flight") else { return Vec::new() };
    let rates = |figure: &str| {
        let ends = format!(".{figure}_per_s");
        let all = view.input.timeline.series.iter();
        let found = all.filter(move |(name, _)| name.starts_with("op.") && name.ends_with(&ends));
        found.map(|(_, series)| series).collect::<Vec<&Series>>()
    };
    let (ok, errors, denied) = (rates("ok"), rates("errors"), rates("denied"));
    let first =
        ok.iter().chain(&errors).chain(&denied).filter_map(|series| series.points.first()).map(|point| point.t_s);
    let (Some(first_s), Some(last)) = (first.min_by(f64::total_cmp), in_flight.points.last()) else {
        return Vec::new();
    };
    let paused = view.input.results.generator.pauses.as_ref().map_or_else(Times::default, |pauses| {
        Times::of([(pauses.longest_at_s - 1.0, pauses.longest_at_s + pauses.longest_s + 1.0)])
    });
    let unrecorded = &view.input.timeline.unrecorded;
    let unknown = Times::of(unrecorded.requests.iter().chain(unrecorded.samples.iter()));
    let not_the_targets = Times::of(view.disturbances.iter().map(|one| one.window_s)).and(&paused).and(&unknown);
    let looked =
        in_flight.points.iter().map(|point| point.t_s.floor()).filter(|t_s| *t_s >= first_s && *t_s <= last.t_s);
    let mut seconds: Vec<(f64, Second)> = looked
        .map(|t_s| {
            let second = Times::of([(t_s, t_s + 1.0)]);
            let ended = |series: &[&Series]| series.iter().map(|series| rate_at(series, t_s)).sum::<f64>();
            let under_way = area(in_flight, &second).0.max(at(in_flight, t_s + 1.0).unwrap_or(0.0));
            let how = match (ended(&ok) + ended(&denied), ended(&errors)) {
                _ if !second.without(&not_the_targets).eq(&second) => Second::Other,
                (good, bad) if good == 0.0 && bad > 0.0 => Second::Failed,
                (good, bad) if good + bad == 0.0 && under_way >= 1.0 => Second::Silent,
                _ => Second::Other,
            };
            (t_s, how)
        })
        .collect();
    seconds.dedup_by_key(|(t_s, _)| *t_s);
    seconds
}

/// What ended in that second; nothing behind the last second in which anything did.
fn rate_at(series: &Series, t_s: f64) -> f64 {
    let last_s = series.points.last().map_or(t_s, |point| point.t_s);
    if t_s > last_s { 0.0 } else { at(series, t_s).unwrap_or(0.0) }
}

/// Where seconds of one kind follow each other, for long enough to be told.
fn stretches(seconds: &[(f64, Second)], kind: Second) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = Vec::new();
    for (t_s, _) in seconds.iter().filter(|(_, how)| *how == kind) {
        match found.last_mut().filter(|last| last.1 == *t_s) {
            Some(last) => last.1 = t_s + 1.0,
            None => found.push((*t_s, t_s + 1.0)),
        }
    }
    found.retain(|(from, to)| to - from >= DISTURBED_MIN_S);
    found.sort_by(|a, b| (b.1 - b.0).total_cmp(&(a.1 - a.0)).then(a.0.total_cmp(&b.0)));
    found
}

fn silent(view: &View<'_>, stretches: &[(f64, f64)]) -> Option<Candidate> {
    // Answers that come seldom leave pauses by chance.
    let usual_per_s = usual_rate(view, stretches).filter(|per_s| *per_s >= SILENCE_RATE_MIN)?;
    let (from, to) = stretches.first()?;
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
fn usual_rate(view: &View<'_>, stretches: &[(f64, f64)]) -> Option<f64> {
    let mut per_s = 0.0;
    for op in &view.ops {
        let Some(ok) = op.ok else { continue };
        let (Some(first), Some(last)) = (ok.points.first(), ok.points.last()) else { continue };
        let times = Times::of([(first.t_s, last.t_s + 1.0)]).without(&Times::of(stretches.iter().copied()));
        let (answers, known_s) = area(ok, &times);
        per_s += if known_s > 0.0 { answers / known_s } else { 0.0 };
    }
    (per_s > 0.0).then_some(per_s)
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
