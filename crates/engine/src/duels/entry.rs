//! The entries of a duel's log. With the definition they are the whole duel: what was decided is written down, so that no later
//! version of the statistics can decide it anew.

use super::game_key::GameKey;
use crate::ids::MatchId;
use crate::matches::entry::AnswerClass;
use crate::matches::response_excerpt::ResponseExcerpt;
use crate::pack::{DecodeError, decode_versioned, encode_versioned, packed, packed_as, packed_variants};

const FORMAT: u8 = 1;

/// One step of a duel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Games were put into the queue.
    Started { games: Vec<StartedGame> },
    /// Games ended, in the order of the competition's results.
    Ended { games: Vec<GameResult> },
    /// The next pairs of a pairing, in their order, count for the statistics.
    Counted { pairing: u8, pairs: Vec<PairOutcome> },
    /// The duel is over; nothing counts any more.
    Over { end: DuelEnd },
    /// A bot gave no valid move in the game that ended before this entry.
    Silent { bot: u8, answer: SilentAnswer },
}
packed_variants!(Entry {
    1 => Started { games },
    2 => Ended { games },
    3 => Counted { pairing, pairs },
    4 => Over { end },
    5 => Silent { bot, answer },
});

impl Entry {
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode_versioned(FORMAT, self)
    }

    /// # Errors
    /// [`DecodeError`], saying what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_versioned(FORMAT, bytes)
    }
}

/// A game with its match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartedGame {
    pub key: GameKey,
    pub match_id: MatchId,
}
packed!(StartedGame { key, match_id });

/// A game that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameResult {
    pub key: GameKey,
    pub match_id: MatchId,
    pub outcome: GameOutcome,
}
packed!(GameResult { key, match_id, outcome });

/// What came from a bot that gave no valid move in a whole game, instead of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentAnswer {
    pub class: AnswerClass,
    /// The beginning of an answer, where there was one that the duel's owner may see.
    pub response: Option<Box<ResponseExcerpt>>,
}
packed!(SilentAnswer { class, response });

/// What a game says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GameOutcome {
    /// So many half points for the pairing's second bot: 0, 1 or 2.
    Played(u8),
    /// It says nothing about the bots.
    NotCounted(NotCounted),
}

/// Why a game is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCounted {
    /// The server gave the match up.
    Failed,
    Cancelled,
    /// The server did not call a bot as it should have.
    ServerFault,
    /// A bot gave no valid move in it.
    Silent,
}

packed_as!(GameOutcome: u8, |outcome| match outcome {
    GameOutcome::Played(half_points) => *half_points,
    GameOutcome::NotCounted(NotCounted::Failed) => 0x10,
    GameOutcome::NotCounted(NotCounted::Cancelled) => 0x11,
    GameOutcome::NotCounted(NotCounted::ServerFault) => 0x12,
    GameOutcome::NotCounted(NotCounted::Silent) => 0x13,
}, |code| match code {
    0..=2 => Ok(Self::Played(code)),
    0x10 => Ok(Self::NotCounted(NotCounted::Failed)),
    0x11 => Ok(Self::NotCounted(NotCounted::Cancelled)),
    0x12 => Ok(Self::NotCounted(NotCounted::ServerFault)),
    0x13 => Ok(Self::NotCounted(NotCounted::Silent)),
    _ => Err(DecodeError("an unknown outcome of a game")),
});

/// What a pair is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairOutcome {
    /// Half points of the pairing's second bot in each game.
    Played([u8; 2]),
    /// One of its games could not be played, however often it was tried: the pair counts for nothing.
    Void,
}

const VOID: u8 = 9;

packed_as!(PairOutcome: u8, |pair| match pair {
    PairOutcome::Played([one, other]) => 3 * one + other,
    PairOutcome::Void => VOID,
}, |code| match code {
    0..VOID => Ok(Self::Played([code / 3, code % 3])),
    VOID => Ok(Self::Void),
    _ => Err(DecodeError("an unknown outcome of a pair")),
});

/// Why a duel is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuelEnd {
    /// The candidate is more than `elo0` points stronger, as far as the test's error rates allow to say so.
    H1Accepted,
    /// The candidate is less than `elo1` points stronger, with the same reserve.
    H0Accepted,
    /// All games are played: the end of a league, and of a test that could not decide.
    GamesPlayed,
    /// Too many games could not be played.
    TooManyVoidPairs,
    /// A registered bot was deleted, or may not be used any more.
    BotWithdrawn,
    /// The owner called it off.
    Cancelled,
    /// A bot gave no valid move in any of several games in a row.
    BotSilent,
}

impl DuelEnd {
    pub const ALL: [Self; 7] = [
        Self::H1Accepted,
        Self::H0Accepted,
        Self::GamesPlayed,
        Self::TooManyVoidPairs,
        Self::BotWithdrawn,
        Self::Cancelled,
        Self::BotSilent,
    ];

    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::H1Accepted => "h1_accepted",
            Self::H0Accepted => "h0_accepted",
            Self::GamesPlayed => "games_played",
            Self::TooManyVoidPairs => "too_many_void_pairs",
            Self::BotWithdrawn => "bot_withdrawn",
            Self::Cancelled => "cancelled",
            Self::BotSilent => "bot_silent",
        }
    }
}

packed_as!(DuelEnd: u8, |end| *end as u8, |code| {
    DuelEnd::ALL.get(usize::from(code)).copied().ok_or(DecodeError("an unknown end of a duel"))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: Entry) {
        assert_eq!(Entry::decode(&entry.encode()), Ok(entry));
    }

    #[test]
    fn entries_are_read_back() {
        let key = GameKey { pairing: 3, pair: 70_000, game: 1, attempt: 2 };
        let match_id = MatchId(1 << 90);
        check(Entry::Started { games: vec![StartedGame { key, match_id }; 3] });
        let not_counted = [NotCounted::Failed, NotCounted::Cancelled, NotCounted::ServerFault, NotCounted::Silent];
        let outcomes = (0..3).map(GameOutcome::Played).chain(not_counted.map(GameOutcome::NotCounted));
        check(Entry::Ended { games: outcomes.map(|outcome| GameResult { key, match_id, outcome }).collect() });
        let played = (0..3).flat_map(|one| (0..3).map(move |other| PairOutcome::Played([one, other])));
        check(Entry::Counted { pairing: 2, pairs: played.chain([PairOutcome::Void]).collect() });
        DuelEnd::ALL.into_iter().for_each(|end| check(Entry::Over { end }));
        let page = Box::new(ResponseExcerpt::new(200, b"<html>"));
        for response in [None, Some(page)] {
            check(Entry::Silent { bot: 1, answer: SilentAnswer { class: AnswerClass::Malformed, response } });
        }
    }

    #[test]
    fn codes_never_change() {
        assert_eq!(DuelEnd::ALL.map(|end| end as u8), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(Entry::Over { end: DuelEnd::H0Accepted }.encode(), [1, 4, 1]);
        assert!(Entry::decode(&[1, 4, 7]).is_err() && Entry::decode(&[2, 4, 1]).is_err());
        assert!(Entry::decode(&[1, 3, 0, 1, 10]).is_err());
    }
}
