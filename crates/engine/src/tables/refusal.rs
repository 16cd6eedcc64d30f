//! Why an action is refused. A refusal changes nothing, and reveals nothing that the player must not know.

use super::phase::Phase;
use crate::ids::PlayerId;
use crate::time::UnixMs;
use rules::stories::ValidationError;

/// What a table refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The table cannot have these settings.
    #[error("a table cannot have these settings: keep each of them within its range")]
    Settings(Vec<ValidationError>),
    /// The game of this number is not the table's current one.
    #[error("game {game} is not the current game of this table: read the table for its current one")]
    GameNotLive {
        /// The requested one.
        game: u32,
    },
    /// A next game cannot begin before the current one has ended.
    #[error("game {game} of this table has not ended: the next one begins after it")]
    GameIsLive {
        /// The one that is played.
        game: u32,
    },
    /// Another player is to begin the next game.
    #[error("it is the turn of player {next} to begin the next game: wait for them")]
    NotYourTurn {
        /// Whose turn it is.
        next: PlayerId,
        until: Option<UnixMs>,
    },
    /// The player is not a member of the table.
    #[error("only members of the table may do this: join a game there first")]
    NotAMember,
    /// The player is not in this game.
    #[error("only players of this game may do this: join it first")]
    NotAPlayer,
    /// Only the storyteller may do this.
    #[error("only the storyteller may do this")]
    NotStoryteller,
    /// It cannot be done in this phase.
    #[error("this cannot be done in the phase `{}`", phase.name())]
    WrongPhase {
        /// How far the game is.
        phase: Phase,
        /// When it could be done.
        allowed: &'static [Phase],
    },
    /// The player is in this game already.
    #[error("you are a player of this game already")]
    AlreadyJoined,
    /// Every seat is taken.
    #[error("all {players_max} seats of this game are taken: wait for the next one")]
    TableFull { players_max: u8 },
    /// Seats of this game have changed hands often, and the player joined only just now.
    #[error("many players have left this game before its vote: wait a moment before you leave")]
    LeaveTooSoon {
        /// From when leaving is allowed.
        until: UnixMs,
    },
    /// The player has changed choices often enough.
    #[error("you have changed your choices in this game {max} times, which is the most: the last ones stay")]
    TooManyChanges {
        /// The most.
        max: u8,
    },
    /// The card is not in the player's hand.
    #[error("this card is not in your hand: choose one that is")]
    NotInHand,
    /// The card does not lie on the board.
    #[error("this card does not lie on the board: choose one that does")]
    NotOnBoard,
    #[error("you cannot vote for your own card: choose another")]
    OwnCard,
    /// There is no story without a card.
    #[error("choose a card before you tell its story")]
    CardNotSet,
    /// The storyteller chooses a card before the story; it cannot be changed any more.
    #[error("the storyteller's card cannot be changed after the story is told")]
    StorytellerMayNotPick,
    /// The storyteller knows the answer.
    #[error("the storyteller does not vote")]
    StorytellerMayNotVote,
    #[error("{have} cards are picked, the storyteller's included, and a vote needs {need}: wait for more")]
    TooFewPicks {
        have: u8,
        /// So many must have.
        need: u8,
    },
    #[error("{have} players have voted, and counting needs {need}: wait for more")]
    TooFewVotes {
        have: u8,
        /// So many must have.
        need: u8,
    },
    /// A text without a visible character.
    #[error("the {what} is empty: it needs at least one visible character")]
    Empty {
        /// Of what: `sentence` or `text`.
        what: &'static str,
    },
    /// A text beyond its limit.
    #[error("the {what} has {chars} characters; at most {max} are allowed")]
    TooLong {
        /// What: `sentence` or `text`.
        what: &'static str,
        /// Its characters.
        chars: usize,
        /// The most that are allowed.
        max: usize,
    },
    /// More would be invited than a game may invite.
    #[error("a game has at most {max} invited players who have not joined yet: wait until some have")]
    TooManyInvited {
        /// The most that are allowed at once.
        max: usize,
    },
    /// A countdown shorter or longer than allowed.
    #[error("a countdown takes {min_ms} to {max_ms} milliseconds, or 0 for the table's own")]
    Countdown {
        /// The least, in milliseconds.
        min_ms: u64,
        /// The most, in milliseconds.
        max_ms: u64,
    },
    /// The player sends chat faster than allowed.
    #[error("you send chat too fast: wait a moment")]
    ChatTooFast {
        /// From when chat is allowed again.
        until: UnixMs,
    },
}
