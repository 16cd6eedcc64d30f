//! Duels on a store in memory: games that do not count any more are called off once, whatever happens in between.

use super::*;
use crate::driver::Driver;
use crate::testing::TestArena;
use engine::commands::{Command, CompetitionCommand, Outcome};
use engine::duels::DuelBot;
use engine::ids::{AccountId, CompetitionId};
use engine::ladders::definition::LadderDefinition;
use engine::limits::COMPETITION_RETRY_MAX;
use node::lease::LeaseContext;
use rules::chance::Seed;

const GAMES: usize = 8;
const DUEL: CompetitionId = CompetitionId(7);

/// A duel of which [`GAMES`] games wait in the queue; of registered bots, or of such that are named by their URLs.
async fn begun(is_registered: bool) -> TestArena {
    let arena = TestArena::new(2);
    let bot = |number: u128| DuelBot {
        bot: BotId(number),
        name: format!("bot {number}"),
        owner: String::new(),
        url: format!("http://{number}.example/"),
        is_registered,
    };
    let definition = DuelDefinition {
        bots: vec![bot(1), bot(2)],
        settings: LadderDefinition::standard().settings,
        seed: Seed(7),
        test: None,
        pairs_max: 20,
        pairs_at_once: GAMES as u32 / 2,
        is_public: true,
    };
    let (account, name, now) = (AccountId(1), "duel".to_owned(), arena.now());
    let row = CompetitionRow::new(DUEL, CompetitionKind::Duel, account, name, definition.encode(), now);
    let row = CompetitionRow { due_at: Some(now), ..row };
    let create = CompetitionCommand::Create { row, live_max: 9, idempotency: None };
    assert_eq!(arena.commit_now(Command::Competition(create)), Outcome::Done);
    settle(&arena).await;
    assert_eq!(live(&arena), GAMES);
    arena
}

/// Passes of a process that has nothing in memory, until nothing is left to do.
async fn settle(arena: &TestArena) {
    let states = Arc::new(DuelStates::default());
    let advance = |row| advance_duel(arena.clone(), states.clone(), row);
    let mut driver = Driver::new(arena.clone(), CompetitionKind::Duel, advance);
    while driver.pass(&|| true).await == Ok(Driven::Advanced) {}
}

fn live(arena: &TestArena) -> usize {
    arena.read_now(|reader| reader.competition_matches(DUEL, true, None, 99)).len()
}

/// Its owner ends it.
async fn cancel_it(arena: &TestArena) {
    let states = DuelStates::default();
    let (duel, row) = arena.read_now(|reader| {
        let mut row = reader.competition(DUEL)?.expect("it was created");
        Ok((states.read(reader, &mut row)?, row))
    });
    assert_eq!(cancel(arena, &states, &row, &duel.unwrap()).await, Ok(()));
}

/// The store goes away after this many of the games are called off; `None`: never.
async fn check(away_after: Option<usize>) {
    let arena = begun(false).await;
    cancel_it(&arena).await;
    if let Some(cancelled) = away_after {
        arena.set_store_away_after(cancelled);
        settle(&arena).await;
        assert_eq!(live(&arena), GAMES - cancelled);
        arena.set_store_away(false);
        arena.pass_time(COMPETITION_RETRY_MAX);
    }
    settle(&arena).await;
    let row = arena.read_now(|reader| reader.competition(DUEL)).expect("it was created");
    assert_eq!((live(&arena), row.results_applied, row.due_at), (0, GAMES as u64, None));
    // Their late results do not call them off again.
    settle(&arena).await;
    assert_eq!((arena.cancels(), arena.notified().len()), (GAMES, GAMES));
}

#[tokio::test]
async fn games_under_way_are_called_off_once() {
    for away_after in [None, Some(0), Some(1), Some(GAMES - 1), Some(GAMES)] {
        check(away_after).await;
    }
}

#[tokio::test]
async fn a_duel_ends_with_its_games_when_a_bot_is_deleted() {
    let arena = begun(true).await;
    let (id, account) = (BotId(2), AccountId(1));
    assert_eq!(arena.commit_now(Command::DeleteBot { id, account }), Outcome::Done);
    settle(&arena).await;
    let states = DuelStates::default();
    let (duel, row) = arena.read_now(|reader| {
        let mut row = reader.competition(DUEL)?.expect("it was created");
        Ok((states.read(reader, &mut row)?, row))
    });
    assert_eq!((duel.unwrap().end(), row.status), (Some(DuelEnd::BotWithdrawn), CompetitionStatus::Finished));
    assert_eq!((live(&arena), arena.cancels()), (0, GAMES));
}
