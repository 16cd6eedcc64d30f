//! Work that stopped making progress, grouped by its holder and by what happened to the holder; and work that the
//! server does not know. Does not guess a holder that the server did not report.

use super::format::{count, moment, pluralize, share};
use super::view::{RunView, first_above_zero};
use super::{Candidate, ProcessExit};
use crate::aggregate::WorkFigures;
use crate::format::{first_few, first_few_of};
use crate::measurement::timeline::FaultRow;

/// How many exits and faults one finding lists.
const EVENTS_MAX: usize = 8;

pub(super) fn candidates(view: &RunView<'_>) -> Vec<Candidate> {
    let works = view.input.results.work.iter();
    let of_work = |(name, figures): (&String, &WorkFigures)| {
        let stuck = (figures.stuck > 0).then(|| stuck_work(view, name, figures));
        let unknown = (figures.unknown > 0).then(|| unknown_work(view, name, figures));
        [stuck, unknown]
    };
    works.flat_map(of_work).flatten().collect()
}

fn unknown_work(view: &RunView<'_>, name: &str, figures: &WorkFigures) -> Candidate {
    let part = figures.unknown as f64 / figures.created.max(1) as f64;
    let (unknown, created) = (count(figures.unknown), pluralize(figures.created, name));
    let sentence =
        format!("The server does not know {unknown} of {created} ({}), whose creation it had confirmed.", share(part));
    let cut = figures.unknown.saturating_sub(figures.unknown_ids.len() as u64);
    let ids = (!figures.unknown_ids.is_empty()).then(|| first_few_of(&figures.unknown_ids, cut, ", "));
    let case = Candidate::new("unknown_work", part, sentence)
        .all_evidence(first_seen(view, name, "unknown"))
        .evidence(format!("{name}.unknown_ids"), ids)
        .all_evidence(process_events(view));
    let refuted_by = "The same ids are known later, or at another address: then the status is requested too early, or in the wrong place.";
    let advice = "Search for the ids in the server's log and store: creations that were confirmed before they were \
                  saved, work items that are deleted when they end, or nodes that know only their own.";
    case.with_advice(refuted_by, advice)
}

fn stuck_work(view: &RunView<'_>, name: &str, figures: &WorkFigures) -> Candidate {
    let part = figures.stuck as f64 / figures.created.max(1) as f64;
    let mut groups: Vec<(&String, &u64)> = figures.stuck_by.iter().collect();
    groups.sort_by(|a, b| b.1.cmp(a.1));
    let held = first_few(groups.iter().map(|(holder, work_items)| holder_sentence(view, holder, **work_items)), "; ");
    let holders = if held.is_empty() { held } else { format!(": {held}") };
    let sentence = format!(
        "{} of {} stopped making progress ({}){holders}.",
        count(figures.stuck),
        pluralize(figures.created, name),
        share(part)
    );
    let held_by = |(holder, work_items): (&String, &u64)| {
        (format!("{name}.stuck_by.{holder}"), pluralize(*work_items, "work item"))
    };
    let case = Candidate::new("stuck_work", part, sentence)
        .all_evidence(first_seen(view, name, "stuck"))
        .all_evidence(groups.into_iter().map(held_by))
        .all_evidence(process_events(view));
    let refuted_by =
        "The work items continue after a longer time: then they are slow, and `stuck_after` is too short for them.";
    let advice = "Check what holds the work items and for how long: a lease that outlives its holder keeps work from other nodes.";
    case.with_advice(refuted_by, advice)
}

/// When the lab first saw work in this state.
fn first_seen(view: &RunView<'_>, name: &str, state: &str) -> Option<(String, String)> {
    let figure = format!("work.{name}.{state}");
    let t_s = first_above_zero(view.series(&figure).into_iter())?;
    Some((figure, format!("seen from {} on", moment(t_s))))
}

/// What one holder had, and what happened to it.
fn holder_sentence(view: &RunView<'_>, holder: &str, work_items: u64) -> String {
    let fate = holder_fate(view, holder).map_or_else(String::new, |fate| format!(", which {fate}"));
    format!("{} held by {holder}{fate}", count(work_items))
}

/// What happened to the process that a holder's name refers to: its own name, or a part of it, as in an address.
fn holder_fate(view: &RunView<'_>, holder: &str) -> Option<String> {
    let is_meant = |process: &str| !process.is_empty() && (holder == process || has_word(holder, process));
    let fault = view.input.timeline.faults.iter().find(|fault| fault.failed.is_none() && is_meant(&fault.process));
    let exit = view.unexpected_exits().find(|exit| is_meant(&exit.process));
    fault.map(fault_sentence).or_else(|| exit.map(exit_sentence))
}

/// Whether a text contains a whole word: `node_b` in `node_b:4001`, and not in `node_bb`.
fn has_word(text: &str, word: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        !before.is_some_and(is_inner) && !after.is_some_and(is_inner)
    })
}

fn fault_sentence(fault: &FaultRow) -> String {
    let again = match fault.ready_again_s {
        Some(t_s) => format!(" and answered again at {}", moment(t_s)),
        None => String::new(),
    };
    format!("got `{}` from the trial at {}{again}", fault.act, moment(fault.t_s))
}

fn exit_sentence(exit: &ProcessExit) -> String {
    let how =
        exit.signal.map_or_else(|| "ended by itself".to_owned(), |signal| format!("was ended by signal {signal}"));
    format!("{how} at {}", moment(exit.t_s))
}

/// What happened to processes.
fn process_events(view: &RunView<'_>) -> impl Iterator<Item = (String, String)> {
    let faults = view.input.timeline.faults.iter().filter(|fault| fault.failed.is_none());
    let faults = faults.map(|fault| (format!("fault {}", fault.process), fault_sentence(fault)));
    let exits = view.unexpected_exits().map(|exit| (format!("process.{}", exit.process), exit_sentence(exit)));
    faults.chain(exits).take(EVENTS_MAX)
}
