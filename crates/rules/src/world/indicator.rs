//! The appearance of what is in a world: a small number for each emoji, so that views carry a byte and pages draw it.

use super::hunt::{Item, PowerUp};

/// The emoji, by code. A code is never changed and never used again.
pub const INDICATORS: [&str; 20] = [
    "😁", "🤖", "🌳", "🦠", "🎁", "👟", "🔭", "🧲", "😎", "🤠", "🦊", "🐸", "🐼", "🐙", "🦄", "🐝", "👻", "👽", "🐢",
    "🏹",
];

/// One of [`INDICATORS`]; by default that of a player who did not choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Indicator(u8);

impl Indicator {
    /// A player who did not choose.
    pub const PLAYER: Self = Self(0);
    /// A mover without a player.
    pub const ACTOR: Self = Self(1);
    /// A chest.
    pub const CHEST: Self = Self(4);
    /// Codes from here on, up to [`Indicator::FACE_FIRST`], are things (a tree, a bacterium, items), not movers.
    const THING_FIRST: u8 = 2;
    /// Codes from here on are faces that a mover may choose.
    const FACE_FIRST: u8 = 8;

    /// The indicator of this code, if there is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        (usize::from(code) < INDICATORS.len()).then_some(Self(code))
    }

    /// The indicator of this code if a mover may use it: no mover may look like a tree.
    #[must_use]
    pub fn of_mover(code: u8) -> Option<Self> {
        Self::from_code(code).filter(|found| !(Self::THING_FIRST..Self::FACE_FIRST).contains(&found.0))
    }

    /// The number on the wire.
    #[must_use]
    pub fn code(self) -> u8 {
        self.0
    }

    /// How it is drawn.
    #[must_use]
    pub fn emoji(self) -> &'static str {
        INDICATORS[usize::from(self.0)]
    }
}

impl From<Item> for Indicator {
    fn from(item: Item) -> Self {
        match item {
            Item::Chest { .. } => Self::CHEST,
            Item::PowerUp(PowerUp::DoubleStep) => Self(5),
            Item::PowerUp(PowerUp::Farsight) => Self(6),
            Item::PowerUp(PowerUp::Magnet) => Self(7),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: u8, emoji: Option<&str>, is_of_mover: bool) {
        assert_eq!(Indicator::from_code(code).map(Indicator::emoji), emoji, "code {code}");
        assert_eq!(Indicator::of_mover(code).is_some(), is_of_mover, "code {code}");
    }

    #[test]
    fn movers_look_like_movers() {
        check(0, Some("😁"), true);
        check(1, Some("🤖"), true);
        check(2, Some("🌳"), false);
        check(7, Some("🧲"), false);
        check(8, Some("😎"), true);
        check(19, Some("🏹"), true);
        check(20, None, false);
    }

    #[test]
    fn every_emoji_has_one_code() {
        let emoji: std::collections::BTreeSet<&str> = INDICATORS.into_iter().collect();
        assert_eq!(emoji.len(), INDICATORS.len());
        for (code, emoji) in (0..).zip(INDICATORS) {
            assert_eq!(Indicator::from_code(code).map(Indicator::emoji), Some(emoji));
        }
        assert_eq!(Indicator::from(Item::Chest { points: 1 }), Indicator::CHEST);
        assert_eq!(PowerUp::ALL.map(|item| Indicator::from(Item::PowerUp(item)).emoji()), ["👟", "🔭", "🧲"]);
    }
}
