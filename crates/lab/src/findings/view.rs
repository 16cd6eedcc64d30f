//! The run as findings see it: when requests and work were under pressure and when they were not, what operations did
//! meanwhile, and what the target's metric roles show. Blames nothing.
//!
//! Pressure is the number in progress at the target: requests that were sent and not answered, or work items that have
//! not ended. The target is *busy* while the pressure is at least half of its usual peak, and *calm* while it is at
//! most a quarter of it. A constant load on a healthy target is always busy and never calm; when a resource becomes
//! scarce, pressure rises by itself. The time in which a fault was active belongs to the fault.

use super::disturbance::{Disturbance, disturbances};
use super::op_series::OpSeries;
use super::roles::RoleSeries;
use super::series::{TimeRanges, mean, steps, times_when, usual_peak, value_at};
use super::thresholds::{BUSY_MIN, CALM_DISTANCE_S, CALM_MAX, SUSTAINED_MIN_S, SUSTAINED_SHARE_MIN};
use super::{FindingsInput, ProcessExit};
use crate::aggregate::Series;
use crate::cgroup::LimitStats;

/// The name of the target's process.
pub(super) const SERVER: &str = "server";

/// The name, or name prefix, of the lab's own processes.
pub(super) const GENERATOR: &str = "generator";

/// How much shorter than its own part a request may appear, because its typical time is a median and the part's a mean.
const MEDIAN_TO_MEAN_FACTOR: f64 = 1.25;

/// The run, prepared once for all kinds of findings.
#[derive(Debug)]
pub(super) struct RunView<'a> {
    pub(super) input: &'a FindingsInput<'a>,
    pub(super) ops: Vec<OpSeries<'a>>,
    pub(super) disturbances: Vec<Disturbance<'a>>,
    /// Pressure of requests.
    pub(super) requests: PressureTimes,
    /// Pressure of work.
    pub(super) work: PressureTimes,
}

/// When there was pressure, and when there was little.
#[derive(Clone, Debug, Default)]
pub(super) struct PressureTimes {
    pub(super) busy: TimeRanges,
    pub(super) calm: TimeRanges,
}

/// How much of the time of requests a part of their processing explains.
#[derive(Clone, Debug)]
pub(super) struct RequestShare<'a> {
    /// Of the time of all requests.
    pub(super) share: f64,
    /// The operation in which most of it was spent.
    pub(super) op: &'a str,
    /// How long that operation typically takes, in seconds.
    pub(super) service_s: f64,
}

impl<'a> RunView<'a> {
    pub(super) fn new(input: &'a FindingsInput<'a>) -> Self {
        let ops: Vec<OpSeries<'a>> =
            input.results.journeys.keys().map(|name| OpSeries::from_run(name, input)).collect();
        let disturbances = disturbances(input.timeline, &ops);
        let disturbed = TimeRanges::new(disturbances.iter().map(|one| one.window_s));
        let requests = pressure_times(&request_pressure(input, &ops), &disturbed);
        let work = pressure_times(&work_pressure(input), &disturbed);
        Self { input, ops, disturbances, requests, work }
    }

    pub(super) fn series(&self, name: &str) -> Option<&'a Series> {
        self.input.timeline.get(name)
    }

    pub(super) fn role(&self, role: &str) -> Option<RoleSeries<'a>> {
        RoleSeries::find(role, self.input.timeline, self.input.metric_roles)
    }

    /// When requests or work were under pressure.
    pub(super) fn busy(&self) -> TimeRanges {
        self.requests.busy.union(&self.work.busy)
    }

    /// Arrivals that ended, and those that were denied or failed.
    pub(super) fn arrivals(&self) -> ArrivalCounts {
        let mut arrivals = ArrivalCounts::default();
        for journey in self.input.results.journeys.values() {
            arrivals.ended += journey.op.count;
            arrivals.denied += journey.op.denied;
            arrivals.errors += journey.op.errors;
        }
        arrivals
    }

    /// How much of the time of requests something that takes `mean_s` explains: it is part only of requests that take
    /// at least as long.
    pub(super) fn share_of_requests(&self, mean_s: f64, times: &TimeRanges) -> Option<RequestShare<'a>> {
        let (mut spent, mut all) = (0.0, 0.0);
        let mut longest: Option<(f64, &'a str, f64)> = None;
        for op in &self.ops {
            let (Some(answers), Some(service_s)) = (op.ok_count(times), op.service_s(times)) else { continue };
            all += answers * service_s;
            if service_s * MEDIAN_TO_MEAN_FACTOR < mean_s {
                continue;
            }
            let part = answers * mean_s.min(service_s);
            spent += part;
            if longest.is_none_or(|(most, ..)| part > most) {
                longest = Some((part, op.name, service_s));
            }
        }
        let (_, op, service_s) = longest.filter(|(part, ..)| *part > 0.0)?;
        Some(RequestShare { share: (spent / all).min(1.0), op, service_s })
    }

    /// Work items that had not ended, on average over these times.
    pub(super) fn mean_unfinished(&self, times: &TimeRanges) -> Option<f64> {
        let all = self.input.results.work.keys().filter_map(|work| self.series(&format!("work.{work}.unfinished")));
        let means: Vec<f64> = all.filter_map(|series| mean(series, times)).collect();
        (!means.is_empty()).then(|| means.iter().sum()).filter(|sum: &f64| sum.is_finite())
    }

    /// What the limits of the run did to the target; nothing is known without limits.
    pub(super) fn limit_stats(&self) -> LimitStats {
        self.input.results.server.limits_seen.unwrap_or_default()
    }

    /// Cores that the target used, on average while it was busy.
    pub(super) fn server_cores(&self) -> Option<f64> {
        self.series(&format!("process.{SERVER}.cpu_cores")).and_then(|series| mean(series, &self.busy()))
    }

    /// Whether a state lasted long enough, and for enough of these times, to be more than a hiccup.
    pub(super) fn is_sustained(lasting_s: f64, times: &TimeRanges) -> bool {
        lasting_s >= SUSTAINED_MIN_S && lasting_s >= SUSTAINED_SHARE_MIN * times.total_s()
    }

    /// Process exits that no fault caused.
    pub(super) fn unexpected_exits(&self) -> impl Iterator<Item = &'a ProcessExit> {
        let faults = &self.input.timeline.faults;
        let known = self.input.process_exits.iter().filter(|exit| exit.t_s.is_finite());
        known.filter(move |exit| {
            // A fault that never reached its process ended nothing.
            !faults.iter().filter(|fault| fault.has_reached()).any(|fault| {
                let since_s = exit.t_s - fault.t_s;
                fault.process == exit.process && (-1.0..=super::thresholds::EXIT_BY_FAULT_WITHIN_S).contains(&since_s)
            })
        })
    }
}

/// How arrivals ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ArrivalCounts {
    pub(super) ended: u64,
    pub(super) denied: u64,
    pub(super) errors: u64,
}

impl ArrivalCounts {
    /// A count as a share of those that ended.
    pub(super) fn share(self, count: u64) -> f64 {
        if self.ended == 0 { 0.0 } else { count as f64 / self.ended as f64 }
    }
}

/// Pressure as steps: from, to, value.
type PressureSteps = Vec<(f64, f64, f64)>;

/// What the lab saw at its samples, or, between them, what rate and service time imply: a sample rarely catches short
/// requests.
fn request_pressure(input: &FindingsInput<'_>, ops: &[OpSeries<'_>]) -> PressureSteps {
    let in_flight = input.timeline.get("load.in_flight");
    let seen = |t_s: f64| {
        let by_rate = ops.iter().filter_map(|op| op.concurrency(t_s)).reduce(|sum, one| sum + one);
        let looked = in_flight.and_then(|series| value_at(series, t_s));
        // Unknown times do not count as times without pressure.
        by_rate.into_iter().chain(looked).max_by(f64::total_cmp)
    };
    let sources = in_flight.into_iter().chain(ops.iter().filter_map(|op| op.ok));
    let edges = sources.flat_map(steps).flat_map(|step| [step.from_s, step.to_s]);
    ranges_between(edges.collect()).filter_map(|(from, to)| Some((from, to, seen(from)?))).collect()
}

fn work_pressure(input: &FindingsInput<'_>) -> PressureSteps {
    let names = input.results.work.keys().map(|work| format!("work.{work}.unfinished"));
    let all: Vec<&Series> = names.filter_map(|name| input.timeline.get(&name)).collect();
    let edges = all.iter().flat_map(|series| steps(series)).flat_map(|step| [step.from_s, step.to_s]);
    let sum = |t_s: f64| all.iter().filter_map(|series| value_at(series, t_s)).reduce(|sum, one| sum + one);
    ranges_between(edges.collect()).filter_map(|(from, to)| Some((from, to, sum(from)?))).collect()
}

/// The ranges between moments.
fn ranges_between(mut edges: Vec<f64>) -> impl Iterator<Item = (f64, f64)> {
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    let ends: Vec<f64> = edges.iter().skip(1).copied().collect();
    edges.into_iter().zip(ends)
}

fn pressure_times(pressure: &PressureSteps, disturbed: &TimeRanges) -> PressureTimes {
    let lasting: Vec<(f64, f64)> = pressure.iter().map(|(from, to, value)| (*value, to - from)).collect();
    let peak = usual_peak(&lasting);
    if peak <= 0.0 {
        return PressureTimes::default();
    }
    let times = |is_so: &dyn Fn(f64) -> bool| {
        let so = pressure.iter().filter(|(_, _, value)| is_so(*value)).map(|(from, to, _)| (*from, *to));
        TimeRanges::new(so).difference(disturbed)
    };
    let busy = times(&|value| value >= BUSY_MIN * peak);
    let calm = times(&|value| value <= CALM_MAX * peak).difference(&busy.widened(CALM_DISTANCE_S));
    PressureTimes { busy, calm }
}

/// The first moment at which any of these was above zero.
pub(super) fn first_above_zero<'a>(all: impl Iterator<Item = &'a Series>) -> Option<f64> {
    all.filter_map(|series| times_when(series, |value| value > 0.0).first_s()).min_by(f64::total_cmp)
}
