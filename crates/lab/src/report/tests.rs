//! Reports as snapshots: what people read, in full, so that a change of a word is a change that somebody saw.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::{Progress, Run, ScenarioRecord, markdown, summary};
use crate::fold::{
    ErrorGroup, Figures, Generator, JourneyFigures, OpFigures, Point, ProcessFigures, Results, Rss, ServerFigures,
    TotalsFigures, WorkFigures,
};
use crate::machine::Machine;
use crate::scenario::Gate;
use crate::verdict::{Circumstances, Judged, judge_gates, verdict};

fn figures(scale: f64) -> Figures {
    let at = |part: f64| Some(scale * part);
    Figures {
        count: 6501,
        sum: at(3250.5),
        min: at(0.01),
        avg: at(0.5),
        p50: at(0.45),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        max: at(1.0),
    }
}

fn results() -> Results {
    let op = OpFigures {
        count: 6501,
        ok: 6497,
        errors: 3,
        denied: 1,
        retries: 2,
        latency_ms: figures(400.0),
        service_ms: figures(38.0),
        failed_ms: Figures::default(),
    };
    let curve = (0..64_u32).map(|t| Point {
        t_s: f64::from(t) * 2.5,
        waiting: 64 - u64::from(t),
        running: 0,
        finished: 100 * u64::from(t),
        failed: 0,
        stuck: u64::from(t == 63),
    });
    let work = WorkFigures {
        created: 6497,
        finished: 6495,
        stuck: 2,
        throughput_per_min: Some(2411.5),
        drain_s: None,
        completion_s: figures(50.0),
        queue_wait_s: figures(0.25),
        run_s: figures(49.0),
        figures: [("turns".to_owned(), figures(240.0)), ("late_moves".to_owned(), figures(0.0))].into(),
        progress_per_s: [("turns".to_owned(), 4834.25)].into(),
        derived: [("pace".to_owned(), figures(1.2))].into(),
        totals: Some(TotalsFigures { created: Some(6497), finished: Some(6495), failed: Some(0) }),
        drain_curve: curve.collect(),
        ..WorkFigures::default()
    };
    let rss = Rss { first: 20 << 20, peak: 312 << 20, last: 31 << 20 };
    let process = ProcessFigures { rss_bytes: Some(rss), cpu_s: Some(96.25) };
    Results {
        journeys: [("create_game".to_owned(), JourneyFigures { op, ..JourneyFigures::default() })].into(),
        work: [("game".to_owned(), work)].into(),
        generator: Generator {
            schedule_lag_ms: figures(3.0),
            lag_p99_max_ms: 100.0,
            arrivals: 6501,
            capped: 6201,
            cpu_s: Some(9.5),
            rss_bytes: Some(Rss { first: 9 << 20, peak: 14 << 20, last: 12 << 20 }),
            ..Generator::default()
        },
        server: ServerFigures { process: process.clone(), config: Some(json!({ "port": 4000 })) },
        processes: [("bots".to_owned(), process)].into(),
    }
}

fn run(behind: bool, interrupted: bool, gates: &[(&str, &str)]) -> Run {
    let results = results();
    let gates: Vec<Gate> = gates.iter().map(|(name, limit)| Gate::parse(name, limit).unwrap()).collect();
    let mut gates = judge_gates(&gates, &results.to_json());
    if gates.len() > PASSING.len() {
        let death = "server ended by itself (exit status: 7)";
        gates.push(Judged::implicit("alive", "until the end", death, false));
    }
    gates.push(Judged::implicit("reconciled", "= server's totals", "equal", true));
    Run {
        format: Run::FORMAT,
        id: "20260131-120000-ab12".to_owned(),
        verdict: verdict(&gates, Circumstances { interrupted, behind }),
        scenario: ScenarioRecord {
            name: "leaderboard".to_owned(),
            summary: "A leaderboard day: three bursts of 2,167 games, 60 s apart, then wait until all are played"
                .to_owned(),
            hash: "5b2f".repeat(16),
            text_hash: "5b2e".repeat(16),
            seed: 42,
            settings: vec!["think_ms=100".to_owned()],
            target: "http://127.0.0.1:4000".to_owned(),
        },
        started_at: "2026-01-31T12:00:00.000Z".to_owned(),
        duration_s: 171.2,
        gates,
        results,
        parts: Vec::new(),
        capacity: std::collections::BTreeMap::new(),
        findings: Vec::new(),
        faults: Vec::new(),
        errors: vec![ErrorGroup {
            journey: "create_game".to_owned(),
            step: None,
            kind: "status".to_owned(),
            count: 3,
            sample: "503: {\"code\":\"store_unavailable\",\"detail\":\"the disk is full, try again later\"}".to_owned(),
        }],
        notes: vec!["A status request got no good answer; the first: connection refused".to_owned()],
        machine: Machine {
            cores: Some(2),
            memory_bytes: Some(24 << 30),
            kernel: Some("6.1.0".to_owned()),
            cpu_model: Some("Some Processor @ 2.0 GHz".to_owned()),
            fsync_ms_p50: Some(0.42),
        },
    }
}

const PASSING: [(&str, &str); 2] =
    [("game.pace.p99", "< 1.4"), ("create_game.service_ms.p99", "<= game.figures.turns.max * 0.2 + 15")];
const FAILING: [(&str, &str); 4] = [
    ("create_game.errors", "= 0"),
    ("game.stuck", "= 0"),
    ("game.drain_s", "<= game.figures.turns.max * 0.2 + 15"),
    ("game.pace.p99", "< 1.4"),
];

#[test]
fn a_report_that_failed() {
    insta::assert_snapshot!("failed", markdown(&run(false, false, &FAILING)));
}

#[test]
fn a_report_is_at_most_80_columns_wide() {
    for run in [run(false, false, &PASSING), run(true, false, &FAILING), run(false, true, &FAILING)] {
        for line in markdown(&run).lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
    }
}

#[test]
fn what_the_terminal_says_last() {
    let dir = Path::new("runs/20260131-120000-ab12");
    let texts = [run(false, false, &PASSING), run(false, false, &FAILING), run(true, false, &FAILING)]
        .map(|run| summary(&run, dir, false));
    insta::assert_snapshot!("summaries", texts.join("\n"));
}

#[test]
fn run_json_has_the_promised_shape() {
    let run = run(false, false, &FAILING);
    let record: serde_json::Value = serde_json::from_str(&run.to_json_text()).unwrap();
    let promised = [
        "/verdict",
        "/gates/0/name",
        "/gates/0/limit",
        "/gates/0/value",
        "/gates/0/ok",
        "/journeys/create_game/count",
        "/journeys/create_game/errors",
        "/journeys/create_game/denied",
        "/journeys/create_game/latency_ms/avg",
        "/journeys/create_game/latency_ms/p50",
        "/journeys/create_game/latency_ms/p95",
        "/journeys/create_game/latency_ms/p99",
        "/journeys/create_game/latency_ms/max",
        "/journeys/create_game/service_ms/p99",
        "/work/game/created",
        "/work/game/finished",
        "/work/game/failed",
        "/work/game/stuck",
        "/work/game/waiting",
        "/work/game/running",
        "/work/game/throughput_per_min",
        "/work/game/completion_s/p50",
        "/work/game/completion_s/p95",
        "/work/game/completion_s/p99",
        "/work/game/queue_wait_s/p99",
        "/work/game/figures/turns/max",
        "/work/game/figures/late_moves/sum",
        "/work/game/pace/p99",
        "/generator/schedule_lag_ms/p99",
        "/generator/cpu_s",
        "/server/rss_bytes/first",
        "/server/rss_bytes/peak",
        "/server/rss_bytes/last",
        "/server/cpu_s",
        "/server/config/port",
        "/machine/fsync_ms_p50",
    ];
    for pointer in promised {
        assert!(record.pointer(pointer).is_some(), "{pointer}");
    }
    assert_eq!(record["verdict"], "failed");
}

#[test]
fn secrets_are_struck_out_of_everything_from_outside() {
    let mut run = run(false, false, &FAILING);
    run.errors[0].sample = "Bearer hunter2".to_owned();
    run.notes = vec!["hunter2".to_owned()];
    run.results.server.config = Some(json!({ "keys": ["hunter2", 1], "token": "hunter2" }));
    run.gates.push(Judged::implicit("alive", "runs", "said hunter2", false));
    let run = run.struck(&|text| text.replace("hunter2", "[secret]"));
    assert!(!run.to_json_text().contains("hunter2") && !markdown(&run).contains("hunter2"));
}

#[test]
fn progress_fits_a_narrow_terminal() {
    let point =
        Point { waiting: 1_234_567, running: 1_234_567, finished: 1_234_567, failed: 9999, stuck: 9999, t_s: 1.0 };
    let progress = Progress {
        elapsed: Duration::from_secs(12),
        planned: 6501,
        done: 2167,
        in_flight: 100,
        errors: 1,
        denied: 2,
        work: vec![("game".to_owned(), point)],
        server_rss_bytes: Some(140 << 20),
    };
    let lines = progress.lines();
    assert!(lines.iter().all(|line| line.chars().count() < 80), "{lines:?}");
    assert_eq!(lines[0], "  12 s · sent 2,167 of 6,501 · in flight 100 · errors 1 · denied 2 · server 140");
}
