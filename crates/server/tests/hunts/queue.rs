//! The matchmaking queue of all nodes: one process owns it, and without an owner every ticket in it ends. Forwarding of requests from other
//! nodes is tested with real processes, in `gauntlet/tests/ticket_nodes.rs`.

use crate::gate::Gated;
use crate::test_server::TestServer;
use crate::tickets::{end, path, take, with_a_hunt_before};
use crate::{Guest, open};
use serde_json::{Value, json};
use std::sync::Arc;

/// A server with this port in its address, where no process listens: forwarded requests do not arrive.
async fn at(database: &Arc<Gated>, port: u16) -> TestServer {
    let server =
        TestServer::open_with(database.clone(), |config| config.set_address(([127, 0, 0, 1], port).into())).await;
    tokio::spawn(server::owners::run_hunts(server.app.clone()));
    server
}

#[tokio::test]
async fn another_node_takes_the_queue_when_its_owner_drains() {
    let database = Gated::new(true);
    let (owner, other) = (at(&database, 1).await, at(&database, 2).await);
    let ann = Guest::come(&owner, "Ann").await;
    let ticket = take(&owner, &ann.token, json!({}), "201").await;
    // Forwarded, and no process is there.
    take(&other, &ann.token, json!({}), "503 tickets_elsewhere").await;
    for ask in [format!("GET {}", path(&ticket)), format!("DELETE {}", path(&ticket))] {
        let away = other.call(&ask).by(&ann.token).check("503 tickets_elsewhere").await;
        assert_eq!(away.headers["retry-after"], "1");
    }
    owner.app.drain.begin();
    assert_eq!(end(&owner, &ann.token, &ticket).await["state"], "cancelled");
    take(&owner, &ann.token, json!({}), "503 draining").await;
    // The lease is released a moment after its tickets.
    let own = loop {
        let reply = other.call("POST /api/hunts/tickets").by(&ann.token).json(&json!({})).send().await;
        if reply.status != 503 {
            break reply.body;
        }
        tokio::task::yield_now().await;
    };
    other.call(&format!("GET {}", path(&own))).by(&ann.token).check("200").await;
    other.call(&format!("GET {}", path(&ticket))).by(&ann.token).check("410 ticket_lost").await;
}

/// An owner that cannot renew its lease loses the queue: another process may take it, and no ticket waits in an abandoned queue.
#[tokio::test]
async fn an_owner_that_loses_the_lease_cancels_waiting_tickets() {
    let gate = Gated::new(true);
    let server = at(&gate, 1).await;
    let single = take(&server, "player", json!({ "wait_ms": 600_000 }), "201").await;
    let (ann, ticket) = with_a_hunt_before(&gate, &server).await;
    assert_eq!(end(&server, "player", &single).await["state"], "cancelled");
    gate.open();
    assert_eq!(end(&server, &ann, &ticket).await["state"], "matched", "its hunt was saved all the same");
    let again = take(&server, "player", json!({}), "201").await;
    server.call(&format!("GET {}", path(&again))).check("200").await;
}

/// Asks until the answer is known: while the lease of an owner may hold, it is not.
async fn known(server: &TestServer, token: &str, ticket: &Value) -> (u16, Value) {
    loop {
        let reply = server.call(&format!("GET {}", path(ticket))).by(token).send().await;
        if reply.status != 503 {
            return (reply.status.as_u16(), reply.body);
        }
        tokio::task::yield_now().await;
    }
}

/// The owner dies between the commit of a hunt and the response to the clients: they learn of it from any node.
#[tokio::test]
async fn a_match_is_known_although_the_owner_of_the_queue_died() {
    let gate = Gated::new(true);
    let owner = TestServer::open_with(gate.clone(), |config| config.set_address(([127, 0, 0, 1], 1).into())).await;
    let matchmaker = tokio::spawn(server::owners::run_hunts(owner.app.clone()));
    let other = at(&gate, 2).await;
    let (ann, ticket) = with_a_hunt_before(&gate, &owner).await;
    matchmaker.abort();
    assert!(matchmaker.await.unwrap_err().is_cancelled());
    gate.open();
    let (status, reply_body) = known(&other, &ann, &ticket).await;
    assert_eq!((status, &reply_body["state"]), (200, &json!("matched")), "{reply_body}");
    let hunt = format!("GET /api/hunts/{}", reply_body["hunt"].as_str().unwrap());
    assert_eq!(other.call(&hunt).by(&ann).check("200").await.body["may_enter"], true);
    // A player who never got that response is not matched again either.
    let again = loop {
        let reply = other.call("POST /api/hunts/tickets").by(&ann).json(&json!({})).send().await;
        if reply.status != 503 {
            break reply;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!((again.status.as_u16(), &again.body["code"]), (409, &json!("in_hunt")));
}

/// A paused owner saves no hunt for tickets that were declared lost meanwhile.
#[tokio::test]
async fn a_lost_ticket_gets_no_hunt_any_more() {
    let gate = Gated::new(true);
    let (owner, other) = (at(&gate, 1).await, at(&gate, 2).await);
    let (ann, ticket) = with_a_hunt_before(&gate, &owner).await;
    let (status, reply_body) = known(&other, &ann, &ticket).await;
    assert_eq!((status, &reply_body["code"]), (410, &json!("ticket_lost")), "{reply_body}");
    gate.open();
    let (status, reply_body) = loop {
        let (status, reply_body) = known(&owner, &ann, &ticket).await;
        if reply_body["state"] != "waiting" {
            break (status, reply_body);
        }
        // A response from memory waits for nothing.
        tokio::task::yield_now().await;
    };
    assert_eq!((status, &reply_body["code"]), (410, &json!("ticket_lost")), "{reply_body}");
    let hunts = other.call("GET /api/hunts").by("operator").check("200").await.body;
    assert_eq!(hunts.as_array().unwrap().len(), 0, "{hunts}");
    take(&other, &ann, json!({}), "201").await;
}

/// A ticket ends with the process that accepted it, and the next process says so: "no such ticket" could mean anything.
#[tokio::test]
async fn a_ticket_of_a_dead_process_has_ended() {
    let (gone, server) = (open().await, open().await);
    let ticket = take(&gone, &Guest::come(&gone, "Ann").await.token, json!({}), "201").await;
    let ann = Guest::come(&server, "Ann").await;
    server.call(&format!("GET {}", path(&ticket))).by(&ann.token).check("410 ticket_lost").await;
    server.call(&format!("GET {}?wait=5s", path(&ticket))).by(&ann.token).check("410 ticket_lost").await;
    server.call(&format!("DELETE {}", path(&ticket))).by(&ann.token).check("410 ticket_lost").await;
    let own = take(&server, &ann.token, json!({}), "201").await;
    server.call(&format!("GET {}", path(&own))).by(&ann.token).check("200").await;
    server.call(&format!("GET {}", path(&ticket))).by(&ann.token).check("410 ticket_lost").await;
}
