//! The matchmaker: as many matches as may be, of those that may play, whatever another process pairs; and its memory is what is committed.

use super::*;
use crate::ladders::matchmaker::Matchmaker;
use crate::ladders::pairing_state::PairingState;
use engine::commands::{BotCommand, CreateMatches};
use engine::health::{BotHealth, CallFault, EvidenceSource, HealthRecord};
use engine::ladders::definition::SYSTEM_ACCOUNT;
use engine::ladders::pairing::{PairingRules, plan};
use engine::limits::LADDER_ACCOUNT_SHARE_DIVISOR;
use engine::rows::{BotHealthRow, MatchRow};
use node::lease::LeaseContext;
use rules::chance::{Chance, Purpose};
use std::collections::BTreeSet;

impl Fixture {
    /// With so many bots on its ladder.
    pub(super) async fn with_bots(bots: u128) -> Self {
        let fixture = Self::new(None).await;
        standard::ensure(&fixture.environment).await;
        for n in 4..=bots {
            fixture.enter(n).await;
        }
        fixture
    }

    async fn matches_created(&self, ladders: &[CompetitionId]) -> Vec<u64> {
        let mut counts = Vec::new();
        for ladder in ladders {
            counts.push(self.row_of(*ladder).await.matches_created);
        }
        counts
    }

    /// May have so many matches under way on the ladders of one account.
    pub(super) fn matchmaker(&self, matches_at_once: usize) -> Matchmaker<ProductionEnvironment> {
        Matchmaker::new(self.environment.clone(), matches_at_once * LADDER_ACCOUNT_SHARE_DIVISOR)
    }

    /// Matches of the ladder that wait.
    pub(super) async fn live(&self) -> Vec<MatchRow> {
        self.store.read(|reader| reader.competition_matches(LADDER, true, None, 100)).await.unwrap()
    }

    async fn load(&self) -> PairingState {
        let now = self.environment.now();
        self.store.read(move |reader| PairingState::load(reader, LADDER, now)).await.unwrap().expect("it runs")
    }

    /// What is committed is followed, or read anew if it cannot be.
    async fn follow(&self, mut state: PairingState) -> PairingState {
        let now = self.environment.now();
        let read = move |reader: &mut dyn store::Reader| match state.follow(reader, now)? {
            Some(_) => Ok(Some(state)),
            None => PairingState::load(reader, LADDER, now),
        };
        self.store.read(read).await.unwrap().expect("it runs")
    }

    async fn pause(&self, n: u128) {
        let (now, mut health) = (self.environment.now(), BotHealth::default());
        health.watch(now, UnixMs(i64::MAX));
        for _ in 0..3 {
            let fault = Some(CallFault::Html);
            health.apply(HealthRecord { at: now, source: EvidenceSource::Sweep, fault, took_ms: 7 }, 0);
        }
        let row = BotHealthRow { bot: BotId(n), version: 0, health };
        assert_eq!(self.commit(Command::Bot(BotCommand::SaveHealth(row))).await, Outcome::Done);
    }
}

fn bots_of(row: &MatchRow) -> Vec<u128> {
    row.spec.seats.iter().map(|seat| seat.bot.0).collect()
}

#[tokio::test]
async fn as_many_matches_are_under_way_as_may_be() {
    let fixture = Fixture::with_bots(8).await;
    let mut matchmaker = fixture.matchmaker(3);
    for _ in 0..2 {
        matchmaker.look().await.unwrap();
        assert_eq!(fixture.live().await.len(), 3);
    }
    // A match whose result is not rated yet is under way.
    fixture.finish_next(fixture.environment.now()).await;
    matchmaker.look().await.unwrap();
    assert_eq!(fixture.row().await.matches_created, 3);
    fixture.settle().await;
    matchmaker.look().await.unwrap();
    assert_eq!((fixture.row().await.matches_created, fixture.live().await.len()), (4, 3));
    assert_eq!(fixture.metrics.pairing.matches_created.get(), 4);
    assert_eq!(fixture.metrics.pairing.first_game_wait.snapshot().count(), 2);
}

#[tokio::test]
async fn a_bot_has_few_games_at_once_and_the_queue_a_share_for_all_ladders() {
    let fixture = Fixture::with_bots(5).await;
    fixture.matchmaker(100).look().await.unwrap();
    assert_eq!(fixture.live().await.len(), 2, "one game of each bot until it has answered");
    let fixture = Fixture::with_bots(5).await;
    for bots in [[1, 2], [2, 3], [3, 4], [4, 5], [5, 1]] {
        fixture.play(bots, fixture.environment.now()).await;
    }
    fixture.settle().await;
    fixture.matchmaker(100).look().await.unwrap();
    let live = fixture.live().await;
    assert_eq!(live.len(), 5, "two games of each bot, two bots a game");
    for n in 1..=5 {
        assert_eq!(live.iter().flat_map(bots_of).filter(|bot| *bot == n).count(), 2);
    }
    assert!(live.iter().all(|row| row.account == SYSTEM_ACCOUNT && !row.spec.is_public), "{live:?}");
}

#[tokio::test]
async fn of_two_that_pair_at_once_one_creates_matches() {
    let fixture = Fixture::with_bots(8).await;
    let (first, second) = (fixture.load().await, fixture.load().await);
    assert!(fixture.matchmaker(9).create(first, 2).await.unwrap().is_some());
    assert!(fixture.matchmaker(9).create(second, 2).await.unwrap().is_none());
    assert_eq!((fixture.row().await.matches_created, fixture.live().await.len()), (2, 2));
    // The next leader counts what the one before has created.
    fixture.matchmaker(3).look().await.unwrap();
    assert_eq!(fixture.live().await.len(), 3);
}

#[tokio::test]
async fn a_state_read_anew_plans_as_one_that_was_followed() {
    let fixture = Fixture::with_bots(7).await;
    let mut matchmaker = fixture.matchmaker(4);
    let mut followed = fixture.load().await;
    for round in 0..30 {
        matchmaker.look().await.unwrap();
        for _ in 0..fixture.live().await.len().min(1 + round as usize % 3) {
            fixture.finish_next(fixture.environment.now()).await;
        }
        if round % 4 != 3 {
            fixture.settle().await;
        }
        followed = fixture.follow(followed).await;
        let anew = fixture.load().await;
        let rules = PairingRules { seats: 2, may_relatives_meet: true, games_at_once_max: 2 };
        let next = |state: &PairingState| {
            let entries = state.pairing_entries(&BTreeSet::new());
            plan(&rules, &entries, &state.history, 8, &mut Chance::new(Seed(7), round, Purpose::LadderPairing))
        };
        assert_eq!(next(&followed), next(&anew), "round {round}");
    }
}

#[tokio::test]
async fn each_ladder_has_its_turn_however_few_matches_there_may_be() {
    let fixture = Fixture::with_bots(2).await;
    let others = [CompetitionId(20), CompetitionId(21)];
    for ladder in others {
        fixture.create_ladder(ladder, None).await;
        for n in 1..=2 {
            fixture.enter_ladder(ladder, n).await;
        }
    }
    // Two of the three ladders have a match each, and the third gets the first place that is free.
    let mut matchmaker = fixture.matchmaker(2);
    matchmaker.look().await.unwrap();
    let ladders = [LADDER, others[0], others[1]];
    for _ in 0..6 {
        let before = fixture.matches_created(&ladders).await;
        assert!(before.iter().max().unwrap() - before.iter().min().unwrap() <= 1, "{before:?}");
        fixture.finish_next(fixture.environment.now()).await;
        for ladder in ladders {
            fixture.settle_ladder(ladder).await;
        }
        matchmaker.look().await.unwrap();
        assert_eq!(fixture.matches_created(&ladders).await.iter().sum::<u64>(), before.iter().sum::<u64>() + 1);
    }
}

#[tokio::test]
async fn the_next_leader_counts_the_matches_of_ladders_that_it_has_not_read() {
    let fixture = Fixture::with_bots(2).await;
    // More than one look reads.
    let others: Vec<CompetitionId> = (20..60).map(CompetitionId).collect();
    for ladder in &others {
        fixture.create_ladder(*ladder, None).await;
        for n in 1..=2 {
            fixture.enter_ladder(*ladder, n).await;
        }
    }
    let mut matchmaker = fixture.matchmaker(30);
    for _ in 0..6 {
        matchmaker.look().await.unwrap();
    }
    let created = |counts: Vec<u64>| counts.iter().sum::<u64>();
    assert_eq!(created(fixture.matches_created(&others).await) + fixture.row().await.matches_created, 30);
    // Results that are not rated yet are no room for more.
    for _ in 0..20 {
        fixture.finish_next(fixture.environment.now()).await;
    }
    let mut next = fixture.matchmaker(30);
    for _ in 0..6 {
        next.look().await.unwrap();
        assert_eq!(created(fixture.matches_created(&others).await) + fixture.row().await.matches_created, 30);
    }
}

#[derive(Clone, Copy, Debug)]
enum Absence {
    Paused,
    Left,
    Deleted,
    Private,
}

#[tokio::test]
async fn a_bot_that_cannot_play_is_not_paired() {
    for absence in [Absence::Paused, Absence::Left, Absence::Deleted, Absence::Private] {
        let fixture = Fixture::with_bots(3).await;
        let bot = BotId(3);
        // Knows all three, and creates nothing yet.
        let mut matchmaker = fixture.matchmaker(0);
        matchmaker.look().await.unwrap();
        matchmaker.matches_at_once = 9 * LADDER_ACCOUNT_SHARE_DIVISOR;
        match absence {
            Absence::Paused => fixture.pause(3).await,
            Absence::Left => {
                let leave = LadderCommand::Leave { ladder: LADDER, bot, account: Some(OWNER) };
                assert_eq!(fixture.commit(Command::Ladder(leave)).await, Outcome::Done);
            }
            Absence::Deleted => {
                let deleted = fixture.commit(Command::DeleteBot { id: bot, account: OWNER }).await;
                assert_eq!(deleted, Outcome::Done);
            }
            Absence::Private => {
                let row = fixture.store.read(move |reader| reader.bots_by_id(&[bot])).await.unwrap().remove(0);
                let hidden = fixture.commit(Command::UpdateBot(Bot { is_public: false, ..row })).await;
                assert_eq!(hidden, Outcome::Done);
            }
        }
        match absence {
            // Known for some seconds at most.
            Absence::Paused => fixture.matchmaker(9).look().await.unwrap(),
            // A plan with the one who is gone comes to nothing; the next is without it.
            _ => {
                matchmaker.look().await.unwrap();
                matchmaker.look().await.unwrap();
            }
        }
        let live = fixture.live().await;
        assert_eq!(live.len(), 1, "{absence:?}");
        assert!(!live.iter().flat_map(bots_of).any(|bot| bot == 3), "{absence:?}: {live:?}");
    }
}

/// An account that has all the slots that it may have keeps games waiting for as long as it likes: no ladder may stand still for it.
#[tokio::test]
async fn a_game_that_waits_for_its_accounts_share_holds_up_no_ladder() {
    let fixture = Fixture::with_bots(16).await;
    let settings = LadderDefinition::standard().settings;
    let spec = settings.spec(MatchId(1_000), Seed(1), None, Vec::new(), true);
    let now = UnixMs(fixture.environment.now().0 - 60_000);
    let create = CreateMatches { account: OWNER, idempotency: None, matches: vec![spec], now };
    assert_eq!(fixture.commit(Command::CreateMatches(create)).await, Outcome::Done);
    fixture.matchmaker(32).look().await.unwrap();
    assert_eq!(fixture.live().await.len(), 8, "one game of each bot");
}

#[tokio::test]
async fn a_ladder_that_has_ended_creates_nothing() {
    let fixture = Fixture::with_bots(4).await;
    let mut matchmaker = fixture.matchmaker(2);
    matchmaker.look().await.unwrap();
    let end = Advance { status: CompetitionStatus::Finished, ..Advance::of(&fixture.row().await, UnixMs(1)) };
    assert_eq!(fixture.commit(Command::Competition(CompetitionCommand::Advance(end))).await, Outcome::Done);
    fixture.finish_next(UnixMs(2)).await;
    matchmaker.look().await.unwrap();
    assert_eq!((fixture.row().await.matches_created, fixture.live().await.len()), (2, 1));
}
