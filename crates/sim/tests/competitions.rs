//! Competitions: fixed seeds that every change must survive, fresh ones on every run, and every seed that ever failed.

mod common;

use sim::FaultKind;
use sim::competitions::{CompetitionPlan, CompetitionReport, run};

/// Seeds that failed once, each with what it found.
const FAILED_ONCE: &[u64] = &[];

#[track_caller]
fn check(seed: u64) -> CompetitionReport {
    run(CompetitionPlan::of_seed(seed))
}

#[test]
fn fixed_seeds() {
    let reports: Vec<CompetitionReport> = (0..20).map(check).collect();
    let sum = |of: fn(&CompetitionReport) -> u64| reports.iter().map(of).sum::<u64>();
    // It must really have happened, or the seeds prove nothing.
    assert!(sum(|report| u64::from(report.faults.of_processes())) > 20, "{reports:#?}");
    assert!(sum(|report| report.leaders as u64) > 80, "{reports:#?}");
    assert!(sum(|report| report.results) > 1_000, "{reports:#?}");
    let no_clients = FaultKind::ALL.into_iter().filter(|kind| *kind != FaultKind::RequestLost);
    common::check_happened(reports.iter().map(|report| report.faults), &no_clients.collect::<Vec<_>>());
}

#[test]
fn seeds_that_failed_once_and_fresh_ones() {
    for seed in FAILED_ONCE.iter().copied().chain(common::fresh_seeds(4)) {
        check(seed);
    }
}

/// Steps that arrive after another process has begun to lead: nothing but their version refuses them.
#[test]
fn steps_of_a_lost_lease_are_refused() {
    let late = |seed| {
        let mut plan = CompetitionPlan::of_seed(seed);
        plan.cluster.nodes = 3;
        plan.cluster.faults.delay_appends_beyond_the_lease();
        plan.cluster.faults.commit_delayed_per_mille = 300;
        run(plan)
    };
    let reports: Vec<CompetitionReport> = (100..120).map(late).collect();
    assert!(reports.iter().map(|report| report.conflicts).sum::<u32>() > 20, "{reports:#?}");
}

#[test]
fn one_seed_is_one_story() {
    for seed in [3, 8, 21] {
        assert_eq!(check(seed), check(seed), "seed {seed}");
    }
}
