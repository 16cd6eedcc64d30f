//! How far back a store goes.

use crate::time::UnixMs;

/// When what ended first, of what is kept, has ended; nothing where nothing has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OldestKept {
    pub matches: Option<UnixMs>,
    pub story_games: Option<UnixMs>,
    pub hunts: Option<UnixMs>,
    /// Duels and tournaments.
    pub competitions: Option<UnixMs>,
}
