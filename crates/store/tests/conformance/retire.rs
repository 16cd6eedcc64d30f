//! Deletion: by age, by size, a little at a time, and never what is live.

use crate::fixtures::*;
use crate::stories::{archive, entry_with, game, game_id, in_phase, retire_games};
use crate::world_fixtures::*;
use engine::commands::{Command, GuestRecords, HunterDelta, IndexChange, Outcome, WorldCommand};
use engine::ids::{AccountId, PlayerId};
use engine::limits::IDEMPOTENCY_RETENTION;
use engine::matches::lifecycle::MatchState;
use engine::rows::{Account, OldestKept};
use engine::tables::Phase;
use engine::time::UnixMs;
use rules::chance::Seed;
use std::collections::BTreeMap;
use std::time::Duration;
use store::{Database, MatchFilter, MatchList};

pub(crate) fn call(now: UnixMs, keep_for_ms: Option<u64>, keep_archive_bytes: Option<u64>, max: usize) -> Command {
    Command::RetireMatches {
        now,
        keep_for: keep_for_ms.map(Duration::from_millis),
        keep_archive_bytes,
        keep_answers_for: IDEMPOTENCY_RETENTION,
        max,
    }
}

fn left(held: &mut StoreFixture) -> Vec<u128> {
    let mut left = held.listed(&MatchFilter { limit: 100, ..MatchFilter::default() });
    left.reverse();
    left
}

/// Matches 1 to 6: 1 and 4 fail, 2 and 5 are cancelled, 3 and 6 finish; they end in the order 6, 5, … 1, 10 ms apart.
fn six_ended(held: &mut StoreFixture) {
    held.assert_outcome(create(1, 1..=6, at(0)), Outcome::Done);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(0), 6)).len(), 6);
    for n in 1..=6 {
        let now = at(70 - 10 * n as i64);
        let ending = match n % 3 {
            1 => fail(n, 1, now),
            2 => cancel(n, now),
            _ => finish(n, 1, 0, 50, now),
        };
        held.assert_outcome(ending, Outcome::Done);
    }
}

pub(crate) fn the_oldest_end_goes_first(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    six_ended(&mut held);
    held.assert_outcome(call(at(40), Some(0), None, 2), Outcome::Retired(2));
    assert_eq!(left(&mut held), [1, 2, 3, 4]);
    held.assert_outcome(call(at(60), Some(20), None, 9), Outcome::Retired(1));
    assert_eq!(left(&mut held), [1, 2, 3], "40 ms is not older than 20 before 60");
    held.assert_outcome(call(at(60), None, None, 9), Outcome::Retired(0));
    held.assert_outcome(call(at(61), Some(0), None, 9), Outcome::Retired(3));
    assert_eq!(left(&mut held), [0; 0]);
}

pub(crate) fn archives_are_kept_below_their_size(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    six_ended(&mut held);
    held.assert_outcome(call(at(99), None, Some(1_000_000), 9), Outcome::Retired(0));
    held.assert_outcome(call(at(99), None, Some(1), 1), Outcome::Retired(1));
    assert_eq!(left(&mut held), [1, 2, 3, 4, 5], "only archives take room; 6 ended before 3");
    held.assert_outcome(call(at(99), None, Some(0), 9), Outcome::Retired(1));
    assert_eq!(left(&mut held), [1, 2, 4, 5]);
    held.assert_outcome(call(at(99), None, Some(0), 9), Outcome::Retired(0));
    // Age first, size then, in one call.
    held.assert_outcome(create(1, [7], at(0)), Outcome::Done);
    held.assert_claims(claim(1, at(0), 1), &[(7, 1, 1)]);
    held.assert_outcome(finish(7, 1, 0, 50, at(98)), Outcome::Done);
    held.assert_outcome(call(at(99), Some(50), Some(0), 9), Outcome::Retired(3));
    assert_eq!(left(&mut held), [1, 2]);
}

pub(crate) fn a_call_is_bounded(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    six_ended(&mut held);
    held.assert_outcome(call(at(99), Some(0), Some(0), 0), Outcome::Retired(0));
    for rest in [4, 2, 0] {
        held.assert_outcome(call(at(99), Some(0), Some(0), 2), Outcome::Retired(2));
        assert_eq!(left(&mut held).len(), rest);
    }
}

pub(crate) fn nothing_of_a_retired_match_is_left(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    six_ended(&mut held);
    held.assert_outcome(call(at(99), Some(0), None, 9), Outcome::Retired(6));
    assert_eq!(held.reader.match_by_id(match_id(3)), Ok(None));
    assert_eq!(held.reader.match_log(match_id(3), 0, 9), Ok(None));
    assert_eq!(held.reader.statuses(&[match_id(3)]), Ok(vec![]));
    assert_eq!(
        held.listed(&MatchFilter {
            list: MatchList::OfBot { bot: bot_id(1), outcome: None, viewer: None },
            limit: 9,
            before: None
        }),
        [0; 0]
    );
    assert_eq!(held.stats(at(99)).counts.total(), 0);
    // Its id is free again, its log empty, its share of archive bytes freed.
    held.assert_outcome(create(1, [3], at(100)), Outcome::Done);
    held.assert_claims(claim(1, at(100), 1), &[(3, 1, 1)]);
    held.assert_outcome(append(3, 1, 0, 1), Outcome::Done);
    held.assert_outcome(finish(3, 1, 1, 49, at(101)), Outcome::Done);
    held.assert_outcome(call(at(101), None, Some(500), 9), Outcome::Retired(0));
}

pub(crate) fn what_lives_is_never_retired(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(create(1, [2], at(0)), Outcome::Done);
    held.assert_outcome(call(at(1_000_000), Some(0), Some(0), 9), Outcome::Retired(0));
    assert_eq!(left(&mut held), [1, 2]);
}

pub(crate) fn workers_of_the_past_are_forgotten(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    const DAY_MS: i64 = 24 * 3_600_000;
    held.run(1);
    held.assert_outcome(call(at(4_999 + DAY_MS), None, None, 9), Outcome::Retired(0));
    held.assert_outcome(lease(1, at(DAY_MS)), Outcome::LeaseLost);
    held.assert_outcome(call(at(5_000 + DAY_MS), None, None, 9), Outcome::Retired(0));
    assert_eq!(held.stats(at(DAY_MS)).orphaned, 1, "its matches are still known to be orphans");
    held.assert_outcome(lease(1, at(DAY_MS)), Outcome::Done);
    held.assert_claims(claim(1, at(DAY_MS), 9), &[]);
    held.assert_outcome(lease(2, at(2 * DAY_MS)), Outcome::Done);
    held.assert_claims(claim(2, at(2 * DAY_MS), 9), &[(1, 2, 2)]);
}

pub(crate) fn a_lease_without_an_end_holds_until_it_is_ended_and_is_forgotten_then(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let later = at(365 * 24 * 3_600_000);
    held.run(1);
    let Command::RenewLease { worker, address, now, .. } = lease(1, at(0)) else { panic!("it is a lease") };
    held.assert_outcome(Command::RenewLease { worker, address, now, until: UnixMs::MAX }, Outcome::Done);
    held.assert_outcome(call(later, None, None, 9), Outcome::Retired(0));
    held.assert_outcome(lease(2, later), Outcome::Done);
    held.assert_claims(claim(2, later, 9), &[]);
    if database.is_shared() {
        return held.assert_outcome(Command::EndAllLeases, Outcome::SharedDatabase);
    }
    held.assert_outcome(Command::EndAllLeases, Outcome::Done);
    held.assert_outcome(lease(1, later), Outcome::LeaseLost);
    held.assert_outcome(lease(3, later), Outcome::Done);
    held.assert_claims(claim(3, later, 9), &[(1, 2, 2)]);
    held.assert_outcome(call(later, None, None, 9), Outcome::Retired(0));
    held.assert_outcome(lease(1, later), Outcome::Done);
}

/// A player who came at this time, with an account or without.
fn player_of(came_at: UnixMs, n: u8) -> PlayerId {
    PlayerId::new(came_at, [n; 10])
}

fn retire_guests(records: GuestRecords, after: PlayerId, made_before: UnixMs, max: usize) -> Command {
    Command::RetireGuests { records, after, made_before, max }
}

pub(crate) fn guests_are_forgotten_and_accounts_are_not(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1]);
    let old = [1, 2, 3].map(|n| player_of(at(i64::from(n)), n));
    let [member, young] = [player_of(at(2), 9), player_of(at(50), 5)];
    let own = PlayerId(0xb07_0001);
    let account = Account { id: AccountId(member.0), ..account(7) };
    held.assert_outcome(Command::EnsureAccount(account.clone()), Outcome::Account(account.id));
    let players: Vec<PlayerId> = old.into_iter().chain([member, young, own]).collect();
    let award = |player: &PlayerId| IndexChange::Award { player: *player, points: 12, seed: Seed(1) };
    held.assert_outcome(entry_with(1, 2, players.iter().map(award).collect()), Outcome::Done);
    held.assert_outcome(ensure(&hunt(1, None), &[]), world_is(&hunt(1, None)));
    held.own_world(1, 1);
    held.assert_outcome(claims(1, 1, 0, 1), Outcome::Done);
    let hunters = players.iter().map(|player| HunterDelta { player: *player, ..delta(1, "ann", 5, 1) }).collect();
    let aggregate = engine::commands::Aggregate { hunters, ..aggregate(1, 0, 1) };
    held.assert_outcome(Command::World(WorldCommand::Aggregate(aggregate)), Outcome::Done);
    for records in GuestRecords::ALL {
        let kept = |held: &mut StoreFixture| -> Vec<PlayerId> {
            let has_row = |player: &&PlayerId| match records {
                GuestRecords::Standings => !held.reader.standings(&[**player]).unwrap().is_empty(),
                GuestRecords::Hunters => held.reader.hunter(**player).unwrap().is_some(),
            };
            players.iter().filter(has_row).copied().collect()
        };
        let none = PlayerId(0);
        let call = |after, before, max| retire_guests(records, after, at(before), max);
        let retired = |count, next| Outcome::GuestsRetired { count, next };
        held.assert_outcome(call(none, 1, 9), retired(0, None));
        assert_eq!(kept(&mut held), players, "none came before that");
        // In pages, by age; who has an account is passed over.
        held.assert_outcome(call(none, 50, 2), retired(2, Some(old[1])));
        held.assert_outcome(call(old[1], 50, 2), retired(1, Some(old[2])));
        held.assert_outcome(call(old[2], 50, 2), retired(0, None));
        assert_eq!(kept(&mut held), [member, young, own]);
        held.assert_outcome(call(none, 51, 9), retired(1, None));
        held.assert_outcome(call(none, 1_000_000, 9), retired(0, None));
        assert_eq!(kept(&mut held), [member, own]);
    }
}

pub(crate) fn the_oldest_that_is_kept_is_known(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    assert_eq!(held.reader.oldest_kept(at(1_000)), Ok(OldestKept::default()));
    six_ended(&mut held);
    held.open_tables(&[1]);
    let ended = in_phase(game(1, 1), Phase::Complete, Some(at(30)));
    let index = vec![IndexChange::UpsertGame(ended), archive(game_id(1, 1), &[1])];
    held.assert_outcome(entry_with(1, 2, index), Outcome::Done);
    let over = hunt(1, Some(at(40)));
    held.assert_outcome(ensure(&over, &[]), world_is(&over));
    let want = OldestKept { matches: Some(at(10)), story_games: Some(at(30)), hunts: Some(at(40)), competitions: None };
    assert_eq!(held.reader.oldest_kept(at(1_000)), Ok(want));
    held.assert_outcome(call(at(1_000), Some(975), None, 9), Outcome::Retired(2));
    assert_eq!(held.reader.oldest_kept(at(1_000)), Ok(OldestKept { matches: Some(at(30)), ..want }));
    // What is not over has no age.
    assert_eq!(held.reader.oldest_kept(at(40)).map(|kept| kept.hunts), Ok(None));
}

/// Matches and games of random ends, in portions of random size: after each, what is live or young is there; in the end nothing else is.
pub(crate) fn what_is_young_or_live_stays_and_all_that_is_old_goes(database: &dyn Database) {
    const COUNT: u128 = 24;
    let mut held = StoreFixture::new(database);
    let mut random = 0x9e37_79b9_u64;
    let mut below = |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % bound
    };
    held.assert_outcome(create(1, 1..=COUNT, at(0)), Outcome::Done);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(0), COUNT as usize)).len(), COUNT as usize);
    held.open_tables(&(1..=COUNT).collect::<Vec<_>>());
    let (mut matches, mut games) = (BTreeMap::new(), BTreeMap::new());
    for n in 1..=COUNT {
        let ended_at = at(below(100) as i64);
        let command = match below(4) {
            0 => finish(n, 1, 0, 5, ended_at),
            1 => fail(n, 1, ended_at),
            2 => cancel(n, ended_at),
            _ => append(n, 1, 0, 1),
        };
        let is_live = matches!(command, Command::AppendMatch(_));
        held.assert_outcome(command, Outcome::Done);
        matches.insert(n, (!is_live).then_some(ended_at));
        if below(4) > 0 {
            let ended = in_phase(game(n, 1), Phase::Complete, Some(ended_at));
            let index = vec![IndexChange::UpsertGame(ended), archive(game_id(n, 1), &[1])];
            held.assert_outcome(entry_with(n, 2, index), Outcome::Done);
            games.insert(n, Some(ended_at));
        } else {
            games.insert(n, None);
        }
    }
    let is_kept = |ended_at: &Option<UnixMs>, border: UnixMs| ended_at.is_none_or(|ended_at| ended_at >= border);
    for now in [40, 70, 100, 1_000] {
        let keep_ms = below(40);
        let border = at(now).minus(Duration::from_millis(keep_ms));
        loop {
            let max = 1 + below(5) as usize;
            let outcomes =
                held.commit(&[call(at(now), Some(keep_ms), None, max), retire_games(at(now), Some(keep_ms), max)]);
            for (n, ended_at) in &matches {
                let is_there = held.reader.match_by_id(match_id(*n)).unwrap().is_some();
                assert!(is_there || !is_kept(ended_at, border), "match {n} is gone too early");
            }
            for (n, ended_at) in &games {
                let is_there = held.reader.story_game(game_id(*n, 1)).unwrap().is_some();
                assert!(is_there || !is_kept(ended_at, border), "game {n} is gone too early");
            }
            if outcomes == [Outcome::Retired(0), Outcome::Retired(0)] {
                break;
            }
        }
        matches.retain(|_, ended_at| is_kept(ended_at, border));
        games.retain(|_, ended_at| is_kept(ended_at, border));
        let left: Vec<u128> = left(&mut held);
        assert!(left.iter().eq(matches.keys()), "{left:?} are left of {matches:?}");
        for n in 1..=COUNT {
            let is_there = held.reader.story_game(game_id(n, 1)).unwrap().is_some();
            assert_eq!(is_there, games.contains_key(&n), "game {n}");
        }
    }
    assert!(matches.values().chain(games.values()).all(Option::is_none), "what is live is all that is left");
    for n in matches.keys() {
        held.is_in(*n, MatchState::Running);
        assert_eq!(held.log(*n).rows.len(), 1);
    }
}
