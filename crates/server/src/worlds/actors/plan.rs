//! What somebody wants of actors, and what they come to: plain values.

use super::{Cell, Size};
use crate::config::Config;
use engine::ids::WorldName;
use std::time::Duration;

/// How actors are let loose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActorPlan {
    /// How many.
    pub count: u32,
    /// Pause before each one comes in; zero lets them come as fast as the world takes them in.
    pub start_delay: Duration,
    /// Where they begin; anywhere free without it.
    pub spawn: Option<Cell>,
    /// From one move of an actor to its next. When in it each one begins is drawn.
    pub period: Duration,
    /// By how much each wait is longer or shorter, at most.
    pub jitter: Duration,
}

impl ActorPlan {
    /// The actors that the configuration lets loose.
    #[must_use]
    pub fn of_config(config: &Config) -> Self {
        Self {
            count: config.worlds_actors,
            start_delay: config.worlds_actor_start_delay,
            spawn: config.worlds_actor_spawn,
            period: config.worlds_actor_period,
            jitter: config.worlds_actor_jitter,
        }
    }

    /// Whether actors can begin so in a world of this size.
    ///
    /// # Errors
    /// [`SpawnOutOfBounds`].
    pub fn check_spawn(&self, name: &WorldName, size: Size) -> Result<(), SpawnOutOfBounds> {
        match self.spawn.filter(|at| !size.contains(*at)) {
            Some(at) => Err(SpawnOutOfBounds { at, name: name.clone(), size }),
            None => Ok(()),
        }
    }

    /// So many actors, anywhere, a move a second each.
    #[must_use]
    pub fn of(count: u32) -> Self {
        let (start_delay, jitter) = (Duration::ZERO, Duration::ZERO);
        Self { count, start_delay, spawn: None, period: Duration::from_secs(1), jitter }
    }
}

/// Actors would begin on a cell that the world does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "actors cannot begin at {},{}: the world {name} has {} x {} cells; choose x from 0 to {} and y from 0 to {}",
    at.x, at.y, size.width, size.height, size.width - 1, size.height - 1
)]
pub struct SpawnOutOfBounds {
    /// Where they were to begin.
    pub at: Cell,
    /// The world.
    pub name: WorldName,
    /// What it has.
    pub size: Size,
}

/// What one crew of several does of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::worlds) struct PlanShare {
    /// The plan, with this crew's number of actors.
    pub(super) plan: ActorPlan,
    /// Pause before the crew's first actor.
    pub(super) first_delay: Duration,
    /// Pause between two of its own: so long that all crews together keep the plan's.
    pub(super) spawn_interval: Duration,
}

impl ActorPlan {
    /// What crew `crew` of `crews` does of it.
    pub(super) fn share(self, crew: u32, crews: u32) -> PlanShare {
        let count = self.count / crews + u32::from(crew < self.count % crews);
        let (lead, pace) = (self.start_delay * crew, self.start_delay * crews);
        PlanShare { plan: Self { count, ..self }, first_delay: lead, spawn_interval: pace }
    }
}

/// How long moves took, from the moment for which each was intended to its answer, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MoveTime {
    /// Moves that were answered.
    pub moves: u64,
    /// Half of them took no longer; nothing of none.
    pub p50_ms: Option<f64>,
    /// 99 of 100.
    pub p99_ms: Option<f64>,
    /// 999 of 1,000.
    pub p999_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
}

/// What the actors of a world come to. What was planned, who came in and who has moved are counted apart: one is no proof of
/// another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ActorStats {
    /// Actors that were asked for.
    pub planned: u32,
    /// Actors that the world has let in.
    pub registered: u32,
    /// Actors whose first move was answered.
    pub moving: u32,
    /// Moves that the world refused, for a tree or the edge of the grid as well.
    pub refused: u64,
    /// Moves that fell out: the actor's last one was not answered yet, or its timer came a whole period late.
    pub missed: u64,
    /// Moves that had to wait because the mailbox was full.
    pub delayed: u64,
    /// Longest mailbox that a move found.
    pub mailbox_max: u64,
    /// Since the actors were let loose.
    pub run: MoveTime,
    /// Over the last seconds.
    pub window: MoveTime,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(count: u32, start_delay_ms: u64, crews: u32, want: &[(u32, u64, u64)]) {
        let plan = ActorPlan { start_delay: Duration::from_millis(start_delay_ms), ..ActorPlan::of(count) };
        let shares: Vec<_> = (0..crews)
            .map(|crew| plan.share(crew, crews))
            .map(|share| {
                (share.plan.count, share.first_delay.as_millis() as u64, share.spawn_interval.as_millis() as u64)
            })
            .collect();
        assert_eq!(shares, want);
    }

    #[test]
    fn crews_together_do_what_was_planned_at_its_pace() {
        check(5, 10, 1, &[(5, 0, 10)]);
        check(5, 10, 2, &[(3, 0, 20), (2, 10, 20)]);
        check(2, 0, 3, &[(1, 0, 0), (1, 0, 0), (0, 0, 0)]);
    }
}
