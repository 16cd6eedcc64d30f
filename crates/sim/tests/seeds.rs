//! Fixed seeds that every change must survive, fresh ones on every run, and every seed that ever failed.

mod common;

use engine::matches::lifecycle::MatchState;
use engine::rows::MatchStatus;
use sim::{FaultKind, Faults, MatchPlan, MatchReport, run};

/// Seeds that failed once, each with what it found.
const FAILED_ONCE: &[u64] = &[
    // A claim was saved and its outcome lost: a live worker held a match without knowing of it.
    27,
    // A worker's first lease was saved without its knowledge and ended before the second attempt arrived: it retried
    // that lease for ever.
    1_795_282_727_228_648_194,
    // A bot gave no valid move before its snake died: the result that the store gives back does not say so.
    1_795_763_899_502_244_746,
];

#[track_caller]
fn check(seed: u64) -> MatchReport {
    run(MatchPlan::of_seed(seed))
}

#[test]
fn fixed_seeds() {
    let reports: Vec<MatchReport> = (0..30).map(check).collect();
    // The faults must really have happened, or the seeds prove nothing.
    assert!(reports.iter().map(|report| report.faults.of_processes()).sum::<u32>() > 30);
    assert!(reports.iter().flat_map(|report| &report.statuses).any(|status| status.epoch > 3));
    let no_clients = FaultKind::ALL.into_iter().filter(|kind| *kind != FaultKind::RequestLost);
    common::check_happened(reports.iter().map(|report| report.faults), &no_clients.collect::<Vec<_>>());
}

#[test]
fn seeds_that_failed_once_and_fresh_ones() {
    for seed in FAILED_ONCE {
        let _ = run(MatchPlan::of_first_kinds(*seed));
    }
    for seed in common::fresh_seeds(6) {
        check(seed);
    }
}

#[test]
fn appends_of_a_lost_lease_are_fenced() {
    for seed in 100..115 {
        let mut plan = MatchPlan::of_seed(seed);
        plan.cluster.nodes = 3;
        plan.cluster.faults.delay_appends_beyond_the_lease();
        let _ = run(plan);
    }
}

/// Stores of one process alone, with every fault: the next process takes everything over, though no lease ends by
/// itself.
#[test]
fn a_process_alone_dies_and_the_next_one_goes_on() {
    let reports: Vec<MatchReport> = (200..220).map(|seed| run(with_stalls(alone(MatchPlan::of_seed(seed))))).collect();
    assert!(reports.iter().map(|report| report.faults.of_processes()).sum::<u32>() > 20);
    assert!(reports.iter().map(|report| report.faults.get(FaultKind::DiskStalled)).sum::<u32>() > 20);
    assert!(reports.iter().flat_map(|report| &report.statuses).any(|status| status.epoch > 2));
}

fn with_stalls(mut plan: MatchPlan) -> MatchPlan {
    plan.cluster.faults.stall_interval = Faults::only_stalls().stall_interval;
    plan
}

fn alone(mut plan: MatchPlan) -> MatchPlan {
    plan.cluster.use_exclusive_store();
    plan
}

fn without_faults(seed: u64) -> MatchPlan {
    let mut plan = MatchPlan::of_seed(seed);
    plan.cluster.remove_faults();
    plan.poisoned = None;
    plan
}

#[test]
fn a_disk_that_stalls_costs_a_process_alone_nothing() {
    let plan = |seed| {
        let mut plan = MatchPlan::of_seed(seed);
        plan.cluster.faults = Faults::only_stalls();
        plan.poisoned = None;
        plan
    };
    for seed in 0..20 {
        let report = run(alone(plan(seed)));
        assert!(report.faults.get(FaultKind::DiskStalled) > 1, "seed {seed}: {report:?}");
        assert_eq!(report.workers, 1, "seed {seed}: the lease was lost");
        let is_untouched = |status: &MatchStatus| status.state == MatchState::Finished && status.epoch == 1;
        assert!(report.statuses.iter().all(is_untouched), "seed {seed}: {:?}", report.statuses);
    }
    // Where others may take over, the same stalls must cost leases: or they would prove nothing.
    let shared = (0..20).map(|seed| {
        let mut plan = plan(seed);
        plan.cluster.nodes = 1;
        run(plan).workers
    });
    assert!(shared.sum::<usize>() > 40);
}

#[test]
fn one_seed_is_one_story() {
    for seed in [3, 8, 21] {
        assert_eq!(check(seed), check(seed), "seed {seed}");
    }
}

#[test]
fn a_calm_world_needs_one_claim_a_match() {
    let report = run(without_faults(5));
    assert!(report.statuses.iter().all(|status| status.epoch == 1 && status.attempts_charged == 1));
}

#[test]
fn a_poisoned_match_fails_after_its_attempts_without_affecting_others() {
    let mut plan = without_faults(11);
    plan.attempts_max = 3;
    plan.matches[0].turns_max = 40;
    plan.poisoned = Some((plan.matches[0].id, 1));
    let report = run(plan);
    let poisoned = &report.statuses[0];
    assert_eq!(poisoned.state, MatchState::Failed);
    assert!(poisoned.failure.as_ref().is_some_and(|why| why.contains("attempts")), "{:?}", poisoned.failure);
    assert!(report.statuses[1..].iter().all(|status| status.state == MatchState::Finished));
}
