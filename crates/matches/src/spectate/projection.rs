//! What a replay makes of a match: text, entry by entry. Frames for spectators are one projection, the calls of a bot another.

use engine::matches::machine::MatchMachine;
use engine::rows::MatchLogRow;

/// Makes text of the entries of a log as they are played.
pub trait Projection: Send {
    /// The turn of the first board that it needs: a replay may begin with any board up to that one.
    fn first_turn(&self) -> u32;

    /// Sees the match before this entry is played. The entry is checked only when it is.
    fn before(&mut self, _machine: &MatchMachine, _next: &MatchLogRow) {}

    /// What an entry that was played makes.
    fn after(&mut self, played: &PlayedEntry<'_>) -> Projected;
}

/// An entry that was played.
pub struct PlayedEntry<'a> {
    /// The match after it.
    pub machine: &'a MatchMachine,
    pub row: &'a MatchLogRow,
    /// Whether it is the start position or a turn.
    pub is_new_board: bool,
}

/// What an entry makes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Projected {
    pub text: Option<String>,
    /// Nothing follows that the projection could use.
    pub is_last: bool,
}
