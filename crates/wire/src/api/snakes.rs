//! Snakes: registered bots.

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
}
