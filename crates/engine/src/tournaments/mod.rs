//! Tournaments: a definition, a field of bots and a log of events; everything else follows from these.
//!
//! A [`Tournament`] is a fold over its log: the same log is always the same tournament. It says which games are to be played
//! next; who plays them and what time it is, it does not know. Each result becomes an event, so a tournament that was
//! interrupted anywhere goes on as if nothing had happened.

mod absence;
mod adjudication;
mod bracket;
mod decide;
mod definition;
mod entries;
mod event;
mod group_stage;
mod heats;
mod matching;
mod pairing;
mod refusal;
mod standings;
mod swiss;
#[cfg(test)]
mod tests;
mod tournament;

pub use adjudication::adjudicate;
pub use definition::{Definition, DefinitionError, EntryRule, Format, Seeding, TieBreak, TournamentRules};
pub use event::{CancelReason, Event, GameScore, LogEntry, NewEntrant, VoidReason, WithdrawalReason};
pub use pairing::{Decision, Game, GameEnd, Occupant, Outcome, Pairing, PairingStage, Source};
pub use refusal::Refusal;
pub use standings::Standing;
pub use tournament::{Entrant, GameOrder, Phase, Tournament};
