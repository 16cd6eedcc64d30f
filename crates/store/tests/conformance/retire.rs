//! Deletion: by age, by size, a little at a time, and never what is live.

use crate::fixtures::*;
use engine::commands::{Command, Outcome};
use engine::time::UnixMs;
use std::time::Duration;
use store::{Database, MatchFilter, MatchList};

pub(crate) fn call(now: UnixMs, keep_for_ms: Option<u64>, keep_archive_bytes: Option<u64>, max: usize) -> Command {
    Command::RetireMatches { now, keep_for: keep_for_ms.map(Duration::from_millis), keep_archive_bytes, max }
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
