//! The plan: a pure, lazy function of a scenario and a seed. It says when each arrival is due and with which seed, and
//! nothing else: the same input gives the same plan, on any machine, before or after a run, as a whole or in segments
//! that know nothing of each other.

mod arrivals;
mod due_times;
mod label;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use arrivals::{Arrival, ArrivalIter};
pub(crate) use due_times::due_within;
pub use label::load_step_label;

use crate::scenario::rng::{DrawPurpose, draw};
use crate::scenario::{self, BurstTrigger, EdgeSearch, OpeningSpec, PerClientLimit, Phase, Reconnect, mix};

/// A stretch of a phase as workers drive it: everything that they need to know, and no more. Pure data: any worker,
/// in any process, computes its own segment of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSpec {
    /// The phase, by its place in the scenario.
    pub phase_index: usize,
    /// The journey, by its place in the scenario.
    pub journey_index: usize,
    /// The number of its part; the bursts of one leg number on from it.
    pub load_step: u32,
    /// Its first moment, from the start of the plan.
    pub start: Duration,
    /// When what is due.
    pub schedule: Schedule,
    /// Arrivals under way at once, over all workers.
    pub in_flight_max: u64,
    /// When connections are given up.
    pub reconnect: Reconnect,
    /// The journey that each held connection takes first, by its place in the scenario.
    #[serde(default)]
    pub opening_journey_index: Option<usize>,
    /// The phase whose connections it goes on with, by its place in the scenario.
    #[serde(default)]
    pub resumes_phase: Option<usize>,
    /// Whether its connections stay when it is over, because a later phase goes on with them.
    #[serde(default)]
    pub leaves_open: bool,
    /// The seed of its arrivals.
    pub seed: u64,
}

/// When what is due in a leg.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// `batch` arrivals at once, every `every`, `times` times; each burst is a part of its own.
    Bursts { batch: u64, every: Duration, times: u64 },
    /// A constant rate.
    ConstantRate { rate_per_s: f64, lasting: Duration },
    /// A rate that changes evenly.
    Ramp { from_per_s: f64, to_per_s: f64, lasting: Duration },
    /// Independent arrivals.
    Poisson { rate_per_s: f64, lasting: Duration },
    /// A closed loop.
    ClosedLoop { clients: u64, each: PerClientLimit },
    /// Held connections; requests across them are due when all are open, and counted from there.
    Hold { connections: u64, opening: OpeningSpec, rate_per_s: Option<f64>, lasting: Duration },
}

/// Where a phase stands in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhasePosition {
    /// Its place in the scenario.
    pub phase: usize,
    /// The number of its first part, counted over the whole trial.
    pub first_load_step: u32,
    /// Its first moment, from the start of the plan.
    pub start: Duration,
    /// The seed of the run.
    pub seed: u64,
}

impl PhasePosition {
    /// The place of the phase at `phase`: the parts of those before it come first.
    #[must_use]
    pub fn for_phase(phases: &[Phase], phase: usize, start: Duration, seed: u64) -> Self {
        let before = phases.iter().take(phase).map(|phase| phase.load_profile.load_step_count());
        Self { phase, first_load_step: before.fold(0, u32::saturating_add), start, seed }
    }
}

/// The legs of a phase, as far as they are known before it begins: one for each level of a ladder, one for each burst
/// that waits for the one before, none for a search, and one for any other load. All of them start where the phase
/// does: when a later one may begin is known when the one before is over.
#[must_use]
pub fn load_specs(phase: &Phase, place: PhasePosition) -> Vec<LoadSpec> {
    use scenario::LoadProfile as Load;
    let one = |schedule| vec![load_spec(phase, place, 0, schedule)];
    let numbered = |schedules: Vec<Schedule>| -> Vec<LoadSpec> {
        (0..).zip(schedules).map(|(number, schedule)| load_spec(phase, place, number, schedule)).collect()
    };
    match phase.load_profile {
        Load::Batch { batch, trigger: BurstTrigger::Interval(every), times } => {
            one(Schedule::Bursts { batch, every, times })
        }
        Load::Batch { batch, trigger: BurstTrigger::PreviousDone, times } => {
            let burst = || Schedule::Bursts { batch, every: Duration::ZERO, times: 1 };
            numbered((0..times).map(|_| burst()).collect())
        }
        Load::Rate { rate_per_s, duration: lasting } => one(Schedule::ConstantRate { rate_per_s, lasting }),
        Load::Ramp { from_per_s, to_per_s, duration: lasting } => one(Schedule::Ramp { from_per_s, to_per_s, lasting }),
        Load::Poisson { rate_per_s, duration: lasting } => one(Schedule::Poisson { rate_per_s, lasting }),
        Load::Clients { clients, per_client: each } => one(Schedule::ClosedLoop { clients, each }),
        Load::Ladder { ref levels, per_client: each, .. } => {
            numbered(levels.iter().map(|&clients| Schedule::ClosedLoop { clients, each }).collect())
        }
        Load::Hold { connections, opening, rate_per_s, duration: lasting } => {
            one(Schedule::Hold { connections, opening, rate_per_s, lasting })
        }
        Load::Edge(_) => Vec::new(),
    }
}

/// Level `number`, counted from 0, of a search: its rate is known when the level before is over.
#[must_use]
pub fn search_level(
    phase: &Phase,
    edge: &EdgeSearch,
    place: PhasePosition,
    number: u32,
    rate_per_s: f64,
    lasting: Duration,
) -> LoadSpec {
    let schedule = match edge.poisson {
        true => Schedule::Poisson { rate_per_s, lasting },
        false => Schedule::ConstantRate { rate_per_s, lasting },
    };
    load_spec(phase, place, number, schedule)
}

fn load_spec(phase: &Phase, place: PhasePosition, number: u32, schedule: Schedule) -> LoadSpec {
    let in_flight_max = match schedule {
        Schedule::ClosedLoop { clients, .. } => clients,
        _ => phase.in_flight_max,
    };
    LoadSpec {
        phase_index: place.phase,
        journey_index: phase.journey_index,
        load_step: place.first_load_step.saturating_add(number),
        start: place.start,
        schedule,
        in_flight_max,
        reconnect: phase.reconnect,
        opening_journey_index: phase.opening_journey,
        resumes_phase: phase.resumes_phase,
        leaves_open: phase.leaves_open,
        seed: draw(mix(place.seed, place.phase as u64 + 1), DrawPurpose::LoadSpec, u64::from(number)),
    }
}

impl LoadSpec {
    /// The same for held connections that are open since `at`, which was not known before: their requests count from
    /// there.
    #[must_use]
    pub fn starting_at(&self, at: Duration) -> Self {
        Self { start: at, ..self.clone() }
    }

    /// The arrivals that are due by the clock, for worker `worker` of `of`: index i belongs to worker i modulo `of`, so
    /// that the segments of all workers are the whole, however many there are. Requests across held connections are
    /// shared among the workers that hold one. None for a closed loop: there an answer makes the next arrival due, and
    /// [`LoadSpec::arrival`] makes it.
    #[must_use]
    pub fn arrivals(&self, worker: u32, of: u32) -> ArrivalIter {
        ArrivalIter::new(self.clone(), worker, of)
    }

    /// The arrival of this index, due at this moment from the start of the plan.
    #[must_use]
    pub fn arrival(&self, index: u64, intended: Duration) -> Arrival {
        let burst = match self.schedule {
            Schedule::Bursts { batch, .. } => index.checked_div(batch).unwrap_or(0),
            _ => 0,
        };
        let part = self.load_step.saturating_add(u32::try_from(burst).unwrap_or(u32::MAX));
        Arrival { intended, load_step: part, index, seed: mix(self.seed, index) }
    }

    /// When connection `number`, counted from 0, is due to be opened, where the leg holds some. One of those that should
    /// stand already, and does not, is due at once.
    #[must_use]
    pub fn opening_due(&self, number: u64) -> Option<Duration> {
        let Schedule::Hold { connections, opening, .. } = self.schedule else { return None };
        let offset = opening.per_s.map_or(Duration::ZERO, |open| {
            due_times::constant_rate_offset(number.saturating_sub(opening.inherited), open)
        });
        (number < connections).then_some(self.start.saturating_add(offset))
    }

    /// From its first moment to its last, where that is known before; where it holds connections, as planned.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        match self.schedule {
            Schedule::Bursts { every, times, .. } => Some(due_times::multiply(every, times.saturating_sub(1))),
            Schedule::ConstantRate { lasting, .. }
            | Schedule::Ramp { lasting, .. }
            | Schedule::Poisson { lasting, .. }
            | Schedule::ClosedLoop { each: PerClientLimit::Duration(lasting), .. } => Some(lasting),
            Schedule::Hold { connections, opening, lasting, .. } => {
                Some(opening.planned_duration(connections).saturating_add(lasting))
            }
            Schedule::ClosedLoop { each: PerClientLimit::Requests(_), .. } => None,
        }
    }

    /// How many arrivals it has, where that is known before: independent ones are counted as they come, and a closed
    /// loop for a time makes as many as the target answers.
    #[must_use]
    pub fn arrival_count(&self) -> Option<u64> {
        match self.schedule {
            Schedule::Poisson { .. } => None,
            Schedule::ClosedLoop { clients, each: PerClientLimit::Requests(requests) } => {
                Some(clients.saturating_mul(requests))
            }
            Schedule::ClosedLoop { each: PerClientLimit::Duration(_), .. } => None,
            ref timed => Some(due_times::timed_arrival_count(timed)),
        }
    }
}
