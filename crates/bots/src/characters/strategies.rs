//! How each character chooses among the moves that are left. Knows nothing of requests.

use super::Direction;
use super::board_view::{BoardView, MoveOptions};
use super::chance::Chance;

/// Health below which food counts: enough to cross the largest board twice.
const HEALTH_WEAK: i32 = 50;

/// More steps than any board has cells: what the distance to food counts as in addition when it leads through hazards,
/// and that to food that cannot be reached.
const FAR_STEPS: u32 = 1_000;

/// Any safe move. It looks one step ahead and no further, so it walks into its own traps.
pub(super) fn random(options: &MoveOptions, chance: &mut Chance) -> Direction {
    options.choose(chance, |_| ())
}

/// Prefers the nearest food, around hazards if there is a way, through them if there is none. It does not check whether
/// there is a way out again; only when no food can be reached does it keep to the larger space.
pub(super) fn hungry(view: &BoardView<'_>, options: &MoveOptions, chance: &mut Chance) -> Direction {
    let calm = view.open.without(&view.hazards);
    options.choose(chance, |option| {
        let around = view.plane.distance(option.cell, &calm, &view.food);
        let is_calm = !view.hazards.contains(option.cell) || view.food.contains(option.cell);
        let steps = around
            .filter(|_| is_calm)
            .or_else(|| view.plane.distance(option.cell, &view.open, &view.food).map(|steps| steps + FAR_STEPS));
        match steps {
            Some(steps) => (1, 0, -i64::from(steps)),
            None => (0, i64::from(is_calm), i64::from(view.plane.area(option.cell, &view.open))),
        }
    })
}

/// Prefers the largest space. It eats when it grows weak, and then only where its body still fits.
pub(super) fn flood(view: &BoardView<'_>, options: &MoveOptions, chance: &mut Chance) -> Direction {
    let calm = view.open.without(&view.hazards);
    let is_weak = view.health() < HEALTH_WEAK;
    options.choose(chance, |option| {
        let is_calm = !view.hazards.contains(option.cell);
        let area = view.plane.area(option.cell, &view.open);
        let fits = area >= view.length();
        let steps_to_food = if is_weak {
            let reach = view.plane.distance(option.cell, &calm, &view.food);
            reach.or_else(|| view.plane.distance(option.cell, &view.open, &view.food)).unwrap_or(FAR_STEPS)
        } else {
            0
        };
        (fits, -i64::from(steps_to_food), is_calm, area)
    })
}
