//! The feed: what happened at a table, as one viewer may know it.

use super::view::{StoryPresence, StoryState};
use crate::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// What happened after the cursor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryFeed {
    /// The viewer's place after these events: the next request's `after`.
    pub seq: u64,
    /// What happened, in order; empty when the wait was over before anything did.
    pub events: Vec<StoryEvent>,
    /// Who is here: soft, and in no sequence.
    pub presence: StoryPresence,
    /// When the last of these events was saved, in microseconds since 1970-01-01T00:00:00Z; null without events.
    #[schema(required)]
    pub committed_at_us: Option<i64>,
    /// Whether the wait was over before anything happened.
    pub timed_out: bool,
}

/// What a stream or a socket says: one at a time, each whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StoryMessage {
    /// Everything that the viewer may know: first if there was no cursor, and whenever the cursor was too old.
    View(Box<StoryState>),
    /// What happened.
    Update(StoryFeed),
}

/// The cursor is older than what the table remembers, or from the future: begin again from this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryFeedTooOld {
    /// 410.
    pub status: u16,
    /// The status in words.
    pub title: String,
    /// `cursor_too_old`.
    pub code: String,
    /// What to do.
    pub detail: String,
    /// The viewer's place now: the next request's `after`.
    pub seq: u64,
    /// Everything that the viewer may know now.
    pub view: StoryState,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryEvent {
    /// Its number in this viewer's feed: without gaps.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The game during or after which it happened; null before the first.
    #[schema(required)]
    pub game: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub kind: StoryEventKind,
}

/// What happened. A card is null for those who may not know it; `countdown_at` is when the running countdown ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StoryEventKind {
    /// A game began.
    Started {
        /// The storyteller's id.
        storyteller: String,
        /// The storyteller's name.
        name: String,
        /// Who sat at the table without having played in the last game, and is a visitor again.
        unseated: Vec<String>,
    },
    /// A player sat down to the game.
    Joined {
        /// Their id.
        player: String,
        /// Their name.
        name: String,
        /// Whether it is a built-in bot.
        is_bot: bool,
        /// Their hand; theirs and the storyteller's to see.
        #[schema(required)]
        hand: Option<Vec<u8>>,
    },
    /// A player left the table.
    Left {
        /// Their id.
        player: String,
        /// When the running countdown ends.
        #[schema(required)]
        countdown_at: Option<Timestamp>,
    },
    /// The storyteller chose a card.
    CardChosen {
        /// Which; the storyteller's to see.
        #[schema(required)]
        card: Option<u8>,
    },
    /// The story was told: others may pick.
    StoryTold {
        /// The sentence.
        sentence: String,
    },
    /// Others were asked to play; only the storyteller gets this.
    Invited {
        /// Their ids.
        players: Vec<String>,
    },
    /// A player picked a card.
    Picked {
        /// Their id.
        player: String,
        /// Which; theirs and the storyteller's to see.
        #[schema(required)]
        card: Option<u8>,
        /// When the running countdown ends.
        #[schema(required)]
        countdown_at: Option<Timestamp>,
    },
    /// The storyteller chose how long countdowns take.
    CountdownSet {
        /// How long, in milliseconds; null for the table's own.
        #[schema(required)]
        countdown_ms: Option<i64>,
        /// When the running countdown ends.
        #[schema(required)]
        countdown_at: Option<Timestamp>,
    },
    /// The vote has begun.
    VotingOpened {
        /// The cards on the table, in order.
        board: Vec<u8>,
        /// Players who had not picked, and are out of the game.
        removed: Vec<String>,
        /// Why: `storyteller`, `countdown` or `inactivity`.
        because: String,
    },
    /// A player voted.
    Voted {
        /// Their id.
        player: String,
        /// For what; theirs and the storyteller's to see.
        #[schema(required)]
        card: Option<u8>,
        /// When the running countdown ends.
        #[schema(required)]
        countdown_at: Option<Timestamp>,
    },
    /// The votes were counted: every viewer may know now who picked and voted what.
    Completed {
        /// What each player did and got, the storyteller first.
        results: Vec<StoryResult>,
        /// Why: `storyteller`, `countdown` or `inactivity`.
        because: String,
    },
    /// The game ended without a result.
    Canceled {
        /// Why: `inactivity`, `countdown`, `storyteller_left`, `storyteller_late` or `closed`.
        because: String,
    },
    /// A player said something; only those who sit at the table get this.
    Said {
        /// Their id.
        player: String,
        /// Plain text: a client that shows it must escape it.
        text: String,
    },
    /// Bots were let in, or no more of them.
    BotsSet {
        /// Whether they may take free seats.
        are_on: bool,
    },
    /// A player may begin the next game.
    NextStoryteller {
        /// Their id; null for any member of the table.
        #[schema(required)]
        player: Option<String>,
        /// Until when; of a bot, when it begins.
        #[schema(required)]
        until: Option<Timestamp>,
    },
}

/// What a player did in a game that is over, and got for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryResult {
    /// Their id.
    pub player: String,
    /// The card that was picked (or chosen, by the storyteller).
    #[schema(required)]
    pub picked: Option<u8>,
    /// The card that was voted for.
    #[schema(required)]
    pub vote: Option<u8>,
    /// What it brought; null for those who did not vote.
    #[schema(required)]
    pub points: Option<u32>,
    /// Whether they won.
    pub has_won: bool,
}
