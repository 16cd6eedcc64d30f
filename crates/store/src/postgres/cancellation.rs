//! Cancelling and requeueing: what happens to a match from outside. Its row is locked before.

use super::batch::Batch;
use super::session::PgId;
use super::statement_error::StatementError;
use crate::columns::{self, Columns};
use crate::semantics;
use engine::commands::Outcome;
use engine::ids::{AccountId, MatchId};
use engine::matches::lifecycle::{MatchEvent, MatchState};
use engine::time::UnixMs;

impl Batch<'_> {
    pub(super) fn cancel(
        &mut self,
        id: MatchId,
        account: Option<AccountId>,
        now: UnixMs,
    ) -> Result<Outcome, StatementError> {
        let is_theirs = |known: &(MatchState, AccountId)| account.is_none_or(|account| account == known.1);
        let Some((state, _)) = self.match_owner(id)?.filter(is_theirs) else { return Ok(Outcome::NotFound) };
        let Some(next) = state.transition(MatchEvent::Cancel) else { return Ok(Outcome::WrongState(state)) };
        self.session.run(
            "UPDATE matches SET state = $2, epoch = matches.epoch + 1, worker = NULL, fair_tag = NULL, failure = NULL,
               updated_at = $3, ended_at = $3, version = now.version, turns = now.turns, late_moves = now.late_moves
             FROM matches_now AS now WHERE matches.id = $1 AND now.id = $1",
            &[&PgId(id.0), &next.name(), &now.0],
        )?;
        self.counters.record_transition(Some(state), Some(next));
        Ok(Outcome::Done)
    }

    pub(super) fn requeue(&mut self, id: MatchId, now: UnixMs) -> Result<Outcome, StatementError> {
        let Some((state, account)) = self.match_owner(id)? else { return Ok(Outcome::NotFound) };
        let Some(next) = state.transition(MatchEvent::Requeue) else { return Ok(Outcome::WrongState(state)) };
        let last_tag = "SELECT fair_tag FROM accounts WHERE id = $1";
        let last_tag = self.session.first(last_tag, &[&PgId(account.0)], |row| row.number())?;
        let tag = semantics::next_fair_tag(self.virtual_time()?, last_tag.unwrap_or_default()) as i64;
        self.session.run("UPDATE accounts SET fair_tag = $2 WHERE id = $1", &[&PgId(account.0), &tag])?;
        self.session.run(
            "UPDATE matches SET state = $2, fair_tag = $3, attempts_charged = 0, updated_at = $4, enqueued_at = $4,
               failure = NULL, ended_at = NULL, version = NULL, turns = NULL, late_moves = NULL
             WHERE id = $1",
            &[&PgId(id.0), &next.name(), &tag, &now.0],
        )?;
        self.counters.record_transition(Some(state), Some(next));
        Ok(Outcome::Done)
    }

    fn match_owner(&mut self, id: MatchId) -> Result<Option<(MatchState, AccountId)>, StatementError> {
        let sql = "SELECT state, account FROM matches WHERE id = $1";
        self.session.first(sql, &[&PgId(id.0)], |row| Ok((columns::state(row)?, AccountId(row.id()?))))
    }
}
