//! What programs written for another server of this API expect of it.

use crate::test_server::{ANNS, BOBS_PUBLIC, TestServer};
use engine::commands::{ClaimedMatch, Command, MatchAppend, Outcome};
use engine::matches::machine::MatchMachine;
use serde_json::{Value, json};

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
