//! Ladders: fixed seeds that every change must survive, fresh ones on every run, and every seed that ever failed.

mod common;

use sim::FaultKind;
use sim::ladders::{LadderPlan, LadderReport, run};

/// Seeds that failed once, each with what it found.
const FAILED_ONCE: &[u64] = &[
    // Who met whom last was read again in the order of the results, not in that of the matches.
    1795725676595160245,
    // The next leader remembers results that the one before forgot while it had fewer entries: it may create one match more.
    1795725915471846499,
    // So may each season that begins before anything ends.
    1795764538748886911,
];

#[track_caller]
fn check(seed: u64) -> LadderReport {
    run(LadderPlan::of_seed(seed))
}

#[track_caller]
fn check_sum(reports: &[LadderReport], of: fn(&LadderReport) -> u64, at_least: u64) {
    let sum = reports.iter().map(of).sum::<u64>();
    assert!(sum >= at_least, "{sum}, not {at_least}: {reports:#?}");
}

#[test]
fn fixed_seeds() {
    let reports: Vec<LadderReport> = (0..20).map(check).collect();
    // It must really have happened, or the seeds prove nothing.
    check_sum(&reports, |report| report.faults.of_processes().into(), 40);
    check_sum(&reports, |report| report.leaders as u64, 80);
    check_sum(&reports, |report| report.rated, 2_000);
    check_sum(&reports, |report| report.cancelled, 150);
    check_sum(&reports, |report| report.seasons.into(), 60);
    check_sum(&reports, |report| report.left_under_way, 60);
    let no_clients = FaultKind::ALL.into_iter().filter(|kind| *kind != FaultKind::RequestLost);
    common::check_happened(reports.iter().map(|report| report.faults), &no_clients.collect::<Vec<_>>());
}

#[test]
fn seeds_that_failed_once_and_fresh_ones() {
    for seed in FAILED_ONCE {
        let mut plan = LadderPlan::of_seed(*seed);
        plan.cluster.faults = plan.cluster.faults.of_first_kinds();
        let _ = run(plan);
    }
    for seed in common::fresh_seeds(2) {
        check(seed);
    }
}

#[test]
fn a_death_at_every_step_changes_nothing() {
    let reports: Vec<LadderReport> = (0..6).map(|seed| run(LadderPlan::dies_at_every_step(seed, 30))).collect();
    check_sum(&reports, |report| report.leaders as u64, 120);
    check_sum(&reports, |report| report.rated, 200);
}

/// Steps that arrive after another process has begun to lead: nothing but what they were decided on refuses them.
#[test]
fn steps_of_a_lost_lease_are_refused() {
    let late = |seed| {
        let mut plan = LadderPlan::of_seed(seed);
        plan.cluster.nodes = 3;
        plan.cluster.faults.delay_appends_beyond_the_lease();
        plan.cluster.faults.commit_delayed_per_mille = 300;
        run(plan)
    };
    let reports: Vec<LadderReport> = (100..110).map(late).collect();
    check_sum(&reports, |report| report.conflicts.into(), 5);
}

#[test]
fn one_seed_is_one_story() {
    for seed in [3, 8] {
        assert_eq!(check(seed), check(seed), "seed {seed}");
    }
}
