//! Tournaments as their users meet them: what may be asked for, who may do what, and what is said when it cannot be done.

use crate::test_server::{ANN, ANNS, BOB, BOBS_PRIVATE, BOBS_PUBLIC, OTHER_OPERATOR, TestServer};
use engine::commands::{BotCommand, Command, MatchAppend, Outcome};
use engine::health::{BotHealth, HealthStatus};
use engine::ids::{BotId, MatchId};
use engine::matches::archive;
use engine::matches::entry::{Entry, Face};
use engine::matches::result::MatchResult;
use engine::rows::{Bot, BotHealthRow, MatchLogRow};
use engine::time::UnixMs;
use rules::snake::{Cause, RULES_VERSION};
use serde_json::{Value, json};
use std::time::Duration;
use wire::time::Timestamp;

const LATER: &str = "2999-01-01T00:00:00Z";

/// A tournament of Ann's; its path.
async fn create(server: &TestServer, wanted: &Value) -> String {
    let created = server.call("POST /api/tournaments").json(wanted).check("201").await;
    let path = format!("/api/tournaments/{}", created.body["id"].as_str().unwrap());
    assert_eq!(created.headers["location"], path);
    path
}

async fn get(server: &TestServer, path: &str) -> Value {
    server.call(&format!("GET {path}")).check("200").await.body
}

/// A bot of Ann's of its own program.
async fn add_bot(server: &TestServer, number: u16) -> BotId {
    let id = BotId(0x100 + u128::from(number));
    let bot = Bot {
        id,
        account: ANN,
        name: format!("bot {number}"),
        url: format!("http://127.0.0.1:4100/hungry/seed-{number}"),
        is_public: false,
        created_at: UnixMs(0),
        updated_at: UnixMs(0),
    };
    assert_eq!(server.commit(Command::CreateBot(bot)).await, Outcome::Done);
    id
}

async fn enter(server: &TestServer, path: &str, by: &str, bot: BotId, want: &str) -> Value {
    let entry = json!({ "snake_id": bot.to_string() });
    server.call(&format!("POST {path}/entries")).by(by).json(&entry).check(want).await.body
}

/// A tournament with these many bots of Ann's.
async fn with_field(server: &TestServer, wanted: &Value, bots: u16) -> (String, Vec<BotId>) {
    let path = create(server, wanted).await;
    let mut ids = Vec::new();
    for number in 0..bots {
        let bot = add_bot(server, number).await;
        assert_eq!(enter(server, &path, "player", bot, "201").await["number"], number);
        ids.push(bot);
    }
    (path, ids)
}

#[tokio::test]
async fn what_may_be_asked_for() {
    let server = TestServer::open().await;
    let check = async |wanted: Value, want: &str| {
        server.call("POST /api/tournaments").json(&wanted).check(want).await;
    };
    let with = |more: Value| {
        let mut wanted = json!({"name": "cup"});
        wanted.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        wanted
    };
    check(json!({}), "422 bad_shape").await;
    check(json!({"name": ""}), "400 bad_value /name").await;
    check(with(json!({"nane": 1})), "422 bad_shape").await;
    for format in ["single_elimination", "double_elimination", "swiss", "round_robin", "groups", "heats"] {
        check(with(json!({"format": {"type": format}})), "201").await;
    }
    check(with(json!({"format": {"type": "ladder"}})), "400 bad_value /format/type").await;
    check(with(json!({"format": {"type": "swiss", "groups": 2}})), "400 bad_value /format/groups").await;
    check(with(json!({"format": {"type": "swiss", "rounds": 99}})), "400 bad_value /format/rounds").await;
    check(with(json!({"format": {"type": "heats", "size": 4, "advance": 3}})), "400 bad_value /format/advance").await;
    check(with(json!({"best_of": 2})), "400 bad_value /best_of").await;
    check(with(json!({"best_of": -1})), "400 bad_value /best_of").await;
    check(with(json!({"replays_max": 9})), "400 bad_value /replays_max").await;
    check(with(json!({"tie_breaks": ["food"]})), "400 bad_value /tie_breaks").await;
    check(with(json!({"tie_breaks": ["luck"]})), "400 bad_value /tie_breaks/0").await;
    check(with(json!({"game_deadline_s": 5})), "400 bad_value /game_deadline_s").await;
    check(with(json!({"games_at_once": 1_000})), "400 bad_value /games_at_once").await;
    check(with(json!({"entrants_max": 1_025})), "400 bad_value /entrants_max").await;
    check(with(json!({"entrants_min": 1})), "400 bad_value /entrants_min").await;
    check(with(json!({"seeding": "strength"})), "400 bad_value /seeding").await;
    check(with(json!({"seeding": "ladder"})), "400 bad_value /ladder_id").await;
    let nowhere = "0190b5a4-7c1e-7000-8000-000000000001";
    check(with(json!({"seeding": "ladder", "ladder_id": nowhere})), "400 bad_value /ladder_id").await;
    check(with(json!({"seeding": "manual", "ladder_id": nowhere})), "400 bad_value /ladder_id").await;
    check(with(json!({"entry": "all"})), "400 bad_value /entry").await;
    check(with(json!({"starts_at": "tomorrow"})), "400 bad_value /starts_at").await;
    check(with(json!({"starts_at": "2001-01-01T00:00:00Z"})), "400 bad_value /starts_at").await;
    check(with(json!({"starts_at": LATER})), "400 bad_value /starts_at").await;
    check(with(json!({"game": {"board": "100x100"}})), "400 unplayable").await;
    check(with(json!({"game": {"map": "moon"}})), "400 bad_value /game/map").await;
    check(with(json!({"game": []})), "422 bad_shape").await;
    check(with(json!({"seed": 7})), "400 bad_value /seed").await;
    let by_operator = server.call("POST /api/tournaments").by("operator").json(&with(json!({"seed": 7})));
    assert_eq!(
        by_operator.check("201").await.body["rules"]["seed"],
        Value::Null,
        "it is no more shown than a drawn one"
    );
    let created =
        server.call("POST /api/tournaments").json(&with(json!({"game": {"game_type": "Wrapped"}}))).check("201");
    let rules = &created.await.body["rules"];
    assert_eq!((&rules["best_of"], &rules["tie_breaks"]), (&json!(1), &json!(["food", "seed"])));
    assert_eq!(rules["seed"], Value::Null, "games cannot be played before they are played");
}

#[tokio::test]
async fn an_account_has_so_many_at_once() {
    let server = TestServer::open().await;
    let mut last = String::new();
    for _ in 0..engine::limits::TOURNAMENTS_PER_ACCOUNT_MAX {
        last = create(&server, &json!({"name": "cup"})).await;
    }
    server.call("POST /api/tournaments").json(&json!({"name": "cup"})).check("409 too_many").await;
    server.call("POST /api/tournaments").by("bob").json(&json!({"name": "cup"})).check("201").await;
    server.call(&format!("POST {last}/cancel")).check("200").await;
    create(&server, &json!({"name": "cup"})).await;
}

#[tokio::test]
async fn roles() {
    let server = TestServer::open().await;
    let path = create(&server, &json!({"name": "cup"})).await;
    let call = |line: &str, by: &str| server.call(line).by(by);
    call("POST /api/tournaments", "").json(&json!({"name": "cup"})).check("401 token_missing").await;
    call("POST /api/tournaments", "guest").json(&json!({"name": "cup"})).check("403 role_too_weak").await;
    call("GET /api/tournaments", "").check("200").await;
    call("GET /api/tournaments?own=true", "").check("401 token_missing").await;
    call("GET /api/tournaments?own=yes", "player").check("400 bad_value").await;
    call(&format!("GET {path}"), "").check("200").await;
    for action in ["start", "cancel"] {
        call(&format!("POST {path}/{action}"), "").check("401 token_missing").await;
        call(&format!("POST {path}/{action}"), "bob").check("403 not_organizer").await;
    }
    let bob = json!({"account_id": BOB.to_string()});
    call(&format!("POST {path}/invitations"), "bob").json(&bob).check("403 not_organizer").await;
    call(&format!("PUT {path}/seeds"), "bob").json(&json!({"snakes": []})).check("403 not_organizer").await;
    enter(&server, &path, "bob", ANNS, "400 unknown_snake").await;
    enter(&server, &path, "player", BOBS_PRIVATE, "400 unknown_snake").await;
    // An operator acts for everyone.
    call(&format!("POST {path}/cancel"), OTHER_OPERATOR).check("200").await;
    let nowhere = "/api/tournaments/0190b5a4-7c1e-7000-8000-000000000001";
    call(&format!("GET {nowhere}"), "").check("404 no_such_tournament").await;
    call(&format!("POST {nowhere}/start"), "player").check("404 no_such_tournament").await;
    call("GET /api/tournaments/cup", "").check("400 bad_id").await;
}

#[tokio::test]
async fn an_operator_enters_own_snakes_and_public_ones() {
    let server = TestServer::open().await;
    let (path, _) = with_field(&server, &json!({"name": "cup"}), 1).await;
    let private = json!({"name": "own", "url": "http://127.0.0.1:4100/own", "is_public": false});
    let own = server.call("POST /api/snakes").by(OTHER_OPERATOR).json(&private).check("201").await.body;
    enter(&server, &path, OTHER_OPERATOR, own["id"].as_str().unwrap().parse().unwrap(), "201").await;
    enter(&server, &path, OTHER_OPERATOR, BOBS_PUBLIC, "201").await;
    enter(&server, &path, OTHER_OPERATOR, BOBS_PRIVATE, "400 unknown_snake").await;
    let started = server.call(&format!("POST {path}/start")).by(OTHER_OPERATOR).check("200").await.body;
    let withdrawn: Vec<_> =
        started["entrants"].as_array().unwrap().iter().map(|entrant| &entrant["withdrawn"]).collect();
    assert_eq!(withdrawn, [&Value::Null; 3], "a private snake that its own owner entered plays");
}

#[tokio::test]
async fn a_private_one_exists_for_those_who_are_in_it() {
    let server = TestServer::open().await;
    let path = create(&server, &json!({"name": "cup", "is_public": false, "entry": "invited"})).await;
    let listed = async |line: &str, by: &str| {
        let list = server.call(line).by(by).check("200").await.body;
        list.as_array().unwrap().len()
    };
    assert_eq!(listed("GET /api/tournaments", "player").await, 0);
    assert_eq!(listed("GET /api/tournaments?own=true", "player").await, 1);
    for by in ["", "bob"] {
        server.call(&format!("GET {path}")).by(by).check("404 no_such_tournament").await;
        server.call(&format!("GET {path}/feed")).by(by).check("404 no_such_tournament").await;
    }
    server.call(&format!("GET {path}")).by(OTHER_OPERATOR).check("200").await;
    enter(&server, &path, "bob", BOBS_PRIVATE, "404 no_such_tournament").await;
    let invitation = json!({"account_id": BOB.to_string()});
    for _ in 0..2 {
        server.call(&format!("POST {path}/invitations")).json(&invitation).check("204").await;
    }
    let unknown = json!({"account_id": "0190b5a4-7c1e-7000-8000-000000000001"});
    server.call(&format!("POST {path}/invitations")).json(&unknown).check("404 no_such_account").await;
    server.call(&format!("GET {path}")).by("bob").check("200").await;
    enter(&server, &path, "bob", BOBS_PRIVATE, "201").await;
    let public = create(&server, &json!({"name": "cup", "entry": "invited"})).await;
    enter(&server, &public, "bob", BOBS_PUBLIC, "403 not_invited").await;
}

#[tokio::test]
async fn entries_and_withdrawals() {
    let server = TestServer::open().await;
    let (path, bots) = with_field(&server, &json!({"name": "cup", "entrants_max": 3}), 2).await;
    // Again is the same entry; one program enters once.
    assert_eq!(enter(&server, &path, "player", bots[1], "201").await["number"], 1);
    enter(&server, &path, "bob", BOBS_PUBLIC, "201").await;
    enter(&server, &path, "player", ANNS, "409 duplicate_url").await;
    let fourth = add_bot(&server, 4).await;
    enter(&server, &path, "player", fourth, "409 tournament_full").await;
    enter(&server, &path, "bob", BOBS_PRIVATE, "409 duplicate_url").await;
    let leave = async |bot: BotId, by: &str, want: &str| {
        server.call(&format!("DELETE {path}/entries/{bot}")).by(by).check(want).await;
    };
    leave(bots[0], "bob", "404 no_such_snake").await;
    leave(bots[0], "player", "204").await;
    leave(bots[0], "player", "404 no_such_snake").await;
    leave(BOBS_PUBLIC, "player", "204").await;
    let shown = get(&server, &path).await;
    let reasons: Vec<_> = shown["entrants"].as_array().unwrap().iter().map(|entrant| &entrant["withdrawn"]).collect();
    assert_eq!(reasons, [&json!("owner"), &Value::Null, &json!("organizer")]);
    assert_eq!((&shown["status"], &shown["seq"]), (&json!("scheduled"), &json!(5)));
}

#[tokio::test]
async fn started_once_with_enough_bots_and_called_off_once() {
    let server = TestServer::open().await;
    let (path, _) = with_field(&server, &json!({"name": "cup"}), 1).await;
    server.call(&format!("POST {path}/start")).check("409 too_few_entrants").await;
    let second = add_bot(&server, 1).await;
    enter(&server, &path, "player", second, "201").await;
    let started = server.call(&format!("POST {path}/start")).check("200").await.body;
    assert_eq!((&started["status"], &started["pairings"][0]["status"]), (&json!("running"), &json!("ready")));
    server.call(&format!("POST {path}/start")).check("409 already_started").await;
    let third = add_bot(&server, 2).await;
    enter(&server, &path, "player", third, "409 entries_closed").await;
    let cancelled = server.call(&format!("POST {path}/cancel")).check("200").await.body;
    assert_eq!((&cancelled["status"], &cancelled["cancel_reason"]), (&json!("cancelled"), &json!("organizer")));
    server.call(&format!("POST {path}/cancel")).check("409 tournament_ended").await;
    server.call(&format!("POST {path}/start")).check("409 tournament_ended").await;
}

#[tokio::test]
async fn seeded_by_hand() {
    let server = TestServer::open().await;
    let (path, bots) = with_field(&server, &json!({"name": "cup", "seeding": "manual"}), 4).await;
    let set = async |snakes: Vec<BotId>, want: &str| {
        let names: Vec<_> = snakes.iter().map(BotId::to_string).collect();
        server.call(&format!("PUT {path}/seeds")).json(&json!({ "snakes": names })).check(want).await;
    };
    set(vec![bots[0], bots[0]], "422 invalid_seeds").await;
    set(vec![ANNS], "422 invalid_seeds").await;
    set(vec![bots[3], bots[2]], "200").await;
    let started = server.call(&format!("POST {path}/start")).check("200").await.body;
    let seeds: Vec<_> = started["entrants"].as_array().unwrap().iter().map(|entrant| &entrant["seed"]).collect();
    assert_eq!(seeds, [&json!(3), &json!(4), &json!(2), &json!(1)]);
    let other = create(&server, &json!({"name": "cup"})).await;
    server.call(&format!("PUT {other}/seeds")).json(&json!({"snakes": []})).check("409 not_seeded_by_hand").await;
}

/// Waits until something happens in a tournament after it was seen like this.
async fn next_event(server: &TestServer, seen: &Value) {
    let (id, seq) = (seen["id"].as_str().unwrap().parse().unwrap(), seen["seq"].as_u64().unwrap() as u32);
    server.app.tournaments.subscribe(id, seq).wait_for(|version| *version > seq).await.unwrap();
}

/// The games that the tournament waits for, once there are so many.
async fn open_games(server: &TestServer, path: &str, count: usize) -> Vec<MatchId> {
    loop {
        let shown = get(server, path).await;
        let pairings = shown["pairings"].as_array().unwrap();
        let games = pairings.iter().flat_map(|pairing| pairing["games"].as_array().unwrap());
        let open = games.filter(|game| game["status"] == "queued" || game["status"] == "running");
        let open: Vec<MatchId> = open.map(|game| game["id"].as_str().unwrap().parse().unwrap()).collect();
        if open.len() == count {
            return open;
        }
        next_event(server, &shown).await;
    }
}

/// Ends a claimed match; the first seat wins.
async fn finish(server: &TestServer, id: MatchId) {
    let now = server.app.node.clock.now();
    let rows = vec![MatchLogRow {
        version: 0,
        turns: 0,
        late_moves: 0,
        bytes: Entry::Opened { rules_version: RULES_VERSION, faces: vec![Face::default(); 2] }.encode(),
    }];
    let archive = archive::pack(&rows);
    let append = MatchAppend { id, epoch: 1, rows, expected_version: 0, started_at: Some(now) };
    let result = MatchResult {
        winner: Some(0),
        is_draw: false,
        placements: vec![1, 2],
        causes: vec![None, Some(Cause::HeadCollision)],
        death_turns: vec![None, Some(1)],
        turns: 0,
        late_moves: 0,
        food_eaten: vec![0, 0],
        is_server_fault: false,
        silent_seats: Vec::new(),
    };
    assert_eq!(server.commit(Command::FinishMatch { append, result, archive, now }).await, Outcome::Done);
}

/// A tournament of four, running, whose two games are claimed.
async fn running(server: &TestServer) -> (String, Vec<BotId>, Vec<MatchId>) {
    tokio::spawn(server::owners::run_arena(server.app.clone()));
    let (path, bots) = with_field(server, &json!({"name": "cup", "seeding": "manual"}), 4).await;
    server.call(&format!("POST {path}/start")).check("200").await;
    let open = open_games(server, &path, 2).await;
    assert_eq!(server.claim().await.len(), 2);
    (path, bots, open)
}

async fn finished(server: &TestServer, path: &str) -> Value {
    loop {
        let shown = get(server, path).await;
        if shown["status"] == "finished" {
            return shown;
        }
        next_event(server, &shown).await;
    }
}

#[tokio::test]
async fn results_move_it_on() {
    let server = TestServer::open().await;
    let (path, _, games) = running(&server).await;
    for game in games {
        finish(&server, game).await;
    }
    let last = open_games(&server, &path, 1).await;
    assert_eq!(server.claim().await, last);
    finish(&server, last[0]).await;
    let shown = finished(&server, &path).await;
    assert!(shown["champion"].is_number() && shown["rules"]["seed"].is_string(), "{shown}");
    let places: Vec<_> = shown["standings"].as_array().unwrap().iter().map(|line| &line["place"]).collect();
    assert_eq!(places, [&json!(1), &json!(2), &json!(3), &json!(3)]);
    let details = server.call(&format!("GET /api/games/{}/details", last[0])).check("200").await.body;
    assert_eq!(details["status"], "finished");
}

/// Whether the match ends cancelled, although no caller called it off by itself.
async fn wait_until_cancelled(server: &TestServer, id: MatchId) {
    loop {
        let details = server.call(&format!("GET /api/games/{id}/details")).check("200").await.body;
        if details["status"] == "cancelled" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn who_leaves_in_the_middle_loses_and_its_game_is_called_off() {
    let server = TestServer::open().await;
    let (path, bots, games) = running(&server).await;
    server.call(&format!("DELETE {path}/entries/{}", bots[3])).check("204").await;
    wait_until_cancelled(&server, games[0]).await;
    let shown = get(&server, &path).await;
    assert_eq!(
        (&shown["pairings"][0]["decision"], &shown["pairings"][0]["winner"]),
        (&json!("walkover"), &json!(0)),
        "{shown}"
    );
}

#[tokio::test]
async fn a_bot_that_is_deleted_while_it_plays_leaves_at_once() {
    let server = TestServer::open().await;
    let (path, bots, games) = running(&server).await;
    // The bot in the first seat wins: 0, and then 2.
    for game in games {
        finish(&server, game).await;
    }
    let last = open_games(&server, &path, 1).await;
    // The game that is under way is called off.
    server.call(&format!("DELETE /api/snakes/{}", bots[0])).check("204").await;
    let shown = finished(&server, &path).await;
    let status = server.call(&format!("GET /api/games/{}/summary", last[0])).check("200").await.body["status"].clone();
    assert_eq!(status, "cancelled");
    assert_eq!(shown["entrants"][0]["withdrawn"], "bot_deleted");
    assert_eq!(shown["pairings"][2]["decision"], "walkover");
    assert_eq!(shown["champion"], 2, "{shown}");
}

#[tokio::test]
async fn a_paused_bot_is_shown_as_absent_and_may_be_withdrawn() {
    let server = TestServer::open().await;
    tokio::spawn(server::owners::run_arena(server.app.clone()));
    let (path, bots) = with_field(&server, &json!({"name": "cup", "seeding": "manual"}), 2).await;
    let health = BotHealth { status: HealthStatus::Paused, ..BotHealth::default() };
    let row = BotHealthRow { bot: bots[1], version: 0, health };
    assert_eq!(server.commit(Command::Bot(BotCommand::SaveHealth(row))).await, Outcome::Done);
    server.call(&format!("POST {path}/start")).check("200").await;
    let feed = server.call(&format!("GET {path}/feed?after=3&wait=30s")).check("200").await.body;
    assert_eq!(
        (&feed["events"][0]["type"], &feed["events"][0]["snake_id"]),
        (&json!("absent"), &json!(bots[1].to_string()))
    );
    let shown = get(&server, &path).await;
    assert_eq!(shown["entrants"][1]["absent_since"], feed["events"][0]["at"]);
    assert_eq!((&shown["pairings"][0]["status"], &shown["games_created"]), (&json!("ready"), &json!(0)));
    // Who will not wait withdraws it.
    server.call(&format!("DELETE {path}/entries/{}", bots[1])).check("204").await;
    let shown = finished(&server, &path).await;
    assert_eq!((&shown["champion"], &shown["pairings"][0]["decision"]), (&json!(0), &json!("walkover")));
    assert_eq!(shown["entrants"][1]["absent_since"], Value::Null);
}

#[tokio::test]
async fn cancelling_calls_its_games_off() {
    let server = TestServer::open().await;
    let (path, _, games) = running(&server).await;
    server.call(&format!("POST {path}/cancel")).check("200").await;
    for game in games {
        wait_until_cancelled(&server, game).await;
    }
    let shown = get(&server, &path).await;
    assert_eq!((&shown["status"], &shown["games_created"]), (&json!("cancelled"), &json!(2)));
}

#[tokio::test]
async fn its_feed_by_polls() {
    let server = TestServer::open().await;
    let (path, _) = with_field(&server, &json!({"name": "cup"}), 2).await;
    let feed = async |query: &str| server.call(&format!("GET {path}/feed{query}")).by("").check("200").await.body;
    let all = feed("").await;
    let kinds: Vec<_> = all["events"].as_array().unwrap().iter().map(|event| &event["type"]).collect();
    assert_eq!((kinds, &all["seq"]), (vec![&json!("entered"); 2], &json!(2)));
    assert_eq!(feed("?after=1").await["events"].as_array().unwrap().len(), 1);
    assert_eq!(feed("?after=2").await, json!({"seq": 2, "timed_out": true, "is_over": false, "events": []}));
    server.call(&format!("GET {path}/feed?after=3")).check("400 bad_value").await;
    server.call(&format!("GET {path}/feed?after=2&wait=11m")).check("400 bad_value").await;
    // A poll that waits is answered by what happens next.
    let next = async {
        let waiting = feed("?after=2&wait=5s");
        let start = async { server.call(&format!("POST {path}/start")).check("200").await };
        tokio::join!(waiting, start).0
    };
    assert_eq!(next.await["events"][0]["type"], "started");
}

/// What everyone who follows it learns of its end: `status`, and the number of the champion.
async fn check_end(server: &TestServer, path: &str, status: &str, champion: Value) {
    let shown = get(server, path).await;
    let last = shown["seq"].as_u64().unwrap();
    let page = server.call(&format!("GET {path}/feed?after={}&wait=10m", last - 2)).by("").check("200").await.body;
    assert_eq!([&page["is_over"], &page["timed_out"], &page["seq"]], [&json!(true), &json!(false), &json!(last)]);
    let events = page["events"].as_array().unwrap();
    assert_eq!(events.len(), 2, "the last entry of the log, and the end");
    let name = champion.as_u64().map(|number| shown["entrants"][number as usize]["snake_name"].clone());
    let end = json!({"status": status, "champion": champion, "champion_name": name, "standings_path": path});
    assert_eq!([&events[1]["type"], &events[1]["end"], &events[1]["seq"]], [&json!("ended"), &end, &json!(last)]);
    // Who has that does not wait for more, and does not connect again.
    let again = server.call(&format!("GET {path}/feed?after={last}&wait=10m")).by("").check("200").await.body;
    assert_eq!(again, json!({"seq": last, "timed_out": false, "is_over": true, "events": []}));
    let stream = server.call(&format!("GET {path}/feed")).by("").header("Accept", "text/event-stream");
    stream.header("Last-Event-ID", &last.to_string()).check("204").await;
    server.call(&format!("GET {path}/feed?after={}", last + 1)).check("400 bad_value").await;
}

#[tokio::test]
async fn its_feed_says_who_has_won() {
    let server = TestServer::open().await;
    let (path, _, games) = running(&server).await;
    for game in games {
        finish(&server, game).await;
    }
    let last = open_games(&server, &path, 1).await;
    server.claim().await;
    // One who waits is told by the same answer that tells of the last game.
    let seq = get(&server, &path).await["seq"].as_u64().unwrap();
    let waiting = server.call(&format!("GET {path}/feed?after={seq}&wait=5m")).by("").check("200");
    let (told, ()) = tokio::join!(waiting, finish(&server, last[0]));
    let kinds: Vec<_> = told.body["events"].as_array().unwrap().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(
        (kinds, &told.body["is_over"]),
        (["game_started", "game_played", "ended"].map(|kind| json!(kind)).to_vec(), &json!(true))
    );
    let champion = finished(&server, &path).await["champion"].clone();
    check_end(&server, &path, "finished", champion).await;
}

#[tokio::test]
async fn its_feed_says_that_it_was_called_off() {
    let server = TestServer::open().await;
    let (path, _) = with_field(&server, &json!({"name": "cup"}), 2).await;
    server.call(&format!("POST {path}/cancel")).check("200").await;
    check_end(&server, &path, "cancelled", Value::Null).await;
}

#[tokio::test]
async fn pages_of_tournaments() {
    let server = TestServer::open().await;
    let mut paths = Vec::new();
    for number in 0..3 {
        paths.push(create(&server, &json!({"name": format!("cup {number}")})).await);
    }
    // Those of one millisecond are in the order of their random parts.
    paths.sort_unstable_by(|path, other| other.cmp(path));
    let first = server.call("GET /api/tournaments?limit=2").by("").check("200").await;
    let listed = |reply: &Value| -> Vec<String> {
        let path = |row: &Value| format!("/api/tournaments/{}", row["id"].as_str().unwrap());
        reply.as_array().unwrap().iter().map(path).collect()
    };
    assert_eq!(listed(&first.body), paths[..2]);
    let link = first.headers["link"].to_str().unwrap().to_owned();
    let next = link.trim_start_matches('<').split('>').next().unwrap();
    assert_eq!(listed(&server.call(&format!("GET {next}")).by("").check("200").await.body), paths[2..]);
}

#[tokio::test]
async fn what_is_to_come_is_counted_for_operators() {
    let server = TestServer::open().await;
    let tomorrow = Timestamp(server.app.node.clock.now().0 + 86_400_000);
    create(&server, &json!({"name": "cup", "starts_at": tomorrow})).await;
    let mut health = BotHealth::default();
    health.watch(server.app.node.clock.now(), UnixMs(i64::MAX));
    let save = BotCommand::SaveHealth(BotHealthRow { bot: ANNS, version: 0, health });
    assert_eq!(server.commit(Command::Bot(save)).await, Outcome::Done);
    let stats = server.call("GET /api/admin/stats").by("operator").check("200").await.body;
    assert_eq!(stats["job_queue"], json!({"ready": 0, "running": 0, "scheduled": 2, "total": 2}));
    let jobs = [("run_game", 0), ("advance_competition", 1), ("probe_bot", 1)];
    assert_eq!(stats["jobs_by_name"], json!(jobs.map(|(name, count)| json!({"name": name, "count": count}))));
}
