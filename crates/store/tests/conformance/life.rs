//! The states of a match: every event in every state, and their side effects.

use crate::fixtures::*;
use engine::commands::{Command, Outcome};
use engine::limits::FAILURE_BYTES_MAX;
use engine::matches::lifecycle::{MatchEvent, MatchState};
use store::Database;

/// Match `n` in this state, with epoch 1 unless it waits or was cancelled.
fn bring_to(held: &mut StoreFixture, n: u128, state: MatchState) {
    held.assert_outcome(create(1, [n], at(0)), Outcome::Done);
    if state != MatchState::Waiting {
        held.assert_claims(claim(1, at(0), 1), &[(n, 1, 1)]);
    }
    let ending = match state {
        MatchState::Waiting | MatchState::Running => return,
        MatchState::Finished => finish(n, 1, 0, 3, at(1)),
        MatchState::Failed => fail(n, 1, at(1)),
        MatchState::Cancelled => cancel(n, at(1)),
    };
    held.assert_outcome(ending, Outcome::Done);
    held.is_in(n, state);
}

/// Whether the event happened.
fn happens(held: &mut StoreFixture, n: u128, event: MatchEvent) -> bool {
    let epoch = held.status(n).epoch;
    let command = match event {
        // By another worker, when the first one's lease has ended.
        MatchEvent::Claim => return held.claimed(claim(2, at(6_000), 1)).iter().any(|c| c.spec.id == match_id(n)),
        MatchEvent::Release => release(n, epoch, false),
        MatchEvent::Finish => finish(n, epoch, 0, 3, at(6_000)),
        MatchEvent::Fail => fail(n, epoch, at(6_000)),
        MatchEvent::Cancel => cancel(n, at(6_000)),
        MatchEvent::Requeue => requeue(n, at(6_000)),
    };
    let is_writers = matches!(event, MatchEvent::Release | MatchEvent::Finish | MatchEvent::Fail);
    let state = held.status(n).state;
    let refusal = if is_writers { Outcome::Fenced } else { Outcome::WrongState(state) };
    let outcome = held.commit_one(command);
    assert!(outcome == Outcome::Done || outcome == refusal, "{state:?} on {event:?}: {outcome:?}");
    outcome == Outcome::Done
}

pub(crate) fn every_event_in_every_state(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(lease(2, at(4_000)), Outcome::Done);
    for (row, state) in MatchState::ALL.into_iter().enumerate() {
        for (column, event) in MatchEvent::ALL.into_iter().enumerate() {
            let n = (row * 10 + column) as u128;
            bring_to(&mut held, n, state);
            let next = happens(&mut held, n, event).then(|| held.status(n).state);
            assert_eq!(next, state.transition(event), "{state:?} on {event:?}");
            let status = held.status(n);
            assert_eq!(status.ended_at.is_some(), status.state.is_ended());
            assert_eq!(status.failure.is_some(), status.state == MatchState::Failed);
            // Out of the way of the next one.
            let _ = held.commit_one(cancel(n, at(6_001)));
        }
    }
}

pub(crate) fn cancelling_fences_the_writer(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(append(1, 1, 0, 4), Outcome::Done);
    held.assert_outcome(cancel(1, at(5)), Outcome::Done);
    let status = held.status(1);
    assert_eq!((status.state, status.epoch, status.ended_at), (MatchState::Cancelled, 2, Some(at(5))));
    assert_eq!((status.version, status.turns, status.worker), (4, 3, None));
    held.assert_outcome(append(1, 1, 4, 1), Outcome::Fenced);
    held.assert_outcome(append(1, 2, 4, 1), Outcome::Fenced);
    held.assert_outcome(finish(1, 1, 4, 1, at(6)), Outcome::Fenced);
    assert_eq!(held.log(1).rows.len(), 4, "its log is kept for who was watching");
}

pub(crate) fn only_the_owner_cancels(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(1, [1, 2], at(0)), Outcome::Done);
    let by = |n, account| Command::CancelMatch { id: match_id(n), account: Some(account_id(account)), now: at(1) };
    held.assert_outcome(by(1, 2), Outcome::NotFound);
    held.assert_outcome(by(1, 1), Outcome::Done);
    held.assert_outcome(by(1, 1), Outcome::WrongState(MatchState::Cancelled));
    held.assert_outcome(cancel(2, at(1)), Outcome::Done);
    held.assert_outcome(cancel(3, at(1)), Outcome::NotFound);
    held.assert_outcome(requeue(3, at(1)), Outcome::NotFound);
}

pub(crate) fn a_failed_match_is_requeued_with_its_log(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(append(1, 1, 0, 4), Outcome::Done);
    held.assert_outcome(fail(1, 1, at(5)), Outcome::Done);
    let status = held.status(1);
    assert_eq!((status.version, status.turns, status.failure.as_deref()), (4, 3, Some("the board caught fire")));
    held.assert_outcome(requeue(1, at(6)), Outcome::Done);
    let status = held.status(1);
    assert_eq!((status.state, status.failure, status.ended_at), (MatchState::Waiting, None, None));
    assert_eq!((status.attempts_charged, status.enqueued_at, status.updated_at), (0, at(6), at(6)));
    assert_eq!((status.version, status.turns, status.started_at), (4, 3, Some(at(77))));
    let claimed = held.claimed(claim(1, at(7), 1));
    assert_eq!((claimed[0].epoch, claimed[0].version, claimed[0].attempts_charged), (2, 4, 1));
    held.assert_outcome(finish(1, 2, 4, 1, at(8)), Outcome::Done);
    assert_eq!(held.log(1).rows.len(), 5);
}

pub(crate) fn reasons_are_kept_short_and_printable(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    let reason = "ö".repeat(FAILURE_BYTES_MAX);
    held.assert_outcome(Command::FailMatch { id: match_id(1), epoch: 1, reason, now: at(1) }, Outcome::Done);
    assert_eq!(held.status(1).failure.map(|why| why.len()), Some(FAILURE_BYTES_MAX));
    held.assert_outcome(requeue(1, at(2)), Outcome::Done);
    held.assert_claims(claim(1, at(2), 1), &[(1, 2, 1)]);
    let reason = "bytes \0 of a bot".to_owned();
    held.assert_outcome(Command::FailMatch { id: match_id(1), epoch: 2, reason, now: at(3) }, Outcome::Done);
    assert_eq!(held.status(1).failure.as_deref(), Some("bytes   of a bot"));
}

pub(crate) fn a_refusal_affects_no_other_command_of_its_batch(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    let outcomes = held.commit(&[
        append(1, 1, 0, 1),
        append(1, 1, 0, 1),
        append(1, 2, 1, 1),
        create(7, [9], at(0)),
        append(1, 1, 1, 1),
        create(1, [2], at(0)),
    ]);
    let want =
        [Outcome::Done, Outcome::VersionConflict(1), Outcome::Fenced, Outcome::NotFound, Outcome::Done, Outcome::Done];
    assert_eq!(outcomes, want);
    assert_eq!(held.log(1).version, 2);
}

pub(crate) fn later_commands_see_earlier_ones(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let outcomes = held.commit(&[
        Command::EnsureAccount(account(2)),
        create(2, [1], at(0)),
        lease(1, at(0)),
        claim(1, at(0), 5),
        append(1, 1, 0, 2),
        append(1, 1, 2, 1),
        release(1, 1, true),
        claim(1, at(1), 5),
        append(1, 1, 3, 1),
        finish(1, 2, 3, 1, at(2)),
        cancel(1, at(3)),
    ]);
    assert!(matches!(&outcomes[3], Outcome::MatchesClaimed(claimed) if claimed.len() == 1));
    assert!(matches!(&outcomes[7], Outcome::MatchesClaimed(claimed) if claimed[0].version == 3));
    assert_eq!(outcomes[8..], [Outcome::Fenced, Outcome::Done, Outcome::WrongState(MatchState::Finished)]);
    assert_eq!(held.log(1).version, 4);
    assert_eq!(held.stats(at(3)).counts.finished, 1);
}
