//! The load generator over real sockets, against a target that does byte by byte what a test says. The harness checks
//! two invariants for every run: each arrival that was due is exactly one of ok, denied, error, not sent and abandoned,
//! and each worker reports each load step as done exactly once.

mod connections;
mod control_client;
mod hold;
mod journeys;
mod messages;
mod open;
mod pauses;
mod processes;
mod schedule;
mod tls;
mod waiting;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;
use lab::generator::{
    Gauges, GeneratorConfig, MonotonicTime, RunInputs, Segment, StartedWork, WorkerPool, WorkerReport,
};
use lab::measurement::{ErrorKind, ErrorStats, HeldCounts, HeldStats, Interval, OpId, OutcomeCounts};
use lab::plan::{LoadSpec, Schedule};
use lab::scenario::{Document, OpeningSpec, PerClientLimit, Reconnect, Scenario};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::scripted_server::ScriptedServer;

const HEADING: &str = r#"
format = 1
name = "engine"
summary = "What a test wants"
[target]
url = "http://127.0.0.1:1"
[[phase]]
name = "p"
arrivals = { batch = 1 }
in_flight_max = 1
journey = "visit"
[work.game]
status = "POST /status"
ids = "ids"
bulk = 5
stuck_after = "60s"
id = "/id"
state = { at = "/state", waiting = "w", running = "r", finished = "f", failed = "x" }
[[journey]]
name = "visit"
"#;

/// An address without a listener. A port that was free a moment ago may be in use by now.
pub(super) const UNUSED_ADDRESS: &str = "127.0.0.1:1";

/// A running test.
pub(super) struct Harness {
    pub(super) worker_pool: WorkerPool,
    reports: RefCell<UnboundedReceiver<WorkerReport>>,
    load_specs: Vec<LoadSpec>,
    workers: u32,
    /// The results so far.
    results: RefCell<HarnessResults>,
}

/// What the workers have reported, all intervals added up.
#[derive(Debug, Default)]
pub(super) struct HarnessResults {
    pub(super) intervals: Vec<Interval>,
    pub(super) started_work: Vec<StartedWork>,
    pub(super) finished_steps: Vec<(u32, u32, u64)>,
    /// Worker, load step and time of each report that its connections are open.
    pub(super) opened: Vec<(u32, u32, Duration)>,
    pub(super) ended: u32,
}

/// A journey of these steps, written in TOML.
pub(super) fn scenario(steps: &str) -> Scenario {
    Scenario::read(&document(steps)).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

pub(super) fn document(steps: &str) -> Document {
    Document::parse(&format!("{HEADING}{steps}")).unwrap()
}

/// A journey of one GET.
pub(super) fn visit() -> Scenario {
    scenario("[[journey.step]]\nrequest = \"GET /\"\ntimeout = \"20s\"")
}

pub(super) fn generator_config(scenario: Scenario, address: SocketAddr) -> GeneratorConfig {
    GeneratorConfig {
        scenario: Arc::new(scenario),
        inputs: RunInputs {
            addresses: vec![address],
            globals: BTreeMap::from([("run.id".to_owned(), "the-run".to_owned())]),
            run_id: "the-run".to_owned(),
            start: MonotonicTime::now(),
            writes_samples: true,
            ..RunInputs::default()
        },
        segment: Segment::whole(1),
        processes: None,
    }
}

/// Longer than any test.
pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// So many connections, and a rate over them.
pub(super) fn hold(connections: u64, rate_per_s: Option<f64>, lasting: Duration) -> LoadSpec {
    load_spec(Schedule::Hold { connections, opening: OpeningSpec::default(), rate_per_s, lasting }, 1)
}

pub(super) fn load_spec(schedule: Schedule, in_flight_max: u64) -> LoadSpec {
    let (start, reconnect) = (Duration::ZERO, Reconnect::Never);
    LoadSpec {
        phase_index: 0,
        journey_index: 0,
        load_step: 0,
        start,
        schedule,
        in_flight_max,
        reconnect,
        opening_journey_index: None,
        resumes_phase: None,
        leaves_open: false,
        seed: 7,
    }
}

pub(super) fn burst(batch: u64) -> Schedule {
    Schedule::Bursts { batch, every: Duration::ZERO, times: 1 }
}

pub(super) fn rate(rate_per_s: f64, ms: u64) -> Schedule {
    Schedule::ConstantRate { rate_per_s, lasting: Duration::from_millis(ms) }
}

pub(super) fn clients(clients: u64, requests: u64) -> Schedule {
    Schedule::ClosedLoop { clients, each: PerClientLimit::Requests(requests) }
}

/// Drives one load to its end.
pub(super) fn run_load(scenario: Scenario, target: &ScriptedServer, spec: LoadSpec, workers: u32) -> HarnessResults {
    Harness::start(generator_config(scenario, target.address), vec![spec], workers).run_to_end()
}

impl Harness {
    pub(super) fn start(config: GeneratorConfig, specs: Vec<LoadSpec>, workers: u32) -> Self {
        let config = GeneratorConfig { segment: Segment::whole(workers), ..config };
        let (pool, reports) = WorkerPool::start(config).unwrap();
        specs.iter().for_each(|spec| pool.start_load(spec.clone()));
        let workers = pool.worker_count() as u32;
        Self {
            worker_pool: pool,
            reports: RefCell::new(reports),
            load_specs: specs,
            workers,
            results: RefCell::default(),
        }
    }

    /// Takes a report. As in a trial, the requests of a load that holds connections start once every worker has
    /// reported that its connections are open.
    fn handle_report(&self, report: WorkerReport) {
        let opened = if let WorkerReport::ConnectionsOpen { load_step, .. } = report { Some(load_step) } else { None };
        let mut results = self.results.borrow_mut();
        results.add_report(report);
        let Some(load_step) = opened else { return };
        let all: Vec<Duration> =
            results.opened.iter().filter(|opened| opened.1 == load_step).map(|opened| opened.2).collect();
        if all.len() == self.workers as usize {
            self.worker_pool.start_requests(load_step, all.into_iter().max().unwrap());
        }
    }

    fn handle_next_report(&self) {
        let report = self.reports.borrow_mut().blocking_recv().unwrap();
        self.handle_report(report);
    }

    /// The message with which a worker fails.
    pub(super) fn run_until_failure(self) -> String {
        loop {
            if let WorkerReport::WorkerFailed { message, .. } = self.reports.borrow_mut().blocking_recv().unwrap() {
                return message;
            }
        }
    }

    /// Adds a load once a load step is over at all workers.
    pub(super) fn add_load(&mut self, load_step: u32, spec: LoadSpec) {
        let is_over = |results: &HarnessResults| {
            results.finished_steps.iter().filter(|over| over.1 == load_step).count() == self.workers as usize
        };
        while !is_over(&self.results.borrow()) {
            self.handle_next_report();
        }
        self.worker_pool.start_load(spec.clone());
        self.load_specs.push(spec);
    }

    /// Waits until everything is over, and then stops the pool.
    pub(super) fn run_to_end(self) -> HarnessResults {
        let all = self.load_steps().len() * self.workers as usize;
        while self.results.borrow().finished_steps.len() < all {
            self.handle_next_report();
        }
        self.worker_pool.stop(Duration::ZERO);
        self.finish()
    }

    /// Stops the pool now.
    pub(super) fn stop(self, grace: Duration) -> HarnessResults {
        self.worker_pool.stop(grace);
        self.finish()
    }

    fn finish(self) -> HarnessResults {
        while self.results.borrow().ended < self.workers {
            self.handle_next_report();
        }
        let gauges = self.worker_pool.gauges();
        let results = self.results.take();
        results.check_accounting(gauges);
        let mut finished: Vec<(u32, u32)> =
            results.finished_steps.iter().map(|(worker, load_step, _)| (*worker, *load_step)).collect();
        finished.sort_unstable();
        let expected: BTreeSet<(u32, u32)> = (0..self.workers)
            .flat_map(|worker| self.load_steps().into_iter().map(move |load_step| (worker, load_step)))
            .collect();
        assert!(finished.iter().copied().eq(expected), "{finished:?}");
        results
    }

    fn load_steps(&self) -> Vec<u32> {
        let steps_of = |spec: &LoadSpec| {
            let count = if let Schedule::Bursts { times, .. } = spec.schedule { times as u32 } else { 1 };
            spec.load_step..spec.load_step + count
        };
        self.load_specs.iter().flat_map(steps_of).collect()
    }

    /// Waits until so many attempts to open a held connection have failed.
    pub(super) fn await_failures(&self, wanted: u64) {
        while self.results.borrow().held()[2] < wanted {
            self.handle_next_report();
        }
    }

    /// Waits until the gauges are as wanted.
    pub(super) fn await_gauges(&self, wanted: impl Fn(Gauges) -> bool) -> Gauges {
        loop {
            loop {
                let report = self.reports.borrow_mut().try_recv();
                let Ok(report) = report else { break };
                self.handle_report(report);
            }
            let gauges = self.worker_pool.gauges();
            if wanted(gauges) {
                return gauges;
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
}

impl HarnessResults {
    #[track_caller]
    fn add_report(&mut self, report: WorkerReport) {
        match report {
            WorkerReport::Interval(interval) => {
                let late = |load_step: u32| {
                    self.finished_steps.iter().any(|over| (over.0, over.1) == (interval.worker, load_step))
                };
                assert!(!interval.ops.iter().any(|cell| late(cell.0.load_step)), "told after its part was over");
                self.intervals.push(interval);
            }
            WorkerReport::WorkStarted(pieces) => self.started_work.extend(pieces),
            WorkerReport::ConnectionsOpen { worker, load_step, at } => {
                assert!(!self.opened.iter().any(|opened| (opened.0, opened.1) == (worker, load_step)), "said twice");
                self.opened.push((worker, load_step, at));
            }
            WorkerReport::LoadStepDone { worker, load_step, not_sent, .. } => {
                self.finished_steps.push((worker, load_step, not_sent));
            }
            WorkerReport::WorkerEnded { .. } => self.ended += 1,
            WorkerReport::WorkerFailed { message, .. } => panic!("{message}"),
        }
    }

    #[track_caller]
    fn check_accounting(&self, gauges: Gauges) {
        let cells = self.intervals.iter().flat_map(|interval| &interval.ops);
        let counts = cells.filter(|(key, _)| key.op.step.is_none()).map(|(_, stats)| stats.counts);
        let ended = counts.sum::<OutcomeCounts>().total() + self.not_sent() + self.sum(|interval| interval.abandoned);
        assert_eq!((gauges.due, gauges.done), (ended, ended), "{gauges:?}");
        assert_eq!((gauges.in_flight, gauges.queued, gauges.held), (0, 0, 0));
        let finished: u64 = self.finished_steps.iter().map(|(_, _, not_sent)| not_sent).sum();
        assert_eq!(finished, self.not_sent());
        for worker in self.intervals.iter().map(|page| page.worker).collect::<BTreeSet<u32>>() {
            let seconds = self.intervals.iter().filter(|page| page.worker == worker).map(|page| page.second);
            assert!(seconds.clone().is_sorted(), "seconds ran back: {:?}", seconds.collect::<Vec<_>>());
        }
    }

    pub(super) fn sum(&self, of: impl Fn(&Interval) -> u64) -> u64 {
        self.intervals.iter().map(of).sum()
    }

    pub(super) fn not_sent(&self) -> u64 {
        self.sum(|interval| interval.not_sent.iter().map(|(_, count)| count).sum())
    }

    /// Journeys as a whole: ok, denied, errors.
    pub(super) fn counts(&self) -> (u64, u64, u64) {
        self.counts_of_step(None)
    }

    /// A step, or the journey as a whole: ok, denied, errors.
    pub(super) fn counts_of_step(&self, step: Option<usize>) -> (u64, u64, u64) {
        self.counts_of_op(OpId { journey: 0, step })
    }

    /// An operation of any journey: ok, denied, errors.
    pub(super) fn counts_of_op(&self, op: OpId) -> (u64, u64, u64) {
        let cells = self.intervals.iter().flat_map(|interval| &interval.ops);
        let cells = cells.filter(|(key, _)| key.op == op);
        let OutcomeCounts { ok, denied, errors } = cells.map(|(_, stats)| stats.counts).sum();
        (ok, denied, errors)
    }

    /// Held connections: opened, reopened, failed, closed, dropped.
    pub(super) fn held(&self) -> [u64; 5] {
        let all = self.all_held();
        let HeldCounts { opened, reopened, failed, closed, dropped, .. } = all.counts;
        assert_eq!(all.opening.measured().len(), opened);
        [opened, reopened, failed, closed, dropped]
    }

    /// Connections that were open when their load step started.
    pub(super) fn kept(&self) -> u64 {
        self.all_held().counts.kept
    }

    /// Connections that were open when their load step was over, and those of them that were lost before a later one
    /// resumed them: closed in order, and lost otherwise.
    pub(super) fn left_open(&self) -> [u64; 3] {
        let HeldCounts { left, closed_after, dropped_after, .. } = self.all_held().counts;
        [left, closed_after, dropped_after]
    }

    /// Held connections of all workers, seconds and load steps.
    fn all_held(&self) -> HeldStats {
        let mut all = HeldStats::default();
        self.intervals.iter().flat_map(|interval| &interval.held).for_each(|(_, held)| all.merge(held));
        all
    }

    pub(super) fn retries(&self) -> u64 {
        let cells = self.intervals.iter().flat_map(|interval| &interval.ops);
        cells.filter(|(key, _)| key.op.step.is_none()).map(|(_, stats)| stats.retries).sum()
    }

    /// Latency, service time and lag in microseconds, of journeys as a whole.
    pub(super) fn times(&self) -> [Histogram<u64>; 3] {
        let mut times = [lab::measurement::histogram(), lab::measurement::histogram(), lab::measurement::histogram()];
        for interval in &self.intervals {
            for (_, stats) in interval.ops.iter().filter(|(key, _)| key.op.step.is_none()) {
                times[0].add(stats.latency.measured()).unwrap();
                times[1].add(stats.service.measured()).unwrap();
            }
            if let Some(lag) = &interval.lag {
                times[2].add(lag.measured()).unwrap();
            }
        }
        times
    }

    /// Errors: step, kind, how many, first message.
    pub(super) fn errors(&self) -> Vec<(usize, ErrorKind, u64, &str)> {
        let error_stats = self.intervals.iter().flat_map(|interval| &interval.errors);
        error_stats
            .map(|ErrorStats { step, kind, count, samples, .. }| (*step, *kind, *count, samples[0].as_str()))
            .collect()
    }

    /// Rows of samples.csv, cut into columns.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let text: String = self.intervals.iter().map(|interval| interval.rows.as_str()).collect();
        let row = |line: &str| line.split(',').map(str::to_owned).collect();
        text.lines().map(row).collect()
    }
}
