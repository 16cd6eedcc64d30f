//! Two servers on one PostgreSQL, one of which owns the matchmaking queue: players at the other are matched from the
//! same pool, and learn how every ticket ended, also when the owner is killed.

use crate::support::connection::HttpConnection;
use crate::support::{Folder, Server, as_url, until};
use serde_json::{Value, json};
use store::testing::PostgresCluster;

/// Two servers on one database. Everything ends in the order in which it stands here.
struct Nodes {
    a: Server,
    b: Server,
    _cluster: PostgresCluster,
    _folder: Folder,
}

fn two_nodes() -> Nodes {
    let (cluster, folder) = (PostgresCluster::start(), Folder::new());
    let url = as_url(&cluster.new_empty_database_url());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{url}\"\n"));
    let (a, b) = (folder.serve_games(""), folder.serve_games(""));
    Nodes { a, b, _cluster: cluster, _folder: folder }
}

/// A named player who takes tickets and queries them.
struct Guest {
    token: String,
}

impl Guest {
    fn come(server: &Server, name: &str) -> Self {
        let guest = server.request_ok("POST /api/stories/guests", &json!({ "name": name }));
        Self { token: guest["token"].as_str().unwrap().to_owned() }
    }

    fn connect(&self, server: &Server) -> HttpConnection {
        HttpConnection::open(server.address(), &self.token)
    }

    /// A ticket, taken at this server; its address.
    fn take(&self, server: &Server, wanted: &Value) -> String {
        let ticket = self.connect(server).request_ok("POST /api/hunts/tickets", wanted, 201);
        format!("/api/hunts/tickets/{}", ticket["id"].as_str().unwrap())
    }
}

#[test]
fn compatible_tickets_match_at_any_server() {
    let Nodes { mut a, mut b, _cluster, _folder } = two_nodes();
    let [ann, ben, cam] = ["Ann", "Ben", "Cam"].map(|name| Guest::come(&a, name));
    let of_ann = ann.take(&a, &json!({ "players": 3, "party_size": 2 }));
    let joined = cam.connect(&b).request_ok(&format!("POST {of_ann}/join"), &Value::Null, 200);
    assert_eq!(joined["state"], "waiting");
    let of_ben = ben.take(&b, &json!({ "players": 3 }));
    // Each queries the other server, and no ticket waits in vain.
    let mut ends = [(&ann, &b, &of_ann), (&ben, &a, &of_ben), (&cam, &b, &of_ann)].map(|(guest, server, ticket)| {
        let mut connection = guest.connect(server);
        connection.send(&format!("GET {ticket}?wait=60s"), "", &Value::Null);
        connection
    });
    let ends = ends.each_mut().map(HttpConnection::response);
    let hunt = ends[0].1["hunt"].as_str().unwrap();
    for (head, ended) in &ends {
        assert_eq!((head.status, &ended["state"], &ended["hunt"]), (200, &json!("matched"), &json!(hunt)), "{ended}");
        assert_eq!(head.header("cache-control"), Some("no-store"), "{head:?}");
    }
    let seen = ben.connect(&b).request_ok(&format!("GET /api/hunts/{hunt}"), &Value::Null, 200);
    assert_eq!((&seen["players"], &seen["may_enter"]), (&json!(3), &json!(true)));
    // One ticket at a time, and taken back, by whichever server.
    for (guest, server) in [(&ann, &a), (&ben, &b)] {
        assert_eq!(guest.connect(server).request_ok("POST /api/hunts/tickets", &json!({}), 409)["code"], "in_hunt");
        guest.connect(server).request_ok(&format!("POST /api/hunts/{hunt}/leave"), &Value::Null, 200);
    }
    let of_ann = ann.take(&b, &json!({}));
    for server in [&a, &b] {
        let refused = ann.connect(server).request_ok("POST /api/hunts/tickets", &json!({}), 409);
        assert_eq!(refused["code"], "already_waiting");
        let refused = ben.connect(server).request_ok("POST /api/hunts/tickets", &json!({ "players": 1 }), 400);
        assert_eq!(refused["field"], "/players");
        ben.connect(server).request_ok(&format!("GET {of_ann}"), &Value::Null, 404);
    }
    for server in [&b, &a] {
        let taken_back = ann.connect(server).request_ok(&format!("DELETE {of_ann}"), &Value::Null, 200);
        assert_eq!(taken_back["state"], "cancelled");
    }
    assert_eq!((a.stop(), b.stop()), (Some(0), Some(0)));
}

#[test]
fn a_killed_owner_ends_its_tickets_and_another_acquires_the_queue() {
    let Nodes { a, b, _cluster, _folder } = two_nodes();
    let (ann, ben) = (Guest::come(&a, "Ann"), Guest::come(&b, "Ben"));
    let ticket = ann.take(&a, &json!({ "players": 2 }));
    let mut waits = ann.connect(&b);
    waits.send(&format!("GET {ticket}?wait=60s"), "", &Value::Null);
    until("the poll waits at its keeper", || {
        a.get("/metrics", "").lines().any(|line| line == "gauntlet_http_parked 1").then_some(())
    });
    a.kill();
    let (head, cut) = waits.response();
    assert_eq!((head.status, &cut["code"]), (503, &json!("tickets_elsewhere")), "{cut}");
    assert_eq!(head.header("retry-after"), Some("1"));
    // Until the lease of the dead owner is over, no other can know that it is dead.
    let lost = until("the ticket has ended", || {
        waits.send(&format!("GET {ticket}"), "", &Value::Null);
        let (head, body) = waits.response();
        (head.status != 503).then_some((head.status, body))
    });
    assert_eq!((lost.0, &lost.1["code"]), (410, &json!("ticket_lost")));
    let (of_ann, of_ben) = (ann.take(&b, &json!({ "players": 2 })), ben.take(&b, &json!({ "players": 2 })));
    for (guest, ticket) in [(&ann, of_ann), (&ben, of_ben)] {
        let ended = guest.connect(&b).request_ok(&format!("GET {ticket}?wait=60s"), &Value::Null, 200);
        assert_eq!(ended["state"], "matched");
    }
}
