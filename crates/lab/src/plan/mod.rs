//! The plan: a pure, lazy function of a scenario and a seed. It gives for each arrival when it is due and with which
//! seed, and nothing else: the same input gives the same plan, on any machine, before or after a run, as a whole or in
//! segments that do not know each other.

mod arrivals;
mod due_times;
mod label;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use arrivals::{Arrival, ArrivalIter};
pub use label::load_step_label;

pub use crate::scenario::Schedule;
use crate::scenario::rng::{DrawPurpose, draw};
use crate::scenario::{EdgeSearch, Phase, Reconnect, mix};

/// A stretch of a phase as workers drive it: everything that they need to know, and no more. Pure data: any worker, in
/// any process, computes its own segment of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSpec {
    /// The index of the phase in the scenario.
    pub phase_index: usize,
    /// The index of the journey in the scenario.
    pub journey_index: usize,
    /// The number of its load step; the bursts of one load are numbered from it.
    pub load_step: u32,
    /// Its start, from the start of the plan.
    pub start: Duration,
    pub schedule: Schedule,
    /// Arrivals in flight at once, over all workers.
    pub in_flight_max: u64,
    /// When connections are closed.
    pub reconnect: Reconnect,
    /// The index of the opening journey of each held connection.
    #[serde(default)]
    pub opening_journey_index: Option<usize>,
    /// The index of the phase whose connections it resumes.
    #[serde(default)]
    pub resumes_phase: Option<usize>,
    /// Whether its connections stay open when it is over, because a later phase resumes them.
    #[serde(default)]
    pub leaves_open: bool,
    /// The seed of its arrivals.
    pub seed: u64,
}

/// The position of a phase in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhasePosition {
    /// Its index in the scenario.
    pub phase: usize,
    /// The number of its first load step, counted over the whole trial.
    pub first_load_step: u32,
    /// Its start, from the start of the plan.
    pub start: Duration,
    /// The seed of the run.
    pub seed: u64,
}

impl PhasePosition {
    /// The position of a phase: the load steps of the phases before it come first.
    #[must_use]
    pub fn for_phase(phases: &[Phase], phase: usize, start: Duration, seed: u64) -> Self {
        let before = phases.iter().take(phase).map(|phase| phase.load_profile.load_step_count());
        Self { phase, first_load_step: before.fold(0, u32::saturating_add), start, seed }
    }
}

/// The loads of a phase, as far as they are known before it starts: one for each level of a ladder, one for each burst
/// that waits for the one before, none for a search, and one for any other profile. All of them start with the phase:
/// when a later one may start is known once the one before is over.
#[must_use]
pub fn load_specs(phase: &Phase, position: PhasePosition) -> Vec<LoadSpec> {
    let schedules = (0..).zip(phase.load_profile.schedules());
    schedules.map(|(number, schedule)| load_spec(phase, position, number, schedule)).collect()
}

/// Level `number`, counted from 0, of a search: its rate is known when the level before is over.
#[must_use]
pub fn search_level(
    phase: &Phase,
    edge: &EdgeSearch,
    position: PhasePosition,
    number: u32,
    rate_per_s: f64,
    lasting: Duration,
) -> LoadSpec {
    let schedule = match edge.poisson {
        true => Schedule::Poisson { rate_per_s, lasting },
        false => Schedule::ConstantRate { rate_per_s, lasting },
    };
    load_spec(phase, position, number, schedule)
}

fn load_spec(phase: &Phase, position: PhasePosition, number: u32, schedule: Schedule) -> LoadSpec {
    let in_flight_max = schedule.concurrency().unwrap_or(phase.in_flight_max);
    LoadSpec {
        phase_index: position.phase,
        journey_index: phase.journey_index,
        load_step: position.first_load_step.saturating_add(number),
        start: position.start,
        schedule,
        in_flight_max,
        reconnect: phase.reconnect,
        opening_journey_index: phase.opening_journey,
        resumes_phase: phase.resumes_phase,
        leaves_open: phase.leaves_open,
        seed: draw(mix(position.seed, position.phase as u64 + 1), DrawPurpose::LoadSpec, u64::from(number)),
    }
}

impl LoadSpec {
    /// The same load for held connections that are open since `at`, which was not known before: their requests count
    /// from there.
    #[must_use]
    pub fn starting_at(&self, at: Duration) -> Self {
        Self { start: at, ..self.clone() }
    }

    /// The arrivals that are due by the clock, for worker `worker` of `of`: index i belongs to worker i modulo `of`, so
    /// that the segments of all workers are the whole, however many there are. Requests over held connections are
    /// shared among the workers that hold one. None for a closed loop: there a response makes the next arrival due, and
    /// [`LoadSpec::arrival`] creates it.
    #[must_use]
    pub fn arrivals(&self, worker: u32, of: u32) -> ArrivalIter {
        ArrivalIter::new(self.clone(), worker, of)
    }

    /// The arrival of this index, due at this time from the start of the plan.
    #[must_use]
    pub fn arrival(&self, index: u64, intended: Duration) -> Arrival {
        let burst = match self.schedule {
            Schedule::Bursts { batch, .. } => index.checked_div(batch).unwrap_or(0),
            _ => 0,
        };
        let load_step = self.load_step.saturating_add(u32::try_from(burst).unwrap_or(u32::MAX));
        Arrival { intended, load_step, index, seed: mix(self.seed, index) }
    }

    /// When connection `number`, counted from 0, is due to be opened, if the load holds connections. An inherited
    /// connection that is missing is due at once.
    #[must_use]
    pub fn opening_due(&self, number: u64) -> Option<Duration> {
        let Schedule::Hold { connections, opening, .. } = self.schedule else { return None };
        let offset = opening.per_s.map_or(Duration::ZERO, |open| {
            due_times::constant_rate_offset(number.saturating_sub(opening.inherited), open)
        });
        (number < connections).then_some(self.start.saturating_add(offset))
    }
}
