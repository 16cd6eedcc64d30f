//! Invitations and sign-in links on real servers: two of them on one database, one that is killed before it answers, and the command line
//! beside one that runs.

use crate::support::connection::HttpConnection;
use crate::support::{Folder, Server, as_url, until};
use serde_json::{Value, json};
use store::testing::PostgresCluster;

/// What a person's browser is answered, and the cookie that it keeps.
struct Answer {
    status: u16,
    body: Value,
    cookie: Option<String>,
}

/// A request of a browser that is not signed in.
fn send(server: &Server, line: &str, headers: &str, body: &Value) -> Answer {
    let mut connection = HttpConnection::open(server.address(), "");
    connection.send(line, headers, body);
    let (head, body) = connection.response();
    let cookie = head.header("set-cookie").and_then(|cookie| cookie.split(';').next()).map(str::to_owned);
    Answer { status: head.status, body, cookie }
}

/// Whom the server takes the owner of this cookie for.
fn session(server: &Server, cookie: &str) -> Answer {
    send(server, "GET /api/session", &format!("Cookie: {cookie}\r\n"), &Value::Null)
}

fn sign_out(server: &Server, cookie: &str) {
    let mut connection = HttpConnection::open(server.address(), "");
    connection.send("DELETE /api/session", &format!("Cookie: {cookie}\r\n"), &Value::Null);
    assert_eq!(connection.head().status, 204);
}

#[test]
fn of_two_servers_one_redeems_a_code_and_both_know_the_session() {
    let (cluster, folder) = (PostgresCluster::start(), Folder::new());
    let url = as_url(&cluster.new_empty_database_url());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{url}\"\n"));
    let servers = [folder.serve_games(""), folder.serve_games("")];
    let mut wins = [0, 0];
    for round in 0..20 {
        let invite = servers[0].request_ok("POST /api/invites", &json!({}));
        let answers = std::thread::scope(|scope| {
            let redeem = |who: usize| {
                let body = json!({"code": invite["code"], "name": format!("person-{round}-{who}")});
                let server = &servers[who];
                scope.spawn(move || send(server, "POST /api/invites/redeem", "", &body))
            };
            let redeemers = [redeem(0), redeem(1)];
            redeemers.map(|redeemer| redeemer.join().unwrap())
        });
        let won = answers.iter().position(|answer| answer.status == 201).expect("one wins");
        let lost = &answers[1 - won];
        assert_eq!((lost.status, &lost.body["code"]), (410, &json!("invite_gone")));
        assert_eq!(lost.cookie, None);
        wins[won] += 1;
        let cookie = answers[won].cookie.as_ref().unwrap();
        for server in &servers {
            assert_eq!(session(server, cookie).body, answers[won].body);
        }
        // Signed out at one server, the session ends at the other.
        if round == 0 {
            sign_out(&servers[0], cookie);
            assert_eq!(session(&servers[0], cookie).status, 401);
            until("it ends at the other server", || (session(&servers[1], cookie).status == 401).then_some(()));
        }
    }
    assert_eq!(wins[0] + wins[1], 20);
}

/// The server dies when the account is made and its person has no answer yet.
#[test]
fn a_redemption_whose_answer_is_lost_can_be_sent_again() {
    let folder = Folder::new();
    let mut server = folder.serve_games("");
    for (name, headers, again) in
        [("with-key", "Idempotency-Key: 3f6c1d0b-5a7e-4c39-8d20-6f1a2b3c4d5e\r\n", 201), ("without-key", "", 410)]
    {
        let invite = server.request_ok("POST /api/invites", &json!({}));
        let body = json!({"code": invite["code"], "name": name});
        let mut connection = HttpConnection::open(server.address(), "");
        connection.send("POST /api/invites/redeem", headers, &body);
        until("it is redeemed", || (server.request_ok("GET /api/invites", &Value::Null) == json!([])).then_some(()));
        server.kill();
        // What may have come of the answer is lost.
        drop(connection);
        server = folder.serve_games("");
        let answer = send(&server, "POST /api/invites/redeem", headers, &body);
        assert_eq!(answer.status, again, "{}", answer.body);
        let other = send(&server, "POST /api/invites/redeem", "Idempotency-Key: another-key-0123456789\r\n", &body);
        assert_eq!(other.status, 410, "{}", other.body);
        // The account is there either way: without a key, an operator's link signs its person in.
        let cookie = answer.cookie.unwrap_or_else(|| {
            let link = server.request_ok("POST /api/sign-in-links", &json!({"account": name}));
            let signed_in = send(&server, "POST /api/sign-in-links/redeem", "", &json!({"code": link["code"]}));
            signed_in.cookie.expect("the link signs in")
        });
        assert_eq!(session(&server, &cookie).body["name"], json!(name));
    }
}

#[test]
fn the_command_line_makes_links_for_a_server_that_runs() {
    let folder = Folder::new();
    let server = folder.serve("--data games.db");
    let run = |words: &str| {
        let output = folder.command(&format!("token sign-in --data games.db {words}")).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    let redeem = |link: &str| {
        let (_, code) = link.split_once("/sign-in#").unwrap();
        send(&server, "POST /api/sign-in-links/redeem", "", &json!({"code": code}))
    };
    let (is_made, link, note) = run("--account carl --role admin");
    assert!(is_made && link.starts_with("http://127.0.0.1:4000/sign-in#gns_"), "{link} {note}");
    assert!(
        note.contains("carl as admin") && !note.contains("gns_"),
        "the code stands on standard output only: {note}"
    );
    let signed_in = redeem(&link);
    assert_eq!((&signed_in.body["name"], &signed_in.body["role"]), (&json!("carl"), &json!("admin")));
    let cookie = signed_in.cookie.unwrap();
    assert_eq!(session(&server, &cookie).status, 200);
    assert_eq!(redeem(&link).status, 410);
    for (words, want) in [
        ("--port 4711", "http://127.0.0.1:4711/sign-in#gns_"),
        ("--interface :: --port 80", "/sign-in#gns_"),
        ("--port 0", "/sign-in#gns_"),
        ("--interface 0.0.0.0 --advertise play.example:8080", "http://play.example:8080/sign-in#gns_"),
    ] {
        let (is_made, link, note) = run(words);
        assert!(is_made && link.starts_with(want), "{words}: {link} {note}");
        assert_eq!(redeem(&link).body["name"], json!("default"), "{words}");
    }
    for _ in 0..16 {
        assert!(run("--account eve").0);
    }
    let (is_made, link, note) = run("--account eve");
    assert!(!is_made && link.is_empty() && note.contains("16 sign-in links of the account eve are open"), "{note}");
    let (is_made, _, note) = run("--account eve --role king");
    assert!(!is_made && note.contains("operator"), "{note}");
    // No log has a code or a secret.
    let log = server.log();
    assert!(!log.contains("gns_") && !log.contains("gnt_"), "{log}");
}
