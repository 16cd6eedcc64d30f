//! One simulation from its plan to its verdict.

use super::history;
use super::plan::TablePlan;
use super::players::Player;
use super::workload::{NodeEndpoint, TableWorkload};
use crate::dice::Dice;
use crate::fault_counts::FaultCounts;
use crate::processes::{Process, acquire_store, block_on, inject_faults, propagate_panic};
use crate::world::{Node, ProcessConditions, SimWorld};
use engine::ids::TableId;
use engine::limits::LEASE_DURATION;
use node::drain::Drain;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;
use tables::{Tables, TablesConfig};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// After the last player has gone, every game has ended within its own time and this: a lease that has to end, a claim, and the
/// timers of each phase.
const END_TIMEOUT: Duration = LEASE_DURATION.saturating_mul(3);

/// The same for a game that bots begin while the last player still counts as present: their delays, each at its longest.
const BOT_GAME_TIMEOUT: Duration = Duration::from_secs(150);

/// What a simulation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableReport {
    /// A hash of everything that was committed, in order.
    pub trace: u64,
    /// What went wrong.
    pub faults: FaultCounts,
    /// Workers: each had a lease of its own.
    pub workers: usize,
    /// Claims of tables that were answered.
    pub claims: u32,
    /// Entries in the logs of all tables.
    pub entries: u32,
    /// Games that came to their end and were told by bots.
    pub told_by_bots: u32,
    /// Events that players received, over all players.
    pub events: u32,
    /// Actions with an unknown result.
    pub unknown: u32,
    /// Games that were left to a process that got no more requests.
    pub abandoned: u32,
    /// Looks whose cursor was too old.
    pub too_old: u32,
    /// Made-up time that passed, in milliseconds.
    pub elapsed_ms: u64,
}

/// Runs a plan.
///
/// # Panics
/// When anything that must be true is not; the plan is printed first.
#[must_use]
pub fn run(plan: TablePlan) -> TableReport {
    println!("simulating tables {plan:?}");
    block_on(simulate(plan))
}

async fn simulate(plan: TablePlan) -> TableReport {
    let world = world(plan);
    let plan = &world.workload.plan;
    let count = Cell::new(0);
    let start = || {
        count.set(count.get() + 1);
        start(&world, count.get())
    };
    let mut nodes: Vec<Process> = (0..plan.cluster.nodes).map(|_| start()).collect();
    let players = players(&world);
    inject_faults(&world, &mut nodes, &start).await;
    for player in players {
        propagate_panic(player.await);
    }
    let workers = world.worker_count();
    let mut abandoned = 0;
    if plan.ends_abandoned {
        // No more requests: tables without an owner must be found by the background search.
        for node in nodes.drain(..) {
            node.kill().await;
        }
        abandoned = world.with_oracle(|log| log.tables.values().filter(|history| history.is_live).count() as u32);
        nodes.push(start());
    }
    let settings = &plan.settings;
    // Create, invitation and vote each take at most the game's time, or the countdown's.
    sleep(
        (settings.game_timeout + settings.next_storyteller_timeout + settings.countdown) * 4
            + END_TIMEOUT
            + BOT_GAME_TIMEOUT,
    )
    .await;
    for node in nodes {
        node.drain().await;
    }
    let totals = history::check(&world);
    let (claims, entries, told_by_bots) = world.with_oracle(|log| {
        let entries = log.tables.values().map(|history| history.rows.len() as u32).sum();
        (log.claims, entries, log.told_by_bots)
    });
    let history::ObservationTotals { events, unknown, too_old } = totals;
    TableReport {
        trace: world.trace(),
        faults: world.faults(),
        workers,
        claims,
        entries,
        told_by_bots,
        events,
        unknown,
        abandoned,
        too_old,
        elapsed_ms: world.elapsed().as_millis() as u64,
    }
}

fn world(plan: TablePlan) -> Arc<SimWorld<TableWorkload>> {
    let mut dice = Dice::new(plan.cluster.seed ^ 0x1d5);
    let id = |at: usize| TableId::new(engine::time::UnixMs(1_700_000_000_000), dice.id_bytes(at as u8));
    let ids = (0..plan.tables).map(id).collect();
    SimWorld::new(TableWorkload::new(plan, ids))
}

fn start(world: &Arc<SimWorld<TableWorkload>>, number: usize) -> Process {
    let conditions = Arc::<ProcessConditions>::default();
    let address = format!("node-{number}.example:4000");
    let node = Node::new(world.clone(), address.clone(), conditions.clone());
    let plan = &world.workload.plan;
    let settings = TablesConfig {
        owner_tasks: plan.owner_tasks,
        tables_max: 100,
        tables_per_player_max: 100,
        tables_per_address_max: 100,
        waiters_max: 1_000,
        waiters_per_player_max: 16,
        waiters_per_address_max: 1_000,
        presence_grace: plan.presence_grace,
        unjoined_timeout: Duration::from_secs(7 * 86_400),
        claim_period: Duration::from_millis(500),
    };
    let tables = Tables::new(settings, node.metrics.clone());
    let drain = Drain::default();
    let (leave, world) = (drain.clone(), world.clone());
    world.workload.add_endpoint(NodeEndpoint { address: address.clone(), tables: tables.clone() });
    let task = async move {
        let guard = EndpointGuard { world, address };
        acquire_store(&node, &leave).await;
        tables::run(node, tables, leave).await;
        drop(guard);
    };
    Process::new(task, drain, conditions)
}

/// A process can be reached until it ends, in whatever way.
struct EndpointGuard {
    world: Arc<SimWorld<TableWorkload>>,
    address: String,
}

impl Drop for EndpointGuard {
    fn drop(&mut self) {
        self.world.workload.remove_endpoint(&self.address);
    }
}

fn players(world: &Arc<SimWorld<TableWorkload>>) -> Vec<JoinHandle<()>> {
    let plan = &world.workload.plan;
    let until = plan.cluster.faults.faulty_for + plan.healed_for;
    let sitting = (0..plan.players).map(|number| {
        let mut player = Player::new(world.clone(), Some(number as u128 + 1));
        let own = world.workload.ids.get(number).copied();
        tokio::spawn(async move {
            if let Some(table) = own {
                player.open(table).await;
            }
            player.run(until).await;
        })
    });
    let looking = Player::new(world.clone(), None);
    sitting.chain([tokio::spawn(looking.run(until))]).collect()
}
