//! How much goes on in public, in numbers.

use std::time::Duration;

/// Counts of [`PublicActivity`] end here: so many, or more.
pub const PUBLIC_COUNT_MAX: usize = 10_000;
/// What is "recent" in them.
pub const PUBLIC_ACTIVITY_WINDOW: Duration = Duration::from_secs(60);

/// What everyone may know of what all nodes of a store do. What is private is in none of these numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublicActivity {
    /// Public matches that run.
    pub matches_running: u64,
    /// Public matches among the next ones of the queue.
    pub matches_waiting: u64,
    /// Public matches that ended recently, with a result or without.
    pub matches_ended: u64,
    /// Games of Stories that are not over.
    pub stories: u64,
    /// Those of them that accept players.
    pub open_stories: u64,
    /// Who has joined one of these, its storyteller included.
    pub open_stories_players: u64,
    /// Free seats of these.
    pub open_stories_seats: u64,
    /// Public ladders that are open.
    pub ladders: u64,
    /// Matches of these that ended recently and are rated.
    pub ladder_matches_rated: u64,
}
