//! Replays of long matches: the cost of a page, the memory of an unread response, and refusals.

use super::test_server::TestServer;
use super::viewer::Viewer;
use axum::body::{Body, Bytes};
use engine::limits::{REPLAY_CHECKPOINT_TURNS, REPLAY_RESPONSE_BYTES, REPLAY_SLICE_ENTRIES};
use http::Response;
use http_body_util::BodyExt;
use serde_json::Value;
use std::sync::Arc;
use store::testing::MemoryDatabase;

const TURNS: u32 = 1_000;
const REPLAYED: &str = "gauntlet_replay_entries_total";
const HELD: &str = "gauntlet_http_response_bytes";
/// Two neighbours, and another address.
const ANN: [u8; 4] = [192, 0, 2, 1];
const BOB: [u8; 4] = [192, 0, 2, 2];
const CARL: [u8; 4] = [198, 51, 100, 3];

/// The number of entries that were replayed for this page.
async fn cost(server: &TestServer, path: &str, frames: usize) -> u64 {
    let before = server.sample(REPLAYED);
    let page = server.get(path).await;
    let shown = page["frames"].as_array().unwrap();
    assert_eq!((shown.len(), &page["count"]), (frames, &Value::from(TURNS + 1)), "{path}");
    server.sample(REPLAYED) - before
}

#[tokio::test]
async fn a_page_costs_about_the_page_wherever_it_begins() {
    let server = TestServer::open().await;
    let id = server.long_match(TURNS).await;
    let page = |offset: u32, limit: u32| format!("/api/games/{id}/frames?offset={offset}&limit={limit}");
    let first = cost(&server, &page(TURNS - 1, 1), 1).await;
    assert!(first >= u64::from(TURNS) - 1, "{first} entries, of which none was replayed before");
    for (offset, limit, frames) in [(TURNS - 1, 1, 1), (TURNS, 100, 1), (0, 1, 1), (500, 100, 100), (499, 7, 7)] {
        let cost = cost(&server, &page(offset, limit), frames).await;
        let most = u64::from(REPLAY_CHECKPOINT_TURNS) + frames as u64 + 2;
        assert!((1..=most).contains(&cost), "{cost} entries for {frames} frames from turn {offset}");
    }
    // A client that reads page by page finds a checkpoint just before each.
    assert_eq!(cost(&server, &page(500, 100), 100).await, 100);
    assert_eq!(cost(&server, &page(TURNS + 1, 100), 0).await, 0, "there is nothing to be replayed");
    assert_eq!(cost(&server, &page(u32::MAX, 100), 0).await, 0);
}

#[tokio::test]
async fn without_states_in_memory_a_late_page_is_replayed_from_the_first_turn() {
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), |config| config.replays_cache_bytes = 0).await;
    let path = format!("/api/games/{}/frames?offset={}", server.long_match(TURNS).await, TURNS - 1);
    for _ in 0..2 {
        let cost = cost(&server, &path, 2).await;
        assert!(cost > u64::from(TURNS), "{cost} entries");
    }
    assert_eq!(server.sample("gauntlet_replay_cache_bytes"), 0);
}

#[tokio::test]
async fn frames_are_the_same_from_wherever_they_are_replayed() {
    let server = TestServer::open().await;
    let id = server.long_match(TURNS).await;
    let whole = server.get(&format!("/api/games/{id}/details")).await;
    let viewer = Viewer::watch(&server, id).await.read_to_end().await;
    viewer.check_whole();
    assert_eq!(whole["frames"], Value::from(viewer.frames.clone()));
    for limit in [37, 100] {
        assert_eq!(server.pages(id, limit).await, viewer.frames, "pages of {limit}");
    }
    let late = server.get(&format!("/api/games/{id}/frames?offset=777&limit=50")).await;
    assert_eq!(late["frames"], Value::from(viewer.frames[777..827].to_vec()));
}

/// The next chunk of a response.
async fn piece(response: &mut Response<Body>) -> Bytes {
    response.body_mut().frame().await.expect("there is more").unwrap().into_data().unwrap()
}

#[tokio::test]
async fn details_are_produced_as_they_are_read() {
    let server = TestServer::open().await;
    let path = format!("/api/games/{}/details", server.long_match(TURNS).await);
    let mut responses = Vec::new();
    for _ in 0..16 {
        responses.push(server.ask(&path, ANN).await);
        let first = piece(responses.last_mut().unwrap()).await;
        assert!(first.len() < REPLAY_RESPONSE_BYTES, "{} bytes at once", first.len());
    }
    assert_eq!(server.sample(HELD), (responses.len() * REPLAY_RESPONSE_BYTES) as u64);
    let most = (responses.len() * 2 * REPLAY_SLICE_ENTRIES) as u64;
    let replayed = server.sample(REPLAYED);
    assert!((1..=most).contains(&replayed), "{replayed} entries for unread responses");
    let rest = responses.pop().unwrap().into_body().collect().await.unwrap().to_bytes();
    assert!(rest.len() > 2 * REPLAY_RESPONSE_BYTES, "{} bytes are no long answer", rest.len());
    drop(responses);
    assert_eq!(server.sample(HELD), 0, "finished responses hold nothing");
}

/// Requests a replay, and does not read the response; status and code where there is none.
async fn hold(server: &TestServer, path: &str, address: [u8; 4]) -> Result<Response<Body>, (u16, Value)> {
    let response = server.ask(path, address).await;
    if response.status() == 200 {
        return Ok(response);
    }
    assert_eq!(response.headers()["retry-after"], "1");
    let status = response.status().as_u16();
    let problem: Value = serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap();
    Err((status, problem["code"].clone()))
}

#[tokio::test]
async fn a_full_server_refuses_and_one_address_cannot_take_everything() {
    let room_for = |responses: usize| responses * REPLAY_RESPONSE_BYTES;
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), |config| {
        (config.http_response_bytes_max, config.http_response_bytes_per_address_max) = (room_for(3), room_for(2));
    })
    .await;
    let id = server.long_match(TURNS).await;
    let (details, page) = (format!("/api/games/{id}/details"), format!("/api/games/{id}/frames?offset=900"));
    let mut held = vec![hold(&server, &details, ANN).await.unwrap(), hold(&server, &page, ANN).await.unwrap()];
    for path in [&details, &page] {
        assert_eq!(hold(&server, path, ANN).await.unwrap_err(), (429, "too_many_responses".into()));
    }
    let other = hold(&server, &page, BOB).await.expect("another address has its own limit");
    assert_eq!(hold(&server, &page, CARL).await.unwrap_err(), (503, "responses_full".into()));
    assert_eq!(server.sample(HELD), room_for(3) as u64);
    assert_eq!(server.sample("gauntlet_http_responses_refused_total"), 3);
    drop(held.pop());
    drop(other);
    let whole = hold(&server, &page, CARL).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    assert_eq!(serde_json::from_slice::<Value>(&whole).unwrap()["frames"].as_array().map(Vec::len), Some(100));
    assert_eq!(server.sample(HELD), room_for(1) as u64, "what was read to its end holds nothing");
}

/// A client that disconnects while its replay is made leaves nothing behind.
#[tokio::test]
async fn an_abandoned_response_holds_nothing() {
    let server = TestServer::open().await;
    let path = format!("/api/games/{}/frames?offset=999", server.long_match(TURNS).await);
    for _ in 0..20 {
        let pending = server.ask(&path, ANN);
        let _ = tokio::time::timeout(std::time::Duration::from_millis(1), pending).await;
    }
    assert_eq!(server.get(&path).await["frames"].as_array().map(Vec::len), Some(2));
    assert_eq!(server.sample(HELD), 0);
}

#[tokio::test]
async fn one_address_cannot_take_all_permits_of_spectators() {
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), |config| {
        (config.spectators_max, config.spectators_per_address_max) = (3, 2);
    })
    .await;
    let id = server.create(&["http://nowhere.example".to_owned()], 500).await.id;
    let viewers = [Viewer::watch(&server, id).await, Viewer::watch(&server, id).await];
    assert_eq!(Viewer::refused(&server, id).await, 429);
    // A browser hides why a socket is refused: its page asks again without one.
    let feed = format!("/api/games/{id}/events");
    assert_eq!(server.ask(&feed, [127, 0, 0, 1]).await.status(), 429);
    drop(viewers);
    server.wait_for_watched(0).await;
    assert_eq!(server.ask(&feed, [127, 0, 0, 1]).await.status(), 426);
    Viewer::watch(&server, id).await;
}
