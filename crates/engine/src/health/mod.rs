//! The health of bots: what a probe or a match says about a bot, when a bot is paused, when it is probed again, and how fast and how well
//! it answered.
//!
//! A paused bot gets no games of ladders. Nothing here is a penalty: games that are under way go on.

pub mod calls;
pub mod fault;
pub mod state;

pub use calls::{BotCalls, LatencyHistogram};
pub use fault::CallFault;
pub use state::{BotHealth, EvidenceSource, HealthRecord, HealthStatus, HealthTransition};
