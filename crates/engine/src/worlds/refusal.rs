//! Why a world refuses an input. A refusal moves no mover.

/// What a world refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A tree stands there.
    #[error("a tree stands there: go around it")]
    Blocked,
    /// The grid ends there.
    #[error("the world ends there: take another step")]
    OutOfBounds,
    /// The mover's last moves were too close together.
    #[error("you move too fast: wait a moment")]
    TooFast,
    /// A mover stands there, in a world with one mover on a cell.
    #[error("another mover stands there: go around it")]
    Occupied,
    /// Another mover was faster.
    #[error("another mover has taken it")]
    Taken,
    /// Nothing of the kind lies within reach.
    #[error("nothing of the kind lies within your reach: go closer")]
    NothingHere,
    /// The input is not the mover's next one, and too old to be answered again.
    #[error("inputs are numbered without gaps, and {expected} is the next one")]
    OutOfOrder {
        /// The number that is.
        expected: u32,
    },
    /// The reference is stale: the mover left, or its grace is over.
    #[error("there is no such mover: register again")]
    UnknownMover,
    /// There is no hunt in this world.
    #[error("this world has no hunt: nothing can be dug or grabbed here")]
    NoHunt,
    /// No round of the hunt is running.
    #[error("no round is running: wait for the next")]
    RoundOver,
    /// No cell is free, or as many movers are here as may be.
    #[error("the world is full: come back later")]
    WorldFull,
    /// The requested view is larger or more frequent than views may be.
    #[error("a view's radius is 1 to {radius_max} and its rate 1 to {per_s_max} a second")]
    ViewTooLarge {
        /// The largest radius, in cells.
        radius_max: u8,
        /// The highest rate, a second.
        per_s_max: u8,
    },
}

impl Refusal {
    /// The stable name on the wire.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::OutOfBounds => "bounds",
            Self::TooFast => "too_fast",
            Self::Occupied => "occupied",
            Self::Taken => "taken",
            Self::NothingHere => "nothing_here",
            Self::OutOfOrder { .. } => "out_of_order",
            Self::UnknownMover => "unknown_mover",
            Self::NoHunt => "no_hunt",
            Self::RoundOver => "round_over",
            Self::WorldFull => "world_full",
            Self::ViewTooLarge { .. } => "view_too_large",
        }
    }
}
