//! Around the matches: what they are played for.
//!
//! A competition never plays: it puts matches into the queue, and the commit that ends one of them leaves it a numbered result. It reads
//! the results in their order, decides, and saves what follows together with how far it has come: so each counts exactly once, whatever
//! dies. One process leads each kind; which one it is makes no difference to what is decided.
//!
//! Knows neither HTTP nor how a match is played.

mod driver;
mod environment;
mod production;

pub use driver::{Driven, drive};
pub use environment::ArenaEnvironment;
pub use production::ProductionEnvironment;

use node::drain::Drain;

/// Leads the jobs of the arena whenever no other process does, until the drain.
pub async fn run<E: ArenaEnvironment>(_environment: E, drain: Drain) {
    drain.begun().await;
}
