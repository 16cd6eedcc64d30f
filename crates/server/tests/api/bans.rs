//! Bans: who makes them, whom they cover, what the banned get.

use crate::test_server::{ANN, BOB, BOBS_PUBLIC, BOOTSTRAP, HOUSE, OTHER_OPERATOR, TestServer};
use engine::ladders::definition::SYSTEM_ACCOUNT;
use engine::matches::lifecycle::MatchState;
use serde_json::{Value, json};
use std::sync::Arc;
use store::testing::MemoryDatabase;

/// Made from an address that no test bans.
const OPERATORS_ADDRESS: &str = "198.51.100.1";

async fn ban(server: &TestServer, by: &str, body: &Value, want: &str) -> Value {
    let call = server.call("POST /api/admin/bans").by(by).from(OPERATORS_ADDRESS);
    call.json(body).check(want).await.body
}

async fn guest(server: &TestServer) -> (String, String) {
    let made = server.call("POST /api/stories/guests").by("").json(&json!({ "name": "Gus" })).check("201").await.body;
    let text = |member: &str| made[member].as_str().unwrap().to_owned();
    (text("player"), text("token"))
}

#[tokio::test]
async fn every_form_of_an_address_is_banned_and_lifted() {
    let server = TestServer::open().await;
    for (given, shown, inside, outside) in [
        ("192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.8"),
        ("192.0.2.7/32", "192.0.2.7", "192.0.2.7", "192.0.2.6"),
        ("192.0.2.7/24", "192.0.2.0/24", "192.0.2.200", "192.0.3.7"),
        ("2001:db8::7", "2001:db8::7", "2001:db8::7", "2001:db8::8"),
        ("2001:db8::7/32", "2001:db8::/32", "2001:db8:7::", "2001:db9::7"),
        ("::ffff:192.0.2.7", "192.0.2.7", "::ffff:192.0.2.7", "::ffff:192.0.2.8"),
        ("::ffff:192.0.2.7/120", "192.0.2.0/24", "192.0.2.9", "192.0.3.9"),
    ] {
        let made = ban(&server, "operator", &json!({ "address": given, "reason": "floods" }), "201").await;
        assert_eq!(
            (&made["address"], &made["account"], &made["expires_at"]),
            (&json!(shown), &Value::Null, &Value::Null)
        );
        let refused = server.call("GET /api/games/live").by("").from(inside).check("403 banned").await.body;
        assert_eq!(
            refused["detail"], "your address is banned from this server until an operator lifts the ban: floods",
            "{given}"
        );
        server.call("GET /api/games/live").by("").from(outside).check("200").await;
        let listed = server.call("GET /api/admin/bans").by("operator").check("200").await.body;
        assert_eq!(listed, json!([made]), "{given}");
        let lift = format!("DELETE /api/admin/bans/{}", made["id"].as_str().unwrap());
        server.call(&lift).by("operator").check("204").await;
        server.call(&lift).by("operator").check("404 no_such_ban").await;
        server.call("GET /api/games/live").by("").from(inside).check("200").await;
    }
    for address in ["", "192.0.2", "192.0.2.0/33", "example.org", "192.0.2.7, 192.0.2.8"] {
        ban(&server, "operator", &json!({ "address": address, "reason": "x" }), "400 bad_value /address").await;
    }
}

#[tokio::test]
async fn a_banned_address_is_refused_everywhere_but_for_health_and_signing_out() {
    let server = TestServer::open().await;
    ban(&server, "operator", &json!({ "address": "192.0.2.0/24", "reason": "floods" }), "201").await;
    for (line, by, want) in [
        ("GET /api/games", "player", "403 banned"),
        ("POST /api/games", "bob", "403 banned"),
        ("GET /api/openapi.json", "", "403 banned"),
        ("GET /no/such/page", "", "403 banned"),
        ("POST /api/stories/guests", "", "403 banned"),
        ("POST /api/session", "", "403 banned"),
        ("POST /api/limits/check", "", "403 banned"),
        ("POST /api/limits/check/batch", "", "403 banned"),
        ("GET /api/summary/feed", "", "403 banned"),
        ("GET /healthz", "", "200"),
        ("DELETE /api/session", "player", "204"),
        // Those who can lift it are not shut out.
        ("GET /api/admin/bans", "operator", "200"),
        ("GET /api/admin/bans", "admin", "200"),
    ] {
        server.call(line).by(by).from("192.0.2.7").check(want).await;
    }
    assert_eq!(server.sample("gauntlet_banned_requests_total"), 9);
    assert_eq!(server.sample("gauntlet_bans"), 1);
}

#[tokio::test]
async fn a_banned_account_and_a_banned_guest_are_refused_wherever_they_are() {
    let server = TestServer::open().await;
    let (player, token) = guest(&server).await;
    let made =
        ban(&server, "operator", &json!({ "account": BOB.to_string(), "reason": "cheats", "expires_in_s": 60 }), "201")
            .await;
    ban(&server, "operator", &json!({ "guest": player, "reason": "insults" }), "201").await;
    let refused = server.call("GET /api/games").by("bob").check("403 banned").await.body;
    let end = made["expires_at"].as_str().unwrap();
    assert_eq!(refused["detail"], format!("this account is banned from this server until {end}: cheats"));
    let refused = server.call("GET /api/session").by(&token).check("403 banned").await.body;
    let want = "this guest is banned from this server until an operator lifts the ban: insults";
    assert_eq!(refused["detail"], want);
    server.call("DELETE /api/session").by("bob").check("204").await;
    server.call("GET /api/games").check("200").await;
    server.call("GET /api/games/live").by("").check("200").await;
    let (_, other) = guest(&server).await;
    server.call("GET /api/session").by(&other).check("200").await;
}

/// A viewer of a table or a world sees ids of players, and not whether they are guests.
#[tokio::test]
async fn a_player_is_banned_as_the_account_or_the_guest_that_it_is() {
    let server = TestServer::open().await;
    let (player, token) = guest(&server).await;
    let made = ban(&server, "operator", &json!({ "player": player, "reason": "insults" }), "201").await;
    assert_eq!((&made["guest"], &made["account"], &made["account_name"]), (&json!(player), &Value::Null, &Value::Null));
    server.call("GET /api/session").by(&token).check("403 banned").await;
    let made = ban(&server, "operator", &json!({ "player": BOB.to_string(), "reason": "cheats" }), "201").await;
    let want = (&json!(BOB.to_string()), &json!("bob"), &json!("ann"), &Value::Null);
    assert_eq!((&made["account"], &made["account_name"], &made["made_by_name"], &made["guest"]), want);
    server.call("GET /api/games").by("bob").check("403 banned").await;
    for (body, want) in [
        (json!({ "player": ANN.to_string(), "reason": "x" }), "400 bad_value /player"),
        (json!({ "player": "bob", "reason": "x" }), "400 bad_value /player"),
        (json!({ "player": player, "guest": player, "reason": "x" }), "400 bad_value /account"),
        (json!({ "player": HOUSE.to_string(), "reason": "x" }), "403 role_too_weak"),
    ] {
        ban(&server, "operator", &body, want).await;
    }
}

#[tokio::test]
async fn a_link_of_a_banned_account_waits_until_the_ban_is_lifted() {
    let server = TestServer::open().await;
    let made = server.call("POST /api/sign-in-links").by("bob").json(&json!({})).check("201").await.body;
    let redeem = json!({ "code": made["code"] });
    let redeem = || server.call("POST /api/sign-in-links/redeem").by("").json(&redeem);
    let body = json!({ "account": BOB.to_string(), "reason": "cheats" });
    let made = ban(&server, "operator", &body, "201").await;
    redeem().check("403 banned").await;
    let lift = format!("DELETE /api/admin/bans/{}", made["id"].as_str().unwrap());
    server.call(&lift).by("operator").check("204").await;
    redeem().check("200").await;
}

#[tokio::test]
async fn no_caller_bans_himself_and_operators_ban_no_operators() {
    let server = TestServer::open().await;
    let account = |id: &dyn std::fmt::Display| json!({ "account": id.to_string(), "reason": "x" });
    for (by, body, want) in [
        ("player", account(&BOB), "403 role_too_weak"),
        ("operator", account(&ANN), "400 bad_value /account"),
        ("admin", account(&ANN), "400 bad_value /account"),
        ("operator", account(&HOUSE), "403 role_too_weak"),
        (OTHER_OPERATOR, account(&ANN), "403 role_too_weak"),
        ("operator", account(&engine::ids::AccountId(0xdead)), "404 no_such_account"),
        ("operator", json!({ "address": OPERATORS_ADDRESS, "reason": "x" }), "400 bad_value /address"),
        ("admin", json!({ "address": "198.51.0.0/16", "reason": "x" }), "400 bad_value /address"),
        ("operator", json!({ "address": "0.0.0.0/0", "reason": "x" }), "400 bad_value /address"),
        ("operator", json!({ "address": "::ffff:198.51.100.0/120", "reason": "x" }), "400 bad_value /address"),
        ("operator", json!({ "reason": "x" }), "400 bad_value /account"),
        ("operator", json!({ "account": BOB.to_string(), "address": "::1", "reason": "x" }), "400 bad_value /account"),
        ("operator", json!({ "account": "bob", "reason": "x" }), "400 bad_value /account"),
        ("operator", json!({ "guest": "gus", "reason": "x" }), "400 bad_value /guest"),
        ("operator", json!({ "account": BOB.to_string() }), "422 bad_shape"),
        ("operator", json!({ "account": BOB.to_string(), "reason": " " }), "400 bad_value /reason"),
        ("operator", json!({ "account": BOB.to_string(), "reason": "a\nb" }), "400 bad_value /reason"),
        ("operator", json!({ "account": BOB.to_string(), "reason": "x".repeat(201) }), "400 bad_value /reason"),
        (
            "operator",
            json!({ "account": BOB.to_string(), "reason": "x", "expires_in_s": 0 }),
            "400 bad_value /expires_in_s",
        ),
        (
            "operator",
            json!({ "account": BOB.to_string(), "reason": "x", "expires_in_s": 315_360_001 }),
            "400 bad_value /expires_in_s",
        ),
        ("admin", account(&SYSTEM_ACCOUNT), "409 built_in"),
        ("admin", account(&HOUSE), "201"),
        ("admin", account(&HOUSE), "409 banned_already"),
    ] {
        ban(&server, by, &body, want).await;
    }
    server.call("GET /api/admin/bans").by(OTHER_OPERATOR).check("403 banned").await;
}

/// An unknown member is a mistake: a mistyped end would ban for ever.
#[tokio::test]
async fn unknown_members_are_refused_in_all_bodies_of_operators() {
    let server = TestServer::open().await;
    let bob = BOB.to_string();
    for (line, body) in [
        ("POST /api/admin/bans", json!({ "account": bob, "reason": "x", "expires_in": 60 })),
        (&format!("POST /api/admin/accounts/{bob}/disable"), json!({ "reason": "x", "until": "tomorrow" })),
        ("POST /api/admin/accounts", json!({ "name": "new", "role": "player" })),
        ("POST /api/admin/tokens", json!({ "account": "bob", "name": "t", "rôle": "guest" })),
        ("POST /api/admin/aggregator", json!({ "running": true, "for": 1 })),
        ("POST /api/invites", json!({ "expires_in": 60 })),
        ("POST /api/sign-in-links", json!({ "expires_in": 60 })),
        ("POST /api/trials/runs", json!({ "scenario": "x", "targets": [] })),
        ("PUT /api/limits/policies/x", json!({ "algorithm": "gcra", "limit": 1, "window_ms": 1000, "shadowed": true })),
    ] {
        server.call(line).by("admin").json(&body).check("422 bad_shape").await;
    }
    assert_eq!(server.call("GET /api/admin/bans").by("operator").check("200").await.body, json!([]));
}

#[tokio::test]
async fn a_network_of_nearly_everyone_is_not_banned() {
    let server = TestServer::open().await;
    for (address, want) in [
        ("::/0", "400 bad_value /address"),
        ("2001::/15", "400 bad_value /address"),
        ("12.0.0.0/7", "400 bad_value /address"),
        ("::ffff:0.0.0.0/96", "400 bad_value /address"),
        ("2001::/16", "201"),
        ("12.0.0.0/8", "201"),
    ] {
        ban(&server, "admin", &json!({ "address": address, "reason": "x" }), want).await;
    }
    let body = json!({ "address": "::/0", "reason": "x" });
    let refused = ban(&server, "operator", &body, "400 bad_value /address").await;
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("8 bits") && detail.contains("16 of an IPv6"), "{detail}");
}

#[tokio::test]
async fn only_admins_lift_what_an_admin_made() {
    let server = TestServer::open().await;
    let mut operators = Vec::new();
    for name in ["olga", "otto"] {
        server.call("POST /api/admin/accounts").by("admin").json(&json!({ "name": name })).check("201").await;
        let token = json!({ "account": name, "name": "t", "role": "operator" });
        let made = server.call("POST /api/admin/tokens").by("admin").json(&token).check("201").await.body;
        operators.push(made["secret"].as_str().unwrap().to_owned());
    }
    let (olga, otto) = (operators[0].as_str(), operators[1].as_str());
    for (maker, lifter, want) in [
        ("admin", olga, "403 role_too_weak"),
        ("admin", "admin", "204"),
        (olga, otto, "204"),
        (olga, olga, "204"),
        (olga, "admin", "204"),
        // An operator who is an admin, too, made it, and may lift it with either token.
        ("operator", olga, "403 role_too_weak"),
        ("operator", "operator", "204"),
    ] {
        let body = json!({ "address": "192.0.2.7", "reason": "x" });
        let made = server.call("POST /api/admin/bans").by(maker).json(&body).send().await;
        let listed = server.call("GET /api/admin/bans").by("admin").check("200").await.body;
        assert!(made.status == 201 || made.body["code"] == "banned_already", "{}", made.body);
        let seen = server.call("GET /api/admin/bans").by(lifter).check("200").await.body;
        assert_eq!(seen[0]["may_lift"], want == "204", "{maker} {lifter}");
        let lift = format!("DELETE /api/admin/bans/{}", listed[0]["id"].as_str().unwrap());
        server.call(&lift).by(lifter).check(want).await;
    }
}

/// An account with a token of this role that never ends: its id, the token's, and the secret.
async fn member(server: &TestServer, name: &str, role: &str) -> [String; 3] {
    let account = server.call("POST /api/admin/accounts").by("admin").json(&json!({ "name": name })).check("201").await;
    let token = json!({ "account": name, "name": "t", "role": role });
    let made = server.call("POST /api/admin/tokens").by("admin").json(&token).check("201").await.body;
    [&account.body["id"], &made["id"], &made["secret"]].map(|text| text.as_str().unwrap().to_owned())
}

#[tokio::test]
async fn only_admins_lift_what_an_admin_made_who_is_gone() {
    let server = TestServer::open().await;
    let [eve, token, secret] = member(&server, "eve", "admin").await;
    let [_, _, olga] = member(&server, "olga", "operator").await;
    let made = ban(&server, &secret, &json!({ "address": "192.0.2.7", "reason": "x" }), "201").await;
    let lift = format!("DELETE /api/admin/bans/{}", made["id"].as_str().unwrap());
    server.call(&format!("DELETE /api/tokens/{token}")).by("admin").check("204").await;
    server.call(&lift).by(&olga).check("403 role_too_weak").await;
    let delete = json!({ "name": "eve", "reason": "left" });
    server.call(&format!("DELETE /api/admin/accounts/{eve}")).by("admin").json(&delete).check("200").await;
    let seen = server.call("GET /api/admin/bans").by(&olga).check("200").await.body;
    assert_eq!(seen[0]["may_lift"], false);
    server.call(&lift).by(&olga).check("403 role_too_weak").await;
    server.call(&lift).by("admin").check("204").await;
}

#[tokio::test]
async fn admins_do_not_leave_themselves_without_an_admin() {
    let server = TestServer::open().await;
    let [eve, token, secret] = member(&server, "eve", "admin").await;
    let why = json!({ "reason": "x" });
    let disable = |id: &str| server.call(&format!("POST /api/admin/accounts/{id}/disable")).json(&why);
    let own = server.call("GET /api/tokens").by("admin").check("200").await.body;
    let own = own.as_array().unwrap().iter().find(|token| token["role"] == "admin").unwrap()["id"].clone();
    // Ann is shut out: Eve is the last one, for all others, too.
    let done = ban(&server, &secret, &json!({ "account": ANN.to_string(), "reason": "x" }), "201").await;
    let refused = server.call(&format!("DELETE /api/tokens/{token}")).by(&secret).check("409 last_admin").await.body;
    assert!(refused["detail"].as_str().unwrap().contains("gauntlet token create --role admin"), "{refused}");
    ban(&server, BOOTSTRAP, &json!({ "account": eve, "reason": "x" }), "409 last_admin").await;
    disable(&eve).by(BOOTSTRAP).check("409 last_admin").await;
    let delete = json!({ "name": "eve", "reason": "x" });
    server.call(&format!("DELETE /api/admin/accounts/{eve}")).by(BOOTSTRAP).json(&delete).check("409 last_admin").await;
    let log = server.call("GET /api/admin/audit").by(&secret).check("200").await.body;
    assert_eq!(log[0]["outcome"], "last_admin", "{log}");
    // A token that ends in a minute makes no account an admin who lasts.
    let short = json!({ "account": "bob", "name": "t", "role": "admin", "expires_in_s": 60 });
    server.call("POST /api/admin/tokens").by(&secret).json(&short).check("201").await;
    disable(&eve).by(BOOTSTRAP).check("409 last_admin").await;
    let lift = format!("DELETE /api/admin/bans/{}", done["id"].as_str().unwrap());
    server.call(&lift).by(&secret).check("204").await;
    disable(&eve).by("admin").check("200").await;
    let delete_own = format!("DELETE /api/tokens/{}", own.as_str().unwrap());
    server.call(&delete_own).by("admin").check("409 last_admin").await;
}

#[tokio::test]
async fn no_player_is_banned_who_is_not_there() {
    let server = TestServer::open().await;
    let (bob, reason) = (BOB.to_string(), "x");
    ban(&server, "operator", &json!({ "guest": bob, "reason": reason }), "400 bad_value /guest").await;
    let delete = json!({ "name": "bob", "reason": "left" });
    server.call(&format!("DELETE /api/admin/accounts/{bob}")).by("admin").json(&delete).check("200").await;
    ban(&server, "operator", &json!({ "account": bob, "reason": reason }), "404 no_such_account").await;
    ban(&server, "operator", &json!({ "player": bob, "reason": reason }), "404 no_such_account").await;
    ban(&server, "operator", &json!({ "guest": bob, "reason": reason }), "400 bad_value /guest").await;
    let disable = format!("POST /api/admin/accounts/{bob}/disable");
    server.call(&disable).by("admin").json(&json!({ "reason": reason })).check("404 no_such_account").await;
}

#[tokio::test]
async fn bans_are_listed_in_pages() {
    let server = TestServer::open().await;
    let mut made = Vec::new();
    for n in 1..=3 {
        let body = json!({ "address": format!("192.0.2.{n}"), "reason": "x" });
        made.push(ban(&server, "operator", &body, "201").await);
    }
    // The newest first; those of one millisecond stand in the order of their ids.
    made.sort_by_key(|ban| std::cmp::Reverse(ban["id"].as_str().unwrap().to_owned()));
    let first = server.call("GET /api/admin/bans?limit=2").by("operator").check("200").await;
    assert_eq!(first.body, json!(made[..2]));
    let next = first.headers["link"].to_str().unwrap();
    let path = next.strip_prefix('<').unwrap().split('>').next().unwrap();
    assert_eq!(server.call(&format!("GET {path}")).by("operator").check("200").await.body, json!(made[2..]));
    server.call("GET /api/admin/bans").check("403 role_too_weak").await;
}

/// Two processes on one database, the second begun later: as after a restart.
#[tokio::test]
async fn bans_are_in_force_on_every_node_and_after_a_restart() {
    let database = Arc::new(MemoryDatabase::new());
    let first = TestServer::open_with(database.clone(), |_| {}).await;
    for address in ["192.0.2.7", "2001:db8::/32", "::ffff:203.0.113.9"] {
        ban(&first, "operator", &json!({ "address": address, "reason": "floods" }), "201").await;
    }
    let made = ban(&first, "operator", &json!({ "account": BOB.to_string(), "reason": "cheats" }), "201").await;
    let second = TestServer::open_with(database, |_| {}).await;
    let refresh = async || {
        let app = &second.app;
        let now = app.node.clock.now();
        gateway::grants::refresh_bans(&app.grants, &app.node.store, now).await.unwrap();
    };
    refresh().await;
    for address in ["192.0.2.7", "2001:db8::7", "203.0.113.9", "::ffff:203.0.113.9"] {
        second.call("GET /api/games/live").by("").from(address).check("403 banned").await;
    }
    second.call("GET /api/games").by("bob").check("403 banned").await;
    first.call(&format!("DELETE /api/admin/bans/{}", made["id"].as_str().unwrap())).by("operator").check("204").await;
    refresh().await;
    second.call("GET /api/games").by("bob").check("200").await;
}

#[tokio::test]
async fn a_disabled_account_is_refused_and_its_waiting_games_are_cancelled() {
    let server = TestServer::open().await;
    let game = json!({ "snakes": [BOBS_PUBLIC.to_string()] });
    let mut games = Vec::new();
    for _ in 0..3 {
        games.push(server.call("POST /api/games").by("bob").json(&game).check("201").await.body);
    }
    let anns = server.game().await;
    let disable = |id: &str| server.call(&format!("POST /api/admin/accounts/{id}/disable"));
    let (bob, why) = (BOB.to_string(), json!({ "reason": "left the club" }));
    disable(&bob).by("operator").json(&why).check("403 role_too_weak").await;
    disable(&ANN.to_string()).by("admin").json(&why).check("400 bad_value").await;
    disable(&engine::ids::AccountId(0xdead).to_string()).by("admin").json(&why).check("404 no_such_account").await;
    disable(&SYSTEM_ACCOUNT.to_string()).by("admin").json(&why).check("409 built_in").await;
    disable(&bob).by("admin").json(&json!({ "reason": "" })).check("400 bad_value /reason").await;
    let done = disable(&bob).by("admin").json(&why).check("200").await.body;
    assert_eq!((&done["id"], &done["games_cancelled"]), (&json!(bob), &json!(3)));
    for game in &games {
        let id = game["id"].as_str().unwrap().parse().unwrap();
        let statuses = server.app.node.store.read(move |reader| reader.statuses(&[id])).await.unwrap();
        assert_eq!(statuses[0].state, MatchState::Cancelled);
    }
    assert_eq!(server.claim().await.len(), 1, "the game of another account waits: {anns}");
    let refused = server.call("GET /api/games").by("bob").check("403 account_disabled").await.body;
    assert_eq!(refused["detail"], "this account is disabled until an admin enables it: left the club");
    server.call("DELETE /api/session").by("bob").check("204").await;
    // Repeating it changes nothing.
    let again = disable(&bob).by("admin").json(&json!({ "reason": "other" })).check("200").await.body;
    assert_eq!((&again["reason"], &again["games_cancelled"]), (&json!("left the club"), &json!(0)));
    let accounts = server.call("GET /api/admin/accounts?name=bo").by("admin").check("200").await.body;
    assert_eq!(accounts[0]["is_disabled"], true);
    let listed = server.call("GET /api/admin/bans").by("operator").check("200").await.body;
    assert_eq!((&listed[0]["account"], &listed[0]["is_disabled"]), (&json!(bob), &json!(true)));
    assert_eq!((&listed[0]["account_name"], &listed[0]["may_lift"]), (&json!("bob"), &json!(false)));
    let lift = format!("DELETE /api/admin/bans/{}", listed[0]["id"].as_str().unwrap());
    server.call(&lift).by("operator").check("403 role_too_weak").await;
    let enable = format!("POST /api/admin/accounts/{bob}/enable");
    server.call(&enable).by("operator").check("403 role_too_weak").await;
    server.call(&enable).by("admin").check("204").await;
    server.call(&enable).by("admin").check("204").await;
    server.call("GET /api/games").by("bob").check("200").await;
}
