//! Laws: whatever a timeline contains, findings are computed without a panic, and with finite numbers.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::story::{Story, StorySecond};
use crate::aggregate::ErrorGroup;
use crate::findings::{ProcessExit, ROLE_METRICS};
use crate::measurement::timeline::FaultRow;

/// Anything that a figure may be, and much that it should not.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 0.0..5_000.0_f64, 1 => Just(0.0), 1 => any::<f64>(), 1 => Just(f64::NAN), 1 => Just(1e300)]
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..500_u64, 1 => Just(0), 1 => Just(1 << 50)]
}

fn second() -> impl Strategy<Value = StorySecond> {
    let metrics = prop::collection::vec((0..ROLE_METRICS.len(), number(), number()), 0..8);
    let figures = prop::collection::vec(number(), 11);
    (prop::collection::vec(count(), 8), figures, metrics).prop_map(|(counts, figures, metrics)| {
        let known = |(role, ..): &(usize, f64, f64)| ROLE_METRICS[*role].1;
        StorySecond {
            ok: counts[0],
            denied: counts[1],
            errors: counts[2],
            service_ms: figures[0],
            wait_ms: figures[1],
            in_flight: counts[3],
            times: metrics.iter().filter_map(|row| Some((known(row)?, (row.1, row.2)))).collect(),
            counters: metrics.iter().filter_map(|row| Some((known(row)?, row.1))).collect(),
            gauges: metrics.iter().filter_map(|row| Some((known(row)?, row.2))).collect(),
            server_cores: figures[2],
            lab_cores: figures[3],
            bots_cores: figures[4],
            rss_mib: figures[5],
            open_files: figures[6],
            processes: 1.0,
            machine: BTreeMap::from([
                ("busy_share", figures[7]),
                ("steal_share", figures[8]),
                ("listen_overflows", figures[9]),
                ("packets_dropped", figures[9] * 100.0),
                ("timed_out", figures[10]),
            ]),
            waiting: counts[4],
            running: counts[5],
            finished: counts[6],
            stuck: counts[7],
        }
    })
}

fn fault() -> impl Strategy<Value = FaultRow> {
    (number(), prop::option::of(0.0..1e6_f64), prop::bool::ANY).prop_map(|(t_s, ready_again_s, is_kill)| FaultRow {
        t_s,
        ready_again_s,
        process: "server".to_owned(),
        act: if is_kill { "kill" } else { "continue" }.to_owned(),
        ..FaultRow::default()
    })
}

prop_compose! {
    fn story()(
        seconds in prop::collection::vec(second(), 1..40),
        faults in prop::collection::vec(fault(), 0..3),
        limits in prop::option::of((count(), 0.01..64.0_f64, count())),
        pressure in prop::collection::vec(prop::option::of(count()), 5),
        died_at in number(),
        lag in number(),
        fsync in prop::option::of(number()),
        has_metrics in prop::bool::weighted(0.9),
    ) -> Story {
        let usual = Story::from_rate(|_| 1, |_, _| {});
        let told = Story { seconds, ..usual };
        told.with(|story| {
            story.update_results();
            story.has_metrics = has_metrics;
            story.faults = faults;
            story.machine.fsync_ms_p50 = fsync;
            story.results.generator.schedule_lag_ms.p99 = Some(lag);
            if let Some((memory, share, files)) = limits {
                (story.limits.memory_bytes, story.limits.cpu_cores, story.limits.open_files) = (Some(memory), Some(share), Some(files));
            }
            story.limit_counters.oom_kills = pressure[0];
            story.limit_counters.memory_peak_bytes = pressure[1];
            story.limit_counters.cpu_periods = pressure[2];
            story.limit_counters.cpu_throttled_periods = pressure[3];
            story.limit_counters.cpu_throttled_us = pressure[4];
            story.process_exits.push(ProcessExit { process: "server".to_owned(), t_s: died_at, signal: Some(9) });
            let sample = "os error 99, os error 24".to_owned();
            story.errors.push(ErrorGroup { journey: "create".to_owned(), step: None, kind: "connect".to_owned(), count: 1, sample, more_samples: Vec::new() });
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn findings_are_made_of_anything(story in story()) {
        for finding in story.findings() {
            let says = finding.evidence.iter().map(|evidence| evidence.text.as_str());
            for text in says.chain([finding.sentence.as_str()]) {
                prop_assert!(!text.contains("NaN") && !text.contains("inf"), "{}: {text}", finding.code);
            }
            prop_assert!(!finding.refuted_by.is_empty() && !finding.advice.is_empty());
        }
    }

    #[test]
    fn the_same_run_has_the_same_findings(story in story()) {
        prop_assert_eq!(story.findings(), story.findings());
    }
}
