//! Limits of what drives competitions.

/// Competitions that are read at once, to be advanced one after the other.
pub const COMPETITIONS_PAGE: usize = 256;
/// Competitions that cannot be advanced of which a process knows that: each of these is logged once, not each time that it is tried.
pub const COMPETITIONS_FAILING_KNOWN_MAX: usize = 1_024;
