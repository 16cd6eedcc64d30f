//! Evidence of what bots were sent, against what real bots received; and of matches in every state.

use super::bots::Bots;
use super::scribe::Scribe;
use super::test_server::TestServer;
use axum::body::Bytes;
use engine::commands::{Command, Outcome};
use engine::ids::{BotId, MatchId};
use engine::limits::REPLAY_CHECKPOINT_TURNS;
use engine::matches::lifecycle::MatchState;
use engine::time::UnixMs;
use http_body_util::BodyExt;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::testing::MemoryDatabase;
use wire::api::RecordedCall;

const ANN: [u8; 4] = [192, 0, 2, 1];
const REPLAYED: &str = "gauntlet_replay_entries_total";

/// The members of an object as they stand in it.
type RawObject = BTreeMap<String, Box<RawValue>>;

async fn text(server: &TestServer, path: &str) -> Bytes {
    let response = server.ask(path, ANN).await;
    assert_eq!(response.status(), 200, "{path}");
    response.into_body().collect().await.unwrap().to_bytes()
}

async fn problem(server: &TestServer, path: &str) -> (u16, String) {
    let response = server.ask(path, ANN).await;
    let status = response.status().as_u16();
    let problem: Value = serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap();
    (status, problem["code"].as_str().unwrap_or_default().to_owned())
}

/// The calls of a download: name, turn, body.
async fn calls(server: &TestServer, id: MatchId, seat: usize) -> Vec<(String, u32, String)> {
    let bytes = text(server, &format!("/api/games/{id}/snakes/{seat}/calls")).await;
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let subject: Value = serde_json::from_slice(lines.next().unwrap()).unwrap();
    assert_eq!((&subject["game_id"], &subject["seat"]), (&id.to_string().into(), &seat.into()));
    let parsed = lines.map(|line| {
        let line: RecordedCall = serde_json::from_slice(line).unwrap();
        (line.call, line.turn, line.request.get().to_owned())
    });
    parsed.collect()
}

/// What the bot of this name received: name of the call, turn, body.
fn received(bots: &Bots, name: &str) -> Vec<(String, u32, String)> {
    let of_bot = bots.raw_requests().into_iter().filter(|(bot, ..)| bot == name);
    let parsed = of_bot.map(|(_, call, body)| {
        let turn = serde_json::from_slice::<Value>(&body).unwrap()["turn"].as_u64().unwrap() as u32;
        (call, turn, String::from_utf8(body.to_vec()).unwrap())
    });
    parsed.collect()
}

async fn turns(server: &TestServer, id: MatchId, seat: usize) -> Value {
    server.get(&format!("/api/games/{id}/snakes/{seat}/turns")).await
}

/// What a bot really received, over its socket, is what its owner is shown: every call, in its order, byte for byte.
#[tokio::test]
async fn what_a_bot_received_is_what_its_owner_is_shown() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    let id = server.create(&bots.urls(&["circle", "up", "drip-700"]), 500).await.id;
    server.play();
    server.wait_for(id, MatchState::Finished).await;
    for (seat, name) in ["circle", "up", "drip-700"].into_iter().enumerate() {
        let (shown, sent) = (calls(&server, id, seat).await, received(&bots, name));
        assert_eq!(shown, sent, "{name}");
        let path = |turn: &str| format!("/api/games/{id}/snakes/{seat}/turns/{turn}");
        for (call, turn, body) in &sent {
            let of_call = if call == "move" { turn.to_string() } else { call.clone() };
            let one: RawObject = serde_json::from_slice(&text(&server, &path(&of_call)).await).unwrap();
            let request: RawObject = serde_json::from_str(one["request"].get()).unwrap();
            assert_eq!(request["body"].get(), body, "{name} {of_call}");
        }
    }
    let (up, drip) = (turns(&server, id, 1).await, turns(&server, id, 2).await);
    let moves = up["turns"].as_array().unwrap();
    let (last, before) = moves.split_last().unwrap();
    assert_eq!(last["cause"], "wall-collision");
    assert!(before.iter().all(|turn| turn["cause"].is_null() && turn["move"] == "up" && turn["class"] == "valid"));
    assert!(drip["turns"].as_array().unwrap().iter().all(|turn| turn["class"] == "late" && turn["is_late"] == true));
    let one = server.get(&format!("/api/games/{id}/snakes/1/turns/{}", last["turn"])).await;
    assert_eq!(one["death"]["cause"], "wall-collision");
    assert_eq!(
        (&one["answer"]["move"], &one["answer"]["shout"]),
        (&"up".into(), &format!("turn {}", last["turn"]).into())
    );
    assert!(one["request"]["curl"].as_str().unwrap().ends_with("/up/move'"), "{}", one["request"]["curl"]);
    assert_eq!(
        problem(&server, &format!("/api/games/{id}/snakes/1/turns/{}", last["turn"].as_u64().unwrap() + 1)).await,
        (404, "no_such_turn".to_owned())
    );
}

/// The owner of a bot that gave no valid move is shown what came instead; spectators are not.
#[tokio::test]
async fn an_answer_without_a_move_is_shown_to_its_owner() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    let id = server.create(&bots.urls(&["circle", "html", "sideways", "broken"]), 10_000).await.id;
    server.play();
    server.wait_for(id, MatchState::Finished).await;
    let html = format!("<html>{}", "x".repeat(506));
    for (seat, class, want) in [
        (0, "valid", Value::Null),
        (1, "malformed", json!({ "status": 200, "excerpt": html })),
        (2, "unknown_move", json!({ "status": 200, "excerpt": r#"{"move":"sideways","shout":"turn 0"}"# })),
        (3, "bad_status", json!({ "status": 418, "excerpt": "\u{fffd}[2Jsecret \u{fffd}" })),
    ] {
        let path = format!("/api/games/{id}/snakes/{seat}");
        let one = server.get(&format!("{path}/turns/0")).await;
        assert_eq!((&one["answer"]["class"], &one["answer"]["response"]), (&class.into(), &want), "{seat}");
        let start = server.get(&format!("{path}/turns/start")).await;
        assert_eq!(start["answer"]["response"], Value::Null, "answers to notices count for nothing");
        let file = text(&server, &format!("{path}/calls")).await;
        let line: Value = serde_json::from_slice(file.split(|byte| *byte == b'\n').nth(2).unwrap()).unwrap();
        assert_eq!((&line["call"], &line["answer"]["response"]), (&"move".into(), &want));
    }
    for path in ["frames", "details", "jsonl", "summary"] {
        let shown = String::from_utf8(text(&server, &format!("/api/games/{id}/{path}")).await.to_vec()).unwrap();
        for hidden in ["xxxx", "secret", "sideways"] {
            assert!(!shown.contains(hidden), "{path}");
        }
    }
}

/// From the list of a snake's games its owner reaches the request that decided a lost game with the second call.
#[tokio::test]
async fn a_lost_game_leads_to_its_deciding_request() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    let snake = BotId(1);
    server.register(snake).await;
    let id = server.create(&bots.urls(&["up", "circle"]), 500).await.id;
    server.play();
    server.wait_for(id, MatchState::Finished).await;
    let lost = server.get(&format!("/api/snakes/{snake}/games?outcome=lost&limit=1")).await;
    assert_eq!(lost[0]["id"], id.to_string());
    let loser = &lost[0]["snakes"][0];
    assert_eq!((&loser["outcome"], &loser["cause"]), (&"lost".into(), &"wall-collision".into()));
    let deciding = server.get(loser["evidence"].as_str().unwrap()).await;
    assert_eq!((&deciding["turn"], &deciding["death"]["cause"]), (&loser["deciding_turn"], &"wall-collision".into()));
    let (call, turn, body) = received(&bots, "up").into_iter().rfind(|(call, ..)| call == "move").unwrap();
    assert_eq!((call.as_str(), deciding["turn"].as_u64()), ("move", Some(turn.into())), "the last request that it got");
    assert_eq!(deciding["request"]["body"], serde_json::from_str::<Value>(&body).unwrap());
    let head = &deciding["request"]["body"]["you"]["head"];
    assert_eq!(head["y"], 10, "its head is at the wall: {head}");
}

/// Pages fit together, whatever their size, and cost about what they show.
#[tokio::test]
async fn a_page_of_turns_costs_about_the_page() {
    let server = TestServer::open().await;
    let id = server.long_match(1_000).await;
    let whole = turns(&server, id, 0).await;
    assert_eq!((&whole["count"], whole["turns"].as_array().unwrap().len()), (&1_000.into(), 1_000));
    for (offset, limit) in [(0, 1), (99, 2), (500, 100), (999, 7), (1_000, 3), (4_000_000_000_u64, 1_000)] {
        let before = server.sample(REPLAYED);
        let page = server.get(&format!("/api/games/{id}/snakes/0/turns?offset={offset}&limit={limit}")).await;
        let want: Vec<_> =
            whole["turns"].as_array().unwrap().iter().skip(offset as usize).take(limit).cloned().collect();
        assert_eq!(page["turns"], Value::from(want), "{limit} from {offset}");
        let cost = server.sample(REPLAYED) - before;
        assert!(
            cost <= u64::from(REPLAY_CHECKPOINT_TURNS) + limit as u64 + 2,
            "{cost} entries for {limit} from {offset}"
        );
    }
    let before = server.sample(REPLAYED);
    server.get(&format!("/api/games/{id}/snakes/0/turns/950")).await;
    let cost = server.sample(REPLAYED) - before;
    assert!(cost <= u64::from(REPLAY_CHECKPOINT_TURNS) + 2, "{cost} entries for one turn");
}

/// Of a running match there is what is saved: no request whose answer is still to come.
#[tokio::test]
async fn a_running_match_shows_what_is_saved() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    let id = server.create(&bots.urls(&["circle", "circle"]), 500).await.id;
    assert_eq!(turns(&server, id, 1).await["count"], 0);
    let turn = |turn: &str| format!("/api/games/{id}/snakes/1/turns/{turn}");
    let none = || (404, "no_such_turn".to_owned());
    for early in ["start", "0", "end"] {
        assert_eq!(problem(&server, &turn(early)).await, none(), "{early} of a waiting match");
    }
    let mut scribe = Scribe::take(&server).await;
    scribe.play(3).await;
    let shown = turns(&server, id, 1).await;
    assert_eq!(
        (&shown["count"], &shown["status"], shown["turns"].as_array().unwrap().len()),
        (&3.into(), &"running".into(), 3)
    );
    for there in ["start", "0", "2"] {
        assert!(text(&server, &turn(there)).await.starts_with(b"{"), "{there}");
    }
    for early in ["3", "4", "end"] {
        assert_eq!(problem(&server, &turn(early)).await, none(), "{early} of a match with three turns");
    }
    assert_eq!(calls(&server, id, 1).await.len(), 4);
    scribe.play(1).await;
    assert!(text(&server, &turn("3")).await.starts_with(b"{"));
}

/// A match that another worker went on with is one match.
#[tokio::test]
async fn a_resumed_match_is_shown_as_one() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    let id = server.create(&bots.urls(&["circle", "up"]), 500).await.id;
    let mut scribe = Scribe::take(&server).await;
    scribe.play(2).await;
    scribe.leave().await;
    server.play();
    server.wait_for(id, MatchState::Finished).await;
    let (shown, sent) = (calls(&server, id, 1).await, received(&bots, "up"));
    assert_eq!(sent[0].1, 2, "the second worker went on with the third turn");
    let kinds: Vec<_> = shown[..3].iter().map(|(call, turn, _)| (call.as_str(), *turn)).collect();
    assert_eq!(kinds, [("start", 0), ("move", 0), ("move", 1)], "the first one's");
    assert_eq!(shown[3..], sent, "the second one's, as they arrived");
}

#[tokio::test]
async fn a_failed_match_is_shown_as_far_as_it_went() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    let id = server.create(&bots.urls(&["circle", "circle"]), 500).await.id;
    let mut scribe = Scribe::take(&server).await;
    scribe.play(2).await;
    scribe.fail().await;
    let shown = turns(&server, id, 0).await;
    assert_eq!((&shown["count"], &shown["status"]), (&2.into(), &"failed".into()));
    assert_eq!(calls(&server, id, 0).await.len(), 3);
}

/// An entry that cannot be played hides nothing that was played before it.
#[tokio::test]
async fn a_damaged_log_is_shown_up_to_the_damage() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    let id = server.create(&bots.urls(&["circle", "circle"]), 500).await.id;
    let mut scribe = Scribe::take(&server).await;
    scribe.play(2).await;
    scribe.scrawl().await;
    assert!(text(&server, &format!("/api/games/{id}/snakes/0/turns/1")).await.starts_with(b"{"));
    let calls = problem(&server, &format!("/api/games/{id}/snakes/0/calls")).await;
    assert_eq!(calls, (500, "store_unreadable".to_owned()));
}

#[tokio::test]
async fn nothing_is_left_of_a_retired_match() {
    let server = TestServer::open().await;
    let id = server.long_match(10).await;
    let later = UnixMs(server.app.node.clock.now().0 + 1_000);
    let retire = Command::RetireMatches {
        now: later,
        keep_for: Some(Duration::ZERO),
        keep_archive_bytes: None,
        keep_answers_for: Duration::ZERO,
        max: 10,
    };
    assert_eq!(server.app.node.store.commit(retire).await, Ok(Outcome::Retired(1)));
    for rest in ["turns", "turns/0", "calls"] {
        let path = format!("/api/games/{id}/snakes/0/{rest}");
        assert_eq!(problem(&server, &path).await, (404, "no_such_game".to_owned()), "{rest}");
    }
}

/// Evidence has the budget of frames: a client that reads nothing takes no more than its share.
#[tokio::test]
async fn unread_downloads_have_a_budget() {
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), |config| {
        let room_for = |responses: usize| responses * engine::limits::REPLAY_RESPONSE_BYTES;
        (config.http_response_bytes_max, config.http_response_bytes_per_address_max) = (room_for(3), room_for(2));
    })
    .await;
    let id = server.long_match(1_000).await;
    let path = format!("/api/games/{id}/snakes/0/calls");
    let held = [server.ask(&path, ANN).await, server.ask(&path, ANN).await];
    assert!(held.iter().all(|response| response.status() == 200));
    let replayed = server.sample(REPLAYED);
    assert!(replayed < 1_000, "{replayed} entries for unread responses");
    for path in [&path, &format!("/api/games/{id}/snakes/0/turns"), &format!("/api/games/{id}/snakes/0/turns/0")] {
        assert_eq!(problem(&server, path).await, (429, "too_many_responses".to_owned()), "{path}");
    }
    drop(held);
    assert_eq!(calls(&server, id, 0).await.len(), 1_002);
}
