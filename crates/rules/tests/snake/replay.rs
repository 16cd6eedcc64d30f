//! Replay: seed and orders are a whole match. The same match gives the same boards, turn by turn, also when it is continued from one
//! of them; and a few matches are pinned by the hash of their last board.

use rules::chance::{Chance, Dice, Purpose, Seed};
use rules::snake::{
    Board, BoardSizes, Map, Move, MoveOrder, Rules, Ruleset, Seat, Settings, is_over, setup, state_hash, turn,
};

const TURNS_MAX: u32 = 300;

/// Moves into a free cell where there is one, by chance; sometimes no move at all. A pure function of board, seat and seed.
fn bot(board: &Board, seat: Seat, seed: Seed) -> MoveOrder {
    let mut dice = Chance::new(Seed(seed.0 ^ (u64::from(seat.0) << 32)), board.turn, Purpose::Food);
    let mut steps = Move::ALL;
    dice.shuffle(&mut steps);
    let head = board.snakes[seat.index()].head().unwrap();
    let is_free = |step: &Move| {
        let next = head.step(*step);
        board.contains(next) && board.living().all(|(_, snake)| !snake.body.contains(&next))
    };
    let step = steps.into_iter().find(is_free).filter(|_| dice.below(50) > 0);
    MoveOrder { seat, direction: step }
}

fn orders(board: &Board, seed: Seed) -> Vec<MoveOrder> {
    board.living().map(|(seat, _)| bot(board, seat, seed)).collect()
}

fn play(rules: &Rules, mut board: Board, seed: Seed) -> Vec<Board> {
    let mut boards = vec![board.clone()];
    while !is_over(rules, &board) && board.turn < TURNS_MAX {
        board = turn(rules, &board, &orders(&board, seed), seed).unwrap();
        boards.push(board.clone());
    }
    boards
}

/// Every rule set on every map, with up to four snakes.
fn all_rules() -> impl Iterator<Item = (Rules, u8)> {
    let settings = Settings { shrink_every_n_turns: 10, ..Settings::default() };
    let pairs = Ruleset::ALL.into_iter().flat_map(|ruleset| Map::ALL.map(|map| (ruleset, map)));
    pairs.map(move |(ruleset, map)| {
        let snakes = map.snakes_max().min(4);
        (Rules::for_snakes(ruleset, map, settings, snakes), snakes)
    })
}

/// 11x11 where the map takes it.
fn board_size(map: Map) -> (u8, u8) {
    match map.sizes() {
        BoardSizes::Only(sizes) if !sizes.contains(&(11, 11)) => sizes[0],
        _ => (11, 11),
    }
}

#[test]
fn an_interrupted_match_equals_the_uninterrupted_one() {
    for (number, (rules, snakes)) in all_rules().enumerate() {
        let (seed, (width, height)) = (Seed(number as u64), board_size(rules.map));
        let whole = play(&rules, setup(&rules, width, height, snakes, seed).unwrap(), seed);
        let middle = whole.len() / 2;
        let resumed = play(&rules, whole[middle].clone(), seed);
        assert_eq!(whole[middle..], resumed, "{rules:?}");
        assert!(whole.len() > 3, "a match of {} boards tests nothing: {rules:?}", whole.len());
    }
}

#[test]
fn another_seed_is_another_match() {
    let rules = Rules::default();
    let start = |seed| state_hash(&setup(&rules, 11, 11, 4, Seed(seed)).unwrap());
    let starts: std::collections::BTreeSet<u64> = (0..100).map(start).collect();
    assert!(starts.len() > 80, "{} different starts of 100", starts.len());
}

#[track_caller]
fn check_pinned(ruleset: Ruleset, map: Map, snakes: u8, expect_turn: u32, expect_hash: u64) {
    let rules = Rules::for_snakes(ruleset, map, Settings::default(), snakes);
    let (width, height) = board_size(map);
    let last = play(&rules, setup(&rules, width, height, snakes, Seed(2026)).unwrap(), Seed(2026)).pop().unwrap();
    let (have_turn, have_hash) = (last.turn, state_hash(&last));
    assert_eq!(
        (have_turn, have_hash),
        (expect_turn, expect_hash),
        "{have_turn}, {have_hash:#018x}: stored matches would not replay; if that is meant, RULES_VERSION has to rise"
    );
}

#[test]
fn matches_are_pinned() {
    check_pinned(Ruleset::Standard, Map::Standard, 4, 29, 0xbe4f_d560_d9b8_5ffb);
    check_pinned(Ruleset::Solo, Map::Standard, 1, 97, 0x8716_c952_24f4_af9d);
    check_pinned(Ruleset::Royale, Map::Standard, 8, 62, 0x59ea_d3cc_1bc8_bb11);
    check_pinned(Ruleset::Standard, Map::Royale, 8, 62, 0x59ea_d3cc_1bc8_bb11);
    check_pinned(Ruleset::Wrapped, Map::SnailMode, 2, 6, 0xaaf6_c7c3_5b71_cf8d);
    check_pinned(Ruleset::Constrictor, Map::Empty, 4, 26, 0xb374_c695_a452_faee);
    check_pinned(Ruleset::WrappedConstrictor, Map::Standard, 16, 20, 0x5756_2212_5639_3810);
}

#[test]
fn matches_on_other_maps_are_pinned() {
    check_pinned(Ruleset::Standard, Map::InnerWall, 4, 20, 0x20cf_d49f_4ef0_0283);
    check_pinned(Ruleset::Standard, Map::Rings, 4, 16, 0x8a21_1bc8_90d9_2bac);
    check_pinned(Ruleset::Standard, Map::Columns, 8, 49, 0x5919_fb56_c6a1_b213);
    check_pinned(Ruleset::Standard, Map::Spiral, 2, 74, 0xd22d_2348_f56d_1522);
    check_pinned(Ruleset::Standard, Map::Scatter, 2, 58, 0x61f4_f94a_077c_d090);
    check_pinned(Ruleset::Standard, Map::GrowBox, 2, 74, 0xe330_1eae_918d_f11c);
    check_pinned(Ruleset::Standard, Map::ExpandBox, 2, 50, 0x2bd8_f127_e491_9abd);
    check_pinned(Ruleset::Standard, Map::ExpandScatter, 2, 51, 0x4f6b_31af_68f1_1912);
    check_pinned(Ruleset::Standard, Map::HazardPits, 4, 59, 0x9cb9_dabf_6699_0ed8);
    check_pinned(Ruleset::Standard, Map::Sinkholes, 4, 29, 0x4560_8ff4_df04_8ad9);
    check_pinned(Ruleset::Standard, Map::HealingPools, 2, 74, 0x981d_479b_ef05_50e4);
    check_pinned(Ruleset::Standard, Map::CastleWall, 8, 25, 0x1e3b_5fe4_1100_1407);
    check_pinned(Ruleset::Standard, Map::CastleWallLarge, 8, 22, 0xd186_659a_2e53_173f);
    check_pinned(Ruleset::Standard, Map::CastleWallExtraLarge, 12, 42, 0x426e_2342_ae2d_dbce);
    check_pinned(Ruleset::Standard, Map::RiversBridges, 8, 39, 0x66c6_9c86_2db0_7570);
    check_pinned(Ruleset::Standard, Map::RiversBridgesLarge, 12, 54, 0xffe8_681b_697e_6a54);
    check_pinned(Ruleset::Standard, Map::RiversBridgesExtraLarge, 12, 100, 0xef38_d53e_fab1_3a60);
    check_pinned(Ruleset::Standard, Map::IslandsBridges, 4, 36, 0x677f_8711_0112_c7d3);
    check_pinned(Ruleset::Standard, Map::IslandsBridgesLarge, 16, 51, 0xe94b_72c5_5dbe_cad5);
    check_pinned(Ruleset::Standard, Map::ArcadeMaze, 6, 16, 0x0cbc_92a3_6212_a152);
    check_pinned(Ruleset::Standard, Map::SoloMaze, 1, 16, 0x9b91_7e97_6d02_13bd);
}
