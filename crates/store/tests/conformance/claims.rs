//! Fairness, leases, fencing tokens, attempts.

use crate::fixtures::*;
use crate::stories::{claim_tables, release_table};
use engine::commands::{Command, Outcome};
use engine::matches::lifecycle::MatchState;
use engine::matches::slots::SlotUsage;
use engine::time::UnixMs;
use store::Database;

pub(crate) fn a_late_comer_waits_for_a_fair_share_only(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::EnsureAccount(account(2)), Outcome::Account(account_id(2)));
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    for first in (0..5_000).step_by(1_000) {
        held.assert_outcome(create(1, first..first + 1_000, at(0)), Outcome::Done);
    }
    assert_eq!(held.claimed(claim(1, at(0), 100)).len(), 100);
    held.assert_outcome(create(2, 5_000..5_010, at(1)), Outcome::Done);
    let next = held.claimed(claim(1, at(1), 20));
    let of_late_comer = next.iter().filter(|claimed| claimed.spec.id >= match_id(5_000)).count();
    assert_eq!(of_late_comer, 10, "all ten are among the next twenty");
    assert!(next[19].spec.id >= match_id(5_000), "and they take turns to the end");
}

/// What a claim takes is what a walk through the whole queue would take.
pub(crate) fn accounts_at_their_threshold_are_passed_over(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    let accounts = 1..=6;
    for n in accounts.clone() {
        held.assert_outcome(Command::EnsureAccount(account(n)), Outcome::Account(account_id(n)));
    }
    // The first has a long queue, the others have shorter ones, and some begin later.
    let mut queue: Vec<(u128, u128)> = Vec::new();
    for (n, count) in accounts.clone().zip([300, 200, 9, 150, 1, 2]) {
        let ids = n * 1_000..n * 1_000 + count;
        held.assert_outcome(create(n, ids.clone(), at(n as i64)), Outcome::Done);
        queue.extend(ids.map(|id| (id - n * 1_000, id)));
    }
    queue.sort_unstable();
    let mut slots = SlotUsage::new(100);
    let mut running = Vec::new();
    for round in 0..120 {
        let max = [1, 3, 24, 90][round % 4];
        let mut usage = slots.clone();
        let mut want = Vec::new();
        for (_, id) in &queue {
            if want.len() < max && usage.free() > 0 && usage.admits(account_id(id / 1_000)) {
                usage.take(account_id(id / 1_000));
                want.push(*id);
            }
        }
        let claimed = held.claimed(claim_into(slots.clone(), 1, at(9), max));
        let ids: Vec<u128> = want.iter().map(|id| match_id(*id).0).collect();
        assert_eq!(claimed.iter().map(|claimed| claimed.spec.id.0).collect::<Vec<_>>(), ids, "round {round}");
        assert!(claimed.iter().zip(&want).all(|(claimed, id)| claimed.account == account_id(id / 1_000)));
        queue.retain(|(_, id)| !want.contains(id));
        slots = usage;
        running.extend(want);
        // Some end, of the first account fewer than of the others.
        for _ in 0..[0, 2, 20, 30, 1][round % 5].min(running.len()) {
            let id = running.remove(if round % 2 == 0 { 0 } else { running.len() / 2 });
            slots.release(account_id(id / 1_000));
        }
    }
    assert!(queue.len() < 100, "{} wait", queue.len());
}

pub(crate) fn orphans_need_no_share(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(create(1, 1..=8, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(0), 6)).len(), 6);
    held.assert_outcome(lease(2, at(5_000)), Outcome::Done);
    let claims = held.claimed(claim_into(SlotUsage::new(7), 2, at(5_000), 7));
    assert_eq!(claims.len(), 6, "all that were lost, and nothing that waits: {claims:?}");
    assert!(claims.iter().all(|claimed| claimed.epoch == 2));
}

pub(crate) fn an_account_keeps_its_own_order(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(create(1, [3, 1, 2], at(0)), Outcome::Done);
    held.assert_outcome(create(1, [9, 4], at(0)), Outcome::Done);
    held.assert_claims(claim(1, at(0), 4), &[(3, 1, 1), (1, 1, 1), (2, 1, 1), (9, 1, 1)]);
    held.assert_claims(claim(1, at(0), 4), &[(4, 1, 1)]);
    held.assert_claims(claim(1, at(0), 4), &[]);
}

pub(crate) fn being_requeued_is_being_last(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(create(1, [2, 3], at(0)), Outcome::Done);
    held.assert_outcome(fail(1, 1, at(1)), Outcome::Done);
    held.assert_outcome(requeue(1, at(2)), Outcome::Done);
    assert_eq!(held.status(1).enqueued_at, at(2));
    held.assert_claims(claim(1, at(2), 9), &[(2, 1, 1), (3, 1, 1), (1, 2, 1)]);
}

pub(crate) fn leases_hold_until_they_end(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(lease(1, at(4_999)), Outcome::Done);
    held.assert_outcome(lease(1, at(9_999)), Outcome::LeaseLost);
    held.assert_outcome(lease(1, at(9_998)), Outcome::Done);
    held.assert_outcome(Command::EndLease { worker: worker_id(1) }, Outcome::Done);
    held.assert_outcome(lease(1, at(9_999)), Outcome::LeaseLost);
    held.assert_outcome(lease(2, at(9_999)), Outcome::Done);
    held.assert_outcome(Command::EndLease { worker: worker_id(3) }, Outcome::Done);
}

pub(crate) fn a_worker_without_lease_claims_nothing(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(1, [1], at(0)), Outcome::Done);
    held.assert_outcome(claim(1, at(0), 1), Outcome::LeaseLost);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(claim(1, at(5_000), 1), Outcome::LeaseLost);
    held.assert_claims(claim(1, at(4_999), 0), &[]);
    held.assert_claims(claim(1, at(4_999), 1), &[(1, 1, 1)]);
}

pub(crate) fn a_claim_raises_the_epoch(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    let before = held.status(1);
    assert_eq!((before.state, before.worker, before.epoch), (MatchState::Running, Some(worker_id(1)), 1));
    held.assert_outcome(lease(2, at(5_000)), Outcome::Done);
    held.assert_claims(claim(2, at(5_000), 1), &[(1, 2, 2)]);
    let after = held.status(1);
    assert_eq!((after.worker, after.epoch, after.attempts_charged), (Some(worker_id(2)), 2, 2));
    assert_eq!(after.updated_at, before.updated_at, "it was running and still is");
    held.assert_outcome(release(1, 2, true), Outcome::Done);
    held.assert_claims(claim(2, at(5_000), 1), &[(1, 3, 2)]);
}

pub(crate) fn orphans_go_first_and_oldest_first(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(lease(2, at(0)), Outcome::Done);
    held.assert_outcome(create(1, [5, 4, 3, 2, 1], at(0)), Outcome::Done);
    held.assert_claims(claim(1, at(0), 2), &[(5, 1, 1), (4, 1, 1)]);
    held.assert_claims(claim(2, at(0), 2), &[(3, 1, 1), (2, 1, 1)]);
    held.assert_outcome(release(5, 1, false), Outcome::Done);
    held.assert_outcome(lease(3, at(5_000)), Outcome::Done);
    held.assert_claims(claim(3, at(5_000), 3), &[(2, 2, 2), (3, 2, 2), (4, 2, 2)]);
    held.assert_claims(claim(3, at(5_000), 3), &[(5, 2, 2), (1, 1, 1)]);
}

pub(crate) fn a_living_workers_matches_are_left_alone(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(lease(1, at(4_000)), Outcome::Done);
    held.assert_outcome(lease(2, at(5_000)), Outcome::Done);
    held.assert_claims(claim(2, at(5_000), 9), &[]);
    held.assert_claims(claim(1, at(5_000), 9), &[]);
}

pub(crate) fn a_lease_given_up_frees_its_matches(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(Command::EndLease { worker: worker_id(1) }, Outcome::Done);
    held.assert_outcome(lease(2, at(1)), Outcome::Done);
    held.assert_claims(claim(2, at(1), 9), &[(1, 2, 2)]);
}

pub(crate) fn all_leases_end_at_once_where_the_database_is_ours_alone(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.open_tables(&[1]);
    let nothing_holds = !database.is_shared();
    held.assert_outcome(Command::EndAllLeases, if nothing_holds { Outcome::Done } else { Outcome::SharedDatabase });
    held.assert_outcome(lease(1, at(1)), if nothing_holds { Outcome::LeaseLost } else { Outcome::Done });
    held.assert_outcome(lease(2, at(1)), Outcome::Done);
    held.assert_claims(claim(2, at(1), 9), if nothing_holds { &[(1, 2, 2)] } else { &[] });
    held.takes_tables(claim_tables(2, at(1), 9), if nothing_holds { &[(1, 2)] } else { &[] });
    // Those that come after are as good as any.
    held.assert_outcome(lease(2, at(2)), Outcome::Done);
}

pub(crate) fn a_claim_that_takes_nothing_is_not_remembered(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    let (first, first_of_tables) = (claim(1, at(0), 9), claim_tables(1, at(0), 9));
    held.assert_claims(first.clone(), &[]);
    held.takes_tables(first_of_tables.clone(), &[]);
    held.assert_outcome(create(1, [1], at(0)), Outcome::Done);
    held.open_tables(&[1]);
    held.assert_outcome(release_table(1, 1), Outcome::Done);
    held.assert_claims(first.clone(), &[(1, 1, 1)]);
    held.takes_tables(first_of_tables.clone(), &[(1, 2)]);
    // What took something is.
    held.assert_outcome(create(1, [2], at(0)), Outcome::Done);
    held.assert_claims(first, &[(1, 1, 1)]);
    held.takes_tables(first_of_tables, &[(1, 2)]);
}

/// Worker after worker takes match 1 over and dies; the moment of the next takeover.
fn lose_workers(held: &mut StoreFixture, workers: impl IntoIterator<Item = u128>) -> UnixMs {
    let mut now = at(0);
    for worker in workers {
        now = UnixMs(now.0 + 5_000);
        held.assert_outcome(lease(worker, now), Outcome::Done);
        assert_eq!(held.claimed(claim(worker, now, 1)).len(), 1, "worker {worker}");
    }
    UnixMs(now.0 + 5_000)
}

pub(crate) fn attempts_without_progress_add_up(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    let now = lose_workers(&mut held, 2..=3);
    assert_eq!(held.status(1).attempts_charged, ATTEMPTS_MAX);
    held.assert_outcome(lease(4, now), Outcome::Done);
    held.assert_claims(claim(4, now, 1), &[]);
    let status = held.status(1);
    assert_eq!((status.state, status.ended_at, status.epoch), (MatchState::Failed, Some(now), 3));
    assert!(status.failure.is_some_and(|why| why.contains("3 attempts without progress")));
    assert_eq!(status.node.as_deref(), Some("10.0.0.3:4000"), "who lost it last, not who gave it up");
}

pub(crate) fn progress_clears_the_attempts(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    let now = lose_workers(&mut held, 2..=3);
    held.assert_outcome(append(1, 3, 0, 2), Outcome::Done);
    held.assert_outcome(lease(4, now), Outcome::Done);
    let claimed = held.claimed(claim(4, now, 1));
    assert_eq!((claimed[0].attempts_charged, claimed[0].version, claimed[0].epoch), (1, 2, 4));
}

pub(crate) fn an_orphan_out_of_attempts_is_failed_and_not_counted(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    let now = lose_workers(&mut held, 2..=3);
    held.assert_outcome(create(1, [2, 3], now), Outcome::Done);
    held.assert_outcome(lease(4, now), Outcome::Done);
    held.assert_claims(claim(4, now, 2), &[(2, 1, 1), (3, 1, 1)]);
    held.is_in(1, MatchState::Failed);
    held.assert_outcome(append(1, 3, 0, 1), Outcome::Fenced);
}

pub(crate) fn a_refund_gives_the_attempt_back_once(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(release(1, 1, true), Outcome::Done);
    assert_eq!((held.status(1).attempts_charged, held.status(1).worker), (0, None));
    held.is_in(1, MatchState::Running);
    held.assert_outcome(release(1, 1, true), Outcome::Done);
    assert_eq!(held.status(1).attempts_charged, 0);
    held.assert_claims(claim(1, at(1), 1), &[(1, 2, 1)]);
    held.assert_outcome(release(1, 1, true), Outcome::Fenced);
    held.assert_outcome(release(1, 2, false), Outcome::Done);
    held.assert_outcome(release(1, 2, true), Outcome::Done);
    assert_eq!(held.status(1).attempts_charged, 1, "what was given up is not given up again");
    held.assert_claims(claim(1, at(1), 1), &[(1, 3, 2)]);
}

pub(crate) fn a_repeated_claim_takes_nothing_new(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(lease(2, at(0)), Outcome::Done);
    held.assert_outcome(create(1, 1..=6, at(0)), Outcome::Done);
    let first = claim(1, at(0), 3);
    held.assert_claims(first.clone(), &[(1, 1, 1), (2, 1, 1), (3, 1, 1)]);
    held.assert_claims(first.clone(), &[(1, 1, 1), (2, 1, 1), (3, 1, 1)]);
    held.assert_claims(claim(1, at(0), 1), &[(4, 1, 1)]);
    held.assert_outcome(append(1, 1, 0, 2), Outcome::Done);
    held.assert_outcome(cancel(2, at(1)), Outcome::Done);
    held.assert_outcome(release(3, 1, true), Outcome::Done);
    let again = held.claimed(first.clone());
    assert_eq!(
        again.iter().map(|c| (c.spec.clone(), c.version)).collect::<Vec<_>>(),
        [(spec(1), 2)],
        "what is still held"
    );
    held.assert_claims(claim(2, at(1), 2), &[(3, 2, 1), (5, 1, 1)]);
    held.assert_claims(first.clone(), &[(1, 1, 1)]);
    held.assert_outcome(Command::EndLease { worker: worker_id(1) }, Outcome::Done);
    held.assert_outcome(first, Outcome::LeaseLost);
    held.assert_outcome(lease(2, at(2)), Outcome::Done);
    held.assert_claims(claim(2, at(2), 9), &[(1, 2, 1), (4, 2, 2), (6, 1, 1)]);
}

pub(crate) fn the_node_that_held_a_match_last_is_remembered(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    #[track_caller]
    fn check(held: &mut StoreFixture, n: u128, state: MatchState, worker: Option<u128>) {
        let node = worker.map(|worker| format!("10.0.0.{worker}:4000"));
        let status = held.status(n);
        assert_eq!((status.state, status.node), (state, node.clone()), "the status of match {n}");
        let row = held.reader.match_by_id(match_id(n)).expect("the store is there").expect("the match is known");
        assert_eq!(row.status.node, node, "the row of match {n}");
    }
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(create(1, 1..=6, at(0)), Outcome::Done);
    held.assert_claims(claim(1, at(0), 5), &[(1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 1, 1), (5, 1, 1)]);
    check(&mut held, 5, MatchState::Running, Some(1));
    check(&mut held, 6, MatchState::Waiting, None);
    // However its hold on them ends.
    for ending in
        [finish(1, 1, 0, 3, at(1)), fail(2, 1, at(1)), cancel(3, at(1)), release(4, 1, false), cancel(6, at(1))]
    {
        held.assert_outcome(ending, Outcome::Done);
    }
    let afterwards = [
        (1, MatchState::Finished, Some(1)),
        (2, MatchState::Failed, Some(1)),
        (3, MatchState::Cancelled, Some(1)),
        (4, MatchState::Running, Some(1)),
        (6, MatchState::Cancelled, None),
    ];
    for (n, state, worker) in afterwards {
        check(&mut held, n, state, worker);
    }
    held.assert_outcome(requeue(2, at(2)), Outcome::Done);
    check(&mut held, 2, MatchState::Waiting, Some(1));
    // Another one takes over what the first has lost, and what waits.
    held.assert_outcome(lease(2, at(5_000)), Outcome::Done);
    check(&mut held, 5, MatchState::Running, Some(1));
    held.assert_claims(claim(2, at(5_000), 9), &[(4, 2, 2), (5, 2, 2), (2, 2, 1)]);
    for n in [2, 4, 5] {
        check(&mut held, n, MatchState::Running, Some(2));
    }
    // Matches outlive what is remembered of workers.
    held.assert_outcome(fail(5, 2, at(5_001)), Outcome::Done);
    let later = UnixMs(at(0).0 + 3 * 24 * 3_600_000);
    held.assert_outcome(crate::retire::call(later, None, None, 9), Outcome::Retired(0));
    check(&mut held, 5, MatchState::Failed, Some(2));
    check(&mut held, 4, MatchState::Running, Some(2));
    check(&mut held, 1, MatchState::Finished, Some(1));
}
