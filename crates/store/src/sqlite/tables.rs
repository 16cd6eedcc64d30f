//! Opening tables and appending to their logs. Every statement that adds carries the fences.
//!
//! An ordinary append writes no row but the entry's own and those of the lists that it changes: the row of the table is
//! only read.

use super::Batch;
use crate::columns::Columns;
use crate::columns::stories::{table_entry, table_snapshot};
use crate::contract::StoreError;
use crate::semantics;
use crate::sql::remembered_keys::OF_PLAYERS;
use crate::sql::{Session as _, values};
use engine::commands::{OpenTable, Outcome, TableAppend, TableSnapshot};
use engine::ids::TableId;
use engine::rows::TableLogRow;

/// Adds an entry if its table is this writer's, its log ends just before it, and a new base (?5, or the highest number) does not
/// go back: the fences and the write in one statement, as for matches.
pub(super) const APPEND: &str = "
    INSERT INTO story_log (table_id, version, data, checksum)
    SELECT ?1, ?2, ?3, ?6 FROM story_tables
    WHERE id = ?1 AND epoch = ?4 AND base_version <= ?5
      AND (base_version = ?2 OR EXISTS (SELECT 1 FROM story_log WHERE table_id = ?1 AND version = ?2 - 1))
    ON CONFLICT (table_id, version) DO NOTHING";
/// Writes only where something changes.
pub(super) const SET_LIVE: &str = "UPDATE story_tables SET is_live = ?2 WHERE id = ?1 AND is_live <> ?2";

impl Batch<'_> {
    pub(super) fn open_table(&mut self, open: &OpenTable) -> Result<Outcome, StoreError> {
        let OpenTable { worker, now, idempotency, append } = open;
        if !self.has_lease(*worker, *now)? {
            return Ok(Outcome::LeaseLost);
        }
        let keyed = idempotency.as_ref().map(|(player, request)| (player.to_bytes(), request));
        let mut keys = self.load_keys(&OF_PLAYERS, keyed.into_iter())?;
        if let Some(outcome) = keyed.and_then(|(player, request)| keys.outcome(player, request, *now)) {
            return Ok(outcome);
        }
        let is_lawful = semantics::check_table_opening(append);
        if is_lawful.is_err() && self.has_table(append.id)? {
            return Ok(Outcome::Duplicate);
        }
        if let Err(refusal) = is_lawful {
            return Ok(refusal);
        }
        let first = append.snapshot.as_ref().map_or(0, |base| base.version);
        let added = self.session.run(
            "INSERT INTO story_tables (id, worker, epoch, base_version, is_live, is_bare) VALUES (?1, ?2, 1, ?3, ?4, ?5)
             ON CONFLICT (id) DO NOTHING",
            values![append.id, *worker, first, append.is_live, !semantics::lists_a_game(append)],
        )?;
        if added == 0 {
            return Ok(Outcome::Duplicate);
        }
        for row in append.rows.iter().filter(|row| row.version >= first) {
            self.put_table_row(append.id, row)?;
        }
        if let Some(base) = &append.snapshot {
            self.put_snapshot(append.id, base)?;
        }
        self.write_index(&[append])?;
        if let Some((player, request)) = keyed {
            keys.remember(player, request, *now);
        }
        self.write_keys(&keys)?;
        Ok(Outcome::Done)
    }

    fn has_table(&mut self, id: TableId) -> Result<bool, StoreError> {
        self.session.exists("SELECT 1 FROM story_tables WHERE id = ?1", values![id])
    }

    fn put_table_row(&mut self, id: TableId, row: &TableLogRow) -> Result<(), StoreError> {
        let add = "INSERT INTO story_log (table_id, version, data, checksum) VALUES (?1, ?2, ?3, ?4)";
        let checksum = table_entry(id, row.version).checksum(&row.bytes);
        self.session.run(add, values![id, row.version, &row.bytes, checksum])?;
        Ok(())
    }

    fn put_snapshot(&mut self, id: TableId, base: &TableSnapshot) -> Result<(), StoreError> {
        self.session.run(
            "INSERT INTO story_bases (table_id, data, checksum) VALUES (?1, ?2, ?3)
             ON CONFLICT (table_id) DO UPDATE SET data = excluded.data, checksum = excluded.checksum",
            values![id, &base.bytes, table_snapshot(id).checksum(&base.bytes)],
        )?;
        Ok(())
    }

    pub(super) fn append_table(&mut self, append: &TableAppend) -> Result<Outcome, StoreError> {
        // Against itself first: an append with gaps must not write its first entry.
        if semantics::check_table_append(append, 0, append.expected_version).is_err() {
            return self.table_refusal(append);
        }
        let Some((first, rest)) = append.rows.split_first() else { return self.append_without_rows(append) };
        let base = append.snapshot.as_ref().map_or(u32::MAX, |base| base.version);
        let checksum = table_entry(append.id, first.version).checksum(&first.bytes);
        let first = values![append.id, first.version, &first.bytes, append.epoch, base, checksum];
        let added = self.session.run(APPEND, first)?;
        if added == 0 {
            return self.table_refusal(append);
        }
        for row in rest {
            self.put_table_row(append.id, row)?;
        }
        self.write_index_and_snapshot(append)
    }

    fn append_without_rows(&mut self, append: &TableAppend) -> Result<Outcome, StoreError> {
        match self.check_table(append)? {
            Ok(()) => self.write_index_and_snapshot(append),
            Err(refusal) => Ok(refusal),
        }
    }

    /// What follows from entries that were added.
    fn write_index_and_snapshot(&mut self, append: &TableAppend) -> Result<Outcome, StoreError> {
        let id = append.id;
        if let Some(base) = &append.snapshot {
            self.put_snapshot(append.id, base)?;
            self.session
                .run("DELETE FROM story_log WHERE table_id = ?1 AND version < ?2", values![id, base.version])?;
            let moved = "UPDATE story_tables SET base_version = ?2, is_live = ?3 WHERE id = ?1";
            self.session.run(moved, values![id, base.version, append.is_live])?;
        } else {
            self.session.run(SET_LIVE, values![id, append.is_live])?;
        }
        self.write_index(&[append])?;
        Ok(Outcome::Done)
    }

    /// The precise refusal of an append that did not happen.
    fn table_refusal(&mut self, append: &TableAppend) -> Result<Outcome, StoreError> {
        Ok(self.check_table(append)?.err().unwrap_or(Outcome::Fenced))
    }

    fn check_table(&mut self, append: &TableAppend) -> Result<Result<(), Outcome>, StoreError> {
        let by_id = "SELECT epoch, base_version FROM story_tables WHERE id = ?1";
        let held = self.session.first(by_id, values![append.id], |row| Ok((row.number()?, row.number()?)))?;
        let Some((epoch, base_version)) = held else { return Ok(Err(Outcome::Fenced)) };
        if let Err(refusal) = semantics::check_table_writer(epoch, append) {
            return Ok(Err(refusal));
        }
        let last = "SELECT version FROM story_log WHERE table_id = ?1 ORDER BY version DESC LIMIT 1";
        let last = self.session.first(last, values![append.id], |row| row.number::<u32>())?;
        let have = last.map_or(base_version, |last| last.saturating_add(1));
        Ok(semantics::check_table_append(append, base_version, have))
    }

    pub(super) fn release_table(&mut self, id: TableId, epoch: u32) -> Result<Outcome, StoreError> {
        let release = "UPDATE story_tables SET worker = NULL WHERE id = ?1 AND epoch = ?2";
        let released = self.session.run(release, values![id, epoch])?;
        Ok(if released == 1 { Outcome::Done } else { Outcome::Fenced })
    }
}

/// The queries that run while games are played, by name, to inspect their plans in tests and measurements.
#[cfg(any(test, feature = "testing"))]
pub(super) fn queries() -> Vec<(&'static str, String)> {
    use super::dialect::{ENDED_SEATS, WON};
    use super::session::Session;
    use crate::sql::{game_index, game_retirement, tables};
    let own = [
        ("append", APPEND.to_owned()),
        ("live or not", SET_LIVE.to_owned()),
        ("seat", game_index::SEATS.of_one_row().to_owned()),
        ("record", game_index::RECORDS.of_one_row().to_owned()),
        ("seats of the invited", game_index::INVITED.of_one_row().to_owned()),
        ("seats at the end", ENDED_SEATS.to_owned()),
        ("seat of a winner", WON.to_owned()),
        ("remembered answer", tables::ANSWER.to_owned()),
        ("live tables of a worker", format!("{} worker IS ?1 ORDER BY id LIMIT ?2", tables::live_tables::<Session>())),
        ("load", format!("{} = ?1 ORDER BY id", tables::LOAD)),
        ("load of the log", format!("{} = ?1 ORDER BY table_id, version", tables::LOAD_ROWS)),
        ("standing", format!("{} = ?1", game_index::standings_of())),
        ("bare mark", format!("{} = ?1", game_retirement::MARK_BARE)),
    ];
    own.into_iter().chain(tables::queries::<Session>()).collect()
}
