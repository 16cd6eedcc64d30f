//! Tables at which stories are told: queries about them and their games, and how they change owners under leases. Each query
//! walks an index; none counts games.

use super::claims::lost_holders;
#[cfg(any(test, feature = "testing"))]
use super::game_retirement;
use super::{Batch, Dialect, ID_MIN, IdBytes, Session, values};
use crate::checksums::Damage;
use crate::columns::{self, Columns};
use crate::contract::StoreError;
use engine::commands::{ClaimedTable, Outcome};
use engine::ids::{TableId, WorkerId};
use engine::rows::TableOwner;
use engine::time::UnixMs;

/// A table's worker, and the address in that worker's lease if the lease holds.
pub(crate) const OWNER: &str = "
    SELECT t.worker, w.address FROM story_tables t
    LEFT JOIN workers w ON w.id = t.worker AND w.lease_until > ?2 AND NOT w.is_given_up
    WHERE t.id = ?1";
pub(crate) const ANSWER: &str =
    "SELECT fingerprint, answer, checksum FROM story_answers WHERE player = ?1 AND key = ?2";
/// Of many tables; the condition ends in their ids.
pub(crate) const LOAD: &str = "
    SELECT id, epoch, base_version, data, checksum FROM story_tables LEFT JOIN story_bases ON table_id = id WHERE id";
pub(crate) const LOAD_ROWS: &str = "SELECT table_id, version, data, checksum FROM story_log WHERE table_id";

/// Workers that hold live tables and no lease.
pub(crate) fn lost_table_holders<S: Dialect>() -> String {
    lost_holders("story_tables", &S::is_set("is_live"))
}

/// Live tables, which a condition about their workers follows.
pub(crate) fn live_tables<S: Dialect>() -> String {
    format!("SELECT id FROM story_tables WHERE {} AND", S::is_set("is_live"))
}

/// The tables that the claim ?2 of worker ?1 took, and the worker still holds live, in the order of their ids.
pub(crate) fn claimed_before<S: Dialect>() -> String {
    format!("SELECT id FROM story_tables WHERE {} AND worker = ?1 AND claim = ?2 ORDER BY id", S::is_set("is_live"))
}

pub(super) fn owner(session: &mut impl Session, id: TableId, now: UnixMs) -> Result<Option<TableOwner>, StoreError> {
    session.first(OWNER, values![id, now], |row| columns::table_owner(row))
}

pub(crate) fn game_by_id() -> String {
    format!(
        "SELECT {}, {} FROM story_games g
         LEFT JOIN story_records r ON r.table_id = g.table_id AND r.number = g.number
         WHERE g.table_id = ?1 AND g.number = ?2",
        columns::GAME,
        columns::GAME_RECORD
    )
}

/// The index of seats is walked; each seat looks its game up.
pub(crate) fn games_of_player<S: Dialect>() -> String {
    format!(
        "SELECT {}, {} FROM story_seats s
         {} story_games g ON g.table_id = s.table_id AND g.number = s.number
         WHERE s.player = ?1 AND s.is_ended = ?2 AND (s.created_at, s.table_id, s.number) < (?3, ?4, ?5)
         ORDER BY s.created_at DESC, s.table_id DESC, s.number DESC LIMIT ?6",
        columns::GAME,
        columns::SEATED,
        S::JOIN_IN_ORDER,
    )
}

pub(crate) fn lobby_page() -> String {
    format!(
        "SELECT {} FROM story_games g
         WHERE g.phase IN ('create', 'invitation') AND g.players < g.players_max
           AND (g.created_at, g.table_id, g.number) < (?1, ?2, ?3)
         ORDER BY g.created_at DESC, g.table_id DESC, g.number DESC LIMIT ?4",
        columns::GAME
    )
}

pub(crate) fn history_page() -> String {
    format!(
        "SELECT {} FROM story_games g
         WHERE g.ended_at IS NOT NULL AND (g.ended_at, g.table_id, g.number) < (?1, ?2, ?3)
         ORDER BY g.ended_at DESC, g.table_id DESC, g.number DESC LIMIT ?4",
        columns::GAME
    )
}

impl<S: Dialect> Batch<'_, S> {
    /// Where nodes share the database, the table's row is locked before.
    pub(crate) fn claim_table(&mut self, id: TableId, worker: WorkerId, now: UnixMs) -> Result<Outcome, StoreError> {
        if !self.has_lease(worker, now)? {
            return Ok(Outcome::LeaseLost);
        }
        match owner(self.session, id, now)? {
            None => Ok(Outcome::NotFound),
            Some(TableOwner::Leased { worker: other, address }) if other != worker => {
                Ok(Outcome::TableElsewhere { address })
            }
            Some(TableOwner::Leased { .. } | TableOwner::Unowned) => {
                let taken = self.take_tables(&[id.to_bytes()], worker, 0)?.into_iter().next();
                let taken = taken.transpose().map_err(StoreError::from)?;
                Ok(taken.map_or(Outcome::NotFound, Outcome::TableClaimed))
            }
        }
    }

    pub(crate) fn claim_tables(
        &mut self,
        worker: WorkerId,
        number: u64,
        now: UnixMs,
        max: usize,
    ) -> Result<Outcome, StoreError> {
        if !self.has_lease(worker, now)? {
            return Ok(Outcome::LeaseLost);
        }
        let by = values![worker, number as i64];
        let is_old = self.session.exists("SELECT 1 FROM workers WHERE id = ?1 AND table_claims >= ?2", by)?;
        if is_old {
            let held = self.session.all(&claimed_before::<S>(), by, |row| row.id_bytes())?;
            let held = self.load_tables(&held)?;
            return Ok(self.readable_tables(held));
        }
        let lost = self.session.all(&lost_table_holders::<S>(), values![now, ID_MIN], |row| row.id_bytes())?;
        let orphans = self.session.held_by(&live_tables::<S>(), &lost, max, |row| row.id_bytes())?;
        if orphans.is_empty() {
            return Ok(Outcome::TablesClaimed(Vec::new()));
        }
        self.session.run("UPDATE workers SET table_claims = ?2 WHERE id = ?1", by)?;
        let taken = self.take_tables(&orphans, worker, number)?;
        Ok(self.readable_tables(taken))
    }

    /// Those that are damaged are claimed as well, so that they stand in no other's way, and are left out: a worker that wants one claims
    /// it, and gets the error.
    fn readable_tables(&mut self, claimed: Vec<Result<ClaimedTable, Damage>>) -> Outcome {
        Outcome::TablesClaimed(self.session.note_unreadable(claimed))
    }

    fn take_tables(
        &mut self,
        ids: &[IdBytes],
        worker: WorkerId,
        claim: u64,
    ) -> Result<Vec<Result<ClaimedTable, Damage>>, StoreError> {
        let take = "UPDATE story_tables SET worker = ?2, claim = ?3, epoch = epoch + 1 WHERE id";
        self.session.run_each(take, ids, values![worker, claim as i64])?;
        self.load_tables(ids)
    }

    /// The ids are in order.
    fn load_tables(&mut self, ids: &[IdBytes]) -> Result<Vec<Result<ClaimedTable, Damage>>, StoreError> {
        let mut tables = self.session.all_each(LOAD, "ORDER BY id", ids, |row| columns::claimed_row(row))?;
        let rows =
            self.session.all_each(LOAD_ROWS, "ORDER BY table_id, version", ids, |row| columns::table_log_row(row))?;
        for (id, row) in rows {
            let at = tables
                .binary_search_by_key(&id, |(id, _)| *id)
                .map_err(|_| StoreError::Corrupt { why: format!("table {id} vanished while it was claimed") })?;
            match (&mut tables[at].1, row) {
                (Ok(table), Ok(row)) => table.rows.push(row),
                (table @ Ok(_), Err(damage)) => *table = Err(damage),
                (Err(_), _) => {}
            }
        }
        Ok(tables.into_iter().map(|(_, table)| table).collect())
    }
}

/// The queries that run while games are played, by name, to inspect their plans.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn queries<S: Dialect>() -> Vec<(&'static str, String)> {
    vec![
        ("owner", OWNER.to_owned()),
        ("lost holders", lost_table_holders::<S>()),
        ("tables claimed before", claimed_before::<S>()),
        ("state of a game", game_by_id()),
        ("games of a player", games_of_player::<S>()),
        ("lobby", lobby_page()),
        ("history", history_page()),
        ("oldest games", game_retirement::oldest::<S>()),
        ("bare tables used again", game_retirement::used_again::<S>()),
        ("bare tables", game_retirement::bare::<S>()),
    ]
}
