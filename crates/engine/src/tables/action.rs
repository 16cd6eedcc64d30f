//! The actions of players at a table.

use super::people::Newcomer;
use crate::ids::PlayerId;
use rules::stories::Card;
use std::time::Duration;

/// An action. `docs/lifecycles/table.md` says who may do it and when; `decide` has the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sit down to the game.
    Join(Newcomer),
    /// Leave the table.
    Leave,
    /// Choose the card of the story.
    ChooseCard(Card),
    TellStory(String),
    /// Invite others to play.
    Invite(Vec<PlayerId>),
    /// Pick a card that might be meant.
    Pick(Card),
    /// Open the vote.
    OpenVoting,
    /// Vote for the card that might be the storyteller's.
    Vote(Card),
    /// Count the votes.
    Complete,
    /// Choose how long countdowns of this phase take; zero for the table's own.
    SetCountdown(Duration),
    /// Send a line of chat.
    Chat(String),
    /// Let bots play, or no more of them.
    SetBots(bool),
    /// End the game without a result. The caller checks who may do that: operators, and the table's owner when no
    /// player joined.
    Close,
    /// Begin the next game, as its storyteller.
    NextGame(Newcomer),
}
