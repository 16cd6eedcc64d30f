//! The cards by number; what is on them is somebody else's business.

/// A card: 1 to 36 are the base deck, 37 to 43 are earned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Card(pub u8);
