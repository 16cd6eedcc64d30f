//! The rounds of a hunt, as they are published.

use super::facts::HunterScore;
use crate::time::UnixMs;

/// How far a hunt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoundPhase {
    /// The round has not begun: it begins when a mover is there and the pause is over.
    Waiting = 0,
    /// The round is running.
    Running = 1,
    /// It was the last one.
    Over = 2,
}

impl RoundPhase {
    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Over => "over",
        }
    }

    /// The number on the wire.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// The public state of the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundStatus {
    /// Its number, from 1; the one to come while none runs. 0 in a world without a hunt.
    pub number: u32,
    /// How far it is.
    pub phase: RoundPhase,
    /// When it ends; of a round to come, the earliest time at which it begins.
    pub until: UnixMs,
    pub chests_left: u32,
}

/// A public event of the hunt: only what is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HuntEvent {
    Began(RoundStatus),
    /// A round ended; the round to come, if there is one, is sent with the scores of the one that ended.
    Ended {
        /// The one that ended.
        number: u32,
        /// The best of it, best first.
        scores: Vec<HunterScore>,
        /// What comes.
        next: RoundStatus,
    },
    /// The hunt was over between two rounds.
    Over(RoundStatus),
}
