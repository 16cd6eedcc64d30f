//! Statistics for operators.

use crate::fixtures::*;
use engine::commands::{Command, Outcome};
use engine::rows::{MatchCounts, RecentFailure, WindowCounts};
use engine::time::UnixMs;
use store::Database;

const HOUR_MS: i64 = 3_600_000;

#[track_caller]
fn check_counts(held: &mut StoreFixture, want: [u64; 5]) {
    let [waiting, running, finished, failed, cancelled] = want;
    let want = MatchCounts { waiting, running, finished, failed, cancelled };
    assert_eq!(held.stats(at(0)).counts, want);
    assert_eq!(held.reader.match_counts(), Ok(want));
}

pub(crate) fn a_new_store_says_who_made_it(database: &dyn Database) {
    drop(database.writer().unwrap());
    assert!(database.reader().unwrap().created_with().unwrap() > 0);
}

pub(crate) fn counters_follow_every_life(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    check_counts(&mut held, [0, 0, 0, 0, 0]);
    held.assert_outcome(create(1, 1..=6, at(0)), Outcome::Done);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(0), 5)).len(), 5);
    check_counts(&mut held, [1, 5, 0, 0, 0]);
    held.assert_outcome(finish(1, 1, 0, 3, at(1)), Outcome::Done);
    held.assert_outcome(fail(2, 1, at(1)), Outcome::Done);
    held.assert_outcome(fail(3, 1, at(1)), Outcome::Done);
    held.assert_outcome(cancel(4, at(1)), Outcome::Done);
    held.assert_outcome(release(5, 1, true), Outcome::Done);
    held.assert_outcome(cancel(6, at(1)), Outcome::Done);
    check_counts(&mut held, [0, 1, 1, 2, 2]);
    held.assert_outcome(requeue(2, at(2)), Outcome::Done);
    held.assert_outcome(cancel(3, at(2)), Outcome::Done);
    check_counts(&mut held, [1, 1, 1, 0, 3]);
    held.assert_outcome(crate::retire::call(at(10), Some(0), None, 100), Outcome::Retired(4));
    check_counts(&mut held, [1, 1, 0, 0, 0]);
}

pub(crate) fn windows_hold_what_is_recent(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(1, [1, 2], at(-8 * 24 * HOUR_MS)), Outcome::Done);
    held.assert_outcome(create(1, [3], at(-6 * 24 * HOUR_MS)), Outcome::Done);
    held.assert_outcome(create(1, [4, 5], at(-2 * HOUR_MS)), Outcome::Done);
    held.assert_outcome(create(1, [6], at(-HOUR_MS / 2)), Outcome::Done);
    held.assert_outcome(create(1, [7], at(0)), Outcome::Done);
    assert_eq!(held.stats(at(0)).created, WindowCounts { last_hour: 2, last_24h: 4, last_7d: 5 });
    assert_eq!(held.stats(at(2 * HOUR_MS)).created, WindowCounts { last_hour: 0, last_24h: 4, last_7d: 5 });
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(0), 9)).len(), 7);
    held.assert_outcome(finish(1, 1, 0, 2, at(-3 * HOUR_MS)), Outcome::Done);
    held.assert_outcome(finish(2, 1, 0, 2, at(0)), Outcome::Done);
    assert_eq!(held.stats(at(0)).finished, WindowCounts { last_hour: 1, last_24h: 2, last_7d: 2 });
    held.assert_outcome(crate::retire::call(at(1), Some(0), None, 9), Outcome::Retired(2));
    assert_eq!(held.stats(at(0)).finished.last_24h, 2, "what was finished stays finished when it is forgotten");
}

pub(crate) fn durations_are_of_finished_matches(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(1, 1..=4, at(0)), Outcome::Done);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(0), 4)).len(), 4);
    assert_eq!(held.stats(at(0)).duration_ms_avg, None);
    // Matches start at 77 ms.
    held.assert_outcome(finish(1, 1, 0, 2, at(77 + 100)), Outcome::Done);
    held.assert_outcome(finish(2, 1, 0, 2, at(77 + 201)), Outcome::Done);
    held.assert_outcome(fail(3, 1, at(77 + 5_000)), Outcome::Done);
    assert_eq!(held.stats(at(0)).duration_ms_avg, Some(150.5));
    held.assert_outcome(finish(4, 1, 0, 2, at(5)), Outcome::Done);
    assert_eq!(held.stats(at(0)).duration_ms_avg, Some(301.0 / 3.0), "a clock that stepped back takes no time");
    assert_eq!(held.stats(at(25 * HOUR_MS)).duration_ms_avg, None);
}

pub(crate) fn failures_are_grouped(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    // Reason r happens r times, the last time r ms after the others; twelve reasons, and one old failure of each.
    let mut n = 0;
    for reason in 1..=12_i64 {
        for time in 0..=reason {
            n += 1;
            held.assert_outcome(create(1, [n], at(0)), Outcome::Done);
            held.assert_claims(claim(1, at(0), 1), &[(n, 1, 1)]);
            let now = if time == 0 { at(-25 * HOUR_MS) } else { UnixMs(at(0).0 + reason * time) };
            let reason = format!("reason {reason}");
            held.assert_outcome(Command::FailMatch { id: match_id(n), epoch: 1, reason, now }, Outcome::Done);
        }
    }
    let failures = held.stats(at(200)).failures;
    let want = (3..=12_i64).rev().map(|reason| RecentFailure {
        count: reason as u64,
        message: format!("reason {reason}"),
        last_at: at(reason * reason),
    });
    assert!(failures.iter().cloned().eq(want), "{failures:?}");
}

pub(crate) fn orphans_are_counted(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(1, 1..=6, at(0)), Outcome::Done);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(lease(2, at(1_000)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(1_000), 3)).len(), 3);
    assert_eq!(held.claimed(claim(2, at(1_000), 2)).len(), 2);
    assert_eq!(held.stats(at(1_000)).orphaned, 0);
    held.assert_outcome(release(4, 1, true), Outcome::Done);
    assert_eq!(held.stats(at(1_000)).orphaned, 1);
    assert_eq!(held.stats(at(5_000)).orphaned, 4);
    assert_eq!(held.stats(at(6_000)).orphaned, 5);
    held.assert_outcome(Command::EndLease { worker: worker_id(2) }, Outcome::Done);
    assert_eq!(held.stats(at(1_000)).orphaned, 2);
}
