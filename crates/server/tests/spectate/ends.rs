//! Every way in which a match ends is an end for its viewers.

use super::scribe::Scribe;
use super::test_server::{Shared, TestServer};
use super::viewer::{ERROR, NORMAL, Received, Viewer};
use engine::commands::{Command, Outcome};
use engine::ids::MatchId;
use engine::matches::spec::MatchSpec;
use std::sync::Arc;
use store::testing::MemoryDatabase;

/// A match of three turns and an ending, watched from before its end and again afterwards: checks the number of frames, the events and the
/// close code.
async fn check(ending: impl AsyncFnOnce(&TestServer, Scribe<'_>), frames: usize, events: &[&str], code: u16) {
    let (server, spec) = a_match().await;
    let mut early = Viewer::watch(&server, spec.id).await;
    server.wait_for_watched(1).await;
    let mut scribe = Scribe::take(&server).await;
    scribe.play(3).await;
    early.wait_for_turn(3).await;
    ending(&server, scribe).await;
    for viewer in [early, Viewer::watch(&server, spec.id).await] {
        let received = viewer.read_to_end().await;
        assert_eq!((received.frames.len(), received.code), (frames, code));
        assert_eq!(received.events, events);
    }
}

async fn a_match() -> (TestServer, MatchSpec) {
    let server = TestServer::open_on(Arc::new(Shared(MemoryDatabase::new()))).await;
    let spec = server.create(&["http://nowhere.example".to_owned(), "http://nowhere.example".to_owned()], 500).await;
    (server, spec)
}

async fn cancel(server: &TestServer, spec: &MatchSpec) {
    let cancel = Command::CancelMatch { id: spec.id, account: None, now: server.app.node.clock.now() };
    assert_eq!(server.app.node.store.commit(cancel).await, Ok(Outcome::Done));
}

/// Regression: a viewer of a failed game waited for ever.
#[tokio::test]
async fn a_failed_match_has_an_end() {
    check(async |_, scribe| scribe.fail().await, 4, &["error", "game_end"], NORMAL).await;
}

#[tokio::test]
async fn a_match_that_cannot_be_shown_any_further_says_so() {
    check(async |_, mut scribe| scribe.scrawl().await, 4, &["error", "game_end"], ERROR).await;
}

#[tokio::test]
async fn a_cancelled_match_has_an_end() {
    let (server, spec) = a_match().await;
    let early = Viewer::watch(&server, spec.id).await;
    server.wait_for_watched(1).await;
    cancel(&server, &spec).await;
    let want = Received { frames: Vec::new(), events: ["error", "game_end"].map(str::to_owned).into(), code: NORMAL };
    assert_eq!(early.read_to_end().await, want);
    assert_eq!(Viewer::watch(&server, spec.id).await.read_to_end().await, want);
}

#[tokio::test]
async fn a_viewer_of_no_match_is_told_so() {
    let server = TestServer::open().await;
    let received = Viewer::watch(&server, MatchId(7)).await.read_to_end().await;
    assert_eq!(received, Received { frames: Vec::new(), events: vec!["error".to_owned()], code: NORMAL });
    server.wait_for_watched(0).await;
}
