//! What happens to a match that is there: its writer finishes, fails or releases it, an operator cancels it or puts it back. Where
//! nodes share the database, the match's row is locked before.

use super::account_deletion::DELETED_AMONG;
use super::{Batch, Dialect, RowStatement, Value, values};
use crate::columns::{Columns, LogEnd};
use crate::contract::StoreError;
use crate::{archives, semantics};
use engine::commands::{MatchAppend, Outcome};
use engine::competitions::MatchOrigin;
use engine::ids::{AccountId, MatchId};
use engine::matches::lifecycle::{MatchEvent, MatchState};
use engine::matches::result::MatchResult;
use engine::time::UnixMs;
use rules::snake::Cause;

static SEAT_RESULTS: RowStatement = RowStatement::new(
    "match_id uuid, seat bigint, place bigint, cause text, food bigint, death bigint, outcome text",
    "UPDATE seats SET place = new.place, cause = new.cause, food_eaten = new.food, death_turn = new.death, outcome = new.outcome
     FROM {new}
     WHERE seats.match_id = new.match_id AND seats.seat = new.seat",
);

/// What a writer's commands are held against.
pub(crate) struct WriteFence {
    pub(crate) state: MatchState,
    pub(crate) account: AccountId,
    pub(crate) epoch: u32,
    pub(crate) started_at: Option<UnixMs>,
    pub(crate) origin: Option<MatchOrigin>,
    pub(crate) end: LogEnd,
}

impl WriteFence {
    /// Whether these entries may be added, and continue the log.
    pub(crate) fn check_append(&self, append: &MatchAppend) -> Result<(), Outcome> {
        semantics::check_writer(self.state, self.epoch, append.epoch)?;
        semantics::check_append(append, self.end.version)
    }
}

/// The part of each seat in a result.
fn seat_results<'v>(id: MatchId, result: &'v MatchResult) -> impl Iterator<Item = [Value<'v>; 7]> {
    let of_seat = move |(seat, place): (usize, &u8)| {
        let cause = result.causes.get(seat).copied().flatten();
        let food = result.food_eaten.get(seat).copied().unwrap_or_default();
        let death = result.death_turns.get(seat).copied().flatten();
        *values![id, seat, *place, cause.map(Cause::as_str), food, death, result.outcome(seat).name()]
    };
    result.placements.iter().enumerate().map(of_seat)
}

pub(crate) const SEAT_OWNERS: &str = "SELECT account FROM seats WHERE match_id = ?1 AND account IS NOT NULL";

impl<S: Dialect> Batch<'_, S> {
    /// Where an event of its writer leads a match, or the refusal.
    fn transition(
        &mut self,
        id: MatchId,
        event: MatchEvent,
        epoch: u32,
    ) -> Result<Result<(WriteFence, MatchState), Outcome>, StoreError> {
        let Some(held) = self.session.write_fence(id)? else { return Ok(Err(Outcome::Fenced)) };
        let next = semantics::writer_transition(held.state, held.epoch, event, epoch);
        Ok(next.map(|next| (held, next)))
    }

    /// The last entries go straight into the archive: they would never be read from the log.
    pub(crate) fn finish(
        &mut self,
        append: &MatchAppend,
        result: &MatchResult,
        archive: &[u8],
        now: UnixMs,
    ) -> Result<Outcome, StoreError> {
        let (held, next) = match self.transition(append.id, MatchEvent::Finish, append.epoch)? {
            Ok(step) => step,
            Err(refusal) => return Ok(refusal),
        };
        if let Err(refusal) = semantics::check_append(append, held.end.version) {
            return Ok(refusal);
        }
        let started_at = held.started_at.or(append.started_at);
        let version = append.expected_version as usize + append.rows.len();
        self.session.run(
            "UPDATE matches SET state = ?2, worker = NULL, updated_at = ?3, ended_at = ?3, started_at = ?4,
               version = ?5, turns = ?6, late_moves = ?7, is_draw = ?8, winner_seat = ?9, is_server_fault = ?10
             WHERE id = ?1",
            values![
                append.id,
                next.name(),
                now,
                started_at,
                version,
                result.turns,
                result.late_moves,
                result.is_draw,
                result.winner,
                result.is_server_fault,
            ],
        )?;
        self.session.run_rows(&SEAT_RESULTS, seat_results(append.id, result))?;
        let archive = archives::compressed(archive)?;
        self.session.replace_log(append.id, &archive)?;
        self.counters.record_archived(archive.len());
        self.counters.record_transition(Some(held.state), Some(next));
        self.counters.record_finished(started_at, now);
        self.record_result(append.id, held.origin, next, Some(result), now)?;
        Ok(Outcome::Done)
    }

    pub(crate) fn fail(&mut self, id: MatchId, epoch: u32, reason: &str, now: UnixMs) -> Result<Outcome, StoreError> {
        match self.transition(id, MatchEvent::Fail, epoch)? {
            Ok((held, next)) => {
                self.end_failed(id, next, reason, held.end, now)?;
                self.record_result(id, held.origin, next, None, now)?;
                Ok(Outcome::Done)
            }
            Err(refusal) => Ok(refusal),
        }
    }

    /// Ends a running match as failed; its log, which ends like this, stays as it is.
    pub(crate) fn end_failed(
        &mut self,
        id: MatchId,
        next: MatchState,
        reason: &str,
        end: LogEnd,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let reason = semantics::stored_reason(reason);
        self.session.run(
            "UPDATE matches SET state = ?2, worker = NULL, failure = ?3, updated_at = ?4, ended_at = ?4,
               version = ?5, turns = ?6, late_moves = ?7
             WHERE id = ?1",
            values![id, next.name(), &reason, now, end.version, end.turns, end.late_moves],
        )?;
        self.counters.record_transition(Some(MatchState::Running), Some(next));
        Ok(())
    }

    /// A match that was given up already stays as it is: a repeated release refunds nothing twice.
    pub(crate) fn release(&mut self, id: MatchId, epoch: u32, is_refunded: bool) -> Result<Outcome, StoreError> {
        let next = match self.transition(id, MatchEvent::Release, epoch)? {
            Ok((_, next)) => next,
            Err(refusal) => return Ok(refusal),
        };
        let held = "SELECT attempts_charged FROM matches WHERE id = ?1 AND worker IS NOT NULL";
        if let Some(charged) = self.session.first(held, values![id], |row| row.number())? {
            let charged = semantics::attempts_after_release(charged, is_refunded);
            let sql = "UPDATE matches SET state = ?2, worker = NULL, attempts_charged = ?3 WHERE id = ?1";
            self.session.run(sql, values![id, next.name(), charged])?;
        }
        Ok(Outcome::Done)
    }

    pub(crate) fn cancel(
        &mut self,
        id: MatchId,
        account: Option<AccountId>,
        now: UnixMs,
    ) -> Result<Outcome, StoreError> {
        let is_theirs = |held: &WriteFence| account.is_none_or(|account| account == held.account);
        let held = self.session.write_fence(id)?.filter(is_theirs);
        let Some(WriteFence { state, end, origin, .. }) = held else { return Ok(Outcome::NotFound) };
        let Some(next) = state.transition(MatchEvent::Cancel) else { return Ok(Outcome::WrongState(state)) };
        self.session.run(
            "UPDATE matches SET state = ?2, epoch = epoch + 1, worker = NULL, fair_tag = NULL, failure = NULL,
               updated_at = ?3, ended_at = ?3, version = ?4, turns = ?5, late_moves = ?6
             WHERE id = ?1",
            values![id, next.name(), now, end.version, end.turns, end.late_moves],
        )?;
        self.counters.record_transition(Some(state), Some(next));
        // A failed match has its result already.
        let origin = origin.filter(|_| state != MatchState::Failed);
        self.record_result(id, origin, next, None, now)?;
        Ok(Outcome::Done)
    }

    pub(crate) fn requeue(&mut self, id: MatchId, now: UnixMs) -> Result<Outcome, StoreError> {
        let held = self.session.write_fence(id)?;
        let Some(WriteFence { state, account, origin, .. }) = held else { return Ok(Outcome::NotFound) };
        let next = state.transition(MatchEvent::Requeue).filter(|_| origin.is_none());
        let Some(next) = next else { return Ok(Outcome::WrongState(state)) };
        if self.has_deleted_owner(id, account)? {
            return Ok(Outcome::OwnerDeleted);
        }
        let tag = semantics::next_fair_tag(self.virtual_time()?, self.last_tag(account)?);
        self.set_last_tag(account, tag)?;
        self.session.run(
            "UPDATE matches SET state = ?2, fair_tag = ?3, attempts_charged = 0, updated_at = ?4, enqueued_at = ?4,
               failure = NULL, ended_at = NULL, version = NULL, turns = NULL, late_moves = NULL
             WHERE id = ?1",
            values![id, next.name(), tag as i64, now],
        )?;
        self.counters.record_transition(Some(state), Some(next));
        Ok(Outcome::Done)
    }

    /// Whether the account of a match is deleted, or one whose bot has a seat.
    fn has_deleted_owner(&mut self, id: MatchId, account: AccountId) -> Result<bool, StoreError> {
        let mut owners = self.session.all(SEAT_OWNERS, values![id], |row| row.id_bytes())?;
        owners.push(account.to_bytes());
        Ok(!self.session.all_each(DELETED_AMONG, "", &owners, |_| Ok(()))?.is_empty())
    }

    /// The tag of an account's newest match in the queue.
    pub(crate) fn last_tag(&mut self, account: AccountId) -> Result<u64, StoreError> {
        let tag = "SELECT fair_tag FROM accounts WHERE id = ?1";
        Ok(self.session.first(tag, values![account], |row| row.number())?.unwrap_or_default())
    }

    pub(crate) fn set_last_tag(&mut self, account: AccountId, tag: u64) -> Result<(), StoreError> {
        self.session.run("UPDATE accounts SET fair_tag = ?2 WHERE id = ?1", values![account, tag as i64])?;
        Ok(())
    }
}
