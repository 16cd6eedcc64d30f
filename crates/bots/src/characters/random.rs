//! Any safe move. It sees one step ahead and no further, so it walks into its own traps.

use super::Direction;
use super::chance::Chance;
use super::sight::{Sight, Ways};

pub(super) fn choose(_sight: &Sight<'_>, ways: &Ways, chance: &mut Chance) -> Direction {
    ways.choose(chance, |_| ())
}
