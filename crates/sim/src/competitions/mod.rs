//! Tournaments and duels, moved on by the real drivers of the arena in processes that die, freeze and lose commits, on games that a referee
//! ends in any order.
//!
//! How a game ends follows from its seed and its key alone. So every run of a plan has one right ending: faults may decide when games are
//! played and which process counts them, and nothing else.

mod plan;
mod run;
mod workload;

pub use plan::CompetitionPlan;
pub use run::{CompetitionReport, run};
