//! Requests of players, and the tokens of guests and browsers.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A guest to be.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateGuest {
    /// What the others are to see; not unique.
    #[schema(min_length = 1, max_length = 32, example = "Ann")]
    pub name: String,
}

/// A guest, and their token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct GuestCreated {
    /// Their id wherever they sit.
    pub player: String,
    /// Their name.
    pub name: String,
    /// The bearer token, shown once: its holder is this guest.
    pub token: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Whom a token speaks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SessionView {
    /// Their id as a player of Stories; an account's is the account's own.
    pub player: String,
    /// `guest`, `player`, `operator` or `admin`.
    pub role: String,
    /// The name of the guest or of the account.
    #[schema(required)]
    pub name: Option<String>,
    /// Whether it is a guest: without an account.
    pub is_guest: bool,
    /// When the token ends: a guest's, or that of a browser's session; null for one that lasts until it is deleted.
    #[schema(required)]
    pub expires_at: Option<Timestamp>,
    /// The id of an account's token, as `/api/tokens` lists it; null for a guest's, and for the one that the server was started with.
    #[schema(required)]
    pub token: Option<String>,
    /// What is known of the account; null for a guest.
    #[schema(required)]
    pub account: Option<super::super::AccountSummary>,
    /// Whether it may see runs of trials here: an operator, where the server has a folder of them.
    pub has_trials: bool,
}

/// A game to be opened: at a new table, or as the next one at a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateStory {
    /// A table whose game is over: its next game. A new table when absent.
    pub table: Option<String>,
    /// Whether bots may take free seats once the story is told, and tell in their turn; only with a new table.
    #[schema(default = false)]
    pub bots: Option<bool>,
    /// The table's rules, only with a new table; those left out have their defaults.
    pub settings: Option<StorySettings>,
}

/// A table's rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StorySettings {
    /// Seats of a game, the storyteller's included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = 6)]
    pub players_max: Option<i64>,
    /// Cards that each player is dealt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = 6)]
    pub hand: Option<i64>,
    /// Cards of the base deck that are played with; a player's earned ones join them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = 36)]
    pub deck: Option<i64>,
    /// Cards on the board, the storyteller's included, from which voting may be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = 3)]
    pub picked_min: Option<i64>,
    /// Votes from which a game may be completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = 2)]
    pub voted_min: Option<i64>,
    /// How long the countdown is that begins once there are enough picks or votes, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = 60_000)]
    pub countdown_ms: Option<i64>,
    /// How long a game may see no change before it goes on by itself, or ends, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = 86_400_000)]
    pub game_timeout_ms: Option<i64>,
    /// How long the next storyteller may take to tell a story before another one is asked, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = 60_000)]
    pub next_storyteller_timeout_ms: Option<i64>,
    /// How hard it is to guess the cards of the bots' stories: `plain` sentences name what is seen, `oblique` ones have a mood or an
    /// association, `riddling` ones an idea that several cards share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = "oblique", pattern = "^(plain|oblique|riddling)$")]
    pub bots_difficulty: Option<String>,
}

/// A card that is chosen, picked or voted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowCard {
    /// Its number: 1 to 36 belong to every player, those above are earned.
    #[schema(minimum = 1, maximum = 43)]
    pub card: i64,
}

/// The storyteller's sentence.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TellSentence {
    /// One line of text.
    #[schema(min_length = 1)]
    pub sentence: String,
}

/// Players to be invited.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InvitePlayers {
    /// Their ids. Players who are invited or at the table already are skipped.
    #[schema(min_items = 1)]
    pub players: Vec<String>,
}

/// How long countdowns of this phase are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetCountdown {
    /// In milliseconds. One that runs already begins anew.
    pub countdown_ms: i64,
}

/// Whether bots may play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetBots {
    /// Whether bots may take free seats once the story is told.
    pub are_on: bool,
}

/// Something to say to the table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SayText {
    /// One line of plain text; clients that show it escape it.
    #[schema(min_length = 1)]
    pub text: String,
}
