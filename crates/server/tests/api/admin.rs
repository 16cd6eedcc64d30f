//! What operators and admins see and do beyond games: nodes.

use crate::test_server::TestServer;
use node::lease::LeaseContext;
use serde_json::{Value, json};

#[tokio::test]
async fn an_operator_sees_the_nodes_and_which_one_answers() {
    let server = TestServer::open().await;
    server.call("POST /api/stories/games").json(&json!({})).check("201").await;
    let nodes = server.call("GET /api/admin/nodes").by("operator").check("200").await.body;
    let [node] = nodes.as_array().unwrap().as_slice() else { panic!("one node has leases: {nodes}") };
    assert_eq!(node["address"], server.app.node.address());
    assert_eq!((&node["is_this"], &node["is_living"]), (&json!(true), &json!(true)));
    assert!(
        node["since"].is_string() && node["workers"].as_array().is_some_and(|workers| !workers.is_empty()),
        "{node}"
    );
    assert_eq!(node["lease_ends_at"], Value::Null, "no other process can take over: its leases have no end");
    assert_eq!(node["tables"], 1, "{node}");
}
