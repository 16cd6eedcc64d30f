//! Lists, pages, single reads.

use crate::fixtures::*;
use engine::commands::{Command, Outcome};
use engine::matches::lifecycle::MatchState;
use engine::matches::result::SeatOutcome;
use engine::rows::{EndedMatchCursor, MatchRow};
use store::{Database, MatchFilter, MatchList};

fn page(list: MatchList, before: Option<u128>, limit: usize) -> MatchFilter {
    MatchFilter { list, before: before.map(match_id), limit }
}

fn of_account(n: u128) -> MatchList {
    MatchList::OfAccount(account_id(n))
}

fn of_bot(n: u128, outcome: Option<SeatOutcome>, viewer: Option<u128>) -> MatchList {
    MatchList::OfBot { bot: bot_id(n), outcome, viewer: viewer.map(account_id) }
}

pub(crate) fn lists_are_newest_first_and_paged(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(1, [2, 5, 1, 4, 3], at(0)), Outcome::Done);
    assert_eq!(held.listed(&page(MatchList::All, None, 2)), [5, 4]);
    assert_eq!(held.listed(&page(MatchList::All, Some(4), 2)), [3, 2]);
    assert_eq!(held.listed(&page(MatchList::All, Some(2), 2)), [1]);
    assert_eq!(held.listed(&page(MatchList::All, Some(1), 2)), [0; 0]);
    assert_eq!(held.listed(&page(MatchList::All, None, 0)), [0; 0]);
}

pub(crate) fn lists_are_filtered_by_account_and_bot(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::EnsureAccount(account(2)), Outcome::Account(account_id(2)));
    // Every match seats bot 1, and bot 2, 3 or 4 by its number.
    held.assert_outcome(create(1, [1, 2, 3, 6], at(0)), Outcome::Done);
    held.assert_outcome(create(2, [4, 5, 7], at(0)), Outcome::Done);
    let rows = [
        (page(of_account(1), None, 9), vec![6, 3, 2, 1]),
        (page(of_account(2), Some(7), 1), vec![5]),
        (page(of_account(3), None, 9), vec![]),
        (page(of_bot(1, None, None), None, 3), vec![7, 6, 5]),
        (page(of_bot(2, None, None), None, 9), vec![6, 3]),
        (page(of_bot(3, None, None), Some(7), 9), vec![4, 1]),
        // Those of even numbers are public; the others are shown to those who created them.
        (page(of_bot(1, None, Some(1)), None, 9), vec![6, 4, 3, 2, 1]),
        (page(of_bot(1, None, Some(2)), None, 9), vec![7, 6, 5, 4, 2]),
        (page(of_bot(1, None, Some(3)), None, 9), vec![6, 4, 2]),
        (page(of_bot(1, None, Some(1)), Some(6), 3), vec![4, 3, 2]),
        (page(of_bot(1, None, Some(2)), Some(5), 1), vec![4]),
        (page(of_bot(3, None, Some(1)), Some(1), 9), vec![]),
        (page(of_bot(9, None, Some(1)), None, 9), vec![]),
    ];
    for (filter, want) in &rows {
        assert_eq!(held.listed(filter), *want, "{filter:?}");
    }
}

/// Bot 1 loses every finished match, and bot 2 wins those where it sits.
pub(crate) fn lists_are_filtered_by_outcome(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(1, 1..=7, at(0)), Outcome::Done);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(0), 6)).len(), 6);
    held.assert_outcome(finish(1, 1, 0, 3, at(1)), Outcome::Done);
    held.assert_outcome(finish(3, 1, 0, 3, at(2)), Outcome::Done);
    held.assert_outcome(finish(6, 1, 0, 3, at(3)), Outcome::Done);
    held.assert_outcome(fail(2, 1, at(4)), Outcome::Done);
    let mut check = |list: MatchList, before: Option<u128>, want: &[u128]| {
        let filter = page(list, before, 9);
        assert_eq!(held.listed(&filter), want, "{filter:?}");
    };
    let (won, drawn, lost) = (Some(SeatOutcome::Won), Some(SeatOutcome::Drawn), Some(SeatOutcome::Lost));
    check(of_bot(1, lost, None), None, &[6, 3, 1]);
    check(of_bot(1, lost, None), Some(6), &[3, 1]);
    // The one of an even number is public.
    check(of_bot(1, lost, Some(1)), Some(6), &[3, 1]);
    check(of_bot(1, lost, Some(2)), None, &[6]);
    check(of_bot(1, lost, Some(2)), Some(6), &[]);
    check(of_bot(1, won, None), None, &[]);
    check(of_bot(2, won, None), None, &[6, 3]);
    check(of_bot(2, won, Some(2)), None, &[6]);
    check(of_bot(2, drawn, None), None, &[]);
    check(of_bot(2, lost, None), None, &[]);
}

pub(crate) fn public_matches_are_listed_while_they_run_and_when_they_have_ended(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    // Those of even numbers are public.
    held.assert_outcome(create(1, 1..=10, at(0)), Outcome::Done);
    let numbers = |rows: Vec<MatchRow>| rows.iter().map(|row| row.spec.id.0 - 0xc000).collect::<Vec<_>>();
    assert_eq!(held.reader.running_public_matches(None, None, 9), Ok(vec![]), "none runs before it is claimed");
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(0), 8)).len(), 8);
    let mut running = |before: Option<u128>, limit: usize, want: &[u128]| {
        let rows = held.reader.running_public_matches(None, before.map(match_id), limit).unwrap();
        assert_eq!(numbers(rows), want, "{before:?} {limit}");
    };
    running(None, 9, &[8, 6, 4, 2]);
    running(Some(8), 2, &[6, 4]);
    running(Some(2), 9, &[]);
    assert_eq!(held.reader.ended_public_matches(None, None, 9), Ok(vec![]));
    held.assert_outcome(finish(6, 1, 0, 3, at(70)), Outcome::Done);
    held.assert_outcome(finish(2, 1, 0, 3, at(90)), Outcome::Done);
    held.assert_outcome(finish(3, 1, 0, 3, at(95)), Outcome::Done);
    held.assert_outcome(fail(8, 1, at(70)), Outcome::Done);
    held.assert_outcome(cancel(10, at(60)), Outcome::Done);
    assert_eq!(numbers(held.reader.running_public_matches(None, None, 9).unwrap()), [4]);
    let mut ended = |before: Option<(i64, u128)>, limit: usize, want: &[u128]| {
        let before = before.map(|(ended_at, n)| EndedMatchCursor { ended_at: at(ended_at), id: match_id(n) });
        assert_eq!(numbers(held.reader.ended_public_matches(None, before, limit).unwrap()), want, "{before:?} {limit}");
    };
    ended(None, 9, &[2, 8, 6, 10]);
    ended(Some((90, 2)), 2, &[8, 6]);
    ended(Some((70, 8)), 9, &[6, 10]);
    ended(Some((60, 10)), 9, &[]);
    held.assert_outcome(requeue(8, at(99)), Outcome::Done);
    assert_eq!(numbers(held.reader.ended_public_matches(None, None, 9).unwrap()), [2, 6, 10]);
    let listed = held.reader.ended_public_matches(None, None, 1).unwrap();
    assert_eq!(listed, [held.reader.match_by_id(match_id(2)).unwrap().unwrap()], "whole rows, with their results");
}

pub(crate) fn statuses_come_in_the_requested_order(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(1, [1, 2, 3], at(0)), Outcome::Done);
    let ids = [3, 9, 1, 3].map(match_id);
    let statuses = held.reader.statuses(&ids).expect("the store is there");
    let ids: Vec<_> = statuses.iter().map(|status| status.id).collect();
    assert_eq!(ids, [3, 1, 3].map(match_id));
    assert_eq!(held.reader.statuses(&[]), Ok(vec![]));
}

pub(crate) fn a_log_is_paged(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(append(1, 1, 0, 10), Outcome::Done);
    for state in [MatchState::Running, MatchState::Finished] {
        let mut check = |from: u32, limit: usize, want: std::ops::Range<u32>| {
            let page = held.reader.match_log(match_id(1), from, limit).expect("there").expect("known");
            assert_eq!((page.state, page.version), (state, 10));
            assert!(page.rows.into_iter().eq(want.map(entry)), "{state:?} from {from}, {limit} rows");
        };
        check(0, 3, 0..3);
        check(3, 100, 3..10);
        check(9, 1, 9..10);
        check(10, 5, 10..10);
        check(u32::MAX, 5, 0..0);
        check(4, 0, 0..0);
        if state == MatchState::Running {
            held.assert_outcome(finish(1, 1, 10, 0, at(1)), Outcome::Done);
        }
    }
    assert_eq!(held.reader.match_log(match_id(9), 0, 1), Ok(None));
}

pub(crate) fn addresses_are_those_of_living_leases(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let address = Ok(Some("10.0.0.1:4000".to_owned()));
    assert_eq!(held.reader.lease_address(worker_id(1), at(0)), Ok(None));
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.reader.lease_address(worker_id(1), at(4_999)), address);
    assert_eq!(held.reader.lease_address(worker_id(1), at(5_000)), Ok(None));
    held.assert_outcome(Command::EndLease { worker: worker_id(1) }, Outcome::Done);
    assert_eq!(held.reader.lease_address(worker_id(1), at(1)), Ok(None));
}

pub(crate) fn leases_of_one_address_are_found(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let check = |held: &mut StoreFixture, now: i64, want: &[(u128, i64)]| {
        let want = want.iter().map(|(worker, until)| (worker_id(*worker), at(*until))).collect();
        assert_eq!(held.reader.leases_at("10.0.0.1:4000", at(now)), Ok(want), "at {now}");
    };
    let renew = |worker: u128, address: &str, until: i64| Command::RenewLease {
        worker: worker_id(worker),
        address: address.to_owned(),
        now: at(0),
        until: at(until),
    };
    check(&mut held, 0, &[]);
    held.assert_outcome(renew(1, "10.0.0.1:4000", 5_000), Outcome::Done);
    held.assert_outcome(renew(2, "10.0.0.2:4000", 9_000), Outcome::Done);
    held.assert_outcome(renew(3, "10.0.0.1:4000", 6_000), Outcome::Done);
    check(&mut held, 1_000, &[(1, 5_000), (3, 6_000)]);
    check(&mut held, 5_000, &[(3, 6_000)]);
    held.assert_outcome(Command::EndLease { worker: worker_id(3) }, Outcome::Done);
    check(&mut held, 1_000, &[(1, 5_000)]);
}

pub(crate) fn a_probe_leaves_nothing(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(1, [1], at(0)), Outcome::Done);
    let before = held.stats(at(0));
    assert_eq!(held.reader.probe(), Ok(()));
    assert_eq!(held.reader.probe(), Ok(()));
    assert_eq!(held.stats(at(0)), before);
    held.assert_outcome(create(1, [2], at(0)), Outcome::Done);
}

pub(crate) fn the_clock_of_the_database_goes_forward(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let (first, second) = (held.reader.database_time().unwrap(), held.reader.database_time().unwrap());
    assert_eq!(first.is_some(), database.is_shared(), "who is alone needs no clock but his own");
    assert!(first <= second);
}
