//! Invalid input of every kind: a clear refusal, and nothing stored.

use crate::connections::listen;
use crate::play::{Person, Stage, Story};
use crate::test_server::TestServer;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What has not come after this time does not come any more.
const PATIENCE: Duration = Duration::from_secs(60);
const NOBODYS: &str = "0190b5a4-7c1e-7000-8000-000000000001";

#[tokio::test]
async fn invalid_requests_in_a_game() {
    let story = Story::at(Stage::Chosen).await;
    let before = story.state(&story.ann.token).await;
    let long = "x".repeat(501);
    let many: Vec<_> = (0..51).map(|_| NOBODYS).collect();
    let rows = [
        ("card", json!({ "card": 0 }), "400 bad_value /card"),
        ("card", json!({ "card": 44 }), "400 bad_value /card"),
        ("card", json!({ "card": -1 }), "400 bad_value /card"),
        ("card", json!({ "card": 1e3 }), "422 bad_shape"),
        ("card", json!({ "card": "7" }), "422 bad_shape"),
        ("card", json!({ "card": null }), "422 bad_shape"),
        ("card", json!({}), "422 bad_shape"),
        ("card", json!([7]), "422 bad_shape"),
        ("sentence", json!({ "sentence": "" }), "400 bad_value /sentence"),
        ("sentence", json!({ "sentence": " \u{200b}" }), "400 bad_value /sentence"),
        ("sentence", json!({ "sentence": "two\nlines" }), "400 bad_value /sentence"),
        ("sentence", json!({ "sentence": "two\u{2028}lines" }), "400 bad_value /sentence"),
        ("sentence", json!({ "sentence": "evil\u{202e}live" }), "400 bad_value /sentence"),
        ("sentence", json!({ "sentence": "nul\u{0}" }), "400 bad_value /sentence"),
        ("sentence", json!({ "sentence": "é".repeat(81) }), "400 bad_value /sentence"),
        ("sentence", json!({ "sentence": 7 }), "422 bad_shape"),
        ("invite", json!({ "players": [] }), "400 bad_value /players"),
        ("invite", json!({ "players": many }), "400 bad_value /players"),
        ("invite", json!({ "players": [NOBODYS, "ann"] }), "400 bad_value /players/1"),
        ("invite", json!({ "players": NOBODYS }), "422 bad_shape"),
        ("countdown", json!({ "countdown_ms": -1 }), "400 bad_value /countdown_ms"),
        ("countdown", json!({ "countdown_ms": "1m" }), "422 bad_shape"),
        ("bots", json!({ "are_on": 1 }), "422 bad_shape"),
        // A misspelled member does not count as an omitted one.
        ("card", json!({ "card": 7, "crad": 8 }), "422 bad_shape"),
        ("sentence", json!({ "sentence": "So far away", "x": 1 }), "422 bad_shape"),
        ("invite", json!({ "players": [NOBODYS], "player": NOBODYS }), "422 bad_shape"),
        ("countdown", json!({ "countdown_ms": 1_000, "countdown": "1s" }), "422 bad_shape"),
        ("bots", json!({ "are_on": true, "bots": true }), "422 bad_shape"),
    ];
    for (action, body, want) in rows {
        story.post(&story.ann, action, Some(body)).check(want).await;
    }
    story
        .post(&story.ann, "card", None)
        .raw("{")
        .header("content-type", "application/json")
        .check("400 bad_json")
        .await;
    story.post(&story.ann, "card", None).raw("card=7").check("415 not_json").await;
    let chat = format!("POST /api/stories/tables/{}/chat", story.table);
    for text in ["", "\t", "two\nlines", &long] {
        let reply = story.server.call(&chat).by(&story.ben.token).json(&json!({ "text": text }));
        reply.check("400 bad_value /text").await;
    }
    assert_eq!(story.state(&story.ann.token).await, before);
    // The storyteller may set the countdown only where one may run, and within limits.
    story.go_on_to(Stage::Told).await;
    for countdown_ms in [1, 99, 86_400_001_i64] {
        let set = story.post(&story.ann, "countdown", Some(json!({ "countdown_ms": countdown_ms })));
        set.check("400 bad_value /countdown_ms").await;
    }
}

#[tokio::test]
async fn missing_games_and_tables_and_invalid_queries() {
    let story = Story::at(Stage::Told).await;
    let rows = [
        ("GET /api/stories/games/x", "400 bad_id"),
        (&format!("GET /api/stories/games/{NOBODYS}"), "400 bad_id"),
        (&format!("GET /api/stories/games/{NOBODYS}-01"), "400 bad_id"),
        (&format!("GET /api/stories/games/{NOBODYS}-1"), "404 no_such_game"),
        (&format!("GET /api/stories/games/{NOBODYS}-1/history"), "404 no_such_game"),
        (&format!("POST /api/stories/games/{NOBODYS}-1/join"), "404 no_such_game"),
        (&format!("POST /api/stories/games/{NOBODYS}-1/leave"), "404 no_such_game"),
        (&format!("GET /api/stories/games/{}-2", story.table), "404 no_such_game"),
        (&format!("GET /api/stories/games/{}/history", story.game), "409 game_live"),
        ("GET /api/stories/tables/x", "400 bad_id"),
        (&format!("GET /api/stories/tables/{NOBODYS}"), "404 no_such_table"),
        ("GET /api/stories/players/x", "400 bad_id"),
        ("GET /api/stories/cards/0.svg", "404 no_such_card"),
        ("GET /api/stories/cards/44.svg", "404 no_such_card"),
        ("GET /api/stories/cards/07.svg", "404 no_such_card"),
        ("GET /api/stories/cards/7", "404 no_such_card"),
        ("GET /api/stories/cards/7.png", "404 no_such_card"),
        ("GET /api/stories/my-games?state=over", "400 bad_value state"),
        ("GET /api/stories/my-games?limit=ten", "400 bad_value limit"),
        ("GET /api/stories/my-games?after=7", "400 bad_value after"),
        ("GET /api/stories/lobby?after=x", "400 bad_value after"),
        ("GET /api/stories/history?limit=x", "400 bad_value limit"),
        ("GET /api/stories/history?state=ended", "400 bad_value state"),
        ("GET /api/stories/my-games?state=live&limt=5", "400 bad_value limt"),
        ("GET /api/stories/my-games?a%20b", "400 bad_value a b"),
        (&format!("GET /api/stories/tables/{}/feed?aftre=3", story.table), "400 bad_value aftre"),
        (&format!("GET /api/stories/tables/{}/socket?after=3&wait=1s", story.table), "400 bad_value wait"),
        (&format!("GET /api/stories/games/{}?after=3", story.game), "400 bad_value after"),
        (&format!("POST /api/stories/games/{}/join?after=3", story.game), "400 bad_value after"),
        ("GET /api/stories/cards/7.svg?v=2", "200"),
    ];
    for (line, want) in rows {
        let mut words = want.splitn(3, ' ');
        let (status, code, field) = (words.next().unwrap(), words.next().unwrap_or_default(), words.next());
        let reply = story.server.call(line).by(&story.eve.token).check(format!("{status} {code}").trim()).await;
        assert_eq!(reply.body["field"].as_str(), field, "{line}");
    }
}

/// A stream is a response without an end: it is started only where a disconnect is noticed.
#[tokio::test]
async fn streams_that_cannot_be_kept_open() {
    let story = Story::at(Stage::Told).await;
    let feed = format!("/api/stories/tables/{}/feed", story.table);
    let ask = |method: &str| {
        let call = story.server.call(&format!("{method} {feed}")).by("").header("accept", "text/event-stream");
        call.header("last-event-id", "1")
    };
    let refused = ask("GET").check("400 bad_value").await;
    assert_eq!(refused.body["field"], "Accept");
    let head = ask("HEAD").check("200").await;
    assert_eq!((&head.headers["content-type"], &head.bytes[..]), (&"text/event-stream".parse().unwrap(), &b""[..]));
    // With a real listener the body counts: its remaining bytes would be taken for the next request.
    let address = listen(&story.server).await;
    for (body, want) in [("", "HTTP/1.1 200 OK"), ("x", "HTTP/1.1 400 Bad Request")] {
        let length = body.len();
        let head = format!(
            "GET {feed}?after=0 HTTP/1.1\r\nHost: here\r\nAccept: text/event-stream\r\nContent-Length: {length}"
        );
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
        let mut status = vec![0; want.len()];
        connection.read_exact(&mut status).await.unwrap();
        assert_eq!(String::from_utf8(status).unwrap(), want);
    }
}

#[tokio::test]
async fn invalid_openings() {
    let server = TestServer::open().await;
    let ann = Person::come(&server, "Ann").await;
    let rules = |settings: Value| json!({ "settings": settings });
    let rows = [
        (json!([]), "422 bad_shape"),
        (json!({ "table": 7 }), "422 bad_shape"),
        (json!({ "table": "x" }), "400 bad_value /table"),
        (json!({ "table": NOBODYS }), "404 no_such_table"),
        (json!({ "table": NOBODYS, "bots": true }), "400 bad_value /bots"),
        (json!({ "table": NOBODYS, "settings": {} }), "400 bad_value /settings"),
        (json!({ "bots": "yes" }), "422 bad_shape"),
        (rules(json!({ "hands": 6 })), "422 bad_shape"),
        (rules(json!({ "players_max": 2 })), "400 bad_value /settings/players_max"),
        (rules(json!({ "players_max": 13 })), "400 bad_value /settings/players_max"),
        (rules(json!({ "players_max": 1_000_000 })), "400 bad_value /settings/players_max"),
        (rules(json!({ "players_max": -6 })), "400 bad_value /settings/players_max"),
        (rules(json!({ "hand": 7 })), "400 bad_value /settings/hand"),
        (rules(json!({ "players_max": 10 })), "400 bad_value /settings/players_max"),
        (rules(json!({ "players_max": 10, "hand": 6 })), "400 bad_value /settings/hand"),
        (rules(json!({ "deck": 35 })), "400 bad_value /settings/deck"),
        (rules(json!({ "deck": 37 })), "400 bad_value /settings/deck"),
        (rules(json!({ "picked_min": 1 })), "400 bad_value /settings/picked_min"),
        (rules(json!({ "voted_min": 6 })), "400 bad_value /settings/voted_min"),
        (rules(json!({ "countdown_ms": 0 })), "400 bad_value /settings/countdown_ms"),
        (rules(json!({ "bots_difficulty": "Plain" })), "400 bad_value /settings/bots_difficulty"),
        (rules(json!({ "bots_difficulty": "" })), "400 bad_value /settings/bots_difficulty"),
        (rules(json!({ "bots_difficulty": 1 })), "422 bad_shape"),
        (json!({ "bots": { "difficulty": "plain" } }), "422 bad_shape"),
        (rules(json!({ "game_timeout_ms": -5 })), "400 bad_value /settings/game_timeout_ms"),
        (
            rules(json!({ "next_storyteller_timeout_ms": 1e12 as i64 })),
            "400 bad_value /settings/next_storyteller_timeout_ms",
        ),
    ];
    for (body, want) in rows {
        server.call("POST /api/stories/games").by(&ann.token).json(&body).check(want).await;
    }
    let both = rules(json!({ "players_max": 2, "voted_min": 0, "bots_difficulty": "hard" }));
    let reply = server.call("POST /api/stories/games").by(&ann.token).json(&both).check("400 bad_value").await;
    let detail = reply.body["detail"].as_str().unwrap();
    assert!(
        detail.contains("players_max") && detail.contains("voted_min") && detail.contains("plain, oblique, riddling"),
        "all errors at once: {detail}"
    );
    assert_eq!(server.call("GET /api/stories/my-games").by(&ann.token).check("200").await.body, json!([]));
    let least = rules(json!({ "players_max": 3, "hand": 3, "picked_min": 2, "voted_min": 1, "countdown_ms": 100 }));
    server.call("POST /api/stories/games").by(&ann.token).json(&least).check("201").await;
    for (body, want) in [
        (json!({ "bots": true }), (true, "oblique")),
        (json!({ "bots": true, "settings": { "bots_difficulty": "plain" } }), (true, "plain")),
        (rules(json!({ "bots_difficulty": "riddling" })), (false, "riddling")),
    ] {
        let opened = server.call("POST /api/stories/games").by(&ann.token).json(&body).check("201").await.body;
        assert_eq!((&opened["bots"], &opened["settings"]["bots_difficulty"]), (&json!(want.0), &json!(want.1)));
    }
}

#[tokio::test]
async fn invalid_guests() {
    let server = TestServer::open().await;
    for (name, want) in [
        (json!("Ann"), "201"),
        (json!("🎴".repeat(32)), "201"),
        (json!("🎴".repeat(33)), "400 bad_value /name"),
        (json!(""), "400 bad_value /name"),
        (json!("a\u{7}b"), "400 bad_value /name"),
        (json!(null), "422 bad_shape"),
        (json!(7), "422 bad_shape"),
    ] {
        server.call("POST /api/stories/guests").by("").json(&json!({ "name": name })).check(want).await;
    }
    let unknown = json!({ "name": "Ann", "nmae": "Ann" });
    let refused = server.call("POST /api/stories/guests").by("").json(&unknown).check("422 bad_shape").await;
    let detail = refused.body["detail"].as_str().unwrap();
    assert!(detail.contains("`nmae`, expected `name`"), "{detail}");
}

/// Sends these bytes to a real listener: the statuses and codes of all responses, up to the end of the connection.
async fn responses(listener: SocketAddr, bytes: &str) -> Vec<String> {
    let mut connection = TcpStream::connect(listener).await.unwrap();
    connection.write_all(bytes.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    timeout(PATIENCE, connection.read_to_end(&mut received)).await.expect("the connection ends").unwrap();
    let text = String::from_utf8(received).unwrap();
    let code = |body: &str| body.split("\"code\":\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned);
    let response = |text: &str| format!("{} {}", &text[..3], code(text).unwrap_or_default()).trim().to_owned();
    text.split("HTTP/1.1 ").skip(1).map(response).collect()
}

/// Heads that a proxy may parse differently. None is taken for two requests or for none, and a refusal comes without waiting.
#[tokio::test]
async fn heads_that_could_be_parsed_in_two_ways() {
    let story = Story::at(Stage::Told).await;
    let seq = story.state("").await["seq"].as_u64().unwrap();
    let (feed, listener) =
        (format!("/api/stories/tables/{}/feed?after={seq}&wait=10ms", story.table), listen(&story.server).await);
    let last = "GET /api/stories/lobby HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
    let rows: [(&str, &[&str]); 18] = [
        ("Host: here\r\n\r\n", &["200", "200"]),
        ("Host: here\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n", &["200", "200"]),
        ("Host: here\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", &["200"]),
        ("Host: here\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nGET\r\n0\r\n\r\n", &["200", "200"]),
        ("Host: here\r\nContent-Length: 5\r\n\r\nGET /", &["200", "200"]),
        // Both lengths: the chunks count, and nothing after them is trusted (RFC 9112, section 6.1).
        ("Host: here\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", &["200"]),
        ("Host: here\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", &["200"]),
        ("\r\n", &["400 bad_host", "200"]),
        ("Host: here\r\nHost: there\r\n\r\n", &["400 bad_host", "200"]),
        ("Host: here\r\nHost: here\r\n\r\n", &["400 bad_host", "200"]),
        ("Host: here\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nGET /", &["400 bad_head"]),
        ("Host: here\r\nContent-Length: 0, 0\r\n\r\n", &["400 bad_head"]),
        ("Host: here\r\nContent-Length: +0\r\n\r\n", &["400 bad_head"]),
        ("Host: here\r\nTransfer-Encoding: xchunked\r\n\r\n", &["400 bad_head"]),
        ("Host: here\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", &["501 unknown_coding"]),
        ("Host: here\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", &["400 bad_head"]),
        ("Host: here\r\nX: a\r\n b\r\n\r\n", &["400 bad_head"]),
        ("Host: here\r\nX: a\0b\r\n\r\n", &["400 bad_head"]),
    ];
    for (head, want) in rows {
        let have = responses(listener, &format!("GET {feed} HTTP/1.1\r\n{head}{last}")).await;
        assert_eq!(have, want, "{head:?}");
    }
    let absolute = format!("GET http://here{feed} HTTP/1.1\r\nHost: here\r\n\r\n{last}");
    assert_eq!(responses(listener, &absolute).await, ["200", "200"]);
    // An empty line may precede a request (RFC 9112, section 2.2), also here, where frames of worlds may come.
    assert_eq!(responses(listener, &format!("\r\n{last}")).await, ["200"]);
}
