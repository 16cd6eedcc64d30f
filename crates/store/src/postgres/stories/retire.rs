//! Deletes old games, and tables without games, a little at a time. What another node holds is left for the next call.

use crate::columns::Columns;
use crate::contract::StoreError;
use crate::postgres::Batch;
use crate::postgres::session::PgId;
use engine::commands::Outcome;
use engine::time::UnixMs;
use std::time::Duration;

/// Ended games, oldest end first, with their tables, which may be bare without them.
pub(super) const OLDEST: &str = "
    SELECT g.table_id, g.number FROM story_games g JOIN story_tables t ON t.id = g.table_id
    WHERE g.ended_at < $1 ORDER BY g.ended_at, g.table_id, g.number LIMIT $2 FOR UPDATE SKIP LOCKED";
/// Tables without games that are not live, have no owner, and were not used again. `EXISTS` could become a join that
/// reads all games.
pub(super) const BARE: &str = "
    SELECT t.id FROM story_tables t
    LEFT JOIN workers w ON w.id = t.worker AND w.lease_until > $1 AND NOT w.is_given_up
    WHERE t.is_bare AND NOT t.is_live AND w.id IS NULL
      AND (SELECT true FROM story_games g WHERE g.table_id = t.id ORDER BY g.number LIMIT 1) IS NULL
    ORDER BY t.id LIMIT $2 FOR UPDATE OF t SKIP LOCKED";
/// Tables that had no games and are used again. Without a value PostgreSQL would keep its plan, whatever the session's
/// setting.
pub(super) const USED_AGAIN: &str = "
    SELECT id FROM story_tables t
    WHERE is_bare AND (SELECT true FROM story_games g WHERE g.table_id = t.id ORDER BY g.number LIMIT 1)
    ORDER BY id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED";

impl Batch<'_> {
    pub(in crate::postgres) fn retire_games(
        &mut self,
        now: UnixMs,
        keep_for: Option<Duration>,
        max: usize,
    ) -> Result<Outcome, StoreError> {
        self.retire_keys("story_answers", "player", now)?;
        let Some(keep_for) = keep_for else { return Ok(Outcome::Retired(0)) };
        let oldest = self
            .session
            .query(OLDEST, &[&now.minus(keep_for).0, &(max as i64)], |row| Ok((row.id().map(PgId)?, row.int()?)))?;
        let (tables, numbers): (Vec<_>, Vec<_>) = oldest.into_iter().unzip();
        self.forget_games(&tables, &numbers)?;
        self.forget_bare_tables(now, max)?;
        Ok(Outcome::Retired(tables.len()))
    }

    fn forget_games(&mut self, tables: &Vec<PgId>, numbers: &Vec<i64>) -> Result<(), StoreError> {
        if tables.is_empty() {
            return Ok(());
        }
        for table in ["story_records", "story_seats", "story_games"] {
            let sql = format!(
                "DELETE FROM {table} AS t USING unnest($1::uuid[], $2::bigint[]) AS old (table_id, number)
                 WHERE t.table_id = old.table_id AND t.number = old.number"
            );
            self.session.execute(&sql, &[tables, numbers])?;
        }
        self.session.execute(
            "UPDATE story_tables SET is_bare = true
             WHERE id = ANY ($1) AND NOT EXISTS (SELECT 1 FROM story_games WHERE table_id = id)",
            &[tables],
        )?;
        Ok(())
    }

    fn forget_bare_tables(&mut self, now: UnixMs, max: usize) -> Result<(), StoreError> {
        let used = self.session.query(USED_AGAIN, &[&(max as i64)], |row| row.id().map(PgId))?;
        if !used.is_empty() {
            self.session.execute("UPDATE story_tables SET is_bare = false WHERE id = ANY ($1)", &[&used])?;
        }
        let bare = self.session.query(BARE, &[&now.0, &(max as i64)], |row| row.id().map(PgId))?;
        if !bare.is_empty() {
            self.session.execute("DELETE FROM story_log WHERE table_id = ANY ($1)", &[&bare])?;
            self.session.execute("DELETE FROM story_bases WHERE table_id = ANY ($1)", &[&bare])?;
            self.session.execute("DELETE FROM story_tables WHERE id = ANY ($1)", &[&bare])?;
        }
        Ok(())
    }
}
