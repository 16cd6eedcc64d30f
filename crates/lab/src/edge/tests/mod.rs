//! The search on simulated services, and growth as rows.

mod capacity;
mod simulated;

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::measurement::OutcomeCounts;
use crate::scenario::EdgeSearch;
use simulated::{Service, Takes};

fn spec() -> EdgeSearch {
    EdgeSearch {
        from_per_s: 50.0,
        to_per_s: 20_000.0,
        precision: 0.03,
        level_duration: Duration::from_secs(5),
        hold_duration: Duration::from_secs(20),
        backlog: true,
        ..EdgeSearch::default()
    }
}

/// Only errors are overload.
fn errors_only() -> EdgeSearch {
    EdgeSearch { error_share: Some(0.01), backlog: false, ..spec() }
}

fn run(service: &Service, spec: EdgeSearch) -> SearchOutcome {
    run_at_most(40, service, spec)
}

fn run_at_most(levels_max: usize, service: &Service, spec: EdgeSearch) -> SearchOutcome {
    let quantile = spec.latency_ms.map_or(0.99, |(quantile, _)| quantile);
    let mut search = Search::new(spec);
    search.levels_max = levels_max;
    let mut driven = 0;
    while let Some(level) = search.next_level() {
        driven += 1;
        assert!(driven <= levels_max);
        assert_eq!(search.next_level(), Some(level.clone()), "a level stands until it was seen");
        let seen = service.drive(&level, quantile);
        search.record_level(level, &seen);
    }
    assert_eq!(search.next_level(), None);
    search.outcome()
}

/// The edge is where it was expected, within a share, after no more than so many levels.
#[track_caller]
fn check_found(service: &Service, spec: EdgeSearch, expected_per_s: f64, within: f64, levels_max: usize) {
    let outcome = run(service, spec);
    assert_eq!(outcome.ending, Ending::Found, "{service:?}: {}", outcome.reason);
    let edge_per_s = outcome.edge_per_s.unwrap();
    let off = edge_per_s / expected_per_s - 1.0;
    assert!(off.abs() <= within, "{service:?}: {edge_per_s} instead of {expected_per_s}: {}", outcome.reason);
    assert!(outcome.levels.len() <= levels_max, "{service:?}: took {} levels", outcome.levels.len());
    assert!(outcome.overloaded_per_s.unwrap() > edge_per_s);
}

#[test]
fn the_edge_of_servers_is_found_ten_times_out_of_ten() {
    let shapes = [(1, 4.0), (1, 10.0), (2, 5.0), (4, 20.0), (8, 2.5), (16, 100.0), (64, 50.0), (50, 400.0)];
    for (servers, service_ms) in shapes {
        for seed in 1..=10 {
            for (takes, misread) in [(Takes::Constant, 2), (Takes::Jittered(0.5), 0)] {
                let service = Service { takes, misread, seed, ..Service::new(servers, service_ms) };
                check_found(&service, spec(), service.capacity_per_s(), 0.05, 20);
            }
        }
    }
}

#[test]
fn the_edge_of_exponential_servers_is_found_in_levels_of_ten_thousand_requests() {
    for (servers, service_ms) in [(1, 1.0), (4, 4.0), (16, 16.0)] {
        for seed in 1..=10 {
            let service = Service { takes: Takes::Exponential, seed, ..Service::new(servers, service_ms) };
            let (level, hold) = (Duration::from_secs(15), Duration::from_secs(45));
            let spec = EdgeSearch { level_duration: level, hold_duration: hold, from_per_s: 200.0, ..spec() };
            check_found(&service, spec, service.capacity_per_s(), 0.05, 20);
        }
    }
}

#[test]
fn a_hiccup_in_any_one_level_does_not_move_the_edge() {
    for number in 1..=14 {
        for at_s in [1.6, 3.3, 4.7] {
            let hiccup = Some((number, at_s, 0.2));
            let service = Service { hiccup, takes: Takes::Jittered(0.2), ..Service::new(8, 10.0) };
            check_found(&service, spec(), 800.0, 0.05, 20);
            let (latency_ms, error_share) = (Some((0.99, 100.0)), Some(0.01));
            let spec = EdgeSearch { latency_ms, error_share, backlog: false, ..spec() };
            check_found(&service, spec, 800.0, 0.05, 20);
        }
    }
}

#[test]
fn other_overloads_are_found_where_they_begin() {
    let base = Service::new(8, 5.0);
    // Errors of more than 1 % come 1 % above the rate from which on they come.
    let failing = Service { errors_above_per_s: 700.0, ..base.clone() };
    check_found(&failing, errors_only(), 707.0, 0.03, 18);
    // Waiting work grows by more than 1 % of what is due 1 % above what is worked off.
    let working = Service { work_per_s: 300.0, ..base.clone() };
    check_found(&working, spec(), 303.0, 0.03, 18);
    // One server with a gate of 20 ms above a service time of 5: the queue may be as long as three requests.
    let gate = EdgeSearch { latency_ms: Some((0.99, 20.0)), backlog: false, ..spec() };
    check_found(&Service::new(1, 5.0), gate, 200.0, 0.03, 20);
    // Below the first level.
    check_found(&base, EdgeSearch { from_per_s: 10_000.0, ..spec() }, 1600.0, 0.05, 20);
}

#[track_caller]
fn check_ending(service: &Service, spec: EdgeSearch, ending: &Ending, edge_per_s: Option<f64>, reason: &str) {
    let outcome = run(service, spec);
    assert_eq!((&outcome.ending, outcome.edge_per_s), (ending, edge_per_s), "{}", outcome.reason);
    assert!(outcome.reason.contains(reason), "{}", outcome.reason);
}

#[test]
fn searches_without_an_edge_say_why() {
    let service = Service::new(8, 5.0);
    let low = EdgeSearch { to_per_s: 1000.0, ..spec() };
    let sustained = Some(1000.0);
    check_ending(
        &service,
        low,
        &Ending::NotFoundBelow { ceiling_per_s: 1000.0 },
        sustained,
        "1,000 requests/s were sustained",
    );
    let dead = Service { errors_above_per_s: 0.0, ..service.clone() };
    check_ending(
        &dead,
        spec(),
        &Ending::NoneSustained { floor_per_s: 2.0 },
        None,
        "not one of 10 requests was answered well",
    );
    let behind = Service { generator_per_s: 500.0, ..service.clone() };
    let void = Ending::Void { why: "the generator was behind its own schedule".to_owned() };
    check_ending(&behind, spec(), &void, None, "Ended at 800 requests/s, twice void: the generator was behind");
    check_ending(&behind, spec(), &void, None, "Sustained up to 400 requests/s; no rate was too much.");
    let slow = run(&Service::new(1, 100.0), EdgeSearch { from_per_s: 5.0, ..spec() });
    assert!(
        slow.reason.ends_with("growth below 5.7 % of them does not show: the edge is no sharper than that."),
        "{}",
        slow.reason
    );
    let fast = run(&service, spec());
    assert!(!fast.reason.contains("sharper"), "{}", fast.reason);
    let few = run_at_most(8, &service, spec());
    assert_eq!((few.ending, few.edge_per_s), (Ending::LevelsSpent, None));
    assert!(few.reason.contains("Ended after 8 levels"), "{}", few.reason);
}

/// Answers level after level by a rule, and compares the rates that were asked for.
#[track_caller]
fn check_rates(spec: EdgeSearch, answer: impl Fn(&Level) -> LevelMeasurement, rates_per_s: &[f64], ending: &Ending) {
    let mut search = Search::new(spec);
    let mut rates = Vec::new();
    while let Some(level) = search.next_level() {
        rates.push((level.rate_per_s * 10.0).round() / 10.0);
        let seen = answer(&level);
        search.record_level(level, &seen);
    }
    assert_eq!(rates, rates_per_s, "{}", search.outcome().reason);
    assert_eq!(search.outcome().ending, *ending, "{}", search.outcome().reason);
}

/// As many errors as asked for, and a flat backlog.
fn with_errors(level: &Level, errors: u64) -> LevelMeasurement {
    let lasting_s = level.duration.as_secs_f64();
    let backlog = (0..).map(|i| (f64::from(i) / 10.0, 3.0)).take_while(|sample| sample.0 < lasting_s).collect();
    LevelMeasurement { lasting_s, due: 1000, ok: 1000 - errors, errors, backlog, ..LevelMeasurement::default() }
}

/// Responses after the level's end are no throughput; errors are a share of all responses, late ones included.
#[test]
fn late_responses_change_no_share() {
    let mut seen = LevelMeasurement { lasting_s: 5.0, due: 500, ..LevelMeasurement::default() };
    seen.set_outcomes(OutcomeCounts { ok: 491, denied: 5, errors: 4 }, 300);
    assert_eq!((seen.ok, seen.throughput_per_s()), (295, 59.0));
    assert_eq!((seen.error_share(), seen.denied_share()), (0.008, 0.01));
}

#[test]
fn rates_asked_for() {
    let coarse = EdgeSearch { from_per_s: 100.0, to_per_s: 1600.0, precision: 0.25, ..errors_only() };
    let beyond = |limit: f64| move |level: &Level| with_errors(level, if level.rate_per_s > limit { 50 } else { 0 });
    // An overload that errors show is seen twice before it is believed.
    check_rates(
        coarse.clone(),
        beyond(500.0),
        &[100.0, 200.0, 400.0, 800.0, 800.0, 565.7, 565.7, 475.7, 475.7],
        &Ending::Found,
    );
    // One bad level is not believed: the climb goes on from its repetition.
    let once = |level: &Level| with_errors(level, if level.number == 3 || level.rate_per_s > 1000.0 { 50 } else { 0 });
    let rates = [100.0, 200.0, 400.0, 400.0, 800.0, 1600.0, 1600.0, 1131.4, 1131.4, 951.4, 951.4];
    check_rates(coarse.clone(), once, &rates, &Ending::Found);
    // What does not hold is tried lower, in steps that double: 25 %, 50 %.
    let tiring = |level: &Level| {
        let limit = if level.purpose == LevelPurpose::Hold { 300.0 } else { 500.0 };
        with_errors(level, if level.rate_per_s > limit { 50 } else { 0 })
    };
    let rates = [100.0, 200.0, 400.0, 800.0, 800.0, 565.7, 565.7, 475.7, 475.7, 475.7, 380.5, 380.5, 253.7];
    check_rates(coarse.clone(), tiring, &rates, &Ending::Found);
    // A service that never holds ends the search after five holds.
    let never = |level: &Level| {
        with_errors(level, if level.purpose == LevelPurpose::Hold || level.rate_per_s > 1000.0 { 50 } else { 0 })
    };
    let mut search = Search::new(EdgeSearch { precision: 0.005, ..coarse.clone() });
    while let Some(level) = search.next_level() {
        let seen = never(&level);
        search.record_level(level, &seen);
    }
    assert_eq!(search.outcome().ending, Ending::NotHeld { holds: 5 }, "{}", search.outcome().reason);
    // A void level is repeated once, and forgiven.
    let void = |level: &Level| LevelMeasurement { generator_behind: level.number == 2, ..with_errors(level, 0) };
    let ceiling = Ending::NotFoundBelow { ceiling_per_s: 1600.0 };
    check_rates(coarse, void, &[100.0, 200.0, 200.0, 400.0, 800.0, 1600.0, 1600.0], &ceiling);
}

#[test]
fn a_level_is_void_without_an_assessment() {
    #[track_caller]
    fn check(change: impl Fn(&mut LevelMeasurement), sentence: &str) {
        let mut search = Search::new(spec());
        let level = search.next_level().unwrap();
        let mut seen = with_errors(&level, 0);
        change(&mut seen);
        let judged = search.record_level(level, &seen);
        assert!(matches!(&judged, LevelAssessment::Void(why) if why.contains(sentence)), "{judged}");
    }
    check(|seen| seen.generator_behind = true, "behind its own schedule");
    check(|seen| (seen.ok, seen.paused_share) = (0, 0.25), "the generator itself paused for");
    check(|seen| seen.due = 0, "no request was due");
    check(|seen| seen.lasting_s = f64::NAN, "no request was due");
    check(|seen| seen.backlog.truncate(20), "sampled 20 times");
    check(|seen| seen.backlog.iter_mut().for_each(|sample| sample.1 = f64::NAN), "too seldom");
}

#[test]
fn reasons_are_sentences() {
    #[track_caller]
    fn check(spec: EdgeSearch, change: impl Fn(&mut LevelMeasurement), sentence: &str) {
        let mut search = Search::new(spec);
        let level = search.next_level().unwrap();
        let mut seen = with_errors(&level, 20);
        change(&mut seen);
        assert_eq!(search.record_level(level, &seen).to_string(), sentence);
    }
    let gate = EdgeSearch { latency_ms: Some((0.999, 20.0)), backlog: false, ..spec() };
    check(
        gate.clone(),
        |seen| seen.latency_gate_ms = Some(31.25),
        "overloaded: p99.9 of latency is 31.2 ms, above 20 ms",
    );
    check(gate.clone(), |seen| seen.latency_gate_ms = Some(20.0), "sustained");
    check(gate, |seen| seen.ok = 0, "overloaded: not one of 1,000 requests was answered well");
    check(errors_only(), |_| (), "overloaded: 2 % of the answers are errors, above 1 %");
    check(errors_only(), |seen| seen.denied = 9000, "sustained");
    let grows = |seen: &mut LevelMeasurement| seen.backlog.iter_mut().for_each(|sample| sample.1 += 20.0 * sample.0);
    let expected = "overloaded: requests without an answer grow by 20 each second, 10 % of what is due";
    check(spec(), grows, expected);
    check(
        spec(),
        |seen| seen.work_waiting = seen.backlog.iter().map(|sample| (sample.0, 100.0 - sample.0)).collect(),
        "sustained",
    );
}

#[test]
fn what_a_search_found_is_written_with_its_levels() {
    // Rates and windows without endless fractions: a text of them need not be the last bit.
    let (level_duration, hold_duration) = (Duration::from_secs(6), Duration::from_secs(6));
    let error_share = Some(0.01);
    let mut search = Search::new(EdgeSearch { to_per_s: 200.0, level_duration, hold_duration, error_share, ..spec() });
    while let Some(level) = search.next_level() {
        let seen = with_errors(&level, if level.number == 2 { 50 } else { 0 });
        let generator_behind = level.number == 4;
        search.record_level(level, &LevelMeasurement { generator_behind, latency_p50_ms: Some(2.5), ..seen });
    }
    let outcome = search.outcome();
    let text = serde_json::to_string(&outcome).unwrap();
    let first = r#"{"number":1,"rate_per_s":50.0,"lasting_s":6.0,"purpose":"climb","judged":"sustained","stands":true"#;
    let second = r#""judged":"overloaded","because":[{"reason":"errors","error_share":0.05,"limit_share":0.01}]"#;
    assert!(text.contains(first) && text.contains(second) && text.contains(r#""judged":"void""#), "{text}");
    // Neither the void level nor the overload that did not come back says anything about capacity.
    let points: Vec<_> =
        outcome.points(7).iter().map(|point| (point.load_step, point.offered_per_s.unwrap())).collect();
    assert_eq!(points, [(7, 50.0), (9, 100.0), (11, 200.0), (12, 200.0)]);
    assert_eq!(outcome.levels[0].level.title(), "climb 1: 50 requests/s for 6 s");
}

/// `count(t)` every tenth of a second for ten seconds, at 100 requests per second.
#[track_caller]
fn grows(count: impl Fn(f64) -> f64, expected: bool, decisive: bool) {
    let samples: Vec<(f64, f64)> = (0..=100).map(|i| f64::from(i) / 10.0).map(|t_s| (t_s, count(t_s))).collect();
    let growth = growth(&samples, Window::settled(10.0, None), 100.0).unwrap();
    assert_eq!((growth.grows, growth.decisive), (expected, decisive), "{growth:?}");
}

#[test]
fn growth_is_told_from_noise() {
    let noise = |t_s: f64| (crate::scenario::mix(7, (t_s * 10.0) as u64) % 5) as f64 - 2.0;
    grows(|_| 5.0, false, false);
    grows(|t_s| 10.0 + noise(t_s), false, false);
    grows(|t_s| 100.0 - t_s, false, false);
    grows(|t_s| 50.0 * t_s, true, true);
    // 1 % of what is due is the least that matters; close above it is no decision.
    grows(|t_s| 0.5 * t_s + noise(t_s), false, false);
    grows(|t_s| 3.0 * t_s + noise(t_s), true, false);
    grows(|t_s| 8.0 * t_s + noise(t_s), true, true);
    // Faster and faster, and up to the limit of an in-flight cap or a timeout.
    grows(|t_s| t_s * t_s, true, true);
    grows(|t_s| (40.0 * t_s).min(330.0), true, true);
    grows(|t_s| (40.0 * t_s).min(250.0), true, false);
    grows(|t_s| (40.0 * t_s).min(100.0), false, false);
    // A pause that is worked off, and one that leaves a step.
    grows(|t_s| 5.0 + if (6.0..7.5).contains(&t_s) { 40.0 * (7.5 - t_s) } else { 0.0 }, false, false);
    grows(|t_s| 5.0 + if t_s > 9.0 { 20.0 } else { 0.0 } + noise(t_s), false, false);
    // A slow wave: every sample rises with its neighbours, and nothing grows.
    grows(|t_s| 50.0 + 20.0 * (t_s * 1.5).sin(), false, false);
}

#[test]
fn too_few_samples_say_nothing() {
    let window = Window { from_s: 0.0, to_s: 10.0 };
    let rising: Vec<(f64, f64)> = (0..6).map(|i| (f64::from(i), 50.0 * f64::from(i))).collect();
    assert!(growth(&rising, window, 100.0).unwrap().grows);
    assert_eq!(growth(&rising[1..], window, 100.0), None);
    assert_eq!(growth(&rising, Window { from_s: 5.0, to_s: 5.0 }, 100.0), None);
    assert_eq!(growth(&rising, window, f64::NAN), None);
    assert_eq!(growth(&[], window, 100.0), None);
    // A median latency of 2 s: the first 4 s fill the queue; and never is more than half thrown away.
    assert_eq!(Window::settled(10.0, Some(2000.0)), Window { from_s: 4.0, to_s: 10.0 });
    assert_eq!(Window::settled(10.0, Some(9000.0)), Window { from_s: 5.0, to_s: 10.0 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_servers_any_start_the_edge_is_found(
        servers in 1usize..40,
        capacity_per_s in 150.0f64..2000.0,
        from_per_s in 20.0f64..3000.0,
        jitter in 0.0f64..0.5,
        seed: u64,
    ) {
        // Long service times fill the whole window: a level is many times as long as a request takes.
        let service_ms = (1000.0 * servers as f64 / capacity_per_s).min(100.0);
        let service = Service { takes: Takes::Jittered(jitter), seed, ..Service::new(servers, service_ms) };
        let outcome = run(&service, EdgeSearch { from_per_s, ..spec() });
        prop_assert_eq!(&outcome.ending, &Ending::Found, "{}", outcome.reason);
        let off = outcome.edge_per_s.unwrap() / service.capacity_per_s() - 1.0;
        prop_assert!(off.abs() <= 0.05, "{}: {} of {}", outcome.reason, off, service.capacity_per_s());
    }

    #[test]
    fn whatever_is_seen_the_search_ends(answers in prop::collection::vec((0u64..3, 0u64..400, any::<bool>()), 64)) {
        let mut search = Search::new(spec());
        let mut rates = Vec::new();
        while let Some(level) = search.next_level() {
            prop_assert!(level.rate_per_s.is_finite() && level.rate_per_s > 0.0 && level.rate_per_s <= 20_000.0);
            let (kind, slope, behind) = answers[level.number - 1];
            let mut seen = with_errors(&level, if kind == 0 { 1000 } else { 0 });
            seen.generator_behind = behind && kind == 2;
            seen.backlog.iter_mut().for_each(|sample| sample.1 += sample.0 * slope as f64 / 10.0);
            rates.push(level.rate_per_s);
            search.record_level(level, &seen);
        }
        let outcome = search.outcome();
        prop_assert!(rates.len() <= 64 && outcome.ending != Ending::NotEnded);
        prop_assert!(!outcome.reason.is_empty());
        if let (Some(edge), Some(over)) = (outcome.edge_per_s, outcome.overloaded_per_s) {
            prop_assert!(edge < over);
        }
        let text = serde_json::to_string(&outcome).unwrap();
        prop_assert!(!text.contains("\"rate_per_s\":null"));
    }
}
