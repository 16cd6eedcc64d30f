//! What somebody wants of actors, and what they come to: plain values.

use super::Cell;
use std::time::Duration;

/// How actors are let loose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
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

impl Plan {
    /// So many actors, anywhere, a move a second each.
    #[must_use]
    pub fn of(count: u32) -> Self {
        let (start_delay, jitter) = (Duration::ZERO, Duration::ZERO);
        Self { count, start_delay, spawn: None, period: Duration::from_secs(1), jitter }
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
