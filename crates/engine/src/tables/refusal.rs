//! Why an action is refused. A refusal changes nothing, and reveals nothing that the player must not know.

use super::phase::Phase;
use crate::ids::PlayerId;
use crate::time::UnixMs;
use rules::stories::ValidationError;

/// What a table refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The table cannot have these settings.
    #[error("these settings cannot be played with")]
    Settings(Vec<ValidationError>),
    /// The game of this number is not the table's current one.
    #[error("game {game} is not the current game of this table")]
    GameNotLive {
        /// The requested one.
        game: u32,
    },
    /// A next game cannot begin before the current one has ended.
    #[error("game {game} of this table is still played")]
    GameIsLive {
        /// The one that is played.
        game: u32,
    },
    /// Another player is to begin the next game.
    #[error("player {next} begins the next game")]
    NotYourTurn {
        /// Whose turn it is.
        next: PlayerId,
        until: Option<UnixMs>,
    },
    /// The player is not a member of the table.
    #[error("only those who sit at the table may do this")]
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
    #[error("you play in this game already")]
    AlreadyJoined,
    /// Every seat is taken.
    #[error("all {players_max} seats of this game are taken")]
    TableFull { players_max: u8 },
    /// Seats of this game have changed hands often, and the player joined only just now.
    #[error("many have left this game before its vote: who has just sat down stays for a moment")]
    LeaveTooSoon {
        /// From when leaving is allowed.
        until: UnixMs,
    },
    /// The player has changed choices often enough.
    #[error("in one game a player changes what he did at most {max} times")]
    TooManyChanges {
        /// The most.
        max: u8,
    },
    /// The card is not in the player's hand.
    #[error("this card is not in your hand")]
    NotInHand,
    /// The card does not lie on the board.
    #[error("this card does not lie on the board")]
    NotOnBoard,
    #[error("a player cannot vote for their own card")]
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
    #[error("{have} cards are picked, the storyteller's included; a vote needs {need}")]
    TooFewPicks {
        have: u8,
        /// So many must have.
        need: u8,
    },
    #[error("{have} have voted; counting needs {need}")]
    TooFewVotes {
        have: u8,
        /// So many must have.
        need: u8,
    },
    /// A text without a visible character.
    #[error("the {what} is empty")]
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
    #[error("a game may invite at most {max} players who have not come yet")]
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
    #[error("you write too fast: wait a moment")]
    ChatTooFast {
        /// From when chat is allowed again.
        until: UnixMs,
    },
}
