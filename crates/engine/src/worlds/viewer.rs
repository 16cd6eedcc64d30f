//! What one viewer knows: all that the world keeps per viewer, and what the next view is compared with.

use super::area::{Area, KnownRows};
use super::input::MoverId;
use super::registration::ViewOptions;
use super::rounds::RoundStatus;
use rules::world::Cell;

/// A mover as it was last sent to the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownMover {
    pub(super) slot: u32,
    pub(super) id: MoverId,
    pub(super) cell: Cell,
}

/// Memory that views are cut in, used again for each.
#[derive(Clone, Debug, Default)]
pub(super) struct ViewScratch {
    pub(super) seen: Vec<u32>,
    pub(super) movers: Vec<KnownMover>,
}

#[derive(Clone, Debug)]
pub(super) struct Viewer {
    pub(super) options: ViewOptions,
    /// What the last view covered, without the margin; `None`: the viewer knows nothing, and gets a full view.
    pub(super) area: Option<Area>,
    /// By slot.
    pub(super) movers: Vec<KnownMover>,
    pub(super) items: KnownRows,
    pub(super) life: KnownRows,
    pub(super) crowd: u32,
    pub(super) round: Option<RoundStatus>,
    pub(super) score: u32,
}

impl Viewer {
    pub(super) fn new(options: ViewOptions) -> Self {
        Self {
            options,
            area: None,
            movers: Vec::new(),
            items: KnownRows::default(),
            life: KnownRows::default(),
            crowd: 0,
            round: None,
            score: 0,
        }
    }
}
