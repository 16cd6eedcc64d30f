//! Counting: how many different boards can be reached in 1, 2, 3 … turns when every living snake tries every move.
//!
//! A rule that is bent anywhere in these thousands of boards changes a count. The counts were not taken from this crate: they come
//! from running the official Go rules (release 1.2.3) over the same start boards, with our numbers for its random source, and
//! counting different states of turn, food, hazards, health, bodies and eliminations. Boards whose game is over have no children.

use std::collections::BTreeMap;

use super::notation;
use rules::chance::Seed;
use rules::snake::{Board, Map, Move, MoveOrder, Rules, Ruleset, Seat, Settings, state_hash, turn};

const DUEL: &str = "t0 7x7 | A 100 1,1 .. | B 100 5,5 .. | food 3,3 1,2";
const BRAWL: &str = "t9 5x5 | A 3 1,1 UUR | B 40 3,3 DDL | food 2,2";
const BRAWL_AMONG_HAZARDS: &str = "t9 5x5 | A 3 1,1 UUR | B 40 3,3 DDL | food 2,2 | hazards 0,1 4,3*3";
const BRAWL_BESIDE_HAZARDS: &str = "t9 5x5 | A 3 1,1 UUR | B 40 3,3 DDL | food 2,2 | hazards 0,1 4,3";
const CROWD: &str = "t0 3x3 | A 100 0,0 .. | B 100 2,0 .. | C 100 1,2 .. | food 1,1";
const HUNGRY: &str = "t0 5x5 | A 5 2,2 DD | food 0,0 3,3";

const fn rules(ruleset: Ruleset, map: Map) -> Rules {
    let settings =
        Settings { food_spawn_chance: 0, minimum_food: 0, hazard_damage_per_turn: 14, shrink_every_n_turns: 2 };
    Rules { ruleset, map, settings, solo: false }
}

#[track_caller]
fn check(rules: Rules, start: &str, expect: &[usize]) {
    let mut level = vec![notation::board(start)];
    let mut counts = Vec::new();
    for _ in expect {
        level = children(&rules, &level);
        counts.push(level.len());
    }
    assert_eq!(counts, expect, "{rules:?} from {start}");
}

fn children(rules: &Rules, level: &[Board]) -> Vec<Board> {
    let mut found = BTreeMap::new();
    for board in level {
        for orders in all_orders(board) {
            if let Ok(next) = turn(rules, board, &orders, Seed(1)) {
                found.insert(state_hash(&next), next);
            }
        }
    }
    found.into_values().collect()
}

fn all_orders(board: &Board) -> Vec<Vec<MoveOrder>> {
    let mut all = vec![Vec::new()];
    for seat in (0..board.snakes.len()).map(|seat| Seat(seat as u8)) {
        let extended = |orders: &Vec<MoveOrder>, step| {
            let order = MoveOrder { seat, direction: Some(step) };
            orders.iter().copied().chain([order]).collect()
        };
        all = all.iter().flat_map(|orders| Move::ALL.map(|step| extended(orders, step))).collect();
    }
    all
}

#[test]
fn standard() {
    let standard = rules(Ruleset::Standard, Map::Empty);
    check(standard, DUEL, &[16, 256, 1600, 6048]);
    check(standard, BRAWL_AMONG_HAZARDS, &[16, 64, 384, 112, 496]);
    check(standard, CROWD, &[64, 1008, 2144]);
}

#[test]
fn solo() {
    check(rules(Ruleset::Solo, Map::Empty), HUNGRY, &[4, 12, 36, 88, 164, 132, 232, 424, 640]);
    check(Rules { solo: true, ..rules(Ruleset::Standard, Map::Empty) }, BRAWL, &[16, 168, 1104, 2036, 5640]);
}

#[test]
fn royale() {
    let royale = rules(Ruleset::Royale, Map::Empty);
    check(royale, DUEL, &[16, 256, 1600, 6048]);
    check(royale, BRAWL_AMONG_HAZARDS, &[16, 64, 64, 144, 496]);
    check(royale, CROWD, &[64, 1008, 2144]);
}

#[test]
fn wrapped() {
    let wrapped = rules(Ruleset::Wrapped, Map::Empty);
    check(wrapped, DUEL, &[16, 256, 2304, 14176]);
    check(wrapped, BRAWL_AMONG_HAZARDS, &[16, 64, 560, 320, 2000]);
    check(wrapped, CROWD, &[64, 1728, 6528]);
}

#[test]
fn constrictor() {
    let constrictor = rules(Ruleset::Constrictor, Map::Empty);
    check(constrictor, DUEL, &[16, 256, 1600, 7744]);
    check(constrictor, BRAWL_AMONG_HAZARDS, &[16, 64, 240, 464, 416]);
    check(constrictor, CROWD, &[64, 1008, 2144]);
}

#[test]
fn wrapped_constrictor() {
    let wrapped_constrictor = rules(Ruleset::WrappedConstrictor, Map::Empty);
    check(wrapped_constrictor, DUEL, &[16, 256, 2304, 20416]);
    check(wrapped_constrictor, BRAWL_AMONG_HAZARDS, &[16, 64, 384, 1520, 4816]);
    check(wrapped_constrictor, CROWD, &[64, 1728, 6528]);
}

#[test]
fn snail_mode() {
    check(rules(Ruleset::Standard, Map::SnailMode), BRAWL, &[16, 144, 768, 224, 832]);
}

#[test]
fn royale_map() {
    check(rules(Ruleset::Standard, Map::Royale), BRAWL_BESIDE_HAZARDS, &[16, 96, 96, 144, 496]);
}
