//! A match's life as the API shows it: claimed, played, finished, failed, requeued, called off.

use crate::test_server::{ANNS, BOBS_PUBLIC, TestServer, WORKER};
use engine::commands::{Command, MatchAppend, Outcome};
use engine::ids::MatchId;
use engine::matches::archive;
use engine::matches::entry::{Entry, Face};
use engine::matches::result::MatchResult;
use engine::rows::MatchLogRow;
use rules::snake::{Cause, RULES_VERSION};
use serde_json::{Value, json};

async fn two_snakes(server: &TestServer) -> MatchId {
    let wanted = json!({ "snakes": [ANNS.to_string(), BOBS_PUBLIC.to_string()] });
    let created = server.call("POST /api/games").json(&wanted).check("201").await.body;
    created["id"].as_str().unwrap().parse().unwrap()
}

fn opened() -> MatchLogRow {
    let entry = Entry::Opened { rules_version: RULES_VERSION, faces: vec![Face::default(); 2] };
    MatchLogRow { version: 0, turns: 0, late_moves: 0, bytes: entry.encode() }
}

/// Claims the only match and ends it with these placements.
async fn finish(server: &TestServer, id: MatchId, winner: Option<u8>, placements: Vec<u8>) {
    assert_eq!(server.claim().await, [id]);
    let now = server.app.node.clock.now();
    let rows = vec![opened()];
    let archive = archive::pack(&rows);
    let append = MatchAppend { id, epoch: 1, rows, expected_version: 0, started_at: Some(now) };
    let causes: Vec<_> =
        placements.iter().map(|place| (*place > 1 || winner.is_none()).then_some(Cause::HeadCollision)).collect();
    let food_eaten = vec![0; placements.len()];
    let death_turns = causes.iter().map(|cause| cause.map(|_| 1)).collect();
    let result = MatchResult {
        winner,
        is_draw: winner.is_none(),
        placements,
        causes,
        death_turns,
        turns: 0,
        late_moves: 0,
        food_eaten,
        is_server_fault: false,
        silent_seats: Vec::new(),
    };
    assert_eq!(server.commit(Command::FinishMatch { append, result, archive, now }).await, Outcome::Done);
}

async fn details(server: &TestServer, id: MatchId) -> Value {
    server.call(&format!("GET /api/games/{id}/details")).check("200").await.body
}

#[tokio::test]
async fn a_finished_game_names_its_winner_and_everybodys_place() {
    let server = TestServer::open().await;
    let id = two_snakes(&server).await;
    finish(&server, id, Some(1), vec![2, 1]).await;
    let shown = details(&server, id).await;
    assert_eq!((&shown["status"], &shown["winner"]), (&json!("finished"), &json!(BOBS_PUBLIC.to_string())));
    assert_eq!(shown["snakes"][0]["placement"], 2);
    assert_eq!(shown["snakes"][0]["cause"], "head-collision");
    assert_eq!((&shown["snakes"][0]["outcome"], &shown["snakes"][1]["outcome"]), (&json!("lost"), &json!("won")));
    assert_eq!(shown["snakes"][0]["deciding_turn"], 0);
    assert_eq!(shown["snakes"][0]["evidence"], format!("/api/games/{id}/snakes/0/turns/0"));
    assert_eq!((&shown["snakes"][1]["deciding_turn"], &shown["snakes"][1]["evidence"]), (&Value::Null, &Value::Null));
    assert_eq!((&shown["snakes"][1]["placement"], &shown["snakes"][1]["cause"]), (&json!(1), &Value::Null));
    assert!(shown["finished_at"].is_string() && shown["started_at"].is_string(), "{shown}");
    assert_eq!(shown["frames"].as_array().map(Vec::len), Some(1), "the board at the start");
    server.call(&format!("POST /api/games/{id}/cancel")).check("409 wrong_state").await;
    server.call(&format!("POST /api/admin/games/{id}/requeue")).by("operator").check("409 wrong_state").await;
}

#[tokio::test]
async fn a_draw_has_no_winner_and_shared_places() {
    let server = TestServer::open().await;
    let id = two_snakes(&server).await;
    finish(&server, id, None, vec![1, 1]).await;
    let shown = details(&server, id).await;
    assert_eq!((&shown["status"], &shown["winner"]), (&json!("finished"), &Value::Null));
    assert_eq!((&shown["snakes"][0]["placement"], &shown["snakes"][1]["placement"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn a_failed_game_is_inspected_and_gets_another_chance() {
    let server = TestServer::open().await;
    let id = two_snakes(&server).await;
    assert_eq!(server.claim().await, [id]);
    let now = server.app.node.clock.now();
    let append = MatchAppend { id, epoch: 1, rows: vec![opened()], expected_version: 0, started_at: Some(now) };
    assert_eq!(server.commit(Command::AppendMatch(append)).await, Outcome::Done);
    let inspect = || server.call(&format!("GET /api/admin/games/{id}")).by("operator").check("200");
    let running = inspect().await.body;
    assert_eq!(running["worker"], json!({"id": WORKER.to_string(), "address": "127.0.0.1:4000"}));
    let fail = Command::FailMatch { id, epoch: 1, reason: "poison".to_owned(), now };
    assert_eq!(server.commit(fail).await, Outcome::Done);
    let failed = inspect().await.body;
    assert_eq!(
        (&failed["status"], &failed["failure"], &failed["worker"]),
        (&json!("failed"), &json!("poison"), &Value::Null)
    );
    assert_eq!(failed["attempts"]["epoch"], 1);
    assert_eq!(failed["log"]["version"], 1);
    assert_eq!(failed["log"]["tail"][0]["entry"]["kind"], "opened");
    assert_eq!(details(&server, id).await["failure"], "poison");
    let requeued = server.call(&format!("POST /api/admin/games/{id}/requeue")).by("operator").check("200").await.body;
    assert_eq!((&requeued["status"], &requeued["failure"]), (&json!("waiting"), &Value::Null));
    assert_eq!(server.claim().await, [id]);
}

#[tokio::test]
async fn games_are_called_off_by_their_owner_or_an_operator() {
    let server = TestServer::open().await;
    let (a, b) = (server.game().await, server.game().await);
    server.call(&format!("POST /api/games/{a}/cancel")).by("bob").check("404 no_such_game").await;
    let mut watch = server.app.notifier.subscribe(a.parse().unwrap());
    let cancelled = server.call(&format!("POST /api/games/{a}/cancel")).check("200").await.body;
    assert_eq!(cancelled["status"], "cancelled");
    watch.changed().await;
    server.call(&format!("POST /api/games/{a}/cancel")).check("409 wrong_state").await;
    server.call(&format!("POST /api/admin/games/{b}/cancel")).by("operator").check("200").await;
    let unknown = "0190b5a4-7c1e-7000-8000-000000000001";
    for line in [
        "POST /api/games/{}/cancel",
        "POST /api/admin/games/{}/cancel",
        "POST /api/admin/games/{}/requeue",
        "GET /api/admin/games/{}",
    ] {
        server.call(&line.replace("{}", unknown)).by("operator").check("404 no_such_game").await;
        server.call(&line.replace("{}", "x")).by("operator").check("400 bad_id").await;
    }
}

/// An operator who finds a game that does not get on must be able to say where to look, also when no node holds it any more.
#[tokio::test]
async fn a_game_names_the_node_that_holds_it_or_held_it_last() {
    let server = TestServer::open().await;
    let id = two_snakes(&server).await;
    check_node(&server, id, "waiting", Value::Null).await;
    let node = json!("127.0.0.1:4000");
    assert_eq!(server.claim().await, [id]);
    check_node(&server, id, "running", node.clone()).await;
    let now = server.app.node.clock.now();
    assert_eq!(server.commit(Command::EndLease { worker: WORKER }).await, Outcome::Done);
    check_node(&server, id, "running", node.clone()).await;
    let fail = Command::FailMatch { id, epoch: 1, reason: "poison".to_owned(), now };
    assert_eq!(server.commit(fail).await, Outcome::Done);
    check_node(&server, id, "failed", node.clone()).await;
    let requeued = server.call(&format!("POST /api/admin/games/{id}/requeue")).by("operator").check("200").await.body;
    assert_eq!((&requeued["status"], &requeued["node"]), (&json!("waiting"), &node));
    let cancelled = server.call(&format!("POST /api/games/{id}/cancel")).check("200").await.body;
    assert_eq!((&cancelled["status"], &cancelled["node"]), (&json!("cancelled"), &node));
}

/// Everywhere that a game is shown alone or its status is.
#[track_caller]
fn check_shown(shown: &Value, status: &str, node: &Value) {
    assert_eq!((&shown["status"], shown.get("node")), (&json!(status), Some(node)), "{shown}");
}

async fn check_node(server: &TestServer, id: MatchId, status: &str, node: Value) {
    let ask = json!({ "game_ids": [id.to_string()] });
    let statuses = server.call("POST /api/games/status").json(&ask).check("200").await.body;
    check_shown(&statuses[0], status, &node);
    check_shown(&details(server, id).await, status, &node);
    let inspected = server.call(&format!("GET /api/admin/games/{id}")).by("operator").check("200").await.body;
    check_shown(&inspected, status, &node);
}
