//! The aggregate: intervals in, figures out. Pure and mergeable, in constant memory; the same intervals give the same
//! figures in any order. Does not know clocks, files and whether a figure is good.

mod drain_curve;
mod figure_paths;
mod gaps;
mod held;
mod journey;
mod op;
mod pauses;
mod phase;
mod push;
mod results;
mod series;
mod summary;
mod timeline;

use std::collections::BTreeMap;
use std::time::Duration;

pub use drain_curve::DrainCurve;
pub use figure_paths::figure;
pub(crate) use figure_paths::{figure_below, found};
pub use gaps::{Span, Spans, Unrecorded};
pub(crate) use held::HeldAggregate;
pub use held::HeldFigures;
pub(crate) use journey::JourneyAggregate;
pub use op::{Basis, OutcomeCounts};
pub(crate) use op::{OpAggregate, TimeHistogram};
pub(crate) use pauses::PauseAggregate;
pub use pauses::PauseFigures;
pub(crate) use phase::{PhaseAggregate, PhaseJourneyFigures};
pub(crate) use push::PushAggregate;
pub use push::PushFigures;
pub use results::{
    ErrorGroup, GeneratorFigures, JourneyFigures, LoadStepFigures, ObservedFigure, OpFigures, PhaseFigures,
    ProcessFigures, Results, Rss, ServerFigures, Total, TotalsFigures, WorkFigures, observer_figures,
};
pub use series::{Series, SeriesBucket};
pub use summary::{PERCENTILES, Percentile, Statistics, Summary};
pub use timeline::{LoadStepSpan, Timeline};
pub(crate) use timeline::{Outage, seconds_in_unit};

use crate::format::round;
use crate::limits::ERROR_GROUPS_MAX;
use crate::measurement::{ErrorKind, ErrorStats, Interval, OpId, keep_sample};
use crate::scenario::message::OTHER_PUSH;
use crate::scenario::{Journey, Phase, Push, Scenario};

/// The sum of all intervals.
#[derive(Clone, Debug, Default)]
pub struct Aggregate {
    journeys: Vec<JourneyAggregate>,
    lag: TimeHistogram,
    waited_for_slot: u64,
    waited_behind_pauses: u64,
    pauses: PauseAggregate,
    abandoned: u64,
    connects: u64,
    sent_bytes: u64,
    received_bytes: u64,
    errors: BTreeMap<ErrorKey, (u64, Vec<String>)>,
    retried: u64,
    resent: u64,
    pushes: Vec<(String, PushAggregate)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ErrorKey {
    journey: usize,
    step: usize,
    kind: ErrorKind,
}

impl Aggregate {
    #[must_use]
    pub fn new(journeys: &[Journey]) -> Self {
        Self { journeys: journeys.iter().map(JourneyAggregate::new).collect(), ..Self::default() }
    }

    /// The same for a trial that expects these frames to be pushed.
    #[must_use]
    pub fn with_pushes(self, pushes: &[Push]) -> Self {
        let names = pushes.iter().map(|push| push.name.clone()).chain([OTHER_PUSH.to_owned()]);
        Self { pushes: names.map(|name| (name, PushAggregate::default())).collect(), ..self }
    }

    pub fn add(&mut self, interval: &Interval) {
        for pushed in &interval.pushes {
            if let Some((_, aggregate)) = self.pushes.get_mut(pushed.push_index) {
                aggregate.add_second(interval.second, pushed);
            }
        }
        for stats in &interval.ops {
            if let Some(journey) = self.journeys.get_mut(stats.op.journey) {
                journey.add(stats);
            }
        }
        if let Some(lag) = &interval.lag_us {
            self.lag.add(lag);
        }
        interval.errors.iter().for_each(|error_stats| self.add_error(error_stats));
        for (journey, count) in &interval.not_sent {
            if let Some(journey) = self.journeys.get_mut(*journey) {
                journey.not_sent += count;
            }
        }
        for (journey, count) in &interval.not_sent_behind_pauses {
            if let Some(journey) = self.journeys.get_mut(*journey) {
                journey.not_sent_behind_pauses += count;
            }
        }
        interval.pauses.iter().for_each(|pause| self.pauses.add(interval.worker, *pause));
        self.waited_for_slot += interval.waited_for_slot;
        self.waited_behind_pauses += interval.waited_behind_pauses;
        self.abandoned += interval.abandoned;
        self.connects += interval.connects;
        self.retried += interval.retried;
        self.resent += interval.resent;
        self.sent_bytes += interval.sent_bytes;
        self.received_bytes += interval.received_bytes;
    }

    /// Keeps the first few messages of a group; the last group collects all further kinds.
    fn add_error(&mut self, error_stats: &ErrorStats) {
        let mut key = ErrorKey { journey: error_stats.journey, step: error_stats.step, kind: error_stats.kind };
        if !self.errors.contains_key(&key) && self.errors.len() + 1 >= ERROR_GROUPS_MAX {
            let rest = self.errors.keys().find(|key| key.kind == ErrorKind::Other).copied();
            key = rest.unwrap_or(ErrorKey { kind: ErrorKind::Other, ..key });
        }
        let (count, samples) = self.errors.entry(key).or_default();
        *count += error_stats.count;
        error_stats.samples.iter().for_each(|sample| keep_sample(samples, sample));
    }

    /// Arrivals that have ended: ok, denied, error.
    #[must_use]
    pub fn arrival_counts(&self) -> (u64, u64, u64) {
        self.journeys.iter().fold((0, 0, 0), |(ok, denied, errors), journey| {
            (ok + journey.total.ok, denied + journey.total.denied, errors + journey.total.errors)
        })
    }

    /// Arrivals that were sent and abandoned when the trial was ended.
    #[must_use]
    pub fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// Requests that have ended, of all journeys.
    #[must_use]
    pub fn request_counts(&self) -> OutcomeCounts {
        self.journeys.iter().map(JourneyAggregate::requests).fold(OutcomeCounts::default(), |sum, counts| {
            OutcomeCounts {
                ok: sum.ok + counts.ok,
                denied: sum.denied + counts.denied,
                errors: sum.errors + counts.errors,
            }
        })
    }

    #[must_use]
    pub fn total(&self) -> Total {
        let (arrivals_ok, denied, _) = self.arrival_counts();
        Total {
            arrivals: self.journeys.iter().map(|journey| journey.total.count()).sum(),
            ok: arrivals_ok,
            denied,
            // A journey in flight has not failed, but its request has.
            errors: self.journeys.iter().map(|journey| journey.total.errors.max(journey.requests().errors)).sum(),
            not_sent: self.journeys.iter().map(|journey| journey.not_sent).sum(),
            retried: self.retried,
            resent: self.resent,
        }
    }

    /// Whether an operation is a single request: a step, or a journey without separate steps.
    pub(crate) fn is_request(&self, op: OpId) -> bool {
        op.step.is_some() == self.journeys.get(op.journey).is_some_and(|journey| !journey.steps.is_empty())
    }

    /// The figures of every journey. Throughput is taken over the seconds in which the journey was driven, which
    /// `active_s` gives by its index.
    #[must_use]
    pub fn journeys(&self, active_s: &dyn Fn(usize) -> Option<f64>, basis: Basis) -> BTreeMap<String, JourneyFigures> {
        let all = self.journeys.iter().enumerate();
        all.map(|(index, journey)| (journey.name.clone(), journey.figures(basis).with_rates(active_s(index)))).collect()
    }

    /// Pushed frames by name: every named push, and frames that match none if there were any.
    #[must_use]
    pub fn pushes(&self, basis: Basis) -> BTreeMap<String, PushFigures> {
        let seen = self.pushes.iter().filter(|(name, aggregate)| name != OTHER_PUSH || aggregate.frames > 0);
        seen.map(|(name, aggregate)| (name.clone(), aggregate.figures(basis))).collect()
    }

    /// How long workers have paused, all together.
    pub(crate) fn paused_total(&self) -> Duration {
        self.pauses.total()
    }

    /// The generator's own figures: schedule lag, arrivals that waited for a slot, arrivals never sent.
    #[must_use]
    pub fn generator(&self, lag_p99_max: Duration) -> GeneratorFigures {
        GeneratorFigures {
            schedule_lag_ms: self.lag.statistics_ms(),
            lag_p99_max_ms: round(lag_p99_max.as_secs_f64() * 1000.0),
            arrivals: self.journeys.iter().map(|journey| journey.total.count()).sum(),
            capped: self.waited_for_slot,
            behind_pauses: self.waited_behind_pauses,
            pauses: self.pauses.figures(),
            unrecorded: None,
            not_sent: self.journeys.iter().map(|journey| journey.not_sent).sum(),
            not_sent_behind_pauses: self.journeys.iter().map(|journey| journey.not_sent_behind_pauses).sum(),
            abandoned: self.abandoned,
            requests: self.request_counts().total(),
            connects: self.connects,
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
            cpu_s: None,
            rss_bytes: None,
        }
    }

    /// Errors by journey, step and kind.
    #[must_use]
    pub fn errors(&self) -> Vec<ErrorGroup> {
        let group = |(key, (count, samples)): (&ErrorKey, &(u64, Vec<String>))| {
            let journey = &self.journeys[key.journey];
            let mut samples = samples.iter().cloned();
            ErrorGroup {
                journey: journey.name.clone(),
                step: journey.steps.get(key.step).map(|(name, _)| name.clone()),
                kind: key.kind.to_string(),
                count: *count,
                sample: samples.next().unwrap_or_default(),
                more_samples: samples.collect(),
            }
        };
        self.errors.iter().filter(|(key, _)| key.journey < self.journeys.len()).map(group).collect()
    }
}

/// The time that the spans cover together: they may overlap, and there may be gaps between them. None if there are
/// none.
fn covered_s(mut spans: Vec<(f64, f64)>) -> Option<f64> {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut until) = (0.0, f64::NEG_INFINITY);
    for (start, end) in spans {
        sum += (end - start.max(until)).max(0.0);
        until = until.max(end);
    }
    (until > f64::NEG_INFINITY).then_some(sum)
}

/// Seconds in which a journey was driven: in load steps of its phases, or while connections were opened with it.
#[must_use]
pub fn journey_active_s(scenario: &Scenario, load_steps: &[LoadStepFigures], journey: usize) -> Option<f64> {
    let of = |takes: fn(&Phase, usize) -> bool| {
        let drives = move |load_step: &&LoadStepFigures| {
            scenario.phases.iter().any(|p| p.name == load_step.phase && takes(p, journey))
        };
        load_steps.iter().filter(drives)
    };
    let driven = of(|phase, journey| phase.journey_index == journey)
        .map(|load_step| (load_step.start_s, load_step.start_s + load_step.length_s));
    let opened = of(|phase, journey| phase.opening_journey == Some(journey)).filter_map(|load_step| {
        let held = load_step.connections.as_ref()?;
        Some((held.from_s, held.from_s + held.opening_s?))
    });
    covered_s(driven.chain(opened).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measurement::{Awaited, OpStats};

    fn empty() -> Aggregate {
        let journey = |name: &str| Journey { name: name.to_owned(), ..Journey::default() };
        Aggregate::new(&[journey("a"), journey("b")])
    }

    /// An interval with one exchange: the journey, wait and service time in microseconds, and the class.
    fn interval((journey, wait, service, class): (usize, u64, u64, u8)) -> Interval {
        let mut stats = OpStats::new(0, OpId { journey, step: None });
        let mut interval = Interval::default();
        let latency = wait + service;
        match class {
            0 => stats.denied += 1,
            1 => stats.errors += 1,
            _ => stats.ok += 1,
        }
        match class {
            0 | 1 => stats.failed_us.record(latency).unwrap(),
            _ => {
                stats.latency_us.record(latency).unwrap();
                stats.service_us.record(service).unwrap();
            }
        }
        if class == 1 {
            let (kind, samples) = (ErrorKind::Timeout(Awaited::Body), vec!["late".to_owned()]);
            interval.errors.push(ErrorStats { journey, step: 0, kind, count: 1, samples });
        }
        interval.ops.push(stats);
        interval
    }

    fn intervals() -> impl Strategy<Value = Vec<Interval>> {
        let row = (0usize..2, 0u64..10_000, 0u64..100_000, 0u8..6).prop_map(interval);
        prop::collection::vec(row, 0..60)
    }

    fn aggregate<'a>(intervals: impl IntoIterator<Item = &'a Interval>) -> Aggregate {
        let mut aggregate = empty();
        intervals.into_iter().for_each(|interval| aggregate.add(interval));
        aggregate
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_order_of_intervals_does_not_matter(intervals in intervals(), seed in any::<u64>()) {
            let mut shuffled: Vec<(usize, &Interval)> = intervals.iter().enumerate().collect();
            shuffled.sort_by_key(|(index, _)| crate::scenario::mix(seed, *index as u64));
            let (ordered, shuffled) = (aggregate(&intervals), aggregate(shuffled.into_iter().map(|(_, interval)| interval)));
            prop_assert_eq!(format!("{:?}", ordered.journeys(&|_| None, Basis::Measured)), format!("{:?}", shuffled.journeys(&|_| None, Basis::Measured)));
            prop_assert_eq!(ordered.errors(), shuffled.errors());
        }
    }

    #[test]
    fn waiting_counts_in_latency_and_not_in_service() {
        let aggregate = aggregate(&[interval((0, 500, 200, 5))]);
        let op = &aggregate.journeys(&|_| None, Basis::Measured)["a"].op;
        assert_eq!((op.latency_ms.max, op.service_ms.max), (Some(0.7), Some(0.2)));
    }

    #[test]
    fn a_denial_does_not_improve_the_latency() {
        let aggregate = aggregate(&[interval((0, 0, 900, 5)), interval((0, 0, 1, 0)), interval((0, 0, 1, 1))]);
        let op = &aggregate.journeys(&|_| None, Basis::Measured)["a"].op;
        assert_eq!((op.count, op.ok, op.denied, op.errors), (3, 1, 1, 1));
        assert_eq!((op.latency_ms.count, op.latency_ms.min, op.failed_ms.count), (1, Some(0.9), 2));
    }

    #[test]
    fn gaps_and_overlaps_do_not_count_as_time() {
        assert_eq!(covered_s(vec![(10.0, 11.0), (0.0, 2.0), (1.0, 3.0)]), Some(4.0));
        assert_eq!((covered_s(vec![(4.0, 13.0)]), covered_s(Vec::new())), (Some(9.0), None));
    }

    /// One journey, `a`, with this number of steps.
    fn journeys(steps: usize) -> Vec<Journey> {
        let head = "format = 1\nname = \"x\"\nsummary = \"x\"\n[target]\nurl = \"http://127.0.0.1:1\"\n\
                    [[phase]]\nname = \"p\"\narrivals = { clients = 1, for = \"1s\" }\njourney = \"a\"\n\
                    [[journey]]\nname = \"a\"\n";
        // Not in alphabetical order.
        let step = |step| format!("[[journey.step]]\nname = \"s{}\"\nrequest = \"GET /\"\n", 9 - step);
        let text = head.to_owned() + &(0..steps).map(step).collect::<String>();
        Scenario::read(&crate::scenario::Document::parse(&text).unwrap()).unwrap().journeys
    }

    #[test]
    fn steps_are_in_the_order_of_the_scenario() {
        let figures = Aggregate::new(&journeys(3)).journeys(&|_| None, Basis::Measured);
        let text = serde_json::to_string(&figures).unwrap();
        let back: BTreeMap<String, JourneyFigures> = serde_json::from_str(&text).unwrap();
        assert_eq!(back["a"].steps.keys().collect::<Vec<_>>(), ["s9", "s8", "s7"]);
    }

    /// Checks an aggregate of one journey. `ops` has the step, ok responses and errors; `expected` the requests that
    /// have ended, the ok ones among them, and whether a step is a request.
    #[track_caller]
    fn check_requests(steps: usize, ops: &[(Option<usize>, u64, u64)], expected: (u64, u64, bool)) {
        let mut aggregate = Aggregate::new(&journeys(steps));
        let op_stats = |(step, ok, errors): &(Option<usize>, u64, u64)| OpStats {
            ok: *ok,
            errors: *errors,
            ..OpStats::new(0, OpId { journey: 0, step: *step })
        };
        aggregate.add(&Interval { ops: ops.iter().map(op_stats).collect(), ..Interval::default() });
        let figures = &aggregate.journeys(&|_| Some(2.0), Basis::Measured)["a"];
        let (requests, ok, of_steps) = expected;
        assert_eq!((figures.requests, figures.answered_per_s), (requests, Some(ok as f64 / 2.0)));
        assert_eq!((aggregate.request_counts().total(), aggregate.request_counts().ok), (requests, ok));
        assert_eq!(aggregate.is_request(OpId { journey: 0, step: Some(0) }), of_steps);
        assert_eq!(aggregate.is_request(OpId { journey: 0, step: None }), !of_steps);
    }

    #[test]
    fn requests_count_before_their_journey_has_ended() {
        check_requests(2, &[(Some(0), 7, 0), (Some(1), 5, 1)], (13, 12, true));
        check_requests(2, &[(Some(0), 1, 0), (Some(1), 1, 0), (None, 1, 0)], (2, 2, true));
        check_requests(1, &[(None, 4, 2)], (6, 4, false));
        check_requests(2, &[], (0, 0, true));
    }

    #[test]
    fn throughput_needs_a_duration() {
        let aggregate = aggregate(&[interval((0, 0, 9000, 5)), interval((0, 0, 9000, 5))]);
        let throughput =
            |active_s: Option<f64>| aggregate.journeys(&|_| active_s, Basis::Measured)["a"].throughput_per_s;
        assert_eq!((throughput(Some(4.0)), throughput(Some(0.0)), throughput(None)), (Some(0.5), None, None));
    }
}
