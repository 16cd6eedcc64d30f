//! The aggregate: intervals in, figures out. Pure and mergeable, in constant memory; the same intervals give the same
//! figures in any order. Does not know clocks, files and whether a figure is good.

mod figure_paths;
mod figures;
mod gaps;
mod journey;
mod results;
mod series;
mod summary;
mod timeline;

use std::collections::BTreeMap;
use std::time::Duration;

pub use figure_paths::figure;
pub(crate) use figure_paths::{figure_below, found};
pub(crate) use gaps::PauseAggregate;
pub use gaps::{PauseFigures, Span, Spans, Unrecorded};
pub(crate) use journey::{JourneyAggregate, PhaseAggregate};
pub use journey::{journey_active_s, phase_figures};
pub use results::{
    ErrorGroup, GeneratorFigures, HeldFigures, JourneyFigures, LoadStepFigures, ObservedFigure, OpFigures,
    PhaseFigures, ProcessFigures, PushFigures, Results, Rss, ServerFigures, Total, TotalsFigures, WorkFigures,
};
pub use series::{DrainCurve, Series, SeriesBucket};
pub use summary::{PERCENTILES, Percentile, Statistics, Summary};
pub use timeline::{LoadStepSpan, Timeline, observer_figures};
pub(crate) use timeline::{Outage, seconds_in_unit};

use crate::format::round;
use crate::limits::ERROR_GROUPS_MAX;
use crate::measurement::{
    Basis, ErrorKind, ErrorStats, Interval, OpId, OutcomeCounts, PushStats, TimeHistogram, keep_sample,
};
use crate::scenario::message::OTHER_PUSH;
use crate::scenario::{Journey, Push};

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
    pushes: Vec<(String, PushStats)>,
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
        Self { pushes: names.map(|name| (name, PushStats::default())).collect(), ..self }
    }

    pub fn add(&mut self, interval: &Interval) {
        for (push, pushed) in &interval.pushes {
            if let Some((_, all)) = self.pushes.get_mut(*push) {
                all.merge(pushed);
            }
        }
        for (key, stats) in &interval.ops {
            if let Some(journey) = self.journeys.get_mut(key.op.journey) {
                journey.add(key.op, stats);
            }
        }
        interval.lag.iter().for_each(|lag| self.lag.merge(lag));
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

    /// Arrivals that have ended.
    #[must_use]
    pub fn arrival_counts(&self) -> OutcomeCounts {
        self.journeys.iter().map(|journey| journey.total.counts).sum()
    }

    /// Arrivals that were sent and abandoned when the trial was ended.
    #[must_use]
    pub fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// Requests that have ended, of all journeys.
    #[must_use]
    pub fn request_counts(&self) -> OutcomeCounts {
        self.journeys.iter().map(JourneyAggregate::requests).sum()
    }

    /// Everything that arrived. On the basis without the generator's delays, arrivals that it held up do not count as not sent.
    #[must_use]
    pub fn total(&self, basis: Basis) -> Total {
        let mut arrivals = self.arrival_counts();
        let held_up: u64 = match basis {
            Basis::Measured => 0,
            Basis::WithoutLab => self.journeys.iter().map(|journey| journey.not_sent_behind_pauses).sum(),
        };
        arrivals.ok += held_up;
        let errors = |journey: &JourneyAggregate| journey.total.counts.errors.max(journey.requests().errors);
        Total {
            arrivals: arrivals.total(),
            ok: arrivals.ok,
            denied: arrivals.denied,
            // A journey in flight has not failed, but its request has.
            errors: self.journeys.iter().map(errors).sum(),
            not_sent: self.journeys.iter().map(|journey| journey.not_sent).sum::<u64>() - held_up,
            retried: self.retried,
            resent: self.resent,
        }
    }

    /// The name of an operation in rows: `create_game`, or `create_game.steps.post`.
    pub(crate) fn op_name(&self, op: OpId) -> String {
        let Some(journey) = self.journeys.get(op.journey) else { return String::new() };
        match op.step.and_then(|step| journey.steps.get(step)) {
            None => journey.name.clone(),
            Some((step, _)) => format!("{}.steps.{step}", journey.name),
        }
    }

    /// The name of a push in rows.
    pub(crate) fn push_op_name(&self, push: usize) -> String {
        self.pushes.get(push).map_or_else(String::new, |(name, _)| format!("push.{name}"))
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
        let seen = self.pushes.iter().filter(|(name, pushed)| name != OTHER_PUSH || pushed.frames > 0);
        seen.map(|(name, pushed)| (name.clone(), pushed.figures(basis))).collect()
    }

    /// How long workers have paused, all together.
    pub(crate) fn paused_total(&self) -> Duration {
        self.pauses.total()
    }

    /// The generator's own figures: schedule lag, arrivals that waited for a slot, arrivals never sent.
    #[must_use]
    pub fn generator(&self, lag_p99_max: Duration) -> GeneratorFigures {
        GeneratorFigures {
            schedule_lag_ms: self.lag.statistics_ms(Basis::Measured),
            lag_p99_max_ms: round(lag_p99_max.as_secs_f64() * 1000.0),
            arrivals: self.arrival_counts().total(),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measurement::{Awaited, OpKey, OpStats};
    use crate::scenario::Scenario;

    fn empty() -> Aggregate {
        let journey = |name: &str| Journey { name: name.to_owned(), ..Journey::default() };
        Aggregate::new(&[journey("a"), journey("b")])
    }

    /// An interval with one exchange: the journey, wait and service time in microseconds, and the class.
    fn interval((journey, wait, service, class): (usize, u64, u64, u8)) -> Interval {
        let (mut stats, mut interval) = (OpStats::default(), Interval::default());
        let [latency, service] = [wait + service, service].map(Duration::from_micros);
        match class {
            0 => stats.counts.denied += 1,
            1 => stats.counts.errors += 1,
            _ => stats.counts.ok += 1,
        }
        match class {
            0 | 1 => stats.failed.record(latency, None),
            _ => {
                stats.latency.record(latency, None);
                stats.service.record(service, None);
            }
        }
        if class == 1 {
            let (kind, samples) = (ErrorKind::Timeout(Awaited::Body), vec!["late".to_owned()]);
            interval.errors.push(ErrorStats { journey, step: 0, kind, count: 1, samples });
        }
        interval.ops.push((OpKey { load_step: 0, op: OpId { journey, step: None } }, stats));
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
        let op_stats = |(step, ok, errors): &(Option<usize>, u64, u64)| {
            let counts = OutcomeCounts { ok: *ok, denied: 0, errors: *errors };
            (OpKey { load_step: 0, op: OpId { journey: 0, step: *step } }, OpStats { counts, ..OpStats::default() })
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
