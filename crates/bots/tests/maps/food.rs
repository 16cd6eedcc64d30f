//! Where and when food may come, map by map.

use super::referee::{Step, Tally};
use rules::snake::{Map, Move, Point};

/// The twelve cells of `arcade_maze`, and those of the three castles.
fn own_cells(map: Map) -> Vec<Point> {
    let mirrored = |cells: &[(i8, i8)], side: i8| {
        let mut all: Vec<Point> = cells
            .iter()
            .flat_map(|(x, y)| [(*x, *y), (*y, *x)])
            .flat_map(|(x, y)| [(x, y), (side - 1 - x, y), (x, side - 1 - y), (side - 1 - x, side - 1 - y)])
            .map(|(x, y)| Point::new(x, y))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    match map {
        Map::CastleWall => mirrored(&[(2, 5)], 11),
        Map::CastleWallLarge => mirrored(&[(2, 8), (3, 8)], 19),
        Map::CastleWallExtraLarge => mirrored(&[(3, 8), (4, 8), (3, 12), (4, 12)], 25),
        _ => [(1, 1), (9, 1), (17, 1), (9, 5), (3, 11), (9, 11), (15, 11), (9, 17), (4, 7), (14, 7), (4, 17), (14, 17)]
            .map(|(x, y)| Point::new(x, y))
            .to_vec(),
    }
}

/// Checks what the map did to the food that the rules have left.
pub(crate) fn check(step: &Step<'_>, tally: &mut Tally) -> Result<(), String> {
    let (left, after) = (&step.ruled.food, &step.after.food);
    if after.get(..left.len()).is_none_or(|kept| sorted(kept.to_vec()) != sorted(left.clone())) {
        return Err(format!("food that nobody ate is gone: {left:?} became {after:?}"));
    }
    let new = &after[left.len()..];
    tally.food_came += new.len() as u64;
    let free = free_cells(step);
    if let Some(cell) = new.iter().find(|cell| !free.perhaps.contains(cell)) {
        return Err(format!("food on {cell:?}, where it may not be"));
    }
    let has_doubles = new.iter().enumerate().any(|(at, cell)| new[..at].contains(cell));
    let expected = expected_count(step, &free, new.len(), tally);
    if has_doubles || !expected.contains(&new.len()) {
        return Err(format!("{} new food where {expected:?} is possible", new.len()));
    }
    Ok(())
}

fn expected_count(step: &Step<'_>, free: &FreeCells, new: usize, tally: &mut Tally) -> Vec<usize> {
    let (settings, left) = (&step.rules.settings, step.ruled.food.len());
    let mut by_chance = |percent: u32| {
        if !free.surely.is_empty() && percent > 0 {
            tally.food_draws += 1;
            tally.food_drawn += new as u64;
            tally.food_expected += f64::from(percent) / 100.0;
        }
        if percent == 0 { vec![0] } else { vec![0, 1.min(free.perhaps.len())] }
    };
    match step.rules.map {
        Map::Empty => vec![0],
        map @ (Map::CastleWall | Map::CastleWallLarge | Map::CastleWallExtraLarge) => {
            let most = if map == Map::CastleWallExtraLarge { 4 } else { 2 };
            if step.turn_before() < 10 || left == most {
                vec![0]
            } else {
                vec![1.min(free.surely.len()), 1.min(free.perhaps.len())]
            }
        }
        Map::ArcadeMaze => by_chance(if settings.food_spawn_chance == 0 { 0 } else { settings.food_spawn_chance + 1 }),
        _ if left < settings.minimum_food as usize => {
            vec![(settings.minimum_food as usize - left).min(free.surely.len())]
        }
        _ => by_chance(settings.food_spawn_chance.saturating_sub(1)),
    }
}

/// Where food may come. Two maps also keep it off snakes that are out, whose last move bots do not see: so there are cells that are free
/// whatever it was, and cells that are free after one of the four.
struct FreeCells {
    surely: Vec<Point>,
    perhaps: Vec<Point>,
}

fn free_cells(step: &Step<'_>) -> FreeCells {
    let (board, map) = (step.ruled, step.rules.map);
    let is_beside = |a: Point, b: Point| Move::ALL.iter().any(|step| a.step(*step) == b);
    let on_food = |cell: Point| board.food.contains(&cell);
    let is_castle = matches!(map, Map::CastleWall | Map::CastleWallLarge | Map::CastleWallExtraLarge);
    if !is_castle && map != Map::ArcadeMaze {
        let living =
            |cell: Point| board.living().any(|(_, snake)| snake.body.contains(&cell) || is_beside(snake.body[0], cell));
        let is_dry = |cell: Point| !keeps_off_hazards(map) || !board.hazards.contains(&cell);
        let all = (0..board.width as i8).flat_map(|x| (0..board.height as i8).map(move |y| Point::new(x, y)));
        let free: Vec<Point> = all.filter(|cell| !on_food(*cell) && !living(*cell) && is_dry(*cell)).collect();
        return FreeCells { surely: free.clone(), perhaps: free };
    }
    let is_taken_by = |head: Point, cell: Point| head == cell || (is_castle && is_beside(head, cell));
    let near_food = |cell: Point| is_castle && board.food.iter().any(|food| is_beside(*food, cell));
    let is_open = |cell: &Point| {
        let is_body = board.snakes.iter().any(|snake| snake.body[1..].contains(cell));
        let is_head = board.living().any(|(_, snake)| is_taken_by(snake.body[0], *cell));
        !on_food(*cell) && !near_food(*cell) && !is_body && !is_head
    };
    let perhaps: Vec<Point> = own_cells(map).into_iter().filter(is_open).collect();
    let may_be_head = |cell: Point| {
        let heads = |neck: Point| Move::ALL.map(|step| neck.step(step));
        let out = board.snakes.iter().filter(|snake| !snake.is_alive());
        out.flat_map(|snake| heads(snake.body[1])).any(|head| is_taken_by(head, cell))
    };
    FreeCells { surely: perhaps.iter().copied().filter(|cell| !may_be_head(*cell)).collect(), perhaps }
}

fn keeps_off_hazards(map: Map) -> bool {
    let rivers = [Map::RiversBridges, Map::RiversBridgesLarge, Map::RiversBridgesExtraLarge];
    rivers.contains(&map) || [Map::IslandsBridges, Map::IslandsBridgesLarge].contains(&map)
}

/// Cells in a fixed order, to compare lists whose order means nothing.
pub(crate) fn sorted(cells: impl IntoIterator<Item = Point>) -> Vec<Point> {
    let mut cells: Vec<Point> = cells.into_iter().collect();
    cells.sort_unstable();
    cells
}
