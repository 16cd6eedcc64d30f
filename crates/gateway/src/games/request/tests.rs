//! Creations as callers write them, and what becomes of them.

use super::*;
use engine::time::UnixMs;
use serde_json::{Value, json};

const A: &str = "00000000-0000-0000-0000-00000000000a";
const B: &str = "00000000-0000-0000-0000-00000000000b";

fn plan_of(mut wanted: Value) -> ApiResult<ValidatedGame> {
    if wanted.get("snakes").is_none() {
        wanted["snakes"] = json!([A, B]);
    }
    validate_game(&serde_json::from_value(wanted).expect("a creation of the right shape"), 500)
}

#[track_caller]
fn check_refused(wanted: Value, want: &str) {
    let refusal = plan_of(wanted).expect_err("a refusal").to_problem();
    assert_eq!(format!("{} {}", refusal.code, refusal.field.unwrap_or_default()), want);
}

#[track_caller]
fn check_rules(wanted: Value, want: &str) {
    let plan = plan_of(wanted).expect("a plan");
    let Rules { ruleset, map, settings, solo } = plan.rules;
    let Settings { food_spawn_chance, minimum_food, hazard_damage_per_turn, shrink_every_n_turns } = settings;
    let figures = format!("{food_spawn_chance}/{minimum_food}/{hazard_damage_per_turn}/{shrink_every_n_turns}");
    let (width, height) = (plan.width, plan.height);
    let have = format!(
        "{} on {} {width}x{height} {figures} solo={solo} as {}",
        ruleset.name(),
        map.name(),
        game_type(&plan.rules)
    );
    assert_eq!(have, want);
}

#[test]
fn rules_are_read() {
    check_rules(json!({}), "standard on standard 11x11 15/1/14/25 solo=false as Standard");
    check_rules(json!({"snakes": [A]}), "standard on standard 11x11 15/1/14/25 solo=true as Standard");
    check_rules(
        json!({"snakes": [A], "board": "7x7", "game_type": "Solo"}),
        "solo on standard 7x7 15/1/14/25 solo=true as Solo",
    );
    check_rules(
        json!({"board": "19x19", "map": "royale"}),
        "standard on royale 19x19 15/1/14/25 solo=false as Standard",
    );
    check_rules(json!({"game_type": "royale"}), "royale on standard 11x11 15/1/14/25 solo=false as Royale");
    check_rules(json!({"game_type": "snail"}), "standard on snail_mode 11x11 15/1/14/25 solo=false as Snail Mode");
    check_rules(
        json!({"game_type": "Snail Mode", "map": "snail-mode"}),
        "standard on snail_mode 11x11 15/1/14/25 solo=false as Snail Mode",
    );
    for name in ["snailmode", "SnailMode"] {
        check_rules(json!({ "game_type": name }), "standard on snail_mode 11x11 15/1/14/25 solo=false as Snail Mode");
    }
    check_rules(json!({"game_type": "WRAPPED"}), "wrapped on standard 11x11 15/1/14/25 solo=false as Wrapped");
    check_rules(
        json!({"game_type": "constrictor"}),
        "constrictor on standard 11x11 0/0/14/25 solo=false as Constrictor",
    );
    check_rules(
        json!({"game_type": "wrapped_constrictor", "map": "empty", "settings": {"minimumFood": 2}}),
        "wrapped_constrictor on empty 11x11 0/2/14/25 solo=false as Wrapped Constrictor",
    );
    check_rules(
        json!({"settings": {"foodSpawnChance": 100, "minimumFood": 0, "hazardDamagePerTurn": -100, "shrinkEveryNTurns": 1}}),
        "standard on standard 11x11 100/0/-100/1 solo=false as Standard",
    );
}

#[test]
fn bad_values_are_named() {
    check_refused(json!({"snakes": []}), "bad_value /snakes");
    check_refused(json!({"snakes": vec![A; 17]}), "bad_value /snakes");
    check_refused(json!({"snakes": [A, "b"]}), "bad_value /snakes/1");
    check_refused(json!({"snakes": [A, B], "game_type": "solo"}), "bad_value /game_type");
    for board in ["", "11", "x", "11x", "11X11", "011x11", "+11x11", "11x11x11", "300x300", "-1x-1", "11 x 11"] {
        check_refused(json!({ "board": board }), "bad_value /board");
    }
    check_refused(json!({"board": "11x8"}), "unplayable ");
    check_refused(json!({"board": "0x0"}), "unplayable ");
    check_refused(json!({"board": "255x255"}), "unplayable ");
    check_refused(json!({"game_type": "squad"}), "bad_value /game_type");
    check_refused(json!({"game_type": ""}), "bad_value /game_type");
    check_refused(json!({"map": "atlantis"}), "bad_value /map");
    check_refused(json!({"map": "standard", "game_type": "snail"}), "bad_value /map");
    check_refused(json!({"settings": {"foodSpawnChance": 101}}), "bad_value /settings/foodSpawnChance");
    check_refused(json!({"settings": {"minimumFood": -1}}), "bad_value /settings/minimumFood");
    check_refused(json!({"settings": {"hazardDamagePerTurn": 101}}), "bad_value /settings/hazardDamagePerTurn");
    check_refused(json!({"settings": {"shrinkEveryNTurns": -1}}), "bad_value /settings/shrinkEveryNTurns");
    check_refused(json!({"settings": {"shrinkEveryNTurns": i64::MAX}}), "bad_value /settings/shrinkEveryNTurns");
}

#[test]
fn maps_have_boards_numbers_of_snakes_and_settings_of_their_own() {
    let of = |map: &str, figures: &str| format!("standard on {map} {figures} solo=false as Standard");
    for map in Map::ALL.into_iter().filter(|map| map.sizes().contain(11, 11) && map.snakes_max() > 1) {
        let name = map.name();
        let game_type = if map == Map::SnailMode { "Snail Mode" } else { "Standard" };
        check_rules(json!({ "map": name }), &format!("standard on {name} 11x11 15/1/14/25 solo=false as {game_type}"));
    }
    check_rules(json!({"map": "arcade_maze", "board": "19x21"}), &of("arcade_maze", "19x21 15/1/14/25"));
    check_rules(json!({"map": "HZ Rings", "board": "25x25"}), &of("hz_rings", "25x25 15/1/14/25"));
    check_rules(json!({"board": "11x7"}), &of("standard", "11x7 15/1/14/25"));
    let never = json!({"shrinkEveryNTurns": 0, "hazardDamagePerTurn": -20});
    check_rules(json!({"map": "healing_pools", "settings": never}), &of("healing_pools", "11x11 15/1/-20/0"));
    check_rules(
        json!({"map": "solo_maze", "board": "19x21", "snakes": [A]}),
        "standard on solo_maze 19x21 15/1/14/25 solo=true as Standard",
    );
    for refused in [
        json!({"map": "arcade_maze"}),
        json!({"map": "arcade_maze", "board": "21x19"}),
        json!({"map": "solo_maze"}),
        json!({"map": "hz_islands_bridges", "snakes": vec![A; 5]}),
        json!({"map": "hz_hazard_pits", "settings": {"shrinkEveryNTurns": 0}}),
        json!({"map": "royale", "settings": {"shrinkEveryNTurns": 0}}),
        json!({"game_type": "royale", "settings": {"shrinkEveryNTurns": 0}}),
        json!({"map": "hz_spiral", "board": "11x9"}),
    ] {
        check_refused(refused, "unplayable ");
    }
}

#[test]
fn what_answers_call_a_game_type_may_be_asked_for() {
    for (ruleset, map) in
        Ruleset::ALL.map(|ruleset| (ruleset, Map::Standard)).into_iter().chain([(Ruleset::Standard, Map::SnailMode)])
    {
        let named = game_type(&Rules { ruleset, map, ..Rules::default() });
        let plan = plan_of(json!({"snakes": [A], "game_type": named})).expect("a plan");
        assert_eq!((plan.rules.ruleset, plan.rules.map), (ruleset, map), "{named}");
    }
}

#[track_caller]
fn check_seed(wanted: &Value, want: Option<u64>) {
    let seed = plan_of(json!({ "seed": wanted })).map(|plan| plan.seed.map(|seed| seed.0));
    assert_eq!(seed.ok().flatten(), want, "{wanted}");
}

#[test]
fn seeds_are_whole_numbers_or_digits() {
    check_seed(&json!(0), Some(0));
    check_seed(&json!(JSON_NUMBER_MAX), Some(JSON_NUMBER_MAX));
    check_seed(&json!(JSON_NUMBER_MAX + 1), None);
    check_seed(&json!("18446744073709551615"), Some(u64::MAX));
    check_seed(&json!("18446744073709551616"), None);
    check_seed(&json!(-1), None);
    check_seed(&json!(1.5), None);
    check_seed(&json!(""), None);
    check_seed(&json!("+1"), None);
    check_seed(&json!("0x1"), None);
}

#[track_caller]
fn check_timeout(wanted: &Value, want: Option<u16>) {
    assert_eq!(plan_of(json!({ "timeout_ms": wanted })).ok().map(|plan| plan.timeout_ms), want, "{wanted}");
}

#[test]
fn timeouts_keep_to_the_limits() {
    check_timeout(&Value::Null, Some(500));
    check_timeout(&json!(10), Some(10));
    check_timeout(&json!(10_000), Some(10_000));
    check_timeout(&json!(9), None);
    check_timeout(&json!(10_001), None);
    check_timeout(&json!(-1), None);
    check_timeout(&json!(i64::MAX), None);
}

fn bot(id: u128, account: u128, is_public: bool) -> (BotId, OwnedBot) {
    let (id, account) = (BotId(id), AccountId(account));
    let (name, url) = (format!("bot {id}"), "http://example.com".to_owned());
    let bot = Bot { id, account, name, url, is_public, created_at: UnixMs(0), updated_at: UnixMs(0) };
    (id, OwnedBot { bot, owner: format!("owner {}", account.0) })
}

#[track_caller]
fn check_seats(known: &[(BotId, OwnedBot)], want: Result<&[u128], &str>) {
    let plan = plan_of(json!({"snakes": [A, B, A], "seed": 7})).expect("a plan");
    let given = AssignedParams { id: MatchId(1), seed: Seed(8), turns_max: 50 };
    let spec = seat_bots(&plan, &known.iter().cloned().collect(), AccountId(1), &given);
    let have = spec.map(|spec| {
        assert_eq!((spec.seed, spec.turns_max), (Seed(7), 50));
        spec.seats.iter().map(|seat| seat.bot.0).collect::<Vec<_>>()
    });
    let have = have.as_deref().map_err(|error| error.to_problem().field.unwrap_or_default());
    assert_eq!(have, want.map_err(str::to_owned));
}

#[test]
fn own_and_public_bots_are_seated_others_are_unknown() {
    check_seats(&[bot(10, 1, false), bot(11, 1, true)], Ok(&[10, 11, 10]));
    check_seats(&[bot(10, 1, false), bot(11, 2, true)], Ok(&[10, 11, 10]));
    check_seats(&[bot(10, 1, false), bot(11, 2, false)], Err("/snakes/1"));
    check_seats(&[bot(11, 1, false)], Err("/snakes/0"));
}
