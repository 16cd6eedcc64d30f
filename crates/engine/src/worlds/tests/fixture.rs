//! Small worlds to test with, and helpers that send inputs.

use crate::ids::{PlayerId, WorldId};
use crate::limits::MOVER_NAME_CHARS_MAX;
use crate::worlds::{
    Answer, Done, Input, InputKind, MoverId, MoverRef, Refusal, Registered, Registration, ViewOptions, World,
    WorldParams,
};
use rules::chance::Seed;
use rules::world::{Cell, HuntSettings, Indicator, Size, WorldSettings};
use std::time::Duration;

/// When tests begin: some moment in microseconds.
pub(super) const START_US: i64 = 1_800_000_000_000_000;

/// A meadow without trees, with no limit on moves.
pub(super) fn meadow(width: u16, height: u16) -> WorldSettings {
    let size = Size { width, height };
    WorldSettings { size, tree_permille: 0, move_min: Duration::ZERO, ..WorldSettings::default() }
}

/// A meadow with a running hunt, with so many chests and power-ups.
pub(super) fn hunt(width: u16, height: u16, chests: u32, power_ups: u32) -> WorldSettings {
    let hunt = HuntSettings { chests, power_ups, round: Duration::from_secs(60), ..HuntSettings::default() };
    WorldSettings { hunt: Some(hunt), ..meadow(width, height) }
}

pub(super) fn opening(settings: WorldSettings, seed: u64, epoch: u32) -> WorldParams {
    WorldParams { id: WorldId(1), settings, seed: Seed(seed), epoch, ends_at: None }
}

pub(super) fn world(settings: WorldSettings, seed: u64) -> World {
    World::open(opening(settings, seed, 1), None, &[], START_US).unwrap()
}

pub(super) fn cell(x: u16, y: u16) -> Cell {
    Cell { x, y }
}

/// A mover without a view that can be resumed.
pub(super) fn walker(at: Option<Cell>) -> Registration {
    Registration {
        indicator: Indicator::PLAYER,
        at,
        view: None,
        player: None,
        name: None,
        is_resumable: true,
        resume: None,
    }
}

/// A mover with a view.
pub(super) fn watcher(at: Option<Cell>, radius: u8) -> Registration {
    Registration { view: Some(ViewOptions { radius_x: radius, radius_y: radius, per_s: 5 }), ..walker(at) }
}

/// A signed-in player.
pub(super) fn member(at: Option<Cell>, player: u128, name: &str) -> Registration {
    assert!(name.chars().count() <= MOVER_NAME_CHARS_MAX);
    Registration { player: Some(PlayerId(player)), name: Some(name.into()), ..walker(at) }
}

pub(super) fn register(world: &mut World, registration: &Registration) -> Registered {
    world.register(registration, START_US).unwrap()
}

pub(super) fn input(mover_ref: MoverRef, seq: u32, what: InputKind) -> Input {
    Input { mover: mover_ref, seq, tag: u64::from(mover_ref.slot) << 32 | u64::from(seq), at_us: START_US, kind: what }
}

pub(super) fn apply(world: &mut World, batch: &[Input]) -> Vec<Answer> {
    let mut out = Vec::new();
    world.apply(batch, START_US, &mut out);
    out
}

/// One input alone: its answer, if it is given at once.
pub(super) fn apply_input(
    world: &mut World,
    mover_ref: MoverRef,
    seq: u32,
    what: InputKind,
) -> Option<Result<Done, Refusal>> {
    let answers = apply(world, &[input(mover_ref, seq, what)]);
    assert!(answers.len() <= 1 && answers.iter().all(|answer| (answer.mover, answer.seq) == (mover_ref, seq)));
    answers.first().map(|answer| answer.result)
}

/// Saves everything that waits, and gives the answers that were kept back.
pub(super) fn save(world: &mut World, now_us: i64) -> Vec<Answer> {
    let mut out = Vec::new();
    while let Some(pending) = world.take_claims() {
        world.committed(pending.version(), now_us, &mut out).unwrap();
    }
    out
}

/// A snapshot as stores keep it.
pub(super) fn kept(world: &mut World) -> Vec<u8> {
    world.snapshot(false).into_bytes()
}

/// A hunt whose first round is running.
pub(super) fn running_hunt(settings: WorldSettings, seed: u64) -> (World, MoverRef) {
    let mut world = world(settings, seed);
    let first = register(&mut world, &walker(Some(cell(0, 0)))).mover;
    world.tick(START_US, &mut Vec::new());
    save(&mut world, START_US);
    (world, first)
}

pub(super) const NOBODY: MoverRef = MoverRef { slot: 1_000_000, id: MoverId(1) };
