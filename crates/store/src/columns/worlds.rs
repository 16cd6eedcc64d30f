//! Rows about worlds.

use super::{Columns, row_of_id};
use crate::checksums::{StoredKey, StoredKind};
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

pub(crate) fn world(row: &mut impl Columns) -> Result<WorldRow, StoreError> {
    row_of_id(row, StoredKind::World, |row, id| world_of_id(row, WorldId(id)))
}

fn world_of_id(row: &mut impl Columns, id: WorldId) -> Result<WorldRow, StoreError> {
    Ok(WorldRow {
        id,
        name: row.named("world that may be called", |name| name.parse().ok())?,
        kind: row.named("kind of world", WorldKind::from_name)?,
        settings: row.verified(settings(id))?,
        seed: Seed(row.bits()?),
        creator: row.maybe_id()?.map(PlayerId),
        created_at: row.time()?,
        ends_at: Some(row.time()?).filter(|ends_at| *ends_at != UnixMs(i64::MAX)),
        admission: row.named("admission", Admission::from_name)?,
        players_max: row.number()?,
    })
}

/// Without an address the owner's lease does not hold.
pub(crate) fn entry(row: &mut impl Columns) -> Result<WorldEntry, StoreError> {
    let world = world(row)?;
    let mut read = || {
        let (players, worker, address) = (row.number()?, row.maybe_id()?.map(WorkerId), row.maybe_text()?);
        Ok((players, worker.zip(address).map(|(worker, address)| WorldOwner { worker, address })))
    };
    let (players, owner) = settings(world.id).whole(read())?;
    Ok(WorldEntry { row: world, owner, players })
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
    row_of_id(row, StoredKind::Player, |row, player| {
        Ok(HunterRow {
            player: PlayerId(player),
            name: row.text()?,
            points: row.number()?,
            chests: row.number()?,
            power_ups: row.number()?,
            rounds: row.number()?,
            rounds_won: row.number()?,
            last_at: row.time()?,
        })
    })
}

pub(crate) fn round(row: &mut impl Columns, world: WorldId) -> Result<RoundRow, StoreError> {
    let mut read = || {
        Ok(RoundRow {
            number: row.number()?,
            ended_at: row.time()?,
            winner: row.maybe_id()?.map(PlayerId),
            winner_name: row.text()?,
            points: row.number()?,
            hunters: row.number()?,
        })
    };
    settings(world).whole(read())
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
