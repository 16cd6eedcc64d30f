//! A world as readers see it who are not in it: a copy of the moment, from which sections and densities are cut without the
//! writer.
//!
//! A copy is what one pass over the cells gives; cutting is the readers' own time. It knows no movers by name.

use super::crowd::Heap;
use super::facts::Scored;
use super::hunt::item_at;
use super::rounds::RoundShown;
use super::world::{World, WorldStats};
use crate::limits::{DENSITY_BINS_MAX, PICTURE_SCORES_MAX, SECTION_CELLS_MAX};
use rules::world::{Bits, Cell, Indicator, Placed, Size};
use std::sync::Arc;

/// A rectangle of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The leftmost column.
    pub x: u16,
    /// The topmost row.
    pub y: u16,
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

impl Region {
    /// A whole grid.
    #[must_use]
    pub fn whole(size: Size) -> Self {
        Self { x: 0, y: 0, width: size.width, height: size.height }
    }

    /// As much of it as is on a grid.
    fn on(self, size: Size) -> Self {
        let (x, y) = (self.x.min(size.width), self.y.min(size.height));
        Self { x, y, width: self.width.min(size.width - x), height: self.height.min(size.height - y) }
    }

    fn cells(self) -> impl Iterator<Item = Cell> {
        let Self { x, y, width, height } = self;
        (y..y + height).flat_map(move |y| (x..x + width).map(move |x| Cell { x, y }))
    }
}

/// What a picture does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// A section of too many cells.
    #[error("a section has at most {max} cells, and this one would have {have}: ask for several")]
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
    pub region: Region,
    /// Cells with trees.
    pub trees: Vec<Cell>,
    /// Cells with movers: how many, and what the one on top looks like.
    pub movers: Vec<(Cell, Indicator, u32)>,
    /// Cells with items.
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
    pub region: Region,
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

/// A copy of a world for readers. Filled again, it keeps the memory of its cells.
#[derive(Clone, Debug)]
pub struct Picture {
    size: Size,
    heaps: Vec<Heap>,
    trees: Arc<Bits>,
    life: Option<Bits>,
    items: Option<(Arc<[Placed]>, Bits)>,
    stats: WorldStats,
    round: Option<RoundShown>,
    best: Vec<Scored>,
}

impl World {
    /// A copy for readers.
    #[must_use]
    pub fn new_picture(&self) -> Picture {
        let mut picture = Picture {
            size: self.settings.size,
            heaps: Vec::new(),
            trees: Arc::clone(&self.trees),
            life: None,
            items: None,
            stats: WorldStats::default(),
            round: None,
            best: Vec::new(),
        };
        self.picture(&mut picture);
        picture
    }

    /// Fills a copy with the moment.
    pub fn picture(&self, out: &mut Picture) {
        out.size = self.settings.size;
        self.crowd.heaps(&mut out.heaps);
        out.trees = Arc::clone(&self.trees);
        out.life = self.life.as_ref().map(|life| life.alive().clone());
        out.items = self.hunt.as_ref().map(|hunt| (Arc::clone(hunt.placed()), hunt.lying().clone()));
        (out.stats, out.round) = (self.stats(), self.round());
        out.best = self.hunt.as_ref().map(|hunt| hunt.best(PICTURE_SCORES_MAX)).unwrap_or_default();
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
    pub fn round(&self) -> Option<RoundShown> {
        self.round
    }

    /// The best of the round, best first: at most [`PICTURE_SCORES_MAX`].
    #[must_use]
    pub fn best(&self) -> &[Scored] {
        &self.best
    }

    /// What is in a region.
    ///
    /// # Errors
    /// [`TooLarge::Section`].
    pub fn section(&self, region: Region) -> Result<Section, TooLarge> {
        let region = region.on(self.size);
        let have = u32::from(region.width) * u32::from(region.height);
        if have > SECTION_CELLS_MAX {
            return Err(TooLarge::Section { have, max: SECTION_CELLS_MAX });
        }
        let heap = |cell: Cell| self.heaps.get(self.size.index(cell)).copied().unwrap_or_default();
        let items = self.items.as_ref();
        let item = |cell: Cell| {
            let (placed, _) = items.filter(|(_, lying)| lying.has(cell))?;
            item_at(placed, self.size, cell).map(|(_, item)| (cell, item.into()))
        };
        Ok(Section {
            tick: self.stats.tick,
            region,
            trees: region.cells().filter(|cell| self.trees.has(*cell)).collect(),
            movers: region.cells().filter_map(|cell| Some((cell, heap(cell).top()?, heap(cell).count()))).collect(),
            items: region.cells().filter_map(item).collect(),
            life: region.cells().filter(|cell| self.life.as_ref().is_some_and(|life| life.has(*cell))).collect(),
        })
    }

    /// How many movers are where in a region, in bins of `bin` cells on each side; 0: as small as may be.
    ///
    /// # Errors
    /// [`TooLarge::Bins`].
    pub fn density(&self, region: Region, bin: u16) -> Result<Density, TooLarge> {
        let region = region.on(self.size);
        let least = region.width.max(region.height).div_ceil(DENSITY_BINS_MAX).max(1);
        let bin = if bin == 0 { least } else { bin };
        if bin < least {
            return Err(TooLarge::Bins { max: DENSITY_BINS_MAX, least });
        }
        let (columns, rows) = (region.width.div_ceil(bin), region.height.div_ceil(bin));
        let mut counts = vec![0; usize::from(columns) * usize::from(rows)];
        for y in 0..region.height {
            let first = self.size.index(Cell { x: region.x, y: region.y + y });
            let row = self.heaps.get(first..first + usize::from(region.width)).unwrap_or(&[]);
            let bins = &mut counts[usize::from(y / bin) * usize::from(columns)..];
            for (cells, count) in row.chunks(usize::from(bin)).zip(bins) {
                *count += cells.iter().map(|heap| heap.count()).sum::<u32>();
            }
        }
        Ok(Density { tick: self.stats.tick, region, bin, columns, rows, counts, movers: self.stats.movers })
    }
}
