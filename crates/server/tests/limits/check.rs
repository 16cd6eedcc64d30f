//! `/api/limits/check`: statuses, bodies, headers; many at once.

use crate::test_server::{Reply, Request, TestServer};
use serde_json::{Value, json};
use std::time::Duration;

const BURST: &str = "[[policy]]\nname = \"burst\"\nclass = \"app\"\nalgorithm = \"log\"\nlimit = 3\nwindow = \"60s\"\n";
const DAILY: &str =
    "[[policy]]\nname = \"daily\"\nkey = \"user:*\"\nalgorithm = \"log\"\nlimit = 100\nwindow = \"24h\"\n";
const SEEN: &str = "[[policy]]\nname = \"seen\"\nclass = \"app\"\nlimit = 1\nwindow = \"1s\"\nshadow = true\n";

/// A question of the class that the policies are about. (Those of all classes would count this server's own requests, too.)
fn question(mut body: Value) -> Value {
    body["class"] = json!("app");
    body
}

async fn ask(server: &TestServer, body: Value) -> Reply {
    server.send(&Request::new("POST /api/limits/check").json(&question(body))).await
}

#[tokio::test]
async fn without_policies_nothing_is_limited() {
    let server = TestServer::open("").await;
    let reply = ask(&server, json!({"key": "k", "cost": u64::MAX})).await;
    assert_eq!((reply.status, reply.body), (200, json!({"allowed": true, "policies": []})));
    assert_eq!((reply.headers.get("ratelimit"), reply.headers.get("ratelimit-policy")), (None, None));
}

#[tokio::test]
async fn an_answer_says_what_every_policy_said() {
    let server = TestServer::open(&format!("{BURST}{DAILY}{SEEN}")).await;
    let reply = ask(&server, json!({"key": "user:1", "cost": 2})).await;
    assert_eq!(reply.status, 200);
    let policies = json!([
        {"name": "burst", "limit": 3, "window_ms": 60_000, "remaining": 1, "shadow": false},
        {"name": "daily", "limit": 100, "window_ms": 86_400_000, "remaining": 98, "shadow": false},
        {"name": "seen", "limit": 1, "window_ms": 1_000, "shadow": true},
    ]);
    assert_eq!(reply.body, json!({"allowed": true, "remaining": 1, "policies": policies}));
    assert_eq!(reply.header("ratelimit-policy"), Some(r#""burst";q=3;w=60, "daily";q=100;w=86400"#));
    assert_eq!(reply.header("ratelimit"), Some(r#""burst";r=1;t=60, "daily";r=98;t=86400"#));
    assert_eq!((reply.header("content-type"), reply.header("retry-after")), (Some("application/json"), None));
    assert!(reply.header("x-request-id").is_some());
}

#[tokio::test]
async fn a_denial_is_a_problem_that_says_when_and_charges_nothing() {
    let server = TestServer::open(&format!("{BURST}{DAILY}")).await;
    assert_eq!(ask(&server, json!({"key": "user:1", "cost": 3})).await.status, 200);
    server.clock.advance(Duration::from_millis(10_500));
    let reply = ask(&server, json!({"key": "user:1"})).await;
    assert_eq!(reply.status, 429);
    assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    assert_eq!(reply.header("retry-after"), Some("50"));
    assert_eq!(reply.header("ratelimit"), Some(r#""burst";r=0;t=50"#));
    assert_eq!(reply.body["code"], "rate_limited");
    assert_eq!((&reply.body["allowed"], &reply.body["retry_after_ms"]), (&json!(false), &json!(49_500)));
    assert_eq!((&reply.body["status"], &reply.body["title"]), (&json!(429), &json!("Too Many Requests")));
    assert_eq!(reply.body["policies"][0]["retry_after_ms"], 49_500);
    assert_eq!(reply.body["policies"][1]["remaining"], 97, "a denial by one policy charges none");
    let other = ask(&server, json!({"key": "user:2"})).await;
    assert_eq!(other.body["policies"][1]["remaining"], 99);
}

#[tokio::test]
async fn what_can_never_be_is_said_at_once() {
    let server = TestServer::open(BURST).await;
    let reply = ask(&server, json!({"key": "k", "cost": 4})).await;
    assert_eq!((reply.status, &reply.body["code"]), (422, &json!("cost_exceeds_limit")));
    assert_eq!((reply.header("retry-after"), reply.body.get("retry_after_ms")), (None, None));
}

#[tokio::test]
async fn a_full_limiter_denies_or_admits_as_it_was_told() {
    let admits = BURST.replace("burst", "admits").replace("app", "admits") + "when_full = \"admit\"\n";
    let server = TestServer::open_with(&(BURST.replace("app", "denies") + &admits), database(), |config| {
        config.limiter_keys_max = 1_024;
    })
    .await;
    let mut client = server.connect().await;
    let mut ask = async |key: &str, class: &str| {
        client.send(&Request::new("POST /api/limits/check").json(&json!({"key": key, "class": class}))).await
    };
    for number in 0..1_024 {
        assert_eq!(ask(&format!("key-{number}"), "denies").await.status, 200);
    }
    let full = ask("one more", "denies").await;
    assert_eq!(
        (full.status, &full.body["code"], full.header("retry-after")),
        (429, &json!("limiter_full"), Some("10"))
    );
    assert_eq!(ask("key-7", "denies").await.status, 200, "who is counted already is served");
    assert_eq!(ask("one more", "admits").await.status, 200);
}

fn database() -> std::sync::Arc<dyn store::Database> {
    std::sync::Arc::new(store::testing::MemoryDatabase::new())
}

#[tokio::test]
async fn a_limiter_in_shadow_denies_no_request() {
    let server = TestServer::open_with(BURST, database(), |config| config.limiter_shadow = true).await;
    for _ in 0..2 {
        let reply = ask(&server, json!({"key": "k", "cost": 3})).await;
        assert_eq!((reply.status, &reply.body["policies"][0]["shadow"]), (200, &json!(true)));
    }
    let labels = r#"{policy="burst",class="app",outcome="shadow"}"#;
    assert_eq!(server.sample(&format!("gauntlet_limiter_decisions_total{labels}")).await.as_deref(), Some("1"));
}

/// A question must be refused with this status and code, about this member.
async fn refused(request: Request, status: u16, code: &str, field: &str) {
    let server = TestServer::open(BURST).await;
    let reply = server.send(&request).await;
    let said = (reply.status, reply.body["code"].as_str(), reply.body["field"].as_str().unwrap_or_default());
    assert_eq!(said, (status, Some(code), field), "{request:?}");
    assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{request:?}");
    assert_eq!(server.sample(r#"gauntlet_limiter_keys{policy="burst"}"#).await.as_deref(), Some("0"), "{request:?}");
}

#[tokio::test]
async fn bad_questions_are_refused_and_leave_nothing() {
    let post = || Request::new("POST /api/limits/check");
    refused(post().json(&json!({})), 422, "bad_shape", "").await;
    refused(post().json(&json!({"key": 1})), 422, "bad_shape", "").await;
    // A typo must not admit everybody.
    let server = TestServer::open(BURST).await;
    let typo = server.send(&post().json(&json!({"key": "k", "clas": "app"}))).await;
    let detail = typo.body["detail"].as_str().unwrap();
    assert!(detail.contains("`clas`, expected one of `key`, `class`, `cost`"), "{detail}");
    refused(post().json(&json!({"key": "k", "clas": "app"})), 422, "bad_shape", "").await;
    refused(Request::new("POST /api/limits/check?class=app").json(&json!({"key": "k"})), 400, "bad_value", "class")
        .await;
    for body in [json!({"checks": [{"key": "k"}, {"key": "k", "cots": 5}]}), json!({"checks": [{"key": "k"}], "x": 1})]
    {
        refused(Request::new("POST /api/limits/check/batch").json(&body), 422, "bad_shape", "").await;
    }
    refused(post().json(&json!({"key": "k", "cost": -1})), 422, "bad_shape", "").await;
    refused(post().json(&json!({"key": "k", "cost": 1.5})), 422, "bad_shape", "").await;
    refused(post().body("application/json", r#"{"key": "k", "cost": 18446744073709551616}"#), 422, "bad_shape", "")
        .await;
    refused(post().json(&json!({"key": "k", "cost": 0})), 400, "bad_value", "/cost").await;
    refused(post().json(&question(json!({"key": "k", "cost": u64::MAX}))), 422, "cost_exceeds_limit", "").await;
    refused(post().json(&json!({"key": ""})), 400, "bad_value", "/key").await;
    refused(post().json(&json!({"key": "k".repeat(1_025)})), 400, "bad_value", "/key").await;
    refused(post().json(&json!({"key": "k".repeat(60_000)})), 400, "bad_value", "/key").await;
    refused(post().json(&json!({"key": "k".repeat(1_000_000)})), 413, "body_too_large", "").await;
    refused(post().json(&json!({"key": "k", "class": ""})), 400, "bad_value", "/class").await;
    refused(post().json(&json!({"key": "k", "class": "c".repeat(257)})), 400, "bad_value", "/class").await;
    refused(post().json(&json!({"key": "k", "class": "gateway.player.read"})), 400, "bad_value", "/class").await;
    refused(post().json(&json!(["k"])), 422, "bad_shape", "").await;
    refused(post().body("application/json", *b"{\"key\": \"\xff\"}"), 400, "bad_json", "").await;
    refused(post().body("application/json", "{"), 400, "bad_json", "").await;
    refused(post().body("text/plain", "{}"), 415, "not_json", "").await;
    refused(post(), 415, "not_json", "").await;
    refused(post().body("application/json", vec![b' '; 2_097_153]), 413, "body_too_large", "").await;
    refused(Request::new("GET /api/limits/check"), 405, "method_not_allowed", "").await;
    refused(Request::new("GET /api/limits/check/batch"), 405, "method_not_allowed", "").await;
    refused(Request::new("POST /api/limits/check/"), 404, "no_such_route", "").await;
}

#[tokio::test]
async fn bodies_in_other_codings_are_refused_wherever_they_go() {
    let server = TestServer::open(BURST).await;
    for (coding, status, code) in [
        ("gzip, chunked", 501, "unknown_coding"),
        ("identity,chunked", 501, "unknown_coding"),
        ("chunked, chunked", 400, "bad_framing"),
    ] {
        for path in ["/api/limits/check", "/api/limits/check/batch", "/api/v1/ratelimit", "/api/games", "/healthz"] {
            let request = Request::new(&format!("POST {path}")).header("transfer-encoding", coding);
            let reply = server.send(&request.header("content-type", "application/json")).await;
            assert_eq!((reply.status, &reply.body["code"]), (status, &json!(code)), "{path}: {coding}");
            assert_eq!(reply.header("connection"), Some("close"), "{path}: {coding}");
            assert!(reply.header("x-request-id").is_some(), "{path}: {coding}");
        }
    }
    // In chunks, in whatever case, it is read.
    let mut client = server.connect().await;
    let body = r#"{"key": "k", "class": "app"}"#;
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let reply = client.send(&post_chunks("/api/limits/check", chunks)).await;
    assert_eq!((reply.status, &reply.body["remaining"]), (200, &json!(2)));
}

fn post_chunks(path: &str, chunks: String) -> Request {
    let request = Request::new(&format!("POST {path}")).header("transfer-encoding", "Chunked");
    request.header("content-type", "application/json").without_length(chunks)
}

#[tokio::test]
async fn classes_of_any_characters_leave_a_page_that_can_be_read() {
    let server = TestServer::open(&BURST.replace("app", "*")).await;
    for class in ["a\r\nb 1", "\u{1b}[2J", "\0", "x\"} 7", "\u{fffd}"] {
        let reply =
            server.send(&Request::new("POST /api/limits/check").json(&json!({"key": class, "class": class}))).await;
        assert_eq!(reply.status, 200, "{class:?}");
    }
    let page = server.send(&Request::new("GET /metrics")).await.text;
    assert!(!page.contains(|char: char| char.is_control() && char != '\n'));
    let name = "gauntlet_limiter_decisions_total{policy=\"burst\",class=\"";
    let mut samples: Vec<_> = page.lines().filter_map(|line| line.strip_prefix(name)).collect();
    samples.sort_unstable();
    let want =
        ["other\",outcome=\"allowed\"} 3", "x\\\"} 7\",outcome=\"allowed\"} 1", "\u{fffd}\",outcome=\"allowed\"} 1"];
    assert_eq!(samples, want);
}

async fn ask_many(server: &TestServer, checks: &Value) -> Reply {
    server.send(&Request::new("POST /api/limits/check/batch").json(&json!({"checks": checks}))).await
}

#[tokio::test]
async fn many_questions_are_judged_each_alone_in_their_order() {
    let server = TestServer::open(BURST).await;
    let checks = [("a", 2), ("a", 2), ("a", 1), ("b", 4), ("", 1)];
    let checks = json!(checks.map(|(key, cost)| question(json!({"key": key, "cost": cost}))));
    let reply = ask_many(&server, &checks).await;
    assert_eq!(reply.status, 200);
    let part = json!({"name": "burst", "limit": 3, "window_ms": 60_000, "shadow": false});
    let with = |member: &str, value: u64| {
        let mut part = part.clone();
        part[member] = json!(value);
        json!([part])
    };
    let items = json!([
        {"allowed": true, "remaining": 1, "policies": with("remaining", 1)},
        {"allowed": false, "code": "rate_limited", "retry_after_ms": 60_000, "policies": with("retry_after_ms", 60_000)},
        {"allowed": true, "remaining": 0, "policies": with("remaining", 0)},
        {"allowed": false, "code": "cost_exceeds_limit", "policies": [part]},
        {"allowed": false, "code": "bad_value", "detail": "key: the key has 0 bytes: expected 1 to 1024", "policies": []},
    ]);
    assert_eq!(reply.body, json!({"items": items}));
}

#[tokio::test]
async fn a_batch_has_a_size() {
    let server = TestServer::open("").await;
    let of = |count: usize| json!(vec![json!({"key": "k"}); count]);
    assert_eq!(ask_many(&server, &of(1_000)).await.body["items"].as_array().unwrap().len(), 1_000);
    for checks in [of(0), of(1_001)] {
        let reply = ask_many(&server, &checks).await;
        assert_eq!((reply.status, &reply.body["field"]), (400, &json!("/checks")));
    }
    assert_eq!(ask_many(&server, &json!({})).await.status, 422);
}

#[tokio::test]
async fn without_the_service_there_are_no_such_routes() {
    let server = TestServer::open_with(BURST, database(), |config| config.limiter_service = false).await;
    for line in
        ["POST /api/limits/check", "POST /api/limits/check/batch", "POST /api/v1/ratelimit", "GET /api/v1/health"]
    {
        let reply = server.send(&Request::new(line)).await;
        assert_eq!((reply.status, &reply.body["code"]), (404, &json!("no_such_route")), "{line}");
    }
    let policies = server.send(&Request::new("GET /api/limits/policies").by_admin()).await;
    assert_eq!(
        policies.body["policies"][0]["name"], "burst",
        "the gateway's own policies are for operators all the same"
    );
}
