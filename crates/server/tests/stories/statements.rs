//! The cost of a journey in statements of the store: counted, not guessed.

use crate::play::Person;
use crate::test_server::TestServer;
use engine::commands::{Command, Outcome};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::testing::MemoryDatabase;
use store::{Backend, Database, Reader, StoreError};

/// A memory database that counts what tables write.
#[derive(Clone, Default)]
struct Counting {
    inner: MemoryDatabase,
    written: Arc<AtomicU64>,
}

struct CountingWriter {
    inner: Box<dyn Backend>,
    written: Arc<AtomicU64>,
}

impl Backend for CountingWriter {
    fn commit(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        let is_of_a_table = |command: &&Command| matches!(command, Command::OpenTable(_) | Command::AppendTable(_));
        self.written.fetch_add(commands.iter().filter(is_of_a_table).count() as u64, Ordering::SeqCst);
        self.inner.commit(commands)
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.inner.probe()
    }
}

impl Database for Counting {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        Ok(Box::new(CountingWriter { inner: self.inner.writer()?, written: self.written.clone() }))
    }
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.reader()
    }
    fn is_shared(&self) -> bool {
        false
    }
    fn kind(&self) -> &'static str {
        "counting"
    }
}

/// Creates a game, reads it four times, lists the user's games four times: the journey of the overload trial's users.
#[tokio::test]
async fn a_users_journey() {
    let database = Counting::default();
    let server = TestServer::open_with(Arc::new(database.clone()), |config| config.allow_private_bots = true).await;
    let ann = Person::come(&server, "Ann").await;
    let counts = || (server.sample("gauntlet_store_query_seconds_count"), database.written.load(Ordering::SeqCst));
    let before = counts();
    let since = || (counts().0 - before.0, counts().1 - before.1);
    let opened = server.call("POST /api/stories/games").by(&ann.token).json(&json!({})).check("201").await;
    assert_eq!(since(), (1, 1), "opening reads the guest's standing, and writes once");
    let game = opened.body["game"]["id"].as_str().unwrap().to_owned();
    for _ in 0..4 {
        server.call(&format!("GET /api/stories/games/{game}")).by(&ann.token).check("200").await;
    }
    assert_eq!(since(), (1, 1), "a live game is shown from memory");
    for _ in 0..4 {
        server.call("GET /api/stories/my-games").by(&ann.token).check("200").await;
    }
    assert_eq!(since(), (5, 1), "a list is one read");
    for (body, action) in
        [(json!({ "card": opened.body["game"]["own"]["hand"][0] }), "card"), (json!({ "sentence": "So" }), "sentence")]
    {
        server.call(&format!("POST /api/stories/games/{game}/{action}")).by(&ann.token).json(&body).check("200").await;
    }
    assert_eq!(since(), (5, 3), "an action writes once and reads nothing");
}
