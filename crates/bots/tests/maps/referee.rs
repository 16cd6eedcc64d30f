//! Goes through a game frame by frame: finds the moves, plays the rules without the map, and asks the map's laws about the rest.

use super::{food, hazards, maze, start};
use rules::chance::Seed;
use rules::snake::{Board, Map, Move, MoveOrder, Point, Rules, Seat, Snake, is_over, turn};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The board as bots see it: living snakes only.
#[derive(Clone)]
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
#[derive(Clone)]
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
    let mut tried = 0;
    let agreed = try_orders(rules, before, after, &mut |orders| {
        tried += 1;
        if tried > COMBINATIONS_MAX {
            return ControlFlow::Break(Err(format!("undecided: {COMBINATIONS_MAX} combinations of moves were tried")));
        }
        let ruled = match turn(&without_map, before, &orders, Seed(0)) {
            Ok(ruled) if has_survivors(rules, &ruled, after) => ruled,
            Ok(_) => return ControlFlow::Continue(()),
            Err(error) => return ControlFlow::Break(Err(error.to_string())),
        };
        let step = Step { rules, before, ruled: &ruled, after, orders: &orders };
        match laws(&step, memory, tally) {
            Ok(()) => {
                tally.count(&step);
                ControlFlow::Break(Ok(adopt(ruled, after)))
            }
            Err(broken) => {
                reason = broken;
                ControlFlow::Continue(())
            }
        }
    })?;
    match agreed {
        ControlFlow::Break(verdict) => verdict,
        ControlFlow::Continue(()) => Err(reason),
    }
}

fn laws(step: &Step<'_>, memory: &mut hazards::Memory, tally: &mut Tally) -> Result<(), String> {
    if step.rules.map == Map::SoloMaze {
        return maze::check_turn(step, tally);
    }
    food::check(step, tally)?;
    hazards::check(step, memory)
}

/// Combinations of moves that are tried before a turn counts as undecided.
const COMBINATIONS_MAX: usize = 1_000_000;

/// Tries all orders that may have been given, until one is decisive: one for each survivor, and for each snake that was seen last before
/// this turn those that it may have died of.
fn try_orders<B>(
    rules: &Rules,
    before: &Board,
    after: &Frame,
    attempt: &mut impl FnMut(Vec<MoveOrder>) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, String> {
    let mut choices = vec![];
    for (seat, snake) in before.living() {
        let head = snake.head().ok_or("a snake without a body")?;
        let survivor = after.snakes.get(seat.index()).and_then(Option::as_ref);
        let is_moved_by_map = rules.map == Map::SoloMaze;
        let leads_there = |step: &Move| survivor.is_none_or(|(_, body)| is_moved_by_map || head.step(*step) == body[0]);
        let steps =
            Move::ALL.into_iter().filter(leads_there).map(|step| PossibleStep::of(rules, before, after, snake, step));
        let steps: Vec<_> = steps.collect();
        if steps.is_empty() {
            return Err(format!("no move leads {seat:?} to where it is"));
        }
        choices.push(Choice { seat, is_survivor: survivor.is_some(), length: snake.body.len(), steps });
    }
    // Survivors first: where they are is known, so most of what the others cannot have done is seen early.
    choices.sort_by_key(|choice| choice.steps.len());
    let is_gone = |food: &&Point| rules.map != Map::SoloMaze && !after.food.contains(food);
    let eaten: Vec<_> = before.food.iter().filter(is_gone).copied().collect();
    Ok(combine(&choices, &eaten, &mut vec![], attempt))
}

/// What a snake may have done.
struct Choice {
    seat: Seat,
    is_survivor: bool,
    length: usize,
    steps: Vec<PossibleStep>,
}

/// A move that a snake may have made.
struct PossibleStep {
    step: Move,
    cell: Point,
    is_off_board: bool,
    /// Whether a snake may die of it wherever the others went.
    is_deadly: bool,
    /// Whose bodies are on the cell: a snake dies of one unless its owner leaves the board in the same turn.
    bodies: Vec<Seat>,
}

impl PossibleStep {
    fn of(rules: &Rules, before: &Board, after: &Frame, snake: &Snake, step: Move) -> Self {
        let cell = snake.body[0].step(step);
        let is_off_board = !before.contains(cell);
        let hazards = before.hazards.iter().chain(&after.hazards).filter(|hazard| **hazard == cell).count() as i64;
        let damage = 1 + hazards * i64::from(rules.settings.hazard_damage_per_turn).max(0);
        let has_body = |other: &Snake| other.body[..other.body.len() - 1].contains(&cell);
        Self {
            step,
            cell,
            is_off_board,
            is_deadly: is_off_board || i64::from(snake.health) <= damage,
            bodies: before.living().filter(|(_, other)| has_body(other)).map(|(seat, _)| seat).collect(),
        }
    }
}

/// Tries the orders that begin with what is chosen for the first snakes.
fn combine<'a, B>(
    choices: &'a [Choice],
    eaten: &[Point],
    chosen: &mut Vec<&'a PossibleStep>,
    attempt: &mut impl FnMut(Vec<MoveOrder>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    if !is_possible(choices, chosen) || !may_be_eaten(choices, eaten, chosen) {
        return ControlFlow::Continue(());
    }
    let Some(choice) = choices.get(chosen.len()) else {
        let order =
            |(choice, chosen): (&Choice, &&PossibleStep)| MoveOrder { seat: choice.seat, direction: Some(chosen.step) };
        return attempt(choices.iter().zip(chosen.iter()).map(order).collect());
    };
    for step in &choice.steps {
        chosen.push(step);
        combine(choices, eaten, chosen, attempt)?;
        chosen.pop();
    }
    ControlFlow::Continue(())
}

/// Whether each food that is gone was eaten by a snake, or still may have been.
fn may_be_eaten(choices: &[Choice], eaten: &[Point], chosen: &[&PossibleStep]) -> bool {
    let open = &choices[chosen.len()..];
    eaten.iter().all(|food| {
        chosen.iter().any(|step| step.cell == *food)
            || open.iter().any(|choice| choice.steps.iter().any(|step| step.cell == *food))
    })
}

/// Whether what is chosen for the first snakes may lead to who lives: no survivor meets the head of a snake that is as long, and each of the
/// others dies of something. It rejects nothing that the rules allow; what it lets through is played by them.
fn is_possible(choices: &[Choice], chosen: &[&PossibleStep]) -> bool {
    let (decided, open) = choices.split_at(chosen.len());
    let decided = || decided.iter().zip(chosen);
    decided().all(|(choice, step)| {
        let is_rival = |other: &Choice| other.seat != choice.seat && other.length >= choice.length;
        let mut met = decided().filter(|(other, theirs)| is_rival(other) && theirs.cell == step.cell);
        if choice.is_survivor {
            // Who starves is gone before heads meet.
            return met.all(|(other, theirs)| theirs.is_deadly && !other.is_survivor);
        }
        let may_stay = |owner: &Seat| {
            let theirs = decided().find(|(other, _)| other.seat == *owner);
            theirs.is_none_or(|(_, theirs)| !theirs.is_off_board)
        };
        let may_come = |other: &Choice| is_rival(other) && other.steps.iter().any(|theirs| theirs.cell == step.cell);
        step.is_deadly || met.next().is_some() || step.bodies.iter().any(may_stay) || open.iter().any(may_come)
    })
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
        board.snakes.push(Snake { health: *health, body: body.clone(), elimination: None });
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
        let others = [
            ("a snake that was hurt by a hazard", self.hurt, has_hazards),
            ("new food", self.food_came, map != Map::Empty),
            ("a new maze", self.mazes, map == Map::SoloMaze),
            ("food that ran away", self.food_ran, map == Map::SoloMaze),
        ];
        let missing = others.into_iter().filter(|(_, count, is_due)| *is_due && *count == 0).map(|(name, ..)| name);
        self.hazards_missing(map).into_iter().chain(missing).collect()
    }

    /// The same of hazards that the map moves, which must happen on each of its boards.
    pub(crate) fn hazards_missing(&self, map: Map) -> Vec<&'static str> {
        let moves = [
            ("a hazard that came", self.hazards_came, hazards::come(map) || map == Map::SoloMaze),
            ("a hazard that went", self.hazards_went, hazards::go(map) || map == Map::SoloMaze),
        ];
        moves.into_iter().filter(|(_, count, is_due)| *is_due && *count == 0).map(|(name, ..)| name).collect()
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
