//! How the writer of a match finishes or releases it. The match's row is locked before.

use super::appends::WriteFence;
use super::batch::Batch;
use super::session::PgId;
use super::statement_error::StatementError;
use crate::columns::LogEnd;
use crate::{archives, semantics};
use engine::commands::{MatchAppend, Outcome};
use engine::ids::MatchId;
use engine::matches::lifecycle::{MatchEvent, MatchState};
use engine::matches::result::MatchResult;
use engine::time::UnixMs;
use rules::snake::Cause;
use std::collections::BTreeSet;

impl Batch<'_> {
    /// Where an event of its writer leads a match, or the refusal.
    fn transition(
        &mut self,
        id: MatchId,
        event: MatchEvent,
        epoch: u32,
    ) -> Result<Result<(WriteFence, MatchState), Outcome>, StatementError> {
        let Some(held) = self.write_fences(&BTreeSet::from([id]))?.remove(&id) else { return Ok(Err(Outcome::Fenced)) };
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
    ) -> Result<Outcome, StatementError> {
        let (held, next) = match self.transition(append.id, MatchEvent::Finish, append.epoch)? {
            Ok(step) => step,
            Err(refusal) => return Ok(refusal),
        };
        if let Err(refusal) = semantics::check_append(append, held.end.version) {
            return Ok(refusal);
        }
        let started_at = held.started_at.or(append.started_at);
        let version = i64::from(append.expected_version) + append.rows.len() as i64;
        self.session.run(
            "UPDATE matches SET state = $2, worker = NULL, updated_at = $3, ended_at = $3, started_at = $4,
               version = $5, turns = $6, late_moves = $7, is_draw = $8, winner_seat = $9
             WHERE id = $1",
            &[
                &PgId(append.id.0),
                &next.name(),
                &now.0,
                &started_at.map(|at| at.0),
                &version,
                &i64::from(result.turns),
                &i64::from(result.late_moves),
                &result.is_draw,
                &result.winner.map(i64::from),
            ],
        )?;
        self.seat_results(append.id, result)?;
        self.archive(append.id, archive)?;
        self.counters.record_transition(Some(held.state), Some(next));
        self.counters.record_finished(started_at, now);
        Ok(Outcome::Done)
    }

    fn seat_results(&mut self, id: MatchId, result: &MatchResult) -> Result<(), StatementError> {
        let places: Vec<_> = result.placements.iter().map(|place| i64::from(*place)).collect();
        let causes: Vec<_> = result.causes.iter().map(|cause| cause.map(Cause::as_str)).collect();
        self.session.run(
            "UPDATE seats SET place = told.place, cause = told.cause
             FROM unnest($2::bigint[], $3::text[]) WITH ORDINALITY AS told (place, cause, number)
             WHERE match_id = $1 AND seat = told.number - 1",
            &[&PgId(id.0), &places, &causes],
        )?;
        Ok(())
    }

    fn archive(&mut self, id: MatchId, archive: &[u8]) -> Result<(), StatementError> {
        let archive = archives::compressed(archive)?;
        self.session.run(
            "WITH emptied AS (DELETE FROM match_log WHERE match_id = $1)
             INSERT INTO match_archive (match_id, data) VALUES ($1, $2)",
            &[&PgId(id.0), &&*archive],
        )?;
        self.counters.record_archived(archive.len());
        Ok(())
    }

    pub(super) fn fail(
        &mut self,
        id: MatchId,
        epoch: u32,
        reason: &str,
        now: UnixMs,
    ) -> Result<Outcome, StatementError> {
        match self.transition(id, MatchEvent::Fail, epoch)? {
            Ok((held, next)) => {
                self.end_failed(id, next, reason, held.end, now)?;
                Ok(Outcome::Done)
            }
            Err(refusal) => Ok(refusal),
        }
    }

    /// Ends a running match as failed; its log, which ends like this, stays as it is.
    pub(super) fn end_failed(
        &mut self,
        id: MatchId,
        next: MatchState,
        reason: &str,
        end: LogEnd,
        now: UnixMs,
    ) -> Result<(), StatementError> {
        self.session.run(
            "UPDATE matches SET state = $2, worker = NULL, failure = $3, updated_at = $4, ended_at = $4,
               version = $5, turns = $6, late_moves = $7
             WHERE id = $1",
            &[
                &PgId(id.0),
                &next.name(),
                &semantics::stored_reason(reason),
                &now.0,
                &i64::from(end.version),
                &i64::from(end.turns),
                &i64::from(end.late_moves),
            ],
        )?;
        self.counters.record_transition(Some(MatchState::Running), Some(next));
        Ok(())
    }

    /// A match that was given up already stays as it is: a repeated release refunds nothing twice.
    pub(super) fn release(&mut self, id: MatchId, epoch: u32, is_refunded: bool) -> Result<Outcome, StatementError> {
        let next = match self.transition(id, MatchEvent::Release, epoch)? {
            Ok((_, next)) => next,
            Err(refusal) => return Ok(refusal),
        };
        let of_somebody = "SELECT attempts_charged FROM matches WHERE id = $1 AND worker IS NOT NULL";
        let charged = self.session.first(of_somebody, &[&PgId(id.0)], |row| crate::columns::Columns::number(row))?;
        if let Some(charged) = charged {
            let charged = i64::from(semantics::attempts_after_release(charged, is_refunded));
            let sql = "UPDATE matches SET state = $2, worker = NULL, attempts_charged = $3 WHERE id = $1";
            self.session.run(sql, &[&PgId(id.0), &next.name(), &charged])?;
        }
        Ok(Outcome::Done)
    }
}
