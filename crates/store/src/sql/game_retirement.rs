//! Deletes old games, and tables without games, a little at a time. What another node holds is left for the next call.

use super::{Batch, Dialect, IdBytes, RowStatement, skip_locked, values};
use crate::columns::Columns;
use crate::contract::StoreError;
use engine::commands::Outcome;
use engine::time::UnixMs;
use std::time::Duration;

static RECORDS: RowStatement = RowStatement::new(
    "table_id uuid, number bigint",
    "DELETE FROM story_records AS t USING {new} WHERE t.table_id = new.table_id AND t.number = new.number",
);
static SEATS: RowStatement = RowStatement::new(
    "table_id uuid, number bigint",
    "DELETE FROM story_seats AS t USING {new} WHERE t.table_id = new.table_id AND t.number = new.number",
);
static GAMES: RowStatement = RowStatement::new(
    "table_id uuid, number bigint",
    "DELETE FROM story_games AS t USING {new} WHERE t.table_id = new.table_id AND t.number = new.number",
);
/// Tables whose last game was deleted; the condition ends in their ids.
pub(crate) const MARK_BARE: &str = "
    UPDATE story_tables SET is_bare = true
    WHERE NOT EXISTS (SELECT 1 FROM story_games WHERE table_id = story_tables.id) AND id";

/// Ended games, oldest end first. Where nodes share the database, with their tables, which may be bare without them.
pub(crate) fn oldest<S: Dialect>() -> String {
    let tables = if S::HAS_ROW_LOCKS { "JOIN story_tables t ON t.id = g.table_id" } else { "" };
    let lock = skip_locked::<S>("FOR UPDATE");
    format!(
        "SELECT g.table_id, g.number FROM story_games g {tables}
         WHERE g.ended_at < ?1 ORDER BY g.ended_at, g.table_id, g.number LIMIT ?2 {lock}"
    )
}

/// Tables without games that are not live, have no owner, and were not used again. `EXISTS` could become a join that
/// reads all games.
pub(crate) fn bare<S: Dialect>() -> String {
    format!(
        "SELECT t.id FROM story_tables t
         LEFT JOIN workers w ON w.id = t.worker AND w.lease_until > ?1 AND NOT w.is_given_up
         WHERE {} AND NOT t.is_live AND w.id IS NULL
           AND (SELECT true FROM story_games g WHERE g.table_id = t.id ORDER BY g.number LIMIT 1) IS NULL
         ORDER BY t.id LIMIT ?2 {}",
        S::is_set("t.is_bare"),
        skip_locked::<S>("FOR UPDATE OF t")
    )
}

/// Tables that had no games and are used again. Without a value PostgreSQL would keep its plan, whatever the session's
/// setting.
pub(crate) fn used_again<S: Dialect>() -> String {
    format!(
        "SELECT id FROM story_tables
         WHERE {} AND (SELECT true FROM story_games g WHERE g.table_id = story_tables.id ORDER BY g.number LIMIT 1)
         ORDER BY id LIMIT ?1 {}",
        S::is_set("is_bare"),
        skip_locked::<S>("FOR NO KEY UPDATE")
    )
}

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn retire_games(
        &mut self,
        now: UnixMs,
        keep_for: Option<Duration>,
        max: usize,
    ) -> Result<Outcome, StoreError> {
        let Some(keep_for) = keep_for else { return Ok(Outcome::Retired(0)) };
        let ended = values![now.minus(keep_for), max];
        let oldest = self.session.all(&oldest::<S>(), ended, |row| Ok((row.id_bytes()?, row.int()?)))?;
        let games = || oldest.iter().map(|(table, number)| *values![*table, *number]);
        self.session.run_rows(&RECORDS, games())?;
        self.session.run_rows(&SEATS, games())?;
        self.session.run_rows(&GAMES, games())?;
        let tables: Vec<IdBytes> = oldest.iter().map(|(table, _)| *table).collect();
        self.session.run_each(MARK_BARE, &tables, &[])?;
        self.forget_bare_tables(now, max)?;
        Ok(Outcome::Retired(oldest.len()))
    }

    fn forget_bare_tables(&mut self, now: UnixMs, max: usize) -> Result<(), StoreError> {
        let used = self.session.all(&used_again::<S>(), values![max], |row| row.id_bytes())?;
        self.session.run_each("UPDATE story_tables SET is_bare = false WHERE id", &used, &[])?;
        let bare = self.session.all(&bare::<S>(), values![now, max], |row| row.id_bytes())?;
        self.session.run_each("DELETE FROM story_log WHERE table_id", &bare, &[])?;
        self.session.run_each("DELETE FROM story_bases WHERE table_id", &bare, &[])?;
        self.session.run_each("DELETE FROM story_tables WHERE id", &bare, &[])?;
        Ok(())
    }
}
