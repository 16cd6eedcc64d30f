//! Matchmaking: parties wait with tickets until compatible ones are found.
//!
//! A ticket always ends: it is matched, it times out, or it is cancelled. The players of a party join it one by one and
//! by themselves, and a player is on one ticket at a time. Compatibility is decided from both sides and for every pair
//! in a match: the same size, one region, ratings as near as the stricter of the two still requires, no player twice.
//! What a ticket accepts widens while it waits. Nothing here has a clock or makes a hunt: `now` comes in, matches go
//! out.

mod matching_rules;
mod pool;
#[cfg(test)]
mod tests;
mod ticket;

pub use matching_rules::MatchingRules;
pub use pool::{TicketEnd, TicketPool};
pub use ticket::{ParseRegionError, Region, Ticket, TicketRefusal};
