//! Start boards drawn out, with the least and the greatest dice: every corner of chance that a start position can have.
//!
//! In the drawings the top row is the highest y; A to P are the heads of the snakes by seat, f is food.

use super::*;
use crate::chance::scripted::{Greatest, Least};

fn drawn(board: &Board) -> String {
    let cell = |x, y| {
        let here = Point::new(x, y);
        match board.snakes.iter().position(|snake| snake.head() == Some(here)) {
            Some(seat) => char::from(b'A' + u8::try_from(seat).unwrap()),
            None if board.food.contains(&here) => 'f',
            None => '.',
        }
    };
    let row = |y| (0..coordinate(board.width)).map(|x| cell(x, y)).collect::<String>();
    (0..coordinate(board.height)).rev().map(row).collect::<Vec<_>>().join("\n")
}

fn placed(width: u8, height: u8, snakes: u8, dice: &mut impl Dice) -> Result<Board, RuleError> {
    let mut board = Board::new(width, height);
    place_snakes(&mut board, snakes, dice)?;
    place_start_food(&mut board, dice)?;
    Ok(board)
}

#[track_caller]
fn check(width: u8, height: u8, snakes: u8, dice: &mut impl Dice, expect: &[&str]) {
    let have = match placed(width, height, snakes, dice) {
        Ok(board) => drawn(&board),
        Err(error) => error.to_string(),
    };
    assert_eq!(have, expect.join("\n"), "\n{have}\n");
}

#[test]
fn fixed_positions_with_food_for_all_snakes() {
    #[rustfmt::skip]
    check(11, 11, 8, &mut Least, &[
        "....f...f..",
        ".B...G...D.",
        "f..........",
        "...........",
        "...........",
        ".E...f...H.",
        "f.........f",
        "...........",
        "f..........",
        ".A...F...C.",
        "....f...f..",
    ]);
    #[rustfmt::skip]
    check(11, 11, 8, &mut Greatest, &[
        "..f...f....",
        ".G...D...E.",
        "..........f",
        "...........",
        "f.........f",
        ".B...f...A.",
        "...........",
        "...........",
        "..........f",
        ".F...C...H.",
        "..f...f....",
    ]);
    #[rustfmt::skip]
    check(11, 11, 2, &mut Least, &[
        "...........",
        ".B.........",
        "f..........",
        "...........",
        "...........",
        ".....f.....",
        "...........",
        "...........",
        "f..........",
        ".A.........",
        "...........",
    ]);
    #[rustfmt::skip]
    check(11, 11, 2, &mut Greatest, &[
        "...........",
        "...........",
        "...........",
        "...........",
        "f.........f",
        ".B...f...A.",
        "...........",
        "...........",
        "...........",
        "...........",
        "...........",
    ]);
}

#[test]
fn beyond_four_snakes_a_small_board_has_food_in_the_centre_only() {
    #[rustfmt::skip]
    check(7, 7, 8, &mut Least, &[
        ".......",
        ".B.G.D.",
        ".......",
        ".E.f.H.",
        ".......",
        ".A.F.C.",
        ".......",
    ]);
    #[rustfmt::skip]
    check(7, 7, 8, &mut Greatest, &[
        ".......",
        ".G.D.E.",
        ".......",
        ".B.f.A.",
        ".......",
        ".F.C.H.",
        ".......",
    ]);
}

#[test]
fn sixteen_snakes_by_quadrants() {
    #[rustfmt::skip]
    check(11, 11, 16, &mut Least, &[
        ".....f..f..",
        ".C..O.P..D.",
        "f..f.......",
        ".....f..f..",
        ".K..G.H..L.",
        "f..f.f.....",
        ".I..E.F..J.",
        "f..f.f..f..",
        "f..........",
        ".A..M.N..B.",
        "...f.f..f..",
    ]);
    #[rustfmt::skip]
    check(11, 11, 16, &mut Greatest, &[
        "..f..f.f...",
        ".P..L.I..M.",
        "..........f",
        "..f..f.f..f",
        ".H..D.A..E.",
        ".....f.f..f",
        ".F..B.C..G.",
        "..f..f.....",
        ".......f..f",
        ".N..J.K..O.",
        "..f..f.....",
    ]);
}

#[test]
fn more_than_eight_snakes_on_a_small_board_anywhere_on_one_colour() {
    #[rustfmt::skip]
    check(9, 9, 9, &mut Least, &[
        "E........",
        ".I.......",
        "D........",
        ".H.......",
        "C...f....",
        ".G.......",
        "B........",
        ".F.......",
        "A........",
    ]);
    #[rustfmt::skip]
    check(9, 9, 9, &mut Greatest, &[
        "........A",
        ".......F.",
        "........B",
        ".......G.",
        "....f...C",
        ".......H.",
        "........D",
        ".......I.",
        "........E",
    ]);
}

#[test]
fn odd_boards_anywhere_on_one_colour() {
    #[rustfmt::skip]
    check(5, 5, 3, &mut Least, &[
        "C....",
        ".f...",
        "B....",
        ".f...",
        "A.f..",
    ]);
    #[rustfmt::skip]
    check(5, 5, 3, &mut Greatest, &[
        "..f.A",
        "...f.",
        "....B",
        "...f.",
        "....C",
    ]);
    #[rustfmt::skip]
    check(7, 9, 2, &mut Least, &[
        ".......",
        ".......",
        ".......",
        "f......",
        "f......",
        ".......",
        "B......",
        ".......",
        "A......",
    ]);
    #[rustfmt::skip]
    check(7, 9, 2, &mut Greatest, &[
        "......A",
        ".......",
        "......B",
        ".......",
        "......f",
        "......f",
        ".......",
        ".......",
        ".......",
    ]);
}

#[test]
fn no_room() {
    check(5, 5, 9, &mut Least, &["too many snakes for fixed start positions"]);
    check(5, 5, 9, &mut Greatest, &["too many snakes for fixed start positions"]);
    check(1, 1, 1, &mut Least, &["not enough space to place snake"]);
    check(1, 1, 1, &mut Greatest, &["not enough space to place snake"]);
    check(3, 2, 4, &mut Least, &["not enough space to place snake"]);
    check(3, 2, 4, &mut Greatest, &["not enough space to place snake"]);
}

/// Where the centre is taken, the food of the start has no room: a board with a snake put there by hand.
#[test]
fn no_room_for_food_in_the_centre() {
    let mut board = Board::new(11, 11);
    board.snakes = [Point::new(5, 4), Point::new(1, 1)].map(Snake::at).into();
    assert_eq!(place_start_food(&mut board, &mut Least), Err(RuleError::NoRoomForFood));
}

#[track_caller]
fn check_spawn(board: &Board, count: usize, dice: &mut impl Dice, expect: &[(i8, i8)]) {
    let mut board = board.clone();
    place_food_randomly(&mut board, count, Hazards::MayHaveFood, dice);
    let have: Vec<(i8, i8)> = board.food.iter().map(|food| (food.x, food.y)).collect();
    assert_eq!(have, expect);
}

#[test]
fn food_spawns_off_bodies_and_next_steps_of_the_living() {
    use crate::snake::Cause;
    let mut board = Board::new(3, 3);
    board.snakes = vec![Snake::at(Point::new(0, 0)), Snake::at(Point::new(2, 2))];
    board.add_hazard(Point::new(0, 2));
    // Taken: both heads and the four cells next to them. Hazards do not matter; columns come first.
    check_spawn(&board, 9, &mut Least, &[(0, 2), (1, 1), (2, 0)]);
    check_spawn(&board, 9, &mut Greatest, &[(2, 0), (0, 2), (1, 1)]);
    check_spawn(&board, 1, &mut Least, &[(0, 2)]);
    check_spawn(&board, 1, &mut Greatest, &[(2, 0)]);
    check_spawn(&board, 0, &mut Greatest, &[]);
    // A dead snake leaves its cells at once.
    board.snakes[1].eliminate(Cause::OutOfHealth, None, 1);
    check_spawn(&board, 9, &mut Least, &[(0, 2), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]);
}
