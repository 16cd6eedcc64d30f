//! The lobby, tickets, and counting outside the worlds. Real requests to the real router, with the aggregator and the matchmaker on the
//! memory store.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where by panicking")]

#[allow(dead_code, reason = "shared with the tests of the whole API, which use more of it")]
#[path = "../api/test_server.rs"]
mod test_server;

mod counting;
mod gate;
mod lobby;
mod queue;
mod quotas;
mod tickets;

use serde_json::{Value, json};
use std::sync::Arc;
use store::Database;
use store::testing::MemoryDatabase;
use test_server::TestServer;

/// A server that counts claims and matches tickets.
pub(crate) async fn open() -> TestServer {
    open_on(Arc::new(MemoryDatabase::new())).await
}

/// The same, on this database.
pub(crate) async fn open_on(database: Arc<dyn Database>) -> TestServer {
    let server = TestServer::open_with(database, |_| {}).await;
    tokio::spawn(server::owners::run_hunts(server.app.clone()));
    server
}

/// A guest, without an account.
pub(crate) struct Guest {
    pub(crate) id: String,
    pub(crate) token: String,
}

impl Guest {
    pub(crate) async fn come(server: &TestServer, name: &str) -> Self {
        let reply = server.call("POST /api/stories/guests").by("").json(&json!({ "name": name })).check("201").await;
        let text = |member: &str| reply.body[member].as_str().unwrap().to_owned();
        Self { id: text("player"), token: text("token") }
    }
}

/// The texts of this member, row by row.
pub(crate) fn column<'a>(rows: &'a Value, member: &str) -> Vec<&'a str> {
    rows.as_array().unwrap().iter().map(|row| row[member].as_str().unwrap()).collect()
}
