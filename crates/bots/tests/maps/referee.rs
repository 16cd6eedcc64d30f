//! Goes through a game frame by frame: finds the moves, plays the rules without the map, and asks the map's laws about the rest.

use super::{food, hazards, maze, start};
use rules::chance::Seed;
use rules::snake::{Board, Map, Move, MoveOrder, Point, Rules, Seat, is_over, turn};
use std::sync::Arc;

/// The board as bots see it: living snakes only.
pub(crate) struct Frame {
    pub(crate) turn: u32,
    pub(crate) width: u8,
    pub(crate) height: u8,
    pub(crate) food: Vec<Point>,
    pub(crate) hazards: Vec<Point>,
    /// Health and body by seat; `None` for those that are out.
    pub(crate) snakes: Vec<Option<(u8, Vec<Point>)>>,
}

/// A game with the frame of every turn.
pub(crate) struct Game {
    pub(crate) name: String,
    pub(crate) rules: Rules,
    pub(crate) frames: Vec<Frame>,
}

/// What games came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    games: u64,
    turns: u64,
    /// Turns after which a hazard was there that was not there before, and the other way round.
    pub(crate) hazards_came: u64,
    pub(crate) hazards_went: u64,
    hurt: u64,
    pub(crate) food_came: u64,
    /// Turns in which chance decided about food where there was room for it, what share of them the rules promise to have some, and how
    /// many had.
    pub(crate) food_draws: u64,
    pub(crate) food_expected: f64,
    pub(crate) food_drawn: u64,
    pub(crate) mazes: u64,
    pub(crate) food_ran: u64,
}

/// What the laws of a map look at.
pub(crate) struct Step<'a> {
    pub(crate) rules: &'a Rules,
    /// Before the moves; snakes that are out are in it, too.
    pub(crate) before: &'a Board,
    /// After the rules, before the map has done anything. It has the number of the turn that was played.
    pub(crate) ruled: &'a Board,
    pub(crate) after: &'a Frame,
    pub(crate) orders: &'a [MoveOrder],
}

impl Step<'_> {
    /// The number of the turn while the map acts: that of the turn before.
    pub(crate) fn turn_before(&self) -> u32 {
        self.before.turn
    }
}

/// Whether all frames follow from each other.
pub(crate) fn referee(game: &Game, tally: &mut Tally) -> Result<(), String> {
    let first = &game.frames[0];
    start::check(&game.rules, first)?;
    let mut board = board_of(first);
    let mut memory = hazards::Memory::default();
    for after in &game.frames[1..] {
        board = next(&game.rules, &board, after, &mut memory, tally)
            .map_err(|reason| format!("turn {}: {reason}", after.turn))?;
    }
    tally.games += 1;
    tally.turns += u64::from(board.turn);
    Ok(())
}

fn next(
    rules: &Rules,
    before: &Board,
    after: &Frame,
    memory: &mut hazards::Memory,
    tally: &mut Tally,
) -> Result<Board, String> {
    if after.turn != before.turn + 1 {
        return Err(format!("follows turn {}", before.turn));
    }
    if is_over(rules, before) {
        return Err("is played after the end".to_owned());
    }
    let without_map = Rules { map: Map::Empty, ..*rules };
    let mut reason = "no moves lead to these snakes".to_owned();
    for orders in possible_orders(rules, before, after)? {
        let ruled = turn(&without_map, before, &orders, Seed(0)).map_err(|error| error.to_string())?;
        if !has_survivors(rules, &ruled, after) {
            continue;
        }
        let step = Step { rules, before, ruled: &ruled, after, orders: &orders };
        match laws(&step, memory, tally) {
            Ok(()) => {
                tally.count(&step);
                return Ok(adopt(ruled, after));
            }
            Err(broken) => reason = broken,
        }
    }
    Err(reason)
}

fn laws(step: &Step<'_>, memory: &mut hazards::Memory, tally: &mut Tally) -> Result<(), String> {
    if step.rules.map == Map::SoloMaze {
        return maze::check_turn(step, tally);
    }
    food::check(step, tally)?;
    hazards::check(step, memory)
}

/// Combinations of moves that are tried before a turn counts as wrong.
const COMBINATIONS_MAX: usize = 65_536;

/// All orders that may have been given: one for each survivor, and for each snake that was seen last before this turn those that it may have
/// died of.
fn possible_orders(rules: &Rules, before: &Board, after: &Frame) -> Result<Vec<Vec<MoveOrder>>, String> {
    let mut choices = vec![];
    for (seat, snake) in before.living() {
        let head = snake.head().ok_or("a snake without a body")?;
        let survivor = after.snakes.get(seat.index()).and_then(Option::as_ref);
        let is_moved_by_map = rules.map == Map::SoloMaze;
        let leads_there = |step: &Move| survivor.is_none_or(|(_, body)| is_moved_by_map || head.step(*step) == body[0]);
        let step = |step: Move| {
            let cell = head.step(step);
            let is_hurt = before.hazards.contains(&cell) || after.hazards.contains(&cell);
            let is_deadly = !before.contains(cell) || is_body(before, cell);
            let needs_no_other = survivor.is_some() || snake.health <= 1 || is_hurt || is_deadly;
            PossibleStep { step, cell, needs_no_other }
        };
        let steps: Vec<_> = Move::ALL.into_iter().filter(leads_there).map(step).collect();
        if steps.is_empty() {
            return Err(format!("no move leads {seat:?} to where it is"));
        }
        choices.push((seat, steps));
    }
    // Survivors first: where they are is known, so most of what the others cannot have done is seen early.
    choices.sort_by_key(|(_, steps)| steps.len());
    let mut found = vec![];
    combine(&choices, &mut vec![], &mut found);
    Ok(found)
}

/// A move that a snake may have made.
#[derive(Clone, Copy)]
struct PossibleStep {
    step: Move,
    cell: Point,
    /// Whether it agrees with what became of the snake wherever the others went. A snake that died elsewhere met another head.
    needs_no_other: bool,
}

/// Adds the orders that begin with what is chosen for the first snakes.
fn combine(choices: &[(Seat, Vec<PossibleStep>)], chosen: &mut Vec<PossibleStep>, found: &mut Vec<Vec<MoveOrder>>) {
    let meets_another = |chosen: &[PossibleStep], cell: Point| {
        let is_met = chosen.iter().filter(|other| other.cell == cell).count() > 1;
        is_met || choices[chosen.len()..].iter().any(|(_, steps)| steps.iter().any(|step| step.cell == cell))
    };
    if found.len() == COMBINATIONS_MAX
        || !chosen.iter().all(|step| step.needs_no_other || meets_another(chosen, step.cell))
    {
        return;
    }
    let Some((_, steps)) = choices.get(chosen.len()) else {
        let order =
            |((seat, _), chosen): (&(Seat, _), &PossibleStep)| MoveOrder { seat: *seat, direction: Some(chosen.step) };
        found.push(choices.iter().zip(chosen.iter()).map(order).collect());
        return;
    };
    for step in steps {
        chosen.push(*step);
        combine(choices, chosen, found);
        chosen.pop();
    }
}

/// Whether a living snake's body, without its tail, is on the cell.
fn is_body(board: &Board, cell: Point) -> bool {
    board.living().any(|(_, snake)| snake.body[..snake.body.len() - 1].contains(&cell))
}

/// Whether health and bodies of the living are those of the frame, and all others are out.
fn has_survivors(rules: &Rules, ruled: &Board, after: &Frame) -> bool {
    let is_moved_by_map = rules.map == Map::SoloMaze && ruled.food.is_empty();
    ruled.snakes.iter().zip(&after.snakes).all(|(snake, seen)| match seen {
        Some((health, body)) => snake.is_alive() && (is_moved_by_map || (snake.health, &snake.body) == (*health, body)),
        None => !snake.is_alive(),
    })
}

/// The board on which the next turn is played: the rules' with what the map made of it.
fn adopt(mut ruled: Board, after: &Frame) -> Board {
    ruled.food.clone_from(&after.food);
    ruled.hazards = Arc::new(after.hazards.clone());
    for (snake, seen) in ruled.snakes.iter_mut().zip(&after.snakes) {
        if let Some((health, body)) = seen {
            (snake.health, snake.body) = (*health, body.clone());
        }
    }
    ruled
}

fn board_of(frame: &Frame) -> Board {
    let mut board = Board::new(frame.width, frame.height);
    board.turn = frame.turn;
    board.food.clone_from(&frame.food);
    board.hazards = Arc::new(frame.hazards.clone());
    for (health, body) in frame.snakes.iter().flatten() {
        board.snakes.push(rules::snake::Snake { health: *health, body: body.clone(), elimination: None });
    }
    board
}

impl Tally {
    fn count(&mut self, step: &Step<'_>) {
        let (before, after) = (&*step.before.hazards, &step.after.hazards);
        self.hazards_came += u64::from(after.iter().any(|cell| !before.contains(cell)));
        self.hazards_went += u64::from(before.iter().any(|cell| !after.contains(cell)));
        let is_hurt = |seat: Seat, health: u8| health + 1 < step.before.snakes[seat.index()].health;
        let seats = step.ruled.snakes.iter().enumerate().map(|(at, snake)| (Seat(at as u8), snake));
        self.hurt += seats.filter(|(seat, snake)| is_hurt(*seat, snake.health)).count() as u64;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.games += other.games;
        self.turns += other.turns;
        self.hazards_came += other.hazards_came;
        self.hazards_went += other.hazards_went;
        self.hurt += other.hurt;
        self.food_came += other.food_came;
        self.food_draws += other.food_draws;
        self.food_expected += other.food_expected;
        self.food_drawn += other.food_drawn;
        self.mazes += other.mazes;
        self.food_ran += other.food_ran;
    }

    /// The figures as cells of a table.
    pub(crate) fn cells(&self) -> String {
        let Self { games, turns, hazards_came, hazards_went, hurt, food_came, mazes, food_ran, .. } = self;
        format!("{games} | {turns} | {hazards_came} | {hazards_went} | {hurt} | {food_came} | {mazes} | {food_ran}")
    }

    /// What no game has done, of all that can happen on the map.
    pub(crate) fn branches_missing(&self, map: Map) -> Vec<&'static str> {
        let has_hazards = !matches!(map, Map::Standard | Map::Empty | Map::HealingPools | Map::SoloMaze);
        let all = [
            ("a hazard that came", self.hazards_came, hazards::come(map) || map == Map::SoloMaze),
            ("a hazard that went", self.hazards_went, hazards::go(map) || map == Map::SoloMaze),
            ("a snake that was hurt by a hazard", self.hurt, has_hazards),
            ("new food", self.food_came, map != Map::Empty),
            ("a new maze", self.mazes, map == Map::SoloMaze),
            ("food that ran away", self.food_ran, map == Map::SoloMaze),
        ];
        all.into_iter().filter(|(_, count, is_due)| *is_due && *count == 0).map(|(name, ..)| name).collect()
    }

    /// Whether food came as often as the rules of the map promise, within six standard deviations.
    pub(crate) fn food_rate(&self, map: Map) -> Result<(), String> {
        let (draws, drawn) = (self.food_draws as f64, self.food_drawn as f64);
        let share = self.food_expected / draws.max(1.0);
        let deviation = (draws * share * (1.0 - share)).sqrt();
        if (drawn - self.food_expected).abs() > 6.0 * deviation {
            let expected = self.food_expected;
            return Err(format!("{drawn} food in {draws} turns, {expected} expected on map {}", map.name()));
        }
        Ok(())
    }
}
