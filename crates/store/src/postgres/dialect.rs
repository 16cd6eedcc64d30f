//! What PostgreSQL says or does in its own way.

use super::appends::write_fences;
use super::session::{Session, arrays};
use crate::checksums::Damage;
use crate::columns::{self, Columns, LogEnd};
use crate::contract::StoreError;
use crate::sql::matches::WriteFence;
use crate::sql::reader::SqlReader;
use crate::sql::{Dialect, IdBytes, RowStatement, Session as _, Value, values};
use engine::ids::MatchId;
use engine::rows::MatchStatus;
use engine::time::UnixMs;
use std::collections::{BTreeMap, BTreeSet};

static LOG_ENDS: RowStatement = RowStatement::new(
    "id uuid",
    "SELECT new.id, last.version, last.turns, last.late_moves FROM {new} CROSS JOIN LATERAL (
         SELECT version, turns, late_moves FROM match_log WHERE match_id = new.id ORDER BY version DESC LIMIT 1) AS last",
);

/// A record of nothing in the write-ahead log: it must reach the disk, and leaves no row behind.
const PROBE: &str = "SELECT pg_logical_emit_message(true, 'gauntlet', 'probe')::text";

impl Dialect for Session {
    const JOIN_IN_ORDER: &'static str = "JOIN";
    const MATCHES: &'static str = "matches_now";
    const BY_BYTES: &'static str = r#"COLLATE "C""#;
    const HAS_ROW_LOCKS: bool = true;

    fn is_set(flag: &str) -> String {
        flag.to_owned()
    }

    fn log_ends(&mut self, ids: &[IdBytes]) -> Result<BTreeMap<MatchId, LogEnd>, StoreError> {
        let ids = ids.iter().map(|id| *values![*id]);
        let ends = self.all_rows(&LOG_ENDS, ids, |row| Ok((MatchId(row.id()?), columns::log_end(row)?)))?;
        Ok(ends.into_iter().collect())
    }

    fn write_fence(&mut self, id: MatchId) -> Result<Option<WriteFence>, StoreError> {
        Ok(write_fences(self, &BTreeSet::from([id]))?.remove(&id))
    }

    fn end_seats<'v>(
        &mut self,
        games: impl Iterator<Item = [Value<'v>; 2]>,
        won: impl Iterator<Item = [Value<'v>; 3]>,
    ) -> Result<(), StoreError> {
        let (games, won) = (arrays(games), arrays(won));
        if games[0].is_empty() {
            return Ok(());
        }
        self.execute(
            "UPDATE story_seats AS s SET is_ended = true, is_won = won.player IS NOT NULL
             FROM unnest($1::uuid[], $2::bigint[]) AS ended (table_id, number)
             JOIN story_seats AS seat USING (table_id, number)
             LEFT JOIN unnest($3::uuid[], $4::bigint[], $5::uuid[]) AS won (table_id, number, player)
               ON won.table_id = seat.table_id AND won.number = seat.number AND won.player = seat.player
             WHERE s.table_id = seat.table_id AND s.number = seat.number AND s.player = seat.player",
            games.iter().chain(&won).collect::<Vec<_>>(),
        )?;
        Ok(())
    }

    fn replace_log(&mut self, id: MatchId, archive: &[u8]) -> Result<(), StoreError> {
        self.run(
            "WITH emptied AS (DELETE FROM match_log WHERE match_id = ?1)
             INSERT INTO match_archive (match_id, data, checksum) VALUES (?1, ?2, ?3)",
            values![id, archive, columns::match_archive(id).checksum(archive)],
        )?;
        Ok(())
    }
}

impl SqlReader for Session {
    type Session = Self;

    fn session(&mut self) -> &mut Self {
        self
    }

    fn statuses(session: &mut Self, ids: &[MatchId]) -> Result<Vec<Result<MatchStatus, Damage>>, StoreError> {
        let ids: Vec<Value<'_>> = ids.iter().copied().map(Value::from).collect();
        let sql = format!(
            "SELECT {} FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (asked_id, place)
             JOIN matches_now ON id = asked_id ORDER BY place",
            columns::STATUS
        );
        session.query(&sql, [&ids], |row| columns::damage_of(columns::status(row).map(|(status, _)| status)))
    }

    fn take_damages(&mut self) -> Vec<Damage> {
        std::mem::take(&mut self.damages)
    }

    fn database_time(&mut self) -> Result<Option<UnixMs>, StoreError> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        self.first(sql, &[], |row| row.time())
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.first(PROBE, &[], |_| Ok(()))?;
        Ok(())
    }
}
