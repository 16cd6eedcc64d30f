//! One simulation from its plan to its verdict.

use crate::plan::Plan;
use crate::world::{Freeze, Node, World};
use engine::commands::{Command, CreateMatches, Outcome};
use engine::ids::AccountId;
use engine::limits::LEASE;
use engine::matches::life::State;
use engine::rows::{Account, MatchStatus};
use server::app::Drain;
use server::runner::{Settings, run_with};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// Once healed, everything must be over within this time: the longest match, after a lease has ended.
const HEALED_FOR_MAX: Duration = Duration::from_secs(15 * 60);

/// What a simulation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// A hash of everything that was committed, in order.
    pub trace: u64,
    /// Calls that bots got.
    pub calls: u64,
    /// Processes that were killed, drained or frozen.
    pub troubles: u32,
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
pub fn run(plan: Plan) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without input and output can be built");
    println!("simulating {plan:?}");
    runtime.block_on(simulate(plan))
}

async fn simulate(plan: Plan) -> Report {
    let began = Instant::now();
    let world = World::new(plan);
    create(&world);
    let mut nodes: Vec<Process> = (0..world.plan.nodes).map(|_| Process::start(&world)).collect();
    let outages = tokio::spawn(outages(world.clone()));
    let troubles = trouble(&world, &mut nodes).await;
    outages.abort();
    world.set_store_up(true);
    for node in &nodes {
        node.freeze.set(false);
    }
    if timeout(HEALED_FOR_MAX, all_ended(&world)).await.is_err() {
        world.oracle(|oracle| oracle.check_nothing_broken());
        panic!("not everything is over although the world was healed long ago: {:#?}", statuses(&world));
    }
    for node in nodes {
        node.stop_cleanly().await;
    }
    verify(&world);
    Report {
        trace: world.trace(),
        calls: world.oracle(|oracle| oracle.calls),
        troubles,
        elapsed_ms: began.elapsed().as_millis() as u64,
        statuses: statuses(&world),
    }
}

fn create(world: &World) {
    let account = AccountId(1);
    let named = Account { id: account, name: "sim".to_owned(), created_at: world.now() };
    assert_eq!(world.commit(&Command::EnsureAccount(named)), Outcome::AccountIs(account));
    let matches = world.plan.matches.clone();
    let create = CreateMatches { account, idempotency: None, matches, now: world.now() };
    assert_eq!(world.commit(&Command::CreateMatches(create)), Outcome::Done);
}

/// A process that runs matches.
struct Process {
    task: JoinHandle<()>,
    drain: Drain,
    freeze: Arc<Freeze>,
}

impl Process {
    fn start(world: &Arc<World>) -> Self {
        let freeze = Arc::<Freeze>::default();
        let node = Node::new(world.clone(), freeze.clone());
        let drain = Drain::default();
        let settings = Settings {
            matches_at_once: world.plan.matches_at_once,
            claim_size: 4,
            claim_period: Duration::from_millis(250),
            attempts_max: world.plan.attempts_max,
        };
        Self { task: tokio::spawn(run_with(node, settings, drain.clone())), drain, freeze }
    }

    /// As `kill -9` does: everything in memory is gone at once.
    async fn kill(self) {
        self.task.abort();
        check_not_broken(self.task.await);
    }

    /// As SIGTERM does.
    async fn stop_cleanly(self) {
        self.drain.begin();
        let ended = timeout(LEASE * 3, self.task).await.expect("a drain ends");
        check_not_broken(ended);
    }
}

/// A process may be ended by us, but not by a broken assertion.
fn check_not_broken(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}

/// Troubles processes while the world is faulty; how often it did.
async fn trouble(world: &Arc<World>, nodes: &mut Vec<Process>) -> u32 {
    let mut troubles = 0;
    let Some(every) = world.plan.trouble_every else {
        sleep(world.plan.faulty_for).await;
        return troubles;
    };
    while world.is_faulty() {
        let (pause, which, kind, away) = world.roll(|dice| {
            let pause = dice.below(2 * every.as_micros() as u64);
            (Duration::from_micros(pause), dice.below(64) as usize, dice.below(3), dice.below(9_000))
        });
        sleep(pause).await;
        let at = which % nodes.len();
        let away = Duration::from_millis(away);
        troubles += 1;
        match kind {
            0 => {
                nodes.swap_remove(at).kill().await;
                sleep(away / 4).await;
                nodes.push(Process::start(world));
            }
            1 => {
                let leaving = nodes.swap_remove(at);
                nodes.push(Process::start(world));
                leaving.drain.begin();
                // A drain may meet a store that is away: it must not wait for it for ever.
                check_not_broken(timeout(LEASE * 6, leaving.task).await.expect("a drain ends, store or no store"));
            }
            _ => {
                nodes[at].freeze.set(true);
                sleep(away).await;
                nodes[at].freeze.set(false);
            }
        }
    }
    troubles
}

/// Takes the store away now and then while the world is faulty.
async fn outages(world: Arc<World>) {
    let Some(every) = world.plan.outage_every else { return };
    while world.is_faulty() {
        let (pause, away) = world.roll(|dice| (dice.below(2 * every.as_micros() as u64), dice.below(8_000)));
        sleep(Duration::from_micros(pause)).await;
        world.set_store_up(false);
        sleep(Duration::from_millis(away)).await;
        world.set_store_up(true);
    }
}

fn statuses(world: &World) -> Vec<MatchStatus> {
    let ids: Vec<_> = world.plan.matches.iter().map(|spec| spec.id).collect();
    world.read(|reader| reader.statuses(&ids))
}

async fn all_ended(world: &World) {
    while !statuses(world).iter().all(|status| status.state.is_ended()) {
        sleep(Duration::from_millis(100)).await;
    }
}

fn verify(world: &World) {
    world.oracle(|oracle| oracle.check_nothing_broken());
    for spec in &world.plan.matches {
        let page = world.page(spec.id);
        world.oracle(|oracle| oracle.check_nothing_lost(spec.id, &page.rows));
        if world.plan.poison.is_some_and(|(poisoned, _)| poisoned == spec.id) {
            assert_eq!(page.state, State::Failed, "a poisoned match ends as failed");
            continue;
        }
        let row = world.read(|reader| reader.match_by_id(spec.id)).expect("a planned match exists");
        world.oracle(|oracle| oracle.check_same_as_undisturbed(spec, &page, row.result.as_ref()));
    }
}
