//! Ladders: the ladder that every server has, and the jobs of the one process that leads them.

mod end;
mod matchmaker;
mod pairing_state;
mod rater;
pub mod recompute;
mod standard;

pub use end::{EndLadderError, end};

use crate::driver::drive;
use crate::environment::ArenaEnvironment;
use engine::competitions::CompetitionKind;
use node::lease::Lease;

/// What the leader does: it rates results, ends seasons, and pairs bots, with at most `matches_at_once` unapplied matches of all ladders.
pub async fn lead<E: ArenaEnvironment>(environment: E, lease: Lease, matches_at_once: usize) {
    standard::ensure(&environment).await;
    let rater = environment.clone();
    let pairing = matchmaker::run(environment.clone(), lease.clone(), matches_at_once);
    let advance = move |row| rater::advance(rater.clone(), row);
    let rating = drive(environment, lease, CompetitionKind::Ladder, advance);
    tokio::join!(rating, pairing);
}

#[cfg(test)]
mod tests;
