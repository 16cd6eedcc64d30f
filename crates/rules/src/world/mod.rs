//! A world on a grid: trees that block, movers that step, bacteria that grow between them, and a hunt for items.
//!
//! The parts of a world, as functions of values: where trees stand ([`place_trees`]), where a [`Step`] leads, what a
//! generation of [`Life`] does, what lies where in a round of a hunt ([`place_items`]). Who moves, in which order and how
//! often is not known here, nor are time, names and viewers.

mod cell_set;
mod grid;
mod hunt;
mod indicator;
mod life;
mod settings;
mod terrain;

pub use cell_set::{CellSet, ones};
pub use grid::{Cell, Size, Step};
pub use hunt::{FARSIGHT_CELLS, HuntSettings, Item, MAGNET_REACH, PlacedItem, PowerUp, place_items};
pub use indicator::{INDICATORS, Indicator};
pub use life::{Life, LifeSettings};
pub use settings::{Sharing, WorldSettings};
pub use terrain::{initial_bacteria, nearest_free, place_trees, spawn_cell};
