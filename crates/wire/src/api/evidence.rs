//! Evidence of one snake in one game: what its bot was sent, and what became of its answers. For its owner.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Which snake of which game the evidence is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EvidenceSubject {
    /// The game.
    pub game_id: String,
    /// `waiting`, `running`, `finished`, `failed` or `cancelled`.
    pub status: String,
    /// The snake's seat, from 0.
    pub seat: u8,
    /// The registered snake.
    pub snake_id: String,
    /// Its name when the game was created.
    pub name: String,
    /// Its id in frames and in the requests to bots: the same snake may sit twice.
    pub you_id: String,
    /// How long it had for an answer, in milliseconds.
    pub timeout_ms: u32,
}

/// The turns of one snake: what it answered, and what that counted for.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SnakeTurns {
    #[serde(flatten)]
    pub subject: EvidenceSubject,
    /// Turns that were played in the game so far, whether the snake lived or not.
    pub count: u32,
    /// The turns of this page.
    pub turns: Vec<SnakeTurn>,
}

/// One request for a move and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SnakeTurn {
    /// The turn in the request's body, from 0. The frame of the next number shows what became of it.
    pub turn: u32,
    /// The snake's health in the request.
    pub health: u8,
    /// The snake's length in the request.
    pub length: u32,
    #[serde(flatten)]
    pub answer: MoveAnswer,
    /// Why the snake was out after this turn; null while it lived on.
    #[schema(required)]
    pub cause: Option<String>,
}

/// An answer to `/move`, and what it counted for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct MoveAnswer {
    /// The move that was played: the answer's, or the previous one again (at first `up`) when there was no valid answer.
    #[serde(rename = "move")]
    pub played: String,
    /// `valid`, `late`, `unreachable`, `bad_status`, `oversized`, `malformed`, `unknown_move`, `forbidden`,
    /// `throttled` or `server_fault`.
    pub class: String,
    /// From sending to the end of the answer; the timeout when it came too late.
    pub latency_ms: u16,
    /// Whether it came too late.
    pub is_late: bool,
    /// What it shouted; empty for nothing.
    pub shout: String,
}

/// What one call to a bot sent, and what came back.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CallEvidence {
    #[serde(flatten)]
    pub subject: EvidenceSubject,
    /// `start`, `move` or `end`.
    pub call: String,
    /// The turn in the request's body.
    pub turn: u32,
    /// What was sent.
    pub request: SentRequest,
    /// What became of the answer.
    pub answer: CallOutcome,
    /// How the snake was out after this turn; null while it lived on.
    #[schema(required)]
    pub death: Option<SnakeDeath>,
}

/// A request as it was sent.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SentRequest {
    /// Where it was sent: the snake's URL when the game was created, with the name of the call.
    pub url: String,
    /// Its body, byte for byte.
    #[schema(value_type = Object)]
    pub body: Box<RawValue>,
    /// The same request as a command for a shell. Characters that could control a terminal are written as JSON escapes; the JSON means the
    /// same.
    pub curl: String,
}

/// What became of the answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallOutcome {
    /// `valid`, `late`, `unreachable`, `bad_status`, `oversized`, `malformed`, `unknown_move`, `forbidden`,
    /// `throttled` or `server_fault`.
    pub class: String,
    /// From sending to the end of the answer; the timeout when it came too late.
    pub latency_ms: u16,
    /// The move that was played, of a `/move`: the answer's, or the previous one again (at first `up`) when there was no valid answer.
    #[serde(default, rename = "move", skip_serializing_if = "Option::is_none")]
    pub played: Option<String>,
    /// What it shouted; empty for nothing.
    #[serde(default)]
    pub shout: String,
    /// What the bot answered instead of a valid move, of a `/move` with class `bad_status`, `malformed` or `unknown_move`. The first 16 such
    /// answers of a snake in a game are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<BotResponse>,
}

/// The beginning of a bot's HTTP response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BotResponse {
    pub status: u16,
    /// The first 512 bytes of the body. What is not UTF-8, and what a terminal could obey, is U+FFFD.
    pub excerpt: String,
}

/// How a snake was out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SnakeDeath {
    /// The rule book's word for it.
    pub cause: String,
    /// The seat of the snake that it ran into, its own for itself; null for walls, hunger and hazards.
    #[schema(required)]
    pub by_seat: Option<u8>,
}

/// One line of a download of all calls: the first line is an [`EvidenceSubject`].
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecordedCall {
    /// `start`, `move` or `end`.
    pub call: String,
    /// The turn in the request's body.
    pub turn: u32,
    /// The request's body, byte for byte.
    #[schema(value_type = Object)]
    pub request: Box<RawValue>,
    /// What became of the answer.
    pub answer: CallOutcome,
}
