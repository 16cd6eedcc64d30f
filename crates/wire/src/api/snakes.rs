//! Snakes: registered bots, and what everybody may know of public ones.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A snake to be registered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
pub struct CreateSnake {
    /// Unique among the account's snakes; 1 to 64 characters. The space around it is removed.
    #[schema(min_length = 1, max_length = 64)]
    pub name: String,
    /// Where its webhooks are: an http or https URL to which `/start`, `/move` and `/end` are appended.
    #[schema(max_length = 500, example = "https://snake.example.com/api")]
    pub url: String,
    /// Whether other accounts may put it into their games.
    #[serde(default)]
    pub is_public: bool,
}

/// What to change about a snake; what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
pub struct UpdateSnake {
    /// Its new name.
    #[schema(min_length = 1, max_length = 64)]
    pub name: Option<String>,
    /// Its new URL. Games that exist already keep the old one.
    #[schema(max_length = 500)]
    pub url: Option<String>,
    /// Whether other accounts may put it into their games.
    pub is_public: Option<bool>,
}

/// A registered snake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = RegisteredSnake)]
pub struct Snake {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where its webhooks are.
    pub url: String,
    /// Whether other accounts may put it into their games.
    pub is_public: bool,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// How it looked in its last match; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub face: Option<BotFace>,
}

/// How a bot looks on a board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct BotFace {
    /// `#RRGGBB`.
    pub color: String,
    /// Name of the head drawing.
    pub head: String,
    /// Name of the tail drawing.
    pub tail: String,
}

/// What everybody may know of a public snake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PublicSnake {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The name of its account.
    pub owner: String,
    /// When it was registered.
    pub created_at: Timestamp,
    /// How it looked in its last match; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub face: Option<BotFace>,
}

/// What a snake's page shows of it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SnakeProfile {
    #[serde(flatten)]
    pub snake: PublicSnake,
    /// Whether other accounts may put it into their games.
    pub is_public: bool,
    /// Whether it is the caller's own.
    pub is_own: bool,
    /// The leaderboards that it has entered and that have not ended, at most 50; private ones for its owner and operators alone.
    pub leaderboards: Vec<SnakeLeaderboard>,
}

/// A snake on a leaderboard, in the season under way.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SnakeLeaderboard {
    /// The leaderboard.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether the snake is paired.
    pub active: bool,
    /// Its rank by rating, from 1; none before it has played enough games, or when it is not paired.
    #[schema(required)]
    pub rank: Option<usize>,
    /// mu − 3 sigma.
    pub rating: f64,
    /// Rated games.
    pub games_played: u32,
    /// Games in which it had the first place, alone or shared.
    pub first_place_finishes: u32,
    /// Games after which an entry has a rank.
    pub min_games: u32,
}
