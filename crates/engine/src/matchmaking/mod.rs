//! Matchmaking: parties wait with tickets until others suit them.
//!
//! A ticket always ends: it is matched, its time runs out, or it is cancelled. Its party joins it one by one; nobody is put into one by
//! another, and nobody is on two tickets. Suits are judged from both sides and for every pair in a
//! match: the same size, one region, ratings as near as the more particular of the two still asks for, nobody twice. What a ticket asks
//! for widens while it waits. Nothing here has a clock or makes a hunt: `now` comes in, matches go out.

mod matching_rules;
mod pool;
#[cfg(test)]
mod tests;
mod ticket;

pub use matching_rules::MatchingRules;
pub use pool::{TicketEnd, TicketPool};
pub use ticket::{ParseRegionError, Region, Ticket, TicketRefusal};
