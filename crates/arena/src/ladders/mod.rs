//! Ladders: the ladder that every server has, and the jobs of the one process that leads them.

mod matchmaker;
mod pairing_state;
mod rater;
pub mod recompute;
mod standard;

use crate::driver::{AdvanceError, drive};
use crate::environment::ArenaEnvironment;
use engine::competitions::CompetitionKind;
use futures_util::TryFutureExt;
use node::lease::Lease;

/// What the leader does: it rates results, ends seasons, and pairs bots, with at most `matches_at_once` of all ladders under way.
pub async fn lead<E: ArenaEnvironment>(environment: E, lease: Lease, matches_at_once: usize) {
    standard::ensure(&environment).await;
    let rater = environment.clone();
    let pairing = matchmaker::run(environment.clone(), lease.clone(), matches_at_once);
    let advance = move |row| rater::advance(rater.clone(), row).map_err(AdvanceError::Store);
    let rating = drive(environment, lease, CompetitionKind::Ladder, advance);
    tokio::join!(rating, pairing);
}

#[cfg(test)]
mod tests;
