//! One row, one turn: rules, the board before, the orders, the board after or the refusal. See [`super::notation`].

use super::notation;
use rules::chance::Seed;
use rules::snake::{Map, Point, Rules, Ruleset, Settings, is_over, turn};

/// No food by chance: what food there is, is in the row.
const RULES: Rules = Rules {
    ruleset: Ruleset::Standard,
    map: Map::Empty,
    settings: Settings { food_spawn_chance: 0, minimum_food: 0, hazard_damage_per_turn: 14, shrink_every_n_turns: 25 },
    solo: false,
};
const SOLO: Rules = Rules { solo: true, ..RULES };

const fn with(ruleset: Ruleset) -> Rules {
    Rules { ruleset, solo: true, ..RULES }
}

const fn damage(hazard_damage_per_turn: i32) -> Rules {
    Rules { settings: Settings { hazard_damage_per_turn, ..RULES.settings }, ..SOLO }
}

const fn shrinking(ruleset: Ruleset, map: Map, shrink_every_n_turns: u32) -> Rules {
    Rules { ruleset, map, settings: Settings { shrink_every_n_turns, ..RULES.settings }, solo: true }
}

const SEED: Seed = Seed(1);

#[track_caller]
fn check(rules: Rules, before: &str, orders: &str, after: &str) {
    let board = notation::board(before);
    let untouched = board.clone();
    let have = match turn(&rules, &board, &notation::orders(orders), SEED) {
        Ok(next) => notation::text(&next),
        Err(error) => error.to_string(),
    };
    assert_eq!(have, after);
    assert_eq!(board, untouched, "the caller's board");
}

/// The turn is refused because the game is over, or it is played.
#[track_caller]
fn check_over(rules: Rules, board: &str, expect: bool) {
    let board = notation::board(board);
    assert_eq!(is_over(&rules, &board), expect);
    let orders = notation::orders("A:up B:up C:up");
    let refusal = turn(&rules, &board, &orders, SEED).err().map(|error| error.to_string());
    assert_eq!(refusal.as_deref(), expect.then_some("the game is over: it has no next turn"));
}

#[test]
fn a_snake_moves_one_cell_and_gets_hungry() {
    check(SOLO, "t4 7x7 | A 90 3,3 DD", "A:up", "t5 7x7 | A 89 3,4 DD");
    check(SOLO, "t4 7x7 | A 90 3,3 DD", "A:left", "t5 7x7 | A 89 2,3 RD");
    check(SOLO, "t4 7x7 | A 90 3,3 DD", "A:right", "t5 7x7 | A 89 4,3 LD");
    check(SOLO, "t4 7x7 | A 90 3,3 LL", "A:down", "t5 7x7 | A 89 3,2 UL");
    // The three stacked points of the start unfold.
    check(SOLO, "t0 7x7 | A 100 3,3 ..", "A:up", "t1 7x7 | A 99 3,4 D.");
}

#[test]
fn an_invalid_answer_goes_straight_on() {
    check(SOLO, "t1 7x7 | A 90 3,3 DD", "A:?", "t2 7x7 | A 89 3,4 DD");
    check(SOLO, "t1 7x7 | A 90 3,3 UU", "A:?", "t2 7x7 | A 89 3,2 UU");
    check(SOLO, "t1 7x7 | A 90 3,3 LL", "A:?", "t2 7x7 | A 89 4,3 LL");
    check(SOLO, "t1 7x7 | A 90 3,3 RR", "A:?", "t2 7x7 | A 89 2,3 RR");
    // Head and neck coincide, or there is no neck: up.
    check(SOLO, "t0 7x7 | A 90 3,3 ..", "A:?", "t1 7x7 | A 89 3,4 D.");
    check(SOLO, "t1 7x7 | A 90 3,3", "A:?", "t2 7x7 | A 89 3,4");
}

#[test]
fn an_invalid_answer_goes_straight_on_across_an_edge() {
    let wrapped = with(Ruleset::Wrapped);
    check(wrapped, "t1 7x7 | A 90 0,3 6,3 L", "A:?", "t2 7x7 | A 89 1,3 L 6,3");
    check(wrapped, "t1 7x7 | A 90 6,3 0,3 R", "A:?", "t2 7x7 | A 89 5,3 R 0,3");
    check(wrapped, "t1 7x7 | A 90 3,0 3,6 D", "A:?", "t2 7x7 | A 89 3,1 D 3,6");
    check(wrapped, "t1 7x7 | A 90 3,6 3,0 U", "A:?", "t2 7x7 | A 89 3,5 U 3,0");
}

#[test]
fn orders_are_demanded_of_the_living_and_ignored_from_others() {
    let pair = "t1 7x7 | A 90 2,2 DD | B 90 4,4 UU";
    check(RULES, pair, "A:up", "move not provided for snake");
    check(RULES, pair, "B:down A:up Z:up", "t2 7x7 | A 89 2,3 DD | B 89 4,3 UU");
    check(
        SOLO,
        "t1 7x7 | A 90 2,2 DD | B x:out-of-health:-:1 0 4,4 UU",
        "A:up B:down",
        "t2 7x7 | A 89 2,3 DD | B x:out-of-health:-:1 0 4,4 UU",
    );
    check(RULES, "t1 7x7 | A 90 1,1 | B 90", "A:up B:up", "snake is length zero");
    check(RULES, "t1 7x7 | A 90 1,1 | B 90", "", "snake is length zero");
}

#[test]
fn two_orders_for_one_seat_are_both_carried_out() {
    check(SOLO, "t1 7x7 | A 90 3,1 DD", "A:up A:left", "t2 7x7 | A 89 2,2 RD");
    check(RULES, "t1 7x7 | A 90 3,1 DD | B 90 6,6 LL", "A:up B:down A:up", "t2 7x7 | A 89 3,3 DD | B 89 6,5 UL");
}

#[test]
fn without_orders_nothing_moves() {
    check(RULES, "t0 7x7 | A 90 2,2 DD | B 90 4,4 UU", "", "t1 7x7 | A 90 2,2 DD | B 90 4,4 UU");
    check(RULES, "t3 7x7 | A 90 2,2 DD | B 90 4,4 UU", "", "t4 7x7 | A 89 2,2 DD | B 89 4,4 UU");
}

#[test]
fn hunger() {
    check(SOLO, "t6 7x7 | A 1 3,3 DD", "A:up", "t7 7x7 | A x:out-of-health:-:7 0 3,4 DD");
    check(SOLO, "t6 7x7 | A 2 3,3 DD", "A:up", "t7 7x7 | A 1 3,4 DD");
    // The last health and food: hunger takes it, the meal gives it back.
    check(SOLO, "t6 7x7 | A 1 3,3 DD | food 3,4", "A:up", "t7 7x7 | A 100 3,4 DD.");
    // Hunger is written down before the wall.
    check(SOLO, "t6 7x7 | A 1 3,6 DD", "A:up", "t7 7x7 | A x:out-of-health:-:7 0 3,7 DD");
}

#[test]
fn a_meal_shows_at_the_tail_one_turn_later() {
    check(SOLO, "t1 7x7 | A 40 3,3 DD | food 0,0 3,4", "A:up", "t2 7x7 | A 100 3,4 DD. | food 0,0");
    check(SOLO, "t2 7x7 | A 100 3,4 DD.", "A:up", "t3 7x7 | A 99 3,5 DDD");
    // Only heads eat.
    check(SOLO, "t1 7x7 | A 40 3,3 DD | food 3,2", "A:up", "t2 7x7 | A 39 3,4 DD | food 3,2");
}

#[test]
fn both_snakes_of_a_head_to_head_eat() {
    check(
        RULES,
        "t1 7x7 | A 40 2,3 LL | B 50 4,3 RR | food 3,3",
        "A:right B:left",
        "t2 7x7 | A x:head-collision:B:2 100 3,3 LL. | B x:head-collision:A:2 100 3,3 RR.",
    );
}

#[test]
fn hazards_hurt_the_head() {
    check(SOLO, "t1 7x7 | A 90 3,3 DD | hazards 3,4", "A:up", "t2 7x7 | A 75 3,4 DD | hazards 3,4");
    check(SOLO, "t1 7x7 | A 90 3,3 DD | hazards 3,3", "A:up", "t2 7x7 | A 89 3,4 DD | hazards 3,3");
    check(SOLO, "t1 7x7 | A 15 3,3 DD | hazards 3,4", "A:up", "t2 7x7 | A x:hazard:-:2 0 3,4 DD | hazards 3,4");
    check(SOLO, "t1 7x7 | A 16 3,3 DD | hazards 3,4", "A:up", "t2 7x7 | A 1 3,4 DD | hazards 3,4");
}

#[test]
fn hazards_stack() {
    check(SOLO, "t1 7x7 | A 90 3,3 DD | hazards 3,4*3", "A:up", "t2 7x7 | A 47 3,4 DD | hazards 3,4*3");
    check(
        SOLO,
        "t1 7x7 | A 40 3,3 DD | hazards 3,4 0,0 3,4*2",
        "A:up",
        "t2 7x7 | A x:hazard:-:2 0 3,4 DD | hazards 3,4 0,0 3,4*2",
    );
}

#[test]
fn food_protects_from_the_hazard_under_it() {
    check(SOLO, "t1 7x7 | A 10 3,3 DD | food 3,4 | hazards 3,4*9", "A:up", "t2 7x7 | A 100 3,4 DD. | hazards 3,4*9");
}

#[test]
fn negative_damage_heals_up_to_the_maximum() {
    check(damage(-10), "t1 7x7 | A 50 3,3 DD | hazards 3,4", "A:up", "t2 7x7 | A 59 3,4 DD | hazards 3,4");
    check(damage(-10), "t1 7x7 | A 95 3,3 DD | hazards 3,4", "A:up", "t2 7x7 | A 100 3,4 DD | hazards 3,4");
    check(damage(i32::MIN), "t1 7x7 | A 1 3,3 DD | hazards 3,4", "A:up", "t2 7x7 | A 100 3,4 DD | hazards 3,4");
    check(
        damage(i32::MAX),
        "t1 7x7 | A 99 3,3 DD | hazards 3,4",
        "A:up",
        "t2 7x7 | A x:hazard:-:2 0 3,4 DD | hazards 3,4",
    );
}

#[test]
fn a_harmless_hazard_kills_whom_hunger_brought_to_zero() {
    check(damage(0), "t1 7x7 | A 1 3,3 DD | hazards 3,4", "A:up", "t2 7x7 | A x:hazard:-:2 0 3,4 DD | hazards 3,4");
    check(damage(0), "t1 7x7 | A 2 3,3 DD | hazards 3,4", "A:up", "t2 7x7 | A 1 3,4 DD | hazards 3,4");
}

#[test]
fn who_dies_of_a_hazard_is_gone_before_the_collisions() {
    check(
        RULES,
        "t1 7x7 | A 9 2,3 LL | B 50 4,3 RR | hazards 3,3",
        "A:right B:left",
        "t2 7x7 | A x:hazard:-:2 0 3,3 LL | B 35 3,3 RR | hazards 3,3",
    );
}

#[test]
fn walls() {
    check(SOLO, "t1 7x7 | A 90 6,3 LL", "A:right", "t2 7x7 | A x:wall-collision:-:2 89 7,3 LL");
    check(SOLO, "t1 7x7 | A 90 0,3 RR", "A:left", "t2 7x7 | A x:wall-collision:-:2 89 -1,3 RR");
    check(SOLO, "t1 7x7 | A 90 3,6 DD", "A:up", "t2 7x7 | A x:wall-collision:-:2 89 3,7 DD");
    check(SOLO, "t1 7x7 | A 90 3,0 UU", "A:down", "t2 7x7 | A x:wall-collision:-:2 89 3,-1 UU");
    // Any point outside counts.
    check(SOLO, "t1 7x7 | A 90 6,3 RRR", "A:left", "t2 7x7 | A x:wall-collision:-:2 89 5,3 RRR");
}

#[test]
fn own_body() {
    check(SOLO, "t1 7x7 | A 90 3,3 DRUU", "A:right", "t2 7x7 | A x:snake-self-collision:A:2 89 4,3 LDRU");
    check(SOLO, "t1 7x7 | A 90 3,3 DD", "A:down", "t2 7x7 | A x:snake-self-collision:A:2 89 3,2 UD");
}

#[test]
fn a_tail_that_leaves_is_free_and_a_stacked_tail_is_not() {
    check(SOLO, "t1 7x7 | A 90 3,3 DRU", "A:right", "t2 7x7 | A 89 4,3 LDR");
    check(SOLO, "t1 7x7 | A 90 3,3 DRU.", "A:right", "t2 7x7 | A x:snake-self-collision:A:2 89 4,3 LDRU");
    check(RULES, "t1 7x7 | A 90 3,3 DD | B 90 5,4 LD", "A:right B:right", "t2 7x7 | A 89 4,3 LD | B 89 6,4 LL");
    check(
        RULES,
        "t1 7x7 | A 90 3,3 DD | B 90 5,4 LD.",
        "A:right B:right",
        "t2 7x7 | A x:snake-collision:B:2 89 4,3 LD | B 89 6,4 LLD",
    );
}

#[test]
fn head_to_head_the_longer_lives() {
    check(
        RULES,
        "t1 7x7 | A 90 2,3 LLD | B 90 4,3 RR",
        "A:right B:left",
        "t2 7x7 | A 89 3,3 LLL | B x:head-collision:A:2 89 3,3 RR",
    );
    check(
        RULES,
        "t1 7x7 | A 90 2,3 LL | B 90 4,3 RR",
        "A:right B:left",
        "t2 7x7 | A x:head-collision:B:2 89 3,3 LL | B x:head-collision:A:2 89 3,3 RR",
    );
}

#[test]
fn of_several_colliders_the_longest_is_named() {
    // A, the longest, lives; B and C are beaten by it although they meet each other too.
    check(
        RULES,
        "t1 7x7 | A 90 3,2 DDR | B 90 2,3 LL | C 90 4,3 RR",
        "A:up B:right C:left",
        "t2 7x7 | A 89 3,3 DDD | B x:head-collision:A:2 89 3,3 LL | C x:head-collision:A:2 89 3,3 RR",
    );
    // All equal: the first of the others in the order of seats.
    check(
        RULES,
        "t1 7x7 | A 90 3,2 DD | B 90 2,3 LL | C 90 4,3 RR",
        "A:up B:right C:left",
        "t2 7x7 | A x:head-collision:B:2 89 3,3 DD | B x:head-collision:A:2 89 3,3 LL | C x:head-collision:A:2 89 3,3 RR",
    );
    // Two bodies on one cell are no legal board, but the longest of them is named.
    check(
        RULES,
        "t1 7x7 | A 90 3,2 LL | B 90 4,4 DD | C 90 4,4 DDD",
        "A:right B:up C:up",
        "t2 7x7 | A x:snake-collision:C:2 89 4,2 LL | B x:head-collision:C:2 89 4,5 DD | C 89 4,5 DDD",
    );
}

#[test]
fn collisions_are_judged_in_the_order_self_body_head() {
    // A meets the body of C and the head of B, which is longer: the body is written down.
    check(
        RULES,
        "t1 7x7 | A 90 2,3 LL | B 90 4,3 RRD | C 90 3,4 DDL",
        "A:right B:left C:up",
        "t2 7x7 | A x:snake-collision:C:2 89 3,3 LL | B x:snake-collision:C:2 89 3,3 RRR | C 89 3,5 DDD",
    );
}

#[test]
fn who_starves_or_leaves_does_not_collide() {
    check(
        RULES,
        "t1 7x7 | A 1 2,3 LLD | B 90 4,3 RR",
        "A:right B:left",
        "t2 7x7 | A x:out-of-health:-:2 0 3,3 LLL | B 89 3,3 RR",
    );
    check(
        RULES,
        "t1 7x7 | A 90 6,3 LLL | B 90 5,4 UU",
        "A:right B:down",
        "t2 7x7 | A x:wall-collision:-:2 89 7,3 LLL | B 89 5,3 UU",
    );
}

#[test]
fn who_collides_still_kills_others_in_the_same_turn() {
    // A dies on B's body, C dies on A's.
    check(
        RULES,
        "t1 7x7 | A 90 2,3 LLL | B 90 3,4 DDD | C 90 1,4 UU",
        "A:right B:up C:down",
        "t2 7x7 | A x:snake-collision:B:2 89 3,3 LLL | B 89 3,5 DDD | C x:snake-collision:A:2 89 1,3 UU",
    );
}

#[test]
fn eliminated_snakes_are_air() {
    check(
        SOLO,
        "t8 7x7 | A 90 2,3 LL | B x:out-of-health:-:3 0 3,3 RR",
        "A:right",
        "t9 7x7 | A 89 3,3 LL | B x:out-of-health:-:3 0 3,3 RR",
    );
}

#[test]
fn wrapped_edges_touch() {
    let wrapped = with(Ruleset::Wrapped);
    check(wrapped, "t1 7x7 | A 90 6,3 LL", "A:right", "t2 7x7 | A 89 0,3 6,3 L");
    check(wrapped, "t1 7x7 | A 90 0,3 RR", "A:left", "t2 7x7 | A 89 6,3 0,3 R");
    check(wrapped, "t1 7x9 | A 90 3,8 DD", "A:up", "t2 7x9 | A 89 3,0 3,8 D");
    check(wrapped, "t1 7x9 | A 90 3,0 UU", "A:down", "t2 7x9 | A 89 3,8 3,0 U");
    check(
        wrapped,
        "t1 7x7 | A 90 6,3 LL | B 90 0,5 DDD",
        "A:right B:up",
        "t2 7x7 | A x:snake-collision:B:2 89 0,3 6,3 L | B 89 0,6 DDD",
    );
}

#[test]
fn constrictor_feeds_and_grows_all_snakes() {
    let constrictor = with(Ruleset::Constrictor);
    check(constrictor, "t1 7x7 | A 100 3,3 D.", "A:up", "t2 7x7 | A 100 3,4 DD.");
    check(constrictor, "t2 7x7 | A 100 3,4 DD.", "A:up", "t3 7x7 | A 100 3,5 DDD.");
    check(constrictor, "t1 7x7 | A 100 3,3 D. | food 0,0 1,1", "A:up", "t2 7x7 | A 100 3,4 DD.");
    // Food that a map has put there is eaten before it is removed: the meal's point stacks the tail, nothing more is added.
    check(constrictor, "t1 7x7 | A 50 3,3 D. | food 3,4", "A:up", "t2 7x7 | A 100 3,4 DD.");
    // A body of one point has no two last points.
    check(constrictor, "t1 7x7 | A 100 3,3", "A:up", "t2 7x7 | A 100 3,4 .");
    // At setup, without orders, these two stages run and no other.
    check(constrictor, "t0 7x7 | A 90 3,3 D | food 0,0", "", "t1 7x7 | A 100 3,3 D.");
}

#[test]
fn constrictor_grows_the_dead_once() {
    let constrictor = with(Ruleset::Constrictor);
    check(
        constrictor,
        "t1 7x7 | A 100 3,3 DD | B 100 6,6 LL",
        "A:up B:right",
        "t2 7x7 | A 100 3,4 DD. | B x:wall-collision:-:2 100 7,6 LL.",
    );
    check(
        constrictor,
        "t2 7x7 | A 100 3,4 DD. | B x:wall-collision:-:2 100 7,6 LL.",
        "A:up",
        "t3 7x7 | A 100 3,5 DDD. | B x:wall-collision:-:2 100 7,6 LL.",
    );
}

#[test]
fn wrapped_constrictor_is_both() {
    check(
        with(Ruleset::WrappedConstrictor),
        "t1 7x7 | A 100 6,3 L. | food 3,3",
        "A:right",
        "t2 7x7 | A 100 0,3 6,3 L.",
    );
    // Food across an edge is fed before it is removed.
    check(
        with(Ruleset::WrappedConstrictor),
        "t1 7x7 | A 100 6,3 LL | food 0,3",
        "A:right",
        "t2 7x7 | A 100 0,3 6,3 L.",
    );
}

#[test]
fn constrictor_on_the_standard_map_shows_food() {
    let rules = Rules {
        map: Map::Standard,
        settings: Settings { minimum_food: 47, ..RULES.settings },
        ..with(Ruleset::Constrictor)
    };
    // Removed by the rules, spawned by the map after them: every free cell that is not next to the head.
    let mut board = notation::board("t1 7x7 | A 100 3,3 D.");
    for (food, length) in [(43, 4), (42, 5)] {
        board = turn(&rules, &board, &notation::orders("A:up"), SEED).unwrap();
        assert_eq!((board.food.len(), board.snakes[0].length()), (food, length));
    }
}

#[test]
fn royale_shrinks_every_so_many_turns() {
    let every_third = shrinking(Ruleset::Royale, Map::Empty, 3);
    // The rule set clears hazards that were there before; the map keeps them until its first shrink.
    check(every_third, "t0 3x3 | A 90 1,1 . | hazards 0,0", "A:up", "t1 3x3 | A 89 1,2 D");
    check(
        shrinking(Ruleset::Standard, Map::Royale, 3),
        "t0 3x3 | A 90 1,1 . | hazards 0,0",
        "A:up",
        "t1 3x3 | A 89 1,2 D | hazards 0,0",
    );
    check(every_third, "t1 3x3 | A 90 1,1 .", "A:up", "t2 3x3 | A 89 1,2 D");
    // The third turn loses one side of four; hazards hurt from the next turn on.
    check(every_third, "t2 3x3 | A 90 1,1 .", "A:up", "t3 3x3 | A 89 1,2 D | hazards 0,0 1,0 2,0");
    check(
        shrinking(Ruleset::Royale, Map::Empty, 0),
        "t0 3x3 | A 90 1,1 .",
        "A:up",
        "royale game can't shrink more frequently than every turn",
    );
    check(
        shrinking(Ruleset::Standard, Map::Royale, 0),
        "t0 3x3 | A 90 1,1 .",
        "A:up",
        "royale game can't shrink more frequently than every turn",
    );
    // Long after everything is a hazard.
    check(
        shrinking(Ruleset::Royale, Map::Empty, 1),
        "t4000000000 2x2 | A 90 0,0 .",
        "A:up",
        "t4000000001 2x2 | A 89 0,1 D | hazards 0,0 0,1 1,0 1,1",
    );
}

#[test]
fn a_side_once_lost_stays_lost_and_map_and_ruleset_agree() {
    let (ruleset, map) = (shrinking(Ruleset::Royale, Map::Empty, 2), shrinking(Ruleset::Standard, Map::Royale, 2));
    for seed in (0..50).map(Seed) {
        let mut previous = std::sync::Arc::<Vec<Point>>::default();
        for turn_number in 0..60 {
            let mut board = notation::board("t0 11x11 | A 100 5,5 .. | B 100 1,1 ..");
            board.turn = turn_number;
            let next =
                [ruleset, map].map(|rules| turn(&rules, &board, &notation::orders("A:up B:up"), seed).unwrap().hazards);
            assert_eq!(next[0], next[1], "{seed:?} turn {turn_number}");
            assert!(previous.iter().all(|cell| next[0].contains(cell)), "{seed:?} turn {turn_number}");
            previous = next[0].clone();
        }
        assert_eq!(previous.len(), 121, "thirty shrinks close any board of 11x11");
    }
}

#[test]
fn snails_leave_a_trail_one_turn_late() {
    let snail = Rules { map: Map::SnailMode, ..SOLO };
    // The tail's cell waits above the board, as high as the snake is long …
    check(snail, "t1 7x7 | A 90 3,3 DD", "A:up", "t2 7x7 | A 89 3,4 DD | hazards 3,9*3");
    // … comes down once the tail has left, while the next one starts to wait …
    check(snail, "t2 7x7 | A 89 3,4 DD | hazards 3,9*3", "A:up", "t3 7x7 | A 88 3,5 DD | hazards 3,2*3 3,10*3");
    // … and fades by one every turn.
    check(
        snail,
        "t3 7x7 | A 88 3,5 DD | hazards 3,2*3 3,10*3",
        "A:left",
        "t4 7x7 | A 87 2,5 RD | hazards 3,2*2 3,3*3 3,11*3",
    );
    check(snail, "t4 7x7 | A 90 0,0 .. | hazards 3,2 4,4*2", "A:up", "t5 7x7 | A 89 0,1 D. | hazards 4,4");
}

#[test]
fn snails_leave_no_trail_under_a_stacked_tail_a_living_head_or_when_dead() {
    let snail = Rules { map: Map::SnailMode, ..SOLO };
    check(snail, "t1 7x7 | A 90 3,3 DD.", "A:up", "t2 7x7 | A 89 3,4 DDD | hazards 3,8*4");
    check(snail, "t1 7x7 | A 90 3,3 DD | food 3,4", "A:up", "t2 7x7 | A 100 3,4 DD.");
    check(snail, "t1 7x7 | A 90 3,3 .. | hazards 3,11*5", "A:up", "t2 7x7 | A 89 3,4 D.");
    check(snail, "t1 7x7 | A 90 6,3 LL", "A:right", "t2 7x7 | A x:wall-collision:-:2 89 7,3 LL");
}

#[test]
fn a_waiting_hazard_gets_whom_the_wall_would_have_got() {
    let snail = Rules { map: Map::SnailMode, ..SOLO };
    check(snail, "t1 7x7 | A 20 3,6 DD | hazards 3,7*3", "A:up", "t2 7x7 | A x:hazard:-:2 0 3,7 DD | hazards 3,0*3");
}

#[test]
fn hazards_that_wait_are_not_shown() {
    let board = notation::board("t2 7x7 | A 89 3,4 DD | hazards 3,2*2 3,9*3 0,7 6,6");
    let shown: Vec<_> = board.hazards_on_board().map(|hazard| (hazard.x, hazard.y)).collect();
    assert_eq!(shown, [(3, 2), (3, 2), (6, 6)]);
}

#[test]
fn the_end_is_tested_before_everything_else() {
    let one = "t9 7x7 | A 90 3,3 DD | B x:out-of-health:-:3 0 5,5 UU";
    let none = "t9 7x7 | A x:out-of-health:-:3 0 3,3 DD | B x:out-of-health:-:3 0 5,5 UU";
    let two = "t9 7x7 | A 90 3,3 DD | B 90 5,5 UU";
    for ruleset in Ruleset::ALL {
        let rules = Rules { ruleset, ..RULES };
        let is_solo = ruleset == Ruleset::Solo;
        check_over(rules, two, false);
        check_over(rules, one, !is_solo);
        check_over(rules, none, true);
        check_over(Rules { solo: true, ..rules }, one, false);
        check_over(Rules { solo: true, ..rules }, none, true);
    }
}
