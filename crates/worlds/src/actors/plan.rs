//! Plans for actors and their statistics: plain values.

use engine::ids::WorldName;
use rules::world::{Cell, Size};
use std::time::Duration;

/// How actors are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActorPlan {
    /// How many.
    pub count: u32,
    /// Pause before each actor enters; with zero they enter as fast as the world accepts them.
    pub start_delay: Duration,
    /// Where they begin; on any free cell without it.
    pub spawn: Option<Cell>,
    /// From one move of an actor to its next. Each actor's phase in it is random.
    pub period: Duration,
    /// The most by which each wait is longer or shorter.
    pub jitter: Duration,
}

impl ActorPlan {
    /// Checks that the start cell lies inside a world of this size.
    ///
    /// # Errors
    /// [`SpawnOutOfBounds`].
    pub fn check_spawn(&self, name: &WorldName, size: Size) -> Result<(), SpawnOutOfBounds> {
        match self.spawn.filter(|at| !size.contains(*at)) {
            Some(at) => Err(SpawnOutOfBounds { at, name: name.clone(), size }),
            None => Ok(()),
        }
    }

    /// `count` actors that start anywhere and move once a second each.
    #[must_use]
    pub fn of(count: u32) -> Self {
        let (start_delay, jitter) = (Duration::ZERO, Duration::ZERO);
        Self { count, start_delay, spawn: None, period: Duration::from_secs(1), jitter }
    }
}

/// The start cell of the actors lies outside the world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "actors cannot begin at {},{}: the world {name} has {} x {} cells; choose x from 0 to {} and y from 0 to {}",
    at.x, at.y, size.width, size.height, size.width - 1, size.height - 1
)]
pub struct SpawnOutOfBounds {
    pub at: Cell,
    pub name: WorldName,
    pub size: Size,
}

/// The share of one worker in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanShare {
    /// The plan, with this worker's number of actors.
    pub(crate) plan: ActorPlan,
    /// Pause before the worker's first actor.
    pub(crate) first_delay: Duration,
    /// Pause between two of its own: so long that all workers together keep the plan's pace.
    pub(crate) spawn_interval: Duration,
}

impl ActorPlan {
    /// The share of worker `worker` of `workers`.
    pub(crate) fn share(self, worker: u32, workers: u32) -> PlanShare {
        let count = self.count / workers + u32::from(worker < self.count % workers);
        let (lead, pace) = (self.start_delay * worker, self.start_delay * workers);
        PlanShare { plan: Self { count, ..self }, first_delay: lead, spawn_interval: pace }
    }
}

/// How long moves took, from the moment for which each was intended until its answer, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MoveTime {
    /// Moves that have an answer.
    pub moves: u64,
    /// The median; `None` without moves.
    pub p50_ms: Option<f64>,
    /// 99 of 100.
    pub p99_ms: Option<f64>,
    /// 999 of 1,000.
    pub p999_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
}

/// Statistics of a world's actors. Planned, registered and moving actors are counted apart: none of these implies another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ActorStats {
    /// Actors that the plan asks for.
    pub planned: u32,
    /// Actors that the world has accepted.
    pub registered: u32,
    /// Actors whose first move has an answer.
    pub moving: u32,
    /// Moves that the world refused, also because of a tree or the edge of the grid.
    pub refused: u64,
    /// Moves that were skipped: the actor's last one had no answer yet, or its timer fired a whole period late.
    pub missed: u64,
    /// Moves that waited because the mailbox was full.
    pub delayed: u64,
    /// Longest mailbox that a move saw.
    pub mailbox_max: u64,
    /// Since the actors were started.
    pub run: MoveTime,
    /// Over the last seconds.
    pub window: MoveTime,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(count: u32, start_delay_ms: u64, workers: u32, want: &[(u32, u64, u64)]) {
        let plan = ActorPlan { start_delay: Duration::from_millis(start_delay_ms), ..ActorPlan::of(count) };
        let shares: Vec<_> = (0..workers)
            .map(|worker| plan.share(worker, workers))
            .map(|share| {
                (share.plan.count, share.first_delay.as_millis() as u64, share.spawn_interval.as_millis() as u64)
            })
            .collect();
        assert_eq!(shares, want);
    }

    #[test]
    fn workers_together_do_what_was_planned_at_its_pace() {
        check(5, 10, 1, &[(5, 0, 10)]);
        check(5, 10, 2, &[(3, 0, 20), (2, 10, 20)]);
        check(2, 0, 3, &[(1, 0, 0), (1, 0, 0), (0, 0, 0)]);
    }
}
