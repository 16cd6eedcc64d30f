//! Pages of competitions are rendered once for each version; a client that has one is told so; who may not see one is told nothing.

use crate::test_server::{ANNS, BOBS_PUBLIC, TestServer};
use serde_json::json;

/// The page's tag; the same request with the tag is answered 304, without a body.
async fn tag_of(server: &TestServer, path: &str, by: &str) -> String {
    let shown = server.call(&format!("GET {path}")).by(by).check("200").await;
    let tag = shown.headers["etag"].to_str().unwrap().to_owned();
    let again = server.call(&format!("GET {path}")).by(by).header("If-None-Match", &tag).check("304").await;
    assert!(again.bytes.is_empty() && again.headers["etag"] == *tag, "{:?}", again.headers);
    assert_eq!(again.headers["cache-control"], "private, no-cache");
    tag
}

async fn check_changed(server: &TestServer, path: &str, by: &str, tag: &str) {
    server.call(&format!("GET {path}")).by(by).header("If-None-Match", tag).check("200").await;
}

/// Makes a competition; the path of its page.
async fn create(server: &TestServer, kind: &str, wanted: serde_json::Value) -> String {
    let created = server.call(&format!("POST /api/{kind}")).json(&wanted).check("201").await;
    format!("/api/{kind}/{}", created.body["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_tournament_is_sent_again_when_something_has_happened() {
    let server = TestServer::open().await;
    let path = create(&server, "tournaments", json!({"name": "cup"})).await;
    let tag = tag_of(&server, &path, "").await;
    let rendered = server.sample("gauntlet_views_rendered_total");
    for by in ["", "player", "bob"] {
        assert_eq!(tag_of(&server, &path, by).await, tag);
    }
    assert_eq!(server.sample("gauntlet_views_rendered_total"), rendered, "nothing is rendered again");
    let entry = json!({"snake_id": ANNS.to_string()});
    server.call(&format!("POST {path}/entries")).json(&entry).check("201").await;
    check_changed(&server, &path, "", &tag).await;
    assert_ne!(tag_of(&server, &path, "").await, tag);
    server.call(&format!("HEAD {path}")).check("200").await;
}

#[tokio::test]
async fn what_is_kept_of_private_ones_is_for_those_who_may_see_them() {
    let server = TestServer::open().await;
    let tournament = create(&server, "tournaments", json!({"name": "cup", "is_public": false})).await;
    let bots = json!([{"snake_id": ANNS.to_string()}, {"url": "http://127.0.0.1:4100/flood", "name": "new"}]);
    let duel = create(&server, "duels", json!({"bots": bots})).await;
    for (path, code) in [(tournament, "no_such_tournament"), (duel, "no_such_duel")] {
        let tag = tag_of(&server, &path, "player").await;
        for by in ["", "bob"] {
            for known in [tag.as_str(), "*"] {
                let call = server.call(&format!("GET {path}")).by(by).header("If-None-Match", known);
                let refused = call.check(&format!("404 {code}")).await;
                assert!(!refused.headers.contains_key("etag"), "{:?}", refused.headers);
            }
        }
    }
}

#[tokio::test]
async fn the_owner_of_a_duel_and_everyone_else_see_different_pages() {
    let server = TestServer::open().await;
    let bots = json!([{"snake_id": BOBS_PUBLIC.to_string()}, {"url": "http://127.0.0.1:4100/flood", "name": "new"}]);
    let duel = create(&server, "duels", json!({"bots": bots, "is_public": true})).await;
    let own = tag_of(&server, &duel, "player").await;
    let public = tag_of(&server, &duel, "").await;
    assert_ne!(own, public);
    check_changed(&server, &duel, "", &own).await;
    let shown = server.call(&format!("GET {duel}")).by("bob").check("200").await.body;
    assert_eq!([&shown["bots"][1]["url"], &shown["is_own"]], [&json!(null), &json!(false)]);
    let shown = server.call(&format!("GET {duel}")).check("200").await.body;
    assert_eq!(shown["is_own"], json!(true));
    assert_eq!(tag_of(&server, &duel, "bob").await, public);
    server.call(&format!("POST {duel}/cancel")).check("200").await;
    check_changed(&server, &duel, "", &public).await;
}
