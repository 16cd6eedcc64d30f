//! A table and its game as one viewer sees them.

use super::request::StorySettings;
use crate::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Everything that the viewer may know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryState {
    /// The table's id.
    pub table: String,
    /// The viewer's place in the table's feed: ask it for what comes `after` this. Null for a game that the table has left
    /// behind.
    #[schema(required)]
    pub seq: Option<u64>,
    /// When the change that this answers was saved, in microseconds since 1970-01-01T00:00:00Z; null where nothing was changed, and so
    /// always for who only looks.
    #[schema(required)]
    pub committed_at_us: Option<i64>,
    /// The game asked for, or the table's last one.
    #[schema(required)]
    pub game: Option<StoryGame>,
    /// What the viewer is here: `storyteller`, `player`, `member` (sits at the table and does not play in this game) or
    /// `visitor`.
    pub role: String,
    /// Who sits at the table, in the order in which they came.
    pub members: Vec<StoryMember>,
    /// Who is to open the next game; null while one is played, and when every member may.
    #[schema(required)]
    pub next_storyteller: Option<StoryNext>,
    /// Whether bots may take free seats, and tell in their turn.
    pub bots: bool,
    /// What was said lately; empty for those who do not sit there.
    pub chat: Vec<StoryChatMessage>,
    /// The table's rules; null for a game that the table has left behind.
    #[schema(required)]
    pub settings: Option<StorySettings>,
    /// Who is here: soft, and in no sequence.
    pub presence: StoryPresence,
}

/// A member of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryMember {
    /// Their id.
    pub player: String,
    /// Their name.
    pub name: String,
    /// The level of their score.
    pub level: u32,
    /// Whether it is a built-in bot.
    pub is_bot: bool,
}

/// A line of the chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryChatMessage {
    /// When.
    pub at: Timestamp,
    /// During, or after, which game.
    pub game: String,
    /// Who.
    pub player: String,
    /// `said` by a member, or `story_told`: written by the server when a story was told; the text is its sentence.
    pub kind: String,
    /// Plain text: a client that shows it must escape it.
    pub text: String,
}

/// Who is to open the next game, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryNext {
    /// Their id.
    pub player: String,
    /// When another player is asked; of a bot, when it begins.
    #[schema(required)]
    pub until: Option<Timestamp>,
}

/// A game as one viewer sees it. The storyteller sees every hand, pick and vote; a player their own; a visitor none: before the
/// end, others only see who has picked or voted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryGame {
    /// The game's id: the table's, and its number there.
    pub id: String,
    /// Its number at the table, from 1.
    pub number: u32,
    /// `create`, `invitation`, `vote`, `complete` or `canceled`.
    pub phase: String,
    /// The phase in which it was canceled: what may be seen of it is what could be seen then.
    #[schema(required)]
    pub canceled_in: Option<String>,
    /// Why it ended: `storyteller`, `countdown`, `inactivity`, `storyteller_left`, `storyteller_late` or `closed`.
    #[schema(required)]
    pub because: Option<String>,
    /// The storyteller's id.
    #[schema(required)]
    pub storyteller: Option<String>,
    /// What the storyteller told.
    #[schema(required)]
    pub sentence: Option<String>,
    /// Whether the storyteller has chosen a card.
    pub has_winner_card: bool,
    /// The storyteller's card: visible to them until the game is complete, then to every viewer.
    #[schema(required)]
    pub winner_card: Option<u8>,
    /// The cards on the table, in their order: visible to every viewer from the vote on.
    #[schema(required)]
    pub board: Option<Vec<u8>>,
    /// All cards that were dealt; the storyteller's to see.
    #[schema(required)]
    pub dealt: Option<Vec<u8>>,
    /// Who is invited; the storyteller's to see.
    #[schema(required)]
    pub invited: Option<Vec<String>>,
    /// Whether there are enough picks (in `invitation`) or votes (in `vote`) to go on.
    pub is_ready: bool,
    /// When the running countdown ends.
    #[schema(required)]
    pub countdown_at: Option<Timestamp>,
    /// How long a countdown takes in this phase, in milliseconds.
    pub countdown_ms: i64,
    /// When the game goes on, or is canceled, if no action that all can see comes before.
    #[schema(required)]
    pub inactive_at: Option<Timestamp>,
    /// By when the storyteller of a next game must take the next step towards the story; null for a bot, which is never late.
    #[schema(required)]
    pub tell_by: Option<Timestamp>,
    /// How many may play.
    pub players_max: u8,
    /// What only the viewer knows; null for a visitor.
    #[schema(required)]
    pub own: Option<StoryOwn>,
    /// Seats in the order in which they were taken, the storyteller's first.
    pub players: Vec<StorySeat>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it was completed or canceled.
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
}

/// What a player of this game knows of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryOwn {
    /// The cards in hand.
    pub hand: Vec<u8>,
    /// The card that was picked (or chosen, by the storyteller).
    #[schema(required)]
    pub picked: Option<u8>,
    /// The card that was voted for.
    #[schema(required)]
    pub vote: Option<u8>,
}

/// A seat of a game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StorySeat {
    /// Who sits there.
    pub player: String,
    /// Their name.
    pub name: String,
    /// The level of their score.
    pub level: u32,
    /// Whether it is a built-in bot.
    pub is_bot: bool,
    /// Whether they left during the vote: their card and vote stay.
    pub has_left: bool,
    /// Whether a card was picked (or chosen, by the storyteller).
    pub has_picked: bool,
    /// Which, for those who may know.
    #[schema(required)]
    pub picked: Option<u8>,
    /// Whether a vote was cast.
    pub has_voted: bool,
    /// For which card, for those who may know.
    #[schema(required)]
    pub vote: Option<u8>,
    /// The cards in hand, for those who may know.
    #[schema(required)]
    pub hand: Option<Vec<u8>>,
    /// Whether this player won; null before the game is complete.
    #[schema(required)]
    pub has_won: Option<bool>,
    /// What the game brought; null before it is complete, and for those who did not vote.
    #[schema(required)]
    pub points: Option<u32>,
    /// Where this player stands, for themselves alone.
    #[schema(required)]
    pub standing: Option<StoryStanding>,
}

/// Who is at the table now: players who wait for its feed, or did within the last 15 seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryPresence {
    /// Ids of members that are here.
    pub online: Vec<String>,
}

/// Where a player stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryStanding {
    /// Points in all.
    pub score: u64,
    /// The level, from 1.
    pub level: u32,
    /// Points of the step to the next level.
    pub score_next: u64,
    /// Points of it that are missing.
    pub score_left: u64,
    /// Points before the last game.
    pub score_prev: u64,
    /// The level before the last game.
    pub level_prev: u32,
    /// Cards that were earned, in the order in which they were.
    pub earned_cards: Vec<u8>,
    /// Those of the last game.
    pub earned_cards_last: Vec<u8>,
}
