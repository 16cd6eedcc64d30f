//! The audit log: every change by an operator or admin leaves an entry, with who, what, on whom and what became of it; nothing else does.

use crate::test_server::{ANN, ANNS, BOB, BOOTSTRAP, HOUSE, TestServer};
use gateway::audit::OPERATIONS;
use serde_json::{Value, json};

const ID: &str = "0190b5a4-7c1e-7000-8000-000000000001";

async fn entries(server: &TestServer, query: &str) -> Vec<Value> {
    let reply = server.call(&format!("GET /api/admin/audit?limit=100{query}")).by("operator").check("200").await;
    reply.body.as_array().unwrap().clone()
}

/// The methods, paths and names of all writes below `/api/admin`, and of those of others that are recorded.
fn recorded_operations() -> Vec<(String, String, String)> {
    let document = serde_json::to_value(gateway::openapi()).unwrap();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            if method != "get" && (path.starts_with("/api/admin/") || OPERATIONS.contains(&name)) {
                found.push((method.to_uppercase(), path.clone(), name.to_owned()));
            }
        }
    }
    found
}

/// A route that is added tomorrow is here by itself.
#[tokio::test]
async fn every_write_of_the_document_leaves_an_entry() {
    let server = TestServer::open().await;
    let operations = recorded_operations();
    assert!(operations.len() > 12 + OPERATIONS.len() / 2, "{operations:?}");
    for (method, path, name) in operations {
        let begin = |part: &str| if part.starts_with('{') { ID.to_owned() } else { part.to_owned() };
        let path = path.split('/').map(begin).collect::<Vec<_>>().join("/");
        // Another node's address: this server goes on.
        let query = if name == "drain" { "?address=192.0.2.1:1" } else { "" };
        let status = server.call(&format!("{method} {path}{query}")).by("admin").json(&json!({})).send().await.status;
        let left = entries(&server, &format!("&action={name}")).await;
        assert_eq!(left.len(), 1, "{method} {path} was answered with {status}, and left {left:?}");
        assert_eq!(left[0]["outcome"] == "done", status.is_success(), "{name}: {status}, {left:?}");
        assert_eq!(
            left[0]["target"].as_str().is_some_and(|target| target.ends_with(ID)),
            path.contains(ID),
            "{left:?}"
        );
    }
}

/// What a request leaves: its action, target, detail, reason and outcome; `*` is any id.
async fn check(server: &TestServer, (by, line, body): (&str, &str, Value), want: [&str; 5]) {
    // Entries of one millisecond stand in no order.
    let before = entries(server, "").await;
    let status = server.call(line).by(by).from("198.51.100.7").json(&body).send().await.status;
    let after = entries(server, "").await;
    assert_eq!(after.len(), before.len() + 1, "{line}: {status}");
    let left = after.into_iter().find(|entry| !before.contains(entry)).unwrap();
    let texts = ["action", "target", "detail", "reason", "outcome"].map(|key| left[key].as_str().unwrap_or("-"));
    for (have, want) in texts.into_iter().zip(want) {
        let have = have.split([' ', ':']);
        let mut pairs = have.zip(want.split([' ', ':']));
        assert!(pairs.all(|(have, want)| have == want || want == "*"), "{line}: {status}, {left}: {want}");
    }
    assert_eq!(left["address"], "198.51.100.7");
}

#[tokio::test]
async fn entries_say_who_did_what_to_whom_and_why() {
    let server = TestServer::open().await;
    let bob = format!("account:{BOB}");
    let game = server.game().await;
    let ban = json!({ "account": BOB.to_string(), "reason": "cheats", "expires_in_s": 60 });
    let bans = "POST /api/admin/bans";
    check(&server, ("operator", bans, ban.clone()), ["create_ban", &bob, "ban:* until:*", "cheats", "done"]).await;
    check(&server, ("operator", bans, ban), ["create_ban", &bob, "ban:*", "cheats", "banned_already"]).await;
    let made = server.call("GET /api/admin/bans").by("operator").check("200").await.body;
    let lift = format!("DELETE /api/admin/bans/{}", made[0]["id"].as_str().unwrap());
    check(&server, ("admin", &lift, json!({})), ["lift_ban", &bob, "ban:*", "-", "done"]).await;
    check(&server, ("admin", &lift, json!({})), ["lift_ban", "ban:*", "-", "-", "no_such_ban"]).await;
    let disable = format!("POST /api/admin/accounts/{BOB}/disable");
    let why = json!({ "reason": "left" });
    check(&server, ("operator", &disable, why.clone()), ["disable_account", &bob, "-", "-", "role_too_weak"]).await;
    check(&server, ("admin", &disable, why), ["disable_account", &bob, "-", "left", "done"]).await;
    let enable = format!("POST /api/admin/accounts/{BOB}/enable");
    check(&server, (BOOTSTRAP, &enable, json!({})), ["enable_account", &bob, "-", "-", "done"]).await;
    let account = json!({ "name": "new one" });
    let want = ["create_account", "account:*", "name:new one", "-", "done"];
    check(&server, ("admin", "POST /api/admin/accounts", account), want).await;
    let token = json!({ "account": "bob", "name": "t", "role": "operator" });
    let want = ["create_token_for", &bob, "token:* role:operator name:t", "-", "done"];
    check(&server, ("admin", "POST /api/admin/tokens", token), want).await;
    let token = format!("DELETE /api/admin/accounts/{BOB}/tokens/00000000-0000-0000-0000-000000000009");
    check(&server, ("admin", &token, json!({})), ["delete_account_token", &bob, "token:*", "-", "done"]).await;
    let cancel = format!("POST /api/admin/games/{game}/cancel");
    let game = format!("game:{game}");
    check(&server, ("operator", &cancel, json!({})), ["cancel_any_game", &game, "-", "-", "done"]).await;
    check(&server, ("operator", &cancel, json!({})), ["cancel_any_game", &game, "-", "-", "wrong_state"]).await;
    let want = ["create_invite", "invite:*", "role:player", "-", "done"];
    check(&server, ("operator", "POST /api/invites", json!({})), want).await;
    let want = ["create_sign_in_link", &bob, "sign_in_link:* role:player", "-", "done"];
    check(&server, ("operator", "POST /api/sign-in-links", json!({ "account": "bob" })), want).await;
    let want = ["set_aggregator", "-", "pause", "-", "done"];
    check(&server, ("operator", "POST /api/admin/aggregator", json!({ "running": false })), want).await;
    let policy = "PUT /api/limits/policies/api";
    let quota = json!({ "algorithm": "gcra", "limit": 1_000_000, "window_ms": 1000 });
    check(&server, ("operator", policy, quota), ["put_policy", "policy:api", "-", "-", "*"]).await;
    let key = "DELETE /api/limits/policies/api/overrides/sk_live_0123456789";
    let want = ["delete_override", "policy:api", "override:*", "-", "*"];
    check(&server, ("operator", key, json!({})), want).await;
    let drain = "POST /api/admin/drain";
    check(&server, ("admin", drain, json!({})), ["drain", "node:*", "-", "-", "done"]).await;
    let bob_again = entries(&server, &format!("&target={bob}&account={HOUSE}")).await;
    assert_eq!(bob_again.len(), 1, "{bob_again:?}");
    assert_eq!((&bob_again[0]["account_name"], &bob_again[0]["token"]), (&json!("server"), &Value::Null));
    let by_ann = entries(&server, &format!("&target={bob}&account={ANN}&action=lift_ban")).await;
    assert_eq!((&by_ann[0]["account_name"], by_ann.len()), (&json!("ann"), 1));
    assert_eq!(by_ann[0]["token"], "00000000-0000-0000-0000-000000000003");
    let all = serde_json::to_string(&entries(&server, "").await).unwrap();
    for secret in ["gnt_", "gni_", "gns_", "sk_live", BOOTSTRAP] {
        assert!(!all.contains(secret), "{all}");
    }
}

/// Strangers must not be able to fill it, and what players do is not its subject.
#[tokio::test]
async fn nothing_else_leaves_an_entry() {
    let server = TestServer::open().await;
    for (by, line, body) in [
        ("", "POST /api/admin/bans", json!({ "address": "192.0.2.7", "reason": "x" })),
        ("player", "POST /api/admin/bans", json!({ "address": "192.0.2.7", "reason": "x" })),
        ("guest", "POST /api/admin/drain", json!({})),
        ("player", "POST /api/tokens", json!({ "name": "mine" })),
        ("player", "POST /api/games", json!({ "snakes": [ANNS.to_string()] })),
        ("operator", "POST /api/games", json!({ "snakes": [ANNS.to_string()] })),
        ("operator", "GET /api/admin/bans", json!({})),
        ("operator", "POST /api/no/such/route", json!({})),
    ] {
        server.call(line).by(by).json(&body).send().await;
    }
    assert_eq!(entries(&server, "").await, Vec::<Value>::new());
    server.call("GET /api/admin/audit").check("403 role_too_weak").await;
}

#[tokio::test]
async fn entries_are_listed_in_pages_by_time_and_filter() {
    let server = TestServer::open().await;
    for n in 1..=3 {
        let body = json!({ "address": format!("192.0.2.{n}"), "reason": "floods" });
        server.call("POST /api/admin/bans").by("operator").json(&body).check("201").await;
    }
    server.call("POST /api/admin/tokens").by("admin").json(&json!({})).check("422 bad_shape").await;
    let all = entries(&server, "").await;
    assert_eq!(all.len(), 4);
    let bans = entries(&server, "&action=create_ban").await;
    let first = server.call("GET /api/admin/audit?action=create_ban&limit=2").by("admin").check("200").await;
    assert_eq!(first.body, json!(bans[..2]));
    let next = first.headers["link"].to_str().unwrap();
    let path = next.strip_prefix('<').unwrap().split('>').next().unwrap();
    assert!(path.contains("action=create_ban"), "{path}");
    let second = server.call(&format!("GET {path}")).by("admin").check("200").await;
    assert_eq!(second.body, json!(bans[2..]));
    assert!(!second.headers.contains_key("link"));
    assert_eq!(entries(&server, "&target=address:192.0.2.2").await.len(), 1);
    assert_eq!(entries(&server, "&from=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z").await.len(), 0);
    assert_eq!(entries(&server, "&from=2020-01-01T00:00:00Z").await.len(), 4);
    for (query, want) in [
        ("account=ann", "400 bad_value"),
        ("from=yesterday", "400 bad_query"),
        ("target=%00", "400 bad_value"),
        ("after=17", "400 bad_value"),
    ] {
        server.call(&format!("GET /api/admin/audit?{query}")).by("operator").check(want).await;
    }
}
