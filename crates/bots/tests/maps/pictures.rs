//! The pictures of `docs/maps.md`, drawn by the rule book itself: `UPDATE_MAPS=1 cargo test -p bots --test maps pictures` writes them.
//! Without that variable the files have to be the ones that would be written.

use rules::chance::{Chance, Dice, Purpose, Seed};
use rules::snake::{
    Board, BoardSizes, HEALTH_MAX, Map, Move, MoveOrder, Point, Rules, Ruleset, Seat, Settings, setup, turn,
};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const SEED: Seed = Seed(4);
/// Pixels a cell.
const CELL: usize = 16;
/// Pixels around a board and below it, where its turn is written.
const MARGIN: usize = 12;
const CAPTION: usize = 20;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The board of the picture: 11x11 where the map takes it.
fn size(map: Map) -> (u8, u8) {
    match map.sizes() {
        BoardSizes::Only(sizes) if !sizes.contains(&(11, 11)) => sizes[0],
        _ => (11, 11),
    }
}

/// The turns that are shown: more than one where the map changes.
fn turns(map: Map) -> &'static [u32] {
    match map {
        Map::Royale => &[25, 75, 150],
        Map::SnailMode => &[4, 8, 12],
        Map::Spiral | Map::Scatter | Map::ExpandScatter => &[24, 72, 144],
        Map::GrowBox | Map::ExpandBox => &[1, 41, 101],
        Map::HazardPits | Map::Sinkholes => &[26, 51, 101],
        Map::HealingPools => &[0, 26],
        Map::SoloMaze => &[0, 1, 2],
        _ => &[0],
    }
}

/// A game in which snakes stand still (they walk on the map that is about their tails) and never die.
fn boards(map: Map) -> Vec<Board> {
    let snakes = map.snakes_max().min(4);
    let settings = Settings { food_spawn_chance: 0, ..Settings::default() };
    let rules = Rules { ruleset: Ruleset::Standard, map, settings, solo: true };
    let (width, height) = size(map);
    let mut board = setup(&rules, width, height, snakes, SEED).unwrap();
    let mut shown = vec![];
    for shown_turn in turns(map) {
        while board.turn < *shown_turn {
            if map == Map::SoloMaze {
                board.food.clear(); // eaten
            }
            let orders = if map == Map::SnailMode { walk(&board) } else { vec![] };
            board = turn(&rules, &board, &orders, SEED).unwrap();
            for snake in &mut board.snakes {
                (snake.health, snake.elimination) = (HEALTH_MAX, None);
            }
        }
        shown.push(board.clone());
    }
    shown
}

/// Any free cell beside the head.
fn walk(board: &Board) -> Vec<MoveOrder> {
    let free = |cell: Point| board.contains(cell) && board.living().all(|(_, snake)| !snake.body.contains(&cell));
    let order = |(seat, head): (Seat, Point)| {
        let mut steps = Move::ALL;
        Chance::new(Seed(seat.0.into()), board.turn, Purpose::Food).shuffle(&mut steps);
        MoveOrder { seat, direction: steps.into_iter().find(|step| free(head.step(*step))) }
    };
    board.living().filter_map(|(seat, snake)| Some((seat, snake.head()?))).map(order).collect()
}

fn picture(map: Map) -> String {
    let boards = boards(map);
    let (width, height) = (usize::from(boards[0].width) * CELL, usize::from(boards[0].height) * CELL);
    let total_width = boards.len() * (width + MARGIN) + MARGIN;
    let total_height = height + MARGIN + CAPTION;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total_width}\" height=\"{total_height}\" \
         viewBox=\"0 0 {total_width} {total_height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>Map {}, {}x{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        map.name(),
        boards[0].width,
        boards[0].height
    );
    for (at, board) in boards.iter().enumerate() {
        let left = MARGIN + at * (width + MARGIN);
        let _ = writeln!(svg, "<g transform=\"translate({left} {MARGIN})\">");
        draw_board(&mut svg, board, width, height);
        let _ = writeln!(svg, "<text y=\"{}\" fill=\"#333333\">turn {}</text>\n</g>", height + 14, board.turn);
    }
    svg + "</svg>\n"
}

fn draw_board(svg: &mut String, board: &Board, width: usize, height: usize) {
    let squares = |cells: &mut dyn Iterator<Item = Point>| {
        cells.fold(String::new(), |mut path, cell| {
            let (x, y) = corner(board, cell);
            let _ = write!(path, "M{x} {y}h{CELL}v{CELL}h-{CELL}z");
            path
        })
    };
    let _ = writeln!(svg, "<rect width=\"{width}\" height=\"{height}\" fill=\"#f1f1ee\"/>");
    let mut grid = String::new();
    for x in 1..usize::from(board.width) {
        let _ = write!(grid, "M{} 0v{height}", x * CELL);
    }
    for y in 1..usize::from(board.height) {
        let _ = write!(grid, "M0 {}h{width}", y * CELL);
    }
    let _ = writeln!(svg, "<path d=\"{grid}\" stroke=\"#ffffff\" fill=\"none\"/>");
    let mut hazards: Vec<Point> = board.hazards_on_board().collect();
    hazards.sort_unstable();
    while !hazards.is_empty() {
        let mut layer = hazards.clone();
        layer.dedup();
        let path = squares(&mut layer.iter().copied());
        let _ = writeln!(svg, "<path d=\"{path}\" fill=\"#5b3a8c\" fill-opacity=\"0.4\"/>");
        for cell in layer {
            hazards.remove(hazards.binary_search(&cell).unwrap());
        }
    }
    for (_, snake) in board.living() {
        let path = squares(&mut snake.body.iter().copied());
        let _ = writeln!(svg, "<path d=\"{path}\" fill=\"#2f7d4f\" fill-opacity=\"0.55\"/>");
        let (x, y) = corner(board, snake.body[0]);
        let _ =
            writeln!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\" rx=\"4\" fill=\"#2f7d4f\"/>");
    }
    for food in &board.food {
        let (x, y) = corner(board, *food);
        let half = CELL / 2;
        let _ = writeln!(svg, "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"#d1495b\"/>", x + half, y + half, half - 3);
    }
}

/// The upper left corner of a cell in the drawing, whose rows go down.
fn corner(board: &Board, cell: Point) -> (usize, usize) {
    (cell.x as usize * CELL, (usize::from(board.height) - 1 - cell.y as usize) * CELL)
}

#[track_caller]
fn check_file(path: &Path, want: &str) {
    if std::env::var_os("UPDATE_MAPS").is_some() {
        std::fs::write(path, want).unwrap();
    }
    let have = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        have == want,
        "{} is not up to date: UPDATE_MAPS=1 cargo test -p bots --test maps pictures",
        path.display()
    );
}

#[test]
fn pictures_are_up_to_date() {
    for map in Map::ALL {
        check_file(&docs().join(format!("maps/{}.svg", map.name())), &picture(map));
    }
}

/// The page says of every map what the rule book says.
#[test]
fn the_page_has_every_map() {
    let page = std::fs::read_to_string(docs().join("maps.md")).unwrap();
    for map in Map::ALL {
        let (name, sizes) = (map.name(), map.sizes());
        let snakes =
            if map.snakes_max() == 1 { "one snake".to_owned() } else { format!("1 to {} snakes", map.snakes_max()) };
        let head = format!("### `{name}`\n\n![{name}](maps/{name}.svg)\n\nTakes {sizes}; {snakes}.");
        assert!(page.contains(&head), "docs/maps.md has to say:\n\n{head}");
    }
}
