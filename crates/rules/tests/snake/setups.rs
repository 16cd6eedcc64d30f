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
    for map in Map::ALL {
        let rules = Rules { map, ..Rules::default() };
        for (side, snakes) in [(7, 1), (7, 16), (11, 2), (19, 8), (25, 16)] {
            check(rules, side, side, snakes, "ok");
        }
    }
    let rules = Rules::default();
    let sizes = "map standard takes squares with an odd side of 7 to 25";
    check(rules, 5, 5, 2, &format!("{sizes}, not 5x5"));
    check(rules, 27, 27, 2, &format!("{sizes}, not 27x27"));
    check(rules, 8, 8, 2, &format!("{sizes}, not 8x8"));
    check(rules, 11, 9, 2, &format!("{sizes}, not 11x9"));
    check(rules, 11, 11, 0, "map standard takes 1 to 16 snakes, not 0");
    check(Rules { map: Map::SnailMode, ..rules }, 11, 11, 17, "map snail_mode takes 1 to 16 snakes, not 17");
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
        for (side, snakes) in (7..=25).step_by(2).flat_map(|side| Map::PLAYERS.map(move |snakes| (side, snakes))) {
            let rules = Rules { map, ..Rules::default() };
            assert_eq!(rules.validate(side, side, snakes), Ok(()));
            let board = setup(&rules, side, side, snakes, SEED).unwrap();
            assert_eq!(board.snakes.len(), usize::from(snakes), "{map:?} {side} {snakes}");
            assert_eq!(board.food.is_empty(), map == Map::Empty, "{map:?} {side} {snakes}");
        }
    }
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

    assert_eq!(Map::ALL.map(Map::name), ["standard", "empty", "royale", "snail_mode"]);
    assert_eq!(Map::ALL.map(|map| Map::from_name(map.name())), Map::ALL.map(Some));
    assert_eq!(Map::from_name("hz_spiral"), None);

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
