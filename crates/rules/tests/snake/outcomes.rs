//! Results: who won, who drew, which place. A row is a board and the outcome in words.

use super::notation;
use rules::snake::{Outcome, Seat, outcome};

#[track_caller]
fn check(board: &str, winner: Option<u8>, is_draw: bool, placements: &[u8]) {
    let expect = Outcome { winner: winner.map(Seat), is_draw, placements: placements.to_vec() };
    assert_eq!(outcome(&notation::board(board)), expect);
}

#[test]
fn the_last_one_alive_wins() {
    check("t9 7x7 | A 9 3,3 | B x:hazard:-:9 0 1,1", Some(0), false, &[1, 2]);
    check("t9 7x7 | A x:hazard:-:3 0 1,1 | B x:hazard:-:9 0 1,1 | C 9 3,3", Some(2), false, &[3, 2, 1]);
}

#[test]
fn the_same_turn_is_the_same_place() {
    check(
        "t9 7x7 | A x:hazard:-:3 0 1,1 | B 9 3,3 | C x:hazard:-:3 0 1,1 | D x:hazard:-:2 0 1,1",
        Some(1),
        false,
        &[2, 1, 2, 4],
    );
}

#[test]
fn no_snake_alive_is_a_draw_of_the_last() {
    check("t9 7x7 | A x:head-collision:B:9 90 3,3 | B x:head-collision:A:9 90 3,3", None, true, &[1, 1]);
    check("t9 7x7 | A x:hazard:-:2 0 3,3 | B x:hazard:-:9 0 3,3 | C x:hazard:-:9 0 3,3", None, true, &[3, 1, 1]);
}

#[test]
fn a_lone_snake_never_draws() {
    check("t9 7x7 | A x:out-of-health:-:9 0 3,3", None, false, &[1]);
    check("t9 7x7 | A 9 3,3", Some(0), false, &[1]);
    // Several snakes under solo rules: the last to go is first, but did not win.
    check("t9 7x7 | A x:out-of-health:-:9 0 3,3 | B x:out-of-health:-:8 0 3,3", None, false, &[1, 2]);
}

#[test]
fn a_game_cut_off_is_a_draw_among_the_living() {
    check("t9 7x7 | A 9 3,3 | B x:hazard:-:9 0 1,1 | C 9 1,1", None, true, &[1, 3, 1]);
}

#[test]
fn no_snakes_at_all() {
    check("t0 7x7", None, false, &[]);
}
