//! Ladders: the ladder that every server has, and the jobs of the one process that leads them.

mod rater;
pub mod recompute;
mod standard;

use crate::driver::drive;
use crate::environment::ArenaEnvironment;
use engine::competitions::CompetitionKind;
use node::lease::Lease;

/// What the leader does: it rates results and ends seasons.
pub(crate) async fn lead<E: ArenaEnvironment>(environment: E, lease: Lease) {
    standard::ensure(&environment).await;
    let rater = environment.clone();
    drive(environment, lease, CompetitionKind::Ladder, move |row| rater::advance(rater.clone(), row)).await;
}

#[cfg(test)]
mod tests;
