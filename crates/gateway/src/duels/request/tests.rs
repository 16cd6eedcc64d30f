//! What a creation may ask for.

use super::*;
use engine::time::UnixMs;
use serde_json::{Value, json};
use std::borrow::Borrow;

const OWNER: AccountId = AccountId(1);
const OWN: &str = "00000000-0000-0000-0000-000000000001";
const FOREIGN_PUBLIC: &str = "00000000-0000-0000-0000-000000000002";
const FOREIGN_PRIVATE: &str = "00000000-0000-0000-0000-000000000003";
const OTHER_PUBLIC: &str = "00000000-0000-0000-0000-000000000004";

fn registered(id: &str, account: u128, is_public: bool) -> (BotId, OwnedBot) {
    let id: BotId = id.parse().expect("an id");
    let bot = Bot {
        id,
        account: AccountId(account),
        name: format!("snake {}", id.0),
        url: "http://192.0.2.1/".to_owned(),
        is_public,
        created_at: UnixMs(0),
        updated_at: UnixMs(0),
    };
    (id, OwnedBot { bot, owner: "ann".to_owned() })
}

fn judge(request: Value) -> ApiResult<(DuelDefinition, String)> {
    let wanted: CreateDuel = serde_json::from_value(request).expect("the shape of a creation");
    let known = HashMap::from([
        registered(OWN, 1, false),
        registered(FOREIGN_PUBLIC, 2, true),
        registered(FOREIGN_PRIVATE, 2, false),
        registered(OTHER_PUBLIC, 3, true),
    ]);
    let chosen = parse_bots(&wanted, false)?;
    let bots = (0..chosen.len()).map(|place| BotId(100 + place as u128)).collect();
    let assigned = Assigned { seed: Seed(5), bots, turns_max: 1_000, timeout_ms_default: 500 };
    parse_duel(&wanted, &chosen, &known, OWNER, &assigned)
}

fn two() -> Value {
    json!([{"snake_id": OWN}, {"url": "http://example.com/new", "name": "new"}])
}

#[track_caller]
fn check_refused(request: impl Borrow<Value>, field: &str) {
    let request = request.borrow();
    let error = judge(request.clone()).expect_err(&request.to_string());
    let named = match &error {
        ApiError::BadValue { field, .. } | ApiError::UnknownSnake { field, .. } => field.as_str(),
        ApiError::PrivateAddress { .. } => "private",
        ApiError::Unplayable(_) => "unplayable",
        other => panic!("{other:?}"),
    };
    assert_eq!(named, field, "{request}: {error}");
}

#[test]
fn a_duel_with_defaults() {
    let (definition, name) = judge(json!({"bots": two()})).expect("a good creation");
    assert_eq!(name, "snake 1 against new");
    assert_eq!(definition.test, Some(Sprt::default()));
    assert_eq!((definition.pairs_max, definition.pairs_at_once, definition.settings.timeout_ms), (1_000, 4, 500));
    assert_eq!(definition.bots[1].bot, BotId(101));
    assert!(!definition.is_public);
    assert_eq!([definition.bots[0].is_registered, definition.bots[1].is_registered], [true, false]);
}

#[test]
fn it_is_public_if_all_bots_are_or_its_owner_says_so() {
    let is_public = |request| judge(request).expect("a good creation").0.is_public;
    let public = json!([{"snake_id": FOREIGN_PUBLIC}, {"snake_id": OTHER_PUBLIC}]);
    assert!(is_public(json!({"bots": public})));
    assert!(!is_public(json!({"bots": public, "is_public": false})));
    assert!(is_public(json!({"bots": two(), "is_public": true})));
}

#[test]
fn bounds_move_together() {
    let (definition, _) = judge(json!({"bots": two(), "elo0": -25})).expect("a good creation");
    assert_eq!(definition.test.map(|test| (test.elo0, test.elo1)), Some((-25.0, 25.0)));
}

#[test]
fn a_league_has_no_test() {
    let bots = json!([{"snake_id": OWN}, {"snake_id": FOREIGN_PUBLIC}, {"url": "http://example.com"}]);
    let (definition, _) = judge(json!({"bots": bots})).expect("a good creation");
    assert_eq!((definition.test, definition.pairs_max, definition.bots[2].name.as_str()), (None, 50, "C"));
    check_refused(json!({"bots": bots, "alpha": 0.05}), "/alpha");
    check_refused(json!({"bots": bots, "games_max": 10_000}), "/games_max");
}

#[test]
fn what_cannot_be_played_is_refused() {
    check_refused(json!({"bots": []}), "/bots");
    check_refused(json!({"bots": [{"snake_id": OWN}]}), "/bots");
    check_refused(json!({"bots": vec![json!({"snake_id": OWN}); 9]}), "/bots");
    check_refused(json!({"bots": [{}, {"snake_id": OWN}]}), "/bots/0");
    check_refused(json!({"bots": [{"snake_id": OWN}, {"snake_id": OWN, "url": "http://example.com"}]}), "/bots/1");
    check_refused(json!({"bots": [{"snake_id": "x"}, {"snake_id": OWN}]}), "/bots/0/snake_id");
    check_refused(json!({"bots": [{"snake_id": OWN}, {"snake_id": FOREIGN_PRIVATE}]}), "/bots/1/snake_id");
    check_refused(json!({"bots": [{"snake_id": OWN}, {"url": "ftp://example.com"}]}), "/bots/1/url");
    check_refused(json!({"bots": [{"snake_id": OWN}, {"url": "http://127.0.0.1/"}]}), "private");
    check_refused(json!({"bots": [{"snake_id": OWN}, {"url": "http://example.com", "name": "\u{7}"}]}), "/bots/1/name");
    check_refused(json!({"bots": two(), "game_type": "nonsense"}), "/game_type");
    check_refused(json!({"bots": two(), "game_type": "solo"}), "/game_type");
    check_refused(json!({"bots": two(), "board": "3x3"}), "unplayable");
    check_refused(json!({"bots": two(), "timeout_ms": 1}), "/timeout_ms");
    check_refused(json!({"bots": two(), "elo0": 0, "elo1": 5}), "/elo1");
    check_refused(json!({"bots": two(), "elo0": 0, "elo1": 5_000}), "/elo1");
    check_refused(json!({"bots": two(), "alpha": 0}), "/alpha");
    check_refused(json!({"bots": two(), "beta": 0.9}), "/alpha");
    check_refused(json!({"bots": two(), "games_max": 1}), "/games_max");
    check_refused(json!({"bots": two(), "games_max": 10_001}), "/games_max");
    check_refused(json!({"bots": two(), "games_max": -1}), "/games_max");
    check_refused(json!({"bots": two(), "pairs_at_once": 17}), "/pairs_at_once");
    check_refused(json!({"bots": two(), "name": "  "}), "/name");
}
