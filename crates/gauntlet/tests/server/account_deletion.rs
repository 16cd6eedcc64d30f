//! Accounts that are deleted while their holders are there: what they have open ends on every server, and what they had goes, also when the server is
//! killed in between.

use crate::support::connection::HttpConnection;
use crate::support::{Folder, Server, as_url, until};
use serde_json::{Value, json};
use std::path::Path;
use store::sqlite::SqliteDatabase;
use store::testing::{DamageRows, PostgresCluster};

/// A new account with a token of this role: its id and the secret.
fn member(server: &Server, name: &str, role: &str) -> (String, String) {
    let account = server.request_ok("POST /api/admin/accounts", &json!({"name": name}));
    let token = server.request_ok("POST /api/admin/tokens", &json!({"account": name, "name": "t", "role": role}));
    (account["id"].as_str().unwrap().to_owned(), token["secret"].as_str().unwrap().to_owned())
}

/// What this bearer is answered.
fn send(server: &Server, token: &str, line: &str, body: &Value) -> (u16, Value) {
    let mut connection = HttpConnection::open(server.address(), token);
    connection.send(line, "", body);
    let (head, body) = connection.response();
    (head.status, body)
}

/// A stream of what happens at a table of Stories.
fn open_stream(server: &Server, token: &str, table: &str) -> HttpConnection {
    let mut connection = HttpConnection::open(server.address(), token);
    connection.send(&format!("GET /api/stories/tables/{table}/feed"), "Accept: text/event-stream\r\n", &Value::Null);
    assert_eq!(connection.head().status, 200);
    connection
}

/// A stream ends with the problem that the next request gets.
fn check_ends(mut stream: HttpConnection) {
    let mut text = String::new();
    while let Some(chunk) = stream.chunk() {
        text.push_str(&chunk);
    }
    assert!(text.contains("event: problem") && text.contains("token_unknown"), "{text}");
}

fn wait_until_cleared(server: &Server) {
    until("what the account had is deleted", || {
        server.get("/metrics", "").contains("gauntlet_retired_total{kind=\"accounts\"} 1").then_some(())
    });
}

#[test]
fn what_a_deleted_account_has_open_ends_on_all_servers() {
    let (cluster, folder) = (PostgresCluster::start(), Folder::new());
    let url = as_url(&cluster.new_empty_database_url());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{url}\"\n"));
    let servers = [folder.serve_games(""), folder.serve_games("")];
    let (ann, secret) = member(&servers[0], "ann", "player");
    let (_, others) = member(&servers[0], "bob", "player");
    let (status, told) = send(&servers[0], &secret, "POST /api/stories/games", &json!({}));
    assert_eq!(status, 201, "{told}");
    let streams = servers.each_ref().map(|server| open_stream(server, &secret, told["table"].as_str().unwrap()));
    let (status, made) = send(
        &servers[1],
        &secret,
        "POST /api/snakes",
        &json!({"name": "a", "url": "http://127.0.0.1:9/", "is_public": true}),
    );
    assert_eq!(status, 201, "{made}");
    let (status, seen) = send(&servers[1], &secret, "GET /api/account/deletion", &Value::Null);
    assert_eq!((status, &seen["snakes"], &seen["tokens"]), (200, &json!(1), &json!(1)), "{seen}");
    let (status, wrong) = send(&servers[0], &secret, "DELETE /api/account", &json!({"name": "bob"}));
    assert_eq!((status, &wrong["code"]), (400, &json!("bad_value")), "{wrong}");

    let (status, deleted) = send(&servers[0], &secret, "DELETE /api/account", &json!({"name": "ann"}));
    assert_eq!((status, &deleted), (200, &seen));
    streams.into_iter().for_each(check_ends);
    for server in &servers {
        until("its token is refused", || {
            (send(server, &secret, "GET /api/session", &Value::Null).0 == 401).then_some(())
        });
        assert_eq!(send(server, &others, "GET /api/session", &Value::Null).0, 200);
    }
    until("its snake is deleted", || {
        let snake = format!("GET /api/snakes/{}", made["id"].as_str().unwrap());
        (send(&servers[1], &others, &snake, &Value::Null).0 == 404).then_some(())
    });
    let entries = servers[1]
        .request_ok(&format!("GET /api/admin/audit?target=account:{ann}&action=delete_own_account"), &Value::Null);
    let outcomes: Vec<&Value> = entries.as_array().unwrap().iter().map(|entry| &entry["outcome"]).collect();
    assert_eq!(outcomes, [&json!("done")], "{entries}");
    // The name is free, and another's.
    let (next, _) = member(&servers[0], "ann", "player");
    assert_ne!(next, ann);
}

#[test]
fn a_deletion_on_the_command_line_is_finished_by_the_server_that_runs_next() {
    let folder = Folder::new();
    let server = folder.serve_games("");
    let (_, secret) = member(&server, "ann", "player");
    let snake = json!({"name": "a", "url": "http://127.0.0.1:9/"});
    assert_eq!(send(&server, &secret, "POST /api/snakes", &snake).0, 201);
    let run = |words: &str| {
        let output = folder.command(&format!("account delete {words}")).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (output.status.code(), text)
    };
    server.kill();
    let (code, text) = run("--account ann --reason left");
    assert!(code == Some(0) && text.contains("1 tokens, 1 snakes") && text.contains("nothing was deleted"), "{text}");
    for (words, want) in [
        ("--account eve --reason left --yes", "no account eve"),
        ("--account bootstrap --reason left --yes", "bootstrap token"),
    ] {
        let (code, text) = run(words);
        assert!(code == Some(1) && text.contains(want), "{words}: {text}");
    }
    let (code, text) = run("--account ann --reason left --yes");
    assert!(code == Some(0), "{text}");
    let server = folder.serve_games("");
    assert_eq!(send(&server, &secret, "GET /api/session", &Value::Null).0, 401);
    wait_until_cleared(&server);
    let entries = server.request_ok("GET /api/admin/audit?action=delete_account", &Value::Null);
    let entry = &entries[0];
    assert_eq!((&entry["detail"], &entry["reason"]), (&json!("name:ann"), &json!("left")), "{entries}");
}

/// One figure of the data file of a server that does not run.
fn figure(file: &Path, sql: &str) -> i64 {
    rusqlite::Connection::open(file).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

fn delete_on_the_command_line(folder: &Folder, name: &str) {
    let words = format!("account delete --data games.db --account {name} --reason left --yes");
    let output = folder.command(&words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// An account with many snakes is deleted, and the server killed while it deletes them; whether some were left then.
fn kill_while_it_clears(folder: &Folder) -> bool {
    const SNAKES: i64 = 400;
    let file = folder.path().join("games.db");
    let server = folder.serve_games("--data games.db");
    let (_, secret) = member(&server, "ann", "player");
    let (_, others) = member(&server, "bob", "player");
    let register = |n: i64| {
        let snake = json!({"name": format!("s{n}"), "url": "http://127.0.0.1:9/", "is_public": true});
        let (status, made) = send(&server, &secret, "POST /api/snakes", &snake);
        assert_eq!(status, 201, "{made}");
        made["id"].clone()
    };
    let snakes: Vec<Value> = (0..SNAKES).map(register).collect();
    let game = json!({"snakes": [snakes[0]]});
    let (status, game) = send(&server, &others, "POST /api/games", &game);
    assert_eq!(status, 201, "{game}");
    assert_eq!(send(&server, &secret, "DELETE /api/account", &json!({"name": "ann"})).0, 200);
    // A deleted account's snakes are hidden before they are deleted, so the file itself is read.
    until("its first snakes are deleted", || (figure(&file, "SELECT count(*) FROM bots") < SNAKES).then_some(()));
    server.kill();
    figure(&file, "SELECT count(*) FROM bots") > 0
}

/// A server that is killed while it clears an account leaves the rest to the next one.
#[test]
fn a_server_that_is_killed_while_it_clears_is_continued_by_the_next() {
    // A busy machine may let this test look only when all is deleted.
    let folder = (0..5).map(|_| Folder::new()).find(kill_while_it_clears).expect("one is killed in between");
    let file = folder.path().join("games.db");
    assert_eq!(figure(&file, "SELECT count(*) FROM accounts WHERE cleared_at IS NOT NULL"), 0);

    let server = folder.serve_games("--data games.db");
    wait_until_cleared(&server);
    server.kill();
    assert_eq!(figure(&file, "SELECT count(*) FROM bots"), 0);
    assert_eq!(figure(&file, "SELECT count(*) FROM seats WHERE owner = 'ann' OR url <> ''"), 0);
    // No node had a token of it any more when that began.
    let waited = "SELECT cleared_at - deleted_at FROM accounts WHERE deleted_at IS NOT NULL";
    assert!(figure(&file, waited) >= 5_000);
}

/// What one account has that cannot be ended holds up neither what else it has nor other accounts.
#[test]
fn damage_of_one_account_holds_up_no_other() {
    let folder = Folder::new();
    let file = folder.path().join("games.db");
    let server = folder.serve_games("--data games.db");
    let (_, secret) = member(&server, "ann", "player");
    let (_, others) = member(&server, "bob", "player");
    member(&server, "eve", "player");
    let snake = json!({"name": "a", "url": "http://127.0.0.1:9/", "is_public": true});
    let (_, made) = send(&server, &secret, "POST /api/snakes", &snake);
    let snake = format!("GET /api/snakes/{}", made["id"].as_str().unwrap());
    assert_eq!(send(&server, &secret, "POST /api/tournaments", &json!({"name": "cup"})).0, 201);
    server.kill();
    let flip = || {
        let place = ("competitions", "definition", "kind = 'tournament'");
        SqliteDatabase::new(&file).rewrite(place, &mut |bytes| bytes[0] ^= 0x08);
    };
    flip();
    delete_on_the_command_line(&folder, "ann");
    delete_on_the_command_line(&folder, "eve");
    let server = folder.serve_games("--data games.db");
    wait_until_cleared(&server);
    until("its snake is deleted", || (send(&server, &others, &snake, &Value::Null).0 == 404).then_some(()));
    server.kill();
    let uncleared = "SELECT count(*) FROM accounts WHERE deleted_at IS NOT NULL AND cleared_at IS NULL";
    assert_eq!(figure(&file, uncleared), 1, "that of whom something is damaged");
    flip();
    let server = folder.serve_games("--data games.db");
    wait_until_cleared(&server);
    server.kill();
    assert_eq!(figure(&file, uncleared), 0);
}
