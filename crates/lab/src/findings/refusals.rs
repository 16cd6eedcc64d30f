//! What was refused: politely, by a limiter or for the target's own reason, or because there were no ports or files
//! left. Keeps the two apart: denied is not failed.

use super::format::{count, moment, number, pluralize, share};
use super::op_series::OpSeries;
use super::series::{TimeRanges, area, sum_of_counts, times_when};
use super::thresholds::{FILES_FULL_SHARE, REFUSED_SHARE_MIN};
use super::view::{RunView, SERVER, first_above_zero};
use super::{Candidate, FindingRank};
use crate::aggregate::{ErrorGroup, JourneyFigures, Series};
use crate::format::{first_few, sanitize};

/// How the system reports that no local port is left for a connection: EADDRNOTAVAIL, 99 on Linux.
pub(super) const NO_PORT_TEXTS: [&str; 3] = ["os error 99", "assign requested address", "EADDRNOTAVAIL"];

/// How it reports that a process may open no more files: EMFILE, 24 on Linux; or that no process may: ENFILE, 23.
pub(super) const NO_FILE_TEXTS: [&str; 4] = ["os error 24", "os error 23", "oo many open files", "EMFILE"];

/// The kind of errors in which the lab could not open a connection.
const CONNECT_KIND: &str = "connect";

pub(super) fn candidates(view: &RunView<'_>) -> Vec<Candidate> {
    [denied(view), ports_exhausted(view), descriptors_exhausted(view)].into_iter().flatten().collect()
}

/// A material share of the arrivals was denied.
fn denied(view: &RunView<'_>) -> Option<Candidate> {
    let arrivals = view.arrivals();
    let denied = arrivals.share(arrivals.denied);
    if denied < REFUSED_SHARE_MIN {
        return None;
    }
    let began = first_above_zero(view.ops.iter().filter_map(|op| op.denied));
    let ceiling = ok_per_s_while_denied(view);
    let from = began.map_or_else(String::new, |t_s| format!(" from {} on", moment(t_s)));
    let rate = ceiling.map_or_else(String::new, |per_s| format!(", and admitted {} a second meanwhile", number(per_s)));
    let own = view.role("denied").and_then(|role| Some((role.figure.clone(), role.per_s(&view.busy())?)));
    let is_limiter = view.input.denies_by_status || own.is_some();
    let (code, who) = if is_limiter { ("limiter_rejects", "A limiter") } else { ("denied", "The target") };
    let (refused, ended) = began.map_or((arrivals.denied, arrivals.ended), |began_s| ended_since(view, began_s));
    let concerned = || view.input.results.journeys.iter().filter(|(_, journey)| journey.op.denied > 0);
    let names = first_few(concerned().map(|(name, _)| format!("`{}`", sanitize(name))), ", ");
    let sentence = format!(
        "{who} refused {} of the arrivals of {names} ({} of {}){from}{rate}. They were denied; they did not fail.",
        share(refused as f64 / ended.max(1) as f64),
        count(refused),
        count(ended)
    );
    let by_journey = concerned().map(|(name, JourneyFigures { op, .. })| {
        (format!("op.{name}.denied_per_s"), format!("{} of {}", count(op.denied), count(op.count)))
    });
    let own = own.map(|(figure, per_s)| (figure, format!("{} a second by the target's own count", number(per_s))));
    let case = Candidate::new(code, denied, sentence).all_evidence(by_journey).all_evidence(own);
    let (refuted_by, advice) = match is_limiter {
        true => (
            "The same load from more accounts or addresses is denied as often: then the cause is not a rate limit.",
            "If the load is legitimate, raise the limit; if not, the limiter works as intended and this rate is the ceiling.",
        ),
        false => (
            "The same load at half the rate is denied less than half as often: then a rate is limited.",
            "Check what was requested: what is taken or not allowed is denied however fast the target is.",
        ),
    };
    Some(case.with_advice(refuted_by, advice))
}

/// How many were denied and how many ended since a moment, of the journeys of which any was denied.
fn ended_since(view: &RunView<'_>, from_s: f64) -> (u64, u64) {
    let since = TimeRanges::new([(from_s, f64::MAX)]);
    let sum = |series: Option<&Series>| series.map_or(0.0, |series| area(series, &since).0);
    let of_op = |op: &OpSeries<'_>| (sum(op.denied), sum(op.ok) + sum(op.errors));
    let concerned = view.ops.iter().map(of_op).filter(|(denied, _)| *denied > 0.0);
    let (denied, others) = concerned.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    (denied.round() as u64, (denied + others).round() as u64)
}

/// Successful responses a second in the seconds in which others were denied.
fn ok_per_s_while_denied(view: &RunView<'_>) -> Option<f64> {
    let accepted = view.ops.iter().filter_map(|op| {
        let (answers, known_s) = area(op.ok?, &times_when(op.denied?, |denied| denied > 0.0));
        (known_s > 0.0).then(|| answers / known_s)
    });
    let all: Vec<f64> = accepted.collect();
    (!all.is_empty()).then(|| all.iter().sum())
}

/// Requests that the lab itself could not send for want of ports or files. An answer of the target with such a text tells of the target.
pub(super) fn unsent_requests<'a>(view: &RunView<'a>, words: &[&str]) -> (u64, Vec<&'a ErrorGroup>) {
    let (_, groups) = errors_matching(view, words);
    let own: Vec<&ErrorGroup> = groups.into_iter().filter(|group| group.kind == CONNECT_KIND).collect();
    (own.iter().map(|group| group.count).sum(), own)
}

/// Errors of one cause, by the texts of their samples.
pub(super) fn errors_matching<'a>(view: &RunView<'a>, words: &[&str]) -> (u64, Vec<&'a ErrorGroup>) {
    let matches = |group: &&ErrorGroup| words.iter().any(|word| group.sample.contains(word));
    let groups: Vec<&ErrorGroup> = view.input.errors.iter().filter(matches).collect();
    (groups.iter().map(|group| group.count).sum(), groups)
}

/// The lab had no local port left.
fn ports_exhausted(view: &RunView<'_>) -> Option<Candidate> {
    let (errors, groups) = unsent_requests(view, &NO_PORT_TEXTS);
    let waiting = view
        .series("machine.tcp_time_wait")
        .and_then(Series::peak)
        .map(|(t_s, most)| format!("{} ended connections still held a port at {}", count(most as u64), moment(t_s)));
    let sentence = format!(
        "The ports were used up: {} found none free to connect from. The target is not the cause.",
        pluralize(errors, "request")
    );
    let case = Candidate::new("ports_exhausted", view.arrivals().share(errors), sentence)
        .rank(FindingRank::Validity)
        .error_evidence(groups.get(..1)?)
        .evidence("machine.tcp_time_wait", waiting);
    let refuted_by =
        "The same load over more source addresses, or over connections that are kept alive, fails in the same way.";
    let advice = "Keep connections alive, or let the lab connect from more loopback addresses ([generator] sources).";
    Some(case.with_advice(refuted_by, advice))
}

/// The lab or the target could not open another file.
fn descriptors_exhausted(view: &RunView<'_>) -> Option<Candidate> {
    let (errors, groups) = unsent_requests(view, &NO_FILE_TEXTS);
    let target = target_open_files(view);
    let unaccepted = view.role("accept_errors").and_then(|role| {
        let per_s = role.per_s(&view.busy()).filter(|per_s| *per_s > 0.0)?;
        Some((role.figure, format!("{} a second could not be accepted", number(per_s))))
    });
    if groups.is_empty() && target.is_none() && unaccepted.is_none() {
        return None;
    }
    let whose = if groups.is_empty() { "The target" } else { "The lab" };
    let how = match (&target, groups.is_empty()) {
        (Some(open), true) => open.clone(),
        (None, true) => "incoming connections could not be accepted".to_owned(),
        (_, false) => format!("{} could not be sent without one", pluralize(errors, "request")),
    };
    let sentence = format!("{whose} had no file left to open, and every connection is one: {how}.");
    let arrivals = view.arrivals();
    let explains = arrivals.share(if groups.is_empty() { arrivals.errors } else { errors });
    let overflows = view.series("machine.listen_overflows").map(sum_of_counts).filter(|sum| *sum > 0.0);
    let overflows = overflows.map(|sum| format!("{} connections refused by a full queue", count(sum as u64)));
    let rank = if groups.is_empty() { FindingRank::Cause } else { FindingRank::Validity };
    let case = Candidate::new("descriptors_exhausted", explains, sentence)
        .rank(rank)
        .error_evidence(&groups)
        .all_evidence(unaccepted)
        .evidence(format!("process.{SERVER}.open_files"), target)
        .evidence("machine.listen_overflows", overflows);
    let refuted_by = "With a higher limit on open files (ulimit -n) as many connections fail.";
    let advice =
        "Raise the limit on open files of the process that has none left, or hold fewer connections at the same time.";
    Some(case.with_advice(refuted_by, advice))
}

/// The target near its open-file limit.
fn target_open_files(view: &RunView<'_>) -> Option<String> {
    let limit = view.input.limits.open_files? as f64;
    let own = view.role("open_files").and_then(|role| role.gauge());
    let (t_s, most) = own.or_else(|| open_files_of_one_process(view))?.peak()?;
    (most >= FILES_FULL_SHARE * limit)
        .then(|| format!("{} of {} were open at {}", count(most as u64), count(limit as u64), moment(t_s)))
}

/// The target's open files as the kernel counts them; none where it has several processes: the limit holds for each, and the figure is their
/// sum.
fn open_files_of_one_process<'a>(view: &RunView<'a>) -> Option<&'a Series> {
    let processes = view.series(&format!("process.{SERVER}.processes")).and_then(Series::peak);
    let is_one = processes.is_none_or(|(_, most)| most < 2.0);
    view.series(&format!("process.{SERVER}.open_files")).filter(|_| is_one)
}
