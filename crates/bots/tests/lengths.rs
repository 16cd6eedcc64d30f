//! How long matches between the characters last under the real rules: a leaderboard of them must be neither over in a
//! minute nor endless. The seeds are fixed, so the medians are exact and no run differs from the next; the bands leave room for
//! another food or start rule, not for another character.

use std::ops::RangeInclusive;

use bots::Character;
use bots::local_games::orders;
use rules::chance::Seed;
use rules::snake::{Map, Rules, Ruleset, Settings, is_over, setup, turn};

const GAMES: u64 = 61;
const TURNS_MAX: u32 = 2_000;

/// The turns of a match on an 11x11 standard board.
fn play(characters: [Character; 2], game: u64) -> u32 {
    let settings = Settings { hazard_damage_per_turn: 0, ..Settings::default() };
    let rules = Rules::for_snakes(Ruleset::Standard, Map::Standard, settings, 2);
    let seed = Seed(game);
    let mut board = setup(&rules, 11, 11, 2, seed).expect("a usual board");
    while !is_over(&rules, &board) && board.turn < TURNS_MAX {
        let orders =
            orders(&rules, &board, game, |seat, request| characters[seat.index()].decide(request, 0).direction);
        board = turn(&rules, &board, &orders, seed).expect("every living snake moves");
    }
    board.turn
}

/// The median length of matches between `characters` lies in `expected`.
#[track_caller]
fn check(characters: [Character; 2], expected: RangeInclusive<u32>) {
    let mut lengths: Vec<_> = (0..GAMES).map(|game| play(characters, game)).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    let range = (lengths[0], lengths[lengths.len() - 1]);
    println!("{characters:?}: median {median} turns, {} to {}", range.0, range.1);
    assert!(expected.contains(&median), "{characters:?}: median {median}, expected {expected:?}");
    assert!(range.1 < TURNS_MAX, "a match that does not end");
}

#[test]
fn matches_have_a_natural_length() {
    use Character::{Flood, Hungry, Random};
    check([Random, Random], 95..=130);
    check([Random, Hungry], 85..=130);
    check([Hungry, Hungry], 80..=130);
    check([Random, Flood], 95..=150);
    check([Hungry, Flood], 100..=200);
    check([Flood, Flood], 150..=300);
}
