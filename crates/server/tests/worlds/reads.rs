//! Reading worlds without a mover in them.

use crate::client::{MEADOW, ORCHARD, Tcp, at, open, step};
use crate::test_server::TestServer;
use serde_json::{Value, json};
use wire::world::{Register, Step};

async fn get(server: &TestServer, path: &str, want: &str) -> Value {
    server.call(&format!("GET /api/worlds{path}")).by("").check(want).await.body
}

#[tokio::test]
async fn worlds_are_listed_with_their_rules() {
    let open = open().await;
    let listed = get(&open.server, "", "200").await;
    let meadow = &listed.as_array().unwrap()[0];
    assert_eq!((&meadow["name"], &meadow["width"], &meadow["tree_permille"]), (&json!(MEADOW), &json!(100), &json!(0)));
    assert_eq!((&meadow["is_here"], &meadow["address"]), (&json!(false), &Value::Null));
    let (_client, _) = Tcp::enter(open.address, at(1, 1)).await;
    let here = get(&open.server, "/meadow", "200").await;
    // The server's own address is not listed as another's.
    assert_eq!((&here["is_here"], &here["address"]), (&json!(true), &Value::Null));
    get(&open.server, "/nowhere", "404 no_such_world").await;
    get(&open.server, "/No%20Name", "400 bad_id").await;
}

#[tokio::test]
async fn positions_are_read_from_the_last_picture() {
    let open = open().await;
    for path in ["sections", "density", "stats"] {
        get(&open.server, &format!("/meadow/{path}"), "409 world_asleep").await;
        get(&open.server, &format!("/nowhere/{path}"), "404 no_such_world").await;
    }
    let (mut client, registered) = Tcp::enter(open.address, at(40, 50)).await;
    client.send(step(registered.next_seq, Step::E)).await;
    client.next().await.unwrap();
    // A picture is at most a tick old; the one with the step follows.
    let section = loop {
        let section = get(&open.server, "/meadow/sections?x=40&y=50&w=2&h=1", "200").await;
        if section["movers"][0]["x"] == 41 {
            break section;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(section["movers"], json!([{"x": 41, "y": 50, "indicator": "😁", "count": 1}]));
    assert_eq!((&section["width"], &section["height"], &section["trees"]), (&json!(2), &json!(1), &json!([])));

    let density = get(&open.server, "/meadow/density?bin=50", "200").await;
    assert_eq!(
        (&density["columns"], &density["rows"], &density["counts"]),
        (&json!(2), &json!(2), &json!([0, 0, 1, 0]))
    );
    assert_eq!((&density["movers"], &density["bin"]), (&json!(1), &json!(50)));
    get(&open.server, "/meadow/density?bin=x", "400 bad_query").await;

    let stats = get(&open.server, "/meadow/stats", "200").await;
    assert_eq!((&stats["movers"], &stats["inputs"], &stats["actors"]), (&json!(1), &json!(1), &Value::Null));
}

/// Otherwise chests and movers could be found without looking.
#[tokio::test]
async fn of_a_hunt_everyone_sees_the_terrain_and_only_operators_the_rest() {
    let open = open().await;
    let (_client, _) = Tcp::enter(open.address, Register { world: ORCHARD.to_owned(), ..at(1, 1) }).await;
    let all = loop {
        let all = open.server.call("GET /api/worlds/orchard/sections").by("operator").check("200").await.body;
        // A round begins in a moment.
        if all["items"] != json!([]) {
            break all;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(all["movers"].as_array().map(Vec::len), Some(1));
    let bins = open.server.call("GET /api/worlds/orchard/density?bin=1").by("operator").check("200").await.body;
    assert_eq!(bins["counts"].as_array().map(Vec::len), Some(64));
    for by in ["", "player"] {
        let seen = open.server.call("GET /api/worlds/orchard/sections").by(by).check("200").await.body;
        assert_eq!((&seen["movers"], &seen["items"], &seen["trees"]), (&json!([]), &json!([]), &all["trees"]));
        let bins =
            open.server.call("GET /api/worlds/orchard/density?x=1&y=1&w=1&h=1&bin=1").by(by).check("200").await.body;
        assert_eq!((&bins["width"], &bins["counts"], &bins["movers"]), (&json!(8), &json!([1]), &json!(1)));
    }
}

#[tokio::test]
async fn operators_start_and_stop_actors() {
    let open = open().await;
    let set = |by: &'static str, body: Value| {
        let call = open.server.call("POST /api/worlds/meadow/actors").by(by).json(&body);
        async move { call.send().await }
    };
    assert_eq!(set("player", json!({"count": 1})).await.status, 403);
    assert_eq!(set("operator", json!({"count": 1, "period_ms": 1})).await.status, 400);
    assert_eq!(set("operator", json!({"count": 1, "jitter_ms": 1_000})).await.status, 400);
    let outside = set("operator", json!({"count": 1, "spawn": {"x": 100, "y": 9}})).await;
    assert_eq!(outside.status, 400);
    let message = outside.body.to_string();
    assert!(message.contains("/spawn") && message.contains("100 x 100 cells; choose x from 0 to 99"), "{message}");
    assert_eq!(set("operator", json!({"count": 3, "period_ms": 20, "spawn": {"x": 9, "y": 9}})).await.status, 200);
    loop {
        let reply = open.server.call("GET /api/worlds/meadow/stats").by("").send().await;
        if reply.body["actors"]["moving"] == 3 {
            assert_eq!((&reply.body["actors"]["planned"], &reply.body["movers"]), (&json!(3), &json!(3)));
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(set("operator", json!({"count": 0})).await.status, 200);
}
