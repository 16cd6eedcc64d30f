//! The load of a phase: one kind of load, with the keys of that kind and no others, and what is known of it in advance.
//! Does not know what a load does to its target, and does not compute the arrivals: the plan does.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::reader::{NodeReader, TableReader, parse_duration};
use super::schedule::{OpeningSpec, PerClientLimit, Schedule};
use crate::limits::{
    ARRIVALS_MAX, CONNECTIONS_MAX, EDGE_HOLD, EDGE_LEVEL, EDGE_LEVEL_MIN, EDGE_LEVELS_MAX, EDGE_PRECISION,
    EDGE_PRECISION_MAX, EDGE_PRECISION_MIN, LOAD_STEPS_MAX, OPEN_WITHIN, OPENING_AT_ONCE, OPENING_AT_ONCE_MAX,
    RATE_PER_S_MAX, WAIT_MAX,
};

/// The load of a phase.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadProfile {
    /// One load for the whole phase; each burst of it is a load step.
    Single(Schedule),
    /// Open: bursts of `batch` arrivals, each of which is due when the previous one is over.
    BurstsInTurn { batch: u64, times: u64 },
    /// Closed: one level of clients after another.
    Ladder {
        /// Clients of each level.
        levels: Vec<u64>,
        /// How much each client does at each level.
        per_client: PerClientLimit,
        /// The pause between levels.
        pause: Duration,
    },
    /// Open: a search for the highest rate that the target sustains.
    Edge(EdgeSearch),
}

/// A search for the highest rate that the target sustains.
#[derive(Clone, Debug, Default, PartialEq)]
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

impl LoadProfile {
    /// The schedules of its load steps, as far as they are known before it starts: none for a search.
    #[must_use]
    pub fn schedules(&self) -> Vec<Schedule> {
        match *self {
            Self::Single(ref schedule) => vec![schedule.clone()],
            Self::BurstsInTurn { batch, times } => {
                vec![Schedule::Bursts { batch, every: Duration::ZERO, times: 1 }; times as usize]
            }
            Self::Ladder { ref levels, per_client: each, .. } => {
                levels.iter().map(|&clients| Schedule::ClosedLoop { clients, each }).collect()
            }
            Self::Edge(_) => Vec::new(),
        }
    }

    /// How many connections are held and how they are opened, if any are.
    #[must_use]
    pub fn held(&self) -> Option<(u64, OpeningSpec)> {
        match *self {
            Self::Single(Schedule::Hold { connections, opening, .. }) => Some((connections, opening)),
            _ => None,
        }
    }

    /// The highest number of arrivals; none if only the bounds of the run limit it: closed loops for a time, and
    /// searches. For independent arrivals, which are counted as they come, a number that no run reaches.
    #[must_use]
    pub fn max_count(&self) -> Option<u64> {
        if matches!(self, Self::Edge(_)) {
            return None;
        }
        let counts = self.schedules();
        counts.iter().map(Schedule::max_count).try_fold(0_u64, |sum, count| Some(sum.saturating_add(count?)))
    }

    /// The number of load steps, which have figures of their own: bursts, levels, or the whole phase.
    #[must_use]
    pub fn load_step_count(&self) -> u32 {
        let parts = match self {
            Self::Single(Schedule::Bursts { times, .. }) | Self::BurstsInTurn { times, .. } => *times,
            Self::Ladder { levels, .. } => levels.len() as u64,
            Self::Edge(_) => EDGE_LEVELS_MAX as u64,
            Self::Single(_) => 1,
        };
        u32::try_from(parts).unwrap_or(u32::MAX)
    }

    /// The concurrency of a load that limits itself.
    #[must_use]
    pub fn concurrency(&self) -> Option<u64> {
        self.schedules().iter().filter_map(Schedule::concurrency).max()
    }

    /// From its start to its end; none if that depends on the target.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        let waits = matches!(self, Self::BurstsInTurn { .. } | Self::Edge(_));
        let is_known = !waits && self.schedules().iter().all(|schedule| schedule.duration().is_some());
        is_known.then(|| self.min_duration())
    }

    /// From its start to its end, or the part of it that is known in advance.
    #[must_use]
    pub fn min_duration(&self) -> Duration {
        let schedules = self.schedules();
        let known = match self {
            Self::Edge(edge) => edge.level_duration.saturating_add(edge.hold_duration),
            Self::Ladder { pause, .. } => pause.saturating_mul((schedules.len() as u32).saturating_sub(1)),
            _ => Duration::ZERO,
        };
        schedules.iter().filter_map(Schedule::duration).fold(known, Duration::saturating_add)
    }
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
pub(super) fn read(at: &NodeReader<'_>, inherited: u64) -> Option<LoadProfile> {
    let kinds: Vec<&str> = LOAD_KINDS.into_iter().filter(|kind| at.node.get(kind).is_some()).collect();
    let kind = match kinds.as_slice() {
        // A rate across held connections.
        ["rate", "hold"] => "hold",
        [kind] => kind,
        _ if at.is_table() => return at.reject(format!("must be one of {EXPECTED_FORMS}")),
        _ => "",
    };
    let profile = at.table(|fields| match kind {
        "batch" => read_batch(fields),
        "rate" => {
            let rate_per_s = fields.or("rate", 0.0, NodeReader::rate);
            LoadProfile::Single(Schedule::ConstantRate { rate_per_s, lasting: read_duration(fields) })
        }
        "ramp" => {
            let (from_per_s, to_per_s) = fields.or("ramp", (0.0, 0.0), read_ramp_ends);
            LoadProfile::Single(Schedule::Ramp { from_per_s, to_per_s, lasting: read_duration(fields) })
        }
        "poisson" => {
            let rate_per_s = fields.or("poisson", 0.0, NodeReader::rate);
            LoadProfile::Single(Schedule::Poisson { rate_per_s, lasting: read_duration(fields) })
        }
        "clients" => {
            let clients = fields.or("clients", 0, |at| at.int(1..=CONNECTIONS_MAX));
            LoadProfile::Single(Schedule::ClosedLoop { clients, each: read_per_client_limit(fields) })
        }
        "ladder" => LoadProfile::Ladder {
            levels: fields.or("ladder", Vec::new(), read_levels),
            per_client: read_per_client_limit(fields),
            pause: fields.or("pause", Duration::ZERO, |at| at.duration(Duration::ZERO..=WAIT_MAX)),
        },
        "hold" => {
            let (connections, opening) = fields.need(fields.optional("hold", |at| read_connections(at, inherited)));
            let rate_per_s = fields.optional("rate", NodeReader::rate);
            let lasting = read_duration(fields);
            LoadProfile::Single(Schedule::Hold { connections, opening, rate_per_s, lasting })
        }
        _ => LoadProfile::Edge(fields.need(fields.optional("edge", EdgeSearch::read))),
    })?;
    if let Some(count) = profile.max_count().filter(|count| *count > ARRIVALS_MAX) {
        at.add_error(format!("must be at most {ARRIVALS_MAX} arrivals, these are {count}"));
    }
    Some(profile)
}

fn read_batch(fields: &TableReader<'_>) -> LoadProfile {
    let batch = fields.or("batch", 0, |at| at.int(1..=ARRIVALS_MAX));
    // None is a burst that waits for the previous one.
    let every = fields.or("every", Some(Duration::ZERO), |at| match at.text()? {
        "done" => Some(None),
        _ => at.duration(POSITIVE_DURATION).map(Some),
    });
    let times = fields.or("times", 1, |at| at.int(1..=u64::from(LOAD_STEPS_MAX)));
    if times > 1 && !fields.has("every") {
        fields.reader.add_error("needs `every` beside `times`: the time from one burst to the next, or \"done\"");
    }
    match every {
        Some(every) => LoadProfile::Single(Schedule::Bursts { batch, every, times }),
        None => LoadProfile::BurstsInTurn { batch, times },
    }
}

/// Start and end rate of a ramp; one of them may be zero.
fn read_ramp_ends(at: &NodeReader<'_>) -> Option<(f64, f64)> {
    let rate = |at: &NodeReader<'_>| at.float(0.0..=RATE_PER_S_MAX);
    let ends = at.table(|fields| {
        let from = fields.required("from", "arrivals per second at the beginning", rate);
        (from, fields.required("to", "arrivals per second at the end", rate))
    })?;
    if ends == (0.0, 0.0) {
        at.add_error("goes from 0 to 0: nothing ever arrives");
    }
    Some(ends)
}

fn read_levels(at: &NodeReader<'_>) -> Option<Vec<u64>> {
    let list = at.list()?;
    if list.is_empty() || list.len() > LOAD_STEPS_MAX as usize {
        return at.reject(format!("must list from 1 to {LOAD_STEPS_MAX} levels"));
    }
    list.iter().map(|at| at.int(1..=CONNECTIONS_MAX)).collect()
}

fn read_per_client_limit(fields: &TableReader<'_>) -> PerClientLimit {
    let limit = match (fields.get("requests"), fields.get("for")) {
        (Some(requests), None) => requests.int(1..=ARRIVALS_MAX).map(PerClientLimit::Requests),
        (None, Some(duration)) => duration.duration(POSITIVE_DURATION).map(PerClientLimit::Duration),
        _ => fields.reader.reject("needs either `requests`, how many each client makes, or `for`, how long they go on"),
    };
    fields.need(limit)
}

fn read_connections(at: &NodeReader<'_>, inherited: u64) -> Option<(u64, OpeningSpec)> {
    at.table(|fields| {
        let connections = fields.required("connections", "how many are held", |at| at.int(1..=CONNECTIONS_MAX));
        let mut opening = OpeningSpec {
            per_s: fields.optional("open_per_s", NodeReader::rate),
            concurrency: fields.or("opening_max", OPENING_AT_ONCE, |at| at.int(1..=OPENING_AT_ONCE_MAX)),
            inherited,
            ..OpeningSpec::default()
        };
        let planned = opening.planned_duration(connections);
        opening.timeout = fields.or("open_within", planned.saturating_add(OPEN_WITHIN), |at| {
            let timeout = at.duration(POSITIVE_DURATION)?;
            if fields.is_complete() && timeout <= planned {
                let planned_s = planned.as_secs_f64();
                at.add_error(format!("must be longer than the {planned_s:.1} s that it takes to begin all of them"));
            }
            Some(timeout)
        });
        (connections, opening)
    })
}

impl EdgeSearch {
    fn read(at: &NodeReader<'_>) -> Option<Self> {
        let overload = "what is too much: { latency, errors, backlog }, at least one of them";
        let duration = |at: &NodeReader<'_>| at.duration(EDGE_LEVEL_MIN..=WAIT_MAX);
        let edge = at.table(|fields| {
            let mut edge = Self {
                from_per_s: fields.required("from", "the first rate to try, per second", NodeReader::rate),
                to_per_s: fields.required("to", "the rate per second at which the search ends", NodeReader::rate),
                level_duration: fields.or("level", EDGE_LEVEL, duration),
                hold_duration: fields.or("hold", EDGE_HOLD, duration),
                precision: fields
                    .or("precision", EDGE_PRECISION, |at| at.float(EDGE_PRECISION_MIN..=EDGE_PRECISION_MAX)),
                poisson: fields.or("poisson", false, NodeReader::bool),
                ..Self::default()
            };
            fields.required("overload", overload, |at| edge.read_overload(at));
            edge
        })?;
        if edge.from_per_s >= edge.to_per_s {
            at.add_error("must have a `from` below its `to`");
        }
        if edge.hold_duration < edge.level_duration {
            at.add_error("must have a `hold` that lasts at least as long as its `level`");
        }
        if edge.to_per_s * edge.level_duration.max(edge.hold_duration).as_secs_f64() > ARRIVALS_MAX as f64 {
            at.add_error(format!("must be at most {ARRIVALS_MAX} arrivals at any level: lower `to`, or shorten it"));
        }
        Some(edge)
    }

    /// Reads when the target counts as overloaded.
    fn read_overload(&mut self, at: &NodeReader<'_>) -> Option<()> {
        at.table(|fields| {
            self.latency_ms = fields.optional("latency", read_latency);
            self.error_share = fields.optional("errors", read_error_share);
            let backlog = fields.get("backlog").map(|at| at.bool());
            self.backlog = backlog == Some(Some(true));
            if !fields.has("latency") && !fields.has("errors") && matches!(backlog, None | Some(Some(false))) {
                at.add_error("needs at least one of latency = \"p99 > 250ms\", errors = \"> 1%\", backlog = true");
            }
        })
    }
}

fn read_latency(at: &NodeReader<'_>) -> Option<(f64, f64)> {
    let text = at.text()?;
    let parsed = text.split_once('>').and_then(|(percentile, limit)| {
        let (_, quantile) = PERCENTILES.iter().find(|(name, _)| *name == percentile.trim())?;
        let limit = parse_duration(limit.trim()).filter(|limit| POSITIVE_DURATION.contains(limit))?;
        Some((*quantile, limit.as_secs_f64() * 1000.0))
    });
    parsed.or_else(|| {
        let percentiles = PERCENTILES.map(|(name, _)| name).join(", ");
        at.reject(format!("must be a percentile ({percentiles}) and a limit, such as \"p99 > 250ms\", not \"{text}\""))
    })
}

fn read_error_share(at: &NodeReader<'_>) -> Option<f64> {
    let text = at.text()?;
    let percent = text.trim().strip_prefix('>').and_then(|rest| rest.trim().strip_suffix('%'));
    let percent = percent.and_then(|percent| percent.trim().parse::<f64>().ok());
    let share = percent.filter(|percent| (0.0..100.0).contains(percent)).map(|percent| percent / 100.0);
    share.or_else(|| at.reject(format!("must be a share of the arrivals such as \"> 1%\", not \"{text}\"")))
}

fn read_duration(fields: &TableReader<'_>) -> Duration {
    fields.required("for", "how long, such as \"30s\"", |at| at.duration(POSITIVE_DURATION))
}
