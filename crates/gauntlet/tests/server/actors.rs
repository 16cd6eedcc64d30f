//! Built-in actors, as a user starts them with flags of `gauntlet serve`.

use crate::support::{Folder, until};
use serde_json::{Value, json};

/// What the actors of the plaza come to once so many have come in.
fn stats(server: &crate::support::Server, registered: u64) -> Value {
    until("the actors have come in", || {
        let reply = server.request("GET /api/worlds/plaza/stats", &Value::Null);
        (reply.body["actors"]["registered"] == registered).then_some(reply.body)
    })
}

#[test]
fn all_actors_begin_where_the_flags_say() {
    let folder = Folder::new();
    // With a period of an hour none of them moves meanwhile.
    let flags =
        "--actors 30 --actor-spawn 500,400 --actor-start-delay-ms 2 --actor-period-ms 3600000 --actor-threads 2";
    let mut server = folder.serve_games(flags);
    let seen = stats(&server, 30);
    assert_eq!(
        (&seen["actors"]["planned"], &seen["actors"]["refused"], &seen["movers"]),
        (&json!(30), &json!(0), &json!(30))
    );
    let around = server.request_ok("GET /api/worlds/plaza/sections?x=490&y=390&w=21&h=21", &Value::Null);
    let movers = around["movers"].as_array().unwrap();
    assert_eq!((movers.len(), &movers[0]["count"]), (1, &json!(30)), "all stand on one cell: {movers:?}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_spawn_point_outside_of_the_world_is_refused_with_what_to_do() {
    let folder = Folder::new();
    for (flags, code, printed) in [
        (
            "--actor-spawn 1000,3",
            1,
            "the world plaza has 1000 x 1000 cells; choose x from 0 to 999 and y from 0 to 999, with --actor-spawn",
        ),
        (
            "--actor-spawn 5000,3",
            2,
            "worlds.actor_spawn is \"5000,3\" (flag --actor-spawn); expected: a column and a row",
        ),
        ("--actor-spawn middle", 2, "such as 500,500, or off"),
        ("--actor-jitter-ms 1000", 2, "worlds.actor_jitter_ms < worlds.actor_period_ms"),
    ] {
        let output = folder.command(&format!("serve --port 0 --actors 1 {flags}")).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{flags}: {error}");
        assert!(error.contains(printed), "{flags}: {error}");
    }
}
