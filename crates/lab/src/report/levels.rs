//! Phases that loaded the target at several levels, one after the other: ladders of clients, and searches for the edge;
//! and what the record says of their capacity. Pure.

use serde::Deserialize;

use super::Run;
use crate::aggregate::LoadStepFigures;
use crate::edge::{Capacity, Usl};

/// What the levels of a phase show.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PhaseCapacity {
    pub capacity: Capacity,
    /// Only of a ladder.
    pub usl: Option<FittedLaw>,
    /// Only of a search.
    pub edge: Option<SearchEnd>,
}

/// The scalability law of a ladder, or why none could be fitted.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum FittedLaw {
    Fitted(Usl),
    Refused { refusal: String },
}

/// How a search for the edge ended.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SearchEnd {
    pub reason: String,
    pub edge_per_s: Option<f64>,
}

impl PhaseCapacity {
    /// None if the record has no capacity of the phase.
    pub(super) fn of_phase(run: &Run, phase: &str) -> Option<Self> {
        serde_json::from_value(run.capacity.get(phase)?.clone()).ok()
    }

    /// The highest rate that a search held.
    pub(super) fn edge_per_s(&self) -> Option<f64> {
        self.edge.as_ref()?.edge_per_s
    }
}

/// The name of a load step within its phase.
pub(super) fn label(load_step: &LoadStepFigures) -> &str {
    if load_step.label.is_empty() { &load_step.phase } else { &load_step.label }
}

/// The phases that were ladders, in the order in which they began.
pub(super) fn ladders(run: &Run) -> Vec<&str> {
    let mut phases: Vec<&str> = Vec::new();
    let begun = run.load_steps.iter().map(|load_step| load_step.phase.as_str());
    for phase in begun.chain(run.capacity.keys().map(String::as_str)) {
        if !phases.contains(&phase) && is_ladder(run, phase) {
            phases.push(phase);
        }
    }
    phases
}

/// Whether a phase was a ladder: it has a capacity or evaluated levels, or the number of clients changed.
pub(super) fn is_ladder(run: &Run, phase: &str) -> bool {
    let levels = levels(run, phase);
    let changes = levels.windows(2).any(|pair| pair[0].clients != pair[1].clients);
    run.capacity.contains_key(phase)
        || changes
        || levels.iter().any(|level| level.overload.is_some() || level.void.is_some())
}

pub(super) fn levels<'a>(run: &'a Run, phase: &str) -> Vec<&'a LoadStepFigures> {
    run.load_steps.iter().filter(|load_step| load_step.phase == phase).collect()
}

/// The load of each level: its clients if every level has some, else the offered rate.
pub(super) fn loads(levels: &[&LoadStepFigures]) -> Vec<Option<f64>> {
    let by_clients = levels.iter().all(|level| level.clients.is_some());
    let load = |level: &&LoadStepFigures| {
        if by_clients { level.clients.map(|clients| clients as f64) } else { level.offered_per_s }
    };
    levels.iter().map(load).collect()
}
