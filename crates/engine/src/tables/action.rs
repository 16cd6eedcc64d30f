//! What somebody may want to do at a table.

use super::people::Newcomer;
use crate::ids::PlayerId;
use rules::stories::Card;
use std::time::Duration;

/// An action. Who may do it and when stands in `docs/lifecycles/table.md`; `decide` has the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sit down to the game.
    Join(Newcomer),
    /// Leave the table.
    Leave,
    /// Choose the card of the story.
    ChooseCard(Card),
    /// Tell the story.
    TellStory(String),
    /// Ask others to play.
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
    /// Say something.
    Chat(String),
    /// Let bots play, or no more of them.
    SetBots(bool),
    /// End the game without a result. Who may do that is for the caller to know: operators, and the table's owner when nobody came.
    Close,
    /// Begin the next game, as its storyteller.
    NextGame(Newcomer),
}
