//! What a view contains: the difference between what the viewer knows and what is there. Buffers are reused.

use super::input::MoverId;
use super::rounds::RoundStatus;
use rules::world::{Cell, Indicator};
use std::sync::Arc;

/// A mover that comes into sight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnteredMover {
    pub id: MoverId,
    pub cell: Cell,
    pub indicator: Indicator,
    pub name: Option<Arc<str>>,
}

/// What changed for one viewer since the last view.
///
/// A viewer keeps what was sent of the cells within the radius plus [`crate::limits::VIEW_MARGIN_CELLS`] around
/// `centre`, and drops trees, items and bacteria outside. Movers are kept until they are named in `left`; the viewer's
/// own mover, which stands on `centre`, is never among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewDelta {
    /// Whether everything that was known before is void.
    pub is_full: bool,
    /// The world's tick.
    pub tick: u32,
    /// Where the viewer's own mover stands.
    pub centre: Cell,
    /// Columns visible on each side now: more than requested while farsight is active.
    pub radius_x: u8,
    /// Rows visible above and below now.
    pub radius_y: u8,
    /// Movers that came into sight.
    pub entered: Vec<EnteredMover>,
    /// Movers that the viewer knows and that have moved.
    pub moved: Vec<(MoverId, Cell)>,
    /// Movers that are not visible any more.
    pub left: Vec<MoverId>,
    /// Trees on cells that came into sight.
    pub trees: Vec<Cell>,
    /// Items that came into sight, or appeared. What is gone is to be taken away first: another may lie there now.
    pub items_in: Vec<(Cell, Indicator)>,
    /// Cells in sight whose item is gone.
    pub items_gone: Vec<Cell>,
    /// Cells on which a bacterium is now.
    pub life_on: Vec<Cell>,
    /// Cells in sight on which none is any more.
    pub life_off: Vec<Cell>,
    /// Movers within the radius that are left out because they are too many.
    pub crowd: u32,
    /// The round, if it changed.
    pub round: Option<RoundStatus>,
    /// The viewer's own score, if it changed.
    pub score: Option<u32>,
    /// When the input of the oldest of these changes was received: microseconds, as [`super::Input::at_us`]; `None`
    /// when they are all the viewer's own. Of a mover who moved more than once, the last move counts.
    pub oldest_change_us: Option<i64>,
    /// Views that were due since the last one and were not cut, because the viewer was behind. The caller that keeps
    /// the schedule fills it in.
    pub skipped: u32,
}

impl ViewDelta {
    /// Nothing; the buffers keep their room.
    pub fn clear(&mut self) {
        self.entered.clear();
        self.moved.clear();
        self.left.clear();
        self.trees.clear();
        self.items_in.clear();
        self.items_gone.clear();
        self.life_on.clear();
        self.life_off.clear();
        (self.is_full, self.crowd, self.skipped) = (false, 0, 0);
        (self.round, self.score, self.oldest_change_us) = (None, None, None);
    }

    /// Whether it contains nothing new.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let lists = [
            self.entered.len(),
            self.moved.len(),
            self.left.len(),
            self.trees.len(),
            self.items_in.len(),
            self.items_gone.len(),
            self.life_on.len(),
            self.life_off.len(),
        ];
        lists.iter().all(|len| *len == 0) && !self.is_full && self.round.is_none() && self.score.is_none()
    }
}
