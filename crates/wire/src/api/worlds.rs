//! Worlds as programs read and configure them over HTTP. Movers use frames: see `wire::world`.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WorldView {
    /// Its id.
    pub id: String,
    /// What it is called, in addresses too.
    pub name: String,
    /// `world` or `hunt`.
    pub kind: String,
    /// Who may come in: `everybody`, `joined` or `matched`.
    pub admission: String,
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// Cells of a thousand that are trees.
    pub tree_permille: u16,
    /// Whether several movers may stand on a cell.
    pub is_shared: bool,
    /// Whether bacteria live there.
    pub has_life: bool,
    /// Shortest time between two steps of a mover.
    pub move_min_ms: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is over; null for one that stays.
    #[schema(required)]
    pub ends_at: Option<Timestamp>,
    /// Whether this server has it in memory.
    pub is_here: bool,
    /// `host:port` of another server that has it; null when it is here, or in no server's memory.
    #[schema(required)]
    pub address: Option<String>,
}

/// A world to be made; what is left out has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWorld {
    /// What it is called: small letters, digits and hyphens; unique.
    #[schema(min_length = 1, max_length = 64, example = "meadow")]
    pub name: String,
    /// Columns of its grid.
    #[schema(default = 1000, minimum = 8, maximum = 4096)]
    pub width: Option<i64>,
    /// Rows of its grid.
    #[schema(default = 1000, minimum = 8, maximum = 4096)]
    pub height: Option<i64>,
    /// Cells of a thousand that are trees.
    #[schema(default = 50, minimum = 0, maximum = 700)]
    pub tree_permille: Option<i64>,
    /// Whether several movers may stand on a cell.
    #[schema(default = true)]
    pub is_shared: Option<bool>,
    /// Shortest time between two steps of a mover at a steady rate; 0: as fast as they come.
    #[schema(default = 50, minimum = 0, maximum = 60_000)]
    pub move_min_ms: Option<i64>,
    /// Bacteria that live by Life's rules on cells without trees and movers; none when absent.
    pub life: Option<CreateLife>,
    /// How long it is open from now; when absent, it stays.
    #[schema(minimum = 60_000, maximum = 86_400_000)]
    pub open_ms: Option<i64>,
}

/// How bacteria are to live in a world.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateLife {
    /// From one generation to the next.
    #[schema(default = 1000, minimum = 50, maximum = 3_600_000)]
    pub generation_ms: Option<i64>,
    /// Cells of a thousand that are alive at first, where no tree stands.
    #[schema(default = 0, minimum = 0, maximum = 1000)]
    pub start_permille: Option<i64>,
}

/// Where bacteria are to be put.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SowLife {
    /// The cells: x and y in turn.
    #[schema(min_items = 2, max_items = 8192, example = json!([1, 0, 2, 1, 0, 2, 1, 2, 2, 2]))]
    pub cells: Vec<u16>,
}

/// What was sown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SownLife {
    /// Cells with a bacterium now, of those that were asked for: others have a tree or a mover, or are not on the grid.
    pub sown: usize,
}

/// What lies and stands in a rectangle of a world, a moment ago.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WorldSection {
    /// The world's name.
    pub world: String,
    /// Its tick.
    pub tick: u32,
    /// The leftmost column.
    pub x: u16,
    /// The topmost row.
    pub y: u16,
    /// Columns, cut to the grid.
    pub width: u16,
    /// Rows, cut to the grid.
    pub height: u16,
    /// Cells with trees: x and y in turn.
    pub trees: Vec<u16>,
    /// Cells with movers.
    pub movers: Vec<WorldHeap>,
    /// Cells with chests and power-ups.
    pub items: Vec<WorldItem>,
    /// Cells with bacteria: x and y in turn.
    pub life: Vec<u16>,
}

/// Movers of one cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WorldHeap {
    /// The column.
    pub x: u16,
    /// The row.
    pub y: u16,
    /// What the one on top looks like.
    pub indicator: String,
    /// How many.
    pub count: u32,
}

/// What lies on a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WorldItem {
    /// The column.
    pub x: u16,
    /// The row.
    pub y: u16,
    /// What it looks like.
    pub indicator: String,
}

/// How many movers are where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WorldDensity {
    /// The world's name.
    pub world: String,
    /// Its tick.
    pub tick: u32,
    /// The leftmost column.
    pub x: u16,
    /// The topmost row.
    pub y: u16,
    /// Columns, cut to the grid.
    pub width: u16,
    /// Rows, cut to the grid.
    pub height: u16,
    /// Cells on each side of a bin.
    pub bin: u16,
    /// Bins side by side.
    pub columns: u16,
    /// Bins below each other.
    pub rows: u16,
    /// Movers of each bin, row by row.
    pub counts: Vec<u32>,
    /// Movers of the whole world.
    pub movers: usize,
}

/// What a world counts.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WorldStats {
    /// The world's name.
    pub world: String,
    /// How often it has ticked since it came into memory.
    pub tick: u32,
    /// Movers that are there.
    pub movers: usize,
    /// Of those, movers that may come back.
    pub lasting: usize,
    /// Of those, movers whose client is gone and whose grace is not over.
    pub lost: usize,
    /// Movers that are shown what is around them.
    pub viewers: usize,
    /// Batches since it came into memory.
    pub batches: u64,
    /// Inputs since then.
    pub inputs: u64,
    /// Of those, inputs that were refused.
    pub refused: u64,
    /// Inputs that wait for its writer now.
    pub waiting: usize,
    /// Entries of its log of claims.
    pub claims_version: u32,
    /// Claims that are decided and not committed.
    pub claims_pending: usize,
    /// Bacteria.
    pub bacteria: u32,
    /// The round; null in a world without a hunt.
    #[schema(required)]
    pub round: Option<WorldRound>,
    /// The best of the round, best first.
    pub best: Vec<WorldScore>,
    /// Built-in actors; null when none were started.
    #[schema(required)]
    pub actors: Option<WorldActors>,
}

/// A round of a hunt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WorldRound {
    /// From 1: the one that runs, or the one to come.
    pub number: u32,
    /// `waiting`, `running` or `over`.
    pub phase: String,
    /// When it ends, or begins at the earliest.
    pub until: Timestamp,
    /// Chests that are not dug yet.
    pub chests_left: u32,
}

/// A mover's points in a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WorldScore {
    /// The mover's id.
    pub mover: u32,
    /// Empty of movers without one.
    pub name: String,
    /// Points.
    pub score: u32,
}

/// What the actors of a world come to. What was planned, who came in and who has moved are counted apart.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WorldActors {
    /// Actors that were requested.
    pub planned: u32,
    /// Actors that the world has admitted.
    pub registered: u32,
    /// Actors whose first move was answered.
    pub moving: u32,
    /// Moves that the world refused, for a tree or the edge as well.
    pub refused: u64,
    /// Moves that were skipped, because the one before was not answered or the timer came a whole period late.
    pub missed: u64,
    /// Moves that had to wait because the mailbox was full.
    pub delayed: u64,
    /// Longest mailbox that a move found.
    pub mailbox_max: u64,
    /// Times of moves since the actors were started.
    pub run: WorldMoveTime,
    /// Times of moves over the last seconds.
    pub window: WorldMoveTime,
}

/// How long moves took, from the moment for which each was intended to its answer.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WorldMoveTime {
    /// Moves that were answered.
    pub moves: u64,
    /// Half of them took no longer; null of none.
    #[schema(required)]
    pub p50_ms: Option<f64>,
    /// 99 of 100.
    #[schema(required)]
    pub p99_ms: Option<f64>,
    /// 999 of 1,000.
    #[schema(required)]
    pub p999_ms: Option<f64>,
    /// The longest.
    #[schema(required)]
    pub max_ms: Option<f64>,
}

/// How built-in actors are started; what is left out has its default.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetActors {
    /// How many; 0 removes all.
    #[schema(minimum = 0)]
    pub count: u32,
    /// Pause before each one comes in.
    #[serde(default)]
    pub start_delay_ms: u32,
    /// Where they begin: all on one cell, if it is given.
    pub spawn: Option<WorldCell>,
    /// From one move of an actor to its next.
    #[schema(default = 1000, minimum = 10, maximum = 3_600_000)]
    pub period_ms: Option<u32>,
    /// By how much each wait is longer or shorter, at most.
    #[serde(default)]
    pub jitter_ms: u32,
}

/// A place on the grid: 0, 0 is on the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
pub struct WorldCell {
    /// The column.
    pub x: u16,
    /// The row.
    pub y: u16,
}
