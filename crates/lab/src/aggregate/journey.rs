//! Aggregates one journey: as a whole, and step by step if its steps are measured separately. Does not know how long it
//! was driven.

use super::results::JourneyFigures;
use crate::measurement::{Basis, OpId, OpStats, OutcomeCounts};
use crate::scenario::Journey;

/// A journey, in the whole trial or in a phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct JourneyAggregate {
    pub(super) name: String,
    pub(super) total: OpStats,
    pub(super) not_sent: u64,
    /// Those of them that a pause of the generator had held up.
    pub(super) not_sent_behind_pauses: u64,
    paced: bool,
    /// Empty if the steps are not measured separately.
    pub(super) steps: Vec<(String, OpStats)>,
}

impl JourneyAggregate {
    pub(crate) fn new(journey: &Journey) -> Self {
        Self {
            name: journey.name.clone(),
            paced: journey.is_paced(),
            steps: match journey.has_step_figures() {
                false => Vec::new(),
                true => journey.steps.iter().map(|step| (step.name.clone(), OpStats::default())).collect(),
            },
            ..Self::default()
        }
    }

    /// Adds an operation of this journey.
    pub(super) fn add(&mut self, op: OpId, stats: &OpStats) {
        match op.step {
            None => self.total.merge(stats),
            Some(step) => {
                if let Some((_, known)) = self.steps.get_mut(step) {
                    known.merge(stats);
                }
            }
        }
    }

    /// Its requests that have ended.
    pub(super) fn requests(&self) -> OutcomeCounts {
        match self.steps.is_empty() {
            true => self.total.counts,
            false => self.steps.iter().map(|(_, step)| step.counts).sum(),
        }
    }

    /// The figures, without rates. On the basis without the generator's delays, arrivals that it held up do not count
    /// as not sent.
    pub(super) fn figures(&self, basis: Basis) -> JourneyFigures {
        let mut op = self.total.figures(basis);
        let held_up = if basis == Basis::WithoutLab { self.not_sent_behind_pauses } else { 0 };
        (op.count, op.ok) = (op.count + held_up, op.ok + held_up);
        JourneyFigures {
            op,
            throughput_per_s: None,
            requests: self.requests().total(),
            answered_per_s: None,
            paced: self.paced,
            not_sent: self.not_sent - held_up,
            steps: self.steps.iter().map(|(name, op)| (name.clone(), op.figures(basis))).collect(),
        }
    }
}
