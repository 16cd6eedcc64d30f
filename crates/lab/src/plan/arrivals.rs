//! One worker's segment of a leg, one arrival after the other, in constant memory. Refuses to know the other workers.

use std::time::Duration;

use super::moments::{Gaps, count, moment};
use super::{Leg, Schedule};

/// One arrival of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it is due, from the start of the plan.
    pub intended: Duration,
    /// The number of its part, counted over the whole trial.
    pub part: u32,
    /// Its place in the leg, counted from 0.
    pub index: u64,
    /// Its own seed: what it draws depends on nothing else.
    pub seed: u64,
}

/// The arrivals of a worker, in the order in which they are due.
#[derive(Clone, Debug)]
pub struct Arrivals {
    leg: Leg,
    worker: u64,
    of: u64,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// Moments that are computed from their index.
    Counted { next: u64, count: u64 },
    /// Moments that follow from the ones before.
    Walked(Gaps),
}

impl Arrivals {
    pub(super) fn new(leg: Leg, worker: u32, of: u32) -> Self {
        let of = match leg.schedule {
            Schedule::Hold { connections, .. } => u64::from(of).min(connections),
            _ => u64::from(of),
        };
        let worker = u64::from(worker);
        let source = match leg.schedule {
            Schedule::Poisson { rate_per_s, lasting } => Source::Walked(Gaps::new(leg.seed, rate_per_s, lasting)),
            // A worker beyond the last has no segment.
            ref schedule => Source::Counted { next: worker, count: if worker < of { count(schedule) } else { 0 } },
        };
        Self { leg, worker, of: of.max(1), source }
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let (index, offset) = match &mut self.source {
            Source::Counted { next, count } => {
                let index = *next;
                if index >= *count {
                    return None;
                }
                *next = next.saturating_add(self.of);
                (index, moment(&self.leg.schedule, index))
            }
            Source::Walked(gaps) => gaps.find(|(index, _)| index % self.of == self.worker)?,
        };
        Some(self.leg.arrival(index, self.leg.start.saturating_add(offset)))
    }

    fn nth(&mut self, skipped: usize) -> Option<Arrival> {
        match &mut self.source {
            Source::Counted { next, .. } => *next = next.saturating_add(self.of.saturating_mul(skipped as u64)),
            Source::Walked(_) => (0..skipped).try_for_each(|_| self.next().map(|_| ()))?,
        }
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let Source::Counted { next, count } = self.source else { return (0, None) };
        let left = usize::try_from(count.saturating_sub(next).div_ceil(self.of)).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}
