//! Everything that an account owns, as one document.

use super::{
    AccountView, DuelSummary, GameSummary, Leaderboard, LeaderboardEntry, Snake, StoryMine, TokenView,
    TournamentSummary,
};
use crate::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// What an account owns. Lists are newest first and end after 100,000 rows; `truncated` names those that did.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AccountExport {
    /// When it was begun.
    pub exported_at: Timestamp,
    /// The account.
    pub account: AccountView,
    /// Its tokens, without their secrets.
    pub tokens: Vec<TokenView>,
    /// Its snakes, without the secrets that sign their calls.
    pub snakes: Vec<ExportedSnake>,
    /// The games that it created, as far as they are kept, with their results.
    pub games: Vec<GameSummary>,
    /// The duels that it created.
    pub duels: Vec<DuelSummary>,
    /// The tournaments that it organizes.
    pub tournaments: Vec<TournamentSummary>,
    /// The leaderboards that it created.
    pub leaderboards: Vec<Leaderboard>,
    /// Games of Stories that go on, told, played, or with an invitation to it.
    pub stories_live: Vec<StoryMine>,
    /// Games of Stories that are over, as far as they are kept.
    pub stories_ended: Vec<StoryMine>,
    /// The lists that have more rows than an export holds.
    pub truncated: Vec<String>,
}

/// The members of an export before its lists.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExportHead {
    pub exported_at: Timestamp,
    pub account: AccountView,
    pub tokens: Vec<TokenView>,
}

/// A snake and its entries on leaderboards.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ExportedSnake {
    /// The snake.
    #[serde(flatten)]
    pub snake: Snake,
    /// Its entries on all leaderboards and in all seasons, at most 1,000.
    pub entries: Vec<ExportedEntry>,
}

/// An entry on a leaderboard in one season.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ExportedEntry {
    /// The leaderboard.
    pub leaderboard_id: String,
    /// The season, from 1.
    pub season: u32,
    /// When the snake entered.
    pub joined_at: Timestamp,
    /// The entry.
    #[serde(flatten)]
    pub entry: LeaderboardEntry,
}
