//! The plan: a pure, lazy function of a scenario and a seed. It says when each arrival is due and with which
//! seed, and nothing else: the same input gives the same plan, on any machine, before or after a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::scenario::{Arrivals as Phases, Each, Every, Phase, Reconnect, mix};

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
    /// Held connections.
    #[allow(missing_docs)]
    Hold { connections: u64, open_per_s: Option<f64>, rate_per_s: Option<f64>, lasting: Duration },
}

/// One arrival of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it is due, from the start of the plan.
    pub intended: Duration,
    /// The part that it belongs to.
    pub part: u32,
    /// Its place in the leg, counted from 0.
    pub index: u64,
    /// Its own seed: what it picks depends on nothing else.
    pub seed: u64,
}

/// One worker's arrivals of a leg, in the order they are due.
#[derive(Clone, Debug)]
pub struct Arrivals {
    leg: Leg,
    next: u64,
    of: u64,
    count: u64,
}

impl Leg {
    /// The arrivals of an open schedule that belong to one of `of` workers: arrival i to worker i % `of`.
    #[must_use]
    pub fn arrivals(&self, worker: u32, of: u32) -> Arrivals {
        let count = match self.schedule {
            Schedule::Bursts { batch, times, .. } => batch.saturating_mul(times),
            // Arrival k is due at k / rate, so the last one is due before the end.
            Schedule::Rate { rate_per_s, lasting } => (rate_per_s * lasting.as_secs_f64()).ceil() as u64,
            _ => 0,
        };
        Arrivals { leg: self.clone(), next: u64::from(worker), of: u64::from(of), count }
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let index = self.next;
        if index >= self.count {
            return None;
        }
        self.next += self.of;
        let (offset, part) = match self.leg.schedule {
            Schedule::Bursts { batch, every, .. } => (times_of(every, index / batch), (index / batch) as u32),
            Schedule::Rate { rate_per_s, .. } => (Duration::from_secs_f64(index as f64 / rate_per_s), 0),
            _ => return None,
        };
        let (intended, part) = (self.leg.start + offset, self.leg.part + part);
        Some(Arrival { intended, part, index, seed: mix(self.leg.seed, index) })
    }
}

/// One leg for each phase. A phase starts `after` the last arrival of the one before is due.
#[must_use]
pub fn legs(phases: &[Phase], seed: u64) -> Vec<Leg> {
    let (mut start, mut part) = (Duration::ZERO, 0);
    let mut legs = Vec::with_capacity(phases.len());
    for (phase, spec) in phases.iter().enumerate() {
        start += spec.after;
        let schedule = match spec.arrivals {
            Phases::Batch { batch, every: Every::Time(every), times } => Schedule::Bursts { batch, every, times },
            Phases::Rate { rate_per_s, lasting } => Schedule::Rate { rate_per_s, lasting },
            _ => continue,
        };
        let (length, parts) = match schedule {
            Schedule::Bursts { every, times, .. } => (times_of(every, times.saturating_sub(1)), times as u32),
            Schedule::Rate { lasting, .. } => (lasting, 1),
            _ => (Duration::ZERO, 1),
        };
        legs.push(Leg {
            phase,
            journey: spec.journey,
            part,
            start,
            schedule,
            in_flight_max: spec.in_flight_max,
            reconnect: spec.reconnect,
            seed: mix(seed, phase as u64 + 1),
        });
        start += length;
        part += parts;
    }
    legs
}

fn times_of(every: Duration, times: u64) -> Duration {
    Duration::from_nanos(u64::try_from(every.as_nanos().saturating_mul(u128::from(times))).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn segments_are_the_whole_plan(batch in 1u64..50, times in 1u64..5, of in 1u32..6, seed: u64) {
            let every = Duration::from_secs(1);
            let leg = Leg {
                phase: 0, journey: 0, part: 3, start: every, schedule: Schedule::Bursts { batch, every, times },
                in_flight_max: 1, reconnect: Reconnect::Never, seed,
            };
            let mut all: Vec<Arrival> = (0..of).flat_map(|worker| leg.arrivals(worker, of)).collect();
            all.sort_by_key(|arrival| arrival.index);
            prop_assert_eq!(all, leg.arrivals(0, 1).collect::<Vec<_>>());
        }
    }
}
