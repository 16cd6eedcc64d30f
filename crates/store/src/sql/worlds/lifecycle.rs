//! How worlds are made, change owners, are joined and left, and are deleted.

use super::reads;
use crate::columns::{Columns, damage_of, worlds as rows};
use crate::contract::StoreError;
use crate::semantics::{self, worlds::WorldVersions, worlds::stored_end};
use crate::sql::{Batch, Dialect, IdBytes, skip_locked, values};
use engine::commands::Outcome;
use engine::ids::{PlayerId, TicketId, WorkerId, WorldId};
use engine::leadership::LeaderJob;
use engine::limits::{AGGREGATE_ROWS_MAX, WORLDS_ENDED_MAX, WORLDS_MAX, WORLDS_PER_PLAYER_MAX};
use engine::rows::{WorldOwner, WorldRow};
use engine::time::UnixMs;
use std::time::Duration;

/// Worlds that are not counted to the end, of which the next entries are read at a time: there are few, unless the counting is paused.
const UNCOUNTED_READ_MAX: usize = 8;
/// At most as many as are too many.
pub(crate) const OF_CREATOR: &str = "
    SELECT count(*) FROM (SELECT 1 FROM worlds WHERE creator = ?1 AND ends_at > ?2 LIMIT ?3) AS theirs";
/// Worlds that end after ?1; the same.
pub(crate) const LIVE: &str =
    "SELECT count(*) FROM (SELECT 1 FROM worlds WHERE ends_at > ?1 ORDER BY ends_at LIMIT ?2) AS known";
/// When the world ended that was over last but ?2, at ?1.
pub(crate) const NTH_LAST_END: &str =
    "SELECT ends_at FROM worlds WHERE ends_at <= ?1 ORDER BY ends_at DESC LIMIT 1 OFFSET ?2";
/// Worlds of players that never had a player inside (they were never claimed), and that no other player joined.
pub(crate) fn unjoined<S: Dialect>() -> String {
    let lock = skip_locked::<S>("FOR NO KEY UPDATE");
    format!(
        "SELECT id FROM worlds
         WHERE ends_at > ?1 AND creator IS NOT NULL AND epoch = 0 AND players <= 1 AND created_at < ?2
         ORDER BY ends_at LIMIT ?3 {lock}"
    )
}

/// Worlds that were over before ?1, have no owner at ?2, and are counted to the end, or are not.
pub(crate) fn old<S: Dialect>(is_counted: bool) -> String {
    let lock = skip_locked::<S>("FOR UPDATE OF w");
    let has_uncounted = if is_counted { "NOT EXISTS" } else { "EXISTS" };
    format!(
        "SELECT w.id FROM worlds w
         LEFT JOIN workers l ON l.id = w.worker AND l.lease_until > ?2 AND NOT l.is_given_up
         WHERE w.ends_at < ?1 AND l.id IS NULL AND {has_uncounted} (
             SELECT 1 FROM world_log e WHERE e.world_id = w.id AND e.version >= w.aggregated_version)
         ORDER BY w.ends_at, w.id LIMIT ?3 {lock}"
    )
}

pub(crate) const LOAD_ROWS: &str = "
    SELECT version, data, checksum FROM world_log WHERE world_id = ?1 AND version >= ?2 ORDER BY version";
pub(crate) fn load() -> String {
    format!(
        "SELECT {}, w.epoch, w.snapshot_version, s.data, s.checksum FROM worlds w
         LEFT JOIN world_snapshots s ON s.world_id = w.id WHERE w.id = ?1",
        rows::WORLD
    )
}

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn ensure_world(&mut self, row: &WorldRow, members: &[PlayerId]) -> Result<Outcome, StoreError> {
        if let Some(known) = reads::world_named(self.session, &row.name, row.created_at)? {
            return Ok(Outcome::World(Box::new(known.row)));
        }
        if reads::world(self.session, row.id, row.created_at)?.is_some() {
            return Ok(Outcome::Duplicate);
        }
        if let Err(refusal) = semantics::worlds::check_creation(row, self.existing(row)?) {
            return Ok(refusal);
        }
        if !self.insert_world(row)? {
            // Another node made one of this name or id in between, and its commit is seen by now.
            let known = reads::world_named(self.session, &row.name, row.created_at)?;
            return Ok(known.map_or(Outcome::Duplicate, |known| Outcome::World(Box::new(known.row))));
        }
        for member in members {
            self.add_member(row.id, *member, row.created_at)?;
        }
        Ok(Outcome::World(Box::new(row.clone())))
    }

    /// Where nodes share the database, the queue's row is locked before.
    pub(super) fn match_players(
        &mut self,
        row: &WorldRow,
        members: &[(PlayerId, TicketId)],
        worker: WorkerId,
    ) -> Result<Outcome, StoreError> {
        if !self.leads(LeaderJob::MatchmakingQueue, worker)? {
            return Ok(Outcome::LeaseLost);
        }
        let players: Vec<_> = members.iter().map(|(player, _)| *player).collect();
        let made = self.ensure_world(row, &players)?;
        if matches!(&made, Outcome::World(known) if known.id == row.id) {
            let by = "UPDATE world_members SET ticket = ?3 WHERE world_id = ?1 AND player = ?2";
            for (player, ticket) in members {
                self.session.run(by, values![row.id, *player, *ticket])?;
            }
        }
        Ok(made)
    }

    fn existing(&mut self, row: &WorldRow) -> Result<semantics::worlds::WorldCounts, StoreError> {
        Ok(semantics::worlds::WorldCounts {
            live: self.ending_after(row.created_at.0, WORLDS_MAX)?,
            all: self.ending_after(i64::MIN, WORLDS_MAX + WORLDS_ENDED_MAX)?,
            by_creator: self.worlds_of_creator(row)?,
        })
    }

    fn ending_after(&mut self, at: i64, max: usize) -> Result<usize, StoreError> {
        let count = self.session.first(LIVE, values![at, max], |row| row.number())?;
        Ok(count.unwrap_or_default())
    }

    fn worlds_of_creator(&mut self, row: &WorldRow) -> Result<usize, StoreError> {
        let Some(creator) = row.creator else { return Ok(0) };
        let created = values![creator, row.created_at, WORLDS_PER_PLAYER_MAX];
        Ok(self.session.first(OF_CREATOR, created, |row| row.number())?.unwrap_or_default())
    }

    fn insert_world(&mut self, row: &WorldRow) -> Result<bool, StoreError> {
        let inserted = self.session.run(
            "INSERT INTO worlds (id, name, kind, settings, seed, creator, created_at, ends_at, admission, players_max, players, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, ?11) ON CONFLICT DO NOTHING",
            values![
                row.id,
                row.name.as_str(),
                row.kind.name(),
                &row.settings,
                row.seed.0 as i64,
                row.creator,
                row.created_at,
                stored_end(row.ends_at),
                row.admission.name(),
                row.players_max,
                rows::settings(row.id).checksum(&row.settings),
            ],
        )?;
        Ok(inserted == 1)
    }

    /// Where nodes share the database, the world's row is locked before.
    pub(super) fn claim_world(&mut self, id: WorldId, worker: WorkerId, now: UnixMs) -> Result<Outcome, StoreError> {
        if !self.has_lease(worker, now)? {
            return Ok(Outcome::LeaseLost);
        }
        let Some(entry) = reads::world(self.session, id, now)? else { return Ok(Outcome::NotFound) };
        if let Some(WorldOwner { address, .. }) = entry.owner.filter(|owner| owner.worker != worker) {
            return Ok(Outcome::WorldElsewhere { address });
        }
        let take = "UPDATE worlds SET worker = ?2, epoch = epoch + 1 WHERE id = ?1";
        self.session.run(take, values![id, worker])?;
        let world = self.session.first(&load(), values![id], |row| rows::claimed(row))?;
        let mut world =
            world.ok_or_else(|| StoreError::Corrupt { why: format!("world {id} vanished while it was claimed") })?;
        world.rows = self.session.all(LOAD_ROWS, values![id, world.claims_version], |row| rows::log_row(row, id))?;
        Ok(Outcome::WorldClaimed(Box::new(world)))
    }

    pub(super) fn release_world(&mut self, id: WorldId, epoch: u32, is_finished: bool) -> Result<Outcome, StoreError> {
        let release = "UPDATE worlds SET worker = NULL, is_finished = is_finished OR ?3
                       WHERE id = ?1 AND epoch = ?2 AND epoch > 0";
        let released = self.session.run(release, values![id, epoch, is_finished])?;
        Ok(if released == 1 { Outcome::Done } else { Outcome::Fenced })
    }

    pub(super) fn join_world(&mut self, id: WorldId, player: PlayerId, now: UnixMs) -> Result<Outcome, StoreError> {
        let Some(entry) = reads::world(self.session, id, now)? else { return Ok(Outcome::NotFound) };
        let has_joined = reads::has_joined(self.session, id, player)?;
        if let Err(refusal) = semantics::worlds::check_join(&entry.row, entry.players, has_joined, now) {
            return Ok(refusal);
        }
        self.add_member(id, player, now)?;
        Ok(Outcome::Done)
    }

    fn add_member(&mut self, id: WorldId, player: PlayerId, now: UnixMs) -> Result<(), StoreError> {
        let add = "INSERT INTO world_members (world_id, player, joined_at) VALUES (?1, ?2, ?3)
                   ON CONFLICT (world_id, player) DO NOTHING";
        if self.session.run(add, values![id, player, now])? == 1 {
            self.session.run("UPDATE worlds SET players = players + 1 WHERE id = ?1", values![id])?;
        }
        Ok(())
    }

    pub(super) fn leave_world(&mut self, id: WorldId, player: PlayerId) -> Result<Outcome, StoreError> {
        let gone = "DELETE FROM world_members WHERE world_id = ?1 AND player = ?2";
        if self.session.run(gone, values![id, player])? == 0 {
            return Ok(Outcome::NotFound);
        }
        self.session.run("UPDATE worlds SET players = players - 1 WHERE id = ?1", values![id])?;
        Ok(Outcome::Done)
    }

    /// Where nodes share the database, the world's row is locked before.
    pub(super) fn end_world(&mut self, id: WorldId, now: UnixMs) -> Result<Outcome, StoreError> {
        if reads::world(self.session, id, now)?.is_none() {
            return Ok(Outcome::NotFound);
        }
        self.end_worlds(&[id.to_bytes()], now)?;
        Ok(Outcome::Done)
    }

    fn end_worlds(&mut self, ids: &[IdBytes], now: UnixMs) -> Result<(), StoreError> {
        let end = "UPDATE worlds SET ends_at = ?2, worker = NULL, epoch = epoch + 1 WHERE ends_at > ?2 AND id";
        self.session.run_each(end, ids, values![now])?;
        Ok(())
    }

    pub(super) fn end_unjoined(&mut self, now: UnixMs, made_before: UnixMs, max: usize) -> Result<Outcome, StoreError> {
        let unjoined = unjoined::<S>();
        let unjoined = self.session.all(&unjoined, values![now, made_before, max], |row| row.id_bytes())?;
        self.end_worlds(&unjoined, now)?;
        Ok(Outcome::Retired(unjoined.len()))
    }

    /// Worlds that were over by then, whose logs are damaged where the counting of them stands still: there is nothing to wait for.
    fn uncountable_worlds(&mut self, ended_before: i64, now: UnixMs, max: usize) -> Result<Vec<IdBytes>, StoreError> {
        let page = values![ended_before, now, max.min(UNCOUNTED_READ_MAX)];
        let uncounted = self.session.all(&old::<S>(false), page, |row| row.id().map(WorldId))?;
        let mut uncountable = Vec::new();
        for id in uncounted {
            let Some((_, WorldVersions { aggregated, .. })) = self.world_log_state(id)? else { continue };
            let next = values![id, aggregated, AGGREGATE_ROWS_MAX];
            let read = self.session.all(reads::LOG, next, |row| rows::log_row(row, id));
            if let Err(damage) = damage_of(read)? {
                self.session.note_damages(vec![damage]);
                uncountable.push(id.to_bytes());
            }
        }
        Ok(uncountable)
    }

    pub(super) fn retire_worlds(
        &mut self,
        now: UnixMs,
        keep_for: Duration,
        keep_max: usize,
        max: usize,
    ) -> Result<Outcome, StoreError> {
        let last: Option<i64> = self.session.first(NTH_LAST_END, values![now, keep_max], |row| row.number())?;
        let ended_before = last.map_or(i64::MIN, |at| at.saturating_add(1)).max(now.minus(keep_for).0);
        let mut old = self.session.all(&old::<S>(true), values![ended_before, now, max], |row| row.id_bytes())?;
        old.extend(self.uncountable_worlds(ended_before, now, max - old.len())?);
        for table in ["world_snapshots", "world_log", "world_members", "hunt_rounds"] {
            self.session.run_each(&format!("DELETE FROM {table} WHERE world_id"), &old, &[])?;
        }
        self.session.run_each("DELETE FROM worlds WHERE id", &old, &[])?;
        Ok(Outcome::Retired(old.len()))
    }
}
