//! When the arrivals of one load are due, as data, and what is known of it in advance: how many, for how long, how many
//! at once. Does not compute due times: the plan does.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::{OPEN_WITHIN, OPENING_AT_ONCE};

/// When the arrivals of a load are due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// `batch` arrivals at once, every `every`, `times` times; each burst is a load step.
    Bursts {
        batch: u64,
        every: Duration,
        times: u64,
    },
    ConstantRate {
        rate_per_s: f64,
        lasting: Duration,
    },
    /// A rate that changes linearly.
    Ramp {
        from_per_s: f64,
        to_per_s: f64,
        lasting: Duration,
    },
    /// Independent arrivals.
    Poisson {
        rate_per_s: f64,
        lasting: Duration,
    },
    ClosedLoop {
        clients: u64,
        each: PerClientLimit,
    },
    /// Held connections; requests over them are due once all are open, and counted from there.
    Hold {
        connections: u64,
        opening: OpeningSpec,
        rate_per_s: Option<f64>,
        lasting: Duration,
    },
}

/// How much a client of a closed loop does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PerClientLimit {
    /// A number of journeys.
    Requests(u64),
    /// Journeys until the time is over.
    Duration(Duration),
}

impl Default for PerClientLimit {
    fn default() -> Self {
        Self::Requests(1)
    }
}

/// How held connections are opened, before anything else is sent over them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpeningSpec {
    /// How many are started per second; without a value, as fast as `concurrency` allows.
    pub per_s: Option<f64>,
    /// How many are being opened at the same time, over all workers.
    pub concurrency: u64,
    /// How long opening all of them may take.
    pub timeout: Duration,
    /// How many need not be opened, because an earlier phase left them open.
    #[serde(default)]
    pub inherited: u64,
}

impl Default for OpeningSpec {
    fn default() -> Self {
        Self { per_s: None, concurrency: OPENING_AT_ONCE, timeout: OPEN_WITHIN, inherited: 0 }
    }
}

impl OpeningSpec {
    /// How many of `connections` are planned to be opened.
    #[must_use]
    pub fn new_connections(&self, connections: u64) -> u64 {
        connections.saturating_sub(self.inherited)
    }

    /// How long starting the missing ones of `connections` is planned to take.
    #[must_use]
    pub fn planned_duration(&self, connections: u64) -> Duration {
        let seconds = self.per_s.map_or(0.0, |per_s| self.new_connections(connections) as f64 / per_s);
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

impl Schedule {
    /// How many arrivals are due by the clock; Poisson arrivals are counted as they come.
    pub(crate) fn timed_count(&self) -> u64 {
        match *self {
            Self::Bursts { batch, times, .. } => batch.saturating_mul(times),
            Self::ConstantRate { rate_per_s, lasting } | Self::Hold { rate_per_s: Some(rate_per_s), lasting, .. } => {
                due_within(rate_per_s * lasting.as_secs_f64())
            }
            Self::Ramp { from_per_s, to_per_s, lasting } => {
                due_within((from_per_s + to_per_s) / 2.0 * lasting.as_secs_f64())
            }
            Self::Hold { .. } | Self::Poisson { .. } | Self::ClosedLoop { .. } => 0,
        }
    }

    /// The highest number of arrivals; none for a closed loop with a duration, which makes as many as the target
    /// answers. For independent arrivals, a number that no run reaches.
    pub(super) fn max_count(&self) -> Option<u64> {
        match *self {
            Self::Poisson { rate_per_s, lasting } => {
                let mean = rate_per_s * lasting.as_secs_f64();
                Some((mean + POISSON_MARGIN.0 * mean.sqrt() + POISSON_MARGIN.1) as u64)
            }
            Self::ClosedLoop { clients, each: PerClientLimit::Requests(requests) } => {
                Some(clients.saturating_mul(requests))
            }
            Self::ClosedLoop { each: PerClientLimit::Duration(_), .. } => None,
            _ => Some(self.timed_count()),
        }
    }

    /// The duration, if it is known in advance; of a load that holds connections as planned.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        match *self {
            Self::Bursts { every, times, .. } => {
                Some(every.saturating_mul(u32::try_from(times.saturating_sub(1)).unwrap_or(u32::MAX)))
            }
            Self::ConstantRate { lasting, .. }
            | Self::Ramp { lasting, .. }
            | Self::Poisson { lasting, .. }
            | Self::ClosedLoop { each: PerClientLimit::Duration(lasting), .. } => Some(lasting),
            Self::Hold { connections, opening, lasting, .. } => {
                Some(opening.planned_duration(connections).saturating_add(lasting))
            }
            Self::ClosedLoop { each: PerClientLimit::Requests(_), .. } => None,
        }
    }

    /// The concurrency of a load that limits itself.
    pub(crate) fn concurrency(&self) -> Option<u64> {
        match *self {
            Self::ClosedLoop { clients, .. } => Some(clients),
            Self::Hold { connections, .. } => Some(connections),
            Self::Bursts { .. } | Self::ConstantRate { .. } | Self::Ramp { .. } | Self::Poisson { .. } => None,
        }
    }
}

/// Above the mean of a Poisson process: this many standard deviations, plus this many arrivals for small means. A count
/// beyond it is rarer than one in 10^15.
const POISSON_MARGIN: (f64, f64) = (8.0, 16.0);

/// The share of a count that rounding may add to it: no arrival is made of it.
const ROUNDING: f64 = 1e-12;

/// How many arrivals are due before the integral of the rate reaches `expected`.
fn due_within(expected: f64) -> u64 {
    (expected - expected * ROUNDING).ceil().max(0.0) as u64
}
