//! Reads the load of a phase: one kind of load, with the keys of that kind and no others. Does not know what a load
//! does to its target.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::phase::{BurstTrigger, EdgeSearch, LoadProfile, OpeningSpec, PerClientLimit};
use super::reader::{NodeReader, TableReader, parse_duration};
use crate::limits::{
    ARRIVALS_MAX, CONNECTIONS_MAX, EDGE_HOLD, EDGE_LEVEL, EDGE_LEVEL_MIN, EDGE_PRECISION, EDGE_PRECISION_MAX,
    EDGE_PRECISION_MIN, LOAD_STEPS_MAX, OPEN_WITHIN, OPENING_AT_ONCE, OPENING_AT_ONCE_MAX, RATE_PER_S_MAX, WAIT_MAX,
};

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
