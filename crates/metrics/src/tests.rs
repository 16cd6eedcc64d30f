//! The page is valid for Prometheus, and the metrics are what was recorded.

use super::*;
use ::store::Observer;
use engine::matches::entry::AnswerClass;
use std::collections::BTreeMap;

/// A family of a page: its kind, and its samples by name and labels.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    help: String,
    samples: Vec<(String, f64)>,
}

/// Parses a page strictly: every sample belongs to the family announced above it, and no family appears twice.
#[track_caller]
fn parse(page: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut name = String::new();
    for line in page.lines() {
        if let Some(head) = line.strip_prefix("# HELP ") {
            let (family, help) = head.split_once(' ').unwrap();
            name = family.to_owned();
            let before = families.insert(name.clone(), Family { help: help.to_owned(), ..Family::default() });
            assert!(before.is_none(), "{name} comes twice");
        } else if let Some(head) = line.strip_prefix("# TYPE ") {
            let (family, kind) = head.split_once(' ').unwrap();
            assert_eq!(family, name);
            families.get_mut(&name).unwrap().kind = kind.to_owned();
        } else {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            let bare = sample.split('{').next().unwrap();
            let rest = bare.strip_prefix(&name).unwrap_or_else(|| panic!("{sample} stands under {name}"));
            let family = families.get_mut(&name).unwrap();
            let is_known = if family.kind == "histogram" {
                ["_bucket", "_sum", "_count"].contains(&rest)
            } else {
                rest.is_empty()
            };
            assert!(is_known, "{sample} is no sample of the {} {name}", family.kind);
            family.samples.push((sample.to_owned(), value.parse().unwrap()));
        }
    }
    families
}

#[test]
fn every_family_follows_the_conventions() {
    let metrics = Metrics::default();
    metrics.http_answered("/api/games/{id}", 200, Duration::from_millis(3));
    for (name, family) in parse(&metrics.page().into_text()) {
        assert!(name.starts_with("gauntlet_"), "{name}");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert!(family.help.ends_with('.'), "{name}: {}", family.help);
        assert!(!family.samples.is_empty() || family.kind == "counter", "{name} has no sample");
        match family.kind.as_str() {
            "counter" => assert!(name.ends_with("_total"), "{name}"),
            "gauge" => assert!(!name.ends_with("_total"), "{name}"),
            "histogram" if name.ends_with("_inputs") => assert!(family.help.starts_with("Inputs "), "{name}"),
            "histogram" => assert!(name.ends_with("_seconds") && family.help.ends_with("in seconds."), "{name}"),
            kind => panic!("{name} is of the unknown kind {kind}"),
        }
    }
}

/// Checks that these calls change these samples to these values on the page.
#[track_caller]
fn check(record: impl FnOnce(&Metrics), want: &[(&str, f64)]) {
    let metrics = Metrics::default();
    record(&metrics);
    let families = parse(&metrics.page().into_text());
    let samples: BTreeMap<String, f64> = families.into_values().flat_map(|family| family.samples).collect();
    for (sample, value) in want {
        assert_eq!(samples.get(*sample), Some(value), "{sample}");
    }
}

#[test]
fn what_is_recorded_is_on_the_page() {
    check(
        |metrics| {
            metrics.matches.record_claim(false);
            metrics.matches.record_claim(true);
            metrics.matches.record_claim(true);
            metrics.matches.running.dec();
        },
        &[
            ("gauntlet_matches_claimed_total", 3.0),
            ("gauntlet_matches_resumed_total", 2.0),
            ("gauntlet_matches_running", 2.0),
        ],
    );
    check(
        |metrics| {
            (0..4).for_each(|_| metrics.matches.record_claim(false));
            metrics.process.leases_lost.inc();
            metrics.matches.running.sub(3);
        },
        &[("gauntlet_leases_lost_total", 1.0), ("gauntlet_matches_running", 1.0)],
    );
    check(
        |metrics| {
            metrics.matches.record_turn(0);
            metrics.matches.record_turn(2);
        },
        &[("gauntlet_turns_total", 2.0), ("gauntlet_late_moves_total", 2.0)],
    );
    check(
        |metrics| {
            metrics.matches.record_answer(AnswerClass::Valid, 200);
            metrics.matches.record_answer(AnswerClass::Late, 500);
            metrics.matches.record_answer(AnswerClass::Malformed, 1);
        },
        &[
            ("gauntlet_bot_calls_total", 3.0),
            (r#"gauntlet_broken_moves_total{class="malformed"}"#, 1.0),
            (r#"gauntlet_bot_call_seconds_bucket{le="0.001"}"#, 1.0),
            (r#"gauntlet_bot_call_seconds_bucket{le="0.25"}"#, 2.0),
            (r#"gauntlet_bot_call_seconds_bucket{le="+Inf"}"#, 3.0),
            ("gauntlet_bot_call_seconds_count", 3.0),
        ],
    );
    check(
        |metrics| {
            metrics.committed(7, Duration::from_millis(1), Duration::from_millis(2), true);
            metrics.committed(5, Duration::from_millis(1), Duration::from_millis(2), false);
            metrics.read(Duration::ZERO, Duration::from_millis(1), false);
        },
        &[
            ("gauntlet_store_batches_total", 2.0),
            ("gauntlet_store_batches_failed_total", 1.0),
            ("gauntlet_store_commands_total", 7.0),
            ("gauntlet_store_queries_failed_total", 1.0),
            ("gauntlet_store_pool_wait_seconds_count", 1.0),
        ],
    );
}

#[test]
fn durations_are_those_of_the_last_minute_and_separate() {
    let metrics = Metrics::default();
    let begun = metrics.begun;
    metrics.read(Duration::from_millis(1), Duration::from_millis(100), true);
    let timing = metrics.timing();
    assert_eq!((timing.pool_wait_ms.p99, timing.query_ms.p99), (Some(1.0), Some(100.0)));
    assert_eq!(timing.commit_ms, Quantiles::default());

    (0..=80).for_each(|at_s| metrics.tick(begun + Duration::from_secs(at_s)));
    assert_eq!(metrics.timing().query_ms, Quantiles::default(), "what happened long ago does not count");
    metrics.read(Duration::from_millis(1), Duration::from_millis(2), true);
    assert_eq!(metrics.timing().query_ms.p50, Some(2.0));
}

#[test]
fn turns_per_second_are_those_of_the_last_seconds() {
    let metrics = Metrics::default();
    let at = |at_s| metrics.begun + Duration::from_secs(at_s);
    (0..500).for_each(|_| metrics.matches.record_turn(0));
    assert_eq!(metrics.turns_per_s(at(5)), 100.0);
    (5..=15).for_each(|at_s| metrics.tick(at(at_s)));
    assert_eq!(metrics.turns_per_s(at(15)), 0.0);
}
