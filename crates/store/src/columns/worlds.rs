//! Rows about worlds.

use super::{Columns, damage_of};
use crate::checksums::{Damage, StoredKey, StoredKind};
use crate::contract::StoreError;
use crate::semantics::worlds::WorldVersions;
use engine::commands::ClaimedWorld;
use engine::ids::{PlayerId, WorkerId, WorldId};
use engine::rows::{
    Admission, AggregationLag, HuntTotals, HunterRow, RoundRow, WorldEntry, WorldKind, WorldLogRow, WorldOwner,
    WorldRow,
};
use engine::time::UnixMs;
use rules::chance::Seed;

/// Of `worlds w`.
pub(crate) const WORLD: &str = "w.id, w.name, w.kind, w.settings, w.checksum, w.seed, w.creator, w.created_at, w.ends_at, w.admission, w.players_max";
/// After [`WORLD`], of `worlds w` and the lease `l` of its owner.
pub(crate) const ENTRY: &str = "w.players, w.worker, l.address";
pub(crate) const HUNTER: &str = "player, name, points, chests, power_ups, rounds, rounds_won, last_at";
pub(crate) const ROUND: &str = "number, ended_at, winner, winner_name, points, hunters";
pub(crate) const TOTALS: &str = "hunters, points, chests, power_ups, rounds";

/// Where a list goes on behind a world.
#[derive(Clone, Copy)]
pub(crate) struct WorldCursor {
    pub(crate) ends_at: i64,
    pub(crate) id: [u8; 16],
}

/// A world of a list, or what is wrong with its row: all of it is read, so that the list goes on behind it.
pub(crate) type ListedWorld<T> = (WorldCursor, Result<T, Damage>);

pub(crate) fn world(row: &mut impl Columns) -> Result<WorldRow, StoreError> {
    listed_world(row)?.1.map_err(StoreError::from)
}

pub(crate) fn listed_world(row: &mut impl Columns) -> Result<ListedWorld<WorldRow>, StoreError> {
    let id = WorldId(row.id()?);
    let name = row.named("world that may be called", |name| name.parse().ok());
    let kind = row.named("kind of world", WorldKind::from_name);
    let settings = row.verified(settings(id));
    let (seed, creator, created_at, ends_at) = (row.bits(), row.maybe_id(), row.time(), row.time()?);
    let admission = row.named("admission", Admission::from_name);
    let players_max = row.number();
    let world = || {
        Ok(WorldRow {
            id,
            name: name?,
            kind: kind?,
            settings: settings?,
            seed: Seed(seed?),
            creator: creator?.map(PlayerId),
            created_at: created_at?,
            ends_at: Some(ends_at).filter(|ends_at| *ends_at != UnixMs(i64::MAX)),
            admission: admission?,
            players_max: players_max?,
        })
    };
    Ok((WorldCursor { ends_at: ends_at.0, id: id.to_bytes() }, damage_of(as_damage(id, world()))?))
}

/// A row of which a column cannot be read is damaged like one whose checksum does not match.
fn as_damage<T>(id: WorldId, read: Result<T, StoreError>) -> Result<T, StoreError> {
    read.map_err(|error| match error {
        StoreError::Corrupt { why } => settings(id).damage(why).into(),
        other => other,
    })
}

/// Without an address the owner's lease does not hold.
pub(crate) fn entry(row: &mut impl Columns) -> Result<WorldEntry, StoreError> {
    listed_entry(row)?.1.map_err(StoreError::from)
}

pub(crate) fn listed_entry(row: &mut impl Columns) -> Result<ListedWorld<WorldEntry>, StoreError> {
    let (cursor, world) = listed_world(row)?;
    let (players, worker, address) = (row.number(), row.maybe_id(), row.maybe_text());
    let entry = || {
        let owner = worker?.map(WorkerId).zip(address?).map(|(worker, address)| WorldOwner { worker, address });
        Ok(WorldEntry { row: world.map_err(StoreError::from)?, owner, players: players? })
    };
    Ok((cursor, damage_of(as_damage(WorldId::from_bytes(cursor.id), entry()))?))
}

pub(crate) fn settings(id: WorldId) -> StoredKey<'static> {
    StoredKey::new(StoredKind::World, id.to_bytes())
}

pub(crate) fn world_entry(id: WorldId, version: u32) -> StoredKey<'static> {
    StoredKey::new(StoredKind::WorldEntry, id.to_bytes()).number(version.into())
}

pub(crate) fn world_snapshot(id: WorldId) -> StoredKey<'static> {
    StoredKey::new(StoredKind::WorldSnapshot, id.to_bytes())
}

/// `worker, address`.
pub(crate) fn owner(row: &mut impl Columns) -> Result<WorldOwner, StoreError> {
    Ok(WorldOwner { worker: WorkerId(row.id()?), address: row.text()? })
}

/// `epoch, snapshot_version, data, checksum`, after [`WORLD`].
pub(crate) fn claimed(row: &mut impl Columns) -> Result<ClaimedWorld, StoreError> {
    let (world, epoch, claims_version) = (world(row)?, row.number()?, row.number()?);
    let snapshot = row.maybe_verified(world_snapshot(world.id))?;
    Ok(ClaimedWorld { row: world, epoch, claims_version, snapshot, rows: Vec::new() })
}

/// `epoch, snapshot_version, aggregated_version` and the number of entries.
pub(crate) fn log_state(row: &mut impl Columns) -> Result<(u32, WorldVersions), StoreError> {
    let epoch = row.number()?;
    Ok((epoch, WorldVersions { snapshot: row.number()?, aggregated: row.number()?, log: row.number()? }))
}

pub(crate) fn log_row(row: &mut impl Columns, id: WorldId) -> Result<WorldLogRow, StoreError> {
    let version = row.number()?;
    Ok(WorldLogRow { version, bytes: row.verified(world_entry(id, version))? })
}

/// `id, aggregated_version` and the number of entries.
pub(crate) fn aggregation_lag(row: &mut impl Columns) -> Result<AggregationLag, StoreError> {
    Ok(AggregationLag { id: WorldId(row.id()?), aggregated_version: row.number()?, version: row.number()? })
}

pub(crate) fn hunter(row: &mut impl Columns) -> Result<HunterRow, StoreError> {
    Ok(HunterRow {
        player: PlayerId(row.id()?),
        name: row.text()?,
        points: row.number()?,
        chests: row.number()?,
        power_ups: row.number()?,
        rounds: row.number()?,
        rounds_won: row.number()?,
        last_at: row.time()?,
    })
}

pub(crate) fn round(row: &mut impl Columns) -> Result<RoundRow, StoreError> {
    Ok(RoundRow {
        number: row.number()?,
        ended_at: row.time()?,
        winner: row.maybe_id()?.map(PlayerId),
        winner_name: row.text()?,
        points: row.number()?,
        hunters: row.number()?,
    })
}

pub(crate) fn totals(row: &mut impl Columns) -> Result<HuntTotals, StoreError> {
    Ok(HuntTotals {
        hunters: row.number()?,
        points: row.number()?,
        chests: row.number()?,
        power_ups: row.number()?,
        rounds: row.number()?,
    })
}
