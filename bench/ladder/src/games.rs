//! Games of sample bots in this process: the real rules, the bots' own decisions, no network.

use bots::local_games::orders;
use bots::{Character, Decision};
use rules::chance::Seed;
use rules::snake::{Map, Rules, Ruleset, Settings, is_over, outcome, setup, turn};

const TURNS_MAX: u32 = 2_000;
/// Cells of a side.
const SIDE: u8 = 11;

/// Plays one game of floods that are as careless as this, by seat. Their places, and the turns.
pub(crate) fn play(careless: &[f64], game: u64) -> (Vec<u8>, u32) {
    let settings = Settings { hazard_damage_per_turn: 0, ..Settings::default() };
    let snakes = careless.len() as u8;
    let rules = Rules::for_snakes(Ruleset::Standard, Map::Standard, settings, snakes);
    let seed = Seed(game);
    let mut board = setup(&rules, SIDE, SIDE, snakes, seed).expect("a usual board");
    while !is_over(&rules, &board) && board.turn < TURNS_MAX {
        let orders = orders(&rules, &board, game, |seat, request| {
            let careless = Decision::careless(request, game, careless[seat.index()]);
            careless.unwrap_or_else(|| Character::Flood.decide(request, game)).direction
        });
        board = turn(&rules, &board, &orders, seed).expect("every living snake moves");
    }
    (outcome(&board).placements, board.turn)
}
