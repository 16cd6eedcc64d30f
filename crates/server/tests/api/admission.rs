//! The rate limiter at the door: who is charged, for what, and when.

use crate::test_server::{ANNS, BOBS_PUBLIC, Call, LOAD_TEST, Reply, TestServer};
use axum::body::{Body, Bytes};
use futures_util::stream;
use gateway::listener::{ListenerConfig, serve};
use serde_json::{Value, json};
use settings::{Config, Networks};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::testing::MemoryDatabase;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// What has not come after this time does not come any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// A user may create two games in an hour, a load test ten; an address may ask three times without a good token.
const POLICIES: &str = r#"
[[policy]]
name = "creations"
class = "gateway.player.create"
key = "token:*"
limit = 2
window = "3600s"

[[policy]]
name = "trials"
class = "gateway.load_test.*"
key = "token:*"
limit = 10
window = "3600s"

[[policy]]
name = "strangers"
class = "gateway.anonymous.*"
key = "address:*"
limit = 3
window = "3600s"
"#;

fn game() -> Value {
    json!({ "snakes": [ANNS.to_string()] })
}

fn games(count: usize) -> Value {
    json!({ "games": vec![game(); count] })
}

async fn server() -> TestServer {
    let server = TestServer::open().await;
    server.limit(POLICIES).await;
    server
}

fn create(server: &TestServer) -> Call {
    server.call("POST /api/games").json(&game())
}

fn header<'a>(reply: &'a Reply, name: &str) -> &'a str {
    reply.headers.get(name).map_or("", |value| value.to_str().unwrap())
}

/// A limiter that cannot tell a load test from a user turns the load test into a test of the limiter.
#[tokio::test]
async fn a_user_is_denied_where_a_load_test_passes() {
    let server = server().await;
    for _ in 0..2 {
        create(&server).check("201").await;
    }
    create(&server).check("429 rate_limited").await;
    for _ in 0..10 {
        create(&server).by(LOAD_TEST).check("201").await;
    }
    create(&server).by(LOAD_TEST).check("429 rate_limited").await;
    create(&server).by("operator").check("201").await;
    create(&server).by("bob").check("400 unknown_snake").await;
    assert_eq!(server.claim().await.len(), 13, "exactly what was answered with 201 is there");
}

#[tokio::test]
async fn answers_say_what_is_left() {
    let server = server().await;
    let reply = create(&server).check("201").await;
    assert_eq!(header(&reply, "ratelimit-policy"), r#""creations";q=2;w=3600"#);
    assert!(header(&reply, "ratelimit").starts_with(r#""creations";r=1;t="#), "{reply:?}");
    assert_eq!(header(&reply, "retry-after"), "");
    // A request that the handler refuses was a request all the same.
    let reply = server.call("POST /api/games").json(&json!({})).check("422 bad_shape").await;
    assert!(header(&reply, "ratelimit").starts_with(r#""creations";r=0;t="#), "{reply:?}");
    let reply = create(&server).check("429 rate_limited").await;
    assert_eq!(header(&reply, "ratelimit-policy"), r#""creations";q=2;w=3600"#);
    assert!(header(&reply, "ratelimit").starts_with(r#""creations";r=0;t="#), "{reply:?}");
    let seconds: u64 = header(&reply, "retry-after").parse().unwrap();
    assert!((1..=3_600).contains(&seconds), "{seconds}");
    let reply = server.call("GET /api/games").check("200").await;
    assert_eq!(header(&reply, "ratelimit-policy"), "", "no policy is for it");
}

#[tokio::test]
async fn a_bad_token_is_charged_to_its_address() {
    let server = server().await;
    let ask = |from: &str, by: &str| server.call("GET /api/games").by(by).from(from);
    ask("192.0.2.1", "").check("401 token_missing").await;
    ask("192.0.2.1", "unknown").check("401 token_unknown").await;
    server.call("GET /api/none").by("").from("192.0.2.1").check("404 no_such_route").await;
    ask("192.0.2.1", "unknown").check("429 rate_limited").await;
    ask("192.0.2.1", "").check("429 rate_limited").await;
    ask("192.0.2.2", "").check("401 token_missing").await;
    ask("192.0.2.1", "player").check("200").await;
    for line in ["GET /healthz", "GET /readyz", "GET /metrics"] {
        server.call(line).by("").from("192.0.2.1").check("200").await;
    }
}

#[tokio::test]
async fn a_request_asks_once_who_sent_it() {
    let server = server().await;
    for _ in 0..2 {
        let before = server.sample("gauntlet_store_query_seconds_count");
        server.call("GET /api/games").by("unknown").check("401 token_unknown").await;
        assert_eq!(
            server.sample("gauntlet_store_query_seconds_count") - before,
            1,
            "tokens that nobody has are looked up anew"
        );
    }
    server.call("GET /api/tokens").check("200").await;
    let before = server.sample("gauntlet_store_query_seconds_count");
    server.call("GET /api/tokens").check("200").await;
    assert_eq!(
        server.sample("gauntlet_store_query_seconds_count") - before,
        1,
        "a token that was just seen is remembered"
    );
}

#[tokio::test]
async fn neighbours_of_ipv6_are_one_address() {
    let server = server().await;
    for host in 1..=3 {
        server.call("GET /api/games").by("").from(&format!("2001:db8::{host}")).check("401 token_missing").await;
    }
    server.call("GET /api/games").by("").from("2001:db8::ffff").check("429 rate_limited").await;
    server.call("GET /api/games").by("").from("2001:db8:0:1::1").check("401 token_missing").await;
}

/// Three requests for one client over a proxy, then one more for it and one for another.
async fn check_proxied(trusted: &str, want_same: &str, want_other: &str) {
    let configure = |config: &mut Config| config.http_trusted_proxies = Networks::parse(trusted).unwrap();
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), configure).await;
    server.limit(POLICIES).await;
    let ask = |client: &str| {
        let forwarded = format!("203.0.113.77, {client}");
        server.call("GET /api/games").by("").from("10.0.0.1").header("x-forwarded-for", &forwarded)
    };
    for _ in 0..3 {
        ask("198.51.100.1").check("401 token_missing").await;
    }
    ask("198.51.100.1").check(want_same).await;
    ask("198.51.100.2").check(want_other).await;
}

#[tokio::test]
async fn a_proxy_is_believed_if_it_is_trusted() {
    check_proxied("10.0.0.0/8", "429 rate_limited", "401 token_missing").await;
    check_proxied("10.9.9.9", "429 rate_limited", "429 rate_limited").await;
}

/// It is not the proxy itself that asks, whose address may be exempt from much.
#[tokio::test]
async fn a_client_that_the_proxy_does_not_tell_is_refused() {
    let configure = |config: &mut Config| config.http_trusted_proxies = Networks::parse("10.0.0.0/8").unwrap();
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), configure).await;
    for (line, peer, forwarded, want) in [
        ("GET /api/games/live", "10.0.0.1", "unknown", "400 bad_forwarded_for"),
        ("GET /api/games/live", "10.0.0.1", "198.51.100.1, junk", "400 bad_forwarded_for"),
        ("POST /api/limits/check", "10.0.0.1", "junk", "400 bad_forwarded_for"),
        ("GET /api/games/live", "10.0.0.1", "junk, 198.51.100.1", "200"),
        ("GET /api/games/live", "192.0.2.1", "junk", "200"),
        ("GET /healthz", "10.0.0.1", "junk", "200"),
    ] {
        server.call(line).by("").from(peer).header("x-forwarded-for", forwarded).check(want).await;
    }
    server.call("GET /api/games/live").by("").from("10.0.0.1").check("200").await;
}

/// A body that notes that the server asked for it.
fn watched_body() -> (Body, Arc<AtomicBool>) {
    let is_read = Arc::<AtomicBool>::default();
    let note = is_read.clone();
    let chunk = stream::once(async move {
        note.store(true, Ordering::SeqCst);
        Ok::<_, Infallible>(Bytes::from_static(b"{"))
    });
    (Body::from_stream(chunk), is_read)
}

#[tokio::test]
async fn a_denial_reads_nothing_of_the_body() {
    let server = server().await;
    let broken = || {
        let (body, is_read) = watched_body();
        (server.call("POST /api/games").header("content-type", "application/json").raw(body), is_read)
    };
    for want in ["400 bad_json", "400 bad_json"] {
        let (call, is_read) = broken();
        call.check(want).await;
        assert!(is_read.load(Ordering::SeqCst));
    }
    let (call, is_read) = broken();
    call.check("429 rate_limited").await;
    assert!(!is_read.load(Ordering::SeqCst), "the body of a denied request is not read");
}

#[tokio::test]
async fn a_batch_pays_for_all_of_its_games_or_creates_none() {
    let server = server().await;
    let batch = |count: usize| server.call("POST /api/games/batch").by(LOAD_TEST).json(&games(count));
    let reply = batch(4).check("200").await;
    assert!(header(&reply, "ratelimit").starts_with(r#""trials";r=6;t="#), "{reply:?}");
    assert_eq!(server.claim().await.len(), 4);
    let reply = batch(7).check("429 rate_limited").await;
    assert!(header(&reply, "retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0), "{reply:?}");
    assert_eq!(server.claim().await.len(), 0, "nothing of a denied batch is created");
    // What arrived was taken; the rest was not.
    let reply = batch(1).check("200").await;
    assert!(header(&reply, "ratelimit").starts_with(r#""trials";r=4;t="#), "{reply:?}");
    // One more than the limit: the rest alone would fit, but never together with the first.
    for count in [11, 12] {
        let reply = batch(count).check("422 never_allowed").await;
        assert_eq!(header(&reply, "retry-after"), "", "no time would help");
        assert_eq!(header(&reply, "ratelimit-policy"), r#""trials";q=10;w=3600"#);
    }
    batch(2).check("200").await;
    batch(1).check("429 rate_limited").await;
    assert_eq!(server.claim().await.len(), 3);
}

/// Games that cannot be played were asked for all the same, and a shape that is none is worth one unit.
#[tokio::test]
async fn a_batch_is_worth_what_it_asks_for() {
    let server = server().await;
    let batch = |body: Value| server.call("POST /api/games/batch").by(LOAD_TEST).json(&body);
    let reply = batch(json!({ "games": [7, {}, game()] })).check("200").await;
    assert!(header(&reply, "ratelimit").starts_with(r#""trials";r=7;t="#), "{reply:?}");
    let reply = batch(json!({ "games": 7 })).check("422 bad_shape").await;
    assert!(header(&reply, "ratelimit").starts_with(r#""trials";r=6;t="#), "{reply:?}");
    let reply = batch(games(1_001)).check("400 bad_value /games").await;
    assert!(header(&reply, "ratelimit").starts_with(r#""trials";r=5;t="#), "{reply:?}");
}

#[tokio::test]
async fn one_denial_among_several_policies_charges_none() {
    let server = TestServer::open().await;
    let both = r#"
        [[policy]]
        name = "token"
        class = "gateway.player.read"
        key = "token:*"
        limit = 5
        window = "3600s"

        [[policy]]
        name = "address"
        class = "gateway.*"
        key = "address:*"
        limit = 2
        window = "3600s"
    "#;
    server.limit(both).await;
    let ask = |from: &str| server.call("GET /api/games").from(from);
    for want in ["200", "200", "429 rate_limited", "429 rate_limited"] {
        ask("192.0.2.1").check(want).await;
    }
    for want in ["200", "200", "429 rate_limited"] {
        ask("192.0.2.2").check(want).await;
    }
    let reply = ask("192.0.2.3").check("200").await;
    assert!(header(&reply, "ratelimit").contains(r#""token";r=0;"#), "five were charged: {reply:?}");
}

#[tokio::test]
async fn pages_of_other_origins_may_read_what_is_left() {
    let server = TestServer::open().await;
    server.limit(&POLICIES.replace("gateway.anonymous.*", "gateway.*.read")).await;
    let ask = || server.call("GET /api/openapi.json").from("192.0.2.1").header("origin", "https://board.example");
    for want in ["200", "200", "200", "429 rate_limited"] {
        let reply = ask().check(want).await;
        assert_eq!(header(&reply, "access-control-allow-origin"), "*");
        let exposed = header(&reply, "access-control-expose-headers");
        assert!(
            ["ratelimit", "ratelimit-policy", "retry-after"].iter().all(|name| exposed.contains(name)),
            "{exposed}"
        );
    }
}

/// The server behind a real door; the address.
async fn open_door(server: &TestServer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (limits, metrics) = (ListenerConfig::of(&server.app.config, PATIENCE), server.app.metrics.clone());
    tokio::spawn(serve(listener, server.front(), limits, metrics, std::future::pending()));
    address
}

/// The first line that comes back for the head of a creation, of whose body nothing is ever sent.
async fn first_line(address: SocketAddr, more: &str) -> String {
    let mut client = BufReader::new(TcpStream::connect(address).await.unwrap());
    let head = format!(
        "POST /api/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 16000\r\n{more}\r\n"
    );
    client.write_all(head.as_bytes()).await.unwrap();
    let mut line = String::new();
    timeout(PATIENCE, client.read_line(&mut line)).await.expect("an answer comes").unwrap();
    line.trim_end().to_owned()
}

/// A denied client need not connect again: its connection is kept, and denies are cheap for both sides.
#[tokio::test]
async fn a_connection_outlives_its_denials() {
    let server = server().await;
    let mut client = BufReader::new(TcpStream::connect(open_door(&server).await).await.unwrap());
    let body = game().to_string();
    let request = format!(
        "POST /api/games HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer player\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut statuses = Vec::new();
    for _ in 0..5 {
        client.write_all(request.as_bytes()).await.unwrap();
        statuses.push(answer(&mut client).await);
    }
    assert_eq!(statuses, ["201", "201", "429", "429", "429"]);
    assert_eq!(server.sample("gauntlet_http_connections_accepted_total"), 1);
}

/// The status of the next answer, read to its end.
async fn answer(client: &mut BufReader<TcpStream>) -> String {
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let start = head.len();
        assert_ne!(timeout(PATIENCE, client.read_line(&mut head)).await.unwrap().unwrap(), 0, "closed after {head:?}");
        length = head[start..].strip_prefix("content-length: ").map_or(length, |text| text.trim().parse().unwrap());
    }
    client.read_exact(&mut vec![0; length]).await.unwrap();
    head.split(' ').nth(1).unwrap().to_owned()
}

/// A client that asks before it sends is told at once, and a body that was promised is not waited for.
#[tokio::test]
async fn a_denial_comes_before_the_body_is_sent() {
    let server = server().await;
    let address = open_door(&server).await;
    let player = "Authorization: Bearer player\r\n";
    let asking = format!("{player}Expect: 100-continue\r\n");
    for _ in 0..2 {
        assert_eq!(first_line(address, &asking).await, "HTTP/1.1 100 Continue");
    }
    assert_eq!(first_line(address, &asking).await, "HTTP/1.1 429 Too Many Requests");
    assert_eq!(first_line(address, player).await, "HTTP/1.1 429 Too Many Requests");
    // A stranger is charged by the address of the socket.
    for _ in 0..3 {
        assert_eq!(first_line(address, "").await, "HTTP/1.1 401 Unauthorized");
    }
    assert_eq!(first_line(address, "").await, "HTTP/1.1 429 Too Many Requests");
}

/// A hundred tokens of one account are one user.
#[tokio::test]
async fn an_account_is_limited_with_all_of_its_tokens() {
    let server = TestServer::open().await;
    let policy = r#"
        [[policy]]
        name = "creations"
        class = "gateway.player.create"
        key = "account:*"
        limit = 3
        window = "3600s"
    "#;
    server.limit(policy).await;
    let mut secrets = vec!["player".to_owned()];
    for name in ["second", "third"] {
        let made = server.call("POST /api/tokens").json(&json!({ "name": name })).check("201").await.body;
        secrets.push(made["secret"].as_str().unwrap().to_owned());
    }
    for secret in &secrets {
        create(&server).by(secret).check("201").await;
    }
    for secret in &secrets {
        create(&server).by(secret).check("429 rate_limited").await;
    }
    let bobs = json!({ "snakes": [BOBS_PUBLIC.to_string()] });
    server.call("POST /api/games").by("bob").json(&bobs).check("201").await;
}

/// A server that others reach, as it starts when nothing is configured.
async fn reached_by_others() -> TestServer {
    TestServer::open_with(Arc::new(MemoryDatabase::default()), |config| config.limiter_defaults = true).await
}

/// Sixty people in one room share an address: they take their names together, and play.
#[tokio::test]
async fn a_class_behind_one_address_plays_under_the_built_in_policies() {
    let server = reached_by_others().await;
    for pupil in 0..60 {
        let name = json!({ "name": format!("Pupil {pupil}") });
        let guest = server.call("POST /api/stories/guests").by("").from("192.0.2.1").json(&name).check("201").await;
        let token = guest.body["token"].as_str().unwrap().to_owned();
        for _ in 0..10 {
            server.call("GET /api/stories/lobby").by(&token).from("192.0.2.1").check("200").await;
        }
        server.call("POST /api/stories/games").by(&token).from("192.0.2.1").json(&json!({})).check("201").await;
    }
}

#[tokio::test]
async fn one_stranger_is_refused_where_others_and_operators_pass() {
    let server = reached_by_others().await;
    let create = |from: &str, by: &str| create(&server).by(by).from(from);
    let mut refused = 0;
    // A unit comes back each second: a slow machine needs more than the sixty that are free at first.
    for _ in 0..1_000 {
        refused += usize::from(create("192.0.2.1", "").send().await.status == 429);
    }
    assert!(refused > 0, "a thousand attempts without an account");
    create("192.0.2.2", "").check("401 token_missing").await;
    for _ in 0..100 {
        create("192.0.2.1", "operator").check("201").await;
    }
    let policies = server.call("GET /api/limits/policies").by("operator").check("200").await;
    assert!(policies.body["policies"].as_array().unwrap().iter().all(|policy| policy["source"] == "built_in"));
    server.call("DELETE /api/limits/policies/guest").by("operator").check("409 set_in_file").await;
}
