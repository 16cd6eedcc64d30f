//! No request, however malformed, gives a 500 or a panic: requests made of good and bad parts over every documented route.

use crate::test_server::{ANNS, BOBS_PUBLIC, BOOTSTRAP, TestServer};
use axum::body::Body;
use axum::http::{HeaderValue, Method, Request, StatusCode, Uri};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::testing::MemoryDatabase;

const CASES: u32 = 4_000;
/// Small here, so that bodies beyond it are cheap.
const BODY_BYTES_MAX: usize = 8 * 1_024;

/// A request as its parts, so that a failure shrinks to the part that matters.
#[derive(Clone, Debug)]
struct Parts {
    method: String,
    path: String,
    query: Option<String>,
    token: Option<&'static str>,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
}

/// Routes that keep to another server's description, and stand in no document of ours.
const REFERENCE: [(&str, &str); 5] = [
    ("POST", "/api/v1/ratelimit"),
    ("POST", "/api/v1/configure"),
    ("POST", "/api/v1/configure-client"),
    ("GET", "/api/v1/client-config/{id}"),
    ("DELETE", "/api/v1/client-config/{id}"),
];

/// All routes with their methods.
fn routes() -> Vec<(String, String)> {
    let document = serde_json::to_value(gateway::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let methods = |(path, item): (&String, &Value)| {
        let methods: Vec<String> = item.as_object().unwrap().keys().map(|method| method.to_uppercase()).collect();
        methods.into_iter().map(|method| (method, path.clone())).collect::<Vec<_>>()
    };
    let reference = REFERENCE.map(|(method, path)| (method.to_owned(), path.to_owned()));
    let all = paths.iter().flat_map(methods).chain(reference);
    // What it begins is the end: everything afterwards is rightly refused with 503.
    all.filter(|(_, path)| path != "/api/admin/drain").collect()
}

/// A body that this route takes.
fn good_body(method: &str, path: &str, games: &[String]) -> Value {
    let snakes = json!([ANNS.to_string(), BOBS_PUBLIC.to_string()]);
    let game = json!({"snakes": snakes, "board": "11x11", "game_type": "royale", "map": "standard", "seed": 7,
                      "timeout_ms": 500, "settings": {"foodSpawnChance": 15, "shrinkEveryNTurns": 25}});
    match (method, path) {
        ("POST", "/api/games") => game,
        ("POST", "/api/games/batch") => json!({ "games": [game, {"snakes": snakes}] }),
        ("POST", "/api/duels") => {
            json!({"bots": [{"snake_id": ANNS.to_string()}, {"url": "http://example.com/b", "name": "b"}], "elo0": 0, "elo1": 50,
                   "alpha": 0.05, "games_max": 100, "pairs_at_once": 2, "board": "11x11", "is_public": true})
        }
        ("POST", "/api/games/status") => json!({ "game_ids": games }),
        ("POST" | "PUT", _) if path.starts_with("/api/snakes") => {
            json!({"name": "Ophidia", "url": "http://example.com/a", "is_public": true})
        }
        ("POST", "/api/limits/check") => json!({"key": "k", "class": "c", "cost": 1}),
        ("POST", "/api/limits/check/batch") => json!({"checks": [{"key": "k"}, {"key": "l", "cost": 2}]}),
        ("PUT", "/api/limits/policies/{name}") => {
            json!({"class": "none", "key": "*", "algorithm": "log", "limit": 5, "window_ms": 60_000, "when_full": "deny"})
        }
        ("PUT", _) if path.starts_with("/api/limits/") => json!({"limit": 5, "window_ms": 60_000}),
        ("POST", _) if path.starts_with("/api/v1/") => {
            json!({"client_id": "c", "resource": "r", "window_seconds": 60, "request_per_window": "100", "_method": "post"})
        }
        ("POST", "/api/admin/tokens") => json!({"account": "bob", "name": "t", "role": "guest"}),
        ("POST", _) => json!({"name": "t", "role": "guest"}),
        _ => json!({}),
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        select(vec!["11x11", "0x0", "25x25", "255x255", "snail", "solo", "\u{0}", "18446744073709551616"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{0,10}", inner, 0..6).prop_map(|map| json!(map)),
        ]
    })
}

/// All places in a value, as JSON Pointers.
fn places(value: &Value, at: &str, into: &mut Vec<String>) {
    into.push(at.to_owned());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| places(inner, &format!("{at}/{key}"), into)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(key, inner)| places(inner, &format!("{at}/{key}"), into));
        }
        _ => {}
    }
}

/// The value with something else, or nothing, at one of its places.
fn mutated(mut value: Value, place: Index, with: Option<Value>) -> Value {
    let mut all = Vec::new();
    places(&value, "", &mut all);
    let pointer = place.get(&all).clone();
    match (with, pointer.rsplit_once('/')) {
        (Some(with), _) => *value.pointer_mut(&pointer).unwrap() = with,
        (None, Some((parent, key))) => match value.pointer_mut(parent).unwrap() {
            Value::Object(map) => drop(map.remove(key)),
            other => *other = Value::Null,
        },
        (None, None) => value = Value::Null,
    }
    value
}

fn body(good: Value) -> impl Strategy<Value = Vec<u8>> {
    let text = good.to_string().into_bytes();
    let cut = text.clone();
    prop_oneof![
        4 => Just(text),
        6 => (any::<Index>(), prop::option::weighted(0.8, any_json()))
            .prop_map(move |(place, with)| mutated(good.clone(), place, with).to_string().into_bytes()),
        1 => any::<Index>().prop_map(move |at| cut[..at.index(cut.len())].to_vec()),
        1 => any_json().prop_map(|value| value.to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => Just("[".repeat(BODY_BYTES_MAX - 1).into_bytes()),
        1 => Just(vec![b' '; BODY_BYTES_MAX + 1]),
    ]
}

fn id(known: Vec<String>) -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(known),
        1 => any::<u128>().prop_map(|id| engine::ids::MatchId(id).to_string()),
        1 => "[!-~]{0,40}".prop_map(|text| text.replace(['/', '?', '#'], "%2f")),
        1 => select(vec!["p", "burst"]).prop_map(str::to_owned),
        1 => select(vec!["%ff", "%00", "%", "%zz", "..", "%2e%2e", "batch", "status"]).prop_map(str::to_owned),
    ]
}

fn headers() -> impl Strategy<Value = Vec<(&'static str, Vec<u8>)>> {
    let names = vec![
        "idempotency-key",
        "x-request-id",
        "content-length",
        "authorization",
        "content-type",
        "upgrade",
        "connection",
        "sec-websocket-version",
        "sec-websocket-key",
        "origin",
        "access-control-request-method",
    ];
    let value = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..150),
        select(vec!["k", "Bearer", "application/json", "99999999999999999999", "websocket", "Upgrade", "13"])
            .prop_map(|text| text.as_bytes().to_vec()),
    ];
    let content_type = select(vec!["application/json"; 9]).prop_map(|text| ("content-type", text.as_bytes().to_vec()));
    (prop::option::weighted(0.95, content_type), prop::collection::vec((select(names), value), 0..3))
        .prop_map(|(content_type, rest)| content_type.into_iter().chain(rest).collect())
}

fn query() -> impl Strategy<Value = String> {
    let known = (
        select(vec!["limit", "after", "snake_id", "offset"]),
        select(vec!["1", "0", "-1", "99999999999999999999", "x", ""]),
    );
    let pair = prop_oneof![
        4 => known.prop_map(|(key, value)| format!("{key}={value}")),
        1 => "[!-~]{0,20}".prop_map(|text| text.replace('#', "%23")),
    ];
    prop::collection::vec(pair, 0..4).prop_map(|pairs| pairs.join("&"))
}

fn request(
    (method, path): (String, String),
    ids: Vec<String>,
    games: &[String],
) -> impl Strategy<Value = Parts> + use<> {
    let other = select(vec!["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"]);
    let token = select(vec!["player", "player", "player", "operator", BOOTSTRAP, BOOTSTRAP, "guest", "nobody"]);
    let body = body(good_body(&method, &path, games));
    let method = prop_oneof![9 => Just(method), 1 => other.prop_map(str::to_owned)];
    (method, id(ids), prop::option::weighted(0.7, query()), prop::option::weighted(0.95, token), headers(), body)
        .prop_map(move |(method, id, query, token, headers, body)| Parts {
            method,
            path: path.replace("{id}", &id).replace("{name}", &id).replace("{key}", &id),
            query,
            token,
            headers,
            body,
        })
}

fn junk_path() -> impl Strategy<Value = Parts> {
    ("/[!-~]{0,60}", headers()).prop_map(|(path, headers)| Parts {
        method: "GET".to_owned(),
        path: path.replace('#', "%23"),
        query: None,
        token: None,
        headers,
        body: Vec::new(),
    })
}

impl Parts {
    /// The request; `None` for one that no HTTP parser would let through.
    fn request(self) -> Option<Request<Body>> {
        let target = self.query.map_or(self.path.clone(), |query| format!("{}?{query}", self.path));
        let uri = Uri::try_from(target).ok()?;
        let mut request = Request::builder().method(Method::from_bytes(self.method.as_bytes()).ok()?).uri(uri);
        if let Some(token) = self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in self.headers {
            request = request.header(name, HeaderValue::from_bytes(&value).ok()?);
        }
        request.body(Body::from(self.body)).ok()
    }
}

/// What is wrong with an answer to whatever request.
fn fault(path: &str, status: StatusCode, content_type: Option<&str>) -> Option<String> {
    if status.is_server_error() && !(path == "/readyz" && status == StatusCode::SERVICE_UNAVAILABLE) {
        return Some(format!("{path} answered {status}"));
    }
    // Who is not let in at the door is told so in our words: the reference knows no such refusals.
    let is_at_door = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let is_reference = !is_at_door && (path == "/api/v1" || path.starts_with("/api/v1/"));
    let is_problem =
        content_type == Some(if is_reference { "application/json; charset=utf-8" } else { "application/problem+json" });
    (status.is_client_error() && !is_problem).then(|| format!("{path} answered {status} as {content_type:?}"))
}

#[test]
fn the_judge_can_say_no() {
    let problem = Some("application/problem+json");
    assert!(fault("/x", StatusCode::INTERNAL_SERVER_ERROR, problem).is_some());
    assert!(fault("/x", StatusCode::SERVICE_UNAVAILABLE, problem).is_some());
    assert!(fault("/x", StatusCode::BAD_REQUEST, Some("text/plain")).is_some());
    assert!(fault("/x", StatusCode::BAD_REQUEST, problem).is_none());
    assert!(fault("/x", StatusCode::OK, None).is_none());
}

#[tokio::test]
async fn a_path_that_is_no_text_is_refused_on_every_route() {
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), |_| ()).await;
    for (method, route) in routes() {
        let segments: Vec<&str> = route.split('/').collect();
        let parameters = || segments.iter().enumerate().filter(|(_, segment)| segment.starts_with('{'));
        for (bad, _) in parameters() {
            let mut path = segments.clone();
            parameters().for_each(|(place, _)| path[place] = if place == bad { "%ff" } else { "1" });
            let path = path.join("/");
            let request = Request::builder().method(method.as_str()).uri(&path);
            let request = request.header("authorization", format!("Bearer {BOOTSTRAP}"));
            let request = request.header("content-type", "application/json").body(Body::from("{}")).unwrap();
            let response = server.answer(request).await;
            let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
            assert_eq!(fault(&path, response.status(), content_type), None, "{method} {path}");
        }
    }
}

#[test]
fn no_request_however_malformed_gives_a_500_or_a_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (server, games) = runtime.block_on(async {
        let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), |config| {
            config.http_body_bytes_max = BODY_BYTES_MAX;
        })
        .await;
        // Tickets of hunts are kept by a task of the process; without it a look at an unknown one waits for it.
        tokio::spawn(server::owners::run_hunts(server.app.clone()));
        let games = vec![server.game().await, server.game().await, server.game().await];
        (server, games)
    });
    let ids: Vec<String> = games.iter().cloned().chain([ANNS.to_string()]).collect();
    let routes = routes();
    let strategy = prop_oneof![
        30 => select(routes).prop_flat_map(move |route| request(route, ids.clone(), &games)).boxed(),
        1 => junk_path().boxed(),
    ];
    let seen = RefCell::new(BTreeMap::<u16, u32>::new());
    let config = Config { cases: CASES, source_file: Some(file!()), max_global_rejects: CASES, ..Config::default() };
    let outcome = TestRunner::new(config).run(&strategy, |parts| {
        let Some(request) = parts.request() else {
            return Err(TestCaseError::reject("no HTTP parser would let it through"));
        };
        let path = request.uri().path().to_owned();
        let response = runtime.block_on(server.answer(request));
        let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        *seen.borrow_mut().entry(response.status().as_u16()).or_default() += 1;
        fault(&path, response.status(), content_type).map_or(Ok(()), |fault| Err(TestCaseError::fail(fault)))
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    for status in [200, 201, 204, 400, 401, 403, 404, 405, 409, 413, 415, 422, 426] {
        assert!(seen.borrow().contains_key(&status), "the generator never reached {status}: {:?}", seen.borrow());
    }
}
