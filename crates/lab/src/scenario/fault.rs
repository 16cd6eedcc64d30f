//! Faults: what is done to a process while the load continues. Does not carry them out, and rejects faults on processes
//! that the lab does not start, because it does not control those.

use std::time::Duration;

use super::journey::Journey;
use super::load_profile::LoadProfile;
use super::phase::Phase;
use super::reader::{NodeReader, TableReader, read_name};
use super::schedule::Schedule;
use super::step::{Step, StepAction};
use super::tree::{Node, Value};
use super::validation::Origin;
use crate::format::known_names;
use crate::limits::{FAULT_TIMES_MAX, WAIT_MAX};

/// The name of the target's process in faults.
const SERVER: &str = "server";

/// An action on a process at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// From the start of the plan.
    pub at: Duration,
    pub action: FaultAction,
    /// The process: `server`, or the name of a `[[process]]`.
    pub process: String,
    /// How long it lasts: afterwards a stopped process continues, and a killed one is started again.
    pub duration: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAction {
    /// SIGKILL to its group.
    Kill,
    /// SIGSTOP to its group.
    Stop,
    /// SIGCONT to its group.
    Continue,
    /// SIGTERM.
    Term,
    /// Terminated if it is running, and started again with the same command.
    Restart,
}

const ACTIONS: [(&str, FaultAction); 6] = [
    ("kill", FaultAction::Kill),
    ("stop", FaultAction::Stop),
    ("continue", FaultAction::Continue),
    ("term", FaultAction::Term),
    ("restart", FaultAction::Restart),
    ("kill -9", FaultAction::Kill),
];

impl FaultAction {
    /// Its name in the scenario and in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        ACTIONS.iter().find(|(_, action)| *action == self).map_or("", |(word, _)| word)
    }
}

impl Fault {
    /// Reads one, and its repetitions. `load_end` is when the load is over, if the scenario determines it: a later fault would meet no
    /// load.
    pub(crate) fn read(at: &NodeReader<'_>, processes: &FaultTargets, load_end: Option<Duration>) -> Vec<Self> {
        let read = at.table(|fields| {
            let (every, times) = read_repetition(fields);
            let moment = |at: &NodeReader<'_>| {
                let first = at.duration(Duration::ZERO..=WAIT_MAX)?;
                let last = every.saturating_mul(times - 1).saturating_add(first);
                if let Some(load_end) = load_end.filter(|load_end| last >= *load_end) {
                    let repeated = if times > 1 { format!(", and the last repetition at {last:?}") } else { String::new() };
                    at.add_error(format!(
                        "is {first:?}{repeated}, but the last arrival is due before {load_end:?}: the run would be over without the \
                         fault. Choose an earlier moment, or a longer load"
                    ));
                }
                Some(first)
            };
            let moment = fields.required("at", "when, from the start of the load, such as \"90s\"", moment);
            let action = fields.get_required("do", "kill, stop, continue, term or restart");
            let action = action.and_then(|at| at.choice(&ACTIONS));
            let process = fields.get("process").map_or_else(|| Some(SERVER.to_owned()), |at| read_name(&at));
            if let Some(message) = process.as_ref().and_then(|process| processes.refusal_reason(process)) {
                at.add_error(message);
            }
            let duration = fields.optional("for", |at| {
                if let Some(FaultAction::Continue | FaultAction::Restart) = action {
                    at.add_error("has no meaning here: only kill, term and stop last");
                }
                let duration = at.duration(Duration::from_millis(1)..=WAIT_MAX)?;
                if times > 1 && duration >= every {
                    at.add_error(format!("is {duration:?}, and must be shorter than `every`, {every:?}: the next one comes before this one ends"));
                }
                Some(duration)
            });
            let first = Self { at: moment, action: action?, process: process?, duration };
            Some((0..times).map(|n| Self { at: first.at.saturating_add(every.saturating_mul(n)), ..first.clone() }).collect())
        });
        read.flatten().unwrap_or_default()
    }
}

/// The time from one to the next, and how many there are.
fn read_repetition(fields: &TableReader<'_>) -> (Duration, u32) {
    let every = fields.optional("every", |at| at.duration(Duration::from_millis(1)..=WAIT_MAX));
    let times = fields.optional("times", |at| at.int(1..=u64::from(FAULT_TIMES_MAX)));
    if every.is_some() != times.is_some() {
        fields
            .reader
            .add_error("needs `every` and `times` together: the time from one to the next, and how many there are");
    }
    (every.unwrap_or_default(), times.map_or(1, |times| times as u32))
}

/// The processes of a scenario as they are written, each with the reason why the lab cannot control it, if it does not
/// start it.
#[derive(Debug)]
pub(crate) struct FaultTargets(Vec<(String, Option<String>)>);

impl FaultTargets {
    pub(crate) fn from_document(root: &Node) -> Self {
        let mut all = vec![(SERVER.to_owned(), root.get("target").and_then(unmanaged_reason))];
        all.extend(root.items_of("process").iter().filter_map(helper_target));
        Self(all)
    }

    fn refusal_reason(&self, process: &str) -> Option<String> {
        match self.0.iter().find(|(known, _)| known == process) {
            Some((_, None)) => None,
            Some((_, Some(reason))) => Some(format!("can only be done to a process that the lab starts, but {reason}")),
            None => {
                let known: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
                Some(format!("is done to \"{process}\", but there is no such process; known: {}", known_names(known)))
            }
        }
    }
}

/// Why the lab does not start the target; none if it does.
pub(crate) fn unmanaged_reason(target: &Node) -> Option<String> {
    match target.get("url").map(|url| &url.origin) {
        _ if target.get("spawn").is_some() => None,
        Some(Origin::Argument(argument)) => Some(format!("{argument} names one that runs already: take either out")),
        _ => Some("[target] has no `spawn`".to_owned()),
    }
}

fn helper_target(node: &Node) -> Option<(String, Option<String>)> {
    let name = node.text_at("name")?;
    let is_off = matches!(node.get("start").map(|start| &start.value), Some(Value::Bool(false)));
    Some((name.to_owned(), is_off.then(|| format!("[[process]] {name} has start = false"))))
}

/// The latest moment, from the start of the load, at which an arrival or one of its steps is due. None if that depends
/// on the target: bursts, which wait for free in-flight slots, levels, searches, journeys that wait or repeat, and
/// messages.
pub(super) fn load_end(phases: &[Phase], journeys: &[Journey]) -> Option<Duration> {
    let (mut next, mut end) = (Duration::ZERO, Duration::ZERO);
    for phase in phases {
        let start = phase.starts_at.unwrap_or_else(|| next.saturating_add(phase.pause_before));
        let over = start.saturating_add(max_duration(&phase.load_profile)?);
        let taken = [Some(phase.journey_index), phase.opening_journey].into_iter().flatten();
        for journey in taken {
            end = end.max(over.saturating_add(max_pause_total(journeys.get(journey)?)?));
        }
        if phase.starts_at.is_none() {
            next = over;
        }
    }
    Some(end)
}

/// From its start to its last arrival, at most.
fn max_duration(profile: &LoadProfile) -> Option<Duration> {
    match profile {
        LoadProfile::Single(Schedule::Hold { opening, lasting, .. }) => Some(opening.timeout.saturating_add(*lasting)),
        LoadProfile::Single(Schedule::Bursts { .. }) => None,
        LoadProfile::Single(schedule) => schedule.duration(),
        LoadProfile::BurstsInTurn { .. } | LoadProfile::Ladder { .. } | LoadProfile::Edge(_) => None,
    }
}

/// What a journey itself adds: its pauses, unless something besides its responses makes it longer.
fn max_pause_total(journey: &Journey) -> Option<Duration> {
    let plain = journey.repeats.is_empty() && journey.background.is_empty() && !journey.uses_messages;
    let step_pauses = |step: &Step| {
        let request =
            matches!(step.action, StepAction::Request(_)) && step.pause_until.is_none() && step.starts_work.is_none();
        let plain = request && step.long_poll.is_none() && step.retry.is_none();
        plain.then(|| step.pause.map_or(Duration::ZERO, |(_, most)| most))
    };
    let pauses: Option<Vec<Duration>> = journey.steps.iter().map(step_pauses).collect();
    pauses.filter(|_| plain).map(|pauses| pauses.into_iter().fold(Duration::ZERO, Duration::saturating_add))
}
