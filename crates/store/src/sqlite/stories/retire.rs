//! Deletes old games, and tables without games, a little at a time.

use crate::columns::Columns;
use crate::contract::StoreError;
use crate::sql::{IdBytes, Session as _, values};
use crate::sqlite::Batch;
use engine::commands::Outcome;
use engine::time::UnixMs;
use std::time::Duration;

/// Ended games, oldest end first.
pub(super) const OLDEST: &str = "
    SELECT table_id, number FROM story_games WHERE ended_at < ?1 ORDER BY ended_at, table_id, number LIMIT ?2";
/// A table whose last game was deleted.
pub(super) const MARK_BARE: &str = "
    UPDATE story_tables SET is_bare = 1
    WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM story_games WHERE table_id = ?1)";
/// Tables that were bare and are used again.
pub(super) const UNMARK: &str = "
    UPDATE story_tables SET is_bare = 0
    WHERE is_bare = 1 AND EXISTS (SELECT 1 FROM story_games WHERE table_id = story_tables.id)";
/// Tables without games that are not live and have no owner.
pub(super) const BARE: &str = "
    SELECT t.id FROM story_tables t
    LEFT JOIN workers w ON w.id = t.worker AND w.lease_until > ?1 AND NOT w.is_given_up
    WHERE t.is_bare = 1 AND NOT t.is_live AND w.id IS NULL ORDER BY t.id LIMIT ?2";

impl Batch<'_> {
    pub(in crate::sqlite) fn retire_games(
        &mut self,
        now: UnixMs,
        keep_for: Option<Duration>,
        max: usize,
    ) -> Result<Outcome, StoreError> {
        self.retire_keys("story_answers", "player", now)?;
        let Some(keep_for) = keep_for else { return Ok(Outcome::Retired(0)) };
        let ended = values![now.minus(keep_for), max];
        let oldest = self.session.all(OLDEST, ended, |row| Ok((row.id_bytes()?, row.int()?)))?;
        for game in &oldest {
            self.forget_game(*game)?;
        }
        self.forget_bare_tables(now, max)?;
        Ok(Outcome::Retired(oldest.len()))
    }

    fn forget_game(&mut self, (table, number): (IdBytes, i64)) -> Result<(), StoreError> {
        self.session.run("DELETE FROM story_records WHERE table_id = ?1 AND number = ?2", values![table, number])?;
        self.session.run("DELETE FROM story_seats WHERE table_id = ?1 AND number = ?2", values![table, number])?;
        self.session.run("DELETE FROM story_games WHERE table_id = ?1 AND number = ?2", values![table, number])?;
        self.session.run(MARK_BARE, values![table])?;
        Ok(())
    }

    fn forget_bare_tables(&mut self, now: UnixMs, max: usize) -> Result<(), StoreError> {
        self.session.run(UNMARK, &[])?;
        let bare = self.session.all(BARE, values![now, max], |row| row.id_bytes())?;
        self.session.run_each("DELETE FROM story_log WHERE table_id", &bare, &[])?;
        self.session.run_each("DELETE FROM story_bases WHERE table_id", &bare, &[])?;
        self.session.run_each("DELETE FROM story_tables WHERE id", &bare, &[])?;
        Ok(())
    }
}
