//! What programs written for another server of this API expect of it.

use crate::test_server::{ANNS, BOBS_PUBLIC, TestServer};
use engine::commands::{ClaimedMatch, Command, MatchAppend, Outcome};
use engine::matches::machine::MatchMachine;
use serde_json::{Value, json};

/// One expectation: of a request with this body (none when null), this status, and this text in the answer.
async fn check(server: &TestServer, name: &str, line: &str, body: Value, status: u16, text: &str) {
    let call = server.call(line);
    let reply = if body.is_null() { call.send().await } else { call.json(&body).send().await };
    assert_eq!(reply.status.as_u16(), status, "{name}: {}", reply.body);
    let have = String::from_utf8_lossy(&reply.bytes);
    assert!(have.contains(text), "{name}: no {text:?} in {have}");
}

/// What the tests of the best-known server of this API expect, and its own server answers otherwise than this one used to.
#[tokio::test]
async fn expectations_of_other_tests() {
    let server = TestServer::open().await;
    let (a, b) = (ANNS.to_string(), BOBS_PUBLIC.to_string());
    let of = |snakes: &[&str], board: &str, game_type: &str| json!({"snakes": snakes, "board": board, "game_type": game_type});
    let snake = |name: &str| json!({"name": name, "url": "https://example.com/snake"});
    let nobodys = "00000000-0000-0000-0000-000000000000";
    let games = "POST /api/games";
    let none = "At least one battlesnake is required for a game";
    let rows = [
        ("solo of no snake", games, of(&[], "11x11", "solo"), 400, none),
        ("standard of no snake", games, of(&[], "11x11", "standard"), 400, none),
        ("solo of two", games, of(&[&a, &b], "11x11", "solo"), 400, "Solo games require exactly one battlesnake"),
        ("solo of one", games, of(&[&a], "11x11", "SOLO"), 201, "waiting"),
        ("an unknown snake", games, of(&[nobodys], "11x11", "standard"), 400, "not found or not accessible"),
        ("a board of even sides", games, of(&[&a], "10x10", "standard"), 400, "Invalid board size"),
        ("no board at all", games, of(&[&a], "huge", "standard"), 400, "Invalid board size"),
        ("a game type that is none", games, of(&[&a], "11x11", "invalid_type"), 400, "Invalid game type"),
        ("a game type in one word", games, of(&[&a], "11x11", "snailmode"), 201, "waiting"),
        ("an empty name", "POST /api/snakes", snake(""), 400, "Name is required"),
        ("a name of spaces", "POST /api/snakes", snake("   "), 400, "Name is required"),
        ("a name of 65 characters", "POST /api/snakes", snake(&"x".repeat(65)), 400, "64 characters"),
        ("a name of 64 characters", "POST /api/snakes", snake(&"x".repeat(64)), 201, ""),
        ("a name with space around it", "POST /api/snakes", snake("  Trimmed "), 201, r#""name":"Trimmed""#),
        ("a token's name", "POST /api/tokens", json!({"name": " laptop "}), 201, r#""name":"laptop""#),
        ("the list of no games", "GET /api/games?limit=0", Value::Null, 200, "[]"),
        ("more games than there are", "GET /api/games?limit=1000", Value::Null, 200, "Snail Mode"),
        (
            "games of an unknown snake",
            &format!("GET /api/games?snake_id={nobodys}"),
            Value::Null,
            400,
            "not found or not accessible",
        ),
        ("health", "GET /health", Value::Null, 200, ""),
    ];
    for (name, line, body, status, text) in rows {
        check(&server, name, line, body, status, text).await;
    }
}

#[tokio::test]
async fn game_types_are_named_as_they_compare_them() {
    let server = TestServer::open().await;
    for (asked, named) in [
        ("standard", "Standard"),
        ("ROYALE", "Royale"),
        ("Constrictor", "Constrictor"),
        ("snail", "Snail Mode"),
        ("solo", "Solo"),
        ("wrapped-constrictor", "Wrapped Constrictor"),
    ] {
        let wanted = json!({"snakes": [ANNS.to_string()], "game_type": asked});
        let id = server.call("POST /api/games").json(&wanted).check("201").await.body["id"].clone();
        let details = server.call(&format!("GET /api/games/{}/details", id.as_str().unwrap())).check("200").await.body;
        assert_eq!(details["game_type"], named, "{asked}");
    }
}

#[tokio::test]
async fn pages_of_frames_are_brought_into_their_range() {
    let server = TestServer::open().await;
    server.game().await;
    let id = open_game(&server).await.spec.id;
    for (query, want) in [
        ("limit=1000", 1),
        ("offset=-1", 1),
        ("offset=-1&limit=1", 1),
        ("limit=0", 0),
        ("limit=-1", 0),
        ("offset=7", 0),
    ] {
        let page = server.call(&format!("GET /api/games/{id}/frames?{query}")).by("").check("200").await.body;
        assert_eq!((&page["count"], page["frames"].as_array().map(Vec::len)), (&json!(1), Some(want)), "{query}");
    }
    for query in ["limit=ten", "offset=", "offset=1.5", "limit=+1"] {
        server.call(&format!("GET /api/games/{id}/frames?{query}")).check("400 bad_value").await;
    }
}

/// Opens the only waiting game, so that it has its first frame.
async fn open_game(server: &TestServer) -> ClaimedMatch {
    let claimed = server.claim_one().await;
    let machine = MatchMachine::new(claimed.spec.clone()).unwrap();
    let rows = vec![machine.record_opened(Vec::new()).row];
    let started_at = Some(server.app.node.clock.now());
    let append = MatchAppend { id: claimed.spec.id, epoch: claimed.epoch, rows, expected_version: 0, started_at };
    assert_eq!(server.commit(Command::AppendMatch(append)).await, Outcome::Done);
    claimed
}

/// There, too, the viewer prints "by …" from it.
#[tokio::test]
async fn frames_name_the_owners_of_snakes() {
    let server = TestServer::open().await;
    let wanted = json!({"snakes": [ANNS.to_string(), BOBS_PUBLIC.to_string()]});
    server.call("POST /api/games").json(&wanted).check("201").await;
    let id = open_game(&server).await.spec.id;
    let page = server.call(&format!("GET /api/games/{id}/frames")).by("").check("200").await.body;
    let authors: Vec<&Value> = page["frames"][0]["Snakes"].as_array().unwrap().iter().map(|s| &s["Author"]).collect();
    assert_eq!(authors, ["ann", "bob"]);
}

/// The command line of another server opens this address in a browser. A program that was built without its console links to another
/// viewer there.
#[tokio::test]
async fn a_game_has_a_page_that_shows_it_or_says_where_it_can_be_watched() {
    let server = TestServer::open().await;
    let id = server.game().await;
    let page = server.call(&format!("GET /games/{id}")).by("").header("host", "localhost:4000").check("200").await;
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    let text = String::from_utf8(page.bytes.to_vec()).unwrap();
    let is_viewer = text.contains("<script type=\"module\"");
    let link = format!("?engine=http://localhost:4000/api&amp;game={id}");
    assert!(is_viewer || text.contains(&link), "{text}");
    let forged = server.call(&format!("GET /games/{id}")).by("").header("host", "a'onclick=b").send().await;
    assert!(!String::from_utf8_lossy(&forged.bytes).contains("onclick"));
    let ancestors = async |path: String| {
        let page = server.call(&format!("GET {path}")).by("").check("200").await;
        let policy = page.headers["content-security-policy"].to_str().unwrap().to_owned();
        policy.rsplit_once("; frame-ancestors ").unwrap().1.to_owned()
    };
    assert_eq!(ancestors(format!("/games/{id}")).await, "'none'");
    assert_eq!(ancestors(format!("/games/{id}?embed")).await, if is_viewer { "*" } else { "'none'" });
    server.call("GET /games/none").by("").check("404 no_such_route").await;
    server.call("GET /nothing/here").by("").check("404 no_such_route").await;
}
