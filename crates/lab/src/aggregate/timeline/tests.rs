//! The aggregation of the timeline, as rows: what goes in, and which series come out.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::aggregate::SeriesBucket;
use crate::measurement::timeline::{LagRow, OpRow, Percentiles};
use crate::measurement::{OutcomeCounts, WorkPoint};

fn map(figures: &[(&str, f64)]) -> BTreeMap<String, f64> {
    figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

fn aggregated(rows: &[TimelineRow]) -> Timeline {
    let mut timeline = Timeline::default();
    rows.iter().for_each(|row| timeline.add(row));
    timeline.close();
    timeline
}

/// Compares the times and means of one series; `expected` is empty if the series must be missing.
#[track_caller]
fn check(rows: &[TimelineRow], name: &str, expected: &[(f64, f64)]) {
    let timeline = aggregated(rows);
    let points = timeline.get(name).map_or(&[][..], |series| &series.points);
    let found: Vec<(f64, f64)> = points.iter().map(|point| (point.t_s, point.mean)).collect();
    assert_eq!(found, expected, "{name} of {:?}", timeline.series.keys().collect::<Vec<_>>());
}

fn op(t_s: f64, load_step: u32, [ok, denied, errors]: [u64; 3], p99: Option<f64>) -> TimelineRow {
    let spread = p99.map(|p99| Percentiles { p50: p99 / 10.0, p90: p99 / 2.0, p99, max: p99 });
    TimelineRow::Op(OpRow {
        t_s,
        load_step,
        op: "a".to_owned(),
        counts: OutcomeCounts { ok, denied, errors },
        latency_ms: spread,
        service_ms: spread,
        wake_ms: None,
    })
}

#[test]
fn load_steps_of_one_second_are_combined() {
    let rows =
        [op(3.0, 0, [5, 1, 0], Some(20.0)), op(3.0, 1, [2, 0, 4], Some(50.0)), op(4.0, 1, [7, 0, 0], Some(10.0))];
    check(&rows, "op.a.ok_per_s", &[(3.0, 7.0), (4.0, 7.0)]);
    check(&rows, "op.a.errors_per_s", &[(3.0, 4.0), (4.0, 0.0)]);
    check(&rows, "op.a.denied_per_s", &[(3.0, 1.0), (4.0, 0.0)]);
    check(&rows, "op.a.latency_p99_ms", &[(3.0, 50.0), (4.0, 10.0)]);
    check(&rows, "op.a.service_p50_ms", &[(3.0, 5.0), (4.0, 1.0)]);
}

#[test]
fn seconds_without_responses_have_a_rate_of_zero() {
    let rows = [op(1.0, 0, [5, 0, 0], Some(20.0)), op(4.0, 0, [6, 0, 0], None)];
    check(&rows, "op.a.ok_per_s", &[(1.0, 5.0), (2.0, 0.0), (3.0, 0.0), (4.0, 6.0)]);
    // Without responses there is no latency.
    check(&rows, "op.a.latency_p50_ms", &[(1.0, 2.0)]);
    // Late rows count: nothing is lost.
    check(&[op(5.0, 0, [5, 0, 0], None), op(4.0, 1, [6, 0, 0], None)], "op.a.ok_per_s", &[(5.0, 11.0)]);
    // A gap of hours is not filled second by second.
    check(&[op(1.0, 0, [5, 0, 0], None), op(1e9, 0, [6, 0, 0], None)], "op.a.ok_per_s", &[(1.0, 5.0), (1e9, 6.0)]);
    check(&[op(f64::NAN, 0, [5, 0, 0], None)], "op.a.ok_per_s", &[]);
}

fn paused(t_s: f64, until_s: f64) -> TimelineRow {
    TimelineRow::Pause(PauseRow { t_s, until_s, worker: 0 })
}

/// One response in each of these seconds.
fn answered(seconds: &[f64]) -> Vec<TimelineRow> {
    seconds.iter().map(|t_s| op(*t_s, 0, [1, 0, 0], Some(20.0))).collect()
}

#[test]
fn a_second_without_data_is_no_zero() {
    let rows = [answered(&[3.0, 4.0, 5.0]), vec![paused(5.3, 7.4)], answered(&[7.0, 9.0])].concat();
    // The lab ran in the eighth, and nothing ended in it.
    check(&rows, "op.a.ok_per_s", &[(3.0, 1.0), (4.0, 1.0), (8.0, 0.0), (9.0, 1.0)]);
    check(&rows, "op.a.errors_per_s", &[(3.0, 0.0), (4.0, 0.0), (8.0, 0.0), (9.0, 0.0)]);
    // Measured times are kept.
    let latency = [3.0, 4.0, 5.0, 7.0, 9.0].map(|t_s| (t_s, 20.0));
    check(&rows, "op.a.latency_p99_ms", &latency);
    // Another worker ran meanwhile, and the one that did not reports its pause afterwards.
    let rows = [answered(&[3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), vec![paused(4.9, 6.9)], answered(&[9.0])].concat();
    check(&rows, "op.a.ok_per_s", &[(3.0, 1.0), (4.0, 1.0), (7.0, 1.0), (8.0, 1.0), (9.0, 1.0)]);
    // A pause of a tenth of a second does not make a second unknown.
    let rows = [answered(&[3.0]), vec![paused(3.4, 3.5)], answered(&[5.0])].concat();
    check(&rows, "op.a.ok_per_s", &[(3.0, 1.0), (4.0, 0.0), (5.0, 1.0)]);
}

/// The starts and ends of the spans in which a figure is known.
#[track_caller]
fn check_known(rows: &[TimelineRow], name: &str, expected: &[(f64, Option<f64>)]) {
    let timeline = aggregated(rows);
    let found: Vec<_> = timeline.series[name].points.iter().map(|point| (point.t_s, point.until_s)).collect();
    assert_eq!(found, expected, "{name}");
}

#[test]
fn missing_samples_are_gaps() {
    let look = |t_s: f64| pulse(t_s, &[("depth", 3.0), ("jobs_total", t_s)]);
    let rows = [look(4.0), look(5.0), look(8.3), look(9.3)];
    check_known(&rows, "load.in_flight", &[(4.0, None), (5.0, Some(6.0)), (8.3, None), (9.3, None)]);
    check_known(&rows, "metric.depth", &[(4.0, None), (5.0, Some(6.0)), (8.3, None), (9.3, None)]);
    // By how much a counter rose between two samples is known.
    let rises = [(4.0, Some(5.0)), (5.0, Some(8.3)), (8.3, Some(9.3))];
    check_known(&rows, "metric.jobs_total.per_s", &rises);
    assert_eq!(aggregated(&rows).unrecorded.samples.iter().collect::<Vec<_>>(), [(6.0, 8.3)]);
    // A second of delay is no gap.
    check_known(&[look(5.0), look(7.0)], "load.in_flight", &[(5.0, None), (7.0, None)]);
    // An old record without pauses: nothing shows that the lab ran in the seventh second, so it is no zero.
    let rows = [answered(&[4.0, 5.0]), vec![look(5.0), look(8.3)], answered(&[8.0, 10.0])].concat();
    check(&rows, "op.a.ok_per_s", &[(4.0, 1.0), (5.0, 1.0), (8.0, 1.0), (9.0, 0.0), (10.0, 1.0)]);
}

fn pulse(t_s: f64, metrics: &[(&str, f64)]) -> TimelineRow {
    TimelineRow::Sample(SamplerRow { t_s, metrics: map(metrics), ..SamplerRow::default() })
}

fn process(t_s: f64, figures: &[(&str, f64)]) -> TimelineRow {
    let processes = BTreeMap::from([("server".to_owned(), map(figures))]);
    TimelineRow::Sample(SamplerRow { t_s, processes, ..SamplerRow::default() })
}

#[test]
fn the_load() {
    let row = SamplerRow {
        t_s: 2.0,
        in_flight: 7,
        queued: 3,
        connections: 9,
        machine: map(&[("busy_share", 0.5)]),
        observed: map(&[("stats.depth", 4.0)]),
        ..SamplerRow::default()
    };
    let rows = [TimelineRow::Sample(row)];
    check(&rows, "load.in_flight", &[(2.0, 7.0)]);
    check(&rows, "load.queued", &[(2.0, 3.0)]);
    check(&rows, "load.connections", &[(2.0, 9.0)]);
    let lag = [TimelineRow::Lag(LagRow { t_s: 0.0, p99_ms: 507.0 }), pulse(3.6, &[])];
    check(&lag, "generator.lag_p99_ms", &[(0.0, 507.0)]);
    check(&rows, "machine.busy_share", &[(2.0, 0.5)]);
    check(&rows, "observe.stats.depth", &[(2.0, 4.0)]);
    check(&[pulse(0.0, &[])], "generator.lag_p99_ms", &[]);
}

#[test]
fn processes() {
    let rows = [
        process(0.0, &[("rss_bytes", 10.0), ("cpu_s", 5.0), ("cpu_user_s", 1.0), ("context_switches", 100.0)]),
        process(2.0, &[("rss_bytes", 12.0), ("cpu_s", 8.0), ("cpu_user_s", 2.0), ("context_switches", 150.0)]),
    ];
    check(&rows, "process.server.rss_bytes", &[(0.0, 10.0), (2.0, 12.0)]);
    check(&rows, "process.server.cpu_cores", &[(0.0, 1.5)]);
    check(&rows, "process.server.cpu_user_cores", &[(0.0, 0.5)]);
    check(&rows, "process.server.context_switches_per_s", &[(0.0, 25.0)]);
    check(&rows, "process.server.cpu_s", &[]);
    let both = |voluntary| [("switches_voluntary", voluntary), ("switches_involuntary", 10.0)];
    check(
        &[process(0.0, &both(5.0)), process(1.0, &both(8.0))],
        "process.server.context_switches_per_s",
        &[(0.0, 3.0)],
    );
    // A key that only resembles processor time.
    check(&[process(0.0, &[("cpu_throttles", 3.0)])], "process.server.cpu_throttles", &[(0.0, 3.0)]);
    // Restarted in between: the value before says nothing about the new process.
    let restarted = [process(0.0, &[("cpu_s", 5.0)]), process(1.0, &[("cpu_s", 1.0)]), process(2.0, &[("cpu_s", 1.5)])];
    check(&restarted, "process.server.cpu_cores", &[(1.0, 0.5)]);
}

#[test]
fn gauges_and_counters() {
    let rows = [pulse(0.0, &[("depth{q=\"a b\"}", 3.0), ("jobs_total", 10.0)]), pulse(2.0, &[("jobs_total", 16.0)])];
    check(&rows, "metric.depth{q=\"a b\"}", &[(0.0, 3.0)]);
    check(&rows, "metric.jobs_total.per_s", &[(0.0, 3.0)]);
    check(&rows, "metric.jobs_total", &[]);
    let labelled = [pulse(0.0, &[("jobs_total{of=\"x\"}", 1.0)]), pulse(1.0, &[("jobs_total{of=\"x\"}", 3.0)])];
    check(&labelled, "metric.jobs_total{of=\"x\"}.per_s", &[(0.0, 2.0)]);
    // A reset, a failed sample, two samples at one moment.
    let reset = [("jobs_total", 16.0), ("jobs_total", 4.0), ("jobs_total", 5.0)];
    let rows: Vec<TimelineRow> = reset.iter().enumerate().map(|(t, sample)| pulse(t as f64, &[*sample])).collect();
    check(&rows, "metric.jobs_total.per_s", &[(1.0, 1.0)]);
    check(
        &[pulse(0.0, &[("a_total", 1.0)]), pulse(1.0, &[]), pulse(4.0, &[("a_total", 5.0)])],
        "metric.a_total.per_s",
        &[(0.0, 1.0)],
    );
    check(&[pulse(1.0, &[("a_total", 1.0)]), pulse(1.0, &[("a_total", 5.0)])], "metric.a_total.per_s", &[]);
    // A count without its sum is a gauge.
    check(&[pulse(0.0, &[("thread_count", 7.0)])], "metric.thread_count", &[(0.0, 7.0)]);
}

#[test]
fn histograms() {
    let look = |t_s: f64, name: &str, sum: f64, count: f64| {
        pulse(t_s, &[(&format!("{name}_sum"), sum), (&format!("{name}_count"), count)])
    };
    let waits = [
        look(0.0, "wait_seconds", 1.0, 10.0),
        look(2.0, "wait_seconds", 7.0, 14.0),
        look(3.0, "wait_seconds", 7.0, 14.0),
    ];
    check(&waits, "metric.wait_seconds.mean_s", &[(0.0, 1.5)]);
    check(&waits, "metric.wait_seconds.per_s", &[(0.0, 2.0), (2.0, 0.0)]);
    check(&waits, "metric.wait_seconds.under_way", &[(0.0, 3.0), (2.0, 0.0)]);
    check(&waits, "metric.wait_seconds_sum", &[]);
    let millis = [look(0.0, "wait_ms", 0.0, 0.0), look(1.0, "wait_ms", 500.0, 10.0)];
    check(&millis, "metric.wait_ms.mean_s", &[(0.0, 0.05)]);
    check(&millis, "metric.wait_ms.under_way", &[(0.0, 0.5)]);
    let sizes = [look(0.0, "size_bytes", 0.0, 0.0), look(1.0, "size_bytes", 500.0, 10.0)];
    check(&sizes, "metric.size_bytes.mean", &[(0.0, 50.0)]);
    check(&sizes, "metric.size_bytes.sum_per_s", &[(0.0, 500.0)]);
    // Restarted, and the new sum is beyond the old one already: the count shows it.
    let restarted = [look(0.0, "wait_seconds", 1.0, 100.0), look(1.0, "wait_seconds", 9.0, 2.0)];
    check(&restarted, "metric.wait_seconds.per_s", &[]);
    check(&restarted, "metric.wait_seconds.mean_s", &[]);
    let labelled =
        |t_s, sum, count| pulse(t_s, &[("w_seconds_sum{db=\"x\"}", sum), ("w_seconds_count{db=\"x\"}", count)]);
    check(&[labelled(0.0, 0.0, 0.0), labelled(1.0, 2.0, 4.0)], "metric.w_seconds{db=\"x\"}.mean_s", &[(0.0, 0.5)]);
}

#[test]
fn work_load_steps_faults_and_notes() {
    let point = WorkPoint { t_s: 4.0, waiting: 1, running: 2, finished: 3, failed: 4, stuck: 5, unknown: 6 };
    let work = TimelineRow::Work(WorkRow { work: "game".to_owned(), point, poll_errors: 0 });
    for (count, value) in [
        ("waiting", 1.0),
        ("running", 2.0),
        ("finished", 3.0),
        ("failed", 4.0),
        ("stuck", 5.0),
        ("unknown", 6.0),
        ("unfinished", 14.0),
    ] {
        check(std::slice::from_ref(&work), &format!("work.game.{count}"), &[(4.0, value)]);
    }
    let step_row = |load_step, t_s, over| {
        TimelineRow::LoadStep(LoadStepRow {
            t_s,
            load_step,
            phase: "p".to_owned(),
            label: format!("burst {load_step}"),
            over,
        })
    };
    let timeline = aggregated(&[
        step_row(0, 0.0, false),
        step_row(1, 5.0, false),
        step_row(0, 6.0, true),
        TimelineRow::Fault(FaultRow { t_s: 7.0, ..FaultRow::default() }),
        TimelineRow::Note(NoteRow { t_s: 8.0, note: "n".to_owned() }),
    ]);
    let spans: Vec<_> = timeline.load_steps.iter().map(|span| (span.number, span.start_s, span.end_s)).collect();
    assert_eq!(spans, [(0, 0.0, Some(6.0)), (1, 5.0, None)]);
    assert_eq!((timeline.faults.len(), timeline.notes.len()), (1, 1));
}

#[test]
fn very_many_metrics_leave_room_for_the_preferred_ones() {
    let samples: BTreeMap<String, f64> =
        (0..5_000).map(|n| (format!("m{n:05}"), 1.0)).chain([("z_wanted{a=\"b\"}".to_owned(), 2.0)]).collect();
    let row = TimelineRow::Sample(SamplerRow { metrics: samples, ..SamplerRow::default() });
    let mut timeline = Timeline::with_preferred_metrics(["z_wanted".to_owned()]);
    timeline.add(&row);
    timeline.add(&row);
    timeline.close();
    let metrics = timeline.series.keys().filter(|name| name.starts_with("metric.")).count();
    assert_eq!(metrics, METRIC_SERIES_MAX + 1);
    assert!(timeline.get("metric.z_wanted{a=\"b\"}").is_some());
    let notes: Vec<&str> = timeline.notes.iter().map(|row| row.note.as_str()).collect();
    assert!(
        matches!(notes.as_slice(), [note] if note.starts_with("4400 of the target's metrics are not")),
        "{notes:?}"
    );
}

/// An estimate of what the series and counters of a timeline hold: buckets, and names.
fn held_bytes(timeline: &Timeline) -> usize {
    let stretches: usize = timeline.series.values().map(|series| series.points.len()).sum();
    let names: usize = timeline.series.keys().chain(timeline.counters.0.keys()).map(String::len).sum();
    stretches * size_of::<SeriesBucket>() + names
}

/// A target with as many metrics as Gauntlet's own, three processes, two journeys of three steps and a kind of work:
/// from the second minute to the tenth the memory of the aggregate grows by less than half of what the whole lab may
/// grow.
#[test]
fn ten_minutes_take_little_more_memory_than_two() {
    let mut timeline = Timeline::default();
    let mut held = Vec::new();
    for second in 0..600 {
        let t_s = f64::from(second);
        let mut metrics = BTreeMap::new();
        for n in 0..20 {
            metrics.insert(format!("spread_{n}_seconds_sum"), t_s);
            metrics.insert(format!("spread_{n}_seconds_count"), t_s * 2.0);
        }
        metrics.extend((0..40).map(|n| (format!("counter_{n}_total"), t_s)));
        let keys = ["rss_bytes", "pss_bytes", "cpu_s", "cpu_user_s", "threads", "open_files", "context_switches"];
        let usage: BTreeMap<String, f64> = keys.iter().map(|key| ((*key).to_owned(), t_s)).collect();
        let processes = ["server", "bots", "generator"].map(|name| (name.to_owned(), usage.clone())).into();
        let machine = (0..8).map(|n| (format!("key_{n}"), t_s)).collect();
        timeline.add(&TimelineRow::Sample(SamplerRow { t_s, processes, machine, metrics, ..SamplerRow::default() }));
        for journey in ["a", "b"] {
            for op in [
                journey.to_owned(),
                format!("{journey}.steps.x"),
                format!("{journey}.steps.y"),
                format!("{journey}.steps.z"),
            ] {
                let spread = Some(Percentiles::default());
                timeline.add(&TimelineRow::Op(OpRow {
                    t_s,
                    op,
                    latency_ms: spread,
                    service_ms: spread,
                    ..OpRow::default()
                }));
            }
        }
        let point = WorkPoint { t_s, ..WorkPoint::default() };
        timeline.add(&TimelineRow::Work(WorkRow { work: "game".to_owned(), point, poll_errors: 0 }));
        if second == 120 || second == 599 {
            held.push(held_bytes(&timeline));
        }
    }
    assert!(held[1] - held[0] <= 1024 * 1024, "{held:?}");
}

fn any_row() -> impl Strategy<Value = TimelineRow> {
    let t = prop_oneof![0.0..100.0_f64, any::<f64>()];
    let name = prop_oneof![
        Just("a_total"),
        Just("b_seconds_sum"),
        Just("b_seconds_count"),
        Just("c{x=\"}\"}"),
        Just("{"),
        Just("")
    ];
    let figures = prop::collection::btree_map(name.prop_map(str::to_owned), any::<f64>(), 0..5);
    prop_oneof![
        (t.clone(), any::<[u8; 3]>(), any::<Option<f64>>()).prop_map(|(t_s, counts, p99)| op(
            t_s,
            0,
            counts.map(u64::from),
            p99
        )),
        (t.clone(), t.clone()).prop_map(|(t_s, until_s)| paused(t_s, until_s)),
        (t, figures).prop_map(|(t_s, metrics)| {
            let processes = BTreeMap::from([("server".to_owned(), metrics.clone())]);
            TimelineRow::Sample(SamplerRow { t_s, metrics, processes, ..SamplerRow::default() })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn rates_are_never_negative_and_figures_always_numbers(rows in prop::collection::vec(any_row(), 0..40)) {
        let timeline = aggregated(&rows);
        for (name, series) in &timeline.series {
            for point in &series.points {
                prop_assert!(point.mean.is_finite() && point.t_s.is_finite(), "{name}: {point:?}");
                prop_assert!(!name.ends_with("per_s") || point.min >= 0.0, "{name}: {point:?}");
            }
        }
    }
}
