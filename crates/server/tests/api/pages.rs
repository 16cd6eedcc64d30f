//! Lists: newest first, in pages that follow the `Link` header to the end, each row once.

use crate::test_server::{ANNS, BOBS_PRIVATE, BOBS_PUBLIC, TestServer};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The ids of all rows, page by page as the links lead.
async fn walk(server: &TestServer, first: &str) -> Vec<Vec<String>> {
    let (mut pages, mut next) = (Vec::new(), Some(first.to_owned()));
    while let Some(path) = next {
        let reply = server.call(&format!("GET {path}")).check("200").await;
        let ids = |rows: &Vec<Value>| rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        pages.push(reply.body.as_array().map(ids).unwrap());
        next = reply.headers.get("link").map(|link| {
            let link = link.to_str().unwrap();
            link.strip_prefix('<').and_then(|rest| rest.strip_suffix(">; rel=\"next\"")).unwrap().to_owned()
        });
        assert!(pages.len() < 100, "the links lead in a circle");
    }
    pages
}

#[track_caller]
fn check(pages: &[Vec<String>], want_sizes: &[usize]) {
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), want_sizes);
    let all: Vec<&String> = pages.iter().flatten().collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "a row was shown twice");
    assert!(all.is_sorted_by(|newer, older| newer > older), "newest first");
}

#[tokio::test]
async fn games_are_walked_to_the_end() {
    let server = TestServer::open().await;
    let games = json!({ "games": vec![json!({"snakes": [ANNS.to_string()]}); 45] });
    server.call("POST /api/games/batch").json(&games).check("200").await;
    check(&walk(&server, "/api/games").await, &[20, 20, 5]);
    check(&walk(&server, "/api/games?limit=45").await, &[45]);
    check(&walk(&server, &format!("/api/games?limit=30&snake_id={ANNS}")).await, &[30, 15]);
    check(&walk(&server, "/api/games?limit=500").await, &[45]);
    check(&walk(&server, "/api/games?limit=1&after=00000000-0000-0000-0000-000000000000").await, &[0]);
}

#[tokio::test]
async fn snakes_are_walked_to_the_end() {
    let server = TestServer::open().await;
    for number in 0..6 {
        let snake = json!({"name": format!("s{number}"), "url": "http://example.com"});
        server.call("POST /api/snakes").json(&snake).check("201").await;
    }
    check(&walk(&server, "/api/snakes").await, &[7]);
    check(&walk(&server, "/api/snakes?limit=3").await, &[3, 3, 1]);
}

#[tokio::test]
async fn bad_queries_are_refused_and_unknown_keys_ignored() {
    let server = TestServer::open().await;
    for (query, want) in [
        ("limit=0", "200"),
        ("limit=-1", "200"),
        ("offset=0", "200"),
        ("offset=1", "400 bad_value"),
        ("limit=ten", "400 bad_value"),
        ("limit=", "400 bad_value"),
        ("limit=1&limit=2", "400 bad_query"),
        ("after=x", "400 bad_value"),
        ("snake_id=x", "400 bad_value"),
        ("order=oldest&limit=1", "200"),
        ("%ff=%fe", "200"),
        ("", "200"),
    ] {
        server.call(&format!("GET /api/games?{query}")).check(want).await;
    }
}

#[tokio::test]
async fn a_list_shows_what_is_the_callers_to_see() {
    let server = TestServer::open().await;
    server.game().await;
    let bobs =
        |snake: String| server.call("POST /api/games").by("bob").json(&json!({ "snakes": [snake] })).check("201");
    bobs(BOBS_PUBLIC.to_string()).await;
    bobs(BOBS_PRIVATE.to_string()).await;
    for (by, query, want) in [
        ("player", String::new(), 1),
        ("guest", String::new(), 1),
        ("bob", String::new(), 2),
        ("operator", String::new(), 3),
        ("player", format!("?snake_id={BOBS_PUBLIC}"), 1),
        ("operator", format!("?snake_id={BOBS_PRIVATE}"), 1),
        ("operator", "?snake_id=00000000-0000-0000-0000-000000000000".to_owned(), 0),
    ] {
        let reply = server.call(&format!("GET /api/games{query}")).by(by).check("200").await;
        assert_eq!(reply.body.as_array().map(Vec::len), Some(want), "{by} {query}");
    }
    let unknown = "00000000-0000-0000-0000-000000000000".to_owned();
    for (by, snake) in [("player", BOBS_PRIVATE.to_string()), ("bob", ANNS.to_string()), ("bob", unknown)] {
        server.call(&format!("GET /api/games?snake_id={snake}")).by(by).check("400 unknown_snake").await;
    }
}

#[tokio::test]
async fn statuses_come_in_the_order_asked_without_the_unknown() {
    let server = TestServer::open().await;
    let (a, b) = (server.game().await, server.game().await);
    let unknown = "0190b5a4-7c1e-7000-8000-000000000001";
    let ask = |ids: Value| server.call("POST /api/games/status").json(&json!({ "game_ids": ids }));
    let reply = ask(json!([b, unknown, a])).check("200").await;
    let ids: Vec<&str> = reply.body.as_array().unwrap().iter().filter_map(|status| status["id"].as_str()).collect();
    assert_eq!(ids, [b.as_str(), a.as_str()]);
    assert_eq!(reply.body[0]["status"], "waiting");
    assert_eq!((&reply.body[0]["started_at"], &reply.body[0]["turns"]), (&Value::Null, &json!(0)));
    ask(json!([])).check("200").await;
    ask(json!(vec![unknown; 500])).check("200").await;
    ask(json!(vec![unknown; 501])).check("400 bad_value /game_ids").await;
    ask(json!([a, "x"])).check("400 bad_value /game_ids/1").await;
    ask(json!([1])).check("422 bad_shape").await;
}
