//! The deck of Stories: 43 pictures, drawn by code. A picture is a scene, data: a palette, and shapes out of one small
//! vocabulary, each with its position, size and turn. The same number always gives the same bytes. Pure: does not know
//! games, players and files.

mod palette;
mod scene;
mod scenes;
mod shapes;
mod svg_writer;
#[cfg(test)]
mod tests;

pub use svg_writer::{HEIGHT, WIDTH};

use scene::Scene;

/// Pictures of the deck: 1 to 36 are dealt to all players, the rest are earned.
pub const COUNT: u8 = 43;

/// The picture of a card, as a document of SVG 1.1 of at most 8 KiB without scripts and references; none where the deck
/// has no such card. Its title describes what is seen and nothing else, for those who do not see it.
#[must_use]
pub fn svg(card: u8) -> Option<String> {
    scene(card).map(|scene| svg_writer::document(card, scene))
}

/// What is seen on a card.
#[must_use]
pub fn title(card: u8) -> Option<&'static str> {
    scene(card).map(|scene| scene.title)
}

fn scene(card: u8) -> Option<&'static Scene> {
    let place = usize::from(card).checked_sub(1)?;
    scenes::ALL.iter().copied().flatten().nth(place)
}
