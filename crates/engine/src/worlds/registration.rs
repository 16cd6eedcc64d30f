//! How somebody comes into a world: what he looks like, what he wants to see, and whether he was here before.

use super::input::{MoverId, MoverRef};
use super::refusal::Refusal;
use crate::ids::PlayerId;
use crate::limits::{VIEW_PER_S_MAX, VIEW_RADIUS_MAX};
use rules::world::{Cell, Indicator};
use std::sync::Arc;

/// What a viewer wants to see, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewOptions {
    /// Columns on each side of his own: 13 gives a view of 27 columns.
    pub radius_x: u8,
    /// Rows above and below his own.
    pub radius_y: u8,
    /// Views a second, at most.
    pub per_s: u8,
}

impl ViewOptions {
    /// The options, if views may be so large and so frequent.
    ///
    /// # Errors
    /// [`Refusal::ViewTooLarge`].
    pub fn validated(self) -> Result<Self, Refusal> {
        let is_radius = |radius| (1..=VIEW_RADIUS_MAX).contains(&radius);
        let is_fine =
            is_radius(self.radius_x) && is_radius(self.radius_y) && (1..=VIEW_PER_S_MAX).contains(&self.per_s);
        if is_fine {
            Ok(self)
        } else {
            Err(Refusal::ViewTooLarge { radius_max: VIEW_RADIUS_MAX, per_s_max: VIEW_PER_S_MAX })
        }
    }
}

/// Somebody who wants to come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// What he looks like.
    pub indicator: Indicator,
    /// Where he wants to appear; the nearest free cell is taken. `None`: anywhere.
    pub at: Option<Cell>,
    /// What he wants to see; `None`: he is told of his own inputs only.
    pub view: Option<ViewOptions>,
    /// Who he is to the house: his score is kept under this name.
    pub player: Option<PlayerId>,
    /// What others read over his head. Whoever calls has cut it to its limit.
    pub name: Option<Arc<str>>,
    /// Whether he may come back with his key. Actors of the house do not: they cost less, and no snapshot holds them.
    pub is_resumable: bool,
    /// Who he was before, and the key that he got then. A key that does not fit makes him a newcomer.
    pub resume: Option<(MoverId, u64)>,
}

/// What somebody gets who has come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registered {
    /// His address.
    pub mover: MoverRef,
    /// With it and his id he may come back; 0 for those who may not.
    pub key: u64,
    /// Where he stands.
    pub cell: Cell,
    /// The number of his next input.
    pub next_seq: u32,
    /// Whether he is the mover that he said he was.
    pub is_resumed: bool,
    /// What he has in this round.
    pub score: u32,
}
