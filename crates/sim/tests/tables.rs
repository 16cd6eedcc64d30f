//! Tables: fixed seeds that every change must survive, fresh ones on every run, and every seed that ever failed.

mod common;

use sim::tables::{TablePlan, TableReport, run};
use sim::{FaultKind, Faults};

/// Seeds that failed once, each with what it found.
const FAILED_ONCE: &[u64] = &[];

#[track_caller]
fn check(seed: u64) -> TableReport {
    run(TablePlan::of_seed(seed))
}

#[test]
fn fixed_seeds() {
    let reports: Vec<TableReport> = (0..20).map(check).collect();
    let sum = |of: fn(&TableReport) -> u32| reports.iter().map(of).sum::<u32>();
    // It must really have happened, or the seeds prove nothing.
    assert!(sum(|report| report.faults.of_processes()) > 20, "{reports:#?}");
    assert!(sum(|report| report.claims) > 100, "{reports:#?}");
    assert!(sum(|report| report.unknown) > 10, "{reports:#?}");
    assert!(sum(|report| report.abandoned) > 2, "{reports:#?}");
    assert!(sum(|report| report.events) > 2_000, "{reports:#?}");
    common::check_happened(reports.iter().map(|report| report.faults), &FaultKind::ALL);
}

#[test]
fn seeds_that_failed_once_and_fresh_ones() {
    for seed in FAILED_ONCE.iter().copied().chain(common::fresh_seeds(4)) {
        check(seed);
    }
}

#[test]
fn appends_of_a_lost_lease_are_fenced() {
    for seed in 100..110 {
        let mut plan = TablePlan::of_seed(seed);
        plan.cluster.nodes = 3;
        plan.cluster.faults.delay_appends_beyond_the_lease();
        let _ = run(plan);
    }
}

/// Stores of one process alone, with every fault: the next process takes everything over, though no lease ends by
/// itself.
#[test]
fn a_process_alone_dies_and_the_next_one_goes_on() {
    let own = |seed| {
        let mut plan = TablePlan::of_seed(seed);
        plan.cluster.use_exclusive_store();
        plan.cluster.faults.stall_interval = Faults::only_stalls().stall_interval;
        run(plan)
    };
    let reports: Vec<TableReport> = (200..210).map(own).collect();
    let sum = |of: fn(&TableReport) -> u32| reports.iter().map(of).sum::<u32>();
    assert!(
        sum(|report| report.faults.of_processes()) > 10 && sum(|report| report.faults.get(FaultKind::DiskStalled)) > 10,
        "{reports:#?}"
    );
    assert!(sum(|report| report.claims) > 10 && sum(|report| report.abandoned) > 0, "{reports:#?}");
}

#[test]
fn bots_tell_under_faults() {
    let reports: Vec<TableReport> = (300..312).map(|seed| run(TablePlan::few_people_and_bots(seed))).collect();
    let sum = |of: fn(&TableReport) -> u32| reports.iter().map(of).sum::<u32>();
    assert!(sum(|report| report.told_by_bots) > 20, "{reports:#?}");
    assert!(sum(|report| report.faults.of_processes()) > 50, "{reports:#?}");
}

#[test]
fn a_disk_that_stalls_costs_a_process_alone_nothing() {
    let plan = |seed| {
        let mut plan = TablePlan::of_seed(seed);
        plan.cluster.faults = Faults::only_stalls();
        plan
    };
    for seed in 0..10 {
        let mut plan = plan(seed);
        plan.cluster.use_exclusive_store();
        let report = run(plan);
        assert!(report.faults.get(FaultKind::DiskStalled) > 1 && report.events > 0, "seed {seed}: {report:?}");
        assert_eq!(report.workers, 1, "seed {seed}: the lease was lost");
    }
    // Where others may take over, the same stalls must cost leases: or they would prove nothing.
    let shared = (0..10).map(|seed| {
        let mut plan = plan(seed);
        plan.cluster.nodes = 1;
        run(plan).workers
    });
    assert!(shared.sum::<usize>() > 20);
}

#[test]
fn one_seed_is_one_story() {
    for seed in [3, 8, 21] {
        assert_eq!(check(seed), check(seed), "seed {seed}");
    }
}

#[test]
fn without_faults_nothing_is_unknown_and_no_viewer_falls_behind() {
    for seed in 0..5 {
        let mut plan = TablePlan::of_seed(seed);
        plan.cluster.remove_faults();
        let report = run(plan);
        assert_eq!((report.unknown, report.faults.of_processes()), (0, 0), "{report:?}");
        assert!(report.events > 20, "{report:?}");
    }
}
