//! Around the matches: what they are played for, and whether the bots that play them answer.
//!
//! A competition never plays: it puts matches into the queue, and the commit that ends one of them leaves it a numbered result. It reads
//! the results in their order, decides, and saves what follows together with how far it has come: so each counts exactly once, whatever
//! dies. One process leads each kind; which one it is makes no difference to what is decided.
//!
//! Competitions know neither HTTP nor how a match is played; only the checks of bots do (`health`): they call bots as matches do.

mod cancellation;
mod driver;
pub mod duels;
mod environment;
pub mod health;
pub mod ladders;
mod production;
mod retries;
mod silence;
mod states;
mod step;
#[cfg(test)]
mod testing;
pub mod tournaments;

/// What the arena is started with.
#[derive(Clone, Copy, Debug)]
pub struct ArenaConfig {
    /// Matches of ladders whose results have not been rated that there may be, on all nodes together.
    pub ladder_matches_at_once: usize,
}

pub use driver::{AdvanceError, Driven, drive};
pub use environment::ArenaEnvironment;
pub use production::ProductionEnvironment;
pub use states::{LoggedState, States, UnreadableState};

use duels::DuelStates;
use engine::leadership::LeaderJob;
use node::drain::Drain;
use node::leader::lead;
use std::sync::Arc;
use tournaments::Tournaments;

/// Leads the jobs of the arena whenever no other process does, until the drain.
pub async fn run<E: ArenaEnvironment>(
    environment: E,
    config: ArenaConfig,
    duel_states: Arc<DuelStates>,
    tournaments: Tournaments<E>,
    drain: Drain,
) {
    let (of_duels, of_ladders) = (environment.clone(), environment.clone());
    let drive_duels = move |lease| duels::run(of_duels.clone(), duel_states.clone(), lease);
    let lead_ladders = move |lease| ladders::lead(of_ladders.clone(), lease, config.ladder_matches_at_once);
    let drive_tournaments = move |lease| tournaments.clone().run(lease);
    tokio::join!(
        lead(environment.clone(), LeaderJob::Duels, drain.clone(), drive_duels),
        lead(environment.clone(), LeaderJob::Ladders, drain.clone(), lead_ladders),
        lead(environment, LeaderJob::Tournaments, drain, drive_tournaments),
    );
}
