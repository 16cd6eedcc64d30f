//! Tournaments on a real store in memory, with a clock that the test moves: what happens by time, who is waited for, and that a second
//! process that moves them on too changes nothing.

use super::{BotEntry, CreatedTournament, NewTournament, Tournaments};
use crate::driver::{Driven, Driver};
use crate::health::record;
use crate::testing::TestArena;
use engine::commands::{ClaimedMatch, Command, CompetitionCommand, LadderCommand, MatchAppend, Outcome, RepairRatings};
use engine::competitions::{CompetitionKind, CompetitionRow, CompetitionStatus};
use engine::health::{CallFault, EvidenceSource, HealthRecord};
use engine::ids::{AccountId, BotId, CompetitionId, EntryId, MatchId, WorkerId};
use engine::ladders::definition::LadderDefinition;
use engine::ladders::entry::EntryRecord;
use engine::limits::{
    TOURNAMENT_ABSENCE_LOOK_INTERVAL, TOURNAMENT_DEADLINE_LOOK_INTERVAL, TOURNAMENT_GAME_WAIT_MAX,
    TOURNAMENT_VOID_GAMES_MAX,
};
use engine::matches::archive;
use engine::matches::entry::{AnswerClass, Notice};
use engine::matches::lifecycle::MatchState;
use engine::matches::machine::{BotAnswer, MatchMachine, PendingStep};
use engine::matches::result::MatchResult;
use engine::matches::settings::MatchSettings;
use engine::matches::slots::SlotUsage;
use engine::ratings::Rating;
use engine::time::UnixMs;
use engine::tournaments::{
    CancelReason, Decision, Definition, EntryRule, Format, Game, Pairing, Phase, Seeding, TieBreak, Tournament,
    TournamentRules, WithdrawalReason,
};
use node::lease::LeaseContext;
use rules::chance::Seed;
use rules::snake::{Map, Move, Point, Rules, Ruleset, Settings};
use std::sync::Arc;
use std::time::Duration;

const OWNER: AccountId = AccountId(1);
const LADDER: CompetitionId = CompetitionId(0x1add);
const WORKER: WorkerId = WorkerId(3);
const DEADLINE: Duration = Duration::from_secs(3_600);

fn definition() -> Definition {
    let rules = Rules::for_snakes(Ruleset::Standard, Map::Standard, Settings::default(), 2);
    Definition {
        format: Format::SingleElimination { third_place: false },
        rules: TournamentRules {
            best_of: 1,
            replays_max: 2,
            tie_breaks: vec![TieBreak::Food, TieBreak::Seed],
            game_deadline: DEADLINE,
            games_at_once: 64,
        },
        seeding: Seeding::Manual,
        entry_rule: EntryRule::Open,
        entrants_min: 2,
        entrants_max: 128,
        entrants_per_account_max: 128,
        starts_at: None,
        seed: Seed(7),
        game: MatchSettings { rules, width: 11, height: 11, timeout_ms: 500, turns_max: 500 },
    }
}

/// A tournament of bots 1, 2, 3 …, which is seeded in this order.
struct Cup {
    arena: TestArena,
    /// The process that leads.
    leader: Tournaments<TestArena>,
    leading_since: UnixMs,
    id: CompetitionId,
    /// Claims so far.
    claims: u64,
}

impl Cup {
    async fn new(definition: Definition, bots: u128) -> Self {
        Self::on(TestArena::new(bots), definition, bots).await
    }

    async fn on(arena: TestArena, definition: Definition, bots: u128) -> Self {
        let leader = Tournaments::new(arena.clone());
        let new = NewTournament { account: OWNER, name: "cup".to_owned(), is_public: true, definition };
        let CreatedTournament::New(created) = leader.create(new, |_| None).await.unwrap() else {
            panic!("it has no key")
        };
        let id = created.row.id;
        let ids: Vec<BotId> = (1..=bots).map(BotId).collect();
        for owned in arena.read_now(|reader| reader.bots_with_owners(&ids)) {
            leader.enter(id, &BotEntry { owned, by_organizer: true }).await.unwrap();
        }
        let leading_since = arena.now();
        Self { arena, leader, leading_since, id, claims: 0 }
    }

    async fn started(definition: Definition, bots: u128) -> Self {
        let cup = Self::new(definition, bots).await;
        cup.leader.start(cup.id).await.unwrap();
        cup.settle().await;
        cup
    }

    /// The leader dies and another process takes over.
    fn change_leader(&mut self) {
        (self.leader, self.leading_since) = (Tournaments::new(self.arena.clone()), self.arena.now());
    }

    /// Passes of the leader until nothing is left to do.
    async fn settle(&self) {
        while self.pass(&self.leader).await == Driven::Advanced {}
    }

    async fn pass(&self, process: &Tournaments<TestArena>) -> Driven {
        let advance = |row| {
            let (process, leading_since) = (process.clone(), self.leading_since);
            async move { process.advance(row, leading_since).await }
        };
        let mut driver = Driver::new(self.arena.clone(), CompetitionKind::Tournament, advance);
        driver.pass(&|| true).await.unwrap()
    }

    async fn state(&self) -> Arc<Tournament> {
        // Read by a process that has nothing in memory: what is saved counts.
        Tournaments::new(self.arena.clone()).load(self.id).await.unwrap().state
    }

    async fn pass_time(&self, span: Duration) {
        self.arena.pass_time(span);
        self.settle().await;
    }

    /// Evidence about a bot, which pauses it, or brings it back.
    async fn set_paused(&self, bot: u128, is_paused: bool) {
        let fault = is_paused.then_some(CallFault::ConnectionRefused);
        for _ in 0..3 {
            let evidence = HealthRecord { at: self.arena.now(), source: EvidenceSource::Request, fault, took_ms: 1 };
            record(&self.arena, BotId(bot), evidence).await.unwrap();
        }
        assert_eq!(self.arena.paused().contains(&bot), is_paused);
    }

    fn claim(&mut self) -> Vec<ClaimedMatch> {
        self.claims += 1;
        let (worker, number, now) = (WORKER, self.claims, self.arena.now());
        let (until, address) = (UnixMs::MAX, "127.0.0.1:1".to_owned());
        self.arena.commit_now(Command::RenewLease { worker, address, now, until });
        match self.arena.commit_now(Command::ClaimMatches {
            worker,
            number,
            now,
            max: 1_000,
            slots: SlotUsage::new(9_999),
            attempts_max: 5,
        }) {
            Outcome::MatchesClaimed(claimed) => claimed,
            other => panic!("a claim came to {other:?}"),
        }
    }

    /// Plays what waits, once; the bot with the lower number wins. How many games that were.
    async fn play_waiting(&mut self) -> usize {
        let claimed = self.claim();
        for game in &claimed {
            self.finish(game);
        }
        self.settle().await;
        claimed.len()
    }

    fn finish(&self, game: &ClaimedMatch) {
        let (id, now) = (game.spec.id, self.arena.now());
        let best = game.spec.seats.iter().map(|seat| seat.bot).min();
        let placements: Vec<u8> = game.spec.seats.iter().map(|seat| 1 + u8::from(Some(seat.bot) != best)).collect();
        let result = MatchResult {
            winner: placements.iter().position(|place| *place == 1).map(|seat| seat as u8),
            is_draw: false,
            causes: vec![None; placements.len()],
            death_turns: Vec::new(),
            turns: 0,
            late_moves: 0,
            food_eaten: vec![0; placements.len()],
            is_server_fault: false,
            silent_seats: Vec::new(),
            placements,
        };
        let append =
            MatchAppend { id, epoch: game.epoch, rows: Vec::new(), expected_version: 0, started_at: Some(now) };
        let finish = Command::FinishMatch { append, result, archive: archive::pack(&[]), now };
        assert_eq!(self.arena.commit_now(finish), Outcome::Done);
    }

    /// Begins a game and plays two turns, in which one bot eats.
    fn play_two_turns(&self, game: &ClaimedMatch, eats: BotId) {
        let mut machine = MatchMachine::new(game.spec.clone()).unwrap();
        let mut rows = Vec::new();
        let mut accept = |machine: &mut MatchMachine, step: PendingStep| {
            rows.push(step.row.clone());
            machine.accept(step);
        };
        let opened = machine.record_opened(Vec::new());
        accept(&mut machine, opened);
        for seat in 0..game.spec.seats.len() {
            let delivered = machine.record_delivery(Notice::Start, seat, AnswerClass::Valid, 1);
            accept(&mut machine, delivered);
        }
        for turn in 0..2 {
            let board = machine.board();
            let answers = game.spec.seats.iter().zip(&board.snakes).map(|(seat, snake)| {
                let head = snake.body[0];
                let near = |food: &&Point| (food.x - head.x).abs() <= 1 && (food.y - head.y).abs() <= 1;
                // The food of the start lies diagonally next to each head, and on the way to the middle is none for two turns.
                let to_food = board.food.iter().find(near).filter(|_| seat.bot == eats);
                let mv = match to_food {
                    Some(food) if turn == 0 && food.x > head.x => Move::Right,
                    Some(_) if turn == 0 => Move::Left,
                    Some(food) if food.y > head.y => Move::Up,
                    Some(_) => Move::Down,
                    None if head.x < 5 => Move::Right,
                    None if head.x > 5 => Move::Left,
                    None if head.y < 5 => Move::Up,
                    None => Move::Down,
                };
                Some(BotAnswer { mv: Some(mv), ..BotAnswer::without_move(AnswerClass::Valid, 1) })
            });
            let played = machine.play_turn(answers.collect()).unwrap();
            accept(&mut machine, played);
        }
        assert!(!machine.is_over());
        let started_at = Some(self.arena.now());
        let append = MatchAppend { id: game.spec.id, epoch: game.epoch, rows, expected_version: 0, started_at };
        assert_eq!(self.arena.commit_now(Command::AppendMatch(append)), Outcome::Done);
    }

    fn match_state(&self, id: MatchId) -> MatchState {
        self.arena.read_now(|reader| reader.statuses(&[id]))[0].state
    }
}

fn champion(state: &Tournament) -> Option<BotId> {
    state.champion().map(|entrant| state.entrants()[usize::from(entrant)].info.bot)
}

fn decisions(state: &Tournament) -> Vec<Option<Decision>> {
    state.pairings().iter().map(|pairing| pairing.outcome.as_ref().map(|outcome| outcome.decision)).collect()
}

fn in_an_hour(arena: &TestArena) -> Definition {
    Definition { starts_at: Some(arena.now().plus(Duration::from_secs(3_600))), ..definition() }
}

#[tokio::test]
async fn it_starts_at_its_time_and_not_before() {
    let arena = TestArena::new(4);
    let mut cup = Cup::on(arena.clone(), in_an_hour(&arena), 4).await;
    cup.pass_time(Duration::from_secs(3_599)).await;
    assert_eq!((cup.state().await.phase(), cup.claim().len()), (Phase::Entries, 0));
    // The process that was to start it is gone.
    cup.change_leader();
    cup.pass_time(Duration::from_secs(1)).await;
    let state = cup.state().await;
    assert_eq!((state.phase(), state.started_at()), (Phase::Running, Some(arena.now())));
    assert_eq!((cup.play_waiting().await, cup.play_waiting().await), (2, 1));
    assert_eq!(champion(&*cup.state().await), Some(BotId(1)));
}

#[tokio::test]
async fn with_one_entry_it_is_called_off_at_its_time() {
    for bots in [0, 1] {
        let arena = TestArena::new(bots);
        let mut cup = Cup::on(arena.clone(), in_an_hour(&arena), bots).await;
        cup.pass_time(Duration::from_secs(3_600)).await;
        let state = cup.state().await;
        assert_eq!(state.phase(), Phase::Cancelled(CancelReason::TooFewEntrants));
        assert_eq!((state.ended_at(), cup.claim().len()), (Some(arena.now()), 0));
        let due =
            |reader: &mut dyn store::Reader| reader.competitions_due(CompetitionKind::Tournament, UnixMs::MAX, None, 9);
        assert_eq!(arena.read_now(due), [], "nothing is left to do");
    }
}

#[tokio::test]
async fn a_bot_that_is_deleted_before_the_start_does_not_count() {
    let arena = TestArena::new(2);
    let cup = Cup::on(arena.clone(), in_an_hour(&arena), 2).await;
    arena.commit_now(Command::DeleteBot { id: BotId(2), account: OWNER });
    cup.pass_time(Duration::from_secs(3_600)).await;
    let state = cup.state().await;
    assert_eq!(state.phase(), Phase::Cancelled(CancelReason::TooFewEntrants));
    assert_eq!(state.entrants()[1].withdrawn, Some(WithdrawalReason::Deleted));
}

#[tokio::test]
async fn a_bot_that_is_deleted_while_it_plays_leaves_at_once() {
    let mut cup = Cup::started(definition(), 4).await;
    let games = cup.claim();
    let is_theirs = |game: &&ClaimedMatch| game.spec.seats.iter().any(|seat| seat.bot == BotId(1));
    let theirs = games.iter().find(is_theirs).unwrap().spec.id;
    cup.arena.commit_now(Command::DeleteBot { id: BotId(1), account: OWNER });
    cup.settle().await;
    assert!(
        games.iter().all(|game| (cup.match_state(game.spec.id) == MatchState::Cancelled) == (game.spec.id == theirs))
    );
    assert_eq!((cup.arena.cancels(), cup.arena.notified()), (1, vec![theirs]));
    let state = cup.state().await;
    assert_eq!(state.entrants()[0].withdrawn, Some(WithdrawalReason::Deleted));
    assert_eq!(decisions(&state)[..2].iter().flatten().collect::<Vec<_>>(), [&Decision::Walkover]);
    for game in games.iter().filter(|game| game.spec.id != theirs) {
        cup.finish(game);
    }
    cup.settle().await;
    cup.play_waiting().await;
    assert_eq!(champion(&*cup.state().await), Some(BotId(2)));
}

/// When the pairings' games were queued, began, and were decided, in seconds after the start.
#[tokio::test]
async fn a_tournament_knows_when_its_games_were_queued_played_and_decided() {
    let mut cup = Cup::started(definition(), 4).await;
    let begun = cup.arena.now();
    let after_s = |at: Option<UnixMs>| at.map(|at| at.since(begun).as_secs());
    cup.pass_time(Duration::from_secs(10)).await;
    let [first, second] = &cup.claim()[..] else { panic!("two games wait") };
    cup.play_two_turns(first, BotId(9));
    // Two looks, so that a start is not noted twice.
    cup.pass_time(Duration::from_secs(30)).await;
    cup.pass_time(Duration::from_secs(10)).await;
    cup.finish(second);
    cup.settle().await;
    let state = cup.state().await;
    let pairing_of = |game: &ClaimedMatch| {
        let has_it = |pairing: &&Pairing| pairing.games.iter().any(|known| known.match_id == game.spec.id);
        state.pairings().iter().find(has_it).unwrap()
    };
    let times = |game: &ClaimedMatch| {
        let pairing = pairing_of(game);
        let Game { started_at, ended_at, .. } = &pairing.games[0];
        [*started_at, *ended_at, pairing.decided_at].map(after_s)
    };
    assert_eq!(times(first), [Some(10), None, None]);
    assert_eq!(times(second), [Some(50), Some(50), Some(50)]);
}

/// A ladder with these ratings (mu) of bots 1, 2, 3 …; one of 0 has entered and not played.
fn add_ladder(arena: &TestArena, ratings: &[f64]) {
    let (kind, name, now) = (CompetitionKind::Ladder, "ladder".to_owned(), arena.now());
    let definition = LadderDefinition { players: 2, ..LadderDefinition::standard() }.encode();
    let row = CompetitionRow::new(LADDER, kind, OWNER, name, definition, now);
    let row = CompetitionRow { status: CompetitionStatus::Running, ..row };
    let create = CompetitionCommand::Create { row, live_max: 9, idempotency: None };
    assert_eq!(arena.commit_now(Command::Competition(create)), Outcome::Done);
    let mut records = Vec::new();
    for (n, mu) in (1..).zip(ratings) {
        let bot = BotId(n);
        let enter = LadderCommand::Enter { ladder: LADDER, entry: EntryId(n), bot, account: OWNER, now };
        assert!(matches!(arena.commit_now(Command::Ladder(enter)), Outcome::LadderEntry(_)));
        if *mu > 0.0 {
            let rating = Rating { mu: *mu, ..Rating::default() };
            records.push((bot, EntryRecord { rating, games: 9, ..EntryRecord::default() }));
        }
    }
    let repair = RepairRatings {
        ladder: LADDER,
        season: 1,
        expected_results_applied: 0,
        records,
        strangers: Vec::new(),
        games: Vec::new(),
        games_removed: Vec::new(),
        meetings: Vec::new(),
        seats: Vec::new(),
        now,
    };
    assert_eq!(arena.commit_now(Command::Ladder(LadderCommand::Repair(Box::new(repair)))), Outcome::Done);
}

/// The bots by seed, best first.
async fn seeds_by_ladder(ratings: &[f64], bots: u128) -> Vec<u128> {
    let arena = TestArena::new(bots.max(ratings.len() as u128));
    add_ladder(&arena, ratings);
    let definition = Definition { seeding: Seeding::Ladder { ladder: LADDER }, ..definition() };
    let cup = Cup::on(arena, definition, bots).await;
    cup.leader.start(cup.id).await.unwrap();
    let state = cup.state().await;
    let mut field: Vec<_> = state.entrants().iter().map(|entrant| (entrant.seed, entrant.info.bot.0)).collect();
    field.sort_unstable();
    field.into_iter().map(|(_, bot)| bot).collect()
}

#[tokio::test]
async fn a_ladder_seeds_those_whom_it_has_rated() {
    assert_eq!(seeds_by_ladder(&[20.0, 30.0, 25.0, 35.0], 4).await, [4, 2, 3, 1]);
    // One that plays on the ladder and not in the tournament takes no seed away.
    assert_eq!(seeds_by_ladder(&[20.0, 30.0, 99.0], 2).await, [2, 1]);
    // All bots without rated games come last.
    let seeds = seeds_by_ladder(&[0.0, 30.0, 0.0, 25.0], 5).await;
    let (rated, mut others) = (seeds[..2].to_vec(), seeds[2..].to_vec());
    others.sort_unstable();
    assert_eq!((rated, others), (vec![2, 4], vec![1, 3, 5]));
}

#[tokio::test]
async fn games_that_never_begin_are_given_up_and_the_seed_decides() {
    let mut cup = Cup::started(definition(), 2).await;
    let mut given_up = Vec::new();
    for number in 1..=TOURNAMENT_VOID_GAMES_MAX {
        let claimed = cup.claim();
        assert_eq!(claimed.len(), 1, "game {number}");
        given_up.push(claimed[0].spec.id);
        cup.pass_time(DEADLINE).await;
        cup.pass_time(TOURNAMENT_GAME_WAIT_MAX - Duration::from_secs(1)).await;
        assert_eq!(decisions(&*cup.state().await), [None]);
        cup.pass_time(TOURNAMENT_DEADLINE_LOOK_INTERVAL).await;
    }
    let state = cup.state().await;
    assert_eq!(decisions(&state), [Some(Decision::TieBreak(TieBreak::Seed))]);
    assert_eq!((champion(&state), cup.claim().len()), (Some(BotId(1)), 0));
    for id in given_up {
        assert_eq!(cup.match_state(id), MatchState::Cancelled);
    }
}

/// Time in the queue is no bot's fault, and a game that passes its deadline is not won by the better seed.
#[tokio::test]
async fn a_late_game_is_decided_by_its_board_and_late_is_what_was_played_for_long() {
    let mut cup = Cup::started(definition(), 2).await;
    cup.pass_time(DEADLINE * 5).await;
    let claimed = cup.claim();
    assert_eq!(claimed.len(), 1, "the game still waits, and is the first one");
    let id = claimed[0].spec.id;
    cup.play_two_turns(&claimed[0], BotId(2));
    cup.pass_time(DEADLINE - Duration::from_secs(1)).await;
    assert_eq!((decisions(&*cup.state().await), cup.match_state(id)), (vec![None], MatchState::Running));
    cup.pass_time(TOURNAMENT_DEADLINE_LOOK_INTERVAL).await;
    let state = cup.state().await;
    assert_eq!(decisions(&state), [Some(Decision::Games)]);
    assert_eq!(champion(&state), Some(BotId(2)), "it is longer");
    assert_eq!((cup.match_state(id), cup.claim().len()), (MatchState::Cancelled, 0));
}

#[tokio::test]
async fn time_without_a_leader_is_held_against_no_game() {
    let mut cup = Cup::started(definition(), 2).await;
    let claimed = cup.claim();
    cup.arena.pass_time(DEADLINE * 10);
    cup.change_leader();
    cup.settle().await;
    assert_eq!(cup.match_state(claimed[0].spec.id), MatchState::Running);
    cup.finish(&claimed[0]);
    cup.settle().await;
    assert_eq!(champion(&*cup.state().await), Some(BotId(1)));
}

#[tokio::test]
async fn a_paused_bot_is_waited_for_and_then_has_lost() {
    let mut cup = Cup::new(definition(), 4).await;
    cup.set_paused(1, true).await;
    cup.leader.start(cup.id).await.unwrap();
    cup.settle().await;
    assert_eq!(cup.play_waiting().await, 1, "the other semi-final does not wait");
    let absent_since = cup.state().await.entrants()[0].absent_since;
    assert_eq!(absent_since, Some(cup.arena.now()));
    cup.pass_time(DEADLINE - Duration::from_secs(1)).await;
    assert_eq!((cup.claim().len(), decisions(&*cup.state().await)[0]), (0, None));
    cup.pass_time(TOURNAMENT_ABSENCE_LOOK_INTERVAL).await;
    let state = cup.state().await;
    assert_eq!(state.entrants()[0].withdrawn, Some(WithdrawalReason::Absent));
    assert_eq!(decisions(&state)[0], Some(Decision::Walkover));
    assert_eq!(cup.play_waiting().await, 1);
    assert_eq!(champion(&*cup.state().await), Some(BotId(2)));
}

#[tokio::test]
async fn a_paused_bot_that_comes_back_in_time_plays() {
    let mut cup = Cup::new(definition(), 2).await;
    cup.set_paused(1, true).await;
    cup.leader.start(cup.id).await.unwrap();
    cup.pass_time(DEADLINE / 2).await;
    cup.set_paused(1, false).await;
    // The next leader knows it too.
    cup.change_leader();
    cup.pass_time(TOURNAMENT_ABSENCE_LOOK_INTERVAL).await;
    assert!(!cup.state().await.entrants()[0].is_absent());
    assert_eq!(cup.play_waiting().await, 1);
    assert_eq!(champion(&*cup.state().await), Some(BotId(1)));
}

#[tokio::test]
async fn a_field_that_is_absent_leaves_one_after_the_other_and_ends() {
    for format in [definition().format, Format::RoundRobin, Format::Swiss { rounds: 0 }] {
        let entrants_max = 64;
        let cup = Cup::new(Definition { format, entrants_max, ..definition() }, 4).await;
        for bot in 1..=4 {
            cup.set_paused(bot, true).await;
        }
        cup.leader.start(cup.id).await.unwrap();
        cup.settle().await;
        for _ in 0..4 {
            cup.pass_time(DEADLINE + TOURNAMENT_ABSENCE_LOOK_INTERVAL).await;
        }
        let state = cup.state().await;
        assert_eq!(state.phase(), Phase::Finished, "{format:?}: {:?}", decisions(&state));
        assert!(state.pairings().iter().all(|pairing| pairing.games.is_empty()), "{format:?}");
    }
}

#[tokio::test]
async fn an_absent_bot_that_is_deleted_is_waited_for_no_longer() {
    let cup = Cup::new(definition(), 2).await;
    cup.set_paused(1, true).await;
    cup.leader.start(cup.id).await.unwrap();
    cup.settle().await;
    cup.arena.commit_now(Command::DeleteBot { id: BotId(1), account: OWNER });
    cup.pass_time(TOURNAMENT_ABSENCE_LOOK_INTERVAL).await;
    let state = cup.state().await;
    assert_eq!(state.entrants()[0].withdrawn, Some(WithdrawalReason::Deleted));
    assert_eq!(champion(&state), Some(BotId(2)));
}

#[tokio::test]
async fn two_leaders_at_once_change_nothing() {
    let mut cup = Cup::started(definition(), 8).await;
    // Both still believe that they lead; either may be first.
    let mut processes = [cup.leader.clone(), Tournaments::new(cup.arena.clone())];
    let mut games = 0;
    loop {
        let claimed = cup.claim();
        if claimed.is_empty() {
            break;
        }
        games += claimed.len();
        for game in &claimed {
            cup.finish(game);
            let [one, other] = &processes;
            while tokio::join!(cup.pass(one), cup.pass(other)) != (Driven::Unchanged, Driven::Unchanged) {}
            processes.reverse();
        }
    }
    let state = cup.state().await;
    assert_eq!((games, champion(&state), state.phase()), (7, Some(BotId(1)), Phase::Finished));
    assert!(cup.arena.conflicts() > 0, "they must have met, or this proves nothing");
}

#[tokio::test]
async fn spectators_are_notified_of_games_that_are_called_off() {
    let mut cup = Cup::started(definition(), 4).await;
    let mut games: Vec<MatchId> = cup.claim().iter().map(|game| game.spec.id).collect();
    games.sort_unstable();
    cup.leader.cancel(cup.id).await.unwrap();
    // The process that was to call them off is gone in the middle of it.
    cup.arena.set_store_away_after(1);
    cup.settle().await;
    cup.arena.set_store_away(false);
    cup.change_leader();
    cup.settle().await;
    assert_eq!(cup.arena.cancels(), games.len(), "each once");
    let mut notified = cup.arena.notified();
    notified.sort_unstable();
    assert_eq!(notified, games);
    assert!(games.iter().all(|id| cup.match_state(*id) == MatchState::Cancelled));
}
