//! The engine API that the official board viewer reads: field names and meanings are the viewer's, not ours.

use serde::Serialize;
use utoipa::ToSchema;

/// Answer of `GET /api/games/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct GameReply {
    /// The game.
    #[serde(rename = "Game")]
    pub game: Game,
}

/// A game as the viewer knows it. The official viewer reads only width and height.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Game {
    /// Id of the game.
    #[serde(rename = "ID")]
    pub id: String,
    /// `pending`, `running`, `complete`; `stopped` of a game that was cancelled, `error` of one that failed.
    pub status: String,
    /// Cells from left to right.
    pub width: u8,
    /// Cells from bottom to top.
    pub height: u8,
    /// The rule set.
    pub ruleset: RulesetName,
    /// Name of the rule set once more.
    pub ruleset_name: String,
    /// The rule set's stages, in order.
    pub rules_stages: Vec<String>,
    /// Time that a bot has for an answer, in milliseconds.
    pub snake_timeout: u32,
    /// Where the game comes from.
    pub source: String,
    /// Name of the map.
    pub map: String,
}

/// A rule set's name, as the viewer's API nests it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct RulesetName {
    /// Such as `standard`.
    pub name: String,
}

/// Answer of `GET /api/games/{id}/frames`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FramesReply {
    /// Frames that there are now, on this page or not.
    pub count: u32,
    /// The frames of this page, by turn.
    pub frames: Vec<Frame>,
}

/// The last line of a game's file, as the official command line program writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GameFileResult {
    /// The winner's id in frames; empty for none.
    pub winner_id: String,
    /// The winner's name; empty for none.
    pub winner_name: String,
    pub is_draw: bool,
}

/// One message on the events socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "Type", content = "Data", rename_all = "snake_case")]
pub enum Event {
    /// The board after a turn.
    Frame(Frame),
    /// Nothing more will come.
    GameEnd {},
    /// Something went wrong that the viewer's user should read.
    Error {
        /// For a person.
        message: String,
    },
}

/// The board after a turn; turn 0 is the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Frame {
    /// Turns played.
    pub turn: u32,
    /// All snakes, the dead ones too.
    pub snakes: Vec<Snake>,
    /// Cells with food.
    pub food: Vec<Cell>,
    /// Cells with hazards; one that stands twice hurts twice.
    pub hazards: Vec<Cell>,
}

/// A cell; (0, 0) is bottom left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Cell {
    /// To the right.
    pub x: i32,
    /// Up.
    pub y: i32,
}

/// A snake in a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Snake {
    /// Unique in the game.
    #[serde(rename = "ID")]
    pub id: String,
    /// For people.
    pub name: String,
    /// Head first.
    pub body: Vec<Cell>,
    /// 0 to 100.
    pub health: i32,
    /// How it died; null for the living.
    pub death: Option<Death>,
    /// `#RRGGBB`.
    pub color: String,
    /// Name of the head drawing.
    pub head_type: String,
    /// Name of the tail drawing.
    pub tail_type: String,
    /// Measured latency of the last answer in milliseconds; the timeout when none came.
    pub latency: String,
    /// What it shouted last.
    pub shout: String,
    /// Always empty: the mode is gone.
    pub squad: String,
    /// Version of the webhook API.
    #[serde(rename = "APIVersion")]
    pub api_version: String,
    /// The name of the account that owned it when the game was created; empty for games older than this field.
    pub author: String,
    /// Always 0 for a usable answer or none: kept for old viewers.
    pub status_code: u16,
    /// What was wrong with the last answer: `late`, `unreachable`, `bad_status`, `oversized`, `malformed`, `unknown_move`,
    /// `forbidden`, `throttled`; empty for nothing.
    pub error: String,
    /// Always false.
    pub is_bot: bool,
    /// Always false.
    pub is_environment: bool,
    /// How it died, in one word; empty for the living.
    pub eliminated_cause: String,
    /// The id of the snake that did it; empty for none.
    pub eliminated_by: String,
}

/// How a snake died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Death {
    /// The rule book's word for it.
    pub cause: String,
    /// In which turn.
    pub turn: u32,
    /// The id of the snake that did it; empty for none.
    pub eliminated_by: String,
}
