//! Simulated hunts on several nodes: the real machine of a world and the real contract of the store, nodes that die or
//! are suspended through their lease, commits that are lost, late or fenced, and hunters who repeat unanswered inputs.
//!
//! What must be true at every moment: no client receives a claim that is not in the log, no input gets two different
//! answers, and no item is won twice. A new mover never gets a used number. At the end, every input is answered.

mod hunter;
mod node;
mod plan;
mod run;

pub use plan::HuntPlan;
pub use run::{HuntReport, run};
