//! What lies on the board: points, snakes, food, hazards. Plain data with plain queries.
//!
//! A board is kept small because one process plays thousands of matches: a point takes two bytes, a body is one flat
//! list. This file does not know the rules: nothing here moves, eats or dies.

use std::fmt;
use std::sync::Arc;

/// The longest side of a board, in cells. The largest official board is 25x25.
pub const SIDE_MAX: u8 = 25;
/// The most snakes that any map takes.
pub const SNAKES_MAX: u8 = 16;
/// The health of a snake that has just eaten, and the most that it can have.
pub const HEALTH_MAX: u8 = 100;
/// The number of stacked points with which every snake starts.
pub const START_LENGTH: usize = 3;

// snail_mode keeps pending hazards one board height above the board.
const _: () = assert!(2 * SIDE_MAX as i32 <= i8::MAX as i32);

/// A cell: (0, 0) is bottom left, x grows to the right, y upwards. Ordered column by column (by x, then by y).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// Column, 0 at the left edge. May leave the board for one turn: that is how a snake hits a wall.
    pub x: i8,
    /// Row, 0 at the bottom edge.
    pub y: i8,
}

impl Point {
    /// The cell in column `x`, row `y`.
    #[must_use]
    pub const fn new(x: i8, y: i8) -> Self {
        Self { x, y }
    }

    /// The neighbour in one direction, whether it is on the board or not.
    #[must_use]
    pub const fn step(self, step: Move) -> Self {
        let (dx, dy) = match step {
            Move::Up => (0, 1),
            Move::Down => (0, -1),
            Move::Left => (-1, 0),
            Move::Right => (1, 0),
        };
        Self { x: self.x.wrapping_add(dx), y: self.y.wrapping_add(dy) }
    }

    /// Whether the cell lies on a board of this size.
    #[must_use]
    pub fn is_inside(self, width: u8, height: u8) -> bool {
        let within = |coordinate: i8, side: u8| u8::try_from(coordinate).is_ok_and(|coordinate| coordinate < side);
        within(self.x, width) && within(self.y, height)
    }
}

/// A step of one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Move {
    /// y + 1
    Up,
    /// y - 1
    Down,
    /// x - 1
    Left,
    /// x + 1
    Right,
}

impl Move {
    /// All four, in the order of the official documentation. A place in it is the code of a move in the logs of matches.
    pub const ALL: [Self; 4] = [Self::Up, Self::Down, Self::Left, Self::Right];

    /// Reads exactly "up", "down", "left" or "right"; anything else is no move.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.as_str() == text)
    }

    /// The word which bots use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Left => "left",
            Self::Right => "right",
        }
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A snake's place in [`Board::snakes`], the same for the whole match. Rules know seats, not bots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(pub u8);

impl Seat {
    /// The seat of a snake by its index in [`Board::snakes`].
    pub(crate) fn of_index(index: usize) -> Self {
        Self(u8::try_from(index).unwrap_or(u8::MAX))
    }

    /// The index in [`Board::snakes`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What one bot ordered for one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoveOrder {
    /// For whom.
    pub seat: Seat,
    /// Where to; `None` is an answer that is not one of the four words, which makes the snake go straight on.
    pub direction: Option<Move>,
}

/// Why a snake left the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Its head met the body of another snake.
    SnakeCollision,
    /// Its head met its own body.
    SelfCollision,
    /// Its health reached 0.
    OutOfHealth,
    /// Its head met the head of a snake that was not shorter.
    HeadCollision,
    /// A part of it left the board.
    WallCollision,
    /// Its health reached 0 on a hazard.
    Hazard,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 6] = [
        Self::SnakeCollision,
        Self::SelfCollision,
        Self::OutOfHealth,
        Self::HeadCollision,
        Self::WallCollision,
        Self::Hazard,
    ];

    /// The official word, as bots and viewers know it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SnakeCollision => "snake-collision",
            Self::SelfCollision => "snake-self-collision",
            Self::OutOfHealth => "out-of-health",
            Self::HeadCollision => "head-collision",
            Self::WallCollision => "wall-collision",
            Self::Hazard => "hazard",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a snake left the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Elimination {
    /// Why.
    pub cause: Cause,
    /// The snake that it ran into; itself for a self-collision; `None` for walls, hunger and hazards.
    pub by: Option<Seat>,
    /// The number of the turn that eliminated it: the board's turn before the move, plus one.
    pub turn: u32,
}

/// One snake, alive or eliminated. An eliminated snake keeps its last body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Snake {
    /// 0 to [`HEALTH_MAX`].
    pub health: u8,
    /// Head first; points may be stacked after a start or a meal.
    pub body: Vec<Point>,
    /// `None` while it is alive.
    pub elimination: Option<Elimination>,
}

impl Snake {
    /// A snake at the start of a game: full health, all points on one cell.
    #[must_use]
    pub fn at(start: Point) -> Self {
        Self { health: HEALTH_MAX, body: vec![start; START_LENGTH], elimination: None }
    }

    /// Whether it is still in the game.
    #[must_use]
    pub const fn is_alive(&self) -> bool {
        self.elimination.is_none()
    }

    /// The first point; `None` only for a body without points, which no rule produces.
    #[must_use]
    pub fn head(&self) -> Option<Point> {
        self.body.first().copied()
    }

    /// The number of points, stacked ones included.
    #[must_use]
    pub fn length(&self) -> usize {
        self.body.len()
    }

    /// One copy more of the last point: the growth shows when the tail next moves.
    pub(crate) fn grow(&mut self) {
        self.body.extend(self.body.last().copied());
    }

    /// Takes it out of the game.
    pub(crate) fn eliminate(&mut self, cause: Cause, by: Option<Seat>, turn: u32) {
        self.elimination = Some(Elimination { cause, by, turn });
    }
}

/// The whole state of a game between two turns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Board {
    /// Turns played so far.
    pub turn: u32,
    /// Columns.
    pub width: u8,
    /// Rows.
    pub height: u8,
    /// Food, at most one per cell.
    pub food: Vec<Point>,
    /// Hazards; a cell named twice hurts twice. May hold entries above the board, see [`Board::hazards_on_board`].
    ///
    /// Shared, because most turns of most maps leave them as they are: the boards of a match, and all matches on a map whose hazards
    /// never change, have one list. [`Arc::make_mut`] copies it where it is about to change.
    pub hazards: Arc<Vec<Point>>,
    /// All snakes by seat, eliminated ones too.
    pub snakes: Vec<Snake>,
}

impl Board {
    /// An empty board before its first turn.
    #[must_use]
    pub fn new(width: u8, height: u8) -> Self {
        Self { turn: 0, width, height, food: Vec::new(), hazards: Arc::default(), snakes: Vec::new() }
    }

    /// Whether a cell lies on the board.
    #[must_use]
    pub fn contains(&self, point: Point) -> bool {
        point.is_inside(self.width, self.height)
    }

    /// All cells, column by column.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Point> + use<> {
        let (columns, rows) = (side_as_coordinate(self.width), side_as_coordinate(self.height));
        (0..columns).flat_map(move |x| (0..rows).map(move |y| Point::new(x, y)))
    }

    /// The snakes still in the game, by seat.
    pub fn living(&self) -> impl Iterator<Item = (Seat, &Snake)> {
        self.snakes
            .iter()
            .enumerate()
            .filter(|(_, snake)| snake.is_alive())
            .map(|(i, snake)| (Seat::of_index(i), snake))
    }

    /// The snakes still in the game, to be changed.
    pub(crate) fn living_mut(&mut self) -> impl Iterator<Item = &mut Snake> {
        self.snakes.iter_mut().filter(|snake| snake.is_alive())
    }

    /// One hazard entry more on a cell.
    pub(crate) fn add_hazard(&mut self, cell: Point) {
        Arc::make_mut(&mut self.hazards).push(cell);
    }

    /// More hazard entries, in this order.
    pub(crate) fn add_hazards(&mut self, cells: impl IntoIterator<Item = Point>) {
        Arc::make_mut(&mut self.hazards).extend(cells);
    }

    /// The number of cells.
    pub(crate) fn area(&self) -> usize {
        usize::from(self.width) * usize::from(self.height)
    }

    /// The hazards that bots and viewers are shown.
    ///
    /// `snail_mode` keeps next turn's hazards in the same list, one board height above their cell. The official
    /// documentation tells bots to ignore them; we do not send them.
    pub fn hazards_on_board(&self) -> impl Iterator<Item = Point> {
        self.hazards.iter().copied().filter(|hazard| self.contains(*hazard))
    }

    /// The number of the turn that is being played.
    pub(crate) const fn turn_in_play(&self) -> u32 {
        self.turn.saturating_add(1)
    }
}

/// Sides are at most [`SIDE_MAX`] on every board that the rules set up or decode.
fn side_as_coordinate(side: u8) -> i8 {
    i8::try_from(side).unwrap_or(i8::MAX)
}
