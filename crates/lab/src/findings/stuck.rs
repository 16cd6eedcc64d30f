//! Work that stopped making progress, grouped by its holder and by what happened to the holder; and work that the
//! server does not know. Does not guess a holder that the server did not report.

use super::format::{count, moment, pluralize, share};
use super::view::RunView;
use super::{Candidate, CandidateBuilder, ProcessExit};
use crate::aggregate::WorkFigures;
use crate::record::timeline::FaultRow;
use crate::report::format::{first_few, first_few_of};

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
    let seen = super::view::first_above_zero(view.series(&format!("work.{name}.unknown")).into_iter());
    let (unknown, created) = (count(figures.unknown), pluralize(figures.created, name));
    let sentence = format!(
        "The server does not know {unknown} of {created} ({}), whose creation it had answered for.",
        share(part)
    );
    let mut case = CandidateBuilder::new("unknown_work", part, sentence)
        .optional_evidence(format!("work.{name}.unknown"), seen.map(|t_s| format!("seen from {} on", moment(t_s))));
    if !figures.unknown_ids.is_empty() {
        let cut = figures.unknown.saturating_sub(figures.unknown_ids.len() as u64);
        case = case.evidence(format!("{name}.unknown_ids"), first_few_of(&figures.unknown_ids, cut, ", "));
    }
    for event in process_events(view).into_iter().take(EVENTS_MAX) {
        case = case.evidence(event.0, event.1);
    }
    let refuted_by = "The same ids are answered for later, or by another address: then the status is asked for too early, or in the wrong place.";
    let advice = "Look for the ids in the server's log and store: creations that were answered before they were saved, pieces that are \
                  deleted when they end, or nodes that know only their own.";
    case.build(refuted_by, advice)
}

fn stuck_work(view: &RunView<'_>, name: &str, figures: &WorkFigures) -> Candidate {
    let part = figures.stuck as f64 / figures.created.max(1) as f64;
    let seen = super::view::first_above_zero(view.series(&format!("work.{name}.stuck")).into_iter());
    let mut groups: Vec<(&String, &u64)> = figures.stuck_by.iter().collect();
    groups.sort_by(|a, b| b.1.cmp(a.1));
    let held = first_few(groups.iter().map(|(holder, pieces)| holder_sentence(view, holder, **pieces)), "; ");
    let holders = if held.is_empty() { held } else { format!(": {held}") };
    let sentence = format!(
        "{} of {} stopped making progress ({}){holders}.",
        count(figures.stuck),
        pluralize(figures.created, name),
        share(part)
    );
    let mut case = CandidateBuilder::new("stuck_work", part, sentence)
        .optional_evidence(format!("work.{name}.stuck"), seen.map(|t_s| format!("seen from {} on", moment(t_s))));
    for (holder, pieces) in groups {
        case = case.evidence(format!("{name}.stuck_by.{holder}"), pluralize(*pieces, "piece"));
    }
    for event in process_events(view).into_iter().take(EVENTS_MAX) {
        case = case.evidence(event.0, event.1);
    }
    let refuted_by =
        "The pieces go on after a longer time: then they are slow, and `stuck_after` is too short for them.";
    let advice = "Look at who holds the pieces and for how long it may: a lease that outlives its holder keeps work from others.";
    case.build(refuted_by, advice)
}

/// What one holder had, and what happened to it.
fn holder_sentence(view: &RunView<'_>, holder: &str, pieces: u64) -> String {
    let fate = holder_fate(view, holder).map_or_else(String::new, |fate| format!(", which {fate}"));
    format!("{} held by {holder}{fate}", count(pieces))
}

/// What happened to the process that a holder's name refers to: its own name, or a part of it, as in an address.
fn holder_fate(view: &RunView<'_>, holder: &str) -> Option<String> {
    let is_meant = |process: &str| !process.is_empty() && (holder == process || has_word(holder, process));
    let fault = view.input.timeline.faults.iter().find(|fault| fault.failed.is_none() && is_meant(&fault.process));
    let death = view.unexpected_exits().find(|death| is_meant(&death.process));
    fault.map(fault_sentence).or_else(|| death.map(exit_sentence))
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

fn exit_sentence(death: &ProcessExit) -> String {
    let how =
        death.signal.map_or_else(|| "ended by itself".to_owned(), |signal| format!("was ended by signal {signal}"));
    format!("{how} at {}", moment(death.t_s))
}

/// Everything that happened to processes.
fn process_events(view: &RunView<'_>) -> Vec<(String, String)> {
    let faults = view.input.timeline.faults.iter().filter(|fault| fault.failed.is_none());
    let faults = faults.map(|fault| (format!("fault {}", fault.process), fault_sentence(fault)));
    let deaths = view.unexpected_exits().map(|death| (format!("process.{}", death.process), exit_sentence(death)));
    faults.chain(deaths).collect()
}
