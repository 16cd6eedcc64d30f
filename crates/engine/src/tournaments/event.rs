//! What can happen to a tournament, and the bytes of its log.

use crate::ids::{AccountId, BotId, MatchId};
use crate::pack::{DecodeError, decode_versioned, encode_versioned, packed, packed_variants};
use crate::time::UnixMs;

const ENTRY_FORMAT: u8 = 1;

/// One entry of the log: what happened, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub at: UnixMs,
    pub event: Event,
}
packed!(LogEntry { at, event });

impl LogEntry {
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode_versioned(ENTRY_FORMAT, self)
    }

    /// # Errors
    /// [`DecodeError`], saying what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_versioned(ENTRY_FORMAT, bytes)
    }
}

/// A bot as it is entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntrant {
    pub bot: BotId,
    /// Its name when it was entered.
    pub name: String,
    /// Whose bot it is.
    pub account: AccountId,
    /// That account's name.
    pub author: String,
    /// A digest of its URL: one program enters once. The URL itself is its owner's secret.
    pub url_digest: [u8; 32],
}
packed!(NewEntrant { bot, name, account, author, url_digest });

/// What can happen. Entrants are known by the order of their entries, pairings by the order in which they came up; both
/// from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An account may enter bots.
    Invited { account: AccountId },
    /// A bot is entered; one that had left comes back.
    Entered { entrant: NewEntrant, by_organizer: bool },
    /// A bot leaves: before the start as if it never came, later it loses what it has not played.
    Withdrawn { bot: BotId, reason: WithdrawalReason },
    /// The organizer's order of the field, best first.
    SeedsSet { bots: Vec<BotId> },
    /// It begins, with these entrants, best seed first.
    Started { seeds: Vec<u16> },
    /// The pairs of the next round of a Swiss tournament, and who has none.
    RoundPaired { pairs: Vec<(u16, u16)>, bye: Option<u16> },
    /// A game is put into the queue.
    GameCreated { pairing: u32, match_id: MatchId, seats: Vec<u16> },
    /// A game was played.
    GamePlayed { pairing: u32, match_id: MatchId, score: GameScore },
    /// A game ended without a result that counts.
    GameVoid { pairing: u32, match_id: MatchId, reason: VoidReason },
    /// It is called off.
    Cancelled { reason: CancelReason },
    /// A bot should play and is paused: its pairings get no games until it is back.
    Absent { bot: BotId },
    /// An absent bot is back.
    Returned { bot: BotId },
    /// A game passed its deadline, and its board decided: it counts as one that was played.
    GameAdjudicated { pairing: u32, match_id: MatchId, score: GameScore },
    /// A game left the queue then, and is played.
    GameStarted { pairing: u32, match_id: MatchId, started_at: UnixMs },
}
packed_variants!(Event {
    1 => Invited { account },
    2 => Entered { entrant, by_organizer },
    3 => Withdrawn { bot, reason },
    4 => SeedsSet { bots },
    5 => Started { seeds },
    6 => RoundPaired { pairs, bye },
    7 => GameCreated { pairing, match_id, seats },
    8 => GamePlayed { pairing, match_id, score },
    9 => GameVoid { pairing, match_id, reason },
    10 => Cancelled { reason },
    11 => Absent { bot },
    12 => Returned { bot },
    13 => GameAdjudicated { pairing, match_id, score },
    14 => GameStarted { pairing, match_id, started_at },
});

/// Why a bot left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithdrawalReason {
    /// Its owner wanted it.
    Owner,
    /// The organizer wanted it.
    Organizer,
    /// The bot was deleted.
    Deleted,
    /// Another's bot that is not public any more.
    Private,
    /// It was waited for as long as a game may take, or too often.
    Absent,
}
packed_variants!(WithdrawalReason { 1 => Owner {}, 2 => Organizer {}, 3 => Deleted {}, 4 => Private {}, 5 => Absent {} });

impl WithdrawalReason {
    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Organizer => "organizer",
            Self::Deleted => "bot_deleted",
            Self::Private => "bot_private",
            Self::Absent => "bot_absent",
        }
    }
}

/// Why a tournament was called off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelReason {
    /// The organizer wanted it.
    Organizer,
    /// Fewer bots than it needs were entered when it was to start.
    TooFewEntrants,
    /// Its field cannot be played: what was stored is no longer accepted.
    NotPlayable,
}
packed_variants!(CancelReason { 1 => Organizer {}, 2 => TooFewEntrants {}, 3 => NotPlayable {} });

impl CancelReason {
    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Organizer => "organizer",
            Self::TooFewEntrants => "too_few_entrants",
            Self::NotPlayable => "not_playable",
        }
    }
}

/// A played game, by seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameScore {
    /// 1 is best, equals share a place.
    pub places: Vec<u8>,
    pub food: Vec<u32>,
    /// Whether the bot gave no valid move.
    pub silent: Vec<bool>,
    pub turns: u32,
}
packed!(GameScore { places, food, silent, turns });

/// Why a game does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoidReason {
    /// The match failed.
    Failed,
    /// The match was cancelled.
    Cancelled,
    /// This server failed to call a bot.
    ServerFault,
    /// It did not end in time.
    Late,
}
packed_variants!(VoidReason { 1 => Failed {}, 2 => Cancelled {}, 3 => ServerFault {}, 4 => Late {} });

impl VoidReason {
    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::ServerFault => "server_fault",
            Self::Late => "late",
        }
    }
}

impl crate::pack::Pack for (u16, u16) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn get(from: &mut crate::pack::ByteReader<'_>) -> Result<Self, DecodeError> {
        Ok((u16::get(from)?, u16::get(from)?))
    }
}
