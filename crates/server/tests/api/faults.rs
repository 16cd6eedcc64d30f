//! A store that cannot be reached: requests are refused with 503 and a time to try again, and work again by themselves.

use crate::test_server::{ANNS, TestServer};
use engine::commands::{Command, Outcome};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::testing::MemoryDatabase;
use store::{Backend, Database, Reader, StoreError};

/// Only so that a store that never heals is a failed test and not a hanging one.
const HEALED_WITHIN: Duration = Duration::from_secs(60);

/// A memory database whose writer can be lost.
#[derive(Clone, Default)]
struct Frail {
    inner: MemoryDatabase,
    is_lost: Arc<AtomicBool>,
}

struct FrailWriter {
    inner: Box<dyn Backend>,
    is_lost: Arc<AtomicBool>,
}

fn check(is_lost: &AtomicBool) -> Result<(), StoreError> {
    let why = || "disk full at sector 7".to_owned();
    if is_lost.load(Ordering::SeqCst) { Err(StoreError::Unavailable { why: why() }) } else { Ok(()) }
}

impl Backend for FrailWriter {
    fn commit(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        check(&self.is_lost)?;
        self.inner.commit(commands)
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        check(&self.is_lost)?;
        self.inner.probe()
    }
}

impl Database for Frail {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        check(&self.is_lost)?;
        Ok(Box::new(FrailWriter { inner: self.inner.writer()?, is_lost: self.is_lost.clone() }))
    }
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.reader()
    }
    fn is_shared(&self) -> bool {
        false
    }
    fn kind(&self) -> &'static str {
        "frail"
    }
}

#[tokio::test]
async fn a_lost_writer_is_a_503_and_heals() {
    let database = Frail::default();
    let server = TestServer::open_with(Arc::new(database.clone()), |config| config.allow_private_bots = true).await;
    let wanted = json!({ "snakes": [ANNS.to_string()] });
    let create = || server.call("POST /api/games").header("idempotency-key", "k").json(&wanted);
    database.is_lost.store(true, Ordering::SeqCst);
    let refused = create().check("503 store_unavailable").await;
    assert_eq!(refused.headers["retry-after"], "1");
    assert!(!refused.body.to_string().contains("sector"), "what the database said is for the log only");
    server.call("GET /api/games").check("200").await;
    database.is_lost.store(false, Ordering::SeqCst);
    // The door opens the writer again by itself; how soon is its own affair, that it does is ours.
    let healed = async {
        loop {
            let reply = create().send().await;
            if reply.status.as_u16() == 201 {
                return;
            }
            assert_eq!(reply.body["code"], "store_unavailable");
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(HEALED_WITHIN, healed).await.expect("the store comes back");
}
