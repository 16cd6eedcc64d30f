//! How matches are created, and idempotency.

use crate::fixtures::*;
use engine::commands::{Command, Outcome};
use engine::limits::{BULK_GAMES_MAX, IDEMPOTENCY_RETENTION, MATCHES_WAITING_PER_ACCOUNT_MAX};
use engine::matches::lifecycle::MatchState;
use engine::rows::{MatchRow, MatchStatus};
use store::{Database, MatchFilter};

/// What becomes of a bot later changes nothing about whose its seats were.
pub(crate) fn a_seat_keeps_the_account_of_its_bot(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::EnsureAccount(account(2)), Outcome::Account(account_id(2)));
    // Match 3 seats bots 1 and 2.
    held.assert_outcome(Command::CreateBot(bot(1, 2)), Outcome::Done);
    held.assert_outcome(create(1, [3], at(0)), Outcome::Done);
    held.assert_outcome(Command::DeleteBot { id: bot_id(1), account: account_id(2) }, Outcome::Done);
    let row = held.reader.match_by_id(match_id(3)).unwrap().unwrap();
    assert_eq!(row.seat_accounts, [Some(account_id(2)), None]);
    // A bot that is not registered is called on behalf of the account that plays.
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    let claimed = held.claimed(claim(1, at(1), 9));
    assert_eq!(claimed[0].seat_accounts, [account_id(2), account_id(1)]);
}

pub(crate) fn a_match_is_read_back_as_it_was_created(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(1, [1, 2], at(5)), Outcome::Done);
    let status = MatchStatus {
        id: match_id(2),
        state: MatchState::Waiting,
        created_at: at(5),
        updated_at: at(5),
        enqueued_at: at(5),
        started_at: None,
        ended_at: None,
        turns: 0,
        late_moves: 0,
        version: 0,
        attempts_charged: 0,
        epoch: 0,
        failure: None,
        worker: None,
        node: None,
    };
    let want =
        MatchRow { spec: spec(2), account: account_id(1), seat_accounts: vec![None, None], status, result: None };
    assert_eq!(held.reader.match_by_id(match_id(2)), Ok(Some(want)));
    assert_eq!(held.reader.match_by_id(match_id(3)), Ok(None));
    assert_eq!(held.log(2).rows, []);
}

pub(crate) fn creation_is_all_or_none(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(7, [1], at(0)), Outcome::NotFound);
    held.assert_outcome(create(1, [1, 2, 1], at(0)), Outcome::Duplicate);
    held.assert_outcome(create(1, [3], at(0)), Outcome::Done);
    held.assert_outcome(create(1, [4, 3], at(0)), Outcome::Duplicate);
    held.assert_outcome(create(1, [], at(0)), Outcome::Done);
    assert_eq!(held.listed(&MatchFilter { limit: 10, ..MatchFilter::default() }), [3]);
    assert_eq!(held.stats(at(0)).created.last_hour, 1);
    assert_eq!(held.stats(at(0)).counts.waiting, 1);
}

pub(crate) fn a_key_repeats_its_answer(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    assert_eq!(held.reader.idempotent_response(account_id(1), "k"), Ok(None));
    held.assert_outcome(create_with_key("k", 1, [1], at(0)), Outcome::Done);
    held.assert_outcome(create_with_key("k", 1, [2], at(1)), Outcome::Replayed(vec![1, 1, 2]));
    held.assert_outcome(create_with_key("k", 2, [3], at(1)), Outcome::KeyReused);
    held.assert_outcome(create_with_key("K", 2, [4], at(1)), Outcome::Done);
    held.assert_outcome(create_with_key("refused", 3, [4], at(1)), Outcome::Duplicate);
    assert_eq!(held.listed(&MatchFilter { limit: 10, ..MatchFilter::default() }), [4, 1]);
    assert_eq!(held.reader.idempotent_response(account_id(1), "k"), Ok(Some(([1; 32], vec![1, 1, 2]))));
    assert_eq!(held.reader.idempotent_response(account_id(2), "k"), Ok(None));
    assert_eq!(held.reader.idempotent_response(account_id(1), "refused"), Ok(None), "a refusal is not an answer");
    let both = held.commit(&[create_with_key("twice", 5, [5], at(2)), create_with_key("twice", 5, [6], at(2))]);
    assert_eq!(both, [Outcome::Done, Outcome::Replayed(vec![5, 1, 2])], "also within one batch");
}

pub(crate) fn a_key_is_forgotten_in_time(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let kept_ms = IDEMPOTENCY_RETENTION.as_millis() as i64;
    held.assert_outcome(create_with_key("k", 1, [1], at(0)), Outcome::Done);
    held.assert_outcome(create_with_key("k", 1, [2], at(kept_ms - 1)), Outcome::Replayed(vec![1, 1, 2]));
    held.assert_outcome(create_with_key("k", 2, [3], at(kept_ms)), Outcome::Done);
    held.assert_outcome(create_with_key("k", 2, [4], at(kept_ms + 1)), Outcome::Replayed(vec![2, 1, 2]));
    held.assert_outcome(crate::retire::call(at(2 * kept_ms - 1), None, None, 10), Outcome::Retired(0));
    assert!(held.reader.idempotent_response(account_id(1), "k").is_ok_and(|answer| answer.is_some()));
    held.assert_outcome(crate::retire::call(at(2 * kept_ms), None, None, 10), Outcome::Retired(0));
    assert_eq!(held.reader.idempotent_response(account_id(1), "k"), Ok(None));
}

/// A creation is refused as a whole; its key stands for nothing, and other accounts may go on.
pub(crate) fn an_account_has_limited_matches_waiting(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::EnsureAccount(account(2)), Outcome::Account(account_id(2)));
    let max = MATCHES_WAITING_PER_ACCOUNT_MAX as u128;
    let mut batches: Vec<_> =
        (0..max - 1).step_by(1_000).map(|n| create(1, n..(n + 1_000).min(max - 1), at(0))).collect();
    batches.push(create(1, [max, max + 1], at(0)));
    batches.push(create(1, [max], at(0)));
    batches.push(create_with_key("key", 1, [max + 2], at(0)));
    batches.push(create(2, [max + 3], at(0)));
    let outcomes: Vec<Outcome> = batches.into_iter().map(|create| held.commit_one(create)).collect();
    let last = &outcomes[outcomes.len() - 4..];
    assert_eq!(last, [Outcome::LimitReached, Outcome::Done, Outcome::LimitReached, Outcome::Done]);
    // What no longer waits, leaves room.
    held.assert_outcome(cancel(7, at(1)), Outcome::Done);
    held.assert_outcome(create_with_key("key", 1, [max + 2], at(1)), Outcome::Done);
    held.assert_outcome(create(1, [max + 4], at(1)), Outcome::LimitReached);
}

pub(crate) fn a_thousand_matches_are_one_command(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let all = BULK_GAMES_MAX as u128;
    held.assert_outcome(create(1, 1..=all, at(0)), Outcome::Done);
    assert_eq!(held.stats(at(0)).counts.waiting, all as u64);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    let claimed = held.claimed(claim(1, at(0), 2 * BULK_GAMES_MAX));
    assert!(claimed.iter().map(|claimed| claimed.spec.clone()).eq((1..=all).map(spec)), "all, whole, in order");
    assert_eq!(held.stats(at(0)).counts.running, all as u64);
}
