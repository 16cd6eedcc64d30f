//! One simulation of competitions from its plan to its verdict: the plan is carried out with its faults and without, and both must end the
//! same way.

use super::plan::CompetitionPlan;
use super::workload::CompetitionWorkload;
use crate::dice::Dice;
use crate::fault_counts::FaultCounts;
use crate::processes::{Process, acquire_store, block_on, inject_faults, propagate_panic};
use crate::referee;
use crate::world::{Node, ProcessConditions, SimWorld};
use arena::duels::{self, DuelStates};
use arena::tournaments::Tournaments;
use engine::commands::{Advance, Command, CompetitionCommand, Outcome};
use engine::competitions::{CompetitionKind, CompetitionRow, CompetitionStatus};
use engine::duels::{Duel, Entry};
use engine::ids::{AccountId, BotId, CompetitionId, MatchId};
use engine::leadership::LeaderJob;
use engine::rows::{Account, Bot};
use engine::time::UnixMs;
use engine::tournaments::{Event, GameEnd, LogEntry, NewEntrant, Tournament};
use node::drain::Drain;
use node::leader::lead;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const OWNER: AccountId = AccountId(1);
/// Once healed, everything must be over within this time: leases end, and each game takes a fraction of a second.
const HEALED_FOR_MAX: Duration = Duration::from_secs(15 * 60);

/// What a simulation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompetitionReport {
    /// A hash of everything that was committed, in order.
    pub trace: u64,
    /// What went wrong.
    pub faults: FaultCounts,
    /// Processes that led something, one after the other or at the same time.
    pub leaders: usize,
    /// Steps of competitions that were saved.
    pub steps: u32,
    /// Steps that were refused because another process came first.
    pub conflicts: u32,
    /// Results of games.
    pub results: u64,
    /// Made-up time that passed, in milliseconds.
    pub elapsed_ms: u64,
}

/// Runs a plan, with its faults and without.
///
/// # Panics
/// When anything that must be true is not; the plan is printed first.
#[must_use]
pub fn run(plan: CompetitionPlan) -> CompetitionReport {
    println!("simulating competitions {plan:?}");
    let mut calm = plan.clone();
    calm.cluster.remove_faults();
    calm.cluster.nodes = 1;
    let (report, endings) = block_on(simulate(plan));
    let (_, undisturbed) = block_on(simulate(calm));
    assert_eq!(endings, undisturbed, "faults have changed how a competition ended");
    report
}

async fn simulate(plan: CompetitionPlan) -> (CompetitionReport, Vec<String>) {
    let world = SimWorld::new(CompetitionWorkload(plan));
    let ids = create_all(&world);
    let games = tokio::spawn(referee::play(world.clone(), world.workload.0.odds, Arc::default()));
    let mut nodes: Vec<Process> = (0..world.cluster().nodes).map(|number| start(&world, number)).collect();
    inject_faults(&world, &mut nodes, || start(&world, 9)).await;
    let rows = || ids.iter().map(|id| row(&world, *id)).collect::<Vec<_>>();
    let are_over = async {
        // The results of games that were called off are passed over when all is decided.
        while !rows().iter().all(|row| row.status.is_ended() && row.results == row.matches_created) {
            assert!(!games.is_finished(), "the referee has ended");
            sleep(Duration::from_millis(100)).await;
        }
    };
    let ended = timeout(HEALED_FOR_MAX, are_over).await;
    games.abort();
    propagate_panic(games.await);
    assert!(ended.is_ok(), "not everything is over although the world was healed long ago: {:#?}", rows());
    for node in nodes {
        node.drain().await;
    }
    let endings = rows().iter().map(|row| check(&world, row)).collect();
    let results = rows().iter().map(|row| row.results).sum();
    let (faults, elapsed_ms) = (world.faults(), world.elapsed().as_millis() as u64);
    let report = world.with_oracle(|counts| CompetitionReport {
        trace: 0,
        faults,
        leaders: counts.leaders.len(),
        steps: counts.steps,
        conflicts: counts.conflicts,
        results,
        elapsed_ms,
    });
    (CompetitionReport { trace: world.trace(), ..report }, endings)
}

fn start(world: &Arc<SimWorld<CompetitionWorkload>>, number: usize) -> Process {
    let conditions = Arc::<ProcessConditions>::default();
    let node = Node::new(world.clone(), format!("node-{number}.example:4000"), conditions.clone());
    let drain = Drain::default();
    let leave = drain.clone();
    let task = async move {
        acquire_store(&node, &leave).await;
        let (tournaments, states) = (Tournaments::new(node.clone()), Arc::<DuelStates>::default());
        let of_duels = node.clone();
        let drive_duels = move |lease| duels::run(of_duels.clone(), states.clone(), lease);
        let drive_tournaments = move |lease| tournaments.clone().run(lease);
        tokio::join!(
            lead(node.clone(), LeaderJob::Duels, leave.clone(), drive_duels),
            lead(node.clone(), LeaderJob::Tournaments, leave, drive_tournaments),
        );
    };
    Process::new(task, drain, conditions)
}

/// All competitions of the plan, with their bots entered.
fn create_all(world: &SimWorld<CompetitionWorkload>) -> Vec<CompetitionId> {
    let now = world.now();
    let account = Account { id: OWNER, name: "sim".to_owned(), created_at: now };
    assert_eq!(world.commit(&Command::EnsureAccount(account)), Outcome::Account(OWNER));
    let plan = &world.workload.0;
    let mut dice = Dice::new(plan.cluster.seed ^ 0x1d5);
    let mut id = |number: usize| CompetitionId::new(now, dice.id_bytes(number as u8));
    let mut ids = Vec::new();
    let entrants_max = plan.tournaments.iter().map(|(_, entrants)| *entrants).max().unwrap_or(0);
    for number in 0..entrants_max {
        assert_eq!(world.commit(&Command::CreateBot(bot(number, now))), Outcome::Done);
    }
    for (definition, entrants) in &plan.tournaments {
        let id = id(ids.len());
        let row = CompetitionRow {
            due_at: definition.starts_at,
            ..CompetitionRow::new(id, CompetitionKind::Tournament, OWNER, "cup".to_owned(), definition.encode(), now)
        };
        create(world, &row);
        let entered = (0..*entrants).map(|number| LogEntry { at: now, event: entered(number) }.encode());
        let enter = Advance { entries: entered.collect(), ..Advance::of(&row, now) };
        let entering = Command::Competition(CompetitionCommand::Advance(enter));
        assert_eq!(world.commit(&entering), Outcome::Done);
        ids.push(id);
    }
    for definition in &plan.duels {
        let id = id(ids.len());
        let (kind, name) = (CompetitionKind::Duel, "duel".to_owned());
        let row = CompetitionRow {
            status: CompetitionStatus::Running,
            due_at: Some(now),
            ..CompetitionRow::new(id, kind, OWNER, name, definition.encode(), now)
        };
        create(world, &row);
        ids.push(id);
    }
    ids
}

fn create(world: &SimWorld<CompetitionWorkload>, row: &CompetitionRow) {
    let create = CompetitionCommand::Create { row: row.clone(), live_max: 99, idempotency: None };
    assert_eq!(world.commit(&Command::Competition(create)), Outcome::Done);
}

fn bot(number: u16, now: UnixMs) -> Bot {
    Bot {
        id: BotId(u128::from(number) + 1),
        account: OWNER,
        name: format!("bot {number}"),
        url: format!("http://bot-{number}.example"),
        is_public: true,
        created_at: now,
        updated_at: now,
    }
}

fn entered(number: u16) -> Event {
    let mut url_digest = [0; 32];
    url_digest[..2].copy_from_slice(&number.to_le_bytes());
    let entrant = NewEntrant {
        bot: BotId(u128::from(number) + 1),
        name: format!("bot {number}"),
        account: OWNER,
        author: "sim".to_owned(),
        url_digest,
    };
    Event::Entered { entrant, by_organizer: true }
}

fn row(world: &SimWorld<CompetitionWorkload>, id: CompetitionId) -> CompetitionRow {
    world.read(|reader| reader.competition(id)).expect("a planned competition exists")
}

/// Every game in the log is in the store and the other way round, and every result is applied once. Returns how it ended, as text.
fn check(world: &SimWorld<CompetitionWorkload>, row: &CompetitionRow) -> String {
    let log = world.read(|reader| reader.competition_log(row.id, 0, usize::MAX));
    let results = world.read(|reader| reader.competition_results(row.id, 0, usize::MAX));
    let numbers: Vec<u64> = results.iter().map(|result| result.number).collect();
    assert_eq!(numbers, (1..=row.results).collect::<Vec<_>>(), "a result is missing");
    let games = match row.kind {
        CompetitionKind::Duel => duel_games(&log),
        _ => tournament_games(&log),
    };
    let created: BTreeSet<MatchId> = games.created.iter().copied().collect();
    assert_eq!(created.len(), games.created.len(), "a game was created twice");
    let ended: BTreeSet<MatchId> = games.ended.iter().copied().collect();
    assert_eq!(ended.len(), games.ended.len(), "a result counts twice");
    let played: BTreeSet<MatchId> = results.iter().map(|result| result.match_id).collect();
    assert_eq!(
        (&created, created.len() as u64),
        (&played, row.matches_created),
        "the log and the store have other games"
    );
    match row.kind {
        CompetitionKind::Duel => duel_ending(row, &log),
        _ => tournament_ending(row, &log),
    }
}

/// Games that a log speaks of.
#[derive(Default)]
struct LoggedGames {
    created: Vec<MatchId>,
    ended: Vec<MatchId>,
}

fn tournament_games(log: &[Vec<u8>]) -> LoggedGames {
    let mut games = LoggedGames::default();
    for bytes in log {
        match LogEntry::decode(bytes).expect("the log has what was written").event {
            Event::GameCreated { match_id, .. } => games.created.push(match_id),
            Event::GamePlayed { match_id, .. }
            | Event::GameAdjudicated { match_id, .. }
            | Event::GameVoid { match_id, .. } => games.ended.push(match_id),
            _ => {}
        }
    }
    games
}

/// Who met whom, in which seats, and how it went: everything but the ids of the games and the times.
fn tournament_ending(row: &CompetitionRow, log: &[Vec<u8>]) -> String {
    let definition = engine::tournaments::Definition::decode(&row.definition).expect("a planned definition");
    let mut tournament = Tournament::new(definition);
    for bytes in log {
        tournament
            .apply(&LogEntry::decode(bytes).expect("the log has what was written"))
            .expect("a log can be applied");
    }
    let pairing = |pairing: &engine::tournaments::Pairing| {
        let end = |end: &Option<GameEnd>| format!("{end:?}");
        let games: Vec<_> = pairing.games.iter().map(|game| (game.seats.clone(), end(&game.end))).collect();
        format!("{:?} {} {:?} {games:?} {:?}", pairing.stage, pairing.round, pairing.players, pairing.outcome)
    };
    let pairings: Vec<_> = tournament.pairings().iter().map(pairing).collect();
    format!("{:?} {:?} {pairings:#?}", tournament.phase(), tournament.champion())
}

fn duel_games(log: &[Vec<u8>]) -> LoggedGames {
    let mut logged = LoggedGames::default();
    for bytes in log {
        match Entry::decode(bytes).expect("the log has what was written") {
            Entry::Started { games } => logged.created.extend(games.iter().map(|game| game.match_id)),
            Entry::Ended { games } => logged.ended.extend(games.iter().map(|game| game.match_id)),
            Entry::Counted { .. } | Entry::Silent { .. } | Entry::Over { .. } => {}
        }
    }
    logged
}

/// Which pairs count, and the verdict. What was under way at the end is thrown away, and may be something else each time.
fn duel_ending(row: &CompetitionRow, log: &[Vec<u8>]) -> String {
    let mut duel = Duel::new(engine::duels::DuelDefinition::decode(&row.definition).expect("a planned definition"));
    for bytes in log {
        duel.apply(&Entry::decode(bytes).expect("the log has what was written")).expect("a log can be applied");
    }
    let outcomes: Vec<_> = duel.pairings().iter().map(engine::duels::PairingState::outcomes).collect();
    format!("{:?} {outcomes:?}", duel.end())
}
