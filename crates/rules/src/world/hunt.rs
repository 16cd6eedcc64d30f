//! The rules of a hunt: what lies where in a round, what it is worth, what a power-up does.
//!
//! Who gets an item when several grab at once is not decided here: that takes an order and a log.

use super::cell_set::CellSet;
use super::grid::Cell;
use crate::chance::{Chance, Dice, Purpose, Seed};
use crate::validation::{ValidationError, whole_ms};
use std::time::Duration;

/// Cells by which a magnet reaches beyond the own one.
pub const MAGNET_REACH: u16 = 2;
/// Cells that farsight adds to the radius of a view.
pub const FARSIGHT_CELLS: u8 = 6;

/// What a hunter may be helped by for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum PowerUp {
    /// A move leads two cells on, when the second is free.
    DoubleStep = 0,
    /// The view is larger by [`FARSIGHT_CELLS`].
    Farsight = 1,
    /// Digging and grabbing reach [`MAGNET_REACH`] cells.
    Magnet = 2,
}

impl PowerUp {
    /// All of them, in the order of their codes. Codes are never changed.
    pub const ALL: [Self; 3] = [Self::DoubleStep, Self::Farsight, Self::Magnet];

    /// The number on the wire and in the log.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The power-up of this number, if there is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DoubleStep => "double_step",
            Self::Farsight => "farsight",
            Self::Magnet => "magnet",
        }
    }
}

/// What lies on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// To be dug.
    Chest {
        /// What it is worth.
        points: u16,
    },
    /// To be grabbed.
    PowerUp(PowerUp),
}

/// An item where it lies. At most one lies on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedItem {
    /// Where.
    pub cell: Cell,
    /// What.
    pub item: Item,
}

/// How a hunt is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HuntSettings {
    /// Chests of a round.
    pub chests: u32,
    /// Power-ups of a round.
    pub power_ups: u32,
    /// The most that a chest is worth; the least is 1.
    pub points_max: u16,
    /// How long a round takes.
    pub round: Duration,
    /// From the end of a round to the next.
    pub pause: Duration,
    /// Rounds of the hunt, then it is over; 0: it never ends.
    pub rounds: u32,
    /// How long a power-up helps.
    pub power_up: Duration,
}

impl Default for HuntSettings {
    /// Rounds of five minutes, for ever, in a world of a million cells.
    fn default() -> Self {
        Self {
            chests: 10_000,
            power_ups: 1_000,
            points_max: 10,
            round: Duration::from_secs(300),
            pause: Duration::from_secs(10),
            rounds: 0,
            power_up: Duration::from_secs(20),
        }
    }
}

impl HuntSettings {
    /// Most items of a round, whatever the world's size: the log of a round can be read at once.
    pub const ITEMS_MAX: u32 = 1_000_000;

    /// Everything that is wrong with these settings in a world of so many cells: there is something to hunt for, and no more
    /// than one item a cell.
    #[must_use]
    pub fn validation_errors(&self, cells: u32) -> Vec<ValidationError> {
        let room = u64::from(cells.min(Self::ITEMS_MAX));
        let chests = u64::from(self.chests);
        let check = ValidationError::check_range::<u64>;
        [
            check("chests", chests, 0, room),
            check("power_ups", u64::from(self.power_ups), u64::from(chests == 0), room.saturating_sub(chests)),
            check("points_max", u64::from(self.points_max), 1, 1_000),
            check("round_ms", whole_ms(self.round), 100, 7 * 24 * 3_600_000),
            check("pause_ms", whole_ms(self.pause), 0, 24 * 3_600_000),
            check("rounds", u64::from(self.rounds), 0, 1_000_000),
            check("power_up_ms", whole_ms(self.power_up), 100, 3_600_000),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// What lies where in a round, in the order of the cells: every choice of cells without trees is equally likely, and a cell has
/// one item. Where there are fewer such cells than items, power-ups are left out first.
#[must_use]
pub fn place_items(seed: Seed, round: u32, settings: &HuntSettings, trees: &CellSet) -> Vec<PlacedItem> {
    let size = trees.size();
    let mut dice = Chance::new(seed, round, Purpose::HuntItems);
    let mut cells = Vec::with_capacity((size.cells() - trees.count()) as usize);
    cells.extend(trees.complement());
    let items = settings.chests.saturating_add(settings.power_ups) as usize;
    dice.shuffle_front(&mut cells, items);
    cells.truncate(items);
    let mut placed: Vec<PlacedItem> = (0_u32..)
        .zip(cells)
        .map(|(number, cell)| {
            let points = 1 + dice.below(u32::from(settings.points_max)) as u16;
            let kind = PowerUp::ALL[(number % 3) as usize];
            let item = if number < settings.chests { Item::Chest { points } } else { Item::PowerUp(kind) };
            PlacedItem { cell, item }
        })
        .collect();
    placed.sort_unstable_by_key(|placed| size.index(placed.cell));
    placed
}

#[cfg(test)]
mod tests {
    use super::super::grid::Size;
    use super::super::terrain::place_trees;
    use super::*;

    const SIZE: Size = Size { width: 40, height: 30 };

    fn small() -> HuntSettings {
        HuntSettings { chests: 50, power_ups: 9, ..HuntSettings::default() }
    }

    #[track_caller]
    fn check(settings: HuntSettings, want: &[(&str, u64, u64)]) {
        let have: Vec<_> = settings
            .validation_errors(SIZE.cells())
            .into_iter()
            .map(|wrong| (wrong.field, wrong.min, wrong.max))
            .collect();
        assert_eq!(have, want, "{settings:?}");
    }

    #[test]
    fn limits_follow_the_size_of_the_world() {
        let usual = small();
        check(usual, &[]);
        check(HuntSettings { chests: 1_200, power_ups: 0, ..usual }, &[]);
        check(HuntSettings { chests: 0, power_ups: 1_200, ..usual }, &[]);
        check(HuntSettings { chests: 0, power_ups: 0, ..usual }, &[("power_ups", 1, 1_200)]);
        check(HuntSettings { chests: 1_199, power_ups: 2, ..usual }, &[("power_ups", 0, 1)]);
        check(HuntSettings { chests: 1_201, power_ups: 0, ..usual }, &[("chests", 0, 1_200)]);
        check(HuntSettings { points_max: 0, ..usual }, &[("points_max", 1, 1_000)]);
        check(HuntSettings { round: Duration::ZERO, ..usual }, &[("round_ms", 100, 604_800_000)]);
        check(HuntSettings { power_up: Duration::MAX, ..usual }, &[("power_up_ms", 100, 3_600_000)]);
    }

    #[test]
    fn items_follow_the_seed_one_a_cell_and_none_on_a_tree() {
        let trees = place_trees(Seed(4), SIZE, 300);
        let placed = place_items(Seed(4), 1, &small(), &trees);
        assert_eq!(placed.len(), 59);
        assert!(placed.windows(2).all(|pair| SIZE.index(pair[0].cell) < SIZE.index(pair[1].cell)));
        assert!(placed.iter().all(|placed| !trees.contains(placed.cell)));
        let power_ups = |kind| placed.iter().filter(|placed| placed.item == Item::PowerUp(kind)).count();
        assert_eq!(PowerUp::ALL.map(power_ups), [3, 3, 3]);
        assert!(
            placed.iter().all(|placed| !matches!(placed.item, Item::Chest { points } if !(1..=10).contains(&points)))
        );
        let first = placed.iter().take(4).map(|placed| (placed.cell.x, placed.cell.y, placed.item));
        let chest = |points| Item::Chest { points };
        let golden = [(8, 1, chest(2)), (23, 1, chest(4)), (17, 2, chest(10)), (30, 2, chest(4))];
        assert_eq!(first.collect::<Vec<_>>(), golden, "rounds that are running depend on it: it may never change");
        assert_eq!(placed, place_items(Seed(4), 1, &small(), &trees));
        assert_ne!(placed, place_items(Seed(4), 2, &small(), &trees));
    }

    #[test]
    fn where_little_is_free_power_ups_are_left_out() {
        let size = Size { width: 8, height: 8 };
        let mut trees = place_trees(Seed(1), size, 1_000);
        (0..5).for_each(|x| trees.remove(Cell { x, y: 3 }));
        let settings = HuntSettings { chests: 4, power_ups: 4, ..small() };
        let placed = place_items(Seed(1), 1, &settings, &trees);
        let chests = placed.iter().filter(|placed| matches!(placed.item, Item::Chest { .. })).count();
        assert_eq!((placed.len(), chests), (5, 4));
    }
}
