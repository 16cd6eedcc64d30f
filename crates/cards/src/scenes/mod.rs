//! The scenes, in the order of the cards' numbers. Does not know how shapes are drawn.

mod dry;
mod earned;
mod heights;
mod nights;
mod waters;

use crate::scene::Scene;

/// All of them: the first card is the first.
pub(crate) static ALL: [&[Scene]; 5] =
    [&waters::SCENES, &heights::SCENES, &nights::SCENES, &dry::SCENES, &earned::SCENES];
