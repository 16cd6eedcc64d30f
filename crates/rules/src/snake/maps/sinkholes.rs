//! `sinkholes`: a hole in the middle of the board. Each step adds a wider layer over the ones before, so it becomes deeper, too.

use super::super::{Board, Point, Settings};

/// Turns between two steps where the settings say 0.
const EVERY_N_TURNS_DEFAULT: u32 = 10;

/// The middle after turn 1, then a layer after every step: a square whose four corners are left out.
pub(super) fn post_update(board: &mut Board, settings: &Settings) {
    let every_n_turns = match settings.shrink_every_n_turns {
        0 => EVERY_N_TURNS_DEFAULT,
        turns => turns,
    };
    let Some(turns_since_start) = board.turn.checked_sub(1) else { return };
    let step = turns_since_start / every_n_turns;
    if !turns_since_start.is_multiple_of(every_n_turns) || step >= steps(board.width) {
        return;
    }
    let (centre_x, centre_y) = (i32::from(board.width / 2), i32::from(board.height / 2));
    let away = |cell: &Point| {
        let (dx, dy) = (centre_x.abs_diff(cell.x.into()), centre_y.abs_diff(cell.y.into()));
        (dx.max(dy), dx.min(dy))
    };
    let is_in_layer = |cell: &Point| {
        let (far, near) = away(cell);
        far <= step && (near < step || step == 0)
    };
    board.add_hazards(board.cells().filter(is_in_layer));
}

/// How many layers the hole gets, the middle included.
const fn steps(width: u8) -> u32 {
    match width {
        7 => 3,
        19 => 7,
        _ => 5,
    }
}
