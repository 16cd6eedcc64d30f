//! Prefers the largest space. It eats when it grows weak, and then only where its body still fits.

use super::Direction;
use super::board_view::{BoardView, MoveOptions};
use super::chance::Chance;

/// Health below which food counts: enough to cross the largest board twice.
const HEALTH_WEAK: i32 = 50;

/// Steps to food that cannot be reached: more than any board has cells.
const OUT_OF_REACH_STEPS: u32 = 1_000;

pub(super) fn choose(sight: &BoardView<'_>, ways: &MoveOptions, chance: &mut Chance) -> Direction {
    let calm = sight.open.without(&sight.hazards);
    let is_weak = sight.health() < HEALTH_WEAK;
    ways.choose(chance, |way| {
        let is_calm = !sight.hazards.contains(way.cell);
        let area = sight.plane.area(way.cell, &sight.open);
        let fits = area >= sight.length();
        let steps_to_food = if is_weak {
            let reach = sight.plane.distance(way.cell, &calm, &sight.food);
            reach.or_else(|| sight.plane.distance(way.cell, &sight.open, &sight.food)).unwrap_or(OUT_OF_REACH_STEPS)
        } else {
            0
        };
        (fits, -i64::from(steps_to_food), is_calm, area)
    })
}
