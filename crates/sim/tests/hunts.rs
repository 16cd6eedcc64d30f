//! Hunts: fixed seeds that every change must survive, fresh ones on every run, and every seed that ever failed.

use sim::hunts::{HuntReport, run};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seeds that failed once, each with what it found.
const FAILED_ONCE: &[u64] = &[1_795_432_807_019_546_905, 1_795_433_369_178_689_672];

#[track_caller]
fn check(seed: u64) -> HuntReport {
    run(seed)
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
    assert!(sum(|report| report.killed) > 300, "{reports:#?}");
    assert!(sum(|report| report.repeated) > 3_000, "{reports:#?}");
}

#[test]
fn seeds_that_failed_once() {
    for seed in FAILED_ONCE.iter().copied() {
        let _ = check(seed);
    }
}

/// As many as `SIM_SEEDS` says, 10 without it; the seed of a failure is printed and belongs into the list above.
#[test]
fn fresh_seeds() {
    let count = std::env::var("SIM_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(10);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    for at in 0..count {
        check(now.wrapping_add(at));
    }
}

#[test]
fn one_seed_is_one_story() {
    for seed in [3, 8, 21] {
        assert_eq!(check(seed), check(seed));
    }
}
