//! Reads the load of a phase: one kind of it, with the keys of that kind and no others. Refuses to know what a load
//! does to its target.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::phase::{Arrivals, Each, EdgeArrivals, Every, Opening};
use super::reader::{At, Fields, parse_duration};
use crate::limits::{
    ARRIVALS_MAX, CONNECTIONS_MAX, EDGE_HOLD, EDGE_LEVEL, EDGE_LEVEL_MIN, EDGE_PRECISION, EDGE_PRECISION_MAX,
    EDGE_PRECISION_MIN, LOAD_STEPS_MAX, OPEN_WITHIN, OPENING_AT_ONCE, OPENING_AT_ONCE_MAX, RATE_PER_S_MAX, WAIT_MAX,
};

/// What may stand there.
pub(super) const EXPECTED: &str = "{ batch, every, times }, { rate, for }, { ramp = { from, to }, for }, \
     { poisson, for }, { clients, requests or for }, { ladder, requests or for, pause }, \
     { hold = { connections, open_per_s, open_within, opening_max }, rate, for } or { edge = { from, to, overload } }";

/// The key that names each kind.
pub(super) const KINDS: [&str; 8] = ["batch", "rate", "ramp", "poisson", "clients", "ladder", "hold", "edge"];

/// Kinds that need no cap on what is under way.
const CLOSED: [&str; 3] = ["clients", "ladder", "hold"];

/// The percentiles that an overload may be stated in, as quantiles.
const PERCENTILES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];

const POSITIVE: RangeInclusive<Duration> = Duration::from_micros(1)..=WAIT_MAX;

/// Whether a load bounds what is under way, as far as its kind says.
pub(super) fn bounds_itself(at: &At<'_>) -> bool {
    CLOSED.iter().any(|kind| at.node.get(kind).is_some())
}

/// Reads a load; of the connections that it holds, so many stand already.
pub(super) fn read(at: &At<'_>, kept: u64) -> Option<Arrivals> {
    let fields = at.fields()?;
    let written: Vec<&str> = KINDS.into_iter().filter(|kind| fields.has(kind)).collect();
    let arrivals = match written.as_slice() {
        ["batch"] => batch(&fields),
        ["rate"] => rate(&fields),
        ["ramp"] => ramp(&fields),
        ["poisson"] => poisson(&fields),
        ["clients"] => clients(&fields),
        ["ladder"] => ladder(&fields),
        // A rate across held connections.
        ["hold"] | ["rate", "hold"] => hold(&fields, kept),
        ["edge"] => edge(&fields),
        _ => {
            at.wrong(format!("must be one of {EXPECTED}"));
            return None;
        }
    };
    fields.close();
    let arrivals = arrivals?;
    if let Some(count) = arrivals.count().filter(|count| *count > ARRIVALS_MAX) {
        at.wrong(format!("must be at most {ARRIVALS_MAX} arrivals, these are {count}"));
    }
    Some(arrivals)
}

fn batch(fields: &Fields<'_>) -> Option<Arrivals> {
    let batch = fields.take("batch").and_then(|at| at.int(1..=ARRIVALS_MAX));
    let every = fields.take("every").map(|at| every_of(&at));
    let times = fields.take("times").map_or(Some(1), |at| at.int(1..=u64::from(LOAD_STEPS_MAX)));
    if times.is_some_and(|times| times > 1) && every.is_none() {
        fields.at.wrong("needs `every` beside `times`: the time from one burst to the next, or \"done\"");
    }
    Some(Arrivals::Batch { batch: batch?, every: every.unwrap_or(Some(Every::Time(Duration::ZERO)))?, times: times? })
}

fn every_of(at: &At<'_>) -> Option<Every> {
    match at.text()? {
        "done" => Some(Every::Done),
        _ => at.duration(POSITIVE).map(Every::Time),
    }
}

fn rate(fields: &Fields<'_>) -> Option<Arrivals> {
    let rate = fields.take("rate").and_then(|at| at.rate());
    let lasting = lasting_of(fields);
    Some(Arrivals::Rate { rate_per_s: rate?, lasting: lasting? })
}

fn ramp(fields: &Fields<'_>) -> Option<Arrivals> {
    let ends = fields.take("ramp").and_then(|at| ends_of(&at));
    let lasting = lasting_of(fields);
    let (from_per_s, to_per_s) = ends?;
    Some(Arrivals::Ramp { from_per_s, to_per_s, lasting: lasting? })
}

/// The two ends of a ramp; one of them may be zero.
fn ends_of(at: &At<'_>) -> Option<(f64, f64)> {
    let fields = at.fields()?;
    let from = fields.need("from", "arrivals per second at the beginning");
    let from = from.and_then(|at| at.number(0.0..=RATE_PER_S_MAX));
    let to = fields.need("to", "arrivals per second at the end").and_then(|at| at.number(0.0..=RATE_PER_S_MAX));
    fields.close();
    let (from, to) = (from?, to?);
    if from == 0.0 && to == 0.0 {
        at.wrong("goes from 0 to 0: nothing ever arrives");
    }
    Some((from, to))
}

fn poisson(fields: &Fields<'_>) -> Option<Arrivals> {
    let rate = fields.take("poisson").and_then(|at| at.rate());
    let lasting = lasting_of(fields);
    Some(Arrivals::Poisson { rate_per_s: rate?, lasting: lasting? })
}

fn clients(fields: &Fields<'_>) -> Option<Arrivals> {
    let clients = fields.take("clients").and_then(|at| at.int(1..=CONNECTIONS_MAX));
    let each = each_of(fields);
    Some(Arrivals::Clients { clients: clients?, each: each? })
}

fn ladder(fields: &Fields<'_>) -> Option<Arrivals> {
    let levels = fields.take("ladder").and_then(|at| levels_of(&at));
    let each = each_of(fields);
    let pause = fields.take("pause").map_or(Some(Duration::ZERO), |at| at.duration(Duration::ZERO..=WAIT_MAX));
    Some(Arrivals::Ladder { levels: levels?, each: each?, pause: pause? })
}

fn levels_of(at: &At<'_>) -> Option<Vec<u64>> {
    let list = at.list()?;
    if list.is_empty() || list.len() > LOAD_STEPS_MAX as usize {
        at.wrong(format!("must list from 1 to {LOAD_STEPS_MAX} levels"));
        return None;
    }
    list.iter().map(|at| at.int(1..=CONNECTIONS_MAX)).collect()
}

fn each_of(fields: &Fields<'_>) -> Option<Each> {
    match (fields.take("requests"), fields.take("for")) {
        (Some(requests), None) => requests.int(1..=ARRIVALS_MAX).map(Each::Requests),
        (None, Some(lasting)) => lasting.duration(POSITIVE).map(Each::Lasting),
        _ => {
            fields.at.wrong("needs either `requests`, how many each client makes, or `for`, how long they go on");
            None
        }
    }
}

fn hold(fields: &Fields<'_>, kept: u64) -> Option<Arrivals> {
    let held = fields.take("hold").and_then(|at| connections_of(&at, kept));
    let rate = fields.take("rate").map(|at| at.rate());
    let lasting = lasting_of(fields);
    let ((connections, opening), lasting) = (held?, lasting?);
    Some(Arrivals::Hold { connections, opening, rate_per_s: rate.map_or(Some(None), |rate| rate.map(Some))?, lasting })
}

fn connections_of(at: &At<'_>, kept: u64) -> Option<(u64, Opening)> {
    let fields = at.fields()?;
    let connections = fields.need("connections", "how many are held").and_then(|at| at.int(1..=CONNECTIONS_MAX));
    let per_s = fields.take("open_per_s").map(|at| at.rate());
    let at_once = fields.take("opening_max").map_or(Some(OPENING_AT_ONCE), |at| at.int(1..=OPENING_AT_ONCE_MAX));
    let within = fields.take("open_within").map(|at| (at.duration(POSITIVE), at));
    fields.close();
    let (connections, per_s) = (connections?, per_s.map_or(Some(None), |per_s| per_s.map(Some))?);
    let opening = Opening { per_s, at_once: at_once?, within: Duration::ZERO, kept };
    let planned = opening.planned(connections);
    let within = match within {
        None => planned.saturating_add(OPEN_WITHIN),
        Some((within, at)) => {
            let within = within?;
            if within <= planned {
                let planned_s = planned.as_secs_f64();
                at.wrong(format!("must be longer than the {planned_s:.1} s that it takes to begin all of them"));
            }
            within
        }
    };
    Some((connections, Opening { within, ..opening }))
}

fn edge(fields: &Fields<'_>) -> Option<Arrivals> {
    let at = fields.take("edge")?;
    let fields = at.fields()?;
    let from = fields.need("from", "the first rate to try, per second").and_then(|at| at.rate());
    let to = fields.need("to", "the rate per second beyond which nobody searches").and_then(|at| at.rate());
    let level = fields.take("level").map_or(Some(EDGE_LEVEL), |at| at.duration(EDGE_LEVEL_MIN..=WAIT_MAX));
    let hold = fields.take("hold").map_or(Some(EDGE_HOLD), |at| at.duration(EDGE_LEVEL_MIN..=WAIT_MAX));
    let precisions = EDGE_PRECISION_MIN..=EDGE_PRECISION_MAX;
    let precision = fields.take("precision").map_or(Some(EDGE_PRECISION), |at| at.number(precisions));
    let poisson = fields.take("poisson").map_or(Some(false), |at| at.flag());
    let overload = fields.need("overload", "what is too much: { latency, errors, backlog }, at least one of them");
    let overload = overload.and_then(|at| Overload::read(&at));
    fields.close();
    let (from_per_s, to_per_s, level, hold, overload) = (from?, to?, level?, hold?, overload?);
    if from_per_s >= to_per_s {
        at.wrong("must have a `from` below its `to`");
    }
    if to_per_s * level.max(hold).as_secs_f64() > ARRIVALS_MAX as f64 {
        at.wrong(format!("must be at most {ARRIVALS_MAX} arrivals at any level: lower `to`, or shorten it"));
    }
    let Overload { latency_ms, error_share, backlog } = overload;
    let (precision, poisson) = (precision?, poisson?);
    let edge = EdgeArrivals { from_per_s, to_per_s, level, hold, precision, poisson, latency_ms, error_share, backlog };
    Some(Arrivals::Edge(edge))
}

/// What a search calls too much.
struct Overload {
    latency_ms: Option<(f64, f64)>,
    error_share: Option<f64>,
    backlog: bool,
}

impl Overload {
    fn read(at: &At<'_>) -> Option<Self> {
        let fields = at.fields()?;
        let latency = fields.take("latency").map(|at| latency_of(&at));
        let errors = fields.take("errors").map(|at| share_of(&at));
        let backlog = fields.take("backlog").map_or(Some(false), |at| at.flag());
        fields.close();
        if latency.is_none() && errors.is_none() && backlog == Some(false) {
            at.wrong("needs at least one of latency = \"p99 > 250ms\", errors = \"> 1%\", backlog = true");
        }
        let latency_ms = latency.map_or(Some(None), |latency| latency.map(Some))?;
        let error_share = errors.map_or(Some(None), |share| share.map(Some))?;
        Some(Self { latency_ms, error_share, backlog: backlog? })
    }
}

fn latency_of(at: &At<'_>) -> Option<(f64, f64)> {
    let text = at.text()?;
    let parsed = text.split_once('>').and_then(|(percentile, limit)| {
        let (_, quantile) = PERCENTILES.iter().find(|(name, _)| *name == percentile.trim())?;
        let limit = parse_duration(limit.trim()).filter(|limit| POSITIVE.contains(limit))?;
        Some((*quantile, limit.as_secs_f64() * 1000.0))
    });
    if parsed.is_none() {
        let percentiles = PERCENTILES.map(|(name, _)| name).join(", ");
        at.wrong(format!("must be a percentile ({percentiles}) and a limit, such as \"p99 > 250ms\", not \"{text}\""));
    }
    parsed
}

fn share_of(at: &At<'_>) -> Option<f64> {
    let text = at.text()?;
    let percent = text.trim().strip_prefix('>').and_then(|rest| rest.trim().strip_suffix('%'));
    let percent = percent.and_then(|percent| percent.trim().parse::<f64>().ok());
    let share = percent.filter(|percent| (0.0..100.0).contains(percent)).map(|percent| percent / 100.0);
    if share.is_none() {
        at.wrong(format!("must be a share of the arrivals such as \"> 1%\", not \"{text}\""));
    }
    share
}

fn lasting_of(fields: &Fields<'_>) -> Option<Duration> {
    fields.need("for", "how long, such as \"30s\"").and_then(|at| at.duration(POSITIVE))
}
