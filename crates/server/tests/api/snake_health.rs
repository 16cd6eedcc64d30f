//! `/api/snakes/{id}/check`, `health`, `latency` and `signing-secret`: what owners see, and what strangers do not.

use crate::test_server::{ANNS, BOBS_PRIVATE, BOBS_PUBLIC, TestServer};
use engine::limits::{HEALTH_CHECKS_PER_ACCOUNT_PER_MIN, HEALTH_MOVES_REPEATED};
use engine::matches::entry::AnswerClass;
use serde_json::{Value, json};
use std::sync::Arc;
use store::testing::MemoryDatabase;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A bot that answers every request with these bytes, one request a connection; its URL, and what it received.
async fn bot(answer: &'static str) -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/snake", listener.local_addr().unwrap());
    let (sender, received) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (mut request, mut buffer) = (Vec::new(), [0; 8 * 1024]);
            while !is_whole(&request) {
                let count = stream.read(&mut buffer).await.unwrap();
                assert!(count > 0, "the server hung up in the middle of a request");
                request.extend(&buffer[..count]);
            }
            let _ = sender.send(String::from_utf8(request).unwrap());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, received)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    body.len() == length.parse::<usize>().unwrap()
}

async fn move_to(server: &TestServer, url: &str) {
    server.call(&format!("PUT /api/snakes/{ANNS}")).json(&json!({ "url": url })).check("200").await;
}

async fn check_of(server: &TestServer) -> Value {
    server.call(&format!("POST /api/snakes/{ANNS}/check")).check("200").await.body
}

const GOOD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 33\r\n\r\n{\"apiversion\":\"1\",\"move\":\"right\"}";
const HTML: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 14\r\n\r\n<html>Welcome!";

#[tokio::test]
async fn a_check_says_what_was_sent_and_what_came_back() {
    let server = TestServer::open().await;
    let (url, mut received) = bot(GOOD).await;
    move_to(&server, &url).await;
    let found = check_of(&server).await;
    assert_eq!((&found["is_passed"], &found["fault"]), (&json!(true), &Value::Null), "{found}");
    let calls: Vec<_> = found["calls"].as_array().unwrap().iter().map(|call| call["call"].as_str().unwrap()).collect();
    assert_eq!(calls, ["index", "start", "move", "end"]);
    for (call, line) in found["calls"].as_array().unwrap().iter().zip([
        "GET /snake/ ",
        "POST /snake/start ",
        "POST /snake/move ",
        "POST /snake/end ",
    ]) {
        let request = received.recv().await.unwrap();
        assert!(request.starts_with(line), "{request}");
        assert_eq!(call["request"]["body"].as_str().unwrap(), request.split_once("\r\n\r\n").unwrap().1);
        assert_eq!(call["response"]["status"], 200);
        assert!(call["times_ms"]["connect"].is_number() && call["times_ms"]["first_byte"].is_number(), "{call}");
    }
    let body: Value = serde_json::from_str(found["calls"][2]["request"]["body"].as_str().unwrap()).unwrap();
    assert_eq!((&body["you"]["name"], &body["board"]["width"]), (&json!("bot 1a"), &json!(11)));
    assert_eq!(
        (&found["health"]["status"], &found["health"]["records"][0]["source"]),
        (&json!("healthy"), &json!("request"))
    );
}

/// A bot that keeps its connections is measured as games meet it; one that closes them is told so.
#[tokio::test]
async fn a_check_measures_moves_on_an_open_connection() {
    let server = TestServer::open().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let kept = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer_all(stream));
        }
    });
    move_to(&server, &kept).await;
    let times = check_of(&server).await["move_times"].clone();
    assert_eq!(times["open_connection_ms"].as_array().map(Vec::len), Some(HEALTH_MOVES_REPEATED), "{times}");
    assert!(times["first_call_ms"].is_number() && times["open_connection_median_ms"].is_number(), "{times}");
    assert_eq!((&times["is_connection_closed"], &times["fault"]), (&json!(false), &Value::Null), "{times}");

    let (closing, _) = bot(GOOD).await;
    move_to(&server, &closing).await;
    let times = check_of(&server).await["move_times"].clone();
    assert_eq!((&times["is_connection_closed"], &times["open_connection_ms"]), (&json!(true), &json!([])), "{times}");

    let (page, _) = bot(HTML).await;
    move_to(&server, &page).await;
    assert_eq!(check_of(&server).await["move_times"], Value::Null);
}

/// Answers each request on a connection with [`GOOD`], until the peer closes it.
async fn answer_all(mut stream: TcpStream) {
    let (mut request, mut buffer) = (Vec::new(), [0; 8 * 1024]);
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        request.extend(&buffer[..count]);
        if is_whole(&request) {
            request.clear();
            let _ = stream.write_all(GOOD.as_bytes()).await;
        }
    }
}

#[tokio::test]
async fn a_bot_behind_a_web_page_is_told_so_paused_and_brought_back() {
    let server = TestServer::open().await;
    let health = async || server.call(&format!("GET /api/snakes/{ANNS}/health")).check("200").await.body;
    assert_eq!(health().await["status"], "untested");
    let (page, _) = bot(HTML).await;
    move_to(&server, &page).await;
    for status in ["failing", "failing", "paused"] {
        let found = check_of(&server).await;
        assert_eq!((&found["fault"]["code"], &found["health"]["status"]), (&json!("html"), &json!(status)));
        let of_move = &found["calls"][2];
        assert_eq!(
            (&of_move["class"], &of_move["response"]["body_start"]),
            (&json!("malformed"), &json!("<html>Welcome!"))
        );
    }
    assert_eq!(health().await["reason"]["code"], "html");
    let (url, _received) = bot(GOOD).await;
    move_to(&server, &url).await;
    for status in ["paused", "healthy"] {
        assert_eq!(check_of(&server).await["health"]["status"], status);
    }
    assert_eq!(health().await["records"].as_array().unwrap().len(), 5);
}

/// With private addresses refused, an open port, a closed one and a name that leads nowhere look the same.
#[tokio::test]
async fn a_check_is_no_way_into_the_servers_network() {
    let server =
        TestServer::open_with(Arc::new(MemoryDatabase::new()), |config| config.allow_private_bots = false).await;
    let open = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut answers = Vec::new();
    // Names are checked when they are resolved; so these URLs were registered when private addresses were allowed.
    for url in [
        format!("http://{}/", open.local_addr().unwrap()),
        "http://127.0.0.1:9/".to_owned(),
        "http://none.invalid/".to_owned(),
    ] {
        let bots = server.app.node.store.read(|reader| reader.bots_by_id(&[ANNS])).await.unwrap();
        let bot = engine::rows::Bot { url: url.clone(), ..bots[0].clone() };
        server.commit(engine::commands::Command::UpdateBot(bot)).await;
        let mut found = check_of(&server).await;
        assert_eq!(found["fault"]["code"], "no_public_address");
        let calls = found["calls"].take().to_string().replace(url.trim_end_matches('/'), "");
        // The request has the game's id and the time.
        answers.push((found["fault"].to_string(), calls));
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
}

#[tokio::test]
async fn only_the_owner_may_look_and_only_so_often() {
    let server = TestServer::open().await;
    for route in
        ["POST {}/check", "GET {}/health", "GET {}/latency", "POST {}/signing-secret", "DELETE {}/signing-secret"]
    {
        for (other, want) in [(BOBS_PUBLIC, "403 not_owner"), (BOBS_PRIVATE, "404 no_such_snake")] {
            server.call(&route.replace("{}", &format!("/api/snakes/{other}"))).check(want).await;
        }
    }
    let (url, _received) = bot(GOOD).await;
    move_to(&server, &url).await;
    for _ in 0..HEALTH_CHECKS_PER_ACCOUNT_PER_MIN {
        check_of(&server).await;
    }
    let refused = server.call(&format!("POST /api/snakes/{ANNS}/check")).check("429 too_many_checks").await;
    assert!(refused.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() <= 60);
}

#[tokio::test]
async fn latencies_are_shown_by_hour_of_the_day() {
    let server = TestServer::open().await;
    let now = server.app.node.clock.now();
    let mut calls = engine::health::BotCalls::default();
    calls.record(AnswerClass::Valid, 40);
    calls.record(AnswerClass::Late, 500);
    let hour = bot_client::statistics::hour_of(now);
    let rows = vec![engine::rows::BotCallsRow { bot: ANNS, hour, calls }];
    server.commit(engine::commands::Command::Bot(engine::commands::BotCommand::SaveCalls { process: 1, rows })).await;
    let found = server.call(&format!("GET /api/snakes/{ANNS}/latency")).check("200").await.body;
    let of_hour = &found["hours"][hour as usize % 24];
    let want = json!({
        "hour": hour % 24, "calls": 2, "p50_ms": 41, "p95_ms": 500, "p99_ms": 500,
        "classes": [{"class": "valid", "calls": 1}, {"class": "late", "calls": 1}],
    });
    assert_eq!(of_hour, &want);
    assert_eq!(found["hours"].as_array().unwrap().len(), 24);
}

#[tokio::test]
async fn a_signing_secret_is_shown_once_and_signs_the_next_calls() {
    let server = TestServer::open().await;
    let (url, mut received) = bot(GOOD).await;
    move_to(&server, &url).await;
    let path = format!("/api/snakes/{ANNS}/signing-secret");
    server.call(&format!("DELETE {path}")).check("404 no_such_snake").await;
    check_of(&server).await;
    assert!(!received.recv().await.unwrap().contains("gauntlet-signature"));
    let first = server.call(&format!("POST {path}")).check("201").await.body;
    assert!(first["secret"].as_str().unwrap().starts_with("bsec_") && first["previous_until"].is_null(), "{first}");
    let second = server.call(&format!("POST {path}")).check("201").await.body;
    assert_ne!(first["secret"], second["secret"]);
    assert!(second["previous_until"].is_string());
    while received.try_recv().is_ok() {}
    check_of(&server).await;
    let request = received.recv().await.unwrap();
    let signature = request.lines().find_map(|line| line.strip_prefix("gauntlet-signature: ")).unwrap();
    assert_eq!(signature.matches(",v1=").count(), 2, "with the secret before, too: {signature}");
    server.call(&format!("DELETE {path}")).check("204").await;
    while received.try_recv().is_ok() {}
    check_of(&server).await;
    assert!(!received.recv().await.unwrap().contains("gauntlet-signature"));
}
