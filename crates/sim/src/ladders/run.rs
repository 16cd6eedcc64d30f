//! One simulation of ladders from its plan to its verdict: they play while things go wrong; then nothing more ends, and the next process must
//! find as many matches under way as the last one left; then the ladders end, and all that was played must be rated.

use super::oracle::LadderWorkload;
use super::people;
use super::plan::LadderPlan;
use super::verify::{check_counts, check_ended};
use crate::fault_counts::{FaultCounts, FaultKind};
use crate::processes::{Process, acquire_store, block_on, inject_faults, propagate_panic};
use crate::referee;
use crate::world::{Freeze, Node, ProcessConditions, SimWorld};
use engine::competitions::CompetitionRow;
use engine::ids::CompetitionId;
use engine::ladders::definition::STANDARD_LADDER;
use engine::leadership::LeaderJob;
use metrics::Metrics;
use node::drain::Drain;
use node::leader::lead;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Once healed, everything asked for must have happened within this time: leases end, and each game takes a fraction of a second.
const HEALED_FOR_MAX: Duration = Duration::from_secs(10 * 60);
/// How long ladders play on after the last fault.
const HEALED_FOR: Duration = Duration::from_secs(12);
/// Longer than the next process needs to lead, and to look at all ladders several times.
const SETTLED_FOR: Duration = Duration::from_secs(15);
/// How often counters are compared with matches.
const CHECK_EVERY: Duration = Duration::from_millis(500);
/// Steps of the drivers begin within this time after the one before.
const DEATH_DELAY_US: u64 = 20_000;

/// What a simulation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LadderReport {
    /// A hash of everything that was committed, in order.
    pub trace: u64,
    /// What went wrong.
    pub faults: FaultCounts,
    /// Processes that led, one after the other or at the same time.
    pub leaders: usize,
    /// Steps of ladders that were saved.
    pub steps: u32,
    /// Steps that were refused because another process came first.
    pub conflicts: u32,
    /// Matches that were played, and how many of their results rated.
    pub results: u64,
    pub rated: u64,
    /// Matches that were called off.
    pub cancelled: u64,
    /// Seasons that ended before their ladders did.
    pub seasons: u32,
    /// Matches under way when the last process took over.
    pub left_under_way: u64,
    /// Made-up time that passed, in milliseconds.
    pub elapsed_ms: u64,
}

/// Runs a plan.
///
/// # Panics
/// When anything that must be true is not; the plan is printed first.
#[must_use]
pub fn run(plan: LadderPlan) -> LadderReport {
    println!("simulating ladders {plan:?}");
    block_on(simulate(plan))
}

type World = Arc<SimWorld<LadderWorkload>>;

async fn simulate(plan: LadderPlan) -> LadderReport {
    let (odds, matches_at_once) = (plan.odds, plan.matches_at_once);
    let world = SimWorld::new(LadderWorkload(plan));
    world.with_oracle(|oracle| oracle.matches_at_once = matches_at_once);
    let mut ids = people::create_all(&world);
    let suspended = Arc::<Freeze>::default();
    let games = tokio::spawn(referee::play(world.clone(), odds, suspended.clone()));
    let meddling = tokio::spawn(people::meddle(world.clone(), ids.clone(), suspended.clone()));
    ids.push(STANDARD_LADDER);
    let checks = tokio::spawn(check_all_the_time(world.clone(), ids.clone()));

    let mut nodes: Vec<Process> = (0..world.cluster().nodes).map(|number| start(&world, &ids, number).0).collect();
    inject_faults(&world, &mut nodes, || start(&world, &ids, 9).0).await;
    kill_by_step(&world, &mut nodes, || start(&world, &ids, 9).0).await;
    sleep(HEALED_FOR).await;

    suspended.set(true);
    eventually(&world, &ids, "all results are applied", |row| row.results == row.results_applied).await;
    let left_under_way = take_over(&world, &ids, nodes).await;
    end_all(&world, &ids).await;
    let (last, _) = start(&world, &ids, 10);
    suspended.set(false);
    let is_over = |row: &CompetitionRow| row.results_applied == row.matches_created;
    eventually(&world, &ids, "everything is over and applied", is_over).await;
    for task in [games, meddling, checks] {
        task.abort();
        propagate_panic(task.await);
    }
    last.drain().await;

    check_counts(&world, &ids);
    world.with_oracle(|oracle| oracle.violations.assert_none());
    let rated = ids.iter().map(|id| check_ended(&world, *id)).sum();
    report(&world, &ids, rated, left_under_way)
}

fn report(world: &World, ids: &[CompetitionId], rated: u64, left_under_way: u64) -> LadderReport {
    let rows = rows(world, ids);
    let (trace, faults, elapsed_ms) = (world.trace(), world.faults(), world.elapsed().as_millis() as u64);
    world.with_oracle(|oracle| LadderReport {
        trace,
        faults,
        elapsed_ms,
        leaders: oracle.leaders.len(),
        steps: oracle.steps,
        conflicts: oracle.conflicts,
        results: rows.iter().map(|row| row.results).sum(),
        rated,
        cancelled: oracle.cancelled,
        seasons: rows.iter().map(|row| row.version - 1).sum(),
        left_under_way,
    })
}

fn start(world: &World, ids: &[CompetitionId], number: usize) -> (Process, Arc<Metrics>) {
    check_counts(world, ids);
    let conditions = Arc::<ProcessConditions>::default();
    let node = Node::new(world.clone(), format!("node-{number}.example:4000"), conditions.clone());
    let metrics = node.metrics.clone();
    let drain = Drain::default();
    let leave = drain.clone();
    let matches_at_once = world.workload.0.matches_at_once;
    let task = async move {
        acquire_store(&node, &leave).await;
        let of_ladders = node.clone();
        let lead_ladders = move |lease| arena::ladders::lead(of_ladders.clone(), lease, matches_at_once);
        lead(node, LeaderJob::Ladders, leave, lead_ladders).await;
    };
    (Process::new(task, drain, conditions), metrics)
}

async fn check_all_the_time(world: World, ids: Vec<CompetitionId>) {
    loop {
        sleep(CHECK_EVERY).await;
        check_counts(&world, &ids);
    }
}

/// Kills the process again and again, a moment after it has written something: before it learns that, or in the steps that follow.
async fn kill_by_step(world: &World, nodes: &mut Vec<Process>, start: impl Fn() -> Process) {
    let stepped = world.with_oracle(|oracle| oracle.stepped.clone());
    let deaths = world.workload.0.deaths_by_step;
    for _ in 0..deaths {
        timeout(HEALED_FOR_MAX, stepped.notified()).await.expect("a ladder that is killed again and again moves on");
        let after_us = world.random(|dice| dice.below(DEATH_DELAY_US));
        sleep(Duration::from_micros(after_us)).await;
        world.record_fault(FaultKind::Killed);
        nodes.swap_remove(0).kill().await;
        nodes.push(start());
    }
}

/// While no game ends: all processes die, and the next one knows what is under way. How much that is.
///
/// It may create one match of a ladder that the one before waited with: that one forgot the oldest results while its ladder had fewer entries, and
/// the next one reads them, so their plans can differ. So may each season that begins meanwhile. If it did
/// not know what is under way, it would fill the whole budget again.
async fn take_over(world: &World, ids: &[CompetitionId], nodes: Vec<Process>) -> u64 {
    sleep(SETTLED_FOR).await;
    let before = rows(world, ids);
    for node in nodes {
        node.kill().await;
    }
    let (next, metrics) = start(world, ids, 9);
    sleep(SETTLED_FOR).await;
    for (after, before) in rows(world, ids).into_iter().zip(before) {
        let created = after.matches_created - before.matches_created;
        let seasons = after.version - before.version;
        let name = &after.name;
        assert!(
            created <= 1 + u64::from(seasons),
            "{name}: {created} matches created in {seasons} seasons, and none ended"
        );
    }
    let under_way: u64 = rows(world, ids).iter().map(CompetitionRow::matches_unapplied).sum();
    assert_eq!(metrics.pairing.matches_unapplied.get(), under_way as i64, "what the next process counts is not so");
    next.kill().await;
    under_way
}

/// As their owners do.
async fn end_all(world: &World, ids: &[CompetitionId]) {
    let owner = Node::new(world.clone(), "owner.example:4000".to_owned(), Arc::default());
    for id in ids {
        assert_eq!(arena::ladders::end(&owner, *id).await, Ok(()), "ladder {id}");
    }
}

fn rows(world: &World, ids: &[CompetitionId]) -> Vec<CompetitionRow> {
    ids.iter().map(|id| world.read(|reader| reader.competition(*id)).expect("it was created")).collect()
}

async fn eventually(world: &World, ids: &[CompetitionId], what: &str, holds: impl Fn(&CompetitionRow) -> bool) {
    let all_hold = async {
        while !rows(world, ids).iter().all(&holds) {
            sleep(Duration::from_millis(100)).await;
        }
    };
    let ended = timeout(HEALED_FOR_MAX, all_hold).await;
    world.with_oracle(|oracle| oracle.violations.assert_none());
    assert!(ended.is_ok(), "not so although the world was healed long ago: {what}: {:#?}", rows(world, ids));
}
