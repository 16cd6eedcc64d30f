//! The Battlesnake webhook API, apiversion "1", in both directions.
//!
//! The runner writes these texts and reads the answers; sample bots read them and write the answers. One description
//! serves both, so that the two cannot drift apart. Fields stand in the order of the official documentation, and every
//! field that it promises is always written, the deprecated ones too.
//!
//! Reading is strict about what a bot needs (a missing field is refused), tolerant of what it does not know (unknown
//! fields are skipped) and of what is deprecated (absent means the documented empty value). Text is borrowed from the
//! message whenever it holds no escapes.
//!
//! It does not know what a legal move is, how long a turn lasts, or how a message travels.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The only version of the webhook API: the value of [`IndexReply::apiversion`].
pub const API_VERSION: &str = "1";

/// The longest `shout` that the API documents, in characters.
pub const SHOUT_CHARS_MAX: usize = 256;

/// The answer to `GET /`: who the bot is and how it wants to look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexReply<'a> {
    /// Required by the API, and [`API_VERSION`] in every bot that implements it.
    #[serde(borrow)]
    pub apiversion: Cow<'a, str>,
    /// Who wrote the bot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Cow<'a, str>>,
    /// `#RRGGBB`; absent means `#888888`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<Cow<'a, str>>,
    /// Name of a drawing; absent means `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Cow<'a, str>>,
    /// Name of a drawing; absent means `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Cow<'a, str>>,
    /// Version of the bot, free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Cow<'a, str>>,
}

/// The body of `POST /start`, `/move` and `/end`, owning its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request<'a> {
    /// The match and its settings.
    #[serde(borrow)]
    pub game: Game<'a>,
    /// Turns played so far; 0 at the start.
    pub turn: u32,
    /// The board, as all snakes see it.
    #[serde(borrow)]
    pub board: Board<'a>,
    /// The snake whose move is requested.
    #[serde(borrow)]
    pub you: Snake<'a>,
}

/// [`Request`] as it is written: the snakes of a turn share one game and one board, so nothing is copied per snake.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct RequestRef<'a> {
    /// See [`Request::game`].
    pub game: &'a Game<'a>,
    /// See [`Request::turn`].
    pub turn: u32,
    /// See [`Request::board`].
    pub board: &'a Board<'a>,
    /// See [`Request::you`].
    pub you: &'a Snake<'a>,
}

/// The match that a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Game<'a> {
    /// Unique among matches.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The rules in force.
    #[serde(borrow)]
    pub ruleset: RulesetShape<'a>,
    /// Name of the map, such as `standard`.
    #[serde(borrow)]
    pub map: Cow<'a, str>,
    /// Milliseconds in which the answer must have arrived, time on the network included.
    pub timeout: u32,
    /// `tournament`, `league`, `arena`, `challenge`, `custom`, or empty.
    #[serde(borrow)]
    pub source: Cow<'a, str>,
}

/// A rule set by name, with its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesetShape<'a> {
    /// Such as `standard` or `wrapped_constrictor`.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// Version of the rules, free text.
    #[serde(borrow)]
    pub version: Cow<'a, str>,
    /// Always complete, whatever the rule set uses.
    #[serde(borrow)]
    pub settings: SettingsShape<'a>,
}

/// Every setting of every rule set; those that do not apply are there all the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingsShape<'a> {
    /// Per cent a turn.
    pub food_spawn_chance: i32,
    /// Food that is always on the board.
    pub minimum_food: i32,
    /// Health that one layer of hazard takes; negative heals.
    pub hazard_damage_per_turn: i32,
    /// Deprecated: empty.
    #[serde(borrow, default)]
    pub hazard_map: Cow<'a, str>,
    /// Deprecated: empty.
    #[serde(borrow, default)]
    pub hazard_map_author: Cow<'a, str>,
    /// Settings of `royale`.
    pub royale: RoyaleShape,
    /// Settings of `squad`, a mode which no longer exists.
    #[serde(default)]
    pub squad: SquadShape,
}

/// Settings of `royale`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoyaleShape {
    /// Turns between two shrinkings of the board.
    pub shrink_every_n_turns: i32,
}

/// Settings of `squad`: the mode is gone, the fields are still promised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SquadShape {
    /// Deprecated: false.
    pub allow_body_collisions: bool,
    /// Deprecated: false.
    pub shared_elimination: bool,
    /// Deprecated: false.
    pub shared_health: bool,
    /// Deprecated: false.
    pub shared_length: bool,
}

/// The board of a turn, as all snakes see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board<'a> {
    /// Cells, bottom to top.
    pub height: u32,
    /// Cells, left to right.
    pub width: u32,
    /// Cells with food.
    pub food: Vec<Coord>,
    /// Cells with hazards; an entry that stands twice hurts twice.
    pub hazards: Vec<Coord>,
    /// The living snakes. Some servers list eliminated ones too, with health 0.
    #[serde(borrow)]
    pub snakes: Vec<Snake<'a>>,
}

/// One snake as others see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snake<'a> {
    /// Unique in the match.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// For people.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// 0 to 100.
    pub health: i32,
    /// Head first, stacked points included.
    pub body: Vec<Coord>,
    /// Milliseconds of the previous answer as text; `0` before the first.
    #[serde(borrow)]
    pub latency: Cow<'a, str>,
    /// The first point of `body`.
    pub head: Coord,
    /// The number of points of `body`.
    pub length: u32,
    /// What it shouted in the previous turn.
    #[serde(borrow)]
    pub shout: Cow<'a, str>,
    /// Deprecated: empty.
    #[serde(borrow, default)]
    pub squad: Cow<'a, str>,
    /// How it looks.
    #[serde(borrow)]
    pub customizations: Customizations<'a>,
}

/// A cell: (0, 0) is bottom left, x grows to the right, y grows upwards. Hazards may lie outside the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coord {
    /// Column.
    pub x: i32,
    /// Row.
    pub y: i32,
}

/// How a snake looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Customizations<'a> {
    /// `#RRGGBB`.
    #[serde(borrow)]
    pub color: Cow<'a, str>,
    /// Name of a drawing.
    #[serde(borrow)]
    pub head: Cow<'a, str>,
    /// Name of a drawing.
    #[serde(borrow)]
    pub tail: Cow<'a, str>,
}

/// The answer to `POST /move`, as the bot sent it: whether `direction` is one of the four words is for the reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveReply<'a> {
    /// `up`, `down`, `left` or `right`.
    #[serde(borrow, rename = "move")]
    pub direction: Cow<'a, str>,
    /// At most [`SHOUT_CHARS_MAX`] characters; shown to others in the next turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shout: Option<Cow<'a, str>>,
}

#[cfg(test)]
mod tests;
