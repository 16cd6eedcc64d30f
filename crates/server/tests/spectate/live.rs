//! Viewers, from any time and at any speed: each gets every frame, in order, once, and then the end.

use super::bots::Bots;
use super::scribe::Scribe;
use super::test_server::{Shared, TestServer};
use super::viewer::Viewer;
use engine::matches::lifecycle::MatchState;
use std::sync::Arc;
use store::Database;
use store::testing::MemoryDatabase;

const TIMEOUT_MS: u16 = 10_000;

#[tokio::test]
async fn all_viewers_see_the_same_whenever_they_connect() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    let id = server.create(&bots.urls(&["circle", "circle"]), TIMEOUT_MS).await.id;
    // Regression: a viewer whose match ended between its read and its subscription never got the end.
    let mut early = Viewer::watch(&server, id).await;
    server.wait_for_watched(1).await;
    server.play();
    early.wait_for_turn(10).await;
    let midway = Viewer::watch(&server, id).await;
    let (early, midway) = tokio::join!(early.read_to_end(), midway.read_to_end());
    let afterwards = Viewer::watch(&server, id).await.read_to_end().await;
    let again = Viewer::watch(&server, id).await.read_to_end().await;
    early.check_whole();
    assert!(early.frames.len() > 50, "the match was long enough to be in the middle of it");
    assert_eq!((&early, &early, &early), (&midway, &afterwards, &again));
    for limit in [1, 7, 100] {
        assert_eq!(server.pages(id, limit).await, early.frames, "pages of {limit}");
    }
    server.wait_for_watched(0).await;
}

/// Regression: a viewer that lagged behind was disconnected.
#[tokio::test]
async fn a_viewer_that_does_not_read_for_a_while_catches_up() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    let id = server.create(&bots.urls(&["circle", "circle"]), TIMEOUT_MS).await.id;
    let slow = Viewer::watch(&server, id).await;
    let fast = Viewer::watch(&server, id).await;
    server.wait_for_watched(1).await;
    server.play();
    let fast = fast.read_to_end().await;
    server.wait_for(id, MatchState::Finished).await;
    let bytes: usize = fast.frames.iter().map(|frame| frame.to_string().len()).sum();
    assert!(bytes > 60_000, "{bytes} bytes do not fit into the buffers of the slow one's connection");
    let slow = slow.read_to_end().await;
    slow.check_whole();
    assert_eq!(slow, fast);
}

/// A viewer of a match without notifications sees it all the same, while it is played and when it ends.
async fn check_without_notifications(database: Arc<dyn Database>) {
    let server = TestServer::open_on(database).await;
    let id = server.create(&["http://nowhere.example".to_owned(), "http://nowhere.example".to_owned()], 500).await.id;
    let mut viewer = Viewer::watch(&server, id).await;
    server.wait_for_watched(1).await;
    let mut scribe = Scribe::take(&server).await;
    scribe.play(10).await;
    viewer.wait_for_turn(10).await;
    scribe.finish().await;
    let received = viewer.read_to_end().await;
    received.check_whole();
    assert_eq!(received.frames, server.pages(id, 100).await);
}

#[tokio::test]
async fn notifications_may_be_lost() {
    check_without_notifications(Arc::new(MemoryDatabase::new())).await;
}

/// Regression: viewers at another instance than the one that plays saw nothing live.
#[tokio::test]
async fn notifications_of_other_processes_are_not_needed() {
    check_without_notifications(Arc::new(Shared(MemoryDatabase::new()))).await;
}

#[tokio::test]
async fn a_turn_is_replayed_once_for_all_who_watch() {
    let server = TestServer::open().await;
    let id = server.create(&["http://nowhere.example".to_owned(), "http://nowhere.example".to_owned()], 500).await.id;
    let mut viewers = Vec::new();
    for _ in 0..20 {
        viewers.push(Viewer::watch(&server, id).await);
    }
    server.wait_for_watched(1).await;
    let mut scribe = Scribe::take(&server).await;
    let mut before = 0;
    for turn in 1..=30 {
        scribe.play(1).await;
        server.app.notifier.notify(id);
        for viewer in &mut viewers {
            viewer.wait_for_turn(turn).await;
        }
        // By then each has caught up by itself, and the first of them has begun to replay for all.
        if turn == 10 {
            before = server.sample("gauntlet_replay_entries_total");
        }
    }
    let replayed = server.sample("gauntlet_replay_entries_total") - before;
    assert!((20..100).contains(&replayed), "{replayed} entries for 20 turns and 20 viewers");
}
