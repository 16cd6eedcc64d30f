//! What may happen to the hazards in a turn, map by map. Where chance has no part, and where it only had one at the beginning, they are
//! exactly those that our rule book puts there; elsewhere they are one of the draws that the law of the map allows.

use super::food::sorted;
use super::referee::Step;
use rules::chance::Seed;
use rules::snake::{Map, Point, turn};

/// Seeds that are tried for one that begins like the game.
const SEEDS_MAX: u64 = 100_000;

/// What a law has to remember of a game.
#[derive(Default)]
pub(crate) struct Memory {
    /// A seed with which our map drew the same beginning.
    seed: Option<Seed>,
    /// The first hazard of `hz_expand_scatter`.
    centre: Option<Point>,
}

/// Whether the map adds hazards in the course of a game.
pub(crate) fn come(map: Map) -> bool {
    use Map::{ExpandBox, ExpandScatter, GrowBox, HazardPits, Royale, Scatter, Sinkholes, SnailMode, Spiral};
    [Royale, SnailMode, Spiral, Scatter, GrowBox, ExpandBox, ExpandScatter, HazardPits, Sinkholes].contains(&map)
}

/// Whether it removes some.
pub(crate) fn go(map: Map) -> bool {
    [Map::SnailMode, Map::HazardPits, Map::HealingPools].contains(&map)
}

pub(crate) fn check(step: &Step<'_>, memory: &mut Memory) -> Result<(), String> {
    match step.rules.map {
        Map::Royale => check_royale(step),
        Map::Spiral | Map::ExpandBox => check_from_seed(step, memory),
        Map::Scatter => check_scatter(step),
        Map::GrowBox => check_grow_box(step),
        Map::ExpandScatter => check_expand_scatter(step, memory),
        Map::HealingPools => check_pools(step),
        _ => same_as_ours(step, Seed(0)),
    }
}

/// Our map, on the same board with the same moves.
fn same_as_ours(step: &Step<'_>, seed: Seed) -> Result<(), String> {
    let ours = turn(step.rules, step.before, step.orders, seed).map_err(|error| error.to_string())?;
    equal(&sorted(ours.hazards.iter().copied()), step)
}

fn equal(expected: &[Point], step: &Step<'_>) -> Result<(), String> {
    let have = sorted(step.after.hazards.iter().copied());
    if expected == have { Ok(()) } else { Err(format!("hazards {have:?} instead of {expected:?}")) }
}

/// All chance is in the centre: a seed that has the same one has the same hazards for ever.
fn check_from_seed(step: &Step<'_>, memory: &mut Memory) -> Result<(), String> {
    let has_begun = !step.after.hazards.is_empty();
    if memory.seed.is_none() && has_begun {
        memory.seed = (0..SEEDS_MAX).map(Seed).find(|seed| same_as_ours(step, *seed).is_ok());
        return memory.seed.map(|_| ()).ok_or_else(|| format!("no seed begins with {:?}", step.after.hazards));
    }
    same_as_ours(step, memory.seed.unwrap_or(Seed(0)))
}

/// The cells without a hazard are a rectangle, which loses one side in every step.
fn check_royale(step: &Step<'_>) -> Result<(), String> {
    let every_n_turns = step.rules.settings.shrink_every_n_turns;
    if !(step.turn_before() + 1).is_multiple_of(every_n_turns) {
        return equal(&sorted(step.before.hazards.iter().copied()), step);
    }
    let free = |hazards: &[Point]| cells(step).filter(|cell| !hazards.contains(cell)).collect::<Vec<_>>();
    let (old, new) = (free(&step.before.hazards), free(&step.after.hazards));
    let lost: Vec<Point> = old.iter().copied().filter(|cell| !new.contains(cell)).collect();
    let is_side = sides(&old).contains(&lost) || old.is_empty();
    let is_smaller =
        new.iter().all(|cell| old.contains(cell)) && step.after.hazards.len() + new.len() == cells(step).count();
    if is_side && is_smaller { Ok(()) } else { Err(format!("the safe area lost {lost:?}")) }
}

/// Every second turn one hazard more, where none was.
fn check_scatter(step: &Step<'_>) -> Result<(), String> {
    let (new, turn) = (new_hazards(step)?, step.turn_before() + 1);
    let is_full = step.before.hazards.len() == cells(step).count();
    let due = usize::from(turn.is_multiple_of(2) && !is_full);
    let is_free = new.iter().all(|cell| !step.before.hazards.contains(cell) && step.before.contains(*cell));
    if new.len() == due && is_free { Ok(()) } else { Err(format!("new hazards {new:?} where {due} is due")) }
}

/// On turn 1 a cell that is not near the edge, then every twelfth turn a row or column at one side of the box, until the board is full.
fn check_grow_box(step: &Step<'_>) -> Result<(), String> {
    let (new, turn) = (new_hazards(step)?, step.turn_before() + 1);
    let old = &*step.before.hazards;
    if (turn - 1) % 12 != 0 || old.len() == cells(step).count() {
        return equal(&sorted(old.clone()), step);
    }
    if turn == 1 {
        let inside = |at: i8, side: u8| (2..=side as i8 - 2).contains(&at);
        let is_good = |cell: &Point| inside(cell.x, step.after.width) && inside(cell.y, step.after.height);
        return if matches!(&new[..], [cell] if is_good(cell)) {
            Ok(())
        } else {
            Err(format!("the box begins at {new:?}"))
        };
    }
    let all = sorted(old.iter().chain(&new).copied());
    let is_box = sides(&all).contains(&new) && all.iter().all(|cell| step.before.contains(*cell)) && is_rectangle(&all);
    if is_box { Ok(()) } else { Err(format!("the box grew by {new:?}")) }
}

/// On turn 1 the centre, then every second turn a cell of the innermost ring that is not full.
fn check_expand_scatter(step: &Step<'_>, memory: &mut Memory) -> Result<(), String> {
    let (new, turn) = (new_hazards(step)?, step.turn_before() + 1);
    let old = &*step.before.hazards;
    if turn.is_multiple_of(2) || old.len() == cells(step).count() {
        return equal(&sorted(old.clone()), step);
    }
    let [cell] = new[..] else { return Err(format!("new hazards {new:?} where one is due")) };
    let centre = *memory.centre.get_or_insert(cell);
    let distance = |cell: Point| {
        (i16::from(cell.x) - i16::from(centre.x)).abs().max((i16::from(cell.y) - i16::from(centre.y)).abs())
    };
    let nearest = cells(step).filter(|cell| !old.contains(cell)).map(distance).min();
    let is_centre = cell == centre && cell.x >= 1 && cell.y >= 1;
    let is_next = !old.contains(&cell) && step.before.contains(cell) && Some(distance(cell)) == nearest;
    if is_next && (turn > 1 || is_centre) { Ok(()) } else { Err(format!("{cell:?} is not the next of {centre:?}")) }
}

/// One pool less in every step.
fn check_pools(step: &Step<'_>) -> Result<(), String> {
    let (turn, every_n_turns) = (step.turn_before(), step.rules.settings.shrink_every_n_turns);
    let old = &*step.before.hazards;
    let is_due = turn > 0 && every_n_turns > 0 && turn.is_multiple_of(every_n_turns) && !old.is_empty();
    if !is_due {
        return equal(&sorted(old.clone()), step);
    }
    let are_left = step.after.hazards.iter().all(|cell| old.contains(cell));
    if are_left && step.after.hazards.len() + 1 == old.len() {
        Ok(())
    } else {
        Err("one pool should be gone".to_owned())
    }
}

/// Entries that came; none may have gone.
fn new_hazards(step: &Step<'_>) -> Result<Vec<Point>, String> {
    let mut new = sorted(step.after.hazards.iter().copied());
    for cell in step.before.hazards.iter() {
        let at = new.iter().position(|have| have == cell).ok_or_else(|| format!("the hazard on {cell:?} is gone"))?;
        new.remove(at);
    }
    Ok(new)
}

/// The first and last column and the lowest and highest row of these cells.
fn sides(of: &[Point]) -> [Vec<Point>; 4] {
    let (xs, ys) = (|| of.iter().map(|cell| cell.x), || of.iter().map(|cell| cell.y));
    let (x_min, x_max, y_min, y_max) = (xs().min(), xs().max(), ys().min(), ys().max());
    let all = |keep: &dyn Fn(&Point) -> bool| of.iter().copied().filter(keep).collect::<Vec<_>>();
    [
        all(&|cell| Some(cell.x) == x_min),
        all(&|cell| Some(cell.x) == x_max),
        all(&|cell| Some(cell.y) == y_min),
        all(&|cell| Some(cell.y) == y_max),
    ]
}

fn is_rectangle(cells: &[Point]) -> bool {
    let [left, _, bottom, _] = sides(cells);
    left.len() * bottom.len() == cells.len()
}

/// All cells of the board, column by column.
fn cells(step: &Step<'_>) -> impl Iterator<Item = Point> + use<> {
    let (width, height) = (step.after.width as i8, step.after.height as i8);
    (0..width).flat_map(move |x| (0..height).map(move |y| Point::new(x, y)))
}
