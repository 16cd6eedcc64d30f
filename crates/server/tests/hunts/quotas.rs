//! Quotas by address, the needs of a class of sixty, and how a hunt ends early.

use crate::test_server::TestServer;
use crate::{Guest, column, open_on};
use engine::commands::{Command, WorldCommand};
use quotas::address_key::AddressKey;
use serde_json::{Value, json};
use settings::Config;
use std::sync::Arc;
use std::time::Duration;
use store::testing::MemoryDatabase;

/// A school: one address for all its players.
const SCHOOL: &str = "192.0.2.7";
/// Another address.
const ELSEWHERE: &str = "198.51.100.4";

async fn open_with(configure: fn(&mut Config)) -> TestServer {
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), configure).await;
    tokio::spawn(server::owners::run_hunts(server.app.clone()));
    server
}

async fn come(server: &TestServer, address: &str, want: &str) -> Value {
    let name = json!({ "name": "Somebody" });
    server.call("POST /api/stories/guests").by("").from(address).json(&name).check(want).await.body
}

async fn token(server: &TestServer, address: &str) -> String {
    come(server, address, "201").await["token"].as_str().unwrap().to_owned()
}

async fn post(server: &TestServer, line: &str, token: &str, address: &str, body: Value, want: &str) -> Value {
    server.call(&format!("POST {line}")).by(token).from(address).json(&body).check(want).await.body
}

/// Sixty guests behind one address, with the default quotas: ten card tables with six players each, one game after the other; a hunt that
/// all of them join; and four tickets for each. Nothing is refused, nor for a second class elsewhere.
#[tokio::test]
async fn a_class_of_sixty_is_within_the_quotas() {
    let server = open_with(|_| {}).await;
    let mut class = Vec::new();
    for _ in 0..60 {
        class.push(token(&server, SCHOOL).await);
    }
    for table in class.chunks(6) {
        let game = post(&server, "/api/stories/games", &table[0], SCHOOL, json!({}), "201").await;
        let game = game["game"]["id"].as_str().unwrap().to_owned();
        for player in &table[1..] {
            let join = format!("POST /api/stories/games/{game}/join");
            server.call(&join).by(player).from(SCHOOL).check("200").await;
        }
    }
    let hunt = json!({ "name": "harbour", "players_max": 60 });
    post(&server, "/api/hunts", &class[0], SCHOOL, hunt, "201").await;
    for player in &class {
        server.call("POST /api/hunts/harbour/join").by(player).from(SCHOOL).check("200").await;
    }
    for _ in 0..4 {
        for player in &class {
            let ticket = post(&server, "/api/hunts/tickets", player, SCHOOL, json!({ "players": 16 }), "201").await;
            let delete = format!("DELETE /api/hunts/tickets/{}", ticket["id"].as_str().unwrap());
            server.call(&delete).by(player).from(SCHOOL).check("200").await;
        }
    }
    for kind in ["guests", "tables", "hunts", "cells", "tickets", "worlds"] {
        assert_eq!(server.sample(&format!(r#"gauntlet_quota_exceeded_total{{kind="{kind}"}}"#)), 0, "{kind}");
    }
}

/// Guests of one address share a quota; another address, loopback and an operator do not.
async fn check_bounded(configure: fn(&mut Config), line: &str, body: Value, most: usize, want: &str, kind: &str) {
    let server = open_with(configure).await;
    let guest = token(&server, SCHOOL).await;
    for number in 0..=most {
        let guest = if number == 0 { guest.clone() } else { token(&server, SCHOOL).await };
        let want = if number < most { "201" } else { want };
        let reply = server.call(&format!("POST {line}")).by(&guest).from(SCHOOL).json(&body).check(want).await;
        assert_eq!(reply.headers.contains_key("retry-after"), number == most, "{line}");
    }
    assert_eq!(server.sample(&format!(r#"gauntlet_quota_exceeded_total{{kind="{kind}"}}"#)), 1, "{line}");
    let stranger = token(&server, ELSEWHERE).await;
    post(&server, line, &stranger, ELSEWHERE, body.clone(), "201").await;
    post(&server, line, "operator", SCHOOL, body.clone(), "201").await;
    post(&server, line, &guest_of(&server).await, "127.0.0.1", body, "201").await;
}

async fn guest_of(server: &TestServer) -> String {
    Guest::come(server, "Local").await.token
}

#[tokio::test]
async fn guests_are_free_and_what_they_create_counts_by_address() {
    let hunt = || json!({ "width": 50, "height": 20, "chests": 4, "power_ups": 0 });
    let hunts = |config: &mut Config| config.quotas_hunts_per_address_max = 3;
    check_bounded(hunts, "/api/hunts", hunt(), 3, "429 address_quota", "hunts").await;
    let cells = |config: &mut Config| config.quotas_cells_per_address_max = 2_999;
    check_bounded(cells, "/api/hunts", hunt(), 2, "429 address_quota", "cells").await;
    let hourly = |config: &mut Config| config.quotas_hunts_per_hour = 2;
    check_bounded(hourly, "/api/hunts", hunt(), 2, "429 address_quota", "hunts").await;
    let tables = |config: &mut Config| config.quotas_tables_per_address_max = 2;
    check_bounded(tables, "/api/stories/games", json!({}), 2, "429 too_many_tables", "tables").await;
    let hourly = |config: &mut Config| config.quotas_tables_per_hour = 2;
    check_bounded(hourly, "/api/stories/games", json!({}), 2, "429 address_quota", "tables").await;
    let tickets = |config: &mut Config| config.quotas_tickets_per_address_max = 2;
    let ticket = json!({ "players": 16, "region": "eu" });
    check_bounded(tickets, "/api/hunts/tickets", ticket, 2, "429 address_quota", "tickets").await;
}

/// What was refused, and a request that is repeated, create nothing.
#[tokio::test]
async fn an_hour_counts_what_is_created() {
    let server = open_with(|config| (config.quotas_tables_per_hour, config.quotas_hunts_per_hour) = (2, 2)).await;
    let guest = token(&server, SCHOOL).await;
    let open = |key: &str, body: Value| {
        let call = server.call("POST /api/stories/games").by(&guest).from(SCHOOL).header("idempotency-key", key);
        call.json(&body)
    };
    let table = open("a", json!({})).check("201").await.body["table"].clone();
    for _ in 0..4 {
        assert_eq!(open("a", json!({})).check("201").await.body["table"], table);
    }
    open("a", json!({ "table": table })).check("422 idempotency_key_reused").await;
    open("b", json!({})).check("201").await;
    open("c", json!({})).check("429 address_quota").await;
    open("a", json!({})).check("201").await;
    for (name, want) in [
        ("a", "201"),
        ("a", "409 duplicate_name"),
        ("a", "409 duplicate_name"),
        ("b", "201"),
        ("c", "429 address_quota"),
    ] {
        post(&server, "/api/hunts", &guest, SCHOOL, json!({ "name": name }), want).await;
    }
}

#[tokio::test]
async fn guests_are_created_at_a_limited_rate() {
    let server = open_with(|config| config.quotas_guests_per_hour = 3).await;
    for _ in 0..3 {
        come(&server, "2001:db8::1", "201").await;
    }
    come(&server, "2001:db8::ffff", "429 address_quota").await;
    come(&server, "2001:db8:0:1::1", "201").await;
    for _ in 0..5 {
        come(&server, "127.0.0.1", "201").await;
    }
}

#[tokio::test]
async fn a_hunt_is_ended_by_its_creator_or_an_operator() {
    let server = open_with(|config| config.quotas_hunts_per_address_max = 1).await;
    let (ann, ben) = (token(&server, SCHOOL).await, token(&server, SCHOOL).await);
    post(&server, "/api/hunts", &ann, SCHOOL, json!({ "name": "harbour" }), "201").await;
    let end = |token: &str| server.call("DELETE /api/hunts/harbour").by(token).from(SCHOOL);
    end("").check("401 token_missing").await;
    end(&ben).check("403 not_maker").await;
    post(&server, "/api/hunts", &ben, SCHOOL, json!({ "name": "bay" }), "429 address_quota").await;
    end(&ann).check("204").await;
    end(&ann).check("204").await;
    server.call("POST /api/hunts/harbour/join").by(&ben).check("409 hunt_not_open").await;
    assert_eq!(column(&server.call("GET /api/hunts").by("").check("200").await.body, "name"), [""; 0]);
    post(&server, "/api/hunts", &ben, SCHOOL, json!({ "name": "bay" }), "201").await;
    server.call("DELETE /api/hunts/bay").by("operator").check("204").await;
    server.call("DELETE /api/hunts/nowhere").by("operator").check("404 no_such_hunt").await;
    let world = json!({ "name": "pond", "width": 20, "height": 20 });
    post(&server, "/api/worlds", "operator", SCHOOL, world, "201").await;
    server.call("DELETE /api/worlds/pond").by("player").check("403 role_too_weak").await;
    server.call("DELETE /api/worlds/pond").by("operator").check("204").await;
    worlds::ensure_built_in(
        &server.app.node.store,
        server.app.node.clock.now(),
        &server::subsystem_configs::actor_plan(&server.app.config),
    )
    .await
    .unwrap();
    server.call("DELETE /api/hunts/hunt").by("operator").check("409 built_in").await;
    server.call("DELETE /api/worlds/plaza").by("operator").check("409 built_in").await;
    server.call("DELETE /api/worlds/nowhere").by("operator").check("404 no_such_world").await;
}

/// A hunt that could not be entered is not created.
#[tokio::test]
async fn a_hunt_is_created_only_if_it_could_be_entered() {
    let server = open_with(|config| config.worlds_loaded_max = 1).await;
    tokio::spawn(server::owners::own_worlds(server.app.clone()));
    let (ann, ben) = (token(&server, SCHOOL).await, token(&server, ELSEWHERE).await);
    let world = json!({ "name": "pond", "width": 20, "height": 20, "open_ms": 3_600_000 });
    post(&server, "/api/worlds", "operator", SCHOOL, world, "201").await;
    let pond = "pond".parse().unwrap();
    let address = Some(AddressKey::of(SCHOOL.parse().unwrap()));
    let handle = server.app.worlds.visit_from(&pond, address).await.unwrap();
    post(&server, "/api/hunts", &ann, SCHOOL, json!({}), "429 your_share").await;
    post(&server, "/api/hunts", &ben, ELSEWHERE, json!({}), "503 worlds_full").await;
    drop(handle);
}

/// A hunt that only its creator joined and then left is over; so is one without any player, after a while, and its address gets its quota
/// back.
#[tokio::test]
async fn a_hunt_without_players_ends_early() {
    let server = open_with(|config| config.quotas_hunts_per_address_max = 1).await;
    let (ann, ben) = (token(&server, SCHOOL).await, token(&server, SCHOOL).await);
    let make = async |name: &str, want: &str| {
        post(&server, "/api/hunts", &ann, SCHOOL, json!({ "name": name }), want).await;
    };
    let call = async |line: &str, token: &str| {
        server.call(line).by(token).from(SCHOOL).check("200").await;
    };
    make("left", "201").await;
    call("POST /api/hunts/left/leave", &ann).await;
    make("joined", "201").await;
    call("POST /api/hunts/joined/join", &ben).await;
    call("POST /api/hunts/joined/leave", &ann).await;
    make("next", "429 address_quota").await;
    call("POST /api/hunts/joined/leave", &ben).await;
    make("next", "429 address_quota").await;
    // The command of the background job after half an hour.
    let now = server.app.node.clock.now();
    let end = WorldCommand::EndUnjoined { now, made_before: now.plus(Duration::from_secs(1)), max: 9 };
    server.commit(Command::World(end)).await;
    make("next", "201").await;
}

#[tokio::test]
async fn an_operator_cancels_a_ticket() {
    let server = open_on(Arc::new(MemoryDatabase::new())).await;
    let guest = Guest::come(&server, "Ann").await;
    let ticket = post(&server, "/api/hunts/tickets", &guest.token, SCHOOL, json!({}), "201").await;
    let delete = format!("DELETE /api/hunts/tickets/{}", ticket["id"].as_str().unwrap());
    server.call(&delete).by("player").check("404 no_such_ticket").await;
    assert_eq!(server.call(&delete).by("operator").check("200").await.body["state"], "cancelled");
}
