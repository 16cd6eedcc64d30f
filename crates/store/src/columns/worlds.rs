//! Rows about worlds.

use super::Columns;
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
pub(crate) const WORLD: &str =
    "w.id, w.name, w.kind, w.settings, w.seed, w.creator, w.created_at, w.ends_at, w.admission, w.players_max";
/// After [`WORLD`], of `worlds w` and the lease `l` of its owner.
pub(crate) const ENTRY: &str = "w.players, w.worker, l.address";
pub(crate) const HUNTER: &str = "player, name, points, chests, power_ups, rounds, rounds_won, last_at";
pub(crate) const ROUND: &str = "number, ended_at, winner, winner_name, points, hunters";
pub(crate) const TOTALS: &str = "hunters, points, chests, power_ups, rounds";

pub(crate) fn world(row: &mut impl Columns) -> Result<WorldRow, StoreError> {
    Ok(WorldRow {
        id: WorldId(row.id()?),
        name: row.named("world that may be called", |name| name.parse().ok())?,
        kind: row.named("kind of world", WorldKind::from_name)?,
        settings: row.bytes()?,
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
    let (world, players) = (world(row)?, row.number()?);
    let (worker, address) = (row.maybe_id()?.map(WorkerId), row.maybe_text()?);
    let owner = worker.zip(address).map(|(worker, address)| WorldOwner { worker, address });
    Ok(WorldEntry { row: world, owner, players })
}

/// `worker, address`.
pub(crate) fn owner(row: &mut impl Columns) -> Result<WorldOwner, StoreError> {
    Ok(WorldOwner { worker: WorkerId(row.id()?), address: row.text()? })
}

/// `epoch, snapshot_version, data`, after [`WORLD`].
pub(crate) fn claimed(row: &mut impl Columns) -> Result<ClaimedWorld, StoreError> {
    Ok(ClaimedWorld {
        row: world(row)?,
        epoch: row.number()?,
        claims_version: row.number()?,
        snapshot: row.maybe_bytes()?,
        rows: Vec::new(),
    })
}

/// `epoch, snapshot_version, aggregated_version` and the number of entries.
pub(crate) fn log_state(row: &mut impl Columns) -> Result<(u32, WorldVersions), StoreError> {
    let epoch = row.number()?;
    Ok((epoch, WorldVersions { snapshot: row.number()?, aggregated: row.number()?, log: row.number()? }))
}

pub(crate) fn log_row(row: &mut impl Columns) -> Result<WorldLogRow, StoreError> {
    Ok(WorldLogRow { version: row.number()?, bytes: row.bytes()? })
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
