//! `/api/limits/policies`: who may, what is refused, what comes of it.

use crate::test_server::{Reply, Request, TestServer};
use serde_json::{Value, json};

const BURST: &str = "[[policy]]\nname = \"burst\"\nclass = \"app\"\nlimit = 3\nwindow = \"60s\"\n[[policy.override]]\nkey = \"vip\"\nlimit = 9\nwindow = \"60s\"\n";

async fn send(server: &TestServer, line: &str, body: &Value) -> Reply {
    let request = Request::new(line).by_admin();
    server.send(&if body.is_null() { request } else { request.json(body) }).await
}

/// This must be answered with this status, and this code if it is a refusal.
async fn check(server: &TestServer, line: &str, body: Value, want: &str) -> Value {
    let reply = send(server, line, &body).await;
    let code = reply.body["code"].as_str().unwrap_or_default();
    assert_eq!(format!("{} {code}", reply.status).trim(), want, "{line} {body}: {}", reply.body);
    reply.body
}

async fn may(server: &TestServer, key: &str, cost: u64) -> bool {
    let body = json!({"key": key, "class": "app", "cost": cost});
    server.send(&Request::new("POST /api/limits/check").json(&body)).await.status == 200
}

#[tokio::test]
async fn policies_are_for_operators() {
    let server = TestServer::open(BURST).await;
    for line in [
        "GET /api/limits/policies",
        "GET /api/limits/policies/burst",
        "PUT /api/limits/policies/burst",
        "DELETE /api/limits/policies/burst",
        "GET /api/limits/policies/burst/overrides/k",
        "PUT /api/limits/policies/burst/overrides/k",
        "DELETE /api/limits/policies/burst/overrides/k",
    ] {
        assert_eq!(server.send(&Request::new(line)).await.status, 401, "{line}");
    }
}

#[tokio::test]
async fn the_policies_in_force_are_listed_with_their_scope() {
    let server = TestServer::open(BURST).await;
    assert!(may(&server, "k", 1).await);
    let listed = check(&server, "GET /api/limits/policies", Value::Null, "200").await;
    let burst = json!({
        "name": "burst", "class": "app", "key": "*", "algorithm": "gcra", "limit": 3, "window_ms": 60_000,
        "shadow": false, "when_full": "deny", "source": "file", "keys": 1, "overrides": 1,
    });
    assert_eq!(listed, json!({"scope": "process", "shadow": false, "policies": [burst]}));
    assert_eq!(check(&server, "GET /api/limits/policies/burst", Value::Null, "200").await, burst);
    check(&server, "GET /api/limits/policies/none", Value::Null, "404 no_such_policy").await;
}

#[tokio::test]
async fn an_exact_log_must_fit_into_the_room_of_all() {
    let server = TestServer::open_with(BURST, std::sync::Arc::new(store::testing::MemoryDatabase::new()), |config| {
        config.limiter_timestamps_max = 5_000;
    })
    .await;
    let log = |limit: u64| json!({"algorithm": "log", "limit": limit, "window_ms": 60_000});
    let own = |limit: u64| json!({"limit": limit, "window_ms": 60_000});
    let refused = check(&server, "PUT /api/limits/policies/exact", log(5_001), "400 bad_value").await;
    assert_eq!(refused["field"], "/limit");
    let why = "the limit is 5001, and an exact log keeps a time stamp for each unit: expected at most 5000 \
        (limiter.timestamps_max), or another algorithm";
    assert_eq!(refused["detail"], why);
    check(&server, "GET /api/limits/policies/exact", Value::Null, "404 no_such_policy").await;
    check(&server, "PUT /api/limits/policies/exact", log(5_000), "201").await;
    check(&server, "PUT /api/limits/policies/exact/overrides/k", own(5_001), "400 bad_value").await;
    check(&server, "PUT /api/limits/policies/exact/overrides/k", own(5_000), "200").await;
    // Others keep no stamps.
    check(&server, "PUT /api/limits/policies/burst/overrides/k", own(5_001), "200").await;
}

#[tokio::test]
async fn what_is_set_covers_the_file_until_it_is_deleted() {
    let server = TestServer::open(BURST).await;
    let here = "/api/limits/policies/burst";
    check(&server, &format!("DELETE {here}"), Value::Null, "409 set_in_file").await;
    assert!(may(&server, "k", 2).await && !may(&server, "k", 2).await);
    let set =
        check(&server, &format!("PUT {here}"), json!({"class": "app", "limit": 6, "window_ms": 60_000}), "200").await;
    assert_eq!((&set["limit"], &set["source"]), (&json!(6), &json!("api")));
    assert!(may(&server, "k", 4).await && !may(&server, "k", 1).await, "2 of 6 were used");
    check(&server, &format!("DELETE {here}"), Value::Null, "204").await;
    assert_eq!(check(&server, &format!("GET {here}"), Value::Null, "200").await["limit"], 3);
    let new =
        check(&server, "PUT /api/limits/policies/new", json!({"limit": 1, "window_ms": 1, "key": "n*"}), "201").await;
    assert_eq!((&new["key"], &new["source"]), (&json!("n*"), &json!("api")));
    assert!(!may(&server, "n", 2).await);
    check(&server, "DELETE /api/limits/policies/new", Value::Null, "204").await;
    check(&server, "DELETE /api/limits/policies/new", Value::Null, "404 no_such_policy").await;
    assert!(may(&server, "n", 2).await);
}

#[tokio::test]
async fn an_admin_who_made_a_policy_too_strict_can_mend_it() {
    let server = TestServer::open("").await;
    let here = "/api/limits/policies/all";
    check(&server, &format!("PUT {here}"), json!({"class": "gateway.*", "limit": 1, "window_ms": 86_400_000}), "201")
        .await;
    assert_eq!(server.send(&Request::new("GET /api/games").by_admin()).await.status, 200);
    check(&server, "GET /api/games", Value::Null, "429 rate_limited").await;
    assert_eq!(server.send(&Request::new(&format!("GET {here}"))).await.status, 429, "strangers mend nothing");
    check(&server, &format!("DELETE {here}"), Value::Null, "204").await;
    check(&server, "GET /api/games", Value::Null, "200").await;
}

#[tokio::test]
async fn bad_policies_are_refused_and_leave_nothing() {
    let server = TestServer::open("").await;
    let here = "PUT /api/limits/policies/p";
    let good = json!({"limit": 1, "window_ms": 1});
    let with = |member: &str, value: Value| {
        let mut body = good.clone();
        body[member] = value;
        body
    };
    for (body, want) in [
        (json!({}), "422 bad_shape"),
        (with("sahdow", json!(true)), "422 bad_shape"),
        (json!([]), "422 bad_shape"),
        (with("limit", json!(0)), "400 bad_value"),
        (with("limit", json!(-1)), "422 bad_shape"),
        (with("window_ms", json!(0)), "400 bad_value"),
        (with("window_ms", json!(u64::MAX)), "400 bad_value"),
        (with("window_ms", json!("60s")), "422 bad_shape"),
        (with("algorithm", json!("luck")), "400 bad_value"),
        (with("when_full", json!("panic")), "400 bad_value"),
        (with("class", json!("")), "400 bad_value"),
        (with("key", json!("k".repeat(257))), "400 bad_value"),
        (with("shadow", json!("yes")), "422 bad_shape"),
    ] {
        check(&server, here, body, want).await;
    }
    let text =
        Request::new(here).by_admin().body("application/json", r#"{"limit": 99999999999999999999, "window_ms": 1}"#);
    assert_eq!(server.send(&text).await.status, 422);
    for name in ["reference", "Upper", "a.b", "%ff", &"n".repeat(65)] {
        let want = if name == "%ff" { "400 bad_path" } else { "400 bad_value" };
        check(&server, &format!("PUT /api/limits/policies/{name}"), good.clone(), want).await;
    }
    assert_eq!(check(&server, "GET /api/limits/policies", Value::Null, "200").await["policies"], json!([]));
}

#[tokio::test]
async fn there_are_at_most_a_thousand_policies() {
    let file: String =
        (0..999).map(|number| format!("[[policy]]\nname = \"p{number}\"\nlimit = 1\nwindow = \"1s\"\n")).collect();
    let server = TestServer::open(&file).await;
    let body = json!({"limit": 1, "window_ms": 1});
    check(&server, "PUT /api/limits/policies/last", body.clone(), "201").await;
    check(&server, "PUT /api/limits/policies/more", body.clone(), "409 too_many").await;
    check(&server, "PUT /api/limits/policies/last", body.clone(), "200").await;
    check(&server, "PUT /api/limits/policies/p7", body, "200").await;
}

#[tokio::test]
async fn keys_may_have_quotas_of_their_own() {
    let server = TestServer::open(BURST).await;
    let here = |key: &str| format!("/api/limits/policies/burst/overrides/{key}");
    let quota = json!({"limit": 5, "window_ms": 60_000});
    let vip = check(&server, &format!("GET {}", here("vip")), Value::Null, "200").await;
    assert_eq!(vip, json!({"policy": "burst", "key": "vip", "limit": 9, "window_ms": 60_000, "source": "file"}));
    check(&server, &format!("DELETE {}", here("vip")), Value::Null, "409 set_in_file").await;
    check(&server, &format!("GET {}", here("k")), Value::Null, "404 no_such_override").await;
    check(&server, &format!("DELETE {}", here("k")), Value::Null, "404 no_such_override").await;
    let set = check(&server, &format!("PUT {}", here("user%3A1%2Fx")), quota.clone(), "200").await;
    assert_eq!((&set["key"], &set["source"]), (&json!("user:1/x"), &json!("api")));
    assert!(may(&server, "user:1/x", 5).await && !may(&server, "user:2/x", 5).await && may(&server, "vip", 9).await);
    check(&server, &format!("DELETE {}", here("user:1%2Fx")), Value::Null, "204").await;
    assert!(!may(&server, "user:1/x", 4).await);
    for (line, body, want) in [
        (format!("PUT {}", here("k")), json!({"limit": 0, "window_ms": 1}), "400 bad_value"),
        (format!("PUT {}", here("k")), json!({"limit": 1}), "422 bad_shape"),
        (format!("PUT {}", here("%ff")), quota.clone(), "400 bad_path"),
        (format!("PUT {}", here(&"k".repeat(1_025))), quota.clone(), "400 bad_value"),
        ("PUT /api/limits/policies/none/overrides/k".to_owned(), quota.clone(), "404 no_such_policy"),
        ("PUT /api/limits/policies/reference/overrides/k".to_owned(), quota.clone(), "404 no_such_policy"),
        ("DELETE /api/limits/policies/none/overrides/k".to_owned(), Value::Null, "404 no_such_policy"),
        ("DELETE /api/limits/policies/reference".to_owned(), Value::Null, "404 no_such_policy"),
    ] {
        check(&server, &line, body, want).await;
    }
}
