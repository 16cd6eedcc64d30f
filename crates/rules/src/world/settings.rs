//! The settings of a world, and their limits.

use super::grid::Size;
use super::hunt::HuntSettings;
use super::life::LifeSettings;
use crate::validation::{ValidationError, whole_ms};
use std::time::Duration;

/// Whether movers stand in each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// Any number of movers on a cell.
    Many,
    /// One mover on a cell: the next one is refused.
    One,
}

/// How a world is laid out and what goes on in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldSettings {
    /// Columns and rows.
    pub size: Size,
    /// Cells of a thousand that are trees.
    pub tree_permille: u16,
    /// Whether movers stand in each other's way.
    pub sharing: Sharing,
    /// Bacteria, if there are any.
    pub life: Option<LifeSettings>,
    /// The hunt, if there is one.
    pub hunt: Option<HuntSettings>,
    /// The least time between two moves of a mover at a steady rate; zero: no limit.
    pub move_min: Duration,
}

impl Default for WorldSettings {
    /// A million cells, one in twenty a tree, no life, no hunt, twenty moves a second at most.
    fn default() -> Self {
        Self {
            size: Size { width: 1_000, height: 1_000 },
            tree_permille: 50,
            sharing: Sharing::Many,
            life: None,
            hunt: None,
            move_min: Duration::from_millis(50),
        }
    }
}

impl WorldSettings {
    /// Fewest columns and rows.
    pub const SIDE_MIN: u16 = 8;
    /// Most columns and rows: sixteen million cells, some hundred megabytes when loaded.
    pub const SIDE_MAX: u16 = 4_096;
    /// Most cells of a thousand that are trees: with more, nearly every mover is walled in.
    pub const TREE_PERMILLE_MAX: u16 = 700;

    /// Everything that is wrong with these settings; nothing, when a world can be laid out by them.
    #[must_use]
    pub fn validation_errors(&self) -> Vec<ValidationError> {
        let check = ValidationError::check_range::<u16>;
        let own = [
            check("width", self.size.width, Self::SIDE_MIN, Self::SIDE_MAX),
            check("height", self.size.height, Self::SIDE_MIN, Self::SIDE_MAX),
            check("tree_permille", self.tree_permille, 0, Self::TREE_PERMILLE_MAX),
            ValidationError::check_range("move_min_ms", whole_ms(self.move_min), 0, 60_000),
        ];
        let life = self.life.map(|life| life.validation_errors()).unwrap_or_default();
        let hunt = self.hunt.map(|hunt| hunt.validation_errors(self.size.cells())).unwrap_or_default();
        own.into_iter().flatten().chain(life).chain(hunt).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(settings: WorldSettings, want: &[&str]) {
        let have: Vec<_> = settings.validation_errors().into_iter().map(|wrong| wrong.field).collect();
        assert_eq!(have, want, "{settings:?}");
    }

    #[test]
    fn every_mistake_is_named() {
        let usual = WorldSettings::default();
        check(usual, &[]);
        check(WorldSettings { life: Some(LifeSettings::default()), hunt: Some(HuntSettings::default()), ..usual }, &[]);
        check(WorldSettings { size: Size { width: 7, height: 4_097 }, ..usual }, &["width", "height"]);
        check(WorldSettings { tree_permille: 701, ..usual }, &["tree_permille"]);
        check(WorldSettings { move_min: Duration::MAX, ..usual }, &["move_min_ms"]);
        let life = LifeSettings { generation: Duration::ZERO, start_permille: 1_001 };
        check(WorldSettings { life: Some(life), ..usual }, &["generation_ms", "start_permille"]);
        let small = Size { width: 10, height: 10 };
        check(WorldSettings { size: small, hunt: Some(HuntSettings::default()), ..usual }, &["chests", "power_ups"]);
    }
}
