//! Accounts that are deleted: by whom, what is refused, what ends at once, and what follows in portions.

use crate::test_server::{ANN, BOB, BOBS_PUBLIC, BOOTSTRAP, HOUSE, LOAD_TEST, OTHER_OPERATOR, TestServer};
use engine::commands::{AccountCommand, Command, Outcome};
use engine::ids::{AccountId, TokenId};
use engine::rows::{Account, Role, TokenPurpose};
use engine::time::UnixMs;
use gateway::account_clearing::AccountClearing;
use serde_json::{Value, json};

fn of(id: AccountId) -> String {
    format!("DELETE /api/admin/accounts/{id}")
}

fn bob() -> Value {
    json!({ "name": "bob", "reason": "left the club" })
}

/// All that can be cleared now, whenever it was deleted.
async fn clear(server: &TestServer) {
    AccountClearing::default().look(&server.app, UnixMs::MAX).await.unwrap();
}

#[tokio::test]
async fn who_deletes_and_what_is_refused() {
    let server = TestServer::open().await;
    let own = "DELETE /api/account";
    let (ann, house, nobody) = (of(ANN), of(HOUSE), of(AccountId(0xdead)));
    let named = |name: &str| json!({ "name": name, "reason": "x" });
    let confirmed = |name: &str| json!({ "name": name });
    for (by, line, body, want) in [
        ("", of(BOB), bob(), "401 token_missing"),
        ("bob", of(BOB), bob(), "403 role_too_weak"),
        ("operator", of(BOB), bob(), "403 role_too_weak"),
        ("admin", of(BOB), named("Bob"), "400 bad_value /name"),
        ("admin", of(BOB), named(""), "400 bad_value /name"),
        ("admin", of(BOB), json!({ "name": "bob" }), "422 bad_shape"),
        ("admin", of(BOB), json!({ "name": "bob", "reason": " " }), "400 bad_value /reason"),
        ("admin", of(BOB), json!({ "name": "bob", "reason": "x", "force": true }), "422 bad_shape"),
        ("admin", ann, named("ann"), "400 bad_value"),
        ("admin", house, named("server"), "409 built_in"),
        ("admin", nobody, named("x"), "404 no_such_account"),
        ("", own.to_owned(), confirmed("ann"), "401 token_missing"),
        ("guest", own.to_owned(), confirmed("ann"), "403 role_too_weak"),
        // A token deletes none that may do more.
        ("player", own.to_owned(), confirmed("ann"), "403 role_too_weak"),
        (LOAD_TEST, own.to_owned(), confirmed("ann"), "403 role_too_weak"),
        ("admin", own.to_owned(), confirmed("bob"), "400 bad_value /name"),
        ("admin", own.to_owned(), confirmed("ann"), "409 last_admin"),
        (BOOTSTRAP, own.to_owned(), confirmed("server"), "409 built_in"),
        (OTHER_OPERATOR, own.to_owned(), confirmed("server"), "409 built_in"),
        ("bob", own.to_owned(), json!({}), "422 bad_shape"),
    ] {
        server.call(&line).by(by).json(&body).check(want).await;
    }
    let seen = format!("GET /api/admin/accounts/{BOB}/deletion");
    server.call(&seen).by("operator").check("403 role_too_weak").await;
    let seen = server.call(&seen).by("admin").check("200").await.body;
    assert_eq!((&seen["name"], &seen["snakes"], &seen["tokens"]), (&json!("bob"), &json!(2), &json!(1)));
    server.call("GET /api/session").by("bob").check("200").await;
}

#[tokio::test]
async fn a_token_that_ends_deletes_no_account() {
    let server = TestServer::open().await;
    let short = json!({ "name": "CI", "expires_in_s": 3600 });
    let made = server.call("POST /api/tokens").by("bob").json(&short).check("201").await.body;
    let secret = made["secret"].as_str().unwrap();
    server.call("DELETE /api/account").by(secret).json(&json!({ "name": "bob" })).check("403 token_ends").await;
    let link = server.call("POST /api/sign-in-links").by("bob").json(&json!({})).check("201").await.body;
    let code = json!({ "code": link["code"] });
    let session = server.call("POST /api/sign-in-links/redeem").by("").json(&code).check("200").await;
    let cookie = session.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let call = server.call("DELETE /api/account").by("").header("cookie", &cookie);
    let deleted = call.json(&json!({ "name": "bob" })).check("200").await;
    assert!(deleted.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"), "the browser forgets it");
}

#[tokio::test]
async fn what_it_has_open_ends_and_what_it_had_is_gone() {
    let server = TestServer::open().await;
    let by_bob = async |line: &str, body: Value| server.call(line).by("bob").json(&body).check("201").await.body;
    let snake = BOBS_PUBLIC.to_string();
    let game = by_bob("POST /api/games", json!({ "snakes": [snake] })).await;
    let shared = server.call("POST /api/games").json(&json!({ "snakes": [snake] })).check("201").await.body;
    let rival = json!({ "url": "http://127.0.0.1:4100/flood", "name": "new" });
    by_bob("POST /api/duels", json!({ "bots": [{ "snake_id": snake }, rival] })).await;
    by_bob("POST /api/tournaments", json!({ "name": "cup" })).await;
    by_bob("POST /api/leaderboards", json!({ "name": "board" })).await;
    let link = by_bob("POST /api/sign-in-links", json!({})).await;
    let seen = server.call("GET /api/account/deletion").by("bob").check("200").await.body;
    let counted = ["tokens", "snakes", "games_waiting", "duels", "tournaments", "leaderboards", "hunts"];
    assert_eq!(counted.map(|member| seen[member].as_u64().unwrap()), [1, 2, 1, 1, 1, 1, 0]);

    let done = server.call(&of(BOB)).by("admin").json(&bob()).check("200").await.body;
    assert_eq!(done, seen);
    server.call("GET /api/session").by("bob").check("401 token_unknown").await;
    server.call(&of(BOB)).by("admin").json(&bob()).check("404 no_such_account").await;
    let redeem = json!({ "code": link["code"] });
    server.call("POST /api/sign-in-links/redeem").by("").json(&redeem).check("410 sign_in_link_gone").await;
    for (line, body) in [
        ("POST /api/admin/tokens", json!({ "account": "bob", "name": "t" })),
        ("POST /api/sign-in-links", json!({ "account": "bob" })),
    ] {
        server.call(line).by("admin").json(&body).check("404 no_such_account").await;
    }
    for line in [format!("POST /api/admin/accounts/{BOB}/enable"), format!("GET /api/admin/accounts/{BOB}/tokens")] {
        server.call(&line).by("admin").check("404 no_such_account").await;
    }
    let entries = server.call("GET /api/admin/audit?action=delete_account").by("operator").check("200").await.body;
    let done = entries.as_array().unwrap().iter().find(|entry| entry["outcome"] == "done").unwrap();
    assert_eq!((&done["detail"], &done["reason"]), (&json!("name:bob"), &json!("left the club")), "{entries}");

    // The game of another account in which its snake plays goes on: so all is not gone yet.
    clear(&server).await;
    assert_eq!(server.sample("gauntlet_retired_total{kind=\"accounts\"}"), 0);
    let status = async |id: &Value| {
        let path = format!("GET /api/games/{}/details", id.as_str().unwrap());
        server.call(&path).by("operator").check("200").await.body
    };
    assert_eq!(status(&game["id"]).await["status"], "cancelled");
    assert_eq!(status(&shared["id"]).await["status"], "waiting");
    server.call(&format!("GET /api/snakes/{snake}")).check("404 no_such_snake").await;
    let live = server.app.node.store.read(|reader| reader.deletions().live_competitions(BOB)).await;
    assert_eq!(live, Ok(Vec::new()), "duels, tournaments and leaderboards are over");
    let cancel = format!("POST /api/games/{}/cancel", shared["id"].as_str().unwrap());
    server.call(&cancel).check("200").await;
    clear(&server).await;
    assert_eq!(server.sample("gauntlet_retired_total{kind=\"accounts\"}"), 1);
    let seats = status(&shared["id"]).await;
    assert!(seats.to_string().contains("deleted account") && !seats.to_string().contains("\"bob\""), "{seats}");
    let again = json!({ "name": "bob" });
    server.call("POST /api/admin/accounts").by("admin").json(&again).check("201").await;
}

#[tokio::test]
async fn who_is_banned_can_neither_delete_himself_nor_come_back_under_the_name() {
    let server = TestServer::open().await;
    let body = json!({ "account": BOB.to_string(), "reason": "cheats" });
    let ban = server.call("POST /api/admin/bans").by("operator").json(&body).check("201").await.body;
    server.call("DELETE /api/account").by("bob").json(&json!({ "name": "bob" })).check("403 banned").await;
    server.call(&of(BOB)).by("admin").json(&bob()).check("200").await;
    let again = json!({ "name": "bob" });
    server.call("POST /api/admin/accounts").by("admin").json(&again).check("409 duplicate_name").await;
    let invite = server.call("POST /api/invites").by("operator").json(&json!({})).check("201").await.body;
    let redeem = json!({ "code": invite["code"], "name": "bob" });
    server.call("POST /api/invites/redeem").by("").json(&redeem).check("409 duplicate_name").await;
    let lift = format!("DELETE /api/admin/bans/{}", ban["id"].as_str().unwrap());
    server.call(&lift).by("operator").check("204").await;
    server.call("POST /api/invites/redeem").by("").json(&redeem).check("201").await;
}

/// A node knows a token for a moment after its account is gone: what comes with it is refused, and nothing is made.
#[tokio::test]
async fn nothing_is_made_for_an_account_that_is_gone() {
    let server = TestServer::open().await;
    let (snake, url) = (BOBS_PUBLIC.to_string(), "http://127.0.0.1:4100/flood");
    let rival = json!({ "url": url, "name": "new" });
    for (number, (line, body)) in [
        ("POST /api/snakes", json!({ "name": "s", "url": url })),
        ("POST /api/games", json!({ "snakes": [snake] })),
        ("POST /api/duels", json!({ "bots": [{ "snake_id": snake }, rival] })),
        ("POST /api/tournaments", json!({ "name": "cup" })),
        ("POST /api/leaderboards", json!({ "name": "board" })),
        ("POST /api/tokens", json!({ "name": "t" })),
        ("POST /api/sign-in-links", json!({})),
        ("POST /api/invites", json!({})),
    ]
    .into_iter()
    .enumerate()
    {
        let (id, secret) = (AccountId(0x7_0000 + number as u128), format!("of-account-{number}"));
        let account = Account { id, name: secret.clone(), created_at: UnixMs(0) };
        assert_eq!(server.commit(Command::EnsureAccount(account)).await, Outcome::Account(id));
        server.add_token(TokenId(id.0), id, Role::Operator, TokenPurpose::Use, &secret).await;
        server.call("GET /api/session").by(&secret).check("200").await;
        let delete = Command::Account(AccountCommand::Delete { id, now: UnixMs(0) });
        let Outcome::AccountDeleted(_) = server.commit(delete).await else { panic!("it is not deleted") };
        server.call(line).by(&secret).json(&body).check("404 no_such_account").await;
    }
}
