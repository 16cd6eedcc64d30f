//! What the writer of a match may do: append to its log, finish it, release it. Every statement carries the fences.

use super::batch::Batch;
use crate::columns::{self, Columns};
use crate::contract::StoreError;
use crate::{archives, semantics};
use engine::commands::{MatchAppend, Outcome};
use engine::ids::MatchId;
use engine::matches::lifecycle::{MatchEvent, MatchState};
use engine::matches::result::MatchResult;
use engine::rows::MatchLogRow;
use engine::time::UnixMs;
use rules::snake::Cause;

/// Adds an entry if its match is this writer's and its log ends just before it: the fences and the write in one
/// statement. The end of the log is found by `EXISTS` and by the key, because a scalar subquery over it makes SQLite
/// compile the statement anew each time it runs (7 µs a row became 29).
pub(super) const APPEND: &str = "
    INSERT INTO match_log (match_id, version, turns, late_moves, data)
    SELECT ?1, ?2, ?3, ?4, ?5 FROM matches
    WHERE id = ?1 AND state = 'running' AND epoch = ?6
      AND (?2 = 0 OR EXISTS (SELECT 1 FROM match_log WHERE match_id = ?1 AND version = ?2 - 1))
    ON CONFLICT (match_id, version) DO NOTHING";

/// What a writer's commands are held against.
struct WriteFence {
    state: MatchState,
    epoch: u32,
    started_at: Option<UnixMs>,
}

impl Batch<'_> {
    pub(super) fn append(&mut self, append: &MatchAppend) -> Result<Outcome, StoreError> {
        if let Err(refusal) = semantics::check_append(append, append.expected_version) {
            return self.refusal(append, refusal);
        }
        let Some((first, rest)) = append.rows.split_first() else { return self.append_nothing(append) };
        if !self.add(append, first)? {
            return self.refusal(append, Outcome::Fenced);
        }
        for row in rest {
            self.add(append, row)?;
        }
        self.start(append)?;
        Ok(Outcome::Done)
    }

    fn add(&self, append: &MatchAppend, row: &MatchLogRow) -> Result<bool, StoreError> {
        let added = self
            .session
            .run(APPEND, (append.id.to_bytes(), row.version, row.turns, row.late_moves, &row.bytes, append.epoch))?;
        Ok(added == 1)
    }

    fn append_nothing(&mut self, append: &MatchAppend) -> Result<Outcome, StoreError> {
        if let Err(refusal) = self.check(append)? {
            return Ok(refusal);
        }
        self.start(append)?;
        Ok(Outcome::Done)
    }

    fn start(&self, append: &MatchAppend) -> Result<(), StoreError> {
        if let Some(started_at) = append.started_at {
            self.session.run(
                "UPDATE matches SET started_at = coalesce(started_at, ?2) WHERE id = ?1",
                (append.id.to_bytes(), started_at.0),
            )?;
        }
        Ok(())
    }

    /// The precise refusal of an append that did not happen.
    fn refusal(&self, append: &MatchAppend, otherwise: Outcome) -> Result<Outcome, StoreError> {
        Ok(self.check(append)?.err().unwrap_or(otherwise))
    }

    fn check(&self, append: &MatchAppend) -> Result<Result<(), Outcome>, StoreError> {
        let Some(held) = self.write_fence(append.id)? else { return Ok(Err(Outcome::Fenced)) };
        if let Err(refusal) = semantics::check_writer(held.state, held.epoch, append.epoch) {
            return Ok(Err(refusal));
        }
        Ok(semantics::check_append(append, self.session.log_end(append.id)?.version))
    }

    fn write_fence(&self, id: MatchId) -> Result<Option<WriteFence>, StoreError> {
        let by_id = "SELECT state, epoch, started_at FROM matches WHERE id = ?1";
        self.session.first(by_id, [id.to_bytes()], |row| {
            Ok(WriteFence { state: columns::state(row)?, epoch: row.number()?, started_at: row.maybe_time()? })
        })
    }

    /// Where an event of its writer leads a match, or the refusal.
    fn transition(
        &self,
        id: MatchId,
        event: MatchEvent,
        epoch: u32,
    ) -> Result<Result<(WriteFence, MatchState), Outcome>, StoreError> {
        let Some(held) = self.write_fence(id)? else { return Ok(Err(Outcome::Fenced)) };
        let next = semantics::writer_transition(held.state, held.epoch, event, epoch);
        Ok(next.map(|next| (held, next)))
    }

    /// The last entries go straight into the archive: they would never be read from the log.
    pub(super) fn finish(
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
        if let Err(refusal) = semantics::check_append(append, self.session.log_end(append.id)?.version) {
            return Ok(refusal);
        }
        let started_at = held.started_at.or(append.started_at);
        let id = append.id.to_bytes();
        let version = append.expected_version as usize + append.rows.len();
        self.session.run(
            "UPDATE matches SET state = ?2, worker = NULL, updated_at = ?3, ended_at = ?3, started_at = ?4,
               version = ?5, turns = ?6, late_moves = ?7, is_draw = ?8, winner_seat = ?9
             WHERE id = ?1",
            (
                id,
                next.name(),
                now.0,
                started_at.map(|at| at.0),
                version as i64,
                result.turns,
                result.late_moves,
                result.is_draw,
                result.winner,
            ),
        )?;
        self.seat_results(append.id, result)?;
        let archive = archives::compressed(archive)?;
        self.session.run("DELETE FROM match_log WHERE match_id = ?1", [id])?;
        self.session.run("INSERT INTO match_archive (match_id, data) VALUES (?1, ?2)", (id, &*archive))?;
        self.counters.record_transition(Some(held.state), Some(next));
        self.counters.record_finished(started_at, now);
        self.counters.record_archived(archive.len());
        Ok(Outcome::Done)
    }

    fn seat_results(&self, id: MatchId, result: &MatchResult) -> Result<(), StoreError> {
        for (seat, (place, cause)) in result.placements.iter().zip(&result.causes).enumerate() {
            self.session.run(
                "UPDATE seats SET place = ?3, cause = ?4 WHERE match_id = ?1 AND seat = ?2",
                (id.to_bytes(), seat as i64, place, cause.map(Cause::as_str)),
            )?;
        }
        Ok(())
    }

    pub(super) fn fail(&mut self, id: MatchId, epoch: u32, reason: &str, now: UnixMs) -> Result<Outcome, StoreError> {
        match self.transition(id, MatchEvent::Fail, epoch)? {
            Ok((_, next)) => {
                self.end_failed(id, next, reason, now)?;
                Ok(Outcome::Done)
            }
            Err(refusal) => Ok(refusal),
        }
    }

    /// Ends a running match as failed; its log stays as it is.
    pub(super) fn end_failed(
        &mut self,
        id: MatchId,
        next: MatchState,
        reason: &str,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let end = self.session.log_end(id)?;
        self.session.run(
            "UPDATE matches SET state = ?2, worker = NULL, failure = ?3, updated_at = ?4, ended_at = ?4,
               version = ?5, turns = ?6, late_moves = ?7
             WHERE id = ?1",
            (
                id.to_bytes(),
                next.name(),
                semantics::stored_reason(reason),
                now.0,
                end.version,
                end.turns,
                end.late_moves,
            ),
        )?;
        self.counters.record_transition(Some(MatchState::Running), Some(next));
        Ok(())
    }

    /// A match that was given up already stays as it is: a repeated release refunds nothing twice.
    pub(super) fn release(&mut self, id: MatchId, epoch: u32, is_refunded: bool) -> Result<Outcome, StoreError> {
        let next = match self.transition(id, MatchEvent::Release, epoch)? {
            Ok((_, next)) => next,
            Err(refusal) => return Ok(refusal),
        };
        let of_somebody = "SELECT attempts_charged FROM matches WHERE id = ?1 AND worker IS NOT NULL";
        if let Some(charged) = self.session.first(of_somebody, [id.to_bytes()], |row| row.number())? {
            self.session.run(
                "UPDATE matches SET state = ?2, worker = NULL, attempts_charged = ?3 WHERE id = ?1",
                (id.to_bytes(), next.name(), semantics::attempts_after_release(charged, is_refunded)),
            )?;
        }
        Ok(Outcome::Done)
    }
}
