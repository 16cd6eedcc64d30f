//! Records of made-up runs, on disk and in memory.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::super::run_series::RunSeries;
use super::super::stats::tests::synthetic::{TestRng, drift};
use super::super::{CompareOptions, Comparison, RunRecord, Side, compare};
use crate::aggregate::Timeline;
use crate::measurement::timeline::{OpRow, SamplerRow, TimelineRow, WorkRow};
use crate::measurement::{OutcomeCounts, WorkPoint};
use crate::record::TimelineLog;
use crate::record::hlog::{Entry, HistogramKind, Writer};
use crate::report::Run;

/// The properties of a made-up run.
#[derive(Clone)]
pub(crate) struct TestRun {
    pub(crate) seed: u64,
    pub(crate) seconds: u64,
    /// A typical latency, in microseconds.
    pub(crate) latency_us: f64,
    pub(crate) rate_per_s: u64,
    pub(crate) stuck: u64,
    pub(crate) fails: bool,
    pub(crate) rss_mib: u64,
    pub(crate) settings: &'static [&'static str],
    pub(crate) workers: &'static str,
}

pub(crate) const TEST_RUN: TestRun = TestRun {
    seed: 1,
    seconds: 120,
    latency_us: 12_000.0,
    rate_per_s: 60,
    stuck: 0,
    fails: false,
    rss_mib: 120,
    settings: &[],
    workers: "50",
};

impl TestRun {
    pub(crate) fn id(&self) -> String {
        format!("20260131-1200{:02}-ab{:02}", self.seed, self.seed)
    }

    /// `run.json` as it would be on disk.
    pub(crate) fn run_json(&self) -> Value {
        let all = self.seconds * self.rate_per_s;
        let (ok, errors) = if self.fails { (0, all) } else { (all, 0) };
        let finished = all - self.stuck;
        let at = |p: f64| match ok {
            0 => json!({ "count": 0 }),
            _ => json!({ "count": ok, "p50": p, "p90": 1.4 * p, "p99": 2.1 * p }),
        };
        let (ms, none) = (self.latency_us / 1000.0, json!({ "count": 0 }));
        json!({
            "format": Run::FORMAT,
            "id": self.id(),
            "verdict": if self.stuck > 0 || self.fails { "failed" } else { "passed" },
            "scenario": {
                "name": "leaderboard", "summary": "A leaderboard day", "hash": format!("5b2f{}", self.settings.concat()),
                "text_hash": "77aa", "seed": self.seed, "settings": self.settings, "target": "http://127.0.0.1:4000"
            },
            "started_at": "2026-01-31T12:00:00.000Z",
            "duration_s": self.seconds as f64 + 10.0,
            "gates": [
                { "name": "game.stuck", "limit": "= 0", "limit_value": null, "value": self.stuck, "ok": self.stuck == 0 },
                { "name": "create_game.errors", "limit": "= 0", "limit_value": null, "value": 0, "ok": true }
            ],
            "journeys": { "create_game": {
                "count": all, "ok": ok, "errors": errors, "denied": 0, "retries": 0, "not_sent": 0,
                "latency_ms": at(1.3 * ms), "service_ms": at(ms)
            } },
            "work": { "game": {
                "created": all, "finished": finished, "failed": 0, "stuck": self.stuck, "waiting": 0, "running": 0,
                "duplicates": 0, "throughput_per_min": 60.0 * self.rate_per_s as f64, "drain_s": 9.5,
                "completion_s": at(30.0), "queue_wait_s": at(0.2), "run_s": at(29.0),
                "figures": {}, "progress_per_s": {}, "totals": null, "drain_curve": []
            } },
            "generator": {
                "schedule_lag_ms": none, "lag_p99_max_ms": 100.0, "arrivals": all, "capped": 0, "not_sent": 0,
                "abandoned": 0, "cpu_s": 2.0, "rss_bytes": null
            },
            "server": {
                "rss_bytes": { "first": 1 << 20, "peak": self.rss_mib << 20, "last": 1 << 20 }, "cpu_s": 40.0,
                "config": { "entries": [
                    { "key": "server.port", "value": "4000" },
                    { "key": "jobs.workers", "value": self.workers },
                    { "key": "store.data", "value": format!("runs/{}/server.db", self.id()) }
                ] }
            },
            "processes": {},
            "errors": [],
            "notes": [],
            "machine": { "cores": 2, "memory_bytes": null, "kernel": null, "cpu_model": "Some Processor", "fsync_ms_p50": 0.4 }
        })
    }

    /// The rows of its timeline.
    pub(crate) fn rows(&self) -> Vec<TimelineRow> {
        let mut rows = Vec::new();
        for t in 0..=self.seconds {
            let (t_s, done) = (t as f64, t * self.rate_per_s);
            if t < self.seconds {
                let op = "create_game".to_owned();
                let (ok, errors) = if self.fails { (0, self.rate_per_s) } else { (self.rate_per_s, 0) };
                rows.push(TimelineRow::Op(OpRow {
                    t_s,
                    op,
                    counts: OutcomeCounts { ok, denied: 0, errors },
                    ..OpRow::default()
                }));
            }
            let wobble = 0.05 * ((t + self.seed) % 7) as f64;
            let server = [("cpu_s".to_owned(), 0.3 * t as f64 + wobble)].into();
            let processes = [("server".to_owned(), server)].into();
            rows.push(TimelineRow::Sample(SamplerRow {
                t_s,
                arrivals: OutcomeCounts::all_ok(done),
                processes,
                ..SamplerRow::default()
            }));
            let finished = done.saturating_sub(self.stuck + (t * 5 + self.seed) % 3);
            let point = WorkPoint { t_s, finished, running: done - finished, ..WorkPoint::default() };
            rows.push(TimelineRow::Work(WorkRow { work: "game".to_owned(), point, poll_errors: 0 }));
        }
        rows
    }

    /// The histograms of its seconds.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        if self.fails {
            return Vec::new();
        }
        let rng = &mut TestRng::new(self.seed);
        let levels = drift(rng, self.seconds as usize, 0.5);
        let second = |(second, level): (usize, &f64)| {
            let (mut latency, mut service) = (crate::measurement::histogram(), crate::measurement::histogram());
            for _ in 0..self.rate_per_s {
                let served = self.latency_us * (0.02 * level + 0.25 * rng.normal()).exp();
                let waited = 0.3 * self.latency_us * -(1.0 - rng.uniform()).ln();
                service.record(served as u64).unwrap();
                latency.record((served + waited) as u64).unwrap();
            }
            let entry = |figure, histogram| Entry {
                second: second as u64,
                load_step: 0,
                op: "create_game".to_owned(),
                figure,
                histogram,
            };
            [entry(HistogramKind::Latency, latency), entry(HistogramKind::Service, service)]
        };
        levels.iter().enumerate().flat_map(second).collect()
    }

    /// The directory with everything that a run leaves behind.
    pub(crate) fn write(&self) -> PathBuf {
        static WRITTEN: AtomicUsize = AtomicUsize::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("lab-compare-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("run.json"), self.run_json().to_string()).unwrap();
        let log = TimelineLog::create(&dir.join("timeline.jsonl"), Timeline::default()).unwrap();
        self.rows().iter().for_each(|row| log.write(row));
        let mut writer = Writer::create(&dir.join("intervals.hlog"), 0).unwrap();
        for Entry { second, load_step, op, figure, histogram } in self.entries() {
            writer.write(second, load_step, &op, figure, &histogram);
        }
        writer.flush();
        dir
    }

    /// Its record, read back.
    pub(crate) fn record(&self) -> RunRecord {
        let mut times = RunSeries::new(1);
        self.rows().iter().for_each(|row| times.add_row(row));
        self.entries().iter().for_each(|entry| times.add_histogram(entry));
        let run: Run = serde_json::from_value(self.run_json()).unwrap();
        RunRecord { dir: format!("runs/{}", self.id()).into(), run, series: times }
    }
}

pub(crate) fn side(label: &str, records: Vec<RunRecord>) -> Side {
    Side { label: label.to_owned(), records }
}

/// One run per side.
pub(crate) fn compare_runs(made: &[&TestRun]) -> Comparison {
    let sides = ["A", "B", "C"].iter().zip(made).map(|(label, made)| side(label, vec![made.record()])).collect();
    compare(sides, CompareOptions::default()).unwrap()
}
