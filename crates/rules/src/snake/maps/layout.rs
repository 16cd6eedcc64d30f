//! Fixed layouts as pictures: one text file for each, the top row first.
//!
//! `.` is a free cell, a digit the number of hazard layers on a cell, a letter a start position and its group; `f` and small letters are
//! cells where a map may put food of its own, a small letter being a start position as well. Hazards, positions and cells were recorded
//! from the official module while it played (`docs/decisions/0050-maps-are-held-against-the-official-program.md`).

use super::super::{Board, Point};
use super::Map;
use std::sync::{Arc, LazyLock};

/// Groups of start positions: `A` to `D`.
pub(super) const GROUPS: usize = 4;

/// A picture, read.
pub(super) struct Layout {
    /// Column by column; a cell with two layers stands twice. Shared by all matches on the map.
    pub(super) hazards: Arc<Vec<Point>>,
    /// Start positions by group, each column by column.
    pub(super) starts: [Vec<Point>; GROUPS],
    /// Cells of the map's own food, column by column.
    pub(super) food: Vec<Point>,
    width: usize,
    height: usize,
}

impl Layout {
    fn read(picture: &str) -> Self {
        let rows: Vec<&[u8]> = picture.lines().rev().map(str::as_bytes).collect();
        let (width, height) = (rows.first().map_or(0, |row| row.len()), rows.len());
        let (mut hazards, mut starts, mut food) = (Vec::new(), [const { Vec::new() }; GROUPS], Vec::new());
        for (x, y) in (0..width).flat_map(|x| (0..height).map(move |y| (x, y))) {
            let cell = Point::new(x as i8, y as i8);
            let mark = rows[y].get(x).copied().unwrap_or(b'.');
            match mark {
                b'1'..=b'9' => hazards.extend(std::iter::repeat_n(cell, usize::from(mark - b'0'))),
                b'A'..=b'D' => starts[usize::from(mark - b'A')].push(cell),
                b'a'..=b'd' => {
                    starts[usize::from(mark - b'a')].push(cell);
                    food.push(cell);
                }
                b'f' => food.push(cell),
                _ => {}
            }
        }
        Self { hazards: Arc::new(hazards), starts, food, width, height }
    }

    /// Puts the hazards on the board, which has none of its own then.
    pub(super) fn place_hazards(&self, board: &mut Board) {
        debug_assert_eq!((self.width, self.height), (board.width.into(), board.height.into()), "checked at setup");
        board.hazards = Arc::clone(&self.hazards);
    }
}

/// The layout of a map that has a picture; that of any other map is empty.
pub(super) fn layout_of(map: Map) -> &'static Layout {
    macro_rules! picture {
        ($file:literal) => {{
            static LAYOUT: LazyLock<Layout> = LazyLock::new(|| Layout::read(include_str!($file)));
            &LAYOUT
        }};
    }
    static NONE: LazyLock<Layout> = LazyLock::new(|| Layout::read(""));
    match map {
        Map::CastleWall => picture!("layouts/hz_castle_wall.txt"),
        Map::CastleWallLarge => picture!("layouts/hz_castle_wall_lg.txt"),
        Map::CastleWallExtraLarge => picture!("layouts/hz_castle_wall_xl.txt"),
        Map::RiversBridges => picture!("layouts/hz_rivers_bridges.txt"),
        Map::RiversBridgesLarge => picture!("layouts/hz_rivers_bridges_lg.txt"),
        Map::RiversBridgesExtraLarge => picture!("layouts/hz_rivers_bridges_xl.txt"),
        Map::IslandsBridges => picture!("layouts/hz_islands_bridges.txt"),
        Map::IslandsBridgesLarge => picture!("layouts/hz_islands_bridges_lg.txt"),
        Map::ArcadeMaze => picture!("layouts/arcade_maze.txt"),
        _ => &NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of the board, hazard entries, start positions by group, cells of food.
    #[track_caller]
    fn check(map: Map, size: (usize, usize), hazards: usize, starts: [usize; GROUPS], food: usize) {
        let layout = layout_of(map);
        assert_eq!((layout.width, layout.height), size, "{map:?}");
        assert_eq!(layout.hazards.len(), hazards, "{map:?}");
        assert_eq!(layout.starts.each_ref().map(Vec::len), starts, "{map:?}");
        assert_eq!(layout.food.len(), food, "{map:?}");
        let has_hazard = |cell: &Point| layout.hazards.contains(cell);
        assert!(!layout.starts.iter().flatten().chain(&layout.food).any(has_hazard), "{map:?}");
        assert!(layout.starts.iter().map(Vec::len).sum::<usize>() >= usize::from(map.snakes_max()), "{map:?}");
    }

    #[test]
    fn pictures_are_read() {
        check(Map::CastleWall, (11, 11), 28, [4, 4, 0, 0], 4);
        check(Map::CastleWallLarge, (19, 19), 112, [4, 4, 0, 0], 16);
        check(Map::CastleWallExtraLarge, (25, 25), 160, [4, 4, 4, 0], 24);
        check(Map::RiversBridges, (11, 11), 17, [2; GROUPS], 0);
        check(Map::RiversBridgesLarge, (19, 19), 37, [4; GROUPS], 0);
        check(Map::RiversBridgesExtraLarge, (25, 25), 53, [4; GROUPS], 0);
        check(Map::IslandsBridges, (11, 11), 37, [2; GROUPS], 0);
        check(Map::IslandsBridgesLarge, (19, 19), 101, [4; GROUPS], 0);
        check(Map::ArcadeMaze, (19, 21), 187, [4, 1, 1, 0], 12);
        assert_eq!(layout_of(Map::Standard).hazards.len(), 0);
    }
}
