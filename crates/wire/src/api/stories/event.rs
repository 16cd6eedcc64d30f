//! The feed: what happened at a table, as one viewer may know it.

use super::view::StoryState;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What happened after the cursor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

/// The cursor is older than what the table remembers, or from the future: begin again from this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

/// Who is at the table now: whoever waits for its feed, or did within the last 15 seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoryPresence {
    /// Ids of members that are here.
    pub online: Vec<String>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoryEvent {
    /// Its number in this viewer's feed: without gaps.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The game in which it happened; null for the table's own events.
    #[schema(required)]
    pub game: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub kind: StoryEventKind,
}

/// What happened. A card is null for those who may not know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StoryEventKind {
    /// A game was opened.
    Opened {
        /// The storyteller's id.
        storyteller: String,
        /// The storyteller's name.
        name: String,
    },
    /// The storyteller chose a card.
    CardChosen {
        /// Which; the storyteller's to see.
        #[schema(required)]
        card: Option<u8>,
    },
    /// The story was told: others may join and pick.
    SentenceTold {
        /// The sentence.
        sentence: String,
    },
    /// Players were invited; the storyteller's and theirs to see.
    Invited {
        /// Their ids.
        players: Vec<String>,
    },
    /// Somebody sat down.
    Joined {
        /// Their id.
        player: String,
        /// Their name.
        name: String,
        /// Whether it is one of the house's bots.
        is_bot: bool,
        /// Their hand; theirs and the storyteller's to see.
        #[schema(required)]
        hand: Option<Vec<u8>>,
    },
    /// Somebody left the table.
    Left {
        /// Their id.
        player: String,
    },
    /// A player picked a card.
    Picked {
        /// Their id.
        player: String,
        /// Which; theirs and the storyteller's to see.
        #[schema(required)]
        card: Option<u8>,
    },
    /// Voting has begun.
    VotingOpened {
        /// The cards on the table.
        board: Vec<u8>,
        /// Players who had picked none, and are out of the game.
        removed: Vec<String>,
    },
    /// A player voted.
    Voted {
        /// Their id.
        player: String,
        /// For which card; theirs and the storyteller's to see.
        #[schema(required)]
        card: Option<u8>,
    },
    /// The game is over: everything is everybody's to see.
    Completed {
        /// The storyteller's card.
        winner_card: u8,
        /// What everybody did.
        results: Vec<StoryResult>,
    },
    /// The game ended without a result.
    Canceled,
    /// A countdown began, or began anew, or ended.
    Countdown {
        /// When it ends; null when none runs any more.
        #[schema(required)]
        ends_at: Option<Timestamp>,
    },
    /// Bots were let in, or no more.
    Bots {
        /// Whether they may take free seats.
        are_on: bool,
    },
    /// Somebody said something.
    Said {
        /// Their id.
        player: String,
        /// What.
        text: String,
    },
    /// Somebody was asked to open the next game.
    NextStoryteller {
        /// Their id.
        #[schema(required)]
        player: Option<String>,
        /// When somebody else will be asked.
        #[schema(required)]
        until: Option<Timestamp>,
    },
}

/// What a player did in a game that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoryResult {
    /// Their id.
    pub player: String,
    /// The card that was picked (or chosen, by the storyteller).
    #[schema(required)]
    pub picked: Option<u8>,
    /// The card that was voted for.
    #[schema(required)]
    pub vote: Option<u8>,
    /// Whether they won.
    pub has_won: bool,
}
