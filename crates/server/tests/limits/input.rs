//! What the reference API says to input of every kind: statuses, bodies, and the order of its checks.

use crate::test_server::{Request, TestServer};
use serde_json::{Value, json};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
const BAD_REQUEST: &str = r#"{"errors":{"detail":"Bad Request"}}"#;
const NOT_FOUND: &str = r#"{"errors":{"detail":"Not Found"}}"#;
const ALLOWED: &str = r#"{"allowed":true,"remaining":99}"#;
const CONFIG: &str = r#"{"window_seconds":60,"requests_per_window":5}"#;

/// A request to a new server must be answered so.
async fn check(request: Request, status: u16, want: &str) {
    let server = TestServer::open("").await;
    let reply = server.send(&request).await;
    assert_eq!((reply.status, &reply.body), (status, &serde_json::from_str::<Value>(want).unwrap()), "{request:?}");
    assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"), "{request:?}");
    assert!(reply.header("x-request-id").is_some_and(|id| !id.is_empty()), "{request:?}");
    assert_eq!(reply.header("retry-after"), None, "{request:?}");
}

async fn post(path: &str, body: &str, status: u16, want: &str) {
    check(Request::new(&format!("POST /api/v1/{path}")).body(JSON, body), status, want).await;
}

#[tokio::test]
async fn a_check_needs_a_client_and_a_resource() {
    for body in [
        "{}",
        r#"{"client_id": "a"}"#,
        r#"{"resource": "a"}"#,
        r#"{"client_id": null, "resource": "a"}"#,
        r#"{"client_id": "", "resource": "a"}"#,
        r#"{"client_id": "a", "resource": null}"#,
        r#"{"client_id": "a", "resource": ""}"#,
        r#"["client_id", "resource"]"#,
        "7",
        "",
    ] {
        post("ratelimit", body, 400, "{}").await;
    }
    for client in [r#""a""#, r#"" ""#, "1", "0", "false", "1.5", "[]", "{}", r#"["a", null]"#, r#""\u00e4\n""#] {
        post("ratelimit", &format!(r#"{{"client_id": {client}, "resource": false}}"#), 200, ALLOWED).await;
    }
}

async fn refused(path: &str, body: &str, message: &str) {
    post(path, body, 400, &json!({ "error": message }).to_string()).await;
}

const WINDOW: &str = "Missing or invalid required field: window_seconds (must be positive integer)";
const WINDOW_TEXT: &str = "window_seconds must be a positive integer";
const LIMIT: &str = "Missing or invalid required field: request_per_window (must be positive integer)";
const LIMIT_TEXT: &str = "request_per_window must be a positive integer";

#[tokio::test]
async fn figures_must_be_positive_integers_or_texts_of_them() {
    let with = |window: &str, limit: &str| format!(r#"{{"window_seconds": {window}, "request_per_window": {limit}}}"#);
    for window in ["null", "true", "1.5", "60.0", "6e1", "[]", "{}", "0", "-5", "99999999999999999999999999"] {
        refused("configure", &with(window, "5"), WINDOW).await;
    }
    for window in [
        r#""0""#,
        r#""-5""#,
        r#""60abc""#,
        r#"" 60""#,
        r#""60 ""#,
        r#""""#,
        r#""+""#,
        r#""1_0""#,
        r#""60.0""#,
        r#""++6""#,
    ] {
        refused("configure", &with(window, "5"), WINDOW_TEXT).await;
        refused("configure", &with("5", window), LIMIT_TEXT).await;
    }
    for limit in ["null", "false", "2.0", "[5]", "0", "-1", "18446744073709551616"] {
        refused("configure", &with("5", limit), LIMIT).await;
    }
    refused("configure", "{}", WINDOW).await;
    refused("configure", r#"{"window_seconds": 5}"#, LIMIT).await;
    refused("configure", r#"{"window_seconds": 60, "requests_per_window": 5}"#, LIMIT).await;
    for (window, limit) in [("60", "5"), (r#""60""#, r#""5""#), (r#""+60""#, r#""+5""#), (r#""060""#, r#""\u0035""#)] {
        post("configure", &with(window, limit), 200, CONFIG).await;
    }
    let most = r#"{"window_seconds":18446744073709551,"requests_per_window":18446744073709551615}"#;
    post("configure", &with("18446744073709551", "18446744073709551615"), 200, most).await;
    refused("configure", &with("18446744073709552", "5"), WINDOW).await;
}

#[tokio::test]
async fn the_first_failure_wins() {
    let client = |client: &str| format!(r#"{{"client_id": {client}, "window_seconds": 0, "request_per_window": 0}}"#);
    refused("configure-client", "{}", "Missing required field: client_id").await;
    refused("configure-client", &client("null"), "Missing required field: client_id").await;
    refused("configure-client", &client(r#""""#), "client_id cannot be empty").await;
    refused("configure-client", &client(r#""a""#), WINDOW).await;
    refused("configure-client", r#"{"client_id": 1, "window_seconds": 1, "request_per_window": 0}"#, LIMIT).await;
    let good = r#"{"client_id": 1, "window_seconds": "60", "request_per_window": 5}"#;
    post("configure-client", good, 200, CONFIG).await;
}

#[tokio::test]
async fn what_cannot_be_read_is_a_bad_request() {
    for body in [
        "{",
        "{]",
        r#"{"client_id": }"#,
        r#"{"client_id": "a", "resource": "b"} x"#,
        "nul",
        r#"{"client_id":"\ud800","resource":"a"}"#,
    ] {
        post("ratelimit", body, 400, BAD_REQUEST).await;
    }
    post("nowhere", "{", 400, BAD_REQUEST).await;
    let request = |line: &str| Request::new(line);
    let not_utf8 = b"{\"client_id\": \"\xff\", \"resource\": \"a\"}";
    check(request("POST /api/v1/ratelimit").body(JSON, *not_utf8), 400, BAD_REQUEST).await;
    let elsewhere = b"{\"client_id\": \"a\", \"resource\": \"a\", \"x\": \"\xff\"}";
    check(request("POST /api/v1/ratelimit").body(JSON, *elsewhere), 400, BAD_REQUEST).await;
    for form in ["client_id=%ff&resource=a", "client_id=%zz&resource=a", "client_id=%4&resource=a"] {
        check(request("POST /api/v1/ratelimit").body(FORM, form), 400, BAD_REQUEST).await;
    }
    check(request("POST /api/v1/ratelimit?client_id=%ff").body(JSON, "{}"), 400, BAD_REQUEST).await;
    check(request("GET /api/v1/client-config/%ff"), 400, BAD_REQUEST).await;
    check(request("DELETE /api/v1/client-config/%f"), 400, BAD_REQUEST).await;
}

#[tokio::test]
async fn unknown_paths_and_other_methods_are_not_found() {
    for line in [
        "GET /api/v1",
        "GET /api/v1/",
        "GET /api/v1/nowhere",
        "GET /api/v1/ratelimit",
        "PUT /api/v1/ratelimit",
        "OPTIONS /api/v1/ratelimit",
        "POST /api/v1/ratelimit/more",
        "POST /api/v1/health",
        "GET /api/v1/configure",
        "POST /api/v1/client-config/a",
        "GET /api/v1/client-config",
        "GET /api/v1/client-config/",
        "GET /api/v1/client-config/a/b",
        "DELETE /api/v1/configure-client",
    ] {
        check(Request::new(line), 404, NOT_FOUND).await;
    }
    let healthy = r#"{"status":"ok"}"#;
    check(Request::new("GET /api/v1/health"), 200, healthy).await;
    check(Request::new("GET /api/v1//health/"), 200, healthy).await;
    let server = TestServer::open("").await;
    assert_eq!(server.send(&Request::new("GET /api/v10/health")).await.body["code"], "no_such_route");
    assert_eq!(server.send(&Request::new("HEAD /api/v1/health")).await.status, 200);
}

#[tokio::test]
async fn a_client_that_takes_no_json_gets_none() {
    let request = |accept: &str| Request::new("GET /api/v1/health").header("accept", accept);
    let refused = r#"{"errors":{"detail":"Not Acceptable"}}"#;
    for accept in ["text/html", "text/html, image/png;q=0.5", "text/*", "json", ""] {
        check(request(accept), 406, refused).await;
    }
    for accept in [
        "*/*",
        "application/json",
        "application/*",
        "text/html, application/json;q=0.1",
        "APPLICATION/JSON",
        "application/x+json",
    ] {
        check(request(accept), 200, r#"{"status":"ok"}"#).await;
    }
    let nowhere = Request::new("GET /api/v1/nowhere").header("accept", "text/html");
    check(nowhere, 404, NOT_FOUND).await;
    check(Request::new("GET /api/v1/health?_format=html"), 406, refused).await;
    check(Request::new("GET /api/v1/health?_format=json").header("accept", "text/html"), 200, r#"{"status":"ok"}"#)
        .await;
}

const BOUNDARY: &str = "multipart/form-data; boundary=XX";

fn parts(fields: &[(&str, &str)]) -> String {
    let part = |(name, value): &(&str, &str)| {
        format!("--XX\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    fields.iter().map(part).collect::<String>() + "--XX--\r\n"
}

#[tokio::test]
async fn parameters_come_from_bodies_of_several_kinds_and_from_the_query() {
    let request = |line: &str| Request::new(line);
    let here = "POST /api/v1/ratelimit";
    check(request(here).body(FORM, "client_id=a+b%21&resource=x"), 200, ALLOWED).await;
    check(request(here).body(BOUNDARY, parts(&[("client_id", "a"), ("resource", "x")])), 200, ALLOWED).await;
    check(request(here).body(BOUNDARY, parts(&[("client_id", "a")])), 400, "{}").await;
    check(request(here).body(BOUNDARY, "--XX\r\n"), 400, BAD_REQUEST).await;
    check(request(here).body("application/vnd.x+json; charset=utf-8", r#"{"client_id":1,"resource":1}"#), 200, ALLOWED)
        .await;
    check(request("POST /api/v1/ratelimit?client_id=a&resource=x"), 200, ALLOWED).await;
    // What stands in the body wins, also where it says nothing.
    let both = "POST /api/v1/ratelimit?client_id=a&resource=x";
    check(request(both).body(JSON, r#"{"client_id":null}"#), 400, "{}").await;
    check(request(both).body(JSON, r#"{"client_id":"b"}"#), 200, ALLOWED).await;
    // Bodies of other kinds are passed over.
    check(request(here).body("text/plain", r#"{"client_id":"a","resource":"x"}"#), 400, "{}").await;
    check(request(here).body("", r#"{"client_id":"a","resource":"x"}"#), 400, "{}").await;
    check(request(both).body("text/plain", "{"), 200, ALLOWED).await;
    check(request(here).body(FORM, "client_id[]=a&client_id[]=b&resource[x]=y"), 200, ALLOWED).await;
    check(request("POST /api/v1/configure").body(FORM, "window_seconds=60&request_per_window=%2B5"), 200, CONFIG).await;
    // More fields, and a longer name, than any client means: what they would become is not built.
    let deep = format!("client_id{}=&", "[]".repeat(16));
    check(request(here).body(FORM, deep.repeat(900) + "resource=x"), 200, ALLOWED).await;
    check(request(here).body(FORM, deep.repeat(7_900_000 / deep.len()) + "resource=x"), 400, BAD_REQUEST).await;
}

#[tokio::test]
async fn a_post_may_name_another_method() {
    let reset = r#"{"status":"ok","message":"Client configuration reset"}"#;
    let post = || Request::new("POST /api/v1/client-config/a");
    check(post().body(FORM, "_method=delete"), 200, reset).await;
    check(post().body(BOUNDARY, parts(&[("_method", "DELETE")])), 200, reset).await;
    check(post().body(JSON, r#"{"_method":"DELETE"}"#), 200, reset).await;
    check(post().body(FORM, "_method=get"), 404, NOT_FOUND).await;
    check(post().body(FORM, "_method="), 404, NOT_FOUND).await;
    check(Request::new("POST /api/v1/client-config/a?_method=delete"), 404, NOT_FOUND).await;
    check(
        Request::new("GET /api/v1/client-config/a?_method=delete"),
        200,
        r#"{"window_seconds":60,"requests_per_window":100}"#,
    )
    .await;
    check(Request::new("POST /api/v1/ratelimit").body(FORM, "_method=put&client_id=a&resource=b"), 404, NOT_FOUND)
        .await;
}

#[tokio::test]
async fn bodies_are_read_up_to_a_bound() {
    let body = |bytes: usize| format!(r#"{{"client_id":"a","resource":"{}"}}"#, "x".repeat(bytes - 33));
    assert_eq!(body(100).len(), 98);
    let at = |bytes: usize| Request::new("POST /api/v1/ratelimit").body(JSON, body(bytes + 2));
    check(at(8_000_000), 200, ALLOWED).await;
    check(at(8_000_001), 413, r#"{"errors":{"detail":"Request Entity Too Large"}}"#).await;
}

#[tokio::test]
async fn clients_may_be_called_anything_up_to_a_bound() {
    let body = |bytes: usize| format!(r#"{{"client_id":"{}","resource":"x"}}"#, "c".repeat(bytes));
    post("ratelimit", &body(10_000), 200, ALLOWED).await;
    post("ratelimit", &body(65_534), 200, ALLOWED).await;
    post("ratelimit", &body(65_535), 400, "{}").await;
    post("ratelimit", &body(1_000_000), 400, "{}").await;
    let deep = |depth: usize| format!(r#"{{"client_id":{}{},"resource":"x"}}"#, "[".repeat(depth), "]".repeat(depth));
    post("ratelimit", &deep(32), 200, ALLOWED).await;
    post("ratelimit", &deep(30_000), 400, "{}").await;
    let long = format!(r#"{{"client_id":"{}","window_seconds":1,"request_per_window":1}}"#, "c".repeat(70_000));
    refused("configure-client", &long, "client_id is too long").await;
}

/// Whether two names are one client: the second request leaves one less than the first.
async fn same(first: &str, second: &str, want: bool) {
    let server = TestServer::open("").await;
    let mut client = server.connect().await;
    let mut left = Vec::new();
    for name in [first, second] {
        let body = format!(r#"{{"client_id": {name}, "resource": "x"}}"#);
        let reply = client.send(&Request::new("POST /api/v1/ratelimit").body(JSON, body)).await;
        left.push(reply.body["remaining"].as_u64().unwrap());
    }
    assert_eq!(left[0] - left[1] == 1, want, "{first} {second}: {left:?}");
}

#[tokio::test]
async fn two_names_are_one_client_where_they_are_one_value() {
    same("1", r#""1""#, false).await;
    same("1", "1.0", false).await;
    same("1", "1", true).await;
    same("1.0", "1.00", true).await;
    same("100.0", "1e2", true).await;
    same("0", "-0", true).await;
    same("18446744073709551616", "18446744073709551617", false).await;
    same(r#""ab""#, r#""\u0061b""#, true).await;
    same(r#""a/b""#, r#""a\/b""#, true).await;
    same(r#""a\nb""#, r#""a\u000ab""#, true).await;
    same(r#"{"a": 1, "b": [2]}"#, r#"{"b":[2],"a":1}"#, true).await;
    same(r#"{"a": 1, "a": 2}"#, r#"{"a": 2}"#, true).await;
    same("[1]", "[1, 1]", false).await;
    same("true", r#""true""#, false).await;
    let long = "c".repeat(10_000);
    same(&format!("\"{long}\""), &format!("\"{long}d\""), false).await;
    same(&format!("\"{long}\""), &format!("\"{long}\""), true).await;
}

#[tokio::test]
async fn a_callers_own_request_id_is_given_back() {
    let server = TestServer::open("").await;
    let reply = server.send(&Request::new("GET /api/v1/health").header("x-request-id", "my-own-1")).await;
    assert_eq!(reply.header("x-request-id"), Some("my-own-1"));
}
