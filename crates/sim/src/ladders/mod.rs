//! Ladders, moved on by the real rater and the real matchmaker in processes that die, freeze and lose commits, on games that a referee ends
//! in any order, while bots come and go.
//!
//! Which bots meet depends on when their results come, so no two runs end the same way. Held instead is what must be true of every one:
//! at each commit (`oracle`), after each restart, and of what is stored at the end (`verify`).

mod oracle;
mod people;
mod plan;
mod run;
mod verify;

pub use plan::LadderPlan;
pub use run::{LadderReport, run};
