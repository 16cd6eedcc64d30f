//! The runner: claims matches, plays each in a room of its own, and releases them in time.
//!
//! `worker` holds the lease and the rooms. `room` plays one match. `environment` has all their side effects: the real ones (store,
//! notifiers, HTTP to bots) are in `production`, the simulated ones in the crate `sim`. `evidence` has what a bot was sent, again.

mod environment;
pub mod evidence;
pub mod notifier;
mod production;
mod room;
pub mod spectate;
mod worker;

pub use environment::MatchEnvironment;
pub use production::ProductionEnvironment;
pub use worker::{RunnerConfig, run};
