//! The laws of `solo_maze`: its mazes, its food, and the level in the bottom row. Whether a picture is a maze is decided by finding a
//! division that has these walls: the other direction of what the rule book does.

use super::food::sorted;
use super::referee::{Frame, Step, Tally};
use rules::snake::Point;
use std::collections::BTreeSet;

const SIDE_FIRST: i16 = 7;
const STEPS_TO_FOOD: i16 = 5;

/// The geometry of a level.
struct Level {
    number: u32,
    side: i16,
    low: Point,
}

impl Level {
    fn of(frame: &Frame, number: u32) -> Self {
        let side_max = i16::from(frame.width).min(i16::from(frame.height) - 2);
        let side = (SIDE_FIRST + number as i16).min(side_max);
        let low = |of: u8| ((i16::from(of) - side) / 2) as i8;
        Self { number, side, low: Point::new(low(frame.width), low(frame.height)) }
    }

    fn contains(&self, cell: Point) -> bool {
        let within = |at: i8, low: i8| (0..self.side).contains(&(i16::from(at) - i16::from(low)));
        within(cell.x, self.low.x) && within(cell.y, self.low.y)
    }
}

pub(crate) fn check_start(first: &Frame) -> Result<(), String> {
    check_maze(first, 0, &[]).map_err(|reason| format!("turn 0: {reason}"))
}

/// A new maze when the rules have left no food; otherwise the same maze, and other food only when the game has to end.
pub(crate) fn check_turn(step: &Step<'_>, tally: &mut Tally) -> Result<(), String> {
    let (before, after) = (step.before, step.after);
    let number = (0..after.width)
        .fold(0, |level: u32, x| (level << 1) | u32::from(before.hazards.contains(&Point::new(x as i8, 0))));
    if step.ruled.food.is_empty() {
        tally.mazes += 1;
        tally.food_came += after.food.len() as u64;
        return check_maze(after, number + 1, &before.hazards);
    }
    if sorted(after.hazards.iter().copied()) != sorted(before.hazards.iter().copied()) {
        return Err("the maze has changed".to_owned());
    }
    if after.food == before.food {
        // Food that has to run away may come to its own cell again, where the maze is so small.
        return Ok(());
    }
    let level = Level::of(after, number);
    let side_max = i16::from(after.width).min(i16::from(after.height) - 2);
    let snake = &step.ruled.snakes[0];
    let has_to_run = number as i16 - 5 > side_max - SIDE_FIRST && steps(snake.body[0], before.food[0]) < STEPS_TO_FOOD;
    if !has_to_run {
        return Err(format!("food moved from {:?} to {:?}", before.food, after.food));
    }
    tally.food_ran += 1;
    check_food(&level, after, &snake.body, &before.hazards)
}

fn check_maze(frame: &Frame, number: u32, walls_before: &[Point]) -> Result<(), String> {
    let level = Level::of(frame, number);
    let mut expected: BTreeSet<Point> =
        (0..frame.width).filter(|x| number >> (frame.width - 1 - x) & 1 == 1).map(|x| Point::new(x as i8, 0)).collect();
    let all = (0..frame.width as i8).flat_map(|x| (1..frame.height as i8).map(move |y| Point::new(x, y)));
    expected.extend(all.filter(|cell| !level.contains(*cell)));
    let walls: BTreeSet<Point> = frame.hazards.iter().copied().filter(|cell| level.contains(*cell)).collect();
    let relative = walls.iter().map(|cell| Point::new(cell.x - level.low.x, cell.y - level.low.y)).collect();
    expected.extend(&walls);
    if sorted(frame.hazards.iter().copied()) != Vec::from_iter(expected) {
        return Err(format!("hazards of level {number} are {:?}", frame.hazards));
    }
    if !is_divided(&relative, level.side as i8) {
        return Err(format!("no division has the walls {relative:?}"));
    }
    let Some((health, body)) = &frame.snakes[0] else { return Err("a new maze without a snake".to_owned()) };
    let tail = Point::new(level.low.x, level.low.y - 1);
    let is_at_start = body[0] == level.low && body[1..].iter().all(|point| *point == tail);
    if *health != 100 || body.len() != number as usize + 3 || !is_at_start {
        return Err(format!("in maze {number} the snake starts as {health} {body:?}"));
    }
    check_food(&level, frame, body, walls_before)
}

fn check_food(level: &Level, frame: &Frame, body: &[Point], walls_before: &[Point]) -> Result<(), String> {
    let is_good = |cell: &Point| {
        let is_free = !frame.hazards.contains(cell) && !walls_before.contains(cell) && !body.contains(cell);
        level.contains(*cell) && is_free && steps(body[0], *cell) >= STEPS_TO_FOOD.min(level.side / 2)
    };
    let all = (0..frame.width as i8).flat_map(|x| (0..frame.height as i8).map(move |y| Point::new(x, y)));
    let share_good = all.filter(is_good).count() as f64 / f64::from(level.side * level.side);
    match &frame.food[..] {
        [cell] if is_good(cell) => Ok(()),
        // A hundred tries may fail, but not so often that we would ever see it in a roomy maze.
        [] if (1.0 - share_good).powi(100) > 1e-9 => Ok(()),
        food => Err(format!("food on {food:?} in maze {}", level.number)),
    }
}

fn steps(a: Point, b: Point) -> i16 {
    (i16::from(a.x) - i16::from(b.x)).abs() + (i16::from(a.y) - i16::from(b.y)).abs()
}

/// A room: all bounds inclusive; whether its right column and its top row are walls of the rooms around.
#[derive(Clone, Copy)]
struct Room {
    x: (i8, i8),
    y: (i8, i8),
    has_wall: (bool, bool),
}

/// Columns and rows in which there is a hole of a wall around.
type Holes = (Vec<i8>, Vec<i8>);

fn is_divided(walls: &BTreeSet<Point>, side: i8) -> bool {
    is_room(walls, Room { x: (0, side - 1), y: (0, side - 1), has_wall: (false, false) }, &(vec![], vec![]))
}

/// Whether the walls in this room are those of some division.
fn is_room(walls: &BTreeSet<Point>, room: Room, holes: &Holes) -> bool {
    let Room { x: (left, right), y: (bottom, top), has_wall } = room;
    let choices = |first: i8, last: i8, holes: &[i8]| -> Vec<Option<i8>> {
        let open: Vec<_> = (first + 1..last - 1).filter(|at| !holes.contains(at)).map(Some).collect();
        if open.is_empty() { vec![None] } else { open }
    };
    let is_small = right - left <= 2 && top - bottom <= 2;
    let (columns, rows) = (choices(left, right, &holes.0), choices(bottom, top, &holes.1));
    if is_small || (columns == [None] && rows == [None]) {
        let free_to = |last: i8, is_wall: bool| if is_wall { last } else { last + 1 };
        let mut cells = (left..free_to(right, has_wall.0))
            .flat_map(|x| (bottom..free_to(top, has_wall.1)).map(move |y| Point::new(x, y)));
        return !cells.any(|cell| walls.contains(&cell));
    }
    columns.iter().any(|column| rows.iter().any(|row| is_division(walls, room, holes, (*column, *row))))
}

/// Whether these two walls stand in the room, with holes where they belong, and the rooms between them are rooms.
fn is_division(walls: &BTreeSet<Point>, room: Room, holes: &Holes, (column, row): (Option<i8>, Option<i8>)) -> bool {
    let Room { x: (left, right), y: (bottom, top), has_wall } = room;
    let mut holes = holes.clone();
    if let Some(x) = column {
        let gaps: Vec<i8> = (bottom..=top).filter(|y| !walls.contains(&Point::new(x, *y))).collect();
        let is_right = match (&gaps[..], row) {
            ([below, above], Some(row)) => *below < row && row < *above && *above < top,
            ([gap], None) => *gap < top,
            _ => false,
        };
        if !is_right {
            return false;
        }
        holes.1.extend(gaps);
    }
    if let Some(y) = row {
        let gaps: Vec<i8> = (left..=right).filter(|x| !walls.contains(&Point::new(*x, y))).collect();
        let [gap] = gaps[..] else { return false };
        if gap >= column.unwrap_or(right) {
            return false;
        }
        holes.0.push(gap);
    }
    let parts = |at: Option<i8>, (first, last): (i8, i8), is_wall: bool| match at {
        Some(at) => vec![((first, at), true), ((at + 1, last), is_wall)],
        None => vec![((first, last), is_wall)],
    };
    let rows = parts(row, room.y, has_wall.1);
    parts(column, room.x, has_wall.0).into_iter().all(|(x, right_wall)| {
        rows.iter().all(|(y, top_wall)| is_room(walls, Room { x, y: *y, has_wall: (right_wall, *top_wall) }, &holes))
    })
}
