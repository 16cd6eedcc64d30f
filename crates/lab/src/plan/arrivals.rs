//! One worker's segment of a load, one arrival after the other, in constant memory. Does not know the other workers.

use std::time::Duration;

use super::due_times::{PoissonArrivals, due_offset};
use super::{LoadSpec, Schedule};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// When it is due, from the start of the plan.
    pub intended: Duration,
    /// The number of its load step, counted over the whole trial.
    pub load_step: u32,
    /// Its index in the load, counted from 0.
    pub index: u64,
    /// Its own seed: what it draws depends on nothing else.
    pub seed: u64,
}

/// The arrivals of a worker, in the order in which they are due.
#[derive(Clone, Debug)]
pub struct ArrivalIter {
    spec: LoadSpec,
    worker: u64,
    worker_count: u64,
    source: ArrivalSource,
}

#[derive(Clone, Debug)]
enum ArrivalSource {
    /// Due times that are computed from their index.
    Computed { next: u64, count: u64 },
    /// Due times that follow from the ones before.
    Drawn(PoissonArrivals),
}

impl ArrivalIter {
    pub(super) fn new(spec: LoadSpec, worker: u32, of: u32) -> Self {
        let of = match spec.schedule {
            Schedule::Hold { connections, .. } => u64::from(of).min(connections),
            _ => u64::from(of),
        };
        let worker = u64::from(worker);
        let source = match spec.schedule {
            Schedule::Poisson { rate_per_s, lasting } => {
                ArrivalSource::Drawn(PoissonArrivals::new(spec.seed, rate_per_s, lasting))
            }
            // A worker beyond the last has no segment.
            ref schedule => {
                ArrivalSource::Computed { next: worker, count: if worker < of { schedule.timed_count() } else { 0 } }
            }
        };
        Self { spec, worker, worker_count: of.max(1), source }
    }
}

impl Iterator for ArrivalIter {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let (index, offset) = match &mut self.source {
            ArrivalSource::Computed { next, count } => {
                let index = *next;
                if index >= *count {
                    return None;
                }
                *next = next.saturating_add(self.worker_count);
                (index, due_offset(&self.spec.schedule, index))
            }
            ArrivalSource::Drawn(gaps) => gaps.find(|(index, _)| index % self.worker_count == self.worker)?,
        };
        Some(self.spec.arrival(index, self.spec.start.saturating_add(offset)))
    }

    fn nth(&mut self, skipped: usize) -> Option<Arrival> {
        match &mut self.source {
            ArrivalSource::Computed { next, .. } => {
                *next = next.saturating_add(self.worker_count.saturating_mul(skipped as u64));
            }
            ArrivalSource::Drawn(_) => (0..skipped).try_for_each(|_| self.next().map(|_| ()))?,
        }
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let ArrivalSource::Computed { next, count } = self.source else { return (0, None) };
        let left = usize::try_from(count.saturating_sub(next).div_ceil(self.worker_count)).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}
