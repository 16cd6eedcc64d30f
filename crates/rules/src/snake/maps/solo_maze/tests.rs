//! Mazes of many seeds: what holds for every one of them.

use super::*;
use crate::chance::Seed;
use std::collections::BTreeSet;

fn new_board(width: u8, height: u8, seed: u64) -> Board {
    let mut board = Board::new(width, height);
    setup_board(&mut board, 1, Seed(seed)).unwrap();
    board
}

/// Cells that can be reached from the head without a hazard.
fn reachable(board: &Board) -> BTreeSet<Point> {
    let mut seen = BTreeSet::from([board.snakes[0].body[0]]);
    let mut open: Vec<Point> = seen.iter().copied().collect();
    while let Some(cell) = open.pop() {
        for next in super::super::super::Move::ALL.map(|step| cell.step(step)) {
            if board.contains(next) && !board.hazards.contains(&next) && seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

#[track_caller]
fn check_maze(board: &Board, level: u32) {
    let maze = Maze::of(board, level);
    assert_eq!(read_level(board), level);
    let free: BTreeSet<Point> =
        board.cells().filter(|cell| maze.contains(*cell) && !board.hazards.contains(cell)).collect();
    let reached = reachable(board);
    assert!(free.is_subset(&reached), "a part of the maze is walled off: {board:?}");
    assert!(board.food.iter().all(|food| free.contains(food)), "{board:?}");
    assert_eq!(board.snakes[0].body.len(), level as usize + 3);
    assert!(board.snakes[0].body.iter().all(|point| board.contains(*point)));
    let cells: BTreeSet<Point> = board.hazards.iter().copied().collect();
    assert_eq!(cells.len(), board.hazards.len(), "no hazard twice");
}

#[test]
fn every_maze_can_be_walked() {
    for (width, height) in [(7, 7), (11, 11), (19, 19), (19, 21), (25, 25)] {
        for seed in 0..20 {
            let mut board = new_board(width, height, seed);
            check_maze(&board, 0);
            for level in 1..=30 {
                board.food.clear();
                board.turn += 1;
                post_update(&mut board, Seed(seed));
                check_maze(&board, level);
            }
        }
    }
}

#[test]
fn the_level_is_a_binary_number_in_the_bottom_row() {
    let cells = |width, level| level_cells(width, level).iter().map(|cell| cell.x).collect::<Vec<_>>();
    assert_eq!(cells(7, 0), []);
    assert_eq!(cells(7, 1), [6]);
    assert_eq!(cells(7, 6), [4, 5]);
    assert_eq!(cells(7, 127), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(cells(7, 128), [0], "read as 64");
    assert_eq!(cells(7, 129), [0, 7], "one beside the board");
}

#[test]
fn food_runs_away_when_the_game_has_to_end() {
    let mut board = new_board(11, 11, 7);
    for level in 1..=8 {
        board.food.clear();
        post_update(&mut board, Seed(7));
        assert_eq!(read_level(&board), level);
        let near = board.snakes[0].body[0].step(super::super::super::Move::Up);
        board.food = vec![near];
        board.turn += 1;
        post_update(&mut board, Seed(7));
        assert_eq!(board.food.contains(&near), level < 8, "level {level} of a board with mazes up to 9x9");
    }
}
