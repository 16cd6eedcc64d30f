//! A picture: a read copy of a world at one moment, from which sections and densities are cut without the writer.
//!
//! A copy is made by one pass over the cells; cutting is the readers' own time. It has no movers' names.

use super::crowd::CellSummary;
use super::facts::HunterScore;
use super::hunt::item_at;
use super::rounds::RoundStatus;
use super::world::{World, WorldStats};
use crate::limits::{DENSITY_BINS_MAX, PICTURE_SCORES_MAX, SECTION_CELLS_MAX};
use rules::world::{Cell, CellSet, Indicator, PlacedItem, Size};
use std::ops::Range;
use std::sync::Arc;

/// A rectangle of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellRect {
    /// The leftmost column.
    pub x: u16,
    /// The topmost row.
    pub y: u16,
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

impl CellRect {
    /// A whole grid.
    #[must_use]
    pub fn whole(size: Size) -> Self {
        Self { x: 0, y: 0, width: size.width, height: size.height }
    }

    /// As much of it as is on a grid.
    fn clipped_to(self, size: Size) -> Self {
        let (x, y) = (self.x.min(size.width), self.y.min(size.height));
        Self { x, y, width: self.width.min(size.width - x), height: self.height.min(size.height - y) }
    }

    fn rows(self) -> Range<u16> {
        self.y..self.y + self.height
    }

    fn columns(self) -> Range<u16> {
        self.x..self.x + self.width
    }
}

/// How much of a picture is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Everything,
    /// The public state of a hunt: neither movers nor items.
    Terrain,
}

/// What a picture does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// A section of too many cells.
    #[error("a section has at most {max} cells, and this one would have {have}: request several")]
    Section {
        /// Its cells.
        have: u32,
        /// The most.
        max: u32,
    },
    /// A density of too many bins, or of bins without cells.
    #[error("a density has at most {max} bins on a side: choose larger bins, of {least} cells or more")]
    Bins {
        /// The most on a side.
        max: u16,
        /// The least side of a bin that would do.
        least: u16,
    },
}

/// What lies and stands in a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The world's tick.
    pub tick: u32,
    /// Which, cut to the grid.
    pub region: CellRect,
    pub trees: Vec<Cell>,
    /// Cells with movers: how many, and what the one on top looks like.
    pub movers: Vec<(Cell, Indicator, u32)>,
    pub items: Vec<(Cell, Indicator)>,
    /// Cells with bacteria.
    pub life: Vec<Cell>,
}

/// How many movers are where: a grid of bins laid over a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Density {
    /// The world's tick.
    pub tick: u32,
    /// Which region, cut to the grid.
    pub region: CellRect,
    /// Cells on each side of a bin.
    pub bin: u16,
    /// Bins side by side.
    pub columns: u16,
    /// Bins below each other.
    pub rows: u16,
    /// Movers of each bin, row by row.
    pub counts: Vec<u32>,
    /// Movers in the whole world.
    pub movers: usize,
}

/// A copy of a world for readers.
#[derive(Clone, Debug)]
pub struct Picture {
    size: Size,
    cell_summaries: Vec<CellSummary>,
    trees: Arc<CellSet>,
    life: Option<CellSet>,
    items: Option<(Arc<[PlacedItem]>, CellSet)>,
    stats: WorldStats,
    round: Option<RoundStatus>,
    top_scores: Vec<HunterScore>,
}

impl World {
    /// A copy for readers, in the memory of an old one if there is one.
    #[must_use]
    pub fn picture(&self, old: Option<Picture>) -> Picture {
        let mut cell_summaries = old.map(|old| old.cell_summaries).unwrap_or_default();
        self.crowd.cell_summaries(&mut cell_summaries);
        Picture {
            size: self.settings.size,
            cell_summaries,
            trees: Arc::clone(&self.trees),
            life: self.life.as_ref().map(|life| life.alive().clone()),
            items: self.hunt.as_ref().map(|hunt| (Arc::clone(hunt.placed()), hunt.visible_items().clone())),
            stats: self.stats(),
            round: self.round(),
            top_scores: self.hunt.as_ref().map(|hunt| hunt.top_scores(PICTURE_SCORES_MAX)).unwrap_or_default(),
        }
    }
}

impl Picture {
    /// The world's size.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// What the world counts.
    #[must_use]
    pub fn stats(&self) -> &WorldStats {
        &self.stats
    }

    /// The round; `None` in a world without a hunt.
    #[must_use]
    pub fn round(&self) -> Option<RoundStatus> {
        self.round
    }

    /// The best of the round, best first: at most [`PICTURE_SCORES_MAX`].
    #[must_use]
    pub fn top_scores(&self) -> &[HunterScore] {
        &self.top_scores
    }

    /// What is in a region.
    ///
    /// # Errors
    /// [`PictureError::Section`].
    pub fn section(&self, region: CellRect, detail: Detail) -> Result<Section, PictureError> {
        let region = region.clipped_to(self.size);
        let have = u32::from(region.width) * u32::from(region.height);
        if have > SECTION_CELLS_MAX {
            return Err(PictureError::Section { have, max: SECTION_CELLS_MAX });
        }
        let mut section = Section {
            tick: self.stats.tick,
            region,
            trees: Vec::new(),
            movers: Vec::new(),
            items: Vec::new(),
            life: Vec::new(),
        };
        for y in region.rows() {
            section.trees.extend(self.trees.in_row(y, region.columns()));
            section.life.extend(self.life.iter().flat_map(|life| life.in_row(y, region.columns())));
            if detail == Detail::Everything {
                self.add_movers(&mut section.movers, y, region.columns());
                self.add_items(&mut section.items, y, region.columns());
            }
        }
        Ok(section)
    }

    fn add_movers(&self, movers: &mut Vec<(Cell, Indicator, u32)>, y: u16, columns: Range<u16>) {
        let first = self.size.index(Cell { x: columns.start, y });
        let row = self.cell_summaries.get(first..first + columns.len()).unwrap_or(&[]);
        let heaps = columns.zip(row).filter(|(_, heap)| heap.count() > 0);
        movers.extend(heaps.filter_map(|(x, heap)| Some((Cell { x, y }, heap.top()?, heap.count()))));
    }

    fn add_items(&self, items: &mut Vec<(Cell, Indicator)>, y: u16, columns: Range<u16>) {
        let Some((placed, lying)) = &self.items else { return };
        let item = |cell| item_at(placed, self.size, cell).map(|(_, item)| (cell, item.into()));
        items.extend(lying.in_row(y, columns).filter_map(item));
    }

    /// How many movers are where in a region, in bins of `bin` cells on each side; 0: as small as may be.
    ///
    /// # Errors
    /// [`PictureError::Bins`].
    pub fn density(&self, region: CellRect, bin: u16) -> Result<Density, PictureError> {
        let region = region.clipped_to(self.size);
        let least = region.width.max(region.height).div_ceil(DENSITY_BINS_MAX).max(1);
        let bin = if bin == 0 { least } else { bin };
        if bin < least {
            return Err(PictureError::Bins { max: DENSITY_BINS_MAX, least });
        }
        let (columns, rows) = (region.width.div_ceil(bin), region.height.div_ceil(bin));
        let mut counts = vec![0; usize::from(columns) * usize::from(rows)];
        for y in 0..region.height {
            let first = self.size.index(Cell { x: region.x, y: region.y + y });
            let row = self.cell_summaries.get(first..first + usize::from(region.width)).unwrap_or(&[]);
            let bins = &mut counts[usize::from(y / bin) * usize::from(columns)..];
            for (cells, count) in row.chunks(usize::from(bin)).zip(bins) {
                *count += cells.iter().map(|heap| heap.count()).sum::<u32>();
            }
        }
        Ok(Density { tick: self.stats.tick, region, bin, columns, rows, counts, movers: self.stats.movers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_of_a_row_agree_with_the_cells(width in 1..200_u16, x in 0..200_u16, w in 0..200_u16, set in proptest::collection::vec((0..200_u16, 0..3_u16), 0..40)) {
            let size = Size { width, height: 3 };
            let mut bits = CellSet::new(size);
            set.iter().map(|(x, y)| Cell { x: x % width, y: *y }).for_each(|cell| bits.insert(cell));
            let region = CellRect { x, y: 1, width: w, height: 1 }.clipped_to(size);
            for y in region.rows() {
                let found: Vec<_> = bits.in_row(y, region.columns()).collect();
                let want: Vec<_> = region.columns().map(|x| Cell { x, y }).filter(|cell| bits.contains(*cell)).collect();
                prop_assert_eq!(found, want);
            }
        }
    }
}
