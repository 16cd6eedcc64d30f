//! Hunts: fixed seeds that every change must survive, fresh ones on every run, and every seed that ever failed.

mod common;

use sim::FaultKind;
use sim::hunts::{HuntPlan, HuntReport, run};

/// Seeds that failed once, each with what it found.
const FAILED_ONCE: &[u64] = &[1_795_432_807_019_546_905, 1_795_433_369_178_689_672];

#[track_caller]
fn check(seed: u64) -> HuntReport {
    run(HuntPlan::of_seed(seed))
}

#[test]
fn fixed_seeds() {
    let reports: Vec<HuntReport> = (0..60).map(check).collect();
    let sum = |of: fn(&HuntReport) -> u32| reports.iter().map(of).sum::<u32>();
    // It must really have happened, or the seeds prove nothing.
    assert!(sum(|report| report.claims) > 1_000, "{reports:#?}");
    assert!(sum(|report| report.opened) > 300, "{reports:#?}");
    assert!(sum(|report| report.fenced) > 60, "{reports:#?}");
    assert!(sum(|report| report.unknown) > 60, "{reports:#?}");
    assert!(sum(|report| report.faults.get(Killed)) > 300, "{reports:#?}");
    assert!(sum(|report| report.repeated) > 3_000, "{reports:#?}");
    use FaultKind::{
        ClockSet, CommitLate, CommitLost, CutOff, DiskFailed, Killed, OutcomeLost, RequestLost, Suspended,
    };
    let kinds = [Killed, Suspended, CutOff, ClockSet, CommitLost, OutcomeLost, CommitLate, DiskFailed, RequestLost];
    common::check_happened(reports.iter().map(|report| report.faults), &kinds);
}

#[test]
fn seeds_that_failed_once_and_fresh_ones() {
    for seed in FAILED_ONCE {
        let _ = run(HuntPlan::of_first_kinds(*seed));
    }
    for seed in common::fresh_seeds(5) {
        check(seed);
    }
}

#[test]
fn one_seed_is_one_story() {
    for seed in [3, 8, 21] {
        assert_eq!(check(seed), check(seed));
    }
}
