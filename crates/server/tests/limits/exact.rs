//! Exactly so many, however many ask at once.

use crate::test_server::{Request, TestServer};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Barrier;

const LIMIT: usize = 50;
const CALLERS: usize = 100;
/// `bench/limiter-exact.sh` plays a thousand.
const ROUNDS: usize = 20;

/// Rounds of callers, each on a connection of its own, all at the same moment: in each, exactly so many must pass.
async fn check(server: &TestServer, request: impl Fn(usize) -> Request + Copy + Send + Sync + 'static) {
    let barrier = Arc::new(Barrier::new(CALLERS));
    let mut callers = Vec::new();
    for _ in 0..CALLERS {
        let (mut client, barrier) = (server.connect().await, barrier.clone());
        callers.push(tokio::spawn(async move {
            let mut passed = Vec::new();
            for round in 0..ROUNDS {
                barrier.wait().await;
                let reply = client.send(&request(round)).await;
                passed.push(usize::from(reply.body["allowed"] == true));
            }
            passed
        }));
    }
    let mut sums = [0; ROUNDS];
    for caller in callers {
        caller.await.unwrap().into_iter().zip(&mut sums).for_each(|(passed, sum)| *sum += passed);
    }
    assert_eq!(sums, [LIMIT; ROUNDS]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_at_once_exactly_fifty_pass_the_reference() {
    let server = TestServer::open("").await;
    let settings = json!({"window_seconds": 60, "request_per_window": LIMIT});
    assert_eq!(server.send(&Request::new("POST /api/v1/configure").json(&settings)).await.status, 200);
    let request = |round: usize| {
        let body = json!({"client_id": format!("client-{round}"), "resource": "api"});
        Request::new("POST /api/v1/ratelimit").json(&body)
    };
    check(&server, request).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_at_once_exactly_fifty_pass_every_algorithm() {
    for algorithm in ["log", "gcra", "counter"] {
        let policy =
            format!("[[policy]]\nname = \"p\"\nalgorithm = \"{algorithm}\"\nlimit = {LIMIT}\nwindow = \"60s\"");
        let server = TestServer::open(&policy).await;
        let request =
            |round: usize| Request::new("POST /api/limits/check").json(&json!({"key": format!("client-{round}")}));
        check(&server, request).await;
    }
}
