//! Worlds as JSON.

use crate::app::App;
use crate::problem::{ApiError, ApiResult};
use engine::ids::WorldName;
use engine::rows::WorldEntry;
use engine::worlds::{Density, HunterScore, Picture, RoundStatus, Section, settings_from_bytes};
use node::lease::LeaseContext;
use rules::world::{Cell, Indicator, Sharing};
use wire::api::{
    WorldActors, WorldDensity, WorldHeap, WorldItem, WorldMoveTime, WorldRound, WorldScore, WorldSection, WorldStats,
    WorldView,
};
use wire::time::Timestamp;
use worlds::actors::{ActorStats, MoveTime};

/// # Errors
/// [`ApiError::Internal`] when the world's rules cannot be read.
pub(super) fn world(app: &App, entry: WorldEntry) -> ApiResult<WorldView> {
    let WorldEntry { row, owner, .. } = entry;
    let settings = settings_from_bytes(&row.settings)
        .map_err(|error| ApiError::Internal(format!("the rules of the world {} cannot be read: {error}", row.id)))?;
    Ok(WorldView {
        id: row.id.to_string(),
        name: row.name.to_string(),
        kind: row.kind.name().to_owned(),
        admission: row.admission.name().to_owned(),
        width: settings.size.width,
        height: settings.size.height,
        tree_permille: settings.tree_permille,
        is_shared: settings.sharing == Sharing::Many,
        has_life: settings.life.is_some(),
        move_min_ms: u64::try_from(settings.move_min.as_millis()).unwrap_or(u64::MAX),
        created_at: Timestamp(row.created_at.0),
        ends_at: row.ends_at.map(|at| Timestamp(at.0)),
        is_here: app.worlds.loaded(&row.name).is_some(),
        address: owner.map(|owner| owner.address).filter(|address| !is_own_address(app, address)),
    })
}

/// Whether an address is this server's own, as other servers know it.
pub(super) fn is_own_address(app: &App, address: &str) -> bool {
    app.node.address() == address
}

pub(super) fn section(name: &WorldName, section: &Section) -> WorldSection {
    let flat = |cells: &[Cell]| cells.iter().flat_map(|cell| [cell.x, cell.y]).collect();
    let emoji = |indicator: Indicator| indicator.emoji().to_owned();
    WorldSection {
        world: name.to_string(),
        tick: section.tick,
        x: section.region.x,
        y: section.region.y,
        width: section.region.width,
        height: section.region.height,
        trees: flat(&section.trees),
        movers: section
            .movers
            .iter()
            .map(|(cell, indicator, count)| WorldHeap {
                x: cell.x,
                y: cell.y,
                indicator: emoji(*indicator),
                count: *count,
            })
            .collect(),
        items: section
            .items
            .iter()
            .map(|(cell, indicator)| WorldItem { x: cell.x, y: cell.y, indicator: emoji(*indicator) })
            .collect(),
        life: flat(&section.life),
    }
}

pub(super) fn density(name: &WorldName, density: Density) -> WorldDensity {
    let Density { tick, region, bin, columns, rows, counts, movers } = density;
    WorldDensity {
        world: name.to_string(),
        tick,
        x: region.x,
        y: region.y,
        width: region.width,
        height: region.height,
        bin,
        columns,
        rows,
        counts,
        movers,
    }
}

pub(super) fn stats(
    name: &WorldName,
    picture: &Picture,
    waiting: usize,
    built_in_actors: Option<ActorStats>,
) -> WorldStats {
    let stats = picture.stats();
    WorldStats {
        world: name.to_string(),
        tick: stats.tick,
        movers: stats.movers,
        lasting: stats.lasting,
        lost: stats.lost,
        viewers: stats.viewers,
        batches: stats.batches,
        inputs: stats.inputs,
        refused: stats.refused,
        waiting,
        claims_version: stats.claims_version,
        claims_pending: stats.claims_pending,
        bacteria: stats.bacteria,
        round: picture.round().map(round),
        best: picture.top_scores().iter().map(score).collect(),
        actors: built_in_actors.map(|stats| actors(&stats)),
    }
}

fn round(status: RoundStatus) -> WorldRound {
    WorldRound {
        number: status.number,
        phase: status.phase.name().to_owned(),
        until: Timestamp(status.until.0),
        chests_left: status.chests_left,
    }
}

fn score(scored: &HunterScore) -> WorldScore {
    WorldScore { mover: scored.hunter.mover.0, name: scored.hunter.name.to_string(), score: scored.points }
}

pub(super) fn actors(stats: &ActorStats) -> WorldActors {
    WorldActors {
        planned: stats.planned,
        registered: stats.registered,
        moving: stats.moving,
        refused: stats.refused,
        missed: stats.missed,
        delayed: stats.delayed,
        mailbox_max: stats.mailbox_max,
        run: move_time(&stats.run),
        window: move_time(&stats.window),
    }
}

fn move_time(time: &MoveTime) -> WorldMoveTime {
    let MoveTime { moves, p50_ms, p99_ms, p999_ms, max_ms } = *time;
    WorldMoveTime { moves, p50_ms, p99_ms, p999_ms, max_ms }
}
