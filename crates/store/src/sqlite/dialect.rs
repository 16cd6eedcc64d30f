//! What SQLite says or does in its own way: row by row, because a statement costs no round trip.

use super::session::Session;
use crate::columns::{self, Columns, LogEnd};
use crate::contract::StoreError;
use crate::sql::matches::WriteFence;
use crate::sql::{Dialect, IdBytes, Session as _, Value, values};
use engine::ids::{AccountId, MatchId};
use std::collections::BTreeMap;

pub(super) const ENDED_SEATS: &str = "
    UPDATE story_seats SET is_ended = 1, is_won = 0 WHERE table_id = ?1 AND number = ?2";
pub(super) const WON: &str = "
    UPDATE story_seats SET is_won = 1 WHERE table_id = ?1 AND number = ?2 AND player = ?3";

/// The counters after the last entry of a live log.
pub(super) fn log_end(session: &mut Session, id: MatchId) -> Result<LogEnd, StoreError> {
    let last = "SELECT version, turns, late_moves FROM match_log WHERE match_id = ?1 ORDER BY version DESC LIMIT 1";
    Ok(session.first(last, values![id], |row| columns::log_end(row))?.unwrap_or_default())
}

impl Dialect for Session {
    const JOIN_IN_ORDER: &'static str = "CROSS JOIN";
    const MATCHES: &'static str = "matches";
    const BY_BYTES: &'static str = "COLLATE BINARY";
    const HAS_ROW_LOCKS: bool = false;

    fn is_set(flag: &str) -> String {
        format!("{flag} = 1")
    }

    fn log_ends(&mut self, ids: &[IdBytes]) -> Result<BTreeMap<MatchId, LogEnd>, StoreError> {
        let ids = ids.iter().map(|id| MatchId(u128::from_be_bytes(*id)));
        ids.map(|id| Ok((id, log_end(self, id)?))).collect()
    }

    fn write_fence(&mut self, id: MatchId) -> Result<Option<WriteFence>, StoreError> {
        let end = log_end(self, id)?;
        let by_id = "SELECT state, account, epoch, started_at, competition_kind, competition, competition_key FROM matches WHERE id = ?1";
        let held = self.first(by_id, values![id], |row| {
            let (state, account) = (columns::state(row)?, AccountId(row.id()?));
            let (epoch, started_at) = (row.number()?, row.maybe_time()?);
            Ok(WriteFence { state, account, epoch, started_at, origin: columns::origin(row)?, end })
        });
        columns::match_row(id).whole(held)
    }

    fn end_seats<'v>(
        &mut self,
        games: impl Iterator<Item = [Value<'v>; 2]>,
        won: impl Iterator<Item = [Value<'v>; 3]>,
    ) -> Result<(), StoreError> {
        for game in games {
            self.run(ENDED_SEATS, &game)?;
        }
        for seat in won {
            self.run(WON, &seat)?;
        }
        Ok(())
    }

    fn replace_log(&mut self, id: MatchId, archive: &[u8]) -> Result<(), StoreError> {
        let checksum = columns::match_archive(id).checksum(archive);
        self.run("DELETE FROM match_log WHERE match_id = ?1", values![id])?;
        self.run(
            "INSERT INTO match_archive (match_id, data, checksum) VALUES (?1, ?2, ?3)",
            values![id, archive, checksum],
        )?;
        Ok(())
    }
}
