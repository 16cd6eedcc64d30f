//! The desk on which the tickets of all nodes lie: one process keeps it, and without its keeper every ticket on it ends. How requests
//! reach it from other nodes is tried with real processes, in `gauntlet/tests/ticket_nodes.rs`.

use crate::gate::Gated;
use crate::test_server::TestServer;
use crate::tickets::{end, place, take, with_a_hunt_before};
use crate::{Guest, open};
use serde_json::{Value, json};
use std::sync::Arc;

/// A server at this port, where nobody listens: what is sent on to it does not arrive.
async fn at(database: &Arc<Gated>, port: u16) -> TestServer {
    let server = TestServer::open_with(database.clone(), |config| config.address = ([127, 0, 0, 1], port).into()).await;
    tokio::spawn(server::hunts::run(server.app.clone()));
    server
}

#[tokio::test]
async fn another_node_takes_the_desk_when_its_keeper_leaves() {
    let database = Gated::new(true);
    let (keeper, other) = (at(&database, 1).await, at(&database, 2).await);
    let ann = Guest::come(&keeper, "Ann").await;
    let ticket = take(&keeper, &ann.token, json!({}), "201").await;
    // Sent on, and nobody there.
    take(&other, &ann.token, json!({}), "503 desk_elsewhere").await;
    for ask in [format!("GET {}", place(&ticket)), format!("DELETE {}", place(&ticket))] {
        let away = other.call(&ask).by(&ann.token).check("503 desk_elsewhere").await;
        assert_eq!(away.headers["retry-after"], "1");
    }
    keeper.app.drain.begin();
    assert_eq!(end(&keeper, &ann.token, &ticket).await["state"], "cancelled");
    take(&keeper, &ann.token, json!({}), "503 draining").await;
    // The lease is given up a moment later than its tickets.
    let own = loop {
        let reply = other.call("POST /api/hunts/tickets").by(&ann.token).json(&json!({})).send().await;
        if reply.status != 503 {
            break reply.body;
        }
        tokio::task::yield_now().await;
    };
    other.call(&format!("GET {}", place(&own))).by(&ann.token).check("200").await;
    other.call(&format!("GET {}", place(&ticket))).by(&ann.token).check("410 ticket_lost").await;
}

/// Whoever cannot renew the lease keeps the desk no longer: others may, and nobody waits on one that nobody looks at.
#[tokio::test]
async fn a_keeper_who_loses_the_lease_cancels_those_who_wait() {
    let gate = Gated::new(true);
    let server = at(&gate, 1).await;
    let lone = take(&server, "player", json!({ "wait_ms": 600_000 }), "201").await;
    let (ann, ticket) = with_a_hunt_before(&gate, &server).await;
    assert_eq!(end(&server, "player", &lone).await["state"], "cancelled");
    gate.open();
    assert_eq!(end(&server, &ann, &ticket).await["state"], "matched", "its hunt was saved all the same");
    let again = take(&server, "player", json!({}), "201").await;
    server.call(&format!("GET {}", place(&again))).check("200").await;
}

/// Asks until somebody knows: while the lease of a keeper may hold, nobody does.
async fn known(server: &TestServer, token: &str, ticket: &Value) -> (u16, Value) {
    loop {
        let reply = server.call(&format!("GET {}", place(ticket))).by(token).send().await;
        if reply.status != 503 {
            return (reply.status.as_u16(), reply.body);
        }
        tokio::task::yield_now().await;
    }
}

/// The keeper dies between the commit of a hunt and the answer to those who wait: they hear of it from whoever they ask.
#[tokio::test]
async fn who_was_matched_hears_of_the_hunt_though_the_keeper_died() {
    let gate = Gated::new(true);
    let keeper = TestServer::open_with(gate.clone(), |config| config.address = ([127, 0, 0, 1], 1).into()).await;
    let matchmaker = tokio::spawn(server::hunts::run(keeper.app.clone()));
    let other = at(&gate, 2).await;
    let (ann, ticket) = with_a_hunt_before(&gate, &keeper).await;
    matchmaker.abort();
    assert!(matchmaker.await.unwrap_err().is_cancelled());
    gate.open();
    let (status, told) = known(&other, &ann, &ticket).await;
    assert_eq!((status, &told["state"]), (200, &json!("matched")), "{told}");
    let hunt = format!("GET /api/hunts/{}", told["hunt"].as_str().unwrap());
    assert_eq!(other.call(&hunt).by(&ann).check("200").await.body["may_enter"], true);
    // Neither is one matched again who never heard of it, or of his ticket.
    let again = loop {
        let reply = other.call("POST /api/hunts/tickets").by(&ann).json(&json!({})).send().await;
        if reply.status != 503 {
            break reply;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!((again.status.as_u16(), &again.body["code"]), (409, &json!("in_hunt")));
}

/// A keeper who stood still saves no hunt for tickets that were declared lost meanwhile.
#[tokio::test]
async fn a_ticket_that_was_lost_gets_no_hunt_any_more() {
    let gate = Gated::new(true);
    let (keeper, other) = (at(&gate, 1).await, at(&gate, 2).await);
    let (ann, ticket) = with_a_hunt_before(&gate, &keeper).await;
    let (status, told) = known(&other, &ann, &ticket).await;
    assert_eq!((status, &told["code"]), (410, &json!("ticket_lost")), "{told}");
    gate.open();
    let (status, told) = loop {
        let (status, told) = known(&keeper, &ann, &ticket).await;
        if told["state"] != "waiting" {
            break (status, told);
        }
        // Nothing of an answer from memory waits for anything.
        tokio::task::yield_now().await;
    };
    assert_eq!((status, &told["code"]), (410, &json!("ticket_lost")), "{told}");
    let hunts = other.call("GET /api/hunts").by("operator").check("200").await.body;
    assert_eq!(hunts.as_array().unwrap().len(), 0, "{hunts}");
    take(&other, &ann, json!({}), "201").await;
}

/// A ticket ends with the process that took it, and whoever asks the next one is told so: "there is none" could mean anything.
#[tokio::test]
async fn a_ticket_of_a_process_that_is_gone_has_ended() {
    let (gone, server) = (open().await, open().await);
    let ticket = take(&gone, &Guest::come(&gone, "Ann").await.token, json!({}), "201").await;
    let ann = Guest::come(&server, "Ann").await;
    server.call(&format!("GET {}", place(&ticket))).by(&ann.token).check("410 ticket_lost").await;
    server.call(&format!("GET {}?wait=5s", place(&ticket))).by(&ann.token).check("410 ticket_lost").await;
    server.call(&format!("DELETE {}", place(&ticket))).by(&ann.token).check("410 ticket_lost").await;
    let own = take(&server, &ann.token, json!({}), "201").await;
    server.call(&format!("GET {}", place(&own))).by(&ann.token).check("200").await;
    server.call(&format!("GET {}", place(&ticket))).by(&ann.token).check("410 ticket_lost").await;
}
