//! The characters: each a pure function of request and seed. No clock, no memory between requests, no allocation. They
//! know the rules only as far as a snake must (`board_view`), and nothing of HTTP or faults.

mod board_view;
mod cells;
mod chance;
mod strategies;

use wire::webhook::Request;

use board_view::{BoardView, MoveOptions};
pub(crate) use chance::{Chance, Purpose};

/// The shout when every move is deadly.
const CORNERED: &str = "cornered";

/// How a bot plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Character {
    /// Any safe move.
    Random,
    /// The nearest food.
    Hungry,
    /// The largest space, food only when it must.
    Flood,
}

/// One of the four moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// y + 1
    Up,
    /// y - 1
    Down,
    /// x - 1
    Left,
    /// x + 1
    Right,
}

/// What a character answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The move.
    pub direction: Direction,
    /// An optional shout.
    pub shout: Option<&'static str>,
}

impl Character {
    /// All of them.
    pub const ALL: [Character; 3] = [Character::Random, Character::Hungry, Character::Flood];

    /// The character of that name, as it stands in a path.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Character> {
        Character::ALL.into_iter().find(|character| character.name() == name)
    }

    /// The name as it stands in a path.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Character::Random => "random",
            Character::Hungry => "hungry",
            Character::Flood => "flood",
        }
    }

    /// One sentence for people.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Character::Random => "any safe move",
            Character::Hungry => "the nearest food that can be reached",
            Character::Flood => "the largest space, food only when it must",
        }
    }

    /// The answer to `GET /{character}`, as JSON.
    pub(crate) fn index_json(self) -> &'static str {
        match self {
            Character::Random => {
                r##"{"apiversion":"1","author":"gauntlet","color":"#7a8b99","head":"default","tail":"default","version":"random"}"##
            }
            Character::Hungry => {
                r##"{"apiversion":"1","author":"gauntlet","color":"#d1495b","head":"default","tail":"default","version":"hungry"}"##
            }
            Character::Flood => {
                r##"{"apiversion":"1","author":"gauntlet","color":"#00798c","head":"default","tail":"default","version":"flood"}"##
            }
        }
    }

    /// The move for `request`. Deadly moves only when all are deadly, and a lost head-to-head (the other one at least
    /// as long) only when nothing better is left. On a board it does not understand, any direction.
    #[must_use]
    pub fn decide(self, request: &Request<'_>, seed: u64) -> Decision {
        let mut chance = Chance::of(seed, request, Purpose::Move);
        let Some(view) = BoardView::of(request) else { return Decision::random_direction(&mut chance, None) };
        let Some(options) = MoveOptions::least_risky(&view) else {
            return Decision::random_direction(&mut chance, Some(CORNERED));
        };
        let direction = match self {
            Character::Random => strategies::random(&options, &mut chance),
            Character::Hungry => strategies::hungry(&view, &options, &mut chance),
            Character::Flood => strategies::flood(&view, &options, &mut chance),
        };
        Decision { direction, shout: None }
    }
}

impl Decision {
    /// A move without looking, for this share of the requests.
    #[must_use]
    pub fn careless(request: &Request<'_>, seed: u64, share: f64) -> Option<Decision> {
        let mut chance = Chance::of(seed, request, Purpose::Carelessness);
        (chance.unit_f64() < share).then(|| Decision::random_direction(&mut chance, None))
    }

    fn random_direction(chance: &mut Chance, shout: Option<&'static str>) -> Decision {
        Decision { direction: Direction::ALL[chance.below(Direction::ALL.len())], shout }
    }
}

impl Direction {
    /// All four.
    pub const ALL: [Direction; 4] = [Direction::Up, Direction::Down, Direction::Left, Direction::Right];

    /// The word of the webhook API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
            Direction::Left => "left",
            Direction::Right => "right",
        }
    }

    /// The whole answer of a bot without a shout.
    pub(crate) fn reply_json(self) -> &'static str {
        match self {
            Direction::Up => r#"{"move":"up"}"#,
            Direction::Down => r#"{"move":"down"}"#,
            Direction::Left => r#"{"move":"left"}"#,
            Direction::Right => r#"{"move":"right"}"#,
        }
    }
}

#[cfg(test)]
mod tests;
