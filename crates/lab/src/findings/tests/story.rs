//! A run as it might have been, second by second, written as the rows of a timeline and aggregated like any other. What
//! a test does not mention is healthy: shapes and sizes are those of runs of our own server.

use std::collections::BTreeMap;

use crate::aggregate::{ErrorGroup, JourneyFigures, LoadStepFigures, Results, Timeline, WorkFigures};
use crate::cgroup::LimitStats;
use crate::findings::{CurrentOutage, Finding, FindingsInput, ProcessExit, find_bottlenecks};
use crate::machine::Machine;
use crate::measurement::timeline::{
    FaultRow, OpRow, PauseRow, Percentiles, SamplerRow, SilenceRow, TimelineRow, WorkRow,
};
use crate::measurement::{OutcomeCounts, WorkPoint};
use crate::scenario::{MetricRoles, TargetLimits};

/// Seconds of a story.
pub(super) const SECONDS: u64 = 60;

/// When the load of a usual story rises from low to high.
pub(super) const BUSY_FROM: u64 = 15;

/// Metrics of our own server.
pub(super) const POOL: &str = "gauntlet_store_pool_wait_seconds";
pub(super) const QUERY: &str = "gauntlet_store_query_seconds";
pub(super) const COMMIT: &str = "gauntlet_store_commit_seconds";
pub(super) const COMMIT_WAIT: &str = "gauntlet_store_commit_wait_seconds";
pub(super) const SCHEDULER: &str = "gauntlet_scheduler_delay_seconds";
pub(super) const CALL: &str = "gauntlet_bot_call_seconds";
pub(super) const PERMIT: &str = "gauntlet_bot_permit_wait_seconds";
pub(super) const LATE: &str = "gauntlet_late_moves_total";

/// One second of a run.
#[derive(Clone, Debug)]
pub(super) struct StorySecond {
    pub(super) ok: u64,
    pub(super) denied: u64,
    pub(super) errors: u64,
    pub(super) service_ms: f64,
    /// Beyond the service time.
    pub(super) wait_ms: f64,
    pub(super) in_flight: u64,
    /// Times by metric: count, and mean in milliseconds.
    pub(super) times: BTreeMap<&'static str, (f64, f64)>,
    /// Counters by metric: their rise.
    pub(super) counters: BTreeMap<&'static str, f64>,
    pub(super) gauges: BTreeMap<&'static str, f64>,
    pub(super) server_cores: f64,
    pub(super) lab_cores: f64,
    pub(super) bots_cores: f64,
    pub(super) rss_mib: f64,
    pub(super) open_files: f64,
    /// Of the target.
    pub(super) processes: f64,
    /// Of the machine's two cores.
    pub(super) machine: BTreeMap<&'static str, f64>,
    pub(super) waiting: u64,
    pub(super) running: u64,
    pub(super) finished: u64,
    pub(super) stuck: u64,
}

/// A run.
#[derive(Clone, Debug)]
pub(super) struct Story {
    pub(super) seconds: Vec<StorySecond>,
    pub(super) results: Results,
    pub(super) load_steps: Vec<LoadStepFigures>,
    pub(super) errors: Vec<ErrorGroup>,
    pub(super) faults: Vec<FaultRow>,
    /// Silences in addition to those that whole seconds show: from, to.
    pub(super) silences: Vec<(f64, f64)>,
    /// Pauses of the lab's first worker.
    pub(super) pauses: Vec<PauseRow>,
    pub(super) metric_roles: MetricRoles,
    pub(super) machine: Machine,
    pub(super) limits: TargetLimits,
    pub(super) limit_counters: LimitStats,
    pub(super) process_exits: Vec<ProcessExit>,
    /// Whether the timeline has metrics of the target.
    pub(super) has_metrics: bool,
    pub(super) denies_by_status: bool,
}

impl StorySecond {
    /// A healthy second with this many successful responses: 5 ms each, of which little is spent in any one part.
    fn with(ok: u64) -> Self {
        let rate = ok as f64;
        let times = [
            (POOL, (2.0 * rate, 0.08)),
            (QUERY, (2.0 * rate, 1.2)),
            (COMMIT_WAIT, (rate, 0.2)),
            (COMMIT, (rate, 0.8)),
            (SCHEDULER, (90.0, 1.15)),
            (CALL, (40.0 * rate, 20.9)),
            (PERMIT, (40.0 * rate, 0.0)),
        ];
        Self {
            ok,
            denied: 0,
            errors: 0,
            service_ms: 5.0,
            wait_ms: 1.0,
            in_flight: u64::from(ok > 50),
            times: times.into(),
            counters: [(LATE, 0.0)].into(),
            gauges: BTreeMap::new(),
            server_cores: 0.3,
            lab_cores: 0.1,
            bots_cores: 0.1,
            rss_mib: 20.0,
            open_files: 40.0,
            processes: 1.0,
            machine: [("busy_share", 0.3), ("steal_share", 0.0)].into(),
            waiting: 0,
            running: ok / 5,
            finished: 0,
            stuck: 0,
        }
    }

    pub(super) fn add_timing(&mut self, metric: &'static str, mean_ms: f64) {
        self.times.entry(metric).or_insert((100.0, 0.0)).1 = mean_ms;
    }

    /// Requests take this much longer, and correspondingly more of them are in flight.
    pub(super) fn add_wait(&mut self, by_ms: f64) {
        self.service_ms += by_ms;
        self.in_flight = (self.ok as f64 * self.service_ms / 1000.0).ceil() as u64;
    }
}

impl Story {
    /// A run of healthy seconds of that rate, each changed by `tell`.
    pub(super) fn from_rate(rate: impl Fn(u64) -> u64, tell: impl Fn(u64, &mut StorySecond)) -> Self {
        let mut finished = 0;
        let seconds = (0..SECONDS).map(|t| {
            let mut second = StorySecond::with(rate(t));
            finished += second.running;
            second.finished = finished;
            tell(t, &mut second);
            second
        });
        let seconds: Vec<StorySecond> = seconds.collect();
        let machine =
            Machine { cores: Some(2), memory_bytes: Some(24 << 30), fsync_ms_p50: Some(0.25), ..Machine::default() };
        let mut story = Self {
            seconds,
            results: Results::default(),
            load_steps: Vec::new(),
            errors: Vec::new(),
            faults: Vec::new(),
            silences: Vec::new(),
            pauses: Vec::new(),
            metric_roles: MetricRoles::new(),
            machine,
            limits: TargetLimits::default(),
            limit_counters: LimitStats::default(),
            process_exits: Vec::new(),
            has_metrics: true,
            denies_by_status: true,
        };
        story.results = story.figures();
        story
    }

    /// Low load, then ten times as much; `tell` changes the seconds of high load.
    pub(super) fn busy(tell: impl Fn(u64, &mut StorySecond)) -> Self {
        let rate = |t| if t < BUSY_FROM { 10 } else { 100 };
        Self::from_rate(rate, |t, second| {
            if t >= BUSY_FROM {
                tell(t, second);
            }
        })
    }

    /// Changes what no metric of the target shows.
    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Recomputes the figures after the seconds were changed.
    pub(super) fn update_results(&mut self) {
        self.results = self.figures();
    }

    /// The figures that the seconds add up to.
    fn figures(&self) -> Results {
        let sum = |of: &dyn Fn(&StorySecond) -> u64| self.seconds.iter().map(of).sum::<u64>();
        let mut results = Results::default();
        let mut journey = JourneyFigures::default();
        (journey.op.ok, journey.op.denied) = (sum(&|second| second.ok), sum(&|second| second.denied));
        journey.op.errors = sum(&|second| second.errors);
        journey.op.count = journey.op.ok + journey.op.denied + journey.op.errors;
        let spent: f64 = self.seconds.iter().map(|second| second.ok as f64 * second.service_ms).sum();
        journey.op.service_ms.avg = Some(spent / journey.op.ok.max(1) as f64);
        results.journeys.insert("create".to_owned(), journey);
        let last = self.seconds.last().expect("a story has seconds");
        let mut work = WorkFigures { finished: last.finished, running: last.running, ..WorkFigures::default() };
        (work.waiting, work.stuck) = (last.waiting, last.stuck);
        work.created = last.finished + last.running + last.waiting + last.stuck;
        (work.queue_wait_s.avg, work.run_s.avg) = (Some(0.01), Some(2.3));
        results.work.insert("game".to_owned(), work);
        results.generator.lag_p99_max_ms = 100.0;
        results.generator.schedule_lag_ms.p99 = Some(2.0);
        results.generator.arrivals = results.journeys["create"].op.count;
        results
    }

    pub(super) fn timeline(&self) -> Timeline {
        let mut timeline = Timeline::default();
        self.write_rows(&mut timeline);
        for (t_s, until_s) in self.silences.iter().copied() {
            timeline.add(&TimelineRow::Silence(SilenceRow { t_s, until_s, under_way: 2 }));
        }
        self.faults.iter().for_each(|fault| timeline.add(&TimelineRow::Fault(fault.clone())));
        self.pauses.iter().for_each(|pause| timeline.add(&TimelineRow::Pause(*pause)));
        timeline.close();
        timeline
    }

    /// The current outage after its first seconds, when its faults and pauses are known.
    pub(super) fn outage_after(&self, seconds: usize) -> Option<String> {
        let mut timeline = Timeline::default();
        self.faults.iter().for_each(|fault| timeline.add(&TimelineRow::Fault(fault.clone())));
        self.pauses.iter().for_each(|pause| timeline.add(&TimelineRow::Pause(*pause)));
        let begun = Self { seconds: self.seconds[..seconds].to_vec(), ..self.clone() };
        begun.write_rows(&mut timeline);
        CurrentOutage::find(&timeline, &["create"]).map(|outage| outage.to_string())
    }

    fn write_rows(&self, timeline: &mut Timeline) {
        let mut totals = StoryCounters::default();
        let mut silent_s = None;
        for (t, second) in self.seconds.iter().enumerate() {
            let t_s = t as f64;
            timeline.add(&TimelineRow::Op(op_row(t_s, second)));
            timeline.add(&TimelineRow::Sample(self.sampler_row(t_s, second, &totals)));
            let is_silent = second.in_flight > 0 && second.ok + second.denied + second.errors == 0;
            silent_s = is_silent.then(|| silent_s.unwrap_or(t_s));
            let row = |t_s| SilenceRow { t_s, until_s: t as f64 + 1.0, under_way: second.in_flight };
            silent_s.into_iter().for_each(|t_s| timeline.add(&TimelineRow::Silence(row(t_s))));
            timeline.add(&TimelineRow::Work(work_row(t_s, second)));
            totals.add(second);
        }
    }

    fn sampler_row(&self, t_s: f64, second: &StorySecond, totals: &StoryCounters) -> SamplerRow {
        let owned = |(name, value): (&&str, &f64)| ((*name).to_owned(), *value);
        let process = |cpu_s: f64, rss_mib: f64| {
            let figures = [
                ("rss_bytes", rss_mib * 1048576.0),
                ("cpu_s", cpu_s),
                ("open_files", second.open_files),
                ("processes", second.processes),
            ];
            figures.map(|(name, value)| (name.to_owned(), value)).into()
        };
        let [server, lab, bots] = totals.cpu_s;
        let mut metrics: BTreeMap<String, f64> = second.gauges.iter().map(owned).collect();
        metrics.extend(totals.metrics.clone());
        SamplerRow {
            t_s,
            in_flight: second.in_flight,
            processes: [
                ("server", process(server, second.rss_mib)),
                ("generator", process(lab, 10.0)),
                ("bots", process(bots, 15.0)),
            ]
            .map(|(name, figures)| (name.to_owned(), figures))
            .into(),
            machine: second.machine.iter().map(owned).collect(),
            metrics: if self.has_metrics { metrics } else { BTreeMap::new() },
            ..SamplerRow::default()
        }
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let timeline = self.timeline();
        let mut results = self.results.clone();
        results.server.limits_seen = Some(self.limit_counters);
        find_bottlenecks(&FindingsInput {
            results: &results,
            load_steps: &self.load_steps,
            errors: &self.errors,
            timeline: &timeline,
            metric_roles: &self.metric_roles,
            machine: &self.machine,
            limits: self.limits,
            process_exits: &self.process_exits,
            workers: 1,
            denies_by_status: self.denies_by_status,
        })
    }
}

/// The current values of counters.
#[derive(Default)]
struct StoryCounters {
    metrics: BTreeMap<String, f64>,
    cpu_s: [f64; 3],
}

impl StoryCounters {
    fn add(&mut self, second: &StorySecond) {
        let mut add = |name: String, value: f64| *self.metrics.entry(name).or_insert(0.0) += value;
        for (metric, (count, mean_ms)) in &second.times {
            add(format!("{metric}_count"), *count);
            add(format!("{metric}_sum"), count * mean_ms / 1000.0);
        }
        second.counters.iter().for_each(|(metric, rise)| add((*metric).to_owned(), *rise));
        let used = [second.server_cores, second.lab_cores, second.bots_cores];
        self.cpu_s.iter_mut().zip(used).for_each(|(total, cores)| *total += cores);
    }
}

fn op_row(t_s: f64, second: &StorySecond) -> OpRow {
    let spread =
        |ms: f64| (second.ok > 0).then_some(Percentiles { p50: ms, p90: 1.5 * ms, p99: 2.0 * ms, max: 3.0 * ms });
    OpRow {
        t_s,
        op: "create".to_owned(),
        counts: OutcomeCounts { ok: second.ok, denied: second.denied, errors: second.errors },
        latency_ms: spread(second.service_ms + second.wait_ms),
        service_ms: spread(second.service_ms),
        ..OpRow::default()
    }
}

fn work_row(t_s: f64, second: &StorySecond) -> WorkRow {
    let StorySecond { waiting, running, finished, stuck, .. } = *second;
    WorkRow {
        work: "game".to_owned(),
        point: WorkPoint { t_s, waiting, running, finished, failed: 0, stuck, unknown: 0 },
        poll_errors: 0,
    }
}
