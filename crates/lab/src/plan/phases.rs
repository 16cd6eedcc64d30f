//! The arrivals of whole phases: batches and rates, for the drive that takes one phase as one stretch. Refuses to know
//! every other load.

use std::time::Duration;

use crate::scenario::{Arrivals, Every, Phase, mix};

/// One arrival of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it is due, from the start of the plan.
    pub intended: Duration,
    /// Its phase, counted from 0.
    pub phase: usize,
    /// Its place in the phase, counted from 0.
    pub index: u64,
    /// Its own seed: what it picks depends on nothing else.
    pub seed: u64,
}

/// The arrivals of one phase, in the order they are due.
#[derive(Clone, Debug)]
pub struct Plan {
    arrivals: Arrivals,
    phase: usize,
    start: Duration,
    seed: u64,
    next: u64,
    count: u64,
}

/// One plan for each phase. A phase starts `after` the last arrival of the one before is due.
#[must_use]
pub fn plan(phases: &[Phase], seed: u64) -> Vec<Plan> {
    let mut start = Duration::ZERO;
    let mut plans = Vec::with_capacity(phases.len());
    for (phase, spec) in phases.iter().enumerate() {
        start += spec.after;
        let seed = mix(seed, phase as u64 + 1);
        let plan = Plan {
            arrivals: spec.arrivals.clone(),
            phase,
            start,
            seed,
            next: 0,
            count: spec.arrivals.count().unwrap_or(0),
        };
        start += length(&spec.arrivals);
        plans.push(plan);
    }
    plans
}

/// From the first moment of the phase to its last.
fn length(arrivals: &Arrivals) -> Duration {
    match *arrivals {
        Arrivals::Batch { every: Every::Time(every), times, .. } => times_of(every, times.saturating_sub(1)),
        Arrivals::Rate { lasting, .. } => lasting,
        _ => Duration::ZERO,
    }
}

fn times_of(every: Duration, times: u64) -> Duration {
    Duration::from_nanos(u64::try_from(every.as_nanos().saturating_mul(u128::from(times))).unwrap_or(u64::MAX))
}

impl Plan {
    /// When the last arrival is due.
    #[must_use]
    pub fn last_due(&self) -> Duration {
        self.start + self.offset(self.count.saturating_sub(1))
    }

    fn offset(&self, index: u64) -> Duration {
        match self.arrivals {
            Arrivals::Batch { batch, every: Every::Time(every), .. } => times_of(every, index / batch),
            Arrivals::Rate { rate_per_s, .. } => Duration::from_secs_f64(index as f64 / rate_per_s),
            _ => Duration::ZERO,
        }
    }
}

impl Iterator for Plan {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        if self.next == self.count {
            return None;
        }
        let index = self.next;
        self.next += 1;
        let intended = self.start + self.offset(index);
        Some(Arrival { intended, phase: self.phase, index, seed: mix(self.seed, index) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.count - self.next).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Plan {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scenario::Reconnect;

    fn phase(arrivals: Arrivals, after_s: u64) -> Phase {
        Phase {
            name: "p".to_owned(),
            arrivals,
            in_flight_max: 1,
            journey: 0,
            after: Duration::from_secs(after_s),
            reconnect: Reconnect::Never,
        }
    }

    fn batch(batch: u64, every_s: u64, times: u64) -> Arrivals {
        Arrivals::Batch { batch, every: Every::Time(Duration::from_secs(every_s)), times }
    }

    fn rate(rate_per_s: f64, lasting_ms: u64) -> Arrivals {
        Arrivals::Rate { rate_per_s, lasting: Duration::from_millis(lasting_ms) }
    }

    /// Moments in milliseconds, phase after phase.
    #[track_caller]
    fn check(phases: &[Phase], expected_ms: &[&[u64]]) {
        let moments: Vec<Vec<u64>> = plan(phases, 1)
            .into_iter()
            .map(|plan| plan.map(|arrival| arrival.intended.as_millis() as u64).collect())
            .collect();
        assert_eq!(moments, expected_ms);
    }

    #[test]
    fn moments() {
        check(&[phase(batch(3, 0, 1), 0)], &[&[0, 0, 0]]);
        check(&[phase(batch(2, 60, 3), 0)], &[&[0, 0, 60_000, 60_000, 120_000, 120_000]]);
        check(&[phase(rate(10.0, 500), 0)], &[&[0, 100, 200, 300, 400]]);
        // The last moment lies before the end, also where the rate does not divide the time.
        check(&[phase(rate(4.0, 600), 0)], &[&[0, 250, 500]]);
        check(&[phase(rate(0.5, 1000), 0)], &[&[0]]);
        // The second phase waits for the last burst of the first, and then five seconds.
        check(&[phase(batch(1, 60, 2), 0), phase(batch(2, 0, 1), 5)], &[&[0, 60_000], &[65_000, 65_000]]);
        check(&[phase(rate(1.0, 2000), 1), phase(batch(1, 0, 1), 0)], &[&[1000, 2000], &[3000]]);
    }

    fn any_arrivals() -> impl Strategy<Value = Arrivals> {
        prop_oneof![
            (1u64..50, 1u64..100, 1u64..5).prop_map(|(size, every, times)| batch(size, every, times)),
            (1u32..5000, 1u64..500).prop_map(|(rate_tenths, ms)| rate(f64::from(rate_tenths) / 10.0, ms)),
        ]
    }

    proptest! {
        #[test]
        fn same_seed_same_plan_and_time_never_runs_back(
            kinds in prop::collection::vec((any_arrivals(), 0u64..5), 1..4),
            seed: u64,
        ) {
            let phases: Vec<Phase> = kinds.into_iter().map(|(arrivals, after)| phase(arrivals, after)).collect();
            let all: Vec<Vec<Arrival>> = plan(&phases, seed).into_iter().map(Iterator::collect).collect();
            let again: Vec<Vec<Arrival>> = plan(&phases, seed).into_iter().map(Iterator::collect).collect();
            prop_assert_eq!(&all, &again);
            for (phase, arrivals) in phases.iter().zip(&all) {
                prop_assert_eq!(arrivals.len() as u64, phase.arrivals.count().unwrap_or(0));
            }
            let moments: Vec<Duration> = all.iter().flatten().map(|arrival| arrival.intended).collect();
            prop_assert!(moments.is_sorted());
            for (plan, arrivals) in plan(&phases, seed).iter().zip(&all) {
                prop_assert_eq!(Some(plan.last_due()), arrivals.last().map(|arrival| arrival.intended));
            }
        }

        #[test]
        fn another_seed_gives_other_picks_at_the_same_moments(seed: u64) {
            let phases = [phase(batch(8, 1, 2), 0)];
            let (one, two) = (plan(&phases, seed).remove(0), plan(&phases, seed ^ 1).remove(0));
            for (a, b) in one.zip(two) {
                prop_assert_eq!(a.intended, b.intended);
                prop_assert_ne!(a.seed, b.seed);
            }
        }
    }
}
