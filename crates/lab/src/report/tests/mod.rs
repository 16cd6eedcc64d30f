//! Reports as snapshots: what people read, in full, so that every changed word is reviewed.

pub(in crate::report) mod fixture;
pub(crate) mod schema;

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::{Headline, OverTime, Progress, Run, html, markdown, summary};
use crate::aggregate::{LoadStepFigures, OpFigures, Timeline};
use crate::findings::{CurrentOutage, Finding};
use crate::measurement::timeline::{FaultRow, OpRow, SamplerRow, SilenceRow, TimelineRow};
use crate::measurement::{HeldCounts, OutcomeCounts, WorkPoint};
use crate::scenario::HeadlineFigure;
use crate::verdict::{GateResult, Verdict};
use fixture::{FAILING, HOSTILE, PASSING, full, leaderboard, over_time};

#[test]
fn a_report_that_failed() {
    insta::assert_snapshot!("failed", markdown(&leaderboard(false, false, &FAILING)));
}

#[test]
fn a_report_with_everything() {
    insta::assert_snapshot!("everything", markdown(&full()));
}

#[test]
fn a_run_that_never_began_has_a_report() {
    let mut run = leaderboard(false, true, &[]);
    run.results = crate::aggregate::Results::default();
    (run.gates, run.errors, run.notes) = (Vec::new(), Vec::new(), Vec::new());
    insta::assert_snapshot!("nothing", markdown(&run));
    assert!(html(&run, &OverTime::default()).contains("Nothing was sent."));
}

#[test]
fn a_report_is_at_most_80_columns_wide() {
    for run in [
        leaderboard(false, false, &PASSING),
        leaderboard(true, false, &FAILING),
        leaderboard(false, true, &FAILING),
        full(),
    ] {
        for line in markdown(&run).lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
    }
}

#[test]
fn what_the_terminal_says_last() {
    let dir = Path::new("runs/20260131-120000-ab12");
    let texts = [
        leaderboard(false, false, &PASSING),
        leaderboard(false, false, &FAILING),
        leaderboard(true, false, &FAILING),
        full(),
    ]
    .map(|run| summary(&run, dir, false));
    insta::assert_snapshot!("summaries", texts.join("\n"));
}

#[test]
fn run_json_has_the_promised_shape() {
    let run = leaderboard(false, false, &FAILING);
    let record: serde_json::Value = serde_json::from_str(&run.to_json_text()).unwrap();
    let promised = [
        "verdict",
        "gates.0.name",
        "gates.0.limit",
        "gates.0.value",
        "gates.0.ok",
        "journeys.create_game.count",
        "journeys.create_game.errors",
        "journeys.create_game.denied",
        "journeys.create_game.latency_ms.avg",
        "journeys.create_game.latency_ms.p50",
        "journeys.create_game.latency_ms.p95",
        "journeys.create_game.latency_ms.p99",
        "journeys.create_game.latency_ms.max",
        "journeys.create_game.service_ms.p99",
        "work.game.created",
        "work.game.finished",
        "work.game.failed",
        "work.game.stuck",
        "work.game.waiting",
        "work.game.running",
        "work.game.throughput_per_min",
        "work.game.completion_s.p50",
        "work.game.completion_s.p95",
        "work.game.completion_s.p99",
        "work.game.queue_wait_s.p99",
        "work.game.figures.turns.max",
        "work.game.figures.late_moves.sum",
        "work.game.pace.p99",
        "generator.schedule_lag_ms.p99",
        "generator.cpu_s",
        "server.rss_bytes.first",
        "server.rss_bytes.peak",
        "server.rss_bytes.last",
        "server.cpu_s",
        "server.config.port",
        "machine.fsync_ms_p50",
    ];
    for name in promised {
        assert!(record.pointer(&format!("/{}", name.replace('.', "/"))).is_some(), "{name}");
    }
    assert_eq!(record["verdict"], "failed");
}

#[test]
fn secrets_are_struck_out_of_everything_from_outside() {
    let mut run = leaderboard(false, false, &FAILING);
    run.errors[0].sample = "Bearer hunter2".to_owned();
    run.errors[0].more_samples = vec!["Cookie hunter2".to_owned()];
    run.notes = vec!["hunter2".to_owned()];
    run.results.server.config = Some(json!({ "keys": ["hunter2", 1], "token": "hunter2" }));
    run.gates.push(GateResult::implicit("alive", "runs", "said hunter2", false));
    run.capacity = [("climb".to_owned(), json!({ "knee": { "because": "hunter2" } }))].into();
    run.findings = vec![Finding { sentence: "It said hunter2".to_owned(), ..full().findings[0].clone() }];
    run.faults = vec![FaultRow { failed: Some("hunter2".to_owned()), ..FaultRow::default() }];
    run.load_steps = vec![LoadStepFigures { overload: Some(vec!["hunter2".to_owned()]), ..LoadStepFigures::default() }];
    let run = run.redacted(&|text| text.replace("hunter2", "[secret]"));
    assert!(!run.to_json_text().contains("hunter2") && !markdown(&run).contains("hunter2"));
}

#[test]
fn a_record_is_read_back_as_it_was_written() {
    for run in [full(), leaderboard(false, false, &PASSING)] {
        let back: Run = serde_json::from_str(&run.to_json_text()).unwrap();
        assert_eq!(markdown(&back), markdown(&run));
        assert_eq!(html(&back, &over_time()), html(&run, &over_time()));
    }
}

#[test]
fn no_view_lets_a_service_steer_the_terminal() {
    let run = full();
    let views = [markdown(&run), summary(&run, Path::new("runs/x"), false), html(&run, &over_time())];
    for view in views {
        let steers = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}');
        assert_eq!(view.chars().find(|c| steers(*c)), None);
        assert!(view.contains("owned"), "the hostile text must be in every view for this test to say anything");
    }
    assert!(HOSTILE.contains('\u{1b}') && HOSTILE.contains('\u{202e}'));
}

#[test]
fn levels_whose_capacity_cannot_be_read_are_shown_without_it() {
    let mut run = full();
    run.capacity = [("climb".to_owned(), json!("a sentence")), ("edge".to_owned(), json!({ "capacity": 7 }))].into();
    let text = markdown(&run);
    assert!(text.contains("## Capacity: climb\n\n### Level by level") && !text.contains("Peak throughput"), "{text}");
    assert!(html(&run, &over_time()).contains("Throughput against concurrency"));
}

#[test]
fn where_every_gate_holds_nothing_broke() {
    let findings = full().findings;
    for (gates, title) in [(&PASSING[..], "What the figures say:"), (&FAILING[..], "What broke:")] {
        let run = Run { findings: findings.clone(), ..leaderboard(false, false, gates) };
        assert!(markdown(&run).contains(&format!("\n{title}\n")), "{title}");
        assert_eq!(html(&run, &over_time()).contains("\"What broke\""), title == "What broke:");
    }
}

fn numbers(headline: &Headline) -> [String; 2] {
    [&headline.amount, &headline.timing].map(|line| format!("{} {}", line.value, line.label))
}

#[test]
fn the_two_numbers() {
    let figures = |run: &Run| numbers(&super::headline(run));
    assert_eq!(figures(&full()), ["6,169 a second, edge", "15.3 ms latency p99 there"]);
    let mut run = leaderboard(false, false, &PASSING);
    assert_eq!(figures(&run), ["2,412 game finished a minute", "49.5 s until done, p99"]);
    run.results.work.clear();
    assert_eq!(figures(&run), ["6,497 create_game ok", "396 ms latency p99"]);
    run.results.journeys.get_mut("create_game").unwrap().throughput_per_s = Some(50.24);
    assert_eq!(figures(&run), ["50.2 create_game ok a second", "396 ms latency p99"]);
    assert_eq!(run.verdict, Verdict::Passed);
}

#[test]
fn a_scenario_says_itself_what_stands_at_the_head() {
    let leading = |figure: &str, of: &str| HeadlineFigure { figure: figure.to_owned(), of: of.to_owned() };
    let mut run = leaderboard(false, false, &PASSING);
    let both = [leading("game.figures.turns.max", "turns, the longest game"), leading("game.nothing", "s, unknown")];
    run.scenario.headline = Some(both);
    let headline = super::headline(&run);
    let lines = [headline.amount, headline.timing];
    assert_eq!(lines.each_ref().map(|line| line.value.as_str()), ["240", "-"]);
    assert_eq!(lines.map(|line| line.sentence), ["240 turns, the longest game", "- s, unknown"]);
}

#[test]
fn held_connections_stand_at_the_head_and_how_many_were_lost() {
    let mut run = full();
    run.capacity.clear();
    let took = super::headline(&run).amount.sentence;
    // Closed and dropped while they were held, and after that.
    assert!(took.ends_with("; 15,000 connections held (viewers), 52 lost"), "{took}");
    run.results.phases.values_mut().filter_map(|phase| phase.connections.as_mut()).for_each(|held| {
        held.counts = HeldCounts { closed: 0, dropped: 0, closed_after: 0, dropped_after: 0, ..held.counts };
    });
    assert!(super::headline(&run).amount.sentence.ends_with("; 15,000 connections held (viewers)"));
}

/// A run of one journey with steps that pause, and gates with their values: its two numbers.
#[track_caller]
fn check_paced(over: u64, gates: &[(&str, f64, f64)], expected: [&str; 2]) {
    let mut run = full();
    run.capacity.clear();
    run.load_steps.clear();
    run.results.work.clear();
    run.results.journeys.retain(|name, _| name == "read_game");
    run.results.journeys.get_mut("read_game").unwrap().op = OpFigures { count: over, ..OpFigures::default() };
    let gate = |(name, value, used): &(&str, f64, f64)| GateResult {
        value: json!(value),
        used: Some(*used),
        ..GateResult::implicit(name, "< 5", "", true)
    };
    run.gates = gates.iter().map(gate).collect();
    let headline = super::headline(&run);
    assert_eq!(numbers(&headline), expected);
    assert!(headline.amount.sentence.contains("2,485,200 requests"), "{headline:?}");
}

#[test]
fn a_journey_that_pauses_is_not_measured_by_its_length() {
    let answers = "4,142 read_game answers a second";
    let tight = ("read_game.steps.watch.wake_ms.p99", 2.5, 0.5);
    let loose = ("read_game.steps.list.latency_ms.p99", 1.5, 0.3);
    check_paced(9, &[loose, tight], [answers, "2.50 ms watch wake p99"]);
    check_paced(0, &[tight, ("read_game.errors", 0.0, 0.9)], [answers, "2.50 ms watch wake p99"]);
    check_paced(0, &[], [answers, "1.98 ms watch wake p99"]);
}

#[test]
fn a_journey_of_one_step_that_pauses_has_the_times_of_its_request() {
    let mut run = full();
    run.capacity.clear();
    run.load_steps.clear();
    run.results.work.clear();
    run.gates.clear();
    run.results.journeys.retain(|name, _| name == "read_game");
    let journey = run.results.journeys.get_mut("read_game").unwrap();
    journey.op = std::mem::take(&mut journey.steps).into_values().find(|step| step.service_ms.p99.is_some()).unwrap();
    let p99 = journey.op.service_ms.p99;
    assert!(journey.paced);
    let lasted = super::headline(&run).timing.sentence;
    assert!(lasted.starts_with(&format!("read_game: service time p99 {} ms", crate::format::number(p99))), "{lasted}");
}

#[test]
fn void_gates_are_distinguished_from_failed_ones() {
    let mut run = leaderboard(true, false, &FAILING);
    run.gates = vec![
        GateResult {
            value: json!(134),
            void: true,
            without_lab: Some(1.0),
            ..GateResult::implicit("get.latency_ms.p99", "< 20", "", false)
        },
        GateResult { value: json!(3), ..GateResult::implicit("get.errors", "= 0", "", false) },
    ];
    run.verdict = Verdict::Failed;
    let text = summary(&run, Path::new("runs/a"), false);
    assert!(text.contains("FAILED: 0 of 2 gates hold, 1 failed, 1 void"), "{text}");
    let failed =
        "  get.errors = 0: found 3\n  void: get.latency_ms.p99 < 20: found 134, without the lab's own share 1\n";
    assert!(text.contains(failed), "{text}");
    run.gates.remove(0);
    assert!(summary(&run, Path::new("runs/a"), false).contains("FAILED: 0 of 1 gates hold\n"));
}

#[test]
fn a_search_that_could_not_judge_says_so_everywhere() {
    let mut run = full();
    run.gates.clear();
    run.capacity.retain(|phase, _| phase == "edge");
    run.load_steps.retain(|part| part.phase == "edge");
    let (first, search) = {
        let search = run.load_steps.iter_mut().filter(|part| part.phase == "edge").collect::<Vec<_>>();
        (search[0].load_step, search.len())
    };
    for part in run.load_steps.iter_mut().filter(|part| part.phase == "edge") {
        (part.overload, part.void) = (None, Some("the generator itself paused for 18.2 % of the level".to_owned()));
    }
    let edge = run.capacity.get_mut("edge").unwrap();
    let reason = "Ended at 200 requests/s, twice void.";
    edge["edge"] = json!({ "ending": { "kind": "void", "why": "paused" }, "reason": reason, "edge_per_s": null });
    edge["capacity"]["peak"]["level"]["load_step"] = json!(first);
    let report = markdown(&run);
    assert_eq!(report.matches(" void  ").count(), search, "{report}");
    let label = run.load_steps.iter().find(|part| part.load_step == first).unwrap().label.clone();
    let took = super::headline(&run).amount.sentence;
    assert!(took.contains("edge: no edge found, peak ") && took.contains(&format!(" at {label}")), "{took}");
}

#[test]
fn requests_of_journeys_under_way_are_shown() {
    for (throughput_per_s, told) in [(Some(0.0), "0"), (None, "-")] {
        let (requests, waiting, planned, in_flight) = (Some(1480), 120, 20, 20);
        let progress = Progress {
            requests,
            long_polls: waiting,
            planned_arrivals: planned,
            in_flight,
            throughput_per_s,
            ..Progress::default()
        };
        let expected = [
            "   0 s · requests 1,480 · journeys 0 of 20 · in flight 20 · errors 0".to_owned(),
            format!("       answered {told} a second · waiting 120"),
        ];
        assert_eq!(progress.lines_within(79), expected);
    }
}

#[test]
fn an_outage_is_shown() {
    let mut timeline = Timeline::default();
    for second in 0..9 {
        let t_s = f64::from(second);
        if second < 3 {
            timeline.add(&TimelineRow::Op(OpRow {
                t_s,
                op: "a".to_owned(),
                counts: OutcomeCounts::all_ok(90),
                ..OpRow::default()
            }));
        }
        timeline.add(&TimelineRow::Sample(SamplerRow { t_s, in_flight: 9, ..SamplerRow::default() }));
    }
    timeline.add(&TimelineRow::Silence(SilenceRow { t_s: 3.0, until_s: 8.0, under_way: 9 }));
    let progress = Progress { outage: CurrentOutage::find(&timeline, &["a"]), ..Progress::default() };
    assert_eq!(progress.lines_within(79)[2], "       the target is silent since 3.0 s");
}

#[test]
fn progress_fits_a_narrow_terminal() {
    let point = WorkPoint {
        waiting: 1_234_567,
        running: 1_234_567,
        finished: 1_234_567,
        failed: 9999,
        stuck: 9999,
        unknown: 0,
        t_s: 1.0,
    };
    let progress = Progress {
        elapsed: Duration::from_secs(12),
        planned_arrivals: 6501,
        done: 2167,
        in_flight: 100,
        errors: 1,
        denied: 2,
        work: vec![("game".to_owned(), point)],
        server_rss_bytes: Some(140 << 20),
        server_cpu_cores: Some(1.42),
        load_step: Some("burst 2".to_owned()),
        latency_p99_ms: Some(412.4),
        throughput_per_s: Some(216.6),
        queued: 1203,
        notes: vec!["server: kill\x1b[2J".to_owned()],
        ..Progress::default()
    };
    let lines = progress.lines_within(79);
    assert!(lines.iter().all(|line| line.chars().count() < 80), "{lines:?}");
    let expected = [
        "  12 s · sent 2,167 of 6,501 · in flight 100 · errors 1 · denied 2 · burst 2",
        "       ok 217 a second · p99 412 ms · queued 1,203",
        "       game: failed 9,999 · stuck 9,999 · waiting 1,234,567 · running 1,234,567",
        "       server: kill\u{fffd}[2J",
    ];
    assert_eq!(lines, expected);
}

/// A gate that fails without the lab's delay as well: the delay is mentioned if it is a tenth of the figure.
#[track_caller]
fn check_own_share(value: f64, without_lab: f64, is_told: bool) {
    let mut run = leaderboard(false, false, &[]);
    let gate = GateResult { value: json!(value), ..GateResult::implicit("get.latency_ms.p99", "< 500", "", false) };
    run.gates = vec![GateResult { without_lab: Some(without_lab), ..gate }];
    run.verdict = Verdict::Failed;
    let told = super::headline(&run).gate_status;
    assert_eq!(told.contains("the lab itself was late as well"), is_told, "{told}");
}

#[test]
fn the_labs_own_delay_is_mentioned_where_it_matters() {
    check_own_share(1_897.0, 1_875.0, false);
    check_own_share(1_355.0, 1_342.0, false);
    check_own_share(2_000.0, 1_500.0, true);
}
