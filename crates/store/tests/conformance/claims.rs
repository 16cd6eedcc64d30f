//! Fairness, leases, fencing tokens, attempts.

use crate::fixtures::*;
use crate::stories::{claim_tables, release_table};
use engine::commands::{Command, Outcome};
use engine::matches::life::State;
use engine::time::UnixMs;
use store::Database;

pub(crate) fn a_late_comer_waits_for_a_fair_share_only(database: &dyn Database) {
    let mut held = Held::new(database);
    held.did(Command::EnsureAccount(account(2)), Outcome::AccountIs(account_id(2)));
    held.did(lease(1, at(0)), Outcome::Done);
    for first in (0..5_000).step_by(1_000) {
        held.did(create(1, first..first + 1_000, at(0)), Outcome::Done);
    }
    assert_eq!(held.claimed(claim(1, at(0), 100)).len(), 100);
    held.did(create(2, 5_000..5_010, at(1)), Outcome::Done);
    let next = held.claimed(claim(1, at(1), 20));
    let of_late_comer = next.iter().filter(|claimed| claimed.spec.id >= match_id(5_000)).count();
    assert_eq!(of_late_comer, 10, "all ten are among the next twenty");
    assert!(next[19].spec.id >= match_id(5_000), "and they take turns to the end");
}

pub(crate) fn an_account_keeps_its_own_order(database: &dyn Database) {
    let mut held = Held::new(database);
    held.did(lease(1, at(0)), Outcome::Done);
    held.did(create(1, [3, 1, 2], at(0)), Outcome::Done);
    held.did(create(1, [9, 4], at(0)), Outcome::Done);
    held.takes(claim(1, at(0), 4), &[(3, 1, 1), (1, 1, 1), (2, 1, 1), (9, 1, 1)]);
    held.takes(claim(1, at(0), 4), &[(4, 1, 1)]);
    held.takes(claim(1, at(0), 4), &[]);
}

pub(crate) fn being_requeued_is_being_last(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.did(create(1, [2, 3], at(0)), Outcome::Done);
    held.did(fail(1, 1, at(1)), Outcome::Done);
    held.did(requeue(1, at(2)), Outcome::Done);
    assert_eq!(held.status(1).enqueued_at, at(2));
    held.takes(claim(1, at(2), 9), &[(2, 1, 1), (3, 1, 1), (1, 2, 1)]);
}

pub(crate) fn leases_hold_until_they_end(database: &dyn Database) {
    let mut held = Held::new(database);
    held.did(lease(1, at(0)), Outcome::Done);
    held.did(lease(1, at(4_999)), Outcome::Done);
    held.did(lease(1, at(9_999)), Outcome::LeaseLost);
    held.did(lease(1, at(9_998)), Outcome::Done);
    held.did(Command::EndLease { worker: worker_id(1) }, Outcome::Done);
    held.did(lease(1, at(9_999)), Outcome::LeaseLost);
    held.did(lease(2, at(9_999)), Outcome::Done);
    held.did(Command::EndLease { worker: worker_id(3) }, Outcome::Done);
}

pub(crate) fn a_worker_without_lease_claims_nothing(database: &dyn Database) {
    let mut held = Held::new(database);
    held.did(create(1, [1], at(0)), Outcome::Done);
    held.did(claim(1, at(0), 1), Outcome::LeaseLost);
    held.did(lease(1, at(0)), Outcome::Done);
    held.did(claim(1, at(5_000), 1), Outcome::LeaseLost);
    held.takes(claim(1, at(4_999), 0), &[]);
    held.takes(claim(1, at(4_999), 1), &[(1, 1, 1)]);
}

pub(crate) fn a_claim_raises_the_epoch(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    let before = held.status(1);
    assert_eq!((before.state, before.worker, before.epoch), (State::Running, Some(worker_id(1)), 1));
    held.did(lease(2, at(5_000)), Outcome::Done);
    held.takes(claim(2, at(5_000), 1), &[(1, 2, 2)]);
    let after = held.status(1);
    assert_eq!((after.worker, after.epoch, after.attempts_charged), (Some(worker_id(2)), 2, 2));
    assert_eq!(after.updated_at, before.updated_at, "it was running and still is");
    held.did(release(1, 2, true), Outcome::Done);
    held.takes(claim(2, at(5_000), 1), &[(1, 3, 2)]);
}

pub(crate) fn orphans_go_first_and_oldest_first(database: &dyn Database) {
    let mut held = Held::new(database);
    held.did(lease(1, at(0)), Outcome::Done);
    held.did(lease(2, at(0)), Outcome::Done);
    held.did(create(1, [5, 4, 3, 2, 1], at(0)), Outcome::Done);
    held.takes(claim(1, at(0), 2), &[(5, 1, 1), (4, 1, 1)]);
    held.takes(claim(2, at(0), 2), &[(3, 1, 1), (2, 1, 1)]);
    held.did(release(5, 1, false), Outcome::Done);
    held.did(lease(3, at(5_000)), Outcome::Done);
    held.takes(claim(3, at(5_000), 3), &[(2, 2, 2), (3, 2, 2), (4, 2, 2)]);
    held.takes(claim(3, at(5_000), 3), &[(5, 2, 2), (1, 1, 1)]);
}

pub(crate) fn a_living_workers_matches_are_left_alone(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.did(lease(1, at(4_000)), Outcome::Done);
    held.did(lease(2, at(5_000)), Outcome::Done);
    held.takes(claim(2, at(5_000), 9), &[]);
    held.takes(claim(1, at(5_000), 9), &[]);
}

pub(crate) fn a_lease_given_up_frees_its_matches(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.did(Command::EndLease { worker: worker_id(1) }, Outcome::Done);
    held.did(lease(2, at(1)), Outcome::Done);
    held.takes(claim(2, at(1), 9), &[(1, 2, 2)]);
}

pub(crate) fn all_leases_end_at_once_where_the_database_is_ours_alone(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.open_tables(&[1]);
    let nothing_holds = !database.is_shared();
    held.did(Command::EndAllLeases, if nothing_holds { Outcome::Done } else { Outcome::Shared });
    held.did(lease(1, at(1)), if nothing_holds { Outcome::LeaseLost } else { Outcome::Done });
    held.did(lease(2, at(1)), Outcome::Done);
    held.takes(claim(2, at(1), 9), if nothing_holds { &[(1, 2, 2)] } else { &[] });
    held.takes_tables(claim_tables(2, at(1), 9), if nothing_holds { &[(1, 2)] } else { &[] });
    // Those that come after are as good as any.
    held.did(lease(2, at(2)), Outcome::Done);
}

pub(crate) fn a_claim_that_takes_nothing_is_not_remembered(database: &dyn Database) {
    let mut held = Held::new(database);
    held.did(lease(1, at(0)), Outcome::Done);
    let (first, first_of_tables) = (claim(1, at(0), 9), claim_tables(1, at(0), 9));
    held.takes(first.clone(), &[]);
    held.takes_tables(first_of_tables.clone(), &[]);
    held.did(create(1, [1], at(0)), Outcome::Done);
    held.open_tables(&[1]);
    held.did(release_table(1, 1), Outcome::Done);
    held.takes(first.clone(), &[(1, 1, 1)]);
    held.takes_tables(first_of_tables.clone(), &[(1, 2)]);
    // What took something is.
    held.did(create(1, [2], at(0)), Outcome::Done);
    held.takes(first, &[(1, 1, 1)]);
    held.takes_tables(first_of_tables, &[(1, 2)]);
}

/// Worker after worker takes match 1 over and dies; the moment of the next takeover.
fn lose_workers(held: &mut Held, workers: impl IntoIterator<Item = u128>) -> UnixMs {
    let mut now = at(0);
    for worker in workers {
        now = UnixMs(now.0 + 5_000);
        held.did(lease(worker, now), Outcome::Done);
        assert_eq!(held.claimed(claim(worker, now, 1)).len(), 1, "worker {worker}");
    }
    UnixMs(now.0 + 5_000)
}

pub(crate) fn attempts_without_progress_add_up(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    let now = lose_workers(&mut held, 2..=3);
    assert_eq!(held.status(1).attempts_charged, ATTEMPTS_MAX);
    held.did(lease(4, now), Outcome::Done);
    held.takes(claim(4, now, 1), &[]);
    let status = held.status(1);
    assert_eq!((status.state, status.ended_at, status.epoch), (State::Failed, Some(now), 3));
    assert!(status.failure.is_some_and(|why| why.contains("3 attempts without progress")));
    assert_eq!(status.node.as_deref(), Some("10.0.0.3:4000"), "who lost it last, not who gave it up");
}

pub(crate) fn progress_clears_the_attempts(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    let now = lose_workers(&mut held, 2..=3);
    held.did(append(1, 3, 0, 2), Outcome::Done);
    held.did(lease(4, now), Outcome::Done);
    let claimed = held.claimed(claim(4, now, 1));
    assert_eq!((claimed[0].attempts_charged, claimed[0].version, claimed[0].epoch), (1, 2, 4));
}

pub(crate) fn an_orphan_out_of_attempts_is_failed_and_not_counted(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    let now = lose_workers(&mut held, 2..=3);
    held.did(create(1, [2, 3], now), Outcome::Done);
    held.did(lease(4, now), Outcome::Done);
    held.takes(claim(4, now, 2), &[(2, 1, 1), (3, 1, 1)]);
    held.is_in(1, State::Failed);
    held.did(append(1, 3, 0, 1), Outcome::Fenced);
}

pub(crate) fn a_refund_gives_the_attempt_back_once(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.did(release(1, 1, true), Outcome::Done);
    assert_eq!((held.status(1).attempts_charged, held.status(1).worker), (0, None));
    held.is_in(1, State::Running);
    held.did(release(1, 1, true), Outcome::Done);
    assert_eq!(held.status(1).attempts_charged, 0);
    held.takes(claim(1, at(1), 1), &[(1, 2, 1)]);
    held.did(release(1, 1, true), Outcome::Fenced);
    held.did(release(1, 2, false), Outcome::Done);
    held.did(release(1, 2, true), Outcome::Done);
    assert_eq!(held.status(1).attempts_charged, 1, "what was given up is not given up again");
    held.takes(claim(1, at(1), 1), &[(1, 3, 2)]);
}

pub(crate) fn a_repeated_claim_takes_nothing_new(database: &dyn Database) {
    let mut held = Held::new(database);
    held.did(lease(1, at(0)), Outcome::Done);
    held.did(lease(2, at(0)), Outcome::Done);
    held.did(create(1, 1..=6, at(0)), Outcome::Done);
    let first = claim(1, at(0), 3);
    held.takes(first.clone(), &[(1, 1, 1), (2, 1, 1), (3, 1, 1)]);
    held.takes(first.clone(), &[(1, 1, 1), (2, 1, 1), (3, 1, 1)]);
    held.takes(claim(1, at(0), 1), &[(4, 1, 1)]);
    held.did(append(1, 1, 0, 2), Outcome::Done);
    held.did(cancel(2, at(1)), Outcome::Done);
    held.did(release(3, 1, true), Outcome::Done);
    let again = held.claimed(first.clone());
    assert_eq!(
        again.iter().map(|c| (c.spec.clone(), c.version)).collect::<Vec<_>>(),
        [(spec(1), 2)],
        "what is still held"
    );
    held.takes(claim(2, at(1), 2), &[(3, 2, 1), (5, 1, 1)]);
    held.takes(first.clone(), &[(1, 1, 1)]);
    held.did(Command::EndLease { worker: worker_id(1) }, Outcome::Done);
    held.did(first, Outcome::LeaseLost);
    held.did(lease(2, at(2)), Outcome::Done);
    held.takes(claim(2, at(2), 9), &[(1, 2, 1), (4, 2, 2), (6, 1, 1)]);
}

pub(crate) fn the_node_that_held_a_match_last_is_remembered(database: &dyn Database) {
    let mut held = Held::new(database);
    #[track_caller]
    fn check(held: &mut Held, n: u128, state: State, worker: Option<u128>) {
        let node = worker.map(|worker| format!("10.0.0.{worker}:4000"));
        let status = held.status(n);
        assert_eq!((status.state, status.node), (state, node.clone()), "the status of match {n}");
        let row = held.reader.match_by_id(match_id(n)).expect("the store is there").expect("the match is known");
        assert_eq!(row.status.node, node, "the row of match {n}");
    }
    held.did(lease(1, at(0)), Outcome::Done);
    held.did(create(1, 1..=6, at(0)), Outcome::Done);
    held.takes(claim(1, at(0), 5), &[(1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 1, 1), (5, 1, 1)]);
    check(&mut held, 5, State::Running, Some(1));
    check(&mut held, 6, State::Waiting, None);
    // However its hold on them ends.
    for ending in
        [finish(1, 1, 0, 3, at(1)), fail(2, 1, at(1)), cancel(3, at(1)), release(4, 1, false), cancel(6, at(1))]
    {
        held.did(ending, Outcome::Done);
    }
    let afterwards = [
        (1, State::Finished, Some(1)),
        (2, State::Failed, Some(1)),
        (3, State::Cancelled, Some(1)),
        (4, State::Running, Some(1)),
        (6, State::Cancelled, None),
    ];
    for (n, state, worker) in afterwards {
        check(&mut held, n, state, worker);
    }
    held.did(requeue(2, at(2)), Outcome::Done);
    check(&mut held, 2, State::Waiting, Some(1));
    // Another one takes over what the first has lost, and what waits.
    held.did(lease(2, at(5_000)), Outcome::Done);
    check(&mut held, 5, State::Running, Some(1));
    held.takes(claim(2, at(5_000), 9), &[(4, 2, 2), (5, 2, 2), (2, 2, 1)]);
    for n in [2, 4, 5] {
        check(&mut held, n, State::Running, Some(2));
    }
    // Matches outlive what is remembered of workers.
    held.did(fail(5, 2, at(5_001)), Outcome::Done);
    let later = UnixMs(at(0).0 + 3 * 24 * 3_600_000);
    held.did(crate::retire::call(later, None, None, 9), Outcome::Retired(0));
    check(&mut held, 5, State::Failed, Some(2));
    check(&mut held, 4, State::Running, Some(2));
    check(&mut held, 1, State::Finished, Some(1));
}
