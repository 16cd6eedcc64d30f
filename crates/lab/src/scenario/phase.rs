//! Phases: when how many arrivals take which journey. Refuses to know the arrivals themselves: the plan unrolls
//! them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::reader::{At, name_of};
use crate::limits::{ARRIVALS_MAX, IN_FLIGHT_MAX, WAIT_MAX};

/// A stretch of the trial with one kind of load.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// The load.
    pub arrivals: Arrivals,
    /// Arrivals under way at once. One whose turn comes while as many are under way waits in the lab, and its
    /// latency counts from the intended moment. Closed loops and held connections bound themselves.
    pub in_flight_max: u64,
    /// The journey that each arrival takes, by its place in the scenario.
    pub journey: usize,
    /// The pause after the phase before.
    pub after: Duration,
    /// When connections are given up.
    pub reconnect: Reconnect,
}

/// When a client gives its connection up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reconnect {
    /// Never: it is kept alive for as long as the target keeps it.
    #[default]
    Never,
    /// After each journey.
    Journey,
    /// After each request.
    Request,
}

/// The load of a phase.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Open: `batch` at once, `times` times.
    Batch {
        /// Arrivals of one burst.
        batch: u64,
        /// When the next burst is due.
        every: Every,
        /// Bursts.
        times: u64,
    },
    /// Open: a constant rate for a time.
    Rate {
        /// Arrivals per second.
        rate_per_s: f64,
        /// How long.
        lasting: Duration,
    },
    /// Open: a rate that changes evenly from one value to another.
    Ramp {
        /// Arrivals per second at the beginning.
        from_per_s: f64,
        /// Arrivals per second at the end.
        to_per_s: f64,
        /// How long.
        lasting: Duration,
    },
    /// Open: independent arrivals (a Poisson process) of a mean rate.
    Poisson {
        /// Arrivals per second, in the mean.
        rate_per_s: f64,
        /// How long.
        lasting: Duration,
    },
    /// Closed: so many clients, each of which sends its next request when the one before is answered.
    Clients {
        /// Clients.
        clients: u64,
        /// How much each of them does.
        each: Each,
    },
    /// Closed: one level of clients after another.
    Ladder {
        /// Clients of each level.
        levels: Vec<u64>,
        /// How much each client does at each level.
        each: Each,
        /// The pause between levels.
        pause: Duration,
    },
    /// Held connections, idle or with a rate of requests across them.
    Hold {
        /// Connections.
        connections: u64,
        /// Connections opened per second; all at once when it says nothing.
        open_per_s: Option<f64>,
        /// Requests per second across all of them, in turn; none when it says nothing.
        rate_per_s: Option<f64>,
        /// How long, from the moment the first is opened.
        lasting: Duration,
    },
    /// Open: a search for the highest rate that the target sustains.
    Edge(EdgeArrivals),
}

/// When the next burst is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// A time after the one before, whatever became of it.
    Time(Duration),
    /// When the one before is over.
    Done,
}

/// How much a client of a closed loop does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Each {
    /// So many journeys.
    Requests(u64),
    /// Journeys until the time is over.
    Lasting(Duration),
}

/// A search for the highest rate that the target sustains.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeArrivals {
    /// The first level, in arrivals per second.
    pub from_per_s: f64,
    /// The level beyond which nobody searches.
    pub to_per_s: f64,
    /// How long a level lasts.
    pub level: Duration,
    /// How long the edge is held at the end.
    pub hold: Duration,
    /// The relative width at which the search is over, such as 0.03.
    pub precision: f64,
    /// Whether arrivals are independent (Poisson) instead of even.
    pub poisson: bool,
    /// Overload: this percentile of latency (a quantile, such as 0.99) above this many milliseconds.
    pub latency_ms: Option<(f64, f64)>,
    /// Overload: a larger share of errors.
    pub error_share: Option<f64>,
    /// Overload: requests or work pile up.
    pub backlog: bool,
}

impl Arrivals {
    /// How many there are in all; a closed loop for a time, and a search, are bounded by their limits alone.
    #[must_use]
    pub fn count(&self) -> u64 {
        match *self {
            Self::Batch { batch, times, .. } => batch.saturating_mul(times),
            // Arrival k is due at k / rate, so the last one is due before the end.
            Self::Rate { rate_per_s, lasting } => (rate_per_s * lasting.as_secs_f64()).ceil() as u64,
            _ => 0,
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
                Self::Batch { batch: batch?, every: Every::Time(every?), times: times? }
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
            in_flight_max: in_flight?,
            journey: journey?,
            after: after.unwrap_or_default(),
            reconnect: Reconnect::Never,
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
