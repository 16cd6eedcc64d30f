//! Registration of a mover: its appearance, its view, and whether it resumes an earlier one.

use super::input::{MoverId, MoverRef};
use super::refusal::Refusal;
use crate::ids::PlayerId;
use crate::limits::{VIEW_PER_S_MAX, VIEW_RADIUS_MAX};
use rules::world::{Cell, Indicator};
use std::sync::Arc;

/// What a viewer wants to see, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewOptions {
    /// Columns on each side of the mover's own: 13 gives a view of 27 columns.
    pub radius_x: u8,
    /// Rows above and below the mover's own.
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    pub indicator: Indicator,
    /// The wanted cell; the nearest free cell is taken. `None`: anywhere.
    pub at: Option<Cell>,
    /// The wanted view; `None`: only answers to its own inputs.
    pub view: Option<ViewOptions>,
    /// The signed-in player: the score is saved under this id.
    pub player: Option<PlayerId>,
    /// The name that others see. The caller has cut it to its limit.
    pub name: Option<Arc<str>>,
    /// Whether it can be resumed with its key. Built-in actors cannot: they cost less, and no snapshot holds them.
    pub is_resumable: bool,
    /// The earlier mover, and the key of its registration. With a wrong key a new mover is made.
    pub resume: Option<(MoverId, u64)>,
}

/// The result of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registered {
    pub mover: MoverRef,
    /// The key that resumes it, together with its id; 0 if it cannot be resumed.
    pub key: u64,
    pub cell: Cell,
    /// The number of the next input.
    pub next_seq: u32,
    /// Whether the earlier mover was resumed.
    pub is_resumed: bool,
    /// The score in this round.
    pub score: u32,
}
