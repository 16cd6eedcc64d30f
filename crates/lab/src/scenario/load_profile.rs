//! The load of a phase: one kind of load, with the keys of that kind and no others, and what is known of it in advance.
//! Does not know what a load does to its target, and does not compute the arrivals: the plan does.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::reader::{NodeReader, TableReader, parse_duration};
use crate::limits::{
    ARRIVALS_MAX, CONNECTIONS_MAX, EDGE_HOLD, EDGE_LEVEL, EDGE_LEVEL_MIN, EDGE_LEVELS_MAX, EDGE_PRECISION,
    EDGE_PRECISION_MAX, EDGE_PRECISION_MIN, LOAD_STEPS_MAX, OPEN_WITHIN, OPENING_AT_ONCE, OPENING_AT_ONCE_MAX,
    RATE_PER_S_MAX, WAIT_MAX,
};

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

/// The share of a count that rounding may add to it: no arrival is made of it.
const ROUNDING: f64 = 1e-12;

/// How many arrivals are due before the integral of the rate reaches `expected`.
#[must_use]
pub(crate) fn due_within(expected: f64) -> u64 {
    (expected - expected * ROUNDING).ceil().max(0.0) as u64
}

/// The forms that an error message lists.
pub(super) const EXPECTED_FORMS: &str = "{ batch, every, times }, { rate, for }, { ramp = { from, to }, for }, \
     { poisson, for }, { clients, requests or for }, { ladder, requests or for, pause }, \
     { hold = { connections, open_per_s, open_within, opening_max }, rate, for } or { edge = { from, to, overload } }";

pub(super) const LOAD_KINDS: [&str; 8] = ["batch", "rate", "ramp", "poisson", "clients", "ladder", "hold", "edge"];

/// Kinds that need no cap on the number in flight.
const SELF_LIMITING_KINDS: [&str; 3] = ["clients", "ladder", "hold"];

/// The percentiles in which an overload may be stated, as quantiles.
const PERCENTILES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];

const POSITIVE_DURATION: RangeInclusive<Duration> = Duration::from_micros(1)..=WAIT_MAX;

/// Whether a load limits its own concurrency, judged by its kind alone.
pub(super) fn is_self_limiting(at: &NodeReader<'_>) -> bool {
    SELF_LIMITING_KINDS.iter().any(|kind| at.node.get(kind).is_some())
}

/// Reads a load; `inherited` of the connections that it holds are already open.
pub(super) fn read(at: &NodeReader<'_>, kept: u64) -> Option<LoadProfile> {
    let fields = at.table()?;
    let written: Vec<&str> = LOAD_KINDS.into_iter().filter(|kind| fields.has(kind)).collect();
    let arrivals = match written.as_slice() {
        ["batch"] => read_batch(&fields),
        ["rate"] => read_rate(&fields),
        ["ramp"] => read_ramp(&fields),
        ["poisson"] => read_poisson(&fields),
        ["clients"] => read_clients(&fields),
        ["ladder"] => read_ladder(&fields),
        // A rate across held connections.
        ["hold"] | ["rate", "hold"] => read_hold(&fields, kept),
        ["edge"] => read_edge(&fields),
        _ => {
            at.add_error(format!("must be one of {EXPECTED_FORMS}"));
            return None;
        }
    };
    fields.reject_unknown_keys();
    let arrivals = arrivals?;
    if let Some(count) = arrivals.max_count().filter(|count| *count > ARRIVALS_MAX) {
        at.add_error(format!("must be at most {ARRIVALS_MAX} arrivals, these are {count}"));
    }
    Some(arrivals)
}

fn read_batch(fields: &TableReader<'_>) -> Option<LoadProfile> {
    let batch = fields.optional("batch").and_then(|at| at.int(1..=ARRIVALS_MAX));
    let trigger = fields.optional("every").map(|at| read_burst_trigger(&at));
    let times = fields.optional("times").map_or(Some(1), |at| at.int(1..=u64::from(LOAD_STEPS_MAX)));
    if times.is_some_and(|times| times > 1) && trigger.is_none() {
        fields.reader.add_error("needs `every` beside `times`: the time from one burst to the next, or \"done\"");
    }
    Some(LoadProfile::Batch {
        batch: batch?,
        trigger: trigger.unwrap_or(Some(BurstTrigger::Interval(Duration::ZERO)))?,
        times: times?,
    })
}

fn read_burst_trigger(at: &NodeReader<'_>) -> Option<BurstTrigger> {
    match at.text()? {
        "done" => Some(BurstTrigger::PreviousDone),
        _ => at.duration(POSITIVE_DURATION).map(BurstTrigger::Interval),
    }
}

fn read_rate(fields: &TableReader<'_>) -> Option<LoadProfile> {
    let rate = fields.optional("rate").and_then(|at| at.rate());
    let duration = read_duration(fields);
    Some(LoadProfile::Rate { rate_per_s: rate?, duration: duration? })
}

fn read_ramp(fields: &TableReader<'_>) -> Option<LoadProfile> {
    let ends = fields.optional("ramp").and_then(|at| read_ramp_ends(&at));
    let duration = read_duration(fields);
    let (from_per_s, to_per_s) = ends?;
    Some(LoadProfile::Ramp { from_per_s, to_per_s, duration: duration? })
}

/// Start and end rate of a ramp; one of them may be zero.
fn read_ramp_ends(at: &NodeReader<'_>) -> Option<(f64, f64)> {
    let fields = at.table()?;
    let from = fields.required("from", "arrivals per second at the beginning");
    let from = from.and_then(|at| at.float(0.0..=RATE_PER_S_MAX));
    let to = fields.required("to", "arrivals per second at the end").and_then(|at| at.float(0.0..=RATE_PER_S_MAX));
    fields.reject_unknown_keys();
    let (from, to) = (from?, to?);
    if from == 0.0 && to == 0.0 {
        at.add_error("goes from 0 to 0: nothing ever arrives");
    }
    Some((from, to))
}

fn read_poisson(fields: &TableReader<'_>) -> Option<LoadProfile> {
    let rate = fields.optional("poisson").and_then(|at| at.rate());
    let duration = read_duration(fields);
    Some(LoadProfile::Poisson { rate_per_s: rate?, duration: duration? })
}

fn read_clients(fields: &TableReader<'_>) -> Option<LoadProfile> {
    let clients = fields.optional("clients").and_then(|at| at.int(1..=CONNECTIONS_MAX));
    let per_client = read_per_client_limit(fields);
    Some(LoadProfile::Clients { clients: clients?, per_client: per_client? })
}

fn read_ladder(fields: &TableReader<'_>) -> Option<LoadProfile> {
    let levels = fields.optional("ladder").and_then(|at| read_levels(&at));
    let per_client = read_per_client_limit(fields);
    let pause = fields.optional("pause").map_or(Some(Duration::ZERO), |at| at.duration(Duration::ZERO..=WAIT_MAX));
    Some(LoadProfile::Ladder { levels: levels?, per_client: per_client?, pause: pause? })
}

fn read_levels(at: &NodeReader<'_>) -> Option<Vec<u64>> {
    let list = at.list()?;
    if list.is_empty() || list.len() > LOAD_STEPS_MAX as usize {
        at.add_error(format!("must list from 1 to {LOAD_STEPS_MAX} levels"));
        return None;
    }
    list.iter().map(|at| at.int(1..=CONNECTIONS_MAX)).collect()
}

fn read_per_client_limit(fields: &TableReader<'_>) -> Option<PerClientLimit> {
    match (fields.optional("requests"), fields.optional("for")) {
        (Some(requests), None) => requests.int(1..=ARRIVALS_MAX).map(PerClientLimit::Requests),
        (None, Some(duration)) => duration.duration(POSITIVE_DURATION).map(PerClientLimit::Duration),
        _ => {
            fields
                .reader
                .add_error("needs either `requests`, how many each client makes, or `for`, how long they go on");
            None
        }
    }
}

fn read_hold(fields: &TableReader<'_>, kept: u64) -> Option<LoadProfile> {
    let held = fields.optional("hold").and_then(|at| read_connections(&at, kept));
    let rate = fields.optional("rate").map(|at| at.rate());
    let duration = read_duration(fields);
    let ((connections, opening), duration) = (held?, duration?);
    Some(LoadProfile::Hold {
        connections,
        opening,
        rate_per_s: rate.map_or(Some(None), |rate| rate.map(Some))?,
        duration,
    })
}

fn read_connections(at: &NodeReader<'_>, kept: u64) -> Option<(u64, OpeningSpec)> {
    let fields = at.table()?;
    let connections = fields.required("connections", "how many are held").and_then(|at| at.int(1..=CONNECTIONS_MAX));
    let per_s = fields.optional("open_per_s").map(|at| at.rate());
    let at_once = fields.optional("opening_max").map_or(Some(OPENING_AT_ONCE), |at| at.int(1..=OPENING_AT_ONCE_MAX));
    let within = fields.optional("open_within").map(|at| (at.duration(POSITIVE_DURATION), at));
    fields.reject_unknown_keys();
    let (connections, per_s) = (connections?, per_s.map_or(Some(None), |per_s| per_s.map(Some))?);
    let opening = OpeningSpec { per_s, concurrency: at_once?, timeout: Duration::ZERO, inherited: kept };
    let planned = opening.planned_duration(connections);
    let within = match within {
        None => planned.saturating_add(OPEN_WITHIN),
        Some((within, at)) => {
            let within = within?;
            if within <= planned {
                let planned_s = planned.as_secs_f64();
                at.add_error(format!("must be longer than the {planned_s:.1} s that it takes to begin all of them"));
            }
            within
        }
    };
    Some((connections, OpeningSpec { timeout: within, ..opening }))
}

fn read_edge(fields: &TableReader<'_>) -> Option<LoadProfile> {
    let at = fields.optional("edge")?;
    let fields = at.table()?;
    let from = fields.required("from", "the first rate to try, per second").and_then(|at| at.rate());
    let to = fields.required("to", "the rate per second beyond which nobody searches").and_then(|at| at.rate());
    let level = fields.optional("level").map_or(Some(EDGE_LEVEL), |at| at.duration(EDGE_LEVEL_MIN..=WAIT_MAX));
    let hold = fields.optional("hold").map_or(Some(EDGE_HOLD), |at| at.duration(EDGE_LEVEL_MIN..=WAIT_MAX));
    let precisions = EDGE_PRECISION_MIN..=EDGE_PRECISION_MAX;
    let precision = fields.optional("precision").map_or(Some(EDGE_PRECISION), |at| at.float(precisions));
    let poisson = fields.optional("poisson").map_or(Some(false), |at| at.bool());
    let overload = fields.required("overload", "what is too much: { latency, errors, backlog }, at least one of them");
    let overload = overload.and_then(|at| OverloadSpec::read(&at));
    fields.reject_unknown_keys();
    let (from_per_s, to_per_s, level, hold, overload) = (from?, to?, level?, hold?, overload?);
    if from_per_s >= to_per_s {
        at.add_error("must have a `from` below its `to`");
    }
    if to_per_s * level.max(hold).as_secs_f64() > ARRIVALS_MAX as f64 {
        at.add_error(format!("must be at most {ARRIVALS_MAX} arrivals at any level: lower `to`, or shorten it"));
    }
    let OverloadSpec { latency_ms, error_share, backlog } = overload;
    let (precision, poisson) = (precision?, poisson?);
    let edge = EdgeSearch {
        from_per_s,
        to_per_s,
        level_duration: level,
        hold_duration: hold,
        precision,
        poisson,
        latency_ms,
        error_share,
        backlog,
    };
    Some(LoadProfile::Edge(edge))
}

/// When a search considers the target overloaded.
struct OverloadSpec {
    latency_ms: Option<(f64, f64)>,
    error_share: Option<f64>,
    backlog: bool,
}

impl OverloadSpec {
    fn read(at: &NodeReader<'_>) -> Option<Self> {
        let fields = at.table()?;
        let latency = fields.optional("latency").map(|at| read_latency(&at));
        let errors = fields.optional("errors").map(|at| read_error_share(&at));
        let backlog = fields.optional("backlog").map_or(Some(false), |at| at.bool());
        fields.reject_unknown_keys();
        if latency.is_none() && errors.is_none() && backlog == Some(false) {
            at.add_error("needs at least one of latency = \"p99 > 250ms\", errors = \"> 1%\", backlog = true");
        }
        let latency_ms = latency.map_or(Some(None), |latency| latency.map(Some))?;
        let error_share = errors.map_or(Some(None), |share| share.map(Some))?;
        Some(Self { latency_ms, error_share, backlog: backlog? })
    }
}

fn read_latency(at: &NodeReader<'_>) -> Option<(f64, f64)> {
    let text = at.text()?;
    let parsed = text.split_once('>').and_then(|(percentile, limit)| {
        let (_, quantile) = PERCENTILES.iter().find(|(name, _)| *name == percentile.trim())?;
        let limit = parse_duration(limit.trim()).filter(|limit| POSITIVE_DURATION.contains(limit))?;
        Some((*quantile, limit.as_secs_f64() * 1000.0))
    });
    if parsed.is_none() {
        let percentiles = PERCENTILES.map(|(name, _)| name).join(", ");
        at.add_error(format!(
            "must be a percentile ({percentiles}) and a limit, such as \"p99 > 250ms\", not \"{text}\""
        ));
    }
    parsed
}

fn read_error_share(at: &NodeReader<'_>) -> Option<f64> {
    let text = at.text()?;
    let percent = text.trim().strip_prefix('>').and_then(|rest| rest.trim().strip_suffix('%'));
    let percent = percent.and_then(|percent| percent.trim().parse::<f64>().ok());
    let share = percent.filter(|percent| (0.0..100.0).contains(percent)).map(|percent| percent / 100.0);
    if share.is_none() {
        at.add_error(format!("must be a share of the arrivals such as \"> 1%\", not \"{text}\""));
    }
    share
}

fn read_duration(fields: &TableReader<'_>) -> Option<Duration> {
    fields.required("for", "how long, such as \"30s\"").and_then(|at| at.duration(POSITIVE_DURATION))
}
