//! The plan: a pure, lazy function of a scenario and a seed. It says when each arrival is due and with which seed, and
//! nothing else: the same input gives the same plan, on any machine, before or after a run, as a whole or in segments
//! that know nothing of each other.

mod arrivals;
mod label;
mod moments;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use arrivals::{Arrival, Arrivals};
pub use label::part_label;
pub(crate) use moments::due_within;

use crate::scenario::chance::{Purpose, draw};
use crate::scenario::{self, Each, EdgeArrivals, Every, Opening, Phase, Reconnect, mix};

/// A stretch of a phase as workers drive it: everything that they need to know, and no more. Pure data: any worker,
/// in any process, computes its own segment of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// The phase, by its place in the scenario.
    pub phase: usize,
    /// The journey, by its place in the scenario.
    pub journey: usize,
    /// The number of its part; the bursts of one leg number on from it.
    pub part: u32,
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
    pub opening: Option<usize>,
    /// The phase whose connections it goes on with, by its place in the scenario.
    #[serde(default)]
    pub keeps: Option<usize>,
    /// Whether its connections stay when it is over, because a later phase goes on with them.
    #[serde(default)]
    pub leaves: bool,
    /// The seed of its arrivals.
    pub seed: u64,
}

/// When what is due in a leg.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// `batch` arrivals at once, every `every`, `times` times; each burst is a part of its own.
    #[allow(missing_docs)]
    Bursts { batch: u64, every: Duration, times: u64 },
    /// A constant rate.
    #[allow(missing_docs)]
    Rate { rate_per_s: f64, lasting: Duration },
    /// A rate that changes evenly.
    #[allow(missing_docs)]
    Ramp { from_per_s: f64, to_per_s: f64, lasting: Duration },
    /// Independent arrivals.
    #[allow(missing_docs)]
    Poisson { rate_per_s: f64, lasting: Duration },
    /// A closed loop.
    #[allow(missing_docs)]
    Clients { clients: u64, each: Each },
    /// Held connections; requests across them are due when all are open, and counted from there.
    #[allow(missing_docs)]
    Hold { connections: u64, opening: Opening, rate_per_s: Option<f64>, lasting: Duration },
}

/// Where a phase stands in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its place in the scenario.
    pub phase: usize,
    /// The number of its first part, counted over the whole trial.
    pub part: u32,
    /// Its first moment, from the start of the plan.
    pub start: Duration,
    /// The seed of the run.
    pub seed: u64,
}

impl Place {
    /// The place of the phase at `phase`: the parts of those before it come first.
    #[must_use]
    pub fn of(phases: &[Phase], phase: usize, start: Duration, seed: u64) -> Self {
        let before = phases.iter().take(phase).map(|phase| phase.arrivals.parts());
        Self { phase, part: before.fold(0, u32::saturating_add), start, seed }
    }
}

/// The legs of a phase, as far as they are known before it begins: one for each level of a ladder, one for each burst
/// that waits for the one before, none for a search, and one for any other load. All of them start where the phase
/// does: when a later one may begin is known when the one before is over.
#[must_use]
pub fn legs(phase: &Phase, place: Place) -> Vec<Leg> {
    use scenario::Arrivals as Load;
    let one = |schedule| vec![leg(phase, place, 0, schedule)];
    let numbered = |schedules: Vec<Schedule>| -> Vec<Leg> {
        (0..).zip(schedules).map(|(number, schedule)| leg(phase, place, number, schedule)).collect()
    };
    match phase.arrivals {
        Load::Batch { batch, every: Every::Time(every), times } => one(Schedule::Bursts { batch, every, times }),
        Load::Batch { batch, every: Every::Done, times } => {
            let burst = || Schedule::Bursts { batch, every: Duration::ZERO, times: 1 };
            numbered((0..times).map(|_| burst()).collect())
        }
        Load::Rate { rate_per_s, lasting } => one(Schedule::Rate { rate_per_s, lasting }),
        Load::Ramp { from_per_s, to_per_s, lasting } => one(Schedule::Ramp { from_per_s, to_per_s, lasting }),
        Load::Poisson { rate_per_s, lasting } => one(Schedule::Poisson { rate_per_s, lasting }),
        Load::Clients { clients, each } => one(Schedule::Clients { clients, each }),
        Load::Ladder { ref levels, each, .. } => {
            numbered(levels.iter().map(|&clients| Schedule::Clients { clients, each }).collect())
        }
        Load::Hold { connections, opening, rate_per_s, lasting } => {
            one(Schedule::Hold { connections, opening, rate_per_s, lasting })
        }
        Load::Edge(_) => Vec::new(),
    }
}

/// Level `number`, counted from 0, of a search: its rate is known when the level before is over.
#[must_use]
pub fn level(phase: &Phase, edge: &EdgeArrivals, place: Place, number: u32, rate_per_s: f64, lasting: Duration) -> Leg {
    let schedule = match edge.poisson {
        true => Schedule::Poisson { rate_per_s, lasting },
        false => Schedule::Rate { rate_per_s, lasting },
    };
    leg(phase, place, number, schedule)
}

fn leg(phase: &Phase, place: Place, number: u32, schedule: Schedule) -> Leg {
    let in_flight_max = match schedule {
        Schedule::Clients { clients, .. } => clients,
        _ => phase.in_flight_max,
    };
    Leg {
        phase: place.phase,
        journey: phase.journey,
        part: place.part.saturating_add(number),
        start: place.start,
        schedule,
        in_flight_max,
        reconnect: phase.reconnect,
        opening: phase.opening,
        keeps: phase.keeps,
        leaves: phase.leaves,
        seed: draw(mix(place.seed, place.phase as u64 + 1), Purpose::Leg, u64::from(number)),
    }
}

impl Leg {
    /// The same for held connections that are open since `at`, which was not known before: their requests count from
    /// there.
    #[must_use]
    pub fn asked_from(&self, at: Duration) -> Self {
        Self { start: at, ..self.clone() }
    }

    /// The arrivals that are due by the clock, for worker `worker` of `of`: index i belongs to worker i modulo `of`, so
    /// that the segments of all workers are the whole, however many there are. Requests across held connections are
    /// shared among the workers that hold one. None for a closed loop: there an answer makes the next arrival due, and
    /// [`Leg::arrival`] makes it.
    #[must_use]
    pub fn arrivals(&self, worker: u32, of: u32) -> Arrivals {
        Arrivals::new(self.clone(), worker, of)
    }

    /// The arrival of this index, due at this moment from the start of the plan.
    #[must_use]
    pub fn arrival(&self, index: u64, intended: Duration) -> Arrival {
        let burst = match self.schedule {
            Schedule::Bursts { batch, .. } => index.checked_div(batch).unwrap_or(0),
            _ => 0,
        };
        let part = self.part.saturating_add(u32::try_from(burst).unwrap_or(u32::MAX));
        Arrival { intended, part, index, seed: mix(self.seed, index) }
    }

    /// When connection `number`, counted from 0, is due to be opened, where the leg holds some. One of those that should
    /// stand already, and does not, is due at once.
    #[must_use]
    pub fn opening(&self, number: u64) -> Option<Duration> {
        let Schedule::Hold { connections, opening, .. } = self.schedule else { return None };
        let offset =
            opening.per_s.map_or(Duration::ZERO, |open| moments::even(number.saturating_sub(opening.kept), open));
        (number < connections).then_some(self.start.saturating_add(offset))
    }

    /// From its first moment to its last, where that is known before; where it holds connections, as planned.
    #[must_use]
    pub fn length(&self) -> Option<Duration> {
        match self.schedule {
            Schedule::Bursts { every, times, .. } => Some(moments::times(every, times.saturating_sub(1))),
            Schedule::Rate { lasting, .. }
            | Schedule::Ramp { lasting, .. }
            | Schedule::Poisson { lasting, .. }
            | Schedule::Clients { each: Each::Lasting(lasting), .. } => Some(lasting),
            Schedule::Hold { connections, opening, lasting, .. } => {
                Some(opening.planned(connections).saturating_add(lasting))
            }
            Schedule::Clients { each: Each::Requests(_), .. } => None,
        }
    }

    /// How many arrivals it has, where that is known before: independent ones are counted as they come, and a closed
    /// loop for a time makes as many as the target answers.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        match self.schedule {
            Schedule::Poisson { .. } => None,
            Schedule::Clients { clients, each: Each::Requests(requests) } => Some(clients.saturating_mul(requests)),
            Schedule::Clients { each: Each::Lasting(_), .. } => None,
            ref timed => Some(moments::count(timed)),
        }
    }
}
