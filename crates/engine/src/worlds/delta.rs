//! What a viewer is told: the difference between what he knows and what is. Buffers are kept and filled again.

use super::input::MoverId;
use super::rounds::RoundStatus;
use rules::world::{Cell, Indicator};
use std::sync::Arc;

/// A mover that comes into sight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnteredMover {
    /// Who.
    pub id: MoverId,
    /// Where he stands.
    pub cell: Cell,
    /// What he looks like.
    pub indicator: Indicator,
    /// His name, if he has one.
    pub name: Option<Arc<str>>,
}

/// What changed for one viewer since his last view.
///
/// A viewer keeps what was told of the cells within his radius plus [`crate::limits::VIEW_MARGIN_CELLS`] around `centre`, and
/// forgets trees, items and bacteria outside. Movers he keeps until they are named in `left`; his own mover, which stands
/// on `centre`, is never among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewDelta {
    /// Whether everything that was known before is void.
    pub is_full: bool,
    /// The world's tick.
    pub tick: u32,
    /// Where the viewer's own mover stands.
    pub centre: Cell,
    /// Columns on each side that he sees now: more than he asked for while farsight helps.
    pub radius_x: u8,
    /// Rows above and below that he sees now.
    pub radius_y: u8,
    /// Movers that came into sight.
    pub entered: Vec<EnteredMover>,
    /// Movers that he knows and that stand elsewhere now.
    pub moved: Vec<(MoverId, Cell)>,
    /// Movers that he does not see any more.
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
    /// Movers within the radius that he is not told of, because they are too many.
    pub crowd: u32,
    /// The round, if what he knows of it changed.
    pub round: Option<RoundStatus>,
    /// His own score, if it changed.
    pub score: Option<u32>,
    /// When the oldest of these changes came to a door: microseconds, as [`super::Input::at_us`]; `None` when it was nobody else's.
    /// Of a mover who moved more than once, the last move counts.
    pub oldest_change_us: Option<i64>,
    /// Views that were due since the last one and were not cut, because he was behind. Whoever keeps the schedule fills it in.
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

    /// Whether it tells nothing new of what is in sight.
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
