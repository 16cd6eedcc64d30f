//! Lists of games, and players.

use super::event::StoryEvent;
use super::view::StoryStanding;
use crate::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// A game as lists show it: the same to every viewer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryListed {
    /// The game's id.
    pub id: String,
    /// The table's id.
    pub table: String,
    /// `create`, `invitation`, `vote`, `complete` or `canceled`.
    pub phase: String,
    /// The storyteller's id.
    pub storyteller: String,
    /// The name under which they opened it; null of games that were opened before names were kept.
    #[schema(required)]
    pub storyteller_name: Option<String>,
    /// What the storyteller told.
    #[schema(required)]
    pub sentence: Option<String>,
    /// Seats that are taken.
    pub players: u8,
    /// Seats that there are.
    pub players_max: u8,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it was completed or canceled.
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
}

/// One of the caller's own games.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryMine {
    /// The game.
    #[serde(flatten)]
    pub game: StoryListed,
    /// `storyteller`, `player` or `invited`.
    pub role: String,
    /// Whether the caller won; null before the game is complete.
    #[schema(required)]
    pub has_won: Option<bool>,
}

/// What happened in a game, in order, as far as the viewer may know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryHistory {
    /// The game's id.
    pub game: String,
    /// What happened.
    pub events: Vec<StoryEvent>,
}

/// A player of Stories, as every viewer may see them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryPlayer {
    /// Their id.
    pub player: String,
    /// An account's name, or the caller's own; null for another guest, whose name stands at the tables and in the games where they sit.
    #[schema(required)]
    pub name: Option<String>,
    /// The level that their score has reached, from 1.
    pub level: u32,
    /// Points and cards; null for all but the player themselves.
    #[schema(required)]
    pub standing: Option<StoryStanding>,
}
