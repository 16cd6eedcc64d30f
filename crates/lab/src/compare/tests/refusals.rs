//! What is not compared, and the reasons that are given.

use super::super::{CompareOptions, RunRecord, Side, check_comparable};
use super::fixture::{TEST_RUN, TestRun, side};
use crate::verdict::Verdict;

fn two() -> Vec<Side> {
    vec![side("A", vec![TEST_RUN.record()]), side("B", vec![TestRun { seed: 2, ..TEST_RUN }.record()])]
}

/// Changes the second side; checks how many reasons there are and what each of them must name.
#[track_caller]
fn check(change: impl FnOnce(&mut Vec<Side>), reasons: &[&[&str]]) {
    let mut sides = two();
    change(&mut sides);
    let found = check_comparable(&sides, CompareOptions::default()).err().unwrap_or_default();
    assert_eq!(found.len(), reasons.len(), "{found:#?}");
    for (text, words) in found.iter().zip(reasons) {
        words.iter().for_each(|word| assert!(text.contains(word), "{text} has no {word}"));
    }
}

fn second(sides: &mut [Side]) -> &mut RunRecord {
    &mut sides[1].records[0]
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_reason_and_an_advice() {
    check(|_| {}, &[]);
    check(|sides| drop(sides.pop()), &[&["two sides", "second run"]]);
    check(|sides| second(sides).run.verdict = Verdict::Void, &[&["B:", "void", "fell behind", "again"]]);
    check(|sides| second(sides).run.verdict = Verdict::Interrupted, &[&["B:", "interrupted", "again"]]);
    check(|sides| second(sides).run.verdict = Verdict::Failed, &[]);
    check(|sides| second(sides).run.machine.cores = Some(8), &[&["2 cores", "8 cores", "one machine"]]);
    check(|sides| second(sides).run.machine.cpu_model = None, &[&["Some Processor", "unknown processor"]]);
    check(|sides| second(sides).run.machine.fsync_ms_p50 = Some(9.0), &[]);
    check(
        |sides| second(sides).run.scenario.name = "demo".to_owned(),
        &[&["leaderboard", "demo", "--across-scenarios"]],
    );
    check(|sides| second(sides).run.scenario.text_hash = "88bb".to_owned(), &[&["another text", "--across-scenarios"]]);
    check(|sides| second(sides).run.id = TEST_RUN.id(), &[&[TEST_RUN.id().as_str(), "twice"]]);
    // All reasons at once.
    check(
        |sides| {
            second(sides).run.verdict = Verdict::Void;
            second(sides).run.machine.cores = Some(8);
        },
        &[&["void"], &["8 cores"]],
    );
}

#[test]
fn settings_may_differ() {
    let changed = TestRun { seed: 2, settings: &["workers=25"], ..TEST_RUN };
    check(|sides| *second(sides) = changed.record(), &[]);
    // Records without the hash of the text alone: only identical settings can show that the text differs.
    let old = |record: &mut RunRecord| record.run.scenario.text_hash.clear();
    check(|sides| sides.iter_mut().for_each(|side| old(&mut side.records[0])), &[]);
    check(
        |sides| {
            sides.iter_mut().for_each(|side| old(&mut side.records[0]));
            second(sides).run.scenario.hash = "88bb".to_owned();
        },
        &[&["another text"]],
    );
}

#[test]
fn runs_of_one_side_are_repeats_of_each_other() {
    let third = || TestRun { seed: 3, ..TEST_RUN }.record();
    check(|sides| sides[1].records.push(third()), &[]);
    let other = || TestRun { seed: 3, settings: &["workers=25"], ..TEST_RUN }.record();
    check(|sides| sides[1].records.push(other()), &[&["B:", "no repeats", "different sides"]]);
}

#[test]
fn other_scenarios_are_compared_with_a_warning_on_request() {
    let mut sides = two();
    second(&mut sides).run.scenario.name = "demo".to_owned();
    let warnings = check_comparable(&sides, CompareOptions { across_scenarios: true }).unwrap();
    assert_eq!(warnings, ["A ran the scenario leaderboard, B ran demo."]);
    // A void run cannot be compared even on request.
    second(&mut sides).run.verdict = Verdict::Void;
    assert!(check_comparable(&sides, CompareOptions { across_scenarios: true }).is_err());
}
