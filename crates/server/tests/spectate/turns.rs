//! A turn as its bots and viewers see it.

use super::bots::{Bots, HOSTILE_FACE, hostile_shout};
use super::test_server::TestServer;
use super::viewer::Viewer;
use engine::matches::lifecycle::MatchState;
use serde_json::Value;
use std::collections::BTreeSet;

fn ids(snakes: &Value, key: &str) -> BTreeSet<String> {
    snakes.as_array().unwrap().iter().map(|snake| snake[key].as_str().unwrap().to_owned()).collect()
}

/// Regression: the dead stayed in `board.snakes` of requests to bots.
#[tokio::test]
async fn the_dead_are_shown_to_viewers_and_not_to_bots() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    let spec = server.create(&bots.urls(&["circle", "circle", "up"]), 10_000).await;
    let (dead, viewer) = (spec.snake_id(2).to_string(), Viewer::watch(&server, spec.id).await);
    server.play();
    let received = viewer.read_to_end().await;
    let all_ids: BTreeSet<String> = (0..3).map(|seat| spec.snake_id(seat).to_string()).collect();
    let death = received.frames.iter().find_map(|frame| frame["Snakes"][2]["Death"]["Turn"].as_u64()).unwrap();
    assert!(death < received.frames.len() as u64 - 2, "a snake plays on after the death in turn {death}");
    for frame in &received.frames {
        assert_eq!(ids(&frame["Snakes"], "ID"), all_ids);
        let is_dead = frame["Turn"].as_u64() >= Some(death);
        assert_eq!(frame["Snakes"][2]["Death"].is_object(), is_dead, "{frame}");
    }
    let mut asked_after = 0;
    for (bot, call, request) in bots.requests().iter().filter(|(_, call, _)| call == "move") {
        let (shown, turn) = (ids(&request["board"]["snakes"], "id"), request["turn"].as_u64());
        let living: BTreeSet<String> =
            all_ids.iter().filter(|id| turn < Some(death) || **id != dead).cloned().collect();
        assert_eq!(shown, living, "{bot} at {call} of turn {turn:?}");
        assert!(shown.contains(request["you"]["id"].as_str().unwrap()), "only the living are asked");
        asked_after += usize::from(turn >= Some(death));
    }
    assert!(asked_after > 0, "bots were asked after the death");
}

/// Frames and requests to other bots have what a page may show, whatever a bot says of itself and shouts.
#[tokio::test]
async fn hostile_texts_of_a_bot_reach_no_viewer_and_no_bot() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    let id = server.create(&bots.urls(&["hostile", "circle"]), 10_000).await.id;
    let viewer = Viewer::watch(&server, id).await;
    server.play();
    let received = viewer.read_to_end().await;
    assert!(hostile_shout().len() > 20_000 && HOSTILE_FACE[0].contains("<script>"), "it was tried");
    let accents = "\u{301}".repeat(engine::limits::ZERO_WIDTH_RUN_MAX);
    let want = format!("</script>\u{fffd}\u{fffd}[2J \u{fffd}evil o{accents}");
    for frame in &received.frames {
        let snake = &frame["Snakes"][0];
        assert_eq!([&snake["Color"], &snake["HeadType"], &snake["TailType"]], ["#888888", "default", "default"]);
        let shout = if frame["Turn"] == 0 { "" } else { &want };
        assert_eq!(snake["Shout"], shout);
    }
    let requests = bots.requests();
    let told = requests.iter().filter(|(bot, call, request)| bot == "circle" && call == "move" && request["turn"] == 1);
    let told: Vec<_> = told.map(|(_, _, request)| request["board"]["snakes"][0]["shout"].clone()).collect();
    assert_eq!(told, [want.as_str()]);
}

/// A bot whose answers take this long to end, in every turn of its match: checks the error, and the latency if it is certain.
async fn check(pause_ms: u32, timeout_ms: u16, error: &str, latency: Option<&str>) {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    let id = server.create(&bots.urls(&[&format!("drip-{pause_ms}")]), timeout_ms).await.id;
    server.play();
    server.wait_for(id, MatchState::Finished).await;
    let frames = server.pages(id, 100).await;
    assert!(frames.len() > 1, "at least one turn was played");
    for frame in &frames[1..] {
        let snake = &frame["Snakes"][0];
        assert_eq!(snake["Error"], error, "{snake}");
        assert!(latency.is_none_or(|latency| snake["Latency"] == latency), "{snake}");
    }
}

/// Regression: the timeout covered only the head of an answer, and a body that came later counted.
#[tokio::test]
async fn the_timeout_covers_the_body() {
    check(0, 10_000, "", None).await;
    check(400, 100, "late", Some("100")).await;
}
