//! Calling off and putting back: what happens to a match from outside. Its row is locked before.

use super::batch::Batch;
use super::session::{PgId, Trouble};
use crate::columns::{self, Columns};
use crate::laws;
use engine::commands::Outcome;
use engine::ids::{AccountId, MatchId};
use engine::matches::life::{Event, State};
use engine::time::UnixMs;

impl Batch<'_> {
    pub(super) fn cancel(&mut self, id: MatchId, account: Option<AccountId>, now: UnixMs) -> Result<Outcome, Trouble> {
        let is_theirs = |known: &(State, AccountId)| account.is_none_or(|account| account == known.1);
        let Some((state, _)) = self.known(id)?.filter(is_theirs) else { return Ok(Outcome::Missing) };
        let Some(next) = state.on(Event::Cancel) else { return Ok(Outcome::WrongState(state)) };
        self.session.run(
            "UPDATE matches SET state = $2, epoch = matches.epoch + 1, worker = NULL, fair_tag = NULL, failure = NULL,
               updated_at = $3, ended_at = $3, version = now.version, turns = now.turns, late_moves = now.late_moves
             FROM matches_now AS now WHERE matches.id = $1 AND now.id = $1",
            &[&PgId(id.0), &next.name(), &now.0],
        )?;
        self.tally.moved(Some(state), Some(next));
        Ok(Outcome::Done)
    }

    pub(super) fn requeue(&mut self, id: MatchId, now: UnixMs) -> Result<Outcome, Trouble> {
        let Some((state, account)) = self.known(id)? else { return Ok(Outcome::Missing) };
        let Some(next) = state.on(Event::Requeue) else { return Ok(Outcome::WrongState(state)) };
        let last_tag = "SELECT fair_tag FROM accounts WHERE id = $1";
        let last_tag = self.session.first(last_tag, &[&PgId(account.0)], |row| row.number())?;
        let tag = laws::fair_tag(self.virtual_time()?, last_tag.unwrap_or_default()) as i64;
        self.session.run("UPDATE accounts SET fair_tag = $2 WHERE id = $1", &[&PgId(account.0), &tag])?;
        self.session.run(
            "UPDATE matches SET state = $2, fair_tag = $3, attempts_charged = 0, updated_at = $4, enqueued_at = $4,
               failure = NULL, ended_at = NULL, version = NULL, turns = NULL, late_moves = NULL
             WHERE id = $1",
            &[&PgId(id.0), &next.name(), &tag, &now.0],
        )?;
        self.tally.moved(Some(state), Some(next));
        Ok(Outcome::Done)
    }

    fn known(&mut self, id: MatchId) -> Result<Option<(State, AccountId)>, Trouble> {
        let sql = "SELECT state, account FROM matches WHERE id = $1";
        self.session.first(sql, &[&PgId(id.0)], |row| Ok((columns::state(row)?, AccountId(row.id()?))))
    }
}
