//! Logs of matches: entry by entry while one is played, and as one archive afterwards.

use super::{Session, values};
use crate::archives;
use crate::columns::{self, Columns as _};
use crate::contract::StoreError;
use engine::ids::MatchId;
use engine::rows::MatchLogRow;

pub(super) fn live(
    session: &mut impl Session,
    id: MatchId,
    from: u32,
    limit: usize,
) -> Result<Vec<MatchLogRow>, StoreError> {
    let sql = format!(
        "SELECT {} FROM match_log WHERE match_id = ?1 AND version >= ?2 ORDER BY version LIMIT ?3",
        columns::LOG
    );
    session.all(&sql, values![id, from, limit], |row| columns::log_row(row, id))
}

pub(super) fn archived(
    session: &mut impl Session,
    id: MatchId,
    version: u32,
    (from, limit): (u32, usize),
) -> Result<Vec<MatchLogRow>, StoreError> {
    let archive = "SELECT data, checksum FROM match_archive WHERE match_id = ?1";
    let stored = session.first(archive, values![id], |row| row.verified(columns::match_archive(id)))?;
    let stored =
        stored.ok_or_else(|| StoreError::Corrupt { why: format!("match {id} finished without an archive") })?;
    archives::decode_rows(id, &stored, version, from, limit)
}
