//! When the arrivals of a schedule are due, by arithmetic alone. Arrival k is due when the integral of the rate reaches
//! k: arrival 0 at the start, and none at the end itself. Computes instead of iterating: the due time of any index
//! costs the same.

use std::time::Duration;

use super::Schedule;
use crate::scenario::rng::{DrawPurpose, draw, to_unit_interval};

/// When arrival `index` of an even rate is due.
pub(super) fn constant_rate_offset(index: u64, rate_per_s: f64) -> Duration {
    seconds(index as f64 / rate_per_s)
}

pub(super) fn multiply(every: Duration, times: u64) -> Duration {
    let nanos = every.as_nanos().saturating_mul(u128::from(times));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// When arrival `index` is due, from the start of the schedule.
pub(super) fn due_offset(schedule: &Schedule, index: u64) -> Duration {
    match *schedule {
        Schedule::Bursts { batch, every, .. } => multiply(every, index.checked_div(batch).unwrap_or(0)),
        Schedule::ConstantRate { rate_per_s, lasting }
        | Schedule::Hold { rate_per_s: Some(rate_per_s), lasting, .. } => {
            clamp_before(constant_rate_offset(index, rate_per_s), lasting)
        }
        Schedule::Ramp { from_per_s, to_per_s, lasting } => {
            clamp_before(ramp_offset(index, from_per_s, to_per_s, lasting.as_secs_f64()), lasting)
        }
        Schedule::Hold { .. } | Schedule::Poisson { .. } | Schedule::ClosedLoop { .. } => Duration::ZERO,
    }
}

/// The integral of a rate that goes from a to b in T is a t + (b - a) t² / 2T. Its inverse is written as a quotient,
/// which loses no digits if the rate hardly changes.
fn ramp_offset(index: u64, from_per_s: f64, to_per_s: f64, lasting_s: f64) -> Duration {
    let slope = (to_per_s - from_per_s) / lasting_s;
    let rate = (from_per_s * from_per_s + 2.0 * slope * index as f64).max(0.0).sqrt();
    if index == 0 { Duration::ZERO } else { seconds(2.0 * index as f64 / (from_per_s + rate)) }
}

/// Rounding moves no arrival to the end or beyond it.
fn clamp_before(moment: Duration, end: Duration) -> Duration {
    moment.min(end.saturating_sub(Duration::from_nanos(1)))
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// Independent arrivals, one after the other: the gaps of a Poisson process are exponential, drawn by inversion from
/// the load's seed. Every worker iterates over all of them and keeps its own: a gap costs some 20 ns, which is less
/// than any way to skip it, and the process stays the same for any number of workers.
#[derive(Clone, Debug)]
pub(super) struct PoissonArrivals {
    seed: u64,
    rate_per_s: f64,
    duration_s: f64,
    reached_s: f64,
    next: u64,
}

impl PoissonArrivals {
    pub(super) fn new(seed: u64, rate_per_s: f64, lasting: Duration) -> Self {
        Self { seed, rate_per_s, duration_s: lasting.as_secs_f64(), reached_s: 0.0, next: 0 }
    }
}

impl Iterator for PoissonArrivals {
    type Item = (u64, Duration);

    fn next(&mut self) -> Option<(u64, Duration)> {
        let index = self.next;
        // The library's own logarithm: the system's differs between machines in its last digit.
        let gap = -libm::log(1.0 - to_unit_interval(draw(self.seed, DrawPurpose::Gap, index)));
        self.reached_s += gap / self.rate_per_s;
        if self.reached_s >= self.duration_s {
            return None;
        }
        self.next += 1;
        Some((index, seconds(self.reached_s)))
    }
}
