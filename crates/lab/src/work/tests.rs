//! The tracker and the totals, as rows: what the target reports when, and what that counts as.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Mismatch, Tracker, read_totals, reconcile};
use crate::aggregate::{TotalsFigures, WorkFigures};
use crate::measurement::WorkPoint;
use crate::scenario::{Document, Scenario, WorkSpec, WorkTotals};

const WORK: &str = r#"
format = 1
name = "t"
summary = "t"
[target]
url = "http://127.0.0.1:1"
[[phase]]
name = "p"
arrivals = { batch = 1 }
in_flight_max = 1
journey = "j"
[[journey]]
name = "j"
[[journey.step]]
request = "POST /w"
keep = { w = "/id" }
starts = "w"
[work.w]
status = "POST /status"
ids = "ids"
bulk = 10
id = "/id"
state = { at = "/s", waiting = "q", running = "r", finished = "f", failed = "x", unknown = "u" }
stuck_after = "10s"
times = { created = "/c", started = "/b", finished = "/e" }
figures = { turns = "/n", late = "/l" }
progress = "turns"
group = "/h"
derive = { pace = "run_s / turns" }
"#;

fn work() -> WorkSpec {
    Scenario::read(&Document::parse(WORK).unwrap()).unwrap().work_specs.remove(0)
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Creates `created` items named 0, 1, 2 ... at second 0, applies the target's responses, and compares the counts
/// (waiting, running, finished, failed, stuck) after a round of polls that started at second `now`.
#[track_caller]
fn check(created: usize, responses: &[(u64, Value)], now: u64, expected: [u64; 5], settled: bool) {
    let mut tracker = Tracker::new(&work());
    (0..created).for_each(|id| tracker.add_started(&id.to_string(), at(0), at(0)));
    for (second, response) in responses {
        tracker.observe(&[], response, at(*second)).unwrap();
    }
    tracker.mark_all_polled(at(now));
    let WorkPoint { waiting, running, finished, failed, stuck, .. } = tracker.counts(at(now));
    assert_eq!([waiting, running, finished, failed, stuck], expected);
    assert_eq!(waiting + running + finished + failed + stuck, created as u64);
    assert_eq!(tracker.is_settled(), settled);
}

#[test]
fn states() {
    let says = |state: &str, turns: u64| json!([{ "id": "0", "s": state, "n": turns }]);
    check(0, &[], 0, [0; 5], true);
    check(1, &[], 9, [1, 0, 0, 0, 0], false);
    check(1, &[(1, says("q", 0))], 5, [1, 0, 0, 0, 0], false);
    check(1, &[(1, says("r", 1))], 5, [0, 1, 0, 0, 0], false);
    check(1, &[(1, says("f", 9))], 5, [0, 0, 1, 0, 0], true);
    check(1, &[(1, says("x", 9))], 5, [0, 0, 0, 1, 0], true);
    check(1, &[(1, says("cancelled", 9))], 5, [0, 0, 0, 1, 0], true);
    // An end is final: later responses change nothing.
    check(1, &[(1, says("f", 9)), (2, says("r", 9))], 5, [0, 0, 1, 0, 0], true);
    // Not polled: no progress.
    check(2, &[(1, says("r", 1))], 5, [1, 1, 0, 0, 0], false);
}

/// Three items, of which one request polls the first two; compares the counts of waiting, running and unknown items
/// after each response.
#[track_caller]
fn check_unknown(responses: &[(u64, Value)], expected: [u64; 3], settled: bool) {
    let mut tracker = Tracker::new(&work());
    (0..3).for_each(|id| tracker.add_started(&id.to_string(), at(0), at(0)));
    let requested_ids = ["0", "1"].map(Box::from);
    for (second, response) in responses {
        let _ = tracker.observe(&requested_ids, response, at(*second));
        tracker.mark_polled(&requested_ids, at(*second));
    }
    let last = responses.last().unwrap().0;
    let point = tracker.counts(at(last));
    assert_eq!([point.waiting, point.running, point.unknown], expected, "{responses:?}");
    assert_eq!((point.created(), tracker.waiting()), (3, expected[0]));
    assert_eq!(tracker.is_settled(), settled);
}

#[test]
fn items_missing_in_a_response_are_unknown() {
    let runs = |id: &str| json!({ "id": id, "s": "r", "n": 1 });
    check_unknown(&[(1, json!([runs("0"), runs("1")]))], [1, 2, 0], false);
    check_unknown(&[(1, json!([runs("0")]))], [1, 1, 1], false);
    check_unknown(&[(1, json!([]))], [1, 0, 2], false);
    // The server has a state for it.
    check_unknown(&[(1, json!([runs("0"), { "id": "1", "s": "u" }]))], [1, 1, 1], false);
    // It may be known later, or no longer.
    check_unknown(&[(1, json!([])), (2, json!([runs("0"), runs("1")]))], [1, 2, 0], false);
    check_unknown(&[(1, json!([runs("0"), runs("1")])), (2, json!([runs("1")]))], [1, 1, 1], false);
    // A response that could not be read omits nothing.
    check_unknown(&[(1, json!([runs("0"), { "s": "r" }]))], [2, 1, 0], false);
    check_unknown(&[(1, json!({ "error": "busy" }))], [3, 0, 0], false);
    // The third was not polled, so nothing proves that it is stuck; unknown items are not.
    check_unknown(&[(1, json!([])), (30, json!([]))], [1, 0, 2], false);
}

#[test]
fn unknown_items_are_not_waited_for() {
    let mut tracker = Tracker::new(&work());
    tracker.add_started("0", at(0), at(0));
    tracker.observe_unknown("0", at(3));
    tracker.mark_polled(&["0".into()], at(12));
    assert!(!tracker.is_settled());
    tracker.observe_unknown("0", at(13));
    tracker.mark_polled(&["0".into()], at(13));
    let figures = tracker.figures(at(13), None);
    assert_eq!((tracker.is_settled(), figures.unknown, figures.stuck), (true, 1, 0));
    assert_eq!((figures.unknown_ids, figures.drain_s), (vec!["0".to_owned()], None));
}

#[test]
fn stuck_means_no_progress_whatever_the_age() {
    let says = |state: &str, turns: u64| json!([{ "id": "0", "s": state, "n": turns }]);
    check(1, &[(1, says("r", 1)), (9, says("r", 1))], 11, [0, 0, 0, 0, 1], true);
    check(1, &[(1, says("r", 1)), (9, says("r", 1))], 10, [0, 1, 0, 0, 0], false);
    // Old, but its turns go on.
    check(1, &[(1, says("r", 1)), (9, says("r", 2)), (18, says("r", 3))], 27, [0, 1, 0, 0, 0], false);
    // Stuck, and then it moves again.
    check(1, &[(1, says("r", 1)), (30, says("r", 2))], 31, [0, 1, 0, 0, 0], false);
}

/// The lab was stopped for a minute, as on a machine that stands still: what it has not polled is not stuck, neither
/// before its next poll nor when that poll finds that everything went on.
#[test]
fn time_without_polls_proves_nothing() {
    let says = |state: &str, turns: u64| json!([{ "id": "0", "s": state, "n": turns }]);
    let mut tracker = Tracker::new(&work());
    tracker.add_started("0", at(0), at(0));
    tracker.observe(&[], &says("r", 1), at(1)).unwrap();
    tracker.mark_all_polled(at(1));
    assert_eq!((tracker.counts(at(61)).stuck, tracker.is_settled()), (0, false));
    // This round started before the stop, and its response was received afterwards.
    tracker.observe(&[], &says("r", 1), at(61)).unwrap();
    tracker.mark_all_polled(at(2));
    assert_eq!((tracker.figures(at(61), None).stuck, tracker.is_settled()), (0, false));
    tracker.observe(&[], &says("r", 2), at(62)).unwrap();
    tracker.mark_all_polled(at(62));
    assert_eq!((tracker.counts(at(62)).running, tracker.is_settled()), (1, false));
    // Now it is polled and does not move.
    tracker.mark_all_polled(at(72));
    assert_eq!((tracker.counts(at(72)).stuck, tracker.is_settled()), (1, true));
}

#[test]
fn stuck_items_are_grouped_by_their_last_holder() {
    let mut tracker = Tracker::new(&work());
    (0..6).for_each(|id| tracker.add_started(&id.to_string(), at(0), at(0)));
    let runs = |id: &str, holder: Value, turns: u64| json!({ "id": id, "s": "r", "h": holder, "n": turns });
    let (a, b) = (json!("node-a"), json!("node-b"));
    let first = [runs("0", a.clone(), 1), runs("1", a.clone(), 1), runs("2", a.clone(), 1), runs("3", json!(null), 1)];
    tracker.observe(&[], &json!(first), at(1)).unwrap();
    // One moved to the other node and goes on there, one ended.
    let ends = json!({ "id": "0", "s": "f", "h": "node-a", "n": 9 });
    tracker.observe(&[], &json!([runs("2", b, 2), runs("4", json!("node-c"), 7), ends]), at(9)).unwrap();
    let mut by = |second: u64| {
        tracker.mark_all_polled(at(second));
        tracker.figures(at(second), None).stuck_by
    };
    let named = |names: &[(&str, u64)]| {
        names.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(by(5), named(&[]));
    assert_eq!(by(12), named(&[("node-a", 1), ("nobody", 1)]));
    assert_eq!(by(19), named(&[("node-a", 1), ("node-b", 1), ("node-c", 1), ("nobody", 2)]));
    assert_eq!(tracker.figures(at(19), None).stuck, 5);
}

#[test]
fn a_moving_queue_is_not_stuck() {
    let leaves = |id: &str| json!([{ "id": id, "s": "f", "n": 1 }]);
    check(3, &[], 10, [0, 0, 0, 0, 3], true);
    check(3, &[(8, leaves("0"))], 12, [2, 0, 1, 0, 0], false);
    check(3, &[(8, leaves("0")), (16, leaves("1"))], 25, [1, 0, 2, 0, 0], false);
    check(3, &[(8, leaves("0")), (16, leaves("1"))], 26, [0, 0, 2, 0, 1], true);
}

#[test]
fn unreadable_responses_are_reported() {
    let mut tracker = Tracker::new(&work());
    tracker.add_started("0", at(0), at(0));
    let mut say = |response: Value| tracker.observe(&[], &response, at(1)).unwrap_err();
    assert_eq!(say(json!({})), "no list at ``");
    assert_eq!(say(json!([{}])), "no id at `/id`");
    assert_eq!(say(json!([{ "id": "0" }])), "no state at `/s`");
    assert_eq!(say(json!([{ "id": "0", "s": "?" }])), "the state \"?\" has no meaning");
}

#[test]
fn figures_come_from_the_servers_own_times() {
    let mut tracker = Tracker::new(&work());
    tracker.add_started("0", at(2), at(3));
    tracker.add_started("0", at(2), at(3));
    let time = |second: u64| format!("2026-01-31T12:00:{second:02}.000Z");
    let ends = json!([{ "id": "0", "s": "f", "n": 10, "l": 3, "c": time(1), "b": time(2), "e": time(7) }]);
    tracker.observe(&[], &ends, at(9)).unwrap();
    let figures = tracker.figures(at(9), None);
    assert_eq!((figures.created, figures.duplicates, figures.finished), (1, 1, 1));
    assert_eq!(
        (figures.queue_wait_s.max, figures.run_s.max, figures.completion_s.max),
        (Some(1.0), Some(5.0), Some(6.0))
    );
    assert_eq!((figures.figures["late"].sum, figures.derived["pace"].max), (Some(3.0), Some(0.5)));
    assert_eq!((figures.throughput_per_min, figures.drain_s), (Some(10.0), Some(7.0)));
}

#[track_caller]
fn check_totals(before: &Value, after: &Value, lab: [u64; 2], expected: &[Mismatch]) {
    let totals = WorkTotals {
        created: vec!["/all".to_owned()],
        finished: vec!["/f".to_owned(), "/g".to_owned()],
        ..WorkTotals::default()
    };
    let rise = read_totals(&totals, after).since(read_totals(&totals, before));
    let work =
        WorkFigures { created: lab[0], finished: lab[1], failed: 99, totals: Some(rise), ..WorkFigures::default() };
    assert_eq!(reconcile(&totals, &work), expected);
}

#[test]
fn totals_are_reconciled() {
    let before = json!({ "all": 5, "f": 1, "g": 1 });
    check_totals(&before, &json!({ "all": 8, "f": 2, "g": 3 }), [3, 3], &[]);
    let lost = Mismatch { count: "finished", lab: 3, server: Some(2) };
    check_totals(&before, &json!({ "all": 8, "f": 2, "g": 2 }), [3, 3], &[lost]);
    let unread = Mismatch { count: "finished", lab: 3, server: None };
    check_totals(&before, &json!({ "all": 8, "f": 2 }), [3, 3], std::slice::from_ref(&unread));
    let fell = Mismatch { count: "created", lab: 3, server: Some(-5) };
    check_totals(&before, &json!({ "all": 0 }), [3, 3], &[fell, unread]);
    assert_eq!(TotalsFigures::default().since(TotalsFigures::default()), TotalsFigures::default());
}
