//! One entry of a table's log, and its binary form (see `pack`): `entry = format:u8=1 at:i64le kind:u8 fields`.
//!
//! An entry records what was decided, random choices included: hands as dealt, the board as laid out, timers as points
//! in time. So applying it needs no random source, and a later version of the rules does not change what was played.

use super::game::TransitionReason;
use super::people::Newcomer;
use crate::ids::PlayerId;
use crate::pack::{DecodeError, decode_versioned, encode_versioned, packed, packed_variants};
use crate::time::UnixMs;
use rules::stories::{Card, CardSet};
use std::time::Duration;

const FORMAT: u8 = 1;

/// Something that happened at a table, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoggedEntry {
    pub(super) at: UnixMs,
    pub(super) entry: Entry,
}
packed!(LoggedEntry { at, entry });

/// How a game ended for one of its players.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayerResult {
    pub player: PlayerId,
    pub picked: Option<Card>,
    pub vote: Option<Card>,
    /// Points from this game; `None` for those who did not vote.
    pub points: Option<u32>,
    pub has_won: bool,
}
packed!(PlayerResult { player, picked, vote, points, has_won });

/// How the vote was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VotingStart {
    /// The cards, in the order in which they lie.
    pub(super) board: Vec<Card>,
    /// Who had not picked, and does not play any more.
    pub(super) removed: Vec<PlayerId>,
    /// When the bots will vote, in the order of their seats.
    pub(super) bots_due: Vec<UnixMs>,
    pub(super) because: TransitionReason,
}
packed!(VotingStart { board, removed, bots_due, because });

/// Something that happened at a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A game began; these members did not play in the one before and are visitors again.
    Started {
        storyteller: Box<Newcomer>,
        hand: CardSet,
        unseated: Vec<PlayerId>,
        tell_by: Option<UnixMs>,
    },
    /// A player joined the game.
    Joined {
        who: Box<Newcomer>,
        hand: CardSet,
        bot_due: Option<UnixMs>,
    },
    /// A player left the table; the countdown as it is after that.
    Left {
        player: PlayerId,
        countdown: Option<UnixMs>,
    },
    /// The storyteller chose a card; deadline for the story.
    CardChosen {
        card: Card,
        tell_by: Option<UnixMs>,
    },
    StoryTold {
        sentence: Box<str>,
    },
    /// The storyteller invited these players; none of them was invited before.
    Invited {
        players: Vec<PlayerId>,
    },
    /// A player picked a card, perhaps instead of another; the countdown as it is after that.
    Picked {
        player: PlayerId,
        card: Card,
        countdown: Option<UnixMs>,
    },
    /// The storyteller chose how long countdowns of this phase take; the running one as it is after that.
    CountdownSet {
        chosen: Option<Duration>,
        countdown: Option<UnixMs>,
    },
    /// The cards lie open.
    VotingOpened {
        opening: Box<VotingStart>,
    },
    /// A player voted, perhaps instead of another vote; the countdown as it is after that.
    Voted {
        player: PlayerId,
        card: Card,
        countdown: Option<UnixMs>,
    },
    /// The votes were counted; in the order of the seats.
    Completed {
        results: Vec<PlayerResult>,
        because: TransitionReason,
    },
    /// The game ended without a result.
    Canceled {
        because: TransitionReason,
    },
    /// A player wrote a line of chat.
    ChatSent {
        player: PlayerId,
        text: Box<str>,
    },
    /// The storyteller let bots play, or no more of them.
    BotsSet {
        are_on: bool,
    },
    /// Who may begin the next game; `None`: any player.
    NextStorytellerNamed {
        next: Option<PlayerId>,
        until: Option<UnixMs>,
    },
}
packed_variants!(Entry {
    1 => Started { storyteller, hand, unseated, tell_by },
    2 => Joined { who, hand, bot_due },
    3 => Left { player, countdown },
    4 => CardChosen { card, tell_by },
    5 => StoryTold { sentence },
    6 => Invited { players },
    7 => Picked { player, card, countdown },
    8 => CountdownSet { chosen, countdown },
    9 => VotingOpened { opening },
    10 => Voted { player, card, countdown },
    11 => Completed { results, because },
    12 => Canceled { because },
    13 => ChatSent { player, text },
    14 => BotsSet { are_on },
    15 => NextStorytellerNamed { next, until },
});

/// One entry of a table's log as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLogRow {
    /// Its place in the log, from 0, without gaps.
    pub version: u32,
    /// The entry, as the table writes it.
    pub bytes: Vec<u8>,
}

impl Entry {
    /// Whether a game is over after it.
    pub(super) fn ends_game(&self) -> bool {
        matches!(self, Self::Completed { .. } | Self::Canceled { .. })
    }

    /// Whether it is part of a game, and not only of the table: it is an action that keeps a game from being canceled, and stands in the
    /// game's history.
    pub(super) fn belongs_to_game(&self) -> bool {
        !matches!(self, Self::ChatSent { .. } | Self::NextStorytellerNamed { .. })
    }
}

impl LoggedEntry {
    /// The entry's bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        encode_versioned(FORMAT, self)
    }

    /// The entry of these bytes: all of them, and nothing but the canonical form.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_versioned(FORMAT, bytes)
    }
}
