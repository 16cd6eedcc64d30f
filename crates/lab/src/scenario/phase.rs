//! Phases: when how many arrivals take which journey. Refuses to know the arrivals themselves: the plan unrolls
//! them.

use std::time::Duration;

use super::reader::{At, name_of};
use crate::limits::{ARRIVALS_MAX, IN_FLIGHT_MAX, WAIT_MAX};

/// A stretch of the trial with one kind of arrivals.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// When arrivals are due.
    pub arrivals: Arrivals,
    /// Arrivals under way at once. One whose turn comes while as many are under way waits in the lab, and its
    /// latency counts from the intended moment.
    pub in_flight_max: usize,
    /// The journey that each arrival takes, by its place in the scenario.
    pub journey: usize,
    /// The pause after the last arrival of the phase before.
    pub after: Duration,
}

/// Arrivals of an open loop: they are due whether or not earlier ones were answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// `batch` at once, every `every`, `times` times.
    Batch {
        /// Arrivals of one burst.
        batch: u64,
        /// From one burst to the next.
        every: Duration,
        /// Bursts.
        times: u64,
    },
    /// A constant rate for a time.
    Rate {
        /// Arrivals per second.
        rate_per_s: f64,
        /// How long.
        lasting: Duration,
    },
}

impl Arrivals {
    /// How many there are in all.
    #[must_use]
    pub fn count(&self) -> u64 {
        match *self {
            Self::Batch { batch, times, .. } => batch.saturating_mul(times),
            // Arrival k is due at k / rate, so the last one is due before the end.
            Self::Rate { rate_per_s, lasting } => (rate_per_s * lasting.as_secs_f64()).ceil() as u64,
        }
    }

    fn read(at: &At<'_>) -> Option<Self> {
        let fields = at.fields()?;
        let positive = Duration::from_micros(1)..=WAIT_MAX;
        let arrivals = match (fields.take("batch"), fields.take("rate")) {
            (Some(batch), None) => {
                let times = fields.take("times").map_or(Some(1), |at| at.int(1..=ARRIVALS_MAX));
                let every = fields.take("every").map(|at| at.duration(positive));
                if times.is_some_and(|times| times > 1) && every.is_none() {
                    at.wrong("needs `every` beside `times`: the time from one burst to the next");
                }
                let (batch, every) = (batch.int(1..=ARRIVALS_MAX), every.unwrap_or(Some(Duration::ZERO)));
                fields.close();
                Self::Batch { batch: batch?, every: every?, times: times? }
            }
            (None, Some(rate)) => {
                let lasting = fields.need("for", "how long, such as \"30s\"").and_then(|at| at.duration(positive));
                let rate = rate.positive();
                fields.close();
                Self::Rate { rate_per_s: rate?, lasting: lasting? }
            }
            _ => {
                at.wrong("must be { batch, every, times } or { rate, for }");
                return None;
            }
        };
        if arrivals.count() > ARRIVALS_MAX {
            at.wrong(format!("must be at most {ARRIVALS_MAX} arrivals, these are {}", arrivals.count()));
        }
        Some(arrivals)
    }
}

impl Phase {
    pub(crate) fn read(at: &At<'_>, journeys: &[String]) -> Option<Self> {
        let fields = at.fields()?;
        let name = fields.need("name", "the report calls it so").and_then(|at| name_of(&at));
        let arrivals = fields.need("arrivals", "{ batch, every, times } or { rate, for }");
        let arrivals = arrivals.and_then(|at| Arrivals::read(&at));
        let in_flight = fields.need("in_flight_max", "how many arrivals may be under way at once");
        let in_flight = in_flight.and_then(|at| at.int(1..=IN_FLIGHT_MAX));
        let journey = fields.need("journey", "what each arrival does").and_then(|at| journey_of(&at, journeys));
        let after = fields.take("after").and_then(|at| at.duration(Duration::ZERO..=WAIT_MAX));
        fields.close();
        Some(Self {
            name: name?,
            arrivals: arrivals?,
            in_flight_max: in_flight? as usize,
            journey: journey?,
            after: after.unwrap_or_default(),
        })
    }
}

fn journey_of(at: &At<'_>, journeys: &[String]) -> Option<usize> {
    let name = at.text()?;
    let found = journeys.iter().position(|journey| journey == name);
    if found.is_none() {
        at.wrong(format!("is \"{name}\", but there is no such [[journey]]; known: {}", journeys.join(", ")));
    }
    found
}
