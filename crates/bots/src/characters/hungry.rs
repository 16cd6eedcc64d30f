//! Prefers the nearest food, around hazards if there is a way, through them if there is none. It does not check whether
//! there is a way out again; only when no food can be reached does it keep to the larger space.

use super::Direction;
use super::board_view::{BoardView, MoveOptions};
use super::chance::Chance;

/// Steps that the distance to food counts as when it leads through hazards: more than any board has cells.
const HAZARD_STEPS: u32 = 1_000;

pub(super) fn choose(sight: &BoardView<'_>, ways: &MoveOptions, chance: &mut Chance) -> Direction {
    let calm = sight.open.without(&sight.hazards);
    ways.choose(chance, |way| {
        let around = sight.plane.distance(way.cell, &calm, &sight.food);
        let is_calm = !sight.hazards.contains(way.cell) || sight.food.contains(way.cell);
        let steps = around
            .filter(|_| is_calm)
            .or_else(|| sight.plane.distance(way.cell, &sight.open, &sight.food).map(|steps| steps + HAZARD_STEPS));
        match steps {
            Some(steps) => (1, 0, -i64::from(steps)),
            None => (0, i64::from(is_calm), i64::from(sight.plane.area(way.cell, &sight.open))),
        }
    })
}
