//! How a match ended, with ties reported as ties.

use rules::snake::Cause;

/// The result of a finished match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchResult {
    /// The winner's seat, if one snake is best alone.
    pub winner: Option<u8>,
    /// There is no winner: several share the best place, or the turns ran out.
    pub is_draw: bool,
    /// Place of each seat, 1 is best; equals share a place.
    pub placements: Vec<u8>,
    /// Why each seat is out; `None` for the living.
    pub causes: Vec<Option<Cause>>,
    /// Turns played.
    pub turns: u32,
    /// Moves, over all seats, that came after the deadline or never.
    pub late_moves: u32,
    /// What each seat's snake has eaten; 0 where snakes grow without food.
    pub food_eaten: Vec<u32>,
    /// This server failed to call a bot, through no fault of the bot.
    pub is_server_fault: bool,
}
