//! Phases: when how many arrivals run which journey. Does not compute the arrivals: the plan does.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::due_within::due_within;
use super::journey::Journey;
use super::reader::{NodeReader, TableReader, read_name};
use super::{arrivals, resumed_connections};
use crate::format::known_names;
use crate::limits::{EDGE_LEVELS_MAX, IN_FLIGHT_MAX, OPEN_WITHIN, OPENING_AT_ONCE, WAIT_MAX};

/// A section of the trial with one kind of load.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    pub name: String,
    pub load_profile: LoadProfile,
    /// Concurrent arrivals. An arrival that is due while as many are in flight waits in the lab, and its latency counts
    /// from the intended moment. Closed loops and held connections limit themselves.
    pub in_flight_max: u64,
    /// The journey of each arrival, by its index in the scenario.
    pub journey_index: usize,
    /// The pause after the previous phase.
    pub pause_before: Duration,
    /// Its own start, from the start of the plan, if it runs concurrently with other phases instead of after them.
    pub starts_at: Option<Duration>,
    /// When connections are closed.
    pub reconnect: Reconnect,
    /// The journey that each held connection runs first, by its index in the scenario.
    pub opening_journey: Option<usize>,
    /// The phase whose connections it takes over, by its index in the scenario.
    pub resumes_phase: Option<usize>,
    /// Whether a later phase takes over its connections.
    pub leaves_open: bool,
}

/// When a client closes its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reconnect {
    /// It is kept alive for as long as the target keeps it.
    #[default]
    Never,
    Journey,
    Request,
}

/// The load of a phase.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadProfile {
    /// Open: `batch` at once, `times` times.
    Batch {
        /// Arrivals of one burst.
        batch: u64,
        trigger: BurstTrigger,
        /// The number of bursts.
        times: u64,
    },
    /// Open: a constant rate for a time.
    Rate { rate_per_s: f64, duration: Duration },
    /// Open: a rate that changes linearly from one value to another.
    Ramp {
        /// Arrivals per second at the beginning.
        from_per_s: f64,
        /// Arrivals per second at the end.
        to_per_s: f64,
        duration: Duration,
    },
    /// Open: independent arrivals (a Poisson process) of a mean rate.
    Poisson {
        /// Mean arrivals per second.
        rate_per_s: f64,
        duration: Duration,
    },
    /// Closed: a number of clients, each of which sends its next request when the previous one is answered.
    Clients { clients: u64, per_client: PerClientLimit },
    /// Closed: one level of clients after another.
    Ladder {
        /// Clients of each level.
        levels: Vec<u64>,
        /// How much each client does at each level.
        per_client: PerClientLimit,
        /// The pause between levels.
        pause: Duration,
    },
    /// Held connections, idle or with a rate of requests across them.
    Hold {
        /// The number of connections.
        connections: u64,
        opening: OpeningSpec,
        /// Requests per second across all of them, in turn; without a value, none.
        rate_per_s: Option<f64>,
        /// From the moment at which all of them are open.
        duration: Duration,
    },
    /// Open: a search for the highest rate that the target sustains.
    Edge(EdgeSearch),
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

/// When the next burst is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstTrigger {
    /// This time after the previous one, whatever became of it.
    Interval(Duration),
    /// When the previous one is over.
    PreviousDone,
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

/// A search for the highest rate that the target sustains.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeSearch {
    /// The first level, in arrivals per second.
    pub from_per_s: f64,
    /// The highest level of the search, in arrivals per second.
    pub to_per_s: f64,
    /// How long a level lasts.
    pub level_duration: Duration,
    /// How long the found edge is held at the end.
    pub hold_duration: Duration,
    /// The relative width at which the search is over, such as 0.03.
    pub precision: f64,
    /// Whether arrivals are independent (Poisson) instead of evenly spaced.
    pub poisson: bool,
    /// Overload: this percentile of latency (a quantile, such as 0.99) above this many milliseconds.
    pub latency_ms: Option<(f64, f64)>,
    /// Overload: a larger share of errors.
    pub error_share: Option<f64>,
    /// Overload: requests or work pile up.
    pub backlog: bool,
}

/// Above the mean of a Poisson process: this many standard deviations, plus this many arrivals for small means. A count
/// beyond it is rarer than one in 10^15.
const POISSON_MARGIN: (f64, f64) = (8.0, 16.0);

impl LoadProfile {
    /// The highest number of arrivals; none if only the bounds of the run limit it: closed loops for a time, and
    /// searches. For independent arrivals, which are counted as they come, a number that no run reaches.
    #[must_use]
    pub fn max_count(&self) -> Option<u64> {
        match self {
            Self::Batch { batch, times, .. } => Some(batch.saturating_mul(*times)),
            Self::Rate { rate_per_s, duration } => Some(due_within(rate_per_s * duration.as_secs_f64())),
            Self::Ramp { from_per_s, to_per_s, duration } => {
                Some(due_within((from_per_s + to_per_s) / 2.0 * duration.as_secs_f64()))
            }
            Self::Poisson { rate_per_s, duration } => {
                let mean = rate_per_s * duration.as_secs_f64();
                Some((mean + POISSON_MARGIN.0 * mean.sqrt() + POISSON_MARGIN.1) as u64)
            }
            Self::Clients { clients, per_client: PerClientLimit::Requests(requests) } => {
                Some(clients.saturating_mul(*requests))
            }
            Self::Ladder { levels, per_client: PerClientLimit::Requests(requests), .. } => {
                Some(levels.iter().map(|level| level.saturating_mul(*requests)).fold(0, u64::saturating_add))
            }
            Self::Hold { rate_per_s, duration, .. } => {
                Some(rate_per_s.map_or(0, |rate| due_within(rate * duration.as_secs_f64())))
            }
            Self::Clients { .. } | Self::Ladder { .. } | Self::Edge(_) => None,
        }
    }

    /// The number of load steps, which have figures of their own: bursts, levels, or the whole phase.
    #[must_use]
    pub fn load_step_count(&self) -> u32 {
        let parts = match self {
            Self::Batch { times, .. } => *times,
            Self::Ladder { levels, .. } => levels.len() as u64,
            Self::Edge(_) => EDGE_LEVELS_MAX as u64,
            _ => 1,
        };
        u32::try_from(parts).unwrap_or(u32::MAX)
    }

    /// The concurrency of a load that limits itself.
    #[must_use]
    pub fn concurrency(&self) -> Option<u64> {
        match self {
            Self::Clients { clients, .. } => Some(*clients),
            Self::Ladder { levels, .. } => levels.iter().max().copied(),
            Self::Hold { connections, .. } => Some(*connections),
            _ => None,
        }
    }

    /// From its start to its end; none if that depends on the target.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        match self {
            Self::Batch { trigger: BurstTrigger::PreviousDone, .. }
            | Self::Clients { per_client: PerClientLimit::Requests(_), .. }
            | Self::Ladder { per_client: PerClientLimit::Requests(_), .. }
            | Self::Edge(_) => None,
            _ => Some(self.min_duration()),
        }
    }

    /// From its start to its end, or the part of it that is known in advance.
    #[must_use]
    pub fn min_duration(&self) -> Duration {
        let times = |each: Duration, times: usize| each.saturating_mul(u32::try_from(times).unwrap_or(u32::MAX));
        match self {
            Self::Batch { trigger: BurstTrigger::Interval(every), times: bursts, .. } => {
                times(*every, (*bursts as usize).saturating_sub(1))
            }
            Self::Rate { duration, .. }
            | Self::Ramp { duration, .. }
            | Self::Poisson { duration, .. }
            | Self::Clients { per_client: PerClientLimit::Duration(duration), .. } => *duration,
            Self::Hold { connections, opening, duration, .. } => {
                opening.planned_duration(*connections).saturating_add(*duration)
            }
            Self::Ladder { levels, per_client, pause } => {
                let level =
                    if let PerClientLimit::Duration(duration) = per_client { *duration } else { Duration::ZERO };
                times(level, levels.len()).saturating_add(times(*pause, levels.len().saturating_sub(1)))
            }
            Self::Edge(edge) => edge.level_duration.saturating_add(edge.hold_duration),
            Self::Batch { trigger: BurstTrigger::PreviousDone, .. } | Self::Clients { .. } => Duration::ZERO,
        }
    }
}

impl Phase {
    /// Reads one; the phases before it have been read.
    pub(crate) fn read(at: &NodeReader<'_>, journeys: &PhaseReferences<'_>, earlier: &mut [Self]) -> Option<Self> {
        let fields = at.table()?;
        let name = fields.required("name", "the report calls it so").and_then(|at| read_name(&at));
        let written = fields.required("arrivals", arrivals::EXPECTED_FORMS);
        let bounds_itself = written.as_ref().is_some_and(arrivals::is_self_limiting);
        let keeps_at = fields.optional("keeps");
        let keeps = keeps_at
            .as_ref()
            .and_then(|at| resumed_connections::find_resumed_phase(at, name.as_deref(), journeys.phase_names, earlier));
        let kept = keeps.map_or(0, |index| earlier[index].load_profile.concurrency().unwrap_or(0));
        let arrivals = written.and_then(|at| arrivals::read(&at, kept));
        let in_flight = read_in_flight_max(&fields, bounds_itself);
        let in_flight = arrivals.as_ref().and_then(LoadProfile::concurrency).or(in_flight);
        let journey_at = fields.required("journey", "what each arrival does");
        let journey = journey_at.as_ref().and_then(|at| journeys.find_journey(at));
        let holds = matches!(arrivals, Some(LoadProfile::Hold { .. }));
        let opening = fields.optional("opening").map(|at| journeys.find_opening_journey(&at, journey, holds));
        let after = fields.optional("after").and_then(|at| at.duration(Duration::ZERO..=WAIT_MAX));
        let own = fields.optional("at");
        if let (Some(own), true) = (&own, after.is_some()) {
            own.add_error("excludes `after`: a phase has its own start time, or follows the previous one");
        }
        let stands_alone = own.is_some();
        let own = own.map(|at| at.duration(Duration::ZERO..=WAIT_MAX));
        let reconnects =
            [("never", Reconnect::Never), ("journey", Reconnect::Journey), ("request", Reconnect::Request)];
        let reconnect = fields.optional("reconnect");
        let given = reconnect.as_ref().and_then(|at| at.choice(&reconnects));
        fields.reject_unknown_keys();
        let speaks = journey.is_some_and(|journey| journeys.uses_messages(journey));
        let reconnect = match (speaks, holds) {
            (true, false) => message_reconnect(reconnect.as_ref(), given),
            (true, true) | (false, _) => given.unwrap_or_default(),
        };
        if let Some(at) = &keeps_at {
            resumed_connections::check_resume_allowed(at, holds, stands_alone);
        }
        let phase = Self {
            name: name?,
            load_profile: arrivals?,
            in_flight_max: in_flight?,
            journey_index: journey?,
            pause_before: after.unwrap_or_default(),
            starts_at: own.unwrap_or_default(),
            reconnect,
            opening_journey: opening.unwrap_or_default(),
            resumes_phase: keeps,
            leaves_open: false,
        };
        if let (Some(at), Some(index)) = (&keeps_at, keeps) {
            resumed_connections::mark_left_open(at, &mut earlier[index], &phase);
        }
        Some(phase)
    }
}

fn read_in_flight_max(fields: &TableReader<'_>, bounds_itself: bool) -> Option<u64> {
    if !bounds_itself {
        let written = fields.required("in_flight_max", "how many arrivals may be under way at once");
        return written.and_then(|at| at.int(1..=IN_FLIGHT_MAX));
    }
    if let Some(written) = fields.optional("in_flight_max") {
        written.add_error("is for open loops alone: clients and held connections bound themselves");
    }
    None
}

/// A connection that carries frames belongs to one client: no other arrival uses it after its arrival has ended.
fn message_reconnect(at: Option<&NodeReader<'_>>, given: Option<Reconnect>) -> Reconnect {
    if let (Some(at), Some(Reconnect::Never | Reconnect::Request)) = (at, given) {
        at.add_error("must be \"journey\": messages go over a connection of the arrival's own; to keep one, hold it");
    }
    Reconnect::Journey
}

/// What phases refer to: journeys as they are written, which of them send messages, and other phases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseReferences<'a> {
    pub(crate) journey_names: &'a [String],
    /// The names of phases, as they are written.
    pub(crate) phase_names: &'a [String],
    pub(crate) journeys: &'a [Journey],
}

impl PhaseReferences<'_> {
    fn find_journey(&self, at: &NodeReader<'_>) -> Option<usize> {
        let name = at.text()?;
        let found = self.journey_names.iter().position(|journey| journey == name);
        if found.is_none() {
            at.add_error(format!(
                "is \"{name}\", but there is no such [[journey]]; known: {}",
                known_names(self.journey_names)
            ));
        }
        found
    }

    fn uses_messages(&self, journey: usize) -> bool {
        let named =
            self.journey_names.get(journey).and_then(|name| self.journeys.iter().find(|read| read.name == *name));
        named.is_some_and(|journey| journey.uses_messages)
    }

    /// The journey that each held connection runs first.
    fn find_opening_journey(&self, at: &NodeReader<'_>, journey: Option<usize>, holds: bool) -> Option<usize> {
        if !holds {
            at.add_error("is for held connections alone: elsewhere each arrival takes all of its steps");
        }
        let opening = self.find_journey(at)?;
        if let Some(journey) = journey {
            if self.uses_messages(opening) != self.uses_messages(journey) {
                at.add_error("must be a journey of the same kind as `journey`: both of messages, or both of requests");
            }
            if opening == journey {
                at.add_error("must not be `journey` itself: what a connection says first, it says once");
            }
        }
        Some(opening)
    }
}
