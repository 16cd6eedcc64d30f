//! One simulation from its plan to its verdict.

use crate::fault_counts::FaultCounts;
use crate::match_workload::MatchWorkload;
use crate::plan::MatchPlan;
use crate::processes::{Process, acquire_store, block_on, inject_faults};
use crate::world::{Node, ProcessConditions, SimWorld};
use engine::commands::{Command, CreateMatches, Outcome};
use engine::ids::AccountId;
use engine::matches::lifecycle::MatchState;
use engine::rows::{Account, MatchStatus};
use matches::RunnerConfig;
use node::drain::Drain;
use node::lease::LeaseSlot;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Once healed, everything must be over within this time: the longest match, after a lease has ended.
const HEALED_FOR_MAX: Duration = Duration::from_secs(15 * 60);

/// What a simulation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchReport {
    /// A hash of everything that was committed, in order.
    pub trace: u64,
    /// Calls that bots got.
    pub calls: u64,
    /// What went wrong.
    pub faults: FaultCounts,
    /// Workers: each had a lease of its own.
    pub workers: usize,
    /// Made-up time that passed, in milliseconds.
    pub elapsed_ms: u64,
    /// Where each match is at the end, in the order of the plan.
    pub statuses: Vec<MatchStatus>,
}

/// Runs a plan.
///
/// # Panics
/// When anything that must be true is not; the plan's seed is printed first.
#[must_use]
pub fn run(plan: MatchPlan) -> MatchReport {
    println!("simulating {plan:?}");
    block_on(simulate(plan))
}

async fn simulate(plan: MatchPlan) -> MatchReport {
    let world = MatchWorkload::world(plan);
    create(&world);
    let mut nodes: Vec<Process> = (0..world.cluster().nodes).map(|_| start(&world)).collect();
    inject_faults(&world, &mut nodes, || start(&world)).await;
    if timeout(HEALED_FOR_MAX, wait_until_ended(&world)).await.is_err() {
        world.with_oracle(|oracle| oracle.violations.assert_none());
        panic!("not everything is over although the world was healed long ago: {:#?}", statuses(&world));
    }
    for node in nodes {
        node.drain().await;
    }
    verify(&world);
    MatchReport {
        trace: world.trace(),
        calls: world.with_oracle(|oracle| oracle.calls),
        faults: world.faults(),
        workers: world.worker_count(),
        elapsed_ms: world.elapsed().as_millis() as u64,
        statuses: statuses(&world),
    }
}

fn create(world: &SimWorld<MatchWorkload>) {
    let account = AccountId(1);
    let named = Account { id: account, name: "sim".to_owned(), created_at: world.now() };
    assert_eq!(world.commit(&Command::EnsureAccount(named)), Outcome::Account(account));
    let matches = world.workload.plan.matches.clone();
    let create = CreateMatches { account, idempotency: None, matches, now: world.now() };
    assert_eq!(world.commit(&Command::CreateMatches(create)), Outcome::Done);
}

fn start(world: &Arc<SimWorld<MatchWorkload>>) -> Process {
    let conditions = Arc::<ProcessConditions>::default();
    let node = Node::new(world.clone(), "node.example:4000".to_owned(), conditions.clone());
    let plan = &world.workload.plan;
    let settings = RunnerConfig {
        matches_at_once: plan.matches_at_once,
        claim_size: 4,
        claim_period: Duration::from_millis(250),
        attempts_max: plan.attempts_max,
    };
    let drain = Drain::default();
    let leave = drain.clone();
    let task = async move {
        acquire_store(&node, &leave).await;
        matches::run(node, settings, LeaseSlot::default(), leave).await;
    };
    Process::new(task, drain, conditions)
}

fn statuses(world: &SimWorld<MatchWorkload>) -> Vec<MatchStatus> {
    let ids: Vec<_> = world.workload.plan.matches.iter().map(|spec| spec.id).collect();
    world.read(|reader| reader.statuses(&ids))
}

async fn wait_until_ended(world: &SimWorld<MatchWorkload>) {
    while !statuses(world).iter().all(|status| status.state.is_ended()) {
        sleep(Duration::from_millis(100)).await;
    }
}

fn verify(world: &SimWorld<MatchWorkload>) {
    world.with_oracle(|oracle| oracle.violations.assert_none());
    for spec in &world.workload.plan.matches {
        let page = world.page(spec.id);
        world.with_oracle(|oracle| oracle.check_nothing_lost(spec.id, &page.rows));
        if world.workload.plan.poisoned.is_some_and(|(poisoned, _)| poisoned == spec.id) {
            assert_eq!(page.state, MatchState::Failed, "a poisoned match ends as failed");
            continue;
        }
        let row = world.read(|reader| reader.match_by_id(spec.id)).expect("a planned match exists");
        world.with_oracle(|oracle| oracle.check_same_as_undisturbed(spec, &page, row.result.as_ref()));
    }
}
