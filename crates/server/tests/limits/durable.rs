//! What is set lasts, and nothing is in force that does not: a second server on the same store, a store that fails.

use crate::test_server::{Request, TestServer};
use engine::commands::{Command, Outcome};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::testing::MemoryDatabase;
use store::{Backend, Database, Reader, StoreError};

/// A memory database that others may share, whose writer can be lost.
#[derive(Clone, Default)]
struct Shared {
    inner: MemoryDatabase,
    is_lost: Arc<AtomicBool>,
}

struct Writer {
    inner: Box<dyn Backend>,
    is_lost: Arc<AtomicBool>,
}

impl Writer {
    fn check(&self) -> Result<(), StoreError> {
        if self.is_lost.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable { why: "disk full at sector 7".to_owned() });
        }
        Ok(())
    }
}

impl Backend for Writer {
    fn commit(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        self.check()?;
        self.inner.commit(commands)
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.check()?;
        self.inner.probe()
    }
}

impl Database for Shared {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        Ok(Box::new(Writer { inner: self.inner.writer()?, is_lost: self.is_lost.clone() }))
    }
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.reader()
    }
    fn is_shared(&self) -> bool {
        true
    }
    fn kind(&self) -> &'static str {
        "shared memory"
    }
}

async fn open(database: &Shared) -> TestServer {
    TestServer::open_with("", Arc::new(database.clone()), |_| {}).await
}

async fn set_all(server: &TestServer) {
    for (line, body) in [
        ("POST /api/v1/configure", json!({"window_seconds": 30, "request_per_window": 7})),
        ("POST /api/v1/configure-client", json!({"client_id": "ann", "window_seconds": 5, "request_per_window": 3})),
        ("PUT /api/limits/policies/p", json!({"limit": 2, "window_ms": 1_000})),
        ("PUT /api/limits/policies/p/overrides/k", json!({"limit": 4, "window_ms": 1_000})),
    ] {
        let reply = server.send(&Request::new(line).by_admin().json(&body)).await;
        assert!(reply.status < 300, "{line}: {}", reply.text);
    }
}

async fn get(server: &TestServer, path: &str) -> Value {
    server.send(&Request::new(&format!("GET {path}")).by_admin()).await.body
}

async fn has_all(server: &TestServer) -> bool {
    let config = |window: u64, limit: u64| json!({"window_seconds": window, "requests_per_window": limit});
    get(server, "/api/v1/client-config/bob").await == config(30, 7)
        && get(server, "/api/v1/client-config/ann").await == config(5, 3)
        && get(server, "/api/limits/policies/p").await["limit"] == 2
        && get(server, "/api/limits/policies/p/overrides/k").await["limit"] == 4
}

#[tokio::test]
async fn what_is_set_is_there_for_the_next_server() {
    let database = Shared::default();
    let first = open(&database).await;
    set_all(&first).await;
    assert!(has_all(&first).await);
    assert!(has_all(&open(&database).await).await);
}

#[tokio::test]
async fn what_one_node_sets_is_soon_in_force_on_the_others() {
    let database = Shared::default();
    let (one, other) = (open(&database).await, open(&database).await);
    set_all(&one).await;
    let patience = Instant::now() + Duration::from_secs(60);
    while !has_all(&other).await {
        assert!(Instant::now() < patience, "the other node never heard of it");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let asked = async || {
        let body = json!({"client_id": "ann", "resource": "x"});
        other.send(&Request::new("POST /api/v1/ratelimit").json(&body)).await.body
    };
    assert_eq!(asked().await, json!({"allowed": true, "remaining": 2}));
}

#[tokio::test]
async fn what_cannot_be_saved_is_not_in_force() {
    let database = Shared::default();
    let server = open(&database).await;
    database.is_lost.store(true, Ordering::SeqCst);
    let configure = json!({"window_seconds": 30, "request_per_window": 7});
    let reply = server.send(&Request::new("POST /api/v1/configure").json(&configure)).await;
    assert_eq!((reply.status, reply.body), (503, json!({"errors": {"detail": "Service Unavailable"}})));
    let policy = json!({"limit": 2, "window_ms": 1_000});
    let reply = server.send(&Request::new("PUT /api/limits/policies/p").by_admin().json(&policy)).await;
    assert_eq!((reply.status, &reply.body["code"]), (503, &json!("store_unavailable")));
    let default = json!({"window_seconds": 60, "requests_per_window": 100});
    assert_eq!(get(&server, "/api/v1/client-config/ann").await, default);
    assert_eq!(get(&server, "/api/limits/policies").await["policies"], json!([]));
    let body = json!({"client_id": "ann", "resource": "x"});
    let reply = server.send(&Request::new("POST /api/v1/ratelimit").json(&body)).await;
    assert_eq!(reply.body, json!({"allowed": true, "remaining": 99}), "decisions need no store");
}

/// Changes that come together are one commit, and the last one of each row is the one in force, here and in the store.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_changes_at_once_end_as_they_are_saved() {
    let database = Shared::default();
    let server = Arc::new(open(&database).await);
    let changes = (1..=300_u64).map(|number| {
        let server = server.clone();
        tokio::spawn(async move {
            let id = format!("client-{}", number % 3);
            let body = json!({"client_id": id, "window_seconds": 60, "request_per_window": number});
            server.send(&Request::new("POST /api/v1/configure-client").json(&body)).await.status
        })
    });
    for change in changes.collect::<Vec<_>>() {
        assert_eq!(change.await.unwrap(), 200);
    }
    let next = open(&database).await;
    for id in 0..3 {
        let path = format!("/api/v1/client-config/client-{id}");
        assert_eq!(get(&server, &path).await, get(&next, &path).await);
    }
}
