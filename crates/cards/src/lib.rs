//! The deck of Stories: 43 pictures, one SVG file a card in `pictures/`, embedded as they are; what may be told about each, and
//! how well a sentence fits each. Pure: does not know games and players.

mod fit;
mod scenes;
#[cfg(test)]
mod tests;

pub use fit::fit;
pub use scenes::{Difficulty, sentences};

/// By card, the first is card 1: 1 to 36 are dealt to all players, the rest are earned.
const PICTURES: [&str; 43] = [
    include_str!("../pictures/01.svg"),
    include_str!("../pictures/02.svg"),
    include_str!("../pictures/03.svg"),
    include_str!("../pictures/04.svg"),
    include_str!("../pictures/05.svg"),
    include_str!("../pictures/06.svg"),
    include_str!("../pictures/07.svg"),
    include_str!("../pictures/08.svg"),
    include_str!("../pictures/09.svg"),
    include_str!("../pictures/10.svg"),
    include_str!("../pictures/11.svg"),
    include_str!("../pictures/12.svg"),
    include_str!("../pictures/13.svg"),
    include_str!("../pictures/14.svg"),
    include_str!("../pictures/15.svg"),
    include_str!("../pictures/16.svg"),
    include_str!("../pictures/17.svg"),
    include_str!("../pictures/18.svg"),
    include_str!("../pictures/19.svg"),
    include_str!("../pictures/20.svg"),
    include_str!("../pictures/21.svg"),
    include_str!("../pictures/22.svg"),
    include_str!("../pictures/23.svg"),
    include_str!("../pictures/24.svg"),
    include_str!("../pictures/25.svg"),
    include_str!("../pictures/26.svg"),
    include_str!("../pictures/27.svg"),
    include_str!("../pictures/28.svg"),
    include_str!("../pictures/29.svg"),
    include_str!("../pictures/30.svg"),
    include_str!("../pictures/31.svg"),
    include_str!("../pictures/32.svg"),
    include_str!("../pictures/33.svg"),
    include_str!("../pictures/34.svg"),
    include_str!("../pictures/35.svg"),
    include_str!("../pictures/36.svg"),
    include_str!("../pictures/37.svg"),
    include_str!("../pictures/38.svg"),
    include_str!("../pictures/39.svg"),
    include_str!("../pictures/40.svg"),
    include_str!("../pictures/41.svg"),
    include_str!("../pictures/42.svg"),
    include_str!("../pictures/43.svg"),
];

/// The picture of a card, as a document of SVG 1.1 of at most 8 KiB without scripts and references; none where the deck
/// has no such card. Its title describes what is seen and nothing else, for those who do not see it. Names inside it carry
/// the card's number, so that several may stand in one page.
#[must_use]
pub fn svg(card: u8) -> Option<&'static str> {
    PICTURES.get(usize::from(card).checked_sub(1)?).copied()
}

/// What is seen on a card: the title of its picture.
#[must_use]
pub fn title(card: u8) -> Option<&'static str> {
    let (_, after) = svg(card)?.split_once("<title id=\"")?;
    Some(after.split_once("\">")?.1.split_once("</title>")?.0)
}
