//! What operators and admins see and do beyond games: nodes, accounts and their tokens, the drain.

use crate::test_server::{ANN, BOB, BOOTSTRAP, TestServer};
use node::lease::LeaseContext;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[tokio::test]
async fn an_operator_sees_the_nodes_and_which_one_answers() {
    let server = TestServer::open().await;
    server.call("POST /api/stories/games").json(&json!({})).check("201").await;
    let nodes = server.call("GET /api/admin/nodes").by("operator").check("200").await.body;
    let [node] = nodes.as_array().unwrap().as_slice() else { panic!("one node has leases: {nodes}") };
    assert_eq!(node["address"], server.app.node.address());
    assert_eq!((&node["is_this"], &node["is_living"]), (&json!(true), &json!(true)));
    assert!(
        node["since"].is_string() && node["workers"].as_array().is_some_and(|workers| !workers.is_empty()),
        "{node}"
    );
    assert_eq!(node["lease_ends_at"], Value::Null, "no other process can take over: its leases have no end");
    assert_eq!(node["tables"], 1, "{node}");
}

#[tokio::test]
async fn operators_read_what_was_measured_second_by_second() {
    let server = TestServer::open().await;
    let begun = Instant::now();
    let later = |seconds| begun + Duration::from_secs(seconds);
    gateway::history::record(&server.app, later(100)).await;
    server.app.metrics.matches.turns.add(30);
    server.app.metrics.tables.loaded.set(7);
    gateway::history::record(&server.app, later(101)).await;
    gateway::history::record(&server.app, later(104)).await;

    let read = async |query: &str| {
        server.call(&format!("GET /api/admin/history?{query}")).by("operator").check("200").await.body
    };
    let seconds = read("series=tables,turns").await;
    assert_eq!((&seconds["step_s"], seconds["series"].as_array().unwrap().len()), (&json!(1), 2));
    let values = |of: usize| {
        seconds["series"][of]["values"].as_array().unwrap().iter().rev().take(4).rev().cloned().collect::<Vec<_>>()
    };
    assert_eq!(values(0), [json!(0.0), json!(7.0), json!(null), json!(null)], "{seconds}");
    assert_eq!((&values(1)[..2], &seconds["series"][1]["unit"]), (&[json!(null), json!(30.0)][..], &json!("1/s")));
    // Nothing before the process, whatever is asked for.
    let points = |view: &Value| view["series"][0]["values"].as_array().map(Vec::len);
    assert_eq!(points(&read("series=turns&from=2001-01-01T00:00:00Z").await), points(&seconds));
    assert_eq!(points(&read("series=turns&step=60").await), Some(1));

    let listed = server.call("GET /api/admin/history/series").by("operator").check("200").await.body;
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|series| series["name"].as_str().unwrap()).collect();
    assert!(
        names.contains(&"turns") && names.contains(&"memory_bytes") && names.contains(&"world_people"),
        "{names:?}"
    );
    for (query, want) in [
        ("series=turn", "400 bad_value"),
        ("series=", "400 bad_value"),
        ("series=turns&step=5", "400 bad_value"),
        ("series=turns&from=yesterday", "400 bad_query"),
        ("", "400 bad_query"),
        (&format!("series={}", names[..33].join(",")), "400 bad_value"),
    ] {
        server.call(&format!("GET /api/admin/history?{query}")).by("operator").check(want).await;
    }
}

/// The names on a page, with the numbers of snakes and tokens, and the path of the next page.
async fn page(server: &TestServer, path: &str) -> (Vec<(String, u64, u64)>, Option<String>) {
    let reply = server.call(&format!("GET {path}")).by("admin").check("200").await;
    let rows = reply.body.as_array().unwrap().iter();
    let rows = rows.map(|row| {
        let number = |key: &str| row[key].as_u64().unwrap();
        (row["name"].as_str().unwrap().to_owned(), number("snakes"), number("tokens"))
    });
    let link = reply.headers.get("link").map(|link| link.to_str().unwrap());
    let next = link.map(|link| link.strip_prefix('<').unwrap().split_once('>').unwrap().0.to_owned());
    (rows.collect(), next)
}

#[tokio::test]
async fn an_admin_finds_accounts_by_how_their_names_begin() {
    let server = TestServer::open().await;
    let row = |name: &str, snakes: u64, tokens: u64| (name.to_owned(), snakes, tokens);
    let all = vec![row("ann", 1, 5), row("bob", 2, 1), row("server", 0, 1)];
    assert_eq!(page(&server, "/api/admin/accounts").await, (all.clone(), None));
    assert_eq!(page(&server, "/api/admin/accounts?name=").await, (all, None));
    for name in ["bob & co", "bob & co 2", "bob & co 3", "Bob"] {
        server.call("POST /api/admin/accounts").by(BOOTSTRAP).json(&json!({ "name": name })).check("201").await;
    }
    let (first, next) = page(&server, "/api/admin/accounts?name=%20bob%20%26&limit=2").await;
    assert_eq!(first, [row("bob & co", 0, 0), row("bob & co 2", 0, 0)]);
    let next = next.expect("a third one begins so");
    assert!(next.starts_with("/api/admin/accounts?name=bob%20%26&limit=2&after="), "{next}");
    assert_eq!(page(&server, &next).await, (vec![row("bob & co 3", 0, 0)], None));
    assert_eq!(page(&server, "/api/admin/accounts?name=nobody").await, (vec![], None));
    for (query, want) in [
        ("name=%00", "400 bad_value name"),
        ("name=%E2%80%AEb", "400 bad_value name"),
        (&format!("name={}", "x".repeat(101)), "400 bad_value name"),
        ("after=1", "400 bad_value after"),
        ("limit=x", "400 bad_value limit"),
        ("offset=3", "400 bad_value offset"),
    ] {
        let want = want.rsplit_once(' ').unwrap();
        let reply = server.call(&format!("GET /api/admin/accounts?{query}")).by("admin").check(want.0).await;
        assert_eq!(reply.body["field"], want.1, "{query}");
    }
}

#[tokio::test]
async fn an_admin_deletes_a_token_of_an_account_and_it_ends_at_once() {
    let server = TestServer::open().await;
    let made = server.call("POST /api/tokens").by("bob").json(&json!({"name": "lost laptop"})).check("201").await.body;
    let (id, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    server.call("GET /api/games").by(secret).check("200").await;
    let listed = server.call(&format!("GET /api/admin/accounts/{BOB}/tokens")).by("admin").check("200").await;
    assert_eq!(
        listed.body.as_array().unwrap().iter().map(|token| &token["name"]).collect::<Vec<_>>(),
        ["lost laptop", "bob"]
    );
    let mut members: Vec<&String> = listed.body[0].as_object().unwrap().keys().collect();
    members.sort_unstable();
    assert_eq!(
        members,
        ["created_at", "expires_at", "id", "is_session", "last_used_at", "name", "purpose", "role"],
        "nothing of a secret"
    );
    assert!(!String::from_utf8_lossy(&listed.bytes).contains(&secret[..8]), "not even its beginning");

    let delete =
        |account: &str, token: &str| server.call(&format!("DELETE /api/admin/accounts/{account}/tokens/{token}"));
    let (ann, bob) = (ANN.to_string(), BOB.to_string());
    delete(&bob, id).by("operator").check("403 role_too_weak").await;
    // Whether it is another account's is not told.
    delete(&ann, id).by("admin").check("404 no_such_token").await;
    delete("00000000-0000-0000-0000-000000000099", id).by("admin").check("404 no_such_token").await;
    delete("x", id).by("admin").check("400 bad_id").await;
    server.call("GET /api/games").by(secret).check("200").await;
    delete(&bob, id).by("admin").check("204").await;
    server.call("GET /api/games").by(secret).check("401 token_unknown").await;
    delete(&bob, id).by("admin").check("404 no_such_token").await;
    let nobody = "GET /api/admin/accounts/00000000-0000-0000-0000-000000000099/tokens";
    server.call(nobody).by("admin").check("404 no_such_account").await;
}

#[tokio::test]
async fn an_admin_drains_the_server_and_may_ask_twice() {
    let server = TestServer::open().await;
    let drain = || server.call("POST /api/admin/drain");
    for (by, want) in [("", "401 token_missing"), ("player", "403 role_too_weak"), ("operator", "403 role_too_weak")] {
        drain().by(by).check(want).await;
    }
    // A page of another site may not make a browser ask.
    let cookie = "gauntlet_session=admin";
    drain().by("").header("cookie", cookie).check("403 cross_site").await;
    server.call("POST /api/admin/drain?address=10.9.9.9:4000").by("admin").check("400 bad_value").await;
    assert!(!server.app.drain.is_announced());
    let want = json!({"address": server.app.node.address(), "ends_within_ms": 5_000});
    assert_eq!(
        drain().by("").header("cookie", cookie).header("x-requested-with", "fetch").check("202").await.body,
        want
    );
    assert!(server.app.drain.is_announced());
    assert_eq!(drain().by("admin").check("202").await.body, want);
    let named = format!("POST /api/admin/drain?address={}", server.app.node.address());
    assert_eq!(server.call(&named).by("admin").check("202").await.body, want);
}
