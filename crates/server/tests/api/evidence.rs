//! Who may see what a bot was sent, and how a snake of a game is named.

use crate::test_server::{ANNS, BOBS_PRIVATE, BOBS_PUBLIC, BOOTSTRAP, TestServer};
use serde_json::json;

const UNKNOWN: &str = "0190b5a4-7c1e-7000-8000-000000000001";

/// A game that Ann has created.
async fn game(server: &TestServer, snakes: &[String]) -> String {
    let created = server.call("POST /api/games").json(&json!({ "snakes": snakes })).check("201").await;
    created.body["id"].as_str().unwrap().to_owned()
}

/// One of Ann's private bot and a public one of Bob's.
async fn shared_game(server: &TestServer) -> String {
    game(server, &[ANNS.to_string(), BOBS_PUBLIC.to_string()]).await
}

#[tokio::test]
async fn evidence_is_for_the_snakes_owner() {
    let server = TestServer::open().await;
    let id = shared_game(&server).await;
    let not_theirs = "403 not_your_snake";
    let (ann, bob) = (["200", not_theirs], [not_theirs, "200"]);
    let rows = [
        ("player", ann),
        // Who may only look may look at what is the account's.
        ("guest", ann),
        ("bob", bob),
        ("operator", ["200", "200"]),
        ("admin", ["200", "200"]),
        (BOOTSTRAP, ["200", "200"]),
        ("", ["401 token_missing"; 2]),
        ("unknown", ["401 token_unknown"; 2]),
    ];
    for (caller, by_seat) in rows {
        for (seat, want) in by_seat.into_iter().enumerate() {
            let path = format!("/api/games/{id}/snakes/{seat}");
            for route in ["turns", "calls"] {
                server.call(&format!("GET {path}/{route}")).by(caller).check(want).await;
            }
            // The game waits: there is no turn yet, and who may not know that is told nothing else.
            let of_turn = if want == "200" { "404 no_such_turn" } else { want };
            server.call(&format!("GET {path}/turns/0")).by(caller).check(of_turn).await;
        }
    }
}

/// Evidence stays with the account that owned the snake when the game was created, whatever becomes of the snake.
#[tokio::test]
async fn the_evidence_of_a_deleted_snake_stays_its_owners() {
    let server = TestServer::open().await;
    let id = shared_game(&server).await;
    server.call(&format!("DELETE /api/snakes/{BOBS_PUBLIC}")).by("bob").check("204").await;
    server.call(&format!("GET /api/games/{id}/snakes/1/turns")).by("bob").check("200").await;
    server.call(&format!("GET /api/games/{id}/snakes/{BOBS_PUBLIC}/turns")).by("bob").check("200").await;
    server.call(&format!("GET /api/games/{id}/snakes/1/turns")).by("player").check("403 not_your_snake").await;
}

#[tokio::test]
async fn a_guest_without_an_account_owns_no_snake() {
    let server = TestServer::open().await;
    let id = shared_game(&server).await;
    let guest = server.call("POST /api/stories/guests").by("").json(&json!({ "name": "Gus" })).check("201").await;
    let token = guest.body["token"].as_str().unwrap();
    server.call(&format!("GET /api/games/{id}/snakes/0/turns")).by(token).check("403 account_needed").await;
}

#[tokio::test]
async fn a_snake_is_named_by_seat_or_id() {
    let server = TestServer::open().await;
    let id = shared_game(&server).await;
    let ask = |rest: String| server.call(&format!("GET /api/games/{rest}"));
    let subject = ask(format!("{id}/snakes/0/turns")).check("200").await.body;
    let you_id = subject["you_id"].as_str().unwrap().to_owned();
    assert_eq!((&subject["snake_id"], &subject["seat"]), (&ANNS.to_string().into(), &0.into()));
    for name in [ANNS.to_string(), you_id] {
        let same = ask(format!("{id}/snakes/{name}/turns")).check("200").await.body;
        assert_eq!(same, subject, "{name}");
    }
    let rows = [
        (format!("{id}/snakes/2/turns"), "404 no_such_seat"),
        (format!("{id}/snakes/99999999999999999999/turns"), "400 bad_id"),
        (format!("{id}/snakes/-1/turns"), "400 bad_id"),
        (format!("{id}/snakes/+0/turns"), "400 bad_id"),
        (format!("{id}/snakes/hungry/turns"), "400 bad_id"),
        (format!("{id}/snakes/%FF/turns"), "400 bad_path"),
        (format!("{id}/snakes/{UNKNOWN}/turns"), "404 no_such_snake"),
        (format!("{UNKNOWN}/snakes/0/turns"), "404 no_such_game"),
        (format!("{UNKNOWN}/snakes/0/calls"), "404 no_such_game"),
        ("hungry/snakes/0/turns".to_owned(), "400 bad_id"),
        (format!("{id}/snakes/0/turns/-1"), "400 bad_id"),
        (format!("{id}/snakes/0/turns/middle"), "400 bad_id"),
        (format!("{id}/snakes/0/turns/4294967296"), "400 bad_id"),
        (format!("{id}/snakes/0/turns/4294967295"), "404 no_such_turn"),
        (format!("{id}/snakes/0/turns?offset=x"), "400 bad_value"),
        (format!("{id}/snakes/0/turns?limit=4000000000&offset=4294967295"), "200"),
    ];
    for (rest, want) in rows {
        ask(rest).check(want).await;
    }
}

#[tokio::test]
async fn a_snake_that_sits_twice_is_named_by_its_seat() {
    let server = TestServer::open().await;
    let id = game(&server, &[ANNS.to_string(), ANNS.to_string()]).await;
    let refused = server.call(&format!("GET /api/games/{id}/snakes/{ANNS}/turns")).check("400 bad_id").await;
    assert!(refused.body["detail"].as_str().unwrap().ends_with("name one of 0, 1"), "{}", refused.body);
    for seat in 0..2 {
        let shown = server.call(&format!("GET /api/games/{id}/snakes/{seat}/turns")).check("200").await.body;
        server
            .call(&format!("GET /api/games/{id}/snakes/{}/turns", shown["you_id"].as_str().unwrap()))
            .check("200")
            .await;
    }
}

#[tokio::test]
async fn a_download_has_a_name() {
    let server = TestServer::open().await;
    let id = shared_game(&server).await;
    let reply = server.call(&format!("GET /api/games/{id}/snakes/0/calls")).check("200").await;
    assert_eq!(reply.headers["content-type"], "application/x-ndjson");
    let disposition = format!("attachment; filename=\"game-{id}-seat-0.ndjson\"");
    assert_eq!(reply.headers["content-disposition"], disposition.as_str());
    assert!(reply.bytes.ends_with(b"}\n") && reply.body["seat"] == 0, "one line about the snake: {:?}", reply.bytes);
}

#[tokio::test]
async fn lists_of_a_snake_are_for_who_may_see_it() {
    let server = TestServer::open().await;
    let id = shared_game(&server).await;
    let rows = [
        (format!("snakes/{ANNS}/games"), "player", "200", 1),
        (format!("snakes/{BOBS_PUBLIC}/games"), "player", "200", 1),
        (format!("snakes/{BOBS_PRIVATE}/games"), "player", "404 no_such_snake", 0),
        (format!("snakes/{BOBS_PRIVATE}/games"), "operator", "200", 0),
        (format!("snakes/{ANNS}/games"), "bob", "404 no_such_snake", 0),
        (format!("snakes/{UNKNOWN}/games"), "player", "404 no_such_snake", 0),
        // Operators see the games of deleted snakes, too.
        (format!("snakes/{UNKNOWN}/games"), "operator", "200", 0),
        (format!("games?snake_id={UNKNOWN}&outcome=lost"), "player", "400 unknown_snake", 0),
        (format!("snakes/{ANNS}/games?outcome=lost"), "player", "200", 0),
        (format!("snakes/{ANNS}/games?outcome=survived"), "player", "400 bad_value", 0),
        (format!("snakes/{ANNS}/games?after={id}"), "player", "200", 0),
        (format!("games?snake_id={ANNS}&outcome=lost"), "player", "200", 0),
        (format!("games?snake_id={ANNS}"), "player", "200", 1),
        ("games?outcome=lost".to_owned(), "player", "400 bad_value", 0),
    ];
    for (path, caller, want, games) in rows {
        let reply = server.call(&format!("GET /api/{path}")).by(caller).check(want).await;
        assert_eq!(reply.body.as_array().map_or(0, Vec::len), games, "{path}");
    }
}
