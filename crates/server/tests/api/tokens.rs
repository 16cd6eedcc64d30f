//! Tokens and accounts: made, used, deleted, and never stronger than their maker.

use crate::test_server::{BOOTSTRAP, TestServer};
use serde_json::{Value, json};
use server::background_jobs::record_token_uses;
use wire::time::Timestamp;

async fn make(server: &TestServer, by: &str, wanted: Value, want: &str) -> Value {
    server.call("POST /api/tokens").by(by).json(&wanted).check(want).await.body
}

#[tokio::test]
async fn a_token_works_until_it_is_deleted() {
    let server = TestServer::open().await;
    let made = make(&server, "player", json!({"name": "laptop"}), "201").await;
    let (id, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    assert_eq!((&made["role"], &made["purpose"]), (&json!("player"), &json!("use")));
    server.call("GET /api/games").by(secret).check("200").await;
    let listed = server.call("GET /api/tokens").by(secret).check("200").await.body;
    assert!(listed.as_array().unwrap().iter().any(|token| token["id"] == id));
    assert!(!listed.to_string().contains(secret), "a secret is shown once");
    server.call(&format!("DELETE /api/tokens/{id}")).check("204").await;
    server.call("GET /api/games").by(secret).check("401 token_unknown").await;
    server.call(&format!("DELETE /api/tokens/{id}")).check("404 no_such_token").await;
}

#[tokio::test]
async fn a_token_may_end_by_itself_and_is_no_session() {
    let server = TestServer::open().await;
    for (seconds, want) in
        [(59, "400 bad_value /expires_in_s"), (315_360_001, "400 bad_value /expires_in_s"), (60, "201")]
    {
        make(&server, "admin", json!({"name": "t", "expires_in_s": seconds}), want).await;
    }
    make(&server, "admin", json!({"name": "t", "expires_in": 60}), "422 bad_shape").await;
    let wanted = json!({"name": "for a day", "role": "admin", "expires_in_s": 86_400});
    let made = make(&server, "admin", wanted, "201").await;
    let (secret, end) = (made["secret"].as_str().unwrap(), made["expires_at"].as_str().unwrap());
    assert_eq!(made["is_session"], false);
    let day_ms = serde_json::from_value::<Timestamp>(json!(end)).unwrap().0 - server.app.node.clock.now().0;
    assert!((86_300_000..=86_400_000).contains(&day_ms), "{day_ms}");
    assert_eq!(server.call("GET /api/session").by(secret).check("200").await.body["expires_at"], end);
    // Signing out deletes sessions only.
    server.call("DELETE /api/session").by(secret).check("204").await;
    server.call("GET /api/games").by(secret).check("200").await;
    // What it makes would outlast it.
    for (line, body) in [
        ("POST /api/tokens", json!({"name": "for ever"})),
        ("POST /api/admin/tokens", json!({"name": "for ever", "account": "bob"})),
        ("POST /api/invites", json!({})),
        ("POST /api/sign-in-links", json!({})),
    ] {
        server.call(line).by(secret).json(&body).check("403 token_ends").await;
    }
    let wanted = json!({"name": "t", "account": "bob", "expires_in_s": 60});
    let made = server.call("POST /api/admin/tokens").by("admin").json(&wanted).check("201").await.body;
    assert!(made["expires_at"].is_string(), "{made}");
}

/// A session is a person's, who may make tokens that last.
#[tokio::test]
async fn a_session_makes_tokens_and_is_ended_by_signing_out() {
    let server = TestServer::open().await;
    let link = server.call("POST /api/sign-in-links").json(&json!({})).check("201").await.body;
    let redeem = json!({ "code": link["code"] });
    let reply = server.call("POST /api/sign-in-links/redeem").by("").json(&redeem).check("200").await;
    let cookie = reply.headers["set-cookie"].to_str().unwrap();
    let secret = cookie.split(['=', ';']).nth(1).unwrap();
    make(&server, secret, json!({"name": "for ever"}), "201").await;
    let listed = server.call("GET /api/tokens").by(secret).check("200").await.body;
    let sessions: Vec<_> = listed.as_array().unwrap().iter().filter(|token| token["is_session"] == true).collect();
    assert_eq!((sessions.len(), &sessions[0]["name"]), (1, &json!("browser")));
    server.call("DELETE /api/session").by(secret).check("204").await;
    server.call("GET /api/games").by(secret).check("401 token_unknown").await;
}

#[tokio::test]
async fn a_token_says_when_it_was_used_last() {
    let server = TestServer::open().await;
    let made = make(&server, "player", json!({"name": "laptop"}), "201").await;
    assert_eq!(made["last_used_at"], Value::Null);
    let last_used_at = async |by: &str, name: &str| {
        record_token_uses(server.app.clone()).await.unwrap();
        let listed = server.call("GET /api/tokens").by(by).check("200").await.body;
        listed.as_array().unwrap().iter().find(|token| token["name"] == name).unwrap()["last_used_at"].clone()
    };
    assert_eq!(last_used_at("player", "laptop").await, Value::Null, "no request came with it");
    let now = || Timestamp(server.app.node.clock.now().0).to_string();
    let before = now();
    server.call("GET /api/games").by(made["secret"].as_str().unwrap()).check("200").await;
    let used = last_used_at("player", "laptop").await;
    let used = used.as_str().unwrap();
    assert!((before.as_str()..=now().as_str()).contains(&used), "{used}");
    assert_eq!(last_used_at("bob", "bob").await, Value::Null, "the first request lists what was before it");
    assert_ne!(last_used_at("bob", "bob").await, Value::Null);
}

#[tokio::test]
async fn no_caller_makes_or_deletes_a_token_stronger_than_their_own() {
    let server = TestServer::open().await;
    for (by, role, want) in [
        ("player", "guest", "201"),
        ("player", "player", "201"),
        ("player", "operator", "403 role_too_weak"),
        ("operator", "operator", "201"),
        ("operator", "admin", "403 role_too_weak"),
        ("admin", "admin", "201"),
        ("player", "king", "400 bad_value /role"),
    ] {
        make(&server, by, json!({"name": "t", "role": role}), want).await;
    }
    let admins = "00000000-0000-0000-0000-000000000003";
    server.call(&format!("DELETE /api/tokens/{admins}")).check("403 role_too_weak").await;
    server.call(&format!("DELETE /api/tokens/{admins}")).by("bob").check("404 no_such_token").await;
    server.call(&format!("DELETE /api/tokens/{admins}")).by(BOOTSTRAP).check("204").await;
    server.call("GET /api/admin/stats").by("admin").check("401 token_unknown").await;
}

#[tokio::test]
async fn only_operators_make_tokens_for_load_tests() {
    let server = TestServer::open().await;
    let wanted = |role: &str, purpose: &str| json!({"name": "t", "role": role, "purpose": purpose});
    for (by, role, purpose, want) in [
        ("player", "player", "use", "201"),
        ("player", "guest", "load_test", "403 role_too_weak"),
        ("player", "player", "load_test", "403 role_too_weak"),
        ("operator", "player", "load_test", "201"),
        ("operator", "admin", "load_test", "403 role_too_weak"),
        ("admin", "admin", "load_test", "201"),
        ("operator", "player", "fun", "400 bad_value /purpose"),
    ] {
        let made = make(&server, by, wanted(role, purpose), want).await;
        if want == "201" {
            assert_eq!(made["purpose"], purpose, "{by} {role}");
        }
    }
    let made = make(&server, "operator", wanted("player", "load_test"), "201").await;
    let (id, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    let listed = server.call("GET /api/tokens").by(secret).check("200").await.body;
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.iter().find(|token| token["id"] == id).unwrap()["purpose"], "load_test");
    assert_eq!(listed.last().unwrap()["purpose"], "use", "the oldest was made before anybody spoke of purposes");
    server.call(&format!("DELETE /api/tokens/{id}")).check("403 role_too_weak").await;
    server.call(&format!("DELETE /api/tokens/{id}")).by("operator").check("204").await;
    let of_ann = json!({"account": "ann", "name": "t", "purpose": "load_test"});
    let made = server.call("POST /api/admin/tokens").by(BOOTSTRAP).json(&of_ann).check("201").await.body;
    assert_eq!(made["purpose"], "load_test");
}

#[tokio::test]
async fn an_admin_makes_accounts_and_their_tokens() {
    let server = TestServer::open().await;
    let account = |name: &str| server.call("POST /api/admin/accounts").by(BOOTSTRAP).json(&json!({ "name": name }));
    let made = account("carol").check("201").await.body;
    assert_eq!(account("carol").check("200").await.body, made);
    account("").check("400 bad_value /name").await;
    let token = |wanted: Value| server.call("POST /api/admin/tokens").by(BOOTSTRAP).json(&wanted);
    let carols = token(json!({"account": "carol", "name": "first"})).check("201").await.body;
    let secret = carols["secret"].as_str().unwrap();
    server
        .call("POST /api/snakes")
        .by(secret)
        .json(&json!({"name": "c", "url": "http://example.com"}))
        .check("201")
        .await;
    token(json!({"account": "dave", "name": "first"})).check("404 no_such_account").await;
    token(json!({"account": "da\u{0}ve", "name": "first"})).check("400 bad_value /account").await;
    token(json!({"account": "carol"})).check("422 bad_shape").await;
}

#[tokio::test]
async fn an_account_has_a_bounded_number_of_tokens() {
    let server = TestServer::open().await;
    let listed = server.call("GET /api/tokens").check("200").await.body.as_array().unwrap().len();
    for _ in listed..engine::limits::TOKENS_PER_ACCOUNT_MAX {
        make(&server, "player", json!({"name": "t"}), "201").await;
    }
    make(&server, "player", json!({"name": "t"}), "409 too_many").await;
}
