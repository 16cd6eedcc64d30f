//! Which games may be created, by which names, and what a new board looks like.

use rules::chance::Seed;
use rules::snake::{Cause, Map, Move, Rules, Ruleset, Settings, setup};

const SEED: Seed = Seed(3);

#[track_caller]
fn check(rules: Rules, width: u8, height: u8, snakes: u8, expect: &str) {
    let have = rules.validate(width, height, snakes).map_or_else(|refusal| refusal.to_string(), |()| "ok".to_owned());
    assert_eq!(have, expect);
}

#[test]
fn what_may_be_created() {
    let rules = Rules::default();
    for (side, snakes) in [(7, 1), (7, 16), (11, 2), (19, 8), (25, 16)] {
        check(rules, side, side, snakes, "ok");
        check(Rules { map: Map::ExpandScatter, ..rules }, side, side, snakes, "ok");
    }
    for (width, height) in [(7, 25), (25, 7), (9, 11), (19, 21)] {
        check(rules, width, height, 16, "ok");
        check(Rules { map: Map::Empty, ..rules }, width, height, 16, "ok");
    }
    check(rules, 11, 11, 0, "map standard takes 1 to 16 snakes, not 0");
    check(Rules { map: Map::SnailMode, ..rules }, 11, 11, 17, "map snail_mode takes 1 to 16 snakes, not 17");
}

#[test]
fn boards_that_a_map_does_not_take() {
    let refused = |map: Map, width, height, expect: &str| {
        let expect = format!("map {} takes {expect}, not {width}x{height}", map.name());
        check(Rules { map, ..Rules::default() }, width, height, 1, &expect);
    };
    let odd_sides = "boards with odd sides of 7 to 25";
    refused(Map::Standard, 5, 5, odd_sides);
    refused(Map::Standard, 27, 27, odd_sides);
    refused(Map::Standard, 8, 8, odd_sides);
    refused(Map::Empty, 11, 10, odd_sides);
    refused(Map::Royale, 11, 9, "squares with an odd side of 7 to 25");
    refused(Map::HazardPits, 7, 7, "11x11");
    refused(Map::RiversBridgesLarge, 11, 11, "19x19");
    refused(Map::CastleWallExtraLarge, 19, 19, "25x25");
    refused(Map::Sinkholes, 9, 9, "7x7, 11x11 or 19x19");
    refused(Map::ArcadeMaze, 21, 19, "19x21");
    refused(Map::SoloMaze, 9, 9, "7x7, 11x11, 19x19, 19x21 or 25x25");
}

/// The table of the official module, by the number that each map takes.
#[test]
fn snakes_that_a_map_takes() {
    let maps_with =
        |most| Map::ALL.into_iter().filter(|map| map.snakes_max() == most).map(Map::name).collect::<Vec<_>>().join(" ");
    assert_eq!(maps_with(1), "solo_maze");
    assert_eq!(maps_with(4), "hz_hazard_pits hz_islands_bridges");
    assert_eq!(maps_with(6), "arcade_maze");
    assert_eq!(maps_with(8), "sinkholes healing_pools hz_castle_wall hz_castle_wall_lg hz_rivers_bridges");
    assert_eq!(maps_with(12), "hz_castle_wall_xl hz_rivers_bridges_lg hz_rivers_bridges_xl");
    check(
        Rules { map: Map::IslandsBridges, ..Rules::default() },
        11,
        11,
        5,
        "map hz_islands_bridges takes 1 to 4 snakes, not 5",
    );
    check(Rules { map: Map::SoloMaze, ..Rules::default() }, 11, 11, 2, "map solo_maze takes one snake, not 2");
}

#[test]
fn settings_are_checked_where_they_matter() {
    let with = |ruleset, map, settings| Rules { ruleset, map, settings, solo: false };
    let too_sure = Settings { food_spawn_chance: 101, ..Settings::default() };
    let too_often = Settings { shrink_every_n_turns: 0, ..Settings::default() };
    let refusal = "royale game can't shrink more frequently than every turn";
    check(
        with(Ruleset::Standard, Map::Standard, too_sure),
        11,
        11,
        2,
        "the food spawn chance is 0 to 100 percent, not 101",
    );
    check(with(Ruleset::Royale, Map::Standard, too_often), 11, 11, 2, refusal);
    check(with(Ruleset::Standard, Map::Royale, too_often), 11, 11, 2, refusal);
    check(with(Ruleset::Standard, Map::Standard, too_often), 11, 11, 2, "ok");
    check(with(Ruleset::Standard, Map::Sinkholes, too_often), 11, 11, 2, "ok");
    check(with(Ruleset::Standard, Map::HealingPools, too_often), 11, 11, 2, "ok");
    let refusal = "map hz_hazard_pits fills its pits every shrinkEveryNTurns turns: 1 or more, not 0";
    check(with(Ruleset::Standard, Map::HazardPits, too_often), 11, 11, 2, refusal);
}

#[test]
fn setup_plays_what_check_would_refuse_but_has_limits() {
    let refusal = |width, height, snakes| {
        setup(&Rules::default(), width, height, snakes, SEED).map_err(|error| error.to_string()).err()
    };
    assert_eq!(refusal(8, 5, 3), None);
    assert_eq!(refusal(5, 5, 9).as_deref(), Some("too many snakes for fixed start positions"));
    assert_eq!(refusal(3, 3, 5).as_deref(), Some("not enough space to place snake"));
    for (width, height, snakes) in [(0, 7, 1), (7, 0, 1), (26, 7, 1), (7, 255, 1), (7, 7, 0), (7, 7, 17)] {
        let expect = format!("a board has sides of 1 to 25 and 1 to 16 snakes, not {width}x{height} with {snakes}");
        assert_eq!(refusal(width, height, snakes), Some(expect));
    }
}

#[test]
fn every_board_that_may_be_created_can_be_set_up() {
    for map in Map::ALL {
        let mut played = 0;
        for (width, height) in (1..=27).flat_map(|width| (1..=27).map(move |height| (width, height))) {
            for (snakes, seed) in (1..=map.snakes_max()).flat_map(|snakes| [(snakes, SEED), (snakes, Seed(4))]) {
                let rules = Rules { map, ..Rules::default() };
                if rules.validate(width, height, snakes).is_err() {
                    continue;
                }
                played += 1;
                let board = setup(&rules, width, height, snakes, seed).unwrap();
                assert_eq!(board.snakes.len(), usize::from(snakes), "{map:?} {width}x{height} {snakes}");
                let has_no_food =
                    matches!(map, Map::Empty | Map::CastleWall | Map::CastleWallLarge | Map::CastleWallExtraLarge);
                assert_eq!(board.food.is_empty(), has_no_food, "{map:?} {width}x{height} {snakes}");
            }
        }
        assert!(played > 0, "{map:?}");
    }
}

/// [`setup`] plays what a map would refuse where it can, but a fixed layout fits its own boards only.
#[test]
fn a_layout_fits_its_board_only() {
    let refusal = |map, side, snakes| {
        let rules = Rules { map, ..Rules::default() };
        setup(&rules, side, side, snakes, SEED).map_err(|error| error.to_string()).err()
    };
    assert_eq!(refusal(Map::CastleWall, 9, 2).as_deref(), Some("map hz_castle_wall takes 11x11, not 9x9"));
    assert_eq!(refusal(Map::CastleWall, 11, 9).as_deref(), Some("too many snakes for fixed start positions"));
    assert_eq!(refusal(Map::HazardPits, 11, 5).as_deref(), Some("too many snakes for fixed start positions"));
    assert_eq!(refusal(Map::RiversBridges, 11, 9).as_deref(), Some("not enough space to place snake"));
    assert_eq!(refusal(Map::Sinkholes, 9, 2), None);
}

#[test]
fn constrictor_clears_the_food_of_the_start() {
    let rules = Rules { ruleset: Ruleset::Constrictor, ..Rules::default() };
    assert!(setup(&rules, 11, 11, 2, SEED).unwrap().food.is_empty());
    // A lone snake's game is over before it starts: nothing runs.
    assert_eq!(setup(&rules, 11, 11, 1, SEED).unwrap().food.len(), 2);
    assert!(setup(&Rules { solo: true, ..rules }, 11, 11, 1, SEED).unwrap().food.is_empty());
}

#[test]
fn one_snake_may_play_on() {
    let solo = |snakes| Rules::for_snakes(Ruleset::Standard, Map::Standard, Settings::default(), snakes).solo;
    assert_eq!([0, 1, 2, 16].map(solo), [true, true, false, false]);
}

#[test]
fn names_are_the_official_ones() {
    let names = ["standard", "solo", "royale", "wrapped", "constrictor", "wrapped_constrictor"];
    assert_eq!(Ruleset::ALL.map(Ruleset::name), names);
    assert_eq!(names.map(Ruleset::from_name), Ruleset::ALL.map(Some));
    assert_eq!(Ruleset::from_name("squad").unwrap_or_default(), Ruleset::Standard);
    assert_eq!(Ruleset::from_name("Standard"), None);

    let mut maps = Map::ALL.map(Map::name);
    maps.sort_unstable();
    let official = "arcade_maze empty healing_pools hz_castle_wall hz_castle_wall_lg hz_castle_wall_xl hz_columns hz_expand_box \
        hz_expand_scatter hz_grow_box hz_hazard_pits hz_inner_wall hz_islands_bridges hz_islands_bridges_lg hz_rings \
        hz_rivers_bridges hz_rivers_bridges_lg hz_rivers_bridges_xl hz_scatter hz_spiral royale sinkholes snail_mode solo_maze standard";
    assert_eq!(maps.join(" "), official);
    assert_eq!(Map::ALL.map(|map| Map::from_name(map.name())), Map::ALL.map(Some));
    assert_eq!(Map::from_name("hz_rivers"), None);

    assert_eq!(["up", "down", "left", "right"].map(Move::parse), Move::ALL.map(Some));
    assert_eq!(["Up", "", "up ", "north"].map(Move::parse), [None; 4]);
    assert_eq!(
        Cause::ALL.map(Cause::as_str),
        ["snake-collision", "snake-self-collision", "out-of-health", "head-collision", "wall-collision", "hazard"]
    );
}

#[test]
fn stages_in_their_order() {
    let stages =
        |ruleset, solo| Rules { ruleset, solo, ..Rules::default() }.stage_names().collect::<Vec<_>>().join(" ");
    let tail = "starvation.standard hazard_damage.standard feed_snakes.standard elimination.standard";
    let grow = "spawn_food.no_food modify_snakes.always_grow";
    assert_eq!(stages(Ruleset::Standard, false), format!("game_over.standard movement.standard {tail}"));
    assert_eq!(stages(Ruleset::Standard, true), format!("game_over.solo_snake movement.standard {tail}"));
    assert_eq!(stages(Ruleset::Solo, false), format!("game_over.solo_snake movement.standard {tail}"));
    assert_eq!(
        stages(Ruleset::Royale, false),
        format!("game_over.standard movement.standard {tail} spawn_hazards.shrink_map")
    );
    assert_eq!(stages(Ruleset::Wrapped, false), format!("game_over.standard movement.wrap_boundaries {tail}"));
    assert_eq!(stages(Ruleset::Constrictor, false), format!("game_over.standard movement.standard {tail} {grow}"));
    assert_eq!(
        stages(Ruleset::WrappedConstrictor, true),
        format!("game_over.solo_snake movement.wrap_boundaries {tail} {grow}")
    );
}

#[test]
fn defaults_are_those_of_the_official_program() {
    let Settings { food_spawn_chance, minimum_food, hazard_damage_per_turn, shrink_every_n_turns } =
        Settings::default();
    assert_eq!((food_spawn_chance, minimum_food, hazard_damage_per_turn, shrink_every_n_turns), (15, 1, 14, 25));
}
