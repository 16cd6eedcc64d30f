//! What strangers learn of games: public ones that run or are over, and nothing of the others.

use crate::test_server::{ANNS, BOBS_PRIVATE, BOBS_PUBLIC, BOOTSTRAP, TestServer};
use engine::commands::{BotCommand, Command, Outcome};
use engine::ids::{BotId, MatchId};
use engine::matches::entry::Face;
use serde_json::{Value, json};

/// Creates a game of these snakes by Bob, and puts it into a worker's hands.
async fn running(server: &TestServer, snakes: &[BotId]) -> MatchId {
    let snakes: Vec<String> = snakes.iter().map(ToString::to_string).collect();
    server.call("POST /api/games").by("bob").json(&json!({ "snakes": snakes })).check("201").await;
    server.claim_one().await.spec.id
}

async fn fail(server: &TestServer, id: MatchId) {
    let now = server.app.node.clock.now();
    let fail = Command::FailMatch { id, epoch: 1, reason: "at 10.0.0.7:5432".to_owned(), now };
    assert_eq!(server.commit(fail).await, Outcome::Done);
}

/// The ids of a page, and the URL of the next.
async fn page(server: &TestServer, path: &str) -> (Vec<String>, Option<String>) {
    let reply = server.call(&format!("GET {path}")).by("").check("200").await;
    let ids = reply.body.as_array().unwrap().iter().map(|game| game["id"].as_str().unwrap().to_owned()).collect();
    let link = reply.headers.get("link").map(|link| link.to_str().unwrap());
    (ids, link.map(|link| link[1..link.find('>').unwrap()].to_owned()))
}

/// Follows the links from this page; every page but the last has one game.
async fn check_walk(server: &TestServer, path: &str, want: &[MatchId]) {
    check_walk_of(server, path, "", want).await;
}

/// The same of a list with a filter.
async fn check_walk_of(server: &TestServer, path: &str, filter: &str, want: &[MatchId]) {
    let (mut seen, mut next) = (Vec::new(), Some(format!("{path}?{filter}limit=1")));
    while let Some(path) = next {
        let (ids, link) = page(server, &path).await;
        assert!(ids.len() <= 1, "{path}");
        seen.extend(ids);
        next = link;
    }
    assert_eq!(seen, want.iter().map(ToString::to_string).collect::<Vec<_>>(), "{path}");
}

#[tokio::test]
async fn only_public_games_are_listed() {
    let server = TestServer::open().await;
    let first = running(&server, &[BOBS_PUBLIC]).await;
    let second = running(&server, &[BOBS_PUBLIC, BOBS_PUBLIC]).await;
    let mixed = running(&server, &[BOBS_PUBLIC, BOBS_PRIVATE]).await;
    check_walk(&server, "/api/games/live", &[second, first]).await;
    check_walk(&server, "/api/games/recent", &[]).await;
    for id in [second, mixed, first] {
        fail(&server, id).await;
    }
    check_walk(&server, "/api/games/live", &[]).await;
    let (ended, _) = page(&server, "/api/games/recent").await;
    assert!(ended.len() == 2 && !ended.contains(&mixed.to_string()), "{ended:?}");
    server.call("GET /api/games/recent?after=x").by("").check("400 bad_value").await;
    server.call("GET /api/games/live?after=1_2").by("").check("400 bad_value").await;
}

#[tokio::test]
async fn public_games_are_filtered_by_their_map() {
    let server = TestServer::open().await;
    let rings = json!({ "snakes": [BOBS_PUBLIC.to_string()], "map": "hz_rings" });
    let mut games = Vec::new();
    for _ in 0..2 {
        games.push(running(&server, &[BOBS_PUBLIC]).await);
        server.call("POST /api/games").by("bob").json(&rings).check("201").await;
        games.push(server.claim_one().await.spec.id);
    }
    check_walk_of(&server, "/api/games/live", "map=hz_rings&", &[games[3], games[1]]).await;
    check_walk_of(&server, "/api/games/live", "map=standard&", &[games[2], games[0]]).await;
    for id in &games {
        fail(&server, *id).await;
    }
    let (ended, _) = page(&server, "/api/games/recent?map=hz_rings").await;
    assert!(ended.len() == 2 && [games[1], games[3]].iter().all(|id| ended.contains(&id.to_string())), "{ended:?}");
    check_walk_of(&server, "/api/games/recent", "map=empty&", &[]).await;
    server.call("GET /api/games/recent?map=moon").by("").check("400 bad_value").await;
    server.call("GET /api/games/live?map=").by("").check("400 bad_value").await;
}

/// A list shows how a snake looked in its last match, as soon as that is known.
#[tokio::test]
async fn snakes_of_a_list_have_faces() {
    let server = TestServer::open().await;
    let id = running(&server, &[BOBS_PUBLIC]).await;
    let face = Face { color: "#d1495b".to_owned(), head: "smile".to_owned(), tail: "sharp".to_owned() };
    let save = Command::Bot(BotCommand::SaveFaces(vec![(BOBS_PUBLIC, face)]));
    assert_eq!(server.commit(save).await, Outcome::Done);
    for path in
        [format!("/api/games/{id}/summary"), "/api/games/live".to_owned(), format!("/api/snakes/{BOBS_PUBLIC}/games")]
    {
        let seen = server.call(&format!("GET {path}")).by("").check("200").await.body;
        let game = if seen.is_array() { &seen[0] } else { &seen };
        assert_eq!(game["snakes"][0]["face"]["color"], json!("#d1495b"), "{path}");
    }
}

#[tokio::test]
async fn a_snake_that_is_hidden_later_does_not_hide_its_games() {
    let server = TestServer::open().await;
    let id = running(&server, &[BOBS_PUBLIC]).await;
    let hide = server.call(&format!("PUT /api/snakes/{BOBS_PUBLIC}")).by("bob").json(&json!({"is_public": false}));
    hide.check("200").await;
    check_walk(&server, "/api/games/live", &[id]).await;
}

#[tokio::test]
async fn a_summary_tells_strangers_what_they_may_know() {
    let server = TestServer::open().await;
    let (public, private) = (running(&server, &[BOBS_PUBLIC]).await, running(&server, &[BOBS_PRIVATE]).await);
    fail(&server, public).await;
    let summary = |id: &str, by: &str| server.call(&format!("GET /api/games/{id}/summary")).by(by);
    let seen = summary(&public.to_string(), "").check("200").await.body;
    assert_eq!((&seen["status"], &seen["winner"], &seen["turns"]), (&json!("failed"), &Value::Null, &json!(0)));
    assert_eq!(seen["snakes"], json!([{"id": BOBS_PUBLIC.to_string(), "name": "bot 1b", "owner": "bob"}]));
    let members: Vec<&String> = seen.as_object().unwrap().keys().collect();
    let want =
        "board created_at enqueued_at finished_at game_type id map snakes started_at status turns updated_at winner";
    assert_eq!(members, want.split(' ').collect::<Vec<_>>(), "no URL, node, seed or reason of a failure");
    // A private game and none are told apart by nothing.
    let unknown = summary("0190b5a4-7c1e-7000-8000-000000000001", "").check("404 no_such_game").await.body;
    assert_eq!(summary(&private.to_string(), "").check("404 no_such_game").await.body, unknown);
    summary(&private.to_string(), "player").check("200").await;
    summary(&public.to_string(), "unknown").check("401 token_unknown").await;
}

/// Who knows the seed of a running game can foresee where food appears.
#[tokio::test]
async fn the_seed_of_a_running_game_is_its_creators() {
    let server = TestServer::open().await;
    let id = running(&server, &[BOBS_PUBLIC]).await;
    let seed = async |by: &str| {
        let details = server.call(&format!("GET /api/games/{id}/details")).by(by).check("200").await.body;
        details["seed"].is_string()
    };
    assert_eq!((seed("player").await, seed("bob").await, seed("operator").await), (false, true, true));
    fail(&server, id).await;
    assert!(seed("player").await, "a game that is over can be replayed by everybody");
}

#[tokio::test]
async fn games_of_private_snakes_of_the_creator_are_private() {
    let server = TestServer::open().await;
    let id: MatchId = server.game().await.parse().unwrap();
    assert_eq!(server.claim_one().await.spec.seats[0].bot, ANNS);
    assert_eq!(page(&server, "/api/games/live").await.0, Vec::<String>::new());
    server.call(&format!("GET /api/games/{id}/summary")).by("").check("404 no_such_game").await;
}

/// A public snake's list shows strangers what is public; the snake's owner and operators all of it; and everybody what they have created.
#[tokio::test]
async fn private_games_of_a_public_snake_are_its_owners_and_their_creators() {
    let server = TestServer::open().await;
    let create = async |by: &str, snakes: &[BotId]| {
        let snakes: Vec<String> = snakes.iter().map(ToString::to_string).collect();
        let created = server.call("POST /api/games").by(by).json(&json!({ "snakes": snakes })).check("201").await;
        created.body["id"].as_str().unwrap().to_owned()
    };
    let public = create("bob", &[BOBS_PUBLIC]).await;
    let bobs = create("bob", &[BOBS_PUBLIC, BOBS_PRIVATE]).await;
    let anns = create("player", &[BOBS_PUBLIC, ANNS]).await;
    let bobs_newer = create("bob", &[BOBS_PRIVATE, BOBS_PUBLIC]).await;
    // Ids of one millisecond have no order of their own.
    let newest_first = |mut ids: Vec<&String>| -> Vec<String> {
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids.into_iter().cloned().collect()
    };
    let all = newest_first(vec![&bobs_newer, &anns, &bobs, &public]);
    let of_ann = newest_first(vec![&anns, &public]);
    let stranger = |path: String| server.call(&format!("GET {path}")).by("");
    let seen = stranger(format!("/api/snakes/{BOBS_PUBLIC}/games")).check("200").await.body;
    assert_eq!(seen.as_array().map(Vec::len), Some(1), "strangers see the public one: {seen}");
    stranger(format!("/api/snakes/{BOBS_PRIVATE}/games")).check("404 no_such_snake").await;
    for (caller, want) in
        [("bob", all.clone()), ("operator", all.clone()), ("player", of_ann.clone()), (BOOTSTRAP, all.clone())]
    {
        for path in [format!("/api/games?snake_id={BOBS_PUBLIC}&limit=9"), format!("/api/snakes/{BOBS_PUBLIC}/games")] {
            let seen = server.call(&format!("GET {path}")).by(caller).check("200").await.body;
            let seen: Vec<&str> = seen.as_array().unwrap().iter().map(|game| game["id"].as_str().unwrap()).collect();
            assert_eq!(seen, want, "{caller}: {path}");
        }
    }
    fail_all(&server).await;
    for (caller, want) in [("player", &of_ann), ("bob", &all)] {
        let first = server.call(&format!("GET /api/snakes/{BOBS_PUBLIC}/games?limit=1")).by(caller).check("200").await;
        assert_eq!(first.body[0]["id"], want[0], "{caller}: a page is full of what may be seen");
    }
}

async fn fail_all(server: &TestServer) {
    for id in server.claim().await {
        fail(server, id).await;
    }
}

/// A file is refused with 409 to those who may have it, because the game has not finished; to others there is no such game.
#[tokio::test]
async fn files_of_private_games_are_for_their_own() {
    let server = TestServer::open().await;
    let public = running(&server, &[BOBS_PUBLIC]).await;
    let private = running(&server, &[BOBS_PRIVATE]).await;
    let anns: MatchId = server.game().await.parse().unwrap();
    let (waits, unknown) = ("409 wrong_state", "404 no_such_game");
    for (id, by, want) in [
        (public, "", waits),
        (public, "player", waits),
        (private, "", unknown),
        (private, "player", unknown),
        (private, "bob", waits),
        (private, "operator", waits),
        (private, BOOTSTRAP, waits),
        (anns, "", unknown),
        (anns, "bob", unknown),
        (anns, "guest", waits),
        (public, "unknown", "401 token_unknown"),
    ] {
        server.call(&format!("GET /api/games/{id}/jsonl")).by(by).check(want).await;
    }
    // Bob's public snake sits in a private game of Ann's.
    let shared = json!({ "snakes": [ANNS.to_string(), BOBS_PUBLIC.to_string()] });
    let shared = server.call("POST /api/games").json(&shared).check("201").await.body["id"].clone();
    for (by, want) in [("", unknown), ("bob", waits), ("player", waits)] {
        server.call(&format!("GET /api/games/{}/jsonl", shared.as_str().unwrap())).by(by).check(want).await;
    }
}
