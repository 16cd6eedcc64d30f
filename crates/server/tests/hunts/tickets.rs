//! Tickets: each ends, with a state for its party.

use crate::gate::Gated;
use crate::test_server::TestServer;
use crate::{Guest, column, open, open_on};
use engine::ids::TicketId;
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) async fn take(server: &TestServer, token: &str, wanted: Value, want: &str) -> Value {
    server.call("POST /api/hunts/tickets").by(token).json(&wanted).check(want).await.body
}

pub(crate) fn path(ticket: &Value) -> String {
    format!("/api/hunts/tickets/{}", ticket["id"].as_str().unwrap())
}

/// Joins the party of a ticket by its id.
pub(crate) async fn join(server: &TestServer, token: &str, ticket: &Value, want: &str) -> Value {
    server.call(&format!("POST {}/join", path(ticket))).by(token).check(want).await.body
}

/// Leaves the hunt of a matched ticket.
async fn leave_hunt(server: &TestServer, token: &str, ticket: &Value) {
    let leave = format!("POST /api/hunts/{}/leave", ticket["hunt"].as_str().unwrap());
    server.call(&leave).by(token).check("200").await;
}

/// Waits for the end of a ticket.
pub(crate) async fn end(server: &TestServer, token: &str, ticket: &Value) -> Value {
    loop {
        // A poll that cannot be parked returns the ticket as it is after some seconds.
        let now = server.call(&format!("GET {}?wait=5s", path(ticket))).by(token).check("200").await.body;
        if now["state"] != "waiting" && now["state"] != "gathering" {
            return now;
        }
    }
}

#[tokio::test]
async fn matching_tickets_get_a_hunt_of_their_own() {
    let server = open().await;
    let mut people = Vec::new();
    for name in ["Ann", "Ben", "Cam", "Dan"] {
        people.push(Guest::come(&server, name).await);
    }
    let [ann, ben, cam, dan] = &people[..] else { panic!("four") };
    let party = json!({ "players": 3, "party_size": 2, "region": "eu", "rating": 1_050 });
    let first = take(&server, &ann.token, party, "201").await;
    assert_eq!((&first["state"], &first["hunt"]), (&json!("gathering"), &Value::Null));
    let first = join(&server, &ben.token, &first, "200").await;
    assert_eq!((&first["state"], &first["party"]), (&json!("waiting"), &json!([ann.id, ben.id])));
    let elsewhere = take(&server, &dan.token, json!({ "players": 3, "region": "us" }), "201").await;
    let second = take(&server, &cam.token, json!({ "players": 3 }), "201").await;

    let (first, second) = tokio::join!(end(&server, &ann.token, &first), end(&server, &cam.token, &second));
    assert_eq!((&first["state"], &second["state"]), (&json!("matched"), &json!("matched")));
    assert_eq!(first["hunt"], second["hunt"]);
    let hunt = format!("/api/hunts/{}", first["hunt"].as_str().unwrap());
    let world = hunt.replace("/hunts/", "/worlds/");
    for person in [ann, ben, cam] {
        let seen = server.call(&format!("GET {hunt}")).by(&person.token).check("200").await.body;
        assert_eq!((&seen["may_enter"], &seen["players"]), (&json!(true), &json!(3)));
        assert_eq!(seen["admission"], "matched");
        server.call(&format!("POST {hunt}/join")).by(&person.token).check("409 hunt_not_open").await;
        server.call(&format!("GET {world}/sections")).by(&person.token).check("409 world_asleep").await;
    }
    // It is hidden from other players, but not from operators.
    for stranger in ["", &dan.token] {
        for path in [&hunt, &format!("{hunt}/rounds")] {
            server.call(&format!("GET {path}")).by(stranger).check("404 no_such_hunt").await;
        }
        for path in [&world, &format!("{world}/sections"), &format!("{world}/density"), &format!("{world}/stats")] {
            server.call(&format!("GET {path}")).by(stranger).check("404 no_such_world").await;
        }
    }
    server.call(&format!("POST {hunt}/join")).by(&dan.token).check("404 no_such_hunt").await;
    assert_eq!(column(&server.call("GET /api/hunts").by("").check("200").await.body, "name"), [""; 0]);
    // Nor does a link to a next page name it.
    let page = server.call("GET /api/hunts?limit=1").by("").check("200").await;
    assert_eq!((page.body, page.headers.get("link")), (json!([]), None));
    for line in [format!("POST {hunt}/leave"), format!("DELETE {hunt}")] {
        server.call(&line).by(&dan.token).check("404 no_such_hunt").await;
    }
    server.call(&format!("GET {hunt}")).by("operator").check("200").await;
    assert_eq!(column(&server.call("GET /api/hunts").by("operator").check("200").await.body, "name").len(), 1);
    server.call(&format!("GET {world}/stats")).by("operator").check("409 world_asleep").await;
    // Members of a party may read its ticket, others may not.
    server.call(&format!("GET {}", path(&first))).by(&ben.token).check("200").await;
    server.call(&format!("GET {}", path(&first))).by(&cam.token).check("404 no_such_ticket").await;
    let waiting = server.call(&format!("GET {}", path(&elsewhere))).by(&dan.token).check("200").await.body;
    assert_eq!(waiting["state"], "waiting");
    assert_eq!(server.sample("gauntlet_hunt_tickets_waiting"), 1);
    assert_eq!(server.sample("gauntlet_hunt_tickets_matched_total"), 2);
}

#[tokio::test]
async fn a_ticket_is_cancelled_by_its_owner() {
    let server = open().await;
    let (ann, ben) = (Guest::come(&server, "Ann").await, Guest::come(&server, "Ben").await);
    let cam = Guest::come(&server, "Cam").await;
    let ticket = take(&server, &ann.token, json!({ "party_size": 2 }), "201").await;
    join(&server, &ben.token, &ticket, "200").await;
    take(&server, &ann.token, json!({}), "409 already_waiting").await;
    let delete = format!("DELETE {}", path(&ticket));
    server.call(&delete).by(&cam.token).check("404 no_such_ticket").await;
    let (waited, cancelled) =
        tokio::join!(end(&server, &ben.token, &ticket), server.call(&delete).by(&ann.token).check("200"));
    assert_eq!((&waited["state"], &cancelled.body["state"]), (&json!("cancelled"), &json!("cancelled")));
    let again = server.call(&delete).by(&ann.token).check("200").await.body;
    assert_eq!(again["state"], "cancelled", "cancelled twice is cancelled");
    take(&server, &ann.token, json!({}), "201").await;
}

/// A player is put into a party only by joining, is on one ticket, and is not matched again while in a hunt.
#[tokio::test]
async fn a_player_is_on_one_ticket_and_in_one_hunt_by_choice() {
    let server = open().await;
    let mut people = Vec::new();
    for name in ["Ann", "Ben", "Cam", "Dan"] {
        people.push(Guest::come(&server, name).await);
    }
    let [ann, ben, cam, dan] = &people[..] else { panic!("four") };
    let drafted = json!({ "players": 2, "party": [ben.id] });
    take(&server, &ann.token, drafted, "422 bad_shape").await;
    let pair = json!({ "players": 3, "party_size": 2 });
    let of_ann = take(&server, &ann.token, pair.clone(), "201").await;
    let of_cam = take(&server, &cam.token, pair, "201").await;
    for _ in 0..2 {
        join(&server, &ben.token, &of_ann, "200").await;
    }
    join(&server, &ben.token, &of_cam, "409 already_waiting").await;
    take(&server, &ben.token, json!({}), "409 already_waiting").await;
    join(&server, &cam.token, &of_ann, "409 already_waiting").await;
    join(&server, &dan.token, &of_ann, "409 party_full").await;
    take(&server, &dan.token, json!({ "players": 3 }), "201").await;
    let ended = end(&server, &ben.token, &of_ann).await;
    assert_eq!(ended["state"], "matched");
    join(&server, &ben.token, &of_cam, "409 in_hunt").await;
    take(&server, &ben.token, json!({}), "409 in_hunt").await;
    take(&server, &dan.token, json!({}), "409 in_hunt").await;
    join(&server, "player", &ended, "409 ticket_not_waiting").await;
    leave_hunt(&server, &ben.token, &ended).await;
    join(&server, &ben.token, &of_cam, "200").await;
    join(&server, "", &of_cam, "401 token_missing").await;
}

/// A member may leave a party, which ends the ticket for the others.
#[tokio::test]
async fn a_party_that_a_member_leaves_stops_waiting() {
    let server = open().await;
    let (ann, ben) = (Guest::come(&server, "Ann").await, Guest::come(&server, "Ben").await);
    let ticket = take(&server, &ann.token, json!({ "party_size": 2 }), "201").await;
    join(&server, &ben.token, &ticket, "200").await;
    let delete = format!("DELETE {}", path(&ticket));
    let (waited, left) =
        tokio::join!(end(&server, &ann.token, &ticket), server.call(&delete).by(&ben.token).check("200"));
    assert_eq!((&waited["state"], &left.body["state"]), (&json!("cancelled"), &json!("cancelled")));
    take(&server, &ann.token, json!({}), "201").await;
}

#[tokio::test]
async fn a_ticket_times_out() {
    let server = open().await;
    for wanted in [json!({ "wait_ms": 1_000 }), json!({ "wait_ms": 1_000, "party_size": 3 })] {
        let ticket = take(&server, "player", wanted, "201").await;
        assert_eq!(end(&server, "player", &ticket).await["state"], "timed_out");
    }
    take(&server, "player", json!({}), "201").await;
}

#[tokio::test]
async fn a_draining_server_ends_every_ticket() {
    let server = open().await;
    let ticket = take(&server, "player", json!({}), "201").await;
    server.app.drain.begin();
    assert_eq!(end(&server, "player", &ticket).await["state"], "cancelled");
    take(&server, "player", json!({}), "503 draining").await;
}

/// A hunt that cannot be saved is no match: the parties wait on, and are matched when it can.
#[tokio::test]
async fn a_failing_store_loses_no_ticket() {
    let gate = Gated::new(false);
    let server = open_on(gate.clone()).await;
    let (ann, ben) = (Guest::come(&server, "Ann").await, Guest::come(&server, "Ben").await);
    let pair = json!({ "players": 2 });
    let ticket = take(&server, &ann.token, pair.clone(), "201").await;
    gate.bar();
    take(&server, &ben.token, pair, "201").await;
    tokio::time::timeout(Duration::from_secs(60), async {
        while server.app.hunts.matchmaker.failures() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    let still = server.call(&format!("GET {}", path(&ticket))).by(&ann.token).check("200").await.body;
    assert_eq!(still["state"], "waiting");
}

/// No player is matched with one who does not come.
#[tokio::test]
async fn the_ticket_of_a_party_with_a_banned_player_ends() {
    let server = open().await;
    let (ann, ben) = (Guest::come(&server, "Ann").await, Guest::come(&server, "Ben").await);
    let ticket = take(&server, &ann.token, json!({ "players": 4, "party_size": 2 }), "201").await;
    join(&server, &ben.token, &ticket, "200").await;
    let ban = json!({ "guest": ann.id, "reason": "shouts" });
    server.call("POST /api/admin/bans").by("operator").json(&ban).check("201").await;
    assert_eq!(end(&server, &ben.token, &ticket).await["state"], "cancelled");
    take(&server, &ben.token, json!({}), "201").await;
}

/// Two matched tickets, whose hunt waits at the gate.
pub(crate) async fn with_a_hunt_before(gate: &Gated, server: &TestServer) -> (String, Value) {
    let (ann, ben) = (Guest::come(server, "Ann").await, Guest::come(server, "Ben").await);
    let pair = json!({ "players": 2 });
    gate.shut();
    let ticket = take(server, &ann.token, pair.clone(), "201").await;
    take(server, &ben.token, pair, "201").await;
    gate.knocked().await;
    (ann.token, ticket)
}

/// A stalled disk delays the tickets whose hunt is being saved, and no others: those still time out.
#[tokio::test]
async fn a_hunt_that_is_slow_to_save_delays_no_other_ticket() {
    let gate = Gated::new(false);
    let server = open_on(gate.clone()).await;
    let (ann, ticket) = with_a_hunt_before(&gate, &server).await;
    let single = take(&server, "player", json!({ "wait_ms": 1_000 }), "201").await;
    assert_eq!(end(&server, "player", &single).await["state"], "timed_out");
    let still = server.call(&format!("GET {}", path(&ticket))).by(&ann).check("200").await.body;
    assert_eq!(still["state"], "waiting", "a hunt is not published before it is saved");
    gate.open();
    assert_eq!(end(&server, &ann, &ticket).await["state"], "matched");
}

/// It is unknown whether the hunt is saved: the ticket ends once that is known, and a player who cancelled is not matched again.
#[tokio::test]
async fn a_ticket_cancelled_while_its_hunt_is_saved_is_cancelled_unless_it_is_saved() {
    for is_saved in [true, false] {
        let gate = Gated::new(false);
        let server = open_on(gate.clone()).await;
        let (ann, ticket) = with_a_hunt_before(&gate, &server).await;
        let leaving = server.call(&format!("DELETE {}", path(&ticket))).by(&ann);
        let leave = tokio::spawn(async move { leaving.check("200").await.body });
        // It is cancelled, and its end is not known yet.
        tokio::task::yield_now().await;
        assert!(!leave.is_finished());
        if is_saved {
            gate.open();
        } else {
            gate.bar();
        }
        let want = if is_saved { "matched" } else { "cancelled" };
        let ended = leave.await.unwrap();
        assert_eq!(ended["state"], want);
        assert_eq!(server.sample("gauntlet_hunt_tickets_waiting"), u64::from(!is_saved), "the other one waits on");
        if is_saved {
            take(&server, &ann, json!({ "players": 3 }), "409 in_hunt").await;
            leave_hunt(&server, &ann, &ended).await;
        }
        take(&server, &ann, json!({ "players": 3 }), "201").await;
    }
}

/// It is unknown whether the hunt was saved: it is saved again, as the same hunt. A player who cancelled is not in it, whatever the
/// outcome.
#[tokio::test]
async fn a_hunt_that_was_saved_without_a_response_is_no_second_match() {
    for is_given_up in [false, true] {
        let gate = Gated::new(false);
        let server = open_on(gate.clone()).await;
        let (ann, ticket) = with_a_hunt_before(&gate, &server).await;
        if is_given_up {
            let id = ticket["id"].as_str().unwrap().parse().unwrap();
            let member = ticket["party"][0].as_str().unwrap().parse().unwrap();
            assert!(server.app.hunts.matchmaker.cancel(id, Some(member), server.app.node.clock.steady()).is_some());
        }
        gate.deafen();
        tokio::time::timeout(Duration::from_secs(60), async {
            while server.app.hunts.matchmaker.failures() < 1 {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();
        gate.open();
        if is_given_up {
            assert_eq!(end(&server, &ann, &ticket).await["state"], "cancelled");
            // The other ticket waits on. The saved hunt includes the player until the outcome is known; then she is removed.
            let again = || server.call("POST /api/hunts/tickets").by(&ann).json(&json!({ "players": 3 })).send();
            while again().await.status != 201 {
                tokio::task::yield_now().await;
            }
        } else {
            let ended = end(&server, &ann, &ticket).await;
            assert_eq!(ended["state"], "matched");
        }
        let hunts = server.call("GET /api/hunts").by("operator").check("200").await.body;
        assert_eq!(hunts.as_array().unwrap().len(), 1, "given up: {is_given_up}: {hunts}");
    }
}

/// The result of a hunt that is being saved while the server drains is still published.
#[tokio::test]
async fn a_hunt_saved_during_the_drain_is_a_match() {
    let gate = Gated::new(false);
    let server = open_on(gate.clone()).await;
    let (ann, ticket) = with_a_hunt_before(&gate, &server).await;
    let single = take(&server, "player", json!({}), "201").await;
    server.app.drain.begin();
    assert_eq!(end(&server, "player", &single).await["state"], "cancelled", "a waiting ticket ends at once");
    gate.open();
    let ended = end(&server, &ann, &ticket).await;
    assert_eq!(ended["state"], "matched");
    let hunt = format!("GET /api/hunts/{}", ended["hunt"].as_str().unwrap());
    assert_eq!(server.call(&hunt).by(&ann).check("200").await.body["may_enter"], true);
}

/// The matchmaker may panic in the middle of a match: it is restarted, and the ticket goes on to its end.
#[tokio::test]
async fn a_ticket_survives_a_matchmaker_that_panicked() {
    let gate = Gated::new(false);
    let server = TestServer::open_with(gate.clone(), |_| {}).await;
    let matchmaker = tokio::spawn(server::owners::run_hunts(server.app.clone()));
    let (ann, ticket) = with_a_hunt_before(&gate, &server).await;
    matchmaker.abort();
    assert!(matchmaker.await.unwrap_err().is_cancelled());
    gate.open();
    tokio::spawn(server::owners::run_hunts(server.app.clone()));
    assert_eq!(end(&server, &ann, &ticket).await["state"], "matched");
}

#[tokio::test]
async fn invalid_tickets_are_refused() {
    let server = open().await;
    take(&server, "", json!({}), "401 token_missing").await;
    take(&server, "player", json!({ "players": 1 }), "400 bad_value /players").await;
    take(&server, "player", json!({ "players": -1 }), "400 bad_value /players").await;
    take(&server, "player", json!({ "players": 1_000 }), "400 bad_value /players").await;
    take(&server, "player", json!({ "rating": 5_001 }), "400 bad_value /rating").await;
    take(&server, "player", json!({ "rating": -1 }), "400 bad_value /rating").await;
    take(&server, "player", json!({ "region": "EU" }), "400 bad_value /region").await;
    take(&server, "player", json!({ "party_size": 0 }), "400 bad_value /party_size").await;
    take(&server, "player", json!({ "party_size": 9, "players": 16 }), "400 bad_value /party_size").await;
    take(&server, "player", json!({ "party_size": 4, "players": 4 }), "400 bad_value /players").await;
    take(&server, "player", json!({ "wait_ms": 999 }), "400 bad_value /wait_ms").await;
    take(&server, "player", json!({ "wait_ms": 600_001 }), "400 bad_value /wait_ms").await;
    // An id that this process might have issued: it ends like its own.
    let own = take(&server, "player", json!({}), "201").await;
    let TicketId(own) = own["id"].as_str().unwrap().parse().unwrap();
    let id = TicketId(own ^ 1 << 40);
    server.call(&format!("GET /api/hunts/tickets/{id}")).check("404 no_such_ticket").await;
    server.call(&format!("GET /api/hunts/tickets/{id}?wait=11m")).check("400 bad_value").await;
    server.call(&format!("DELETE /api/hunts/tickets/{id}")).check("404 no_such_ticket").await;
}

#[tokio::test]
async fn a_poll_ends_with_its_token() {
    let server = open().await;
    let made = server.call("POST /api/tokens").json(&json!({ "name": "ticket" })).check("201").await.body;
    let (id, token) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    let ticket = take(&server, token, json!({ "wait_ms": 600_000 }), "201").await;
    let poll = server.call(&format!("GET {}?wait=5s", path(&ticket))).by(token).check("401 token_unknown");
    tokio::join!(biased; poll, server.call(&format!("DELETE /api/tokens/{id}")).check("204"));
    assert_eq!(server.sample("gauntlet_grants_revoked_total"), 1);
}
