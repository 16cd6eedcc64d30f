//! A PostgreSQL that gives its nodes fewer connections than they need: a node either serves with all of its
//! connections, those of replays and of `/readyz` included, or reports that it does not and why.

use crate::support::connection::HttpConnection;
use crate::support::starting::Starting;
use crate::support::{Folder, Server, as_url, until};
use serde_json::Value;
use std::net::SocketAddr;
use store::testing::PostgresCluster;

/// One to write, two to read, three for replays, one for `/readyz`.
const NEEDED: usize = 7;
const REMEDY: &str = "max_connections";
/// PostgreSQL's own code.
const TOO_MANY: &str = "53300";

/// A folder whose servers need [`NEEDED`] connections each to this database.
fn folder_for(keywords: &str) -> Folder {
    let folder = Folder::new();
    let url = as_url(keywords);
    let text = format!("[store]\nurl = \"{url}\"\nconnections = 2\n[replays]\nthreads = 3\n");
    folder.write("gauntlet.toml", &text);
    folder
}

/// The failed checks of a server that is not ready; `None` when it is.
fn failed_checks(server: &Server) -> Option<String> {
    let reply = server.request("GET /readyz", &Value::Null);
    (reply.status != 200).then(|| reply.body["checks"].to_string())
}

fn wait_until_ready(server: &Server) {
    until("it is ready", || failed_checks(server).is_none().then_some(()));
}

/// A further node on a database that has `free` connections left for it.
#[track_caller]
fn check_refused(free: usize, want: &str) {
    let cluster = PostgresCluster::start_with_connections(2 * NEEDED + free);
    let folder = folder_for(&cluster.new_empty_database_url());
    let nodes = [folder.serve_games(""), folder.serve_games("")];
    nodes.iter().for_each(wait_until_ready);
    Starting::new(&folder, "").check_refused(&[REMEDY, TOO_MANY, want]);
    assert_eq!(nodes.each_ref().map(failed_checks), [None, None], "the others have what they need");
}

#[test]
fn a_node_without_a_connection_left_is_refused() {
    check_refused(0, "");
}

#[test]
fn a_node_that_could_only_write_is_refused() {
    check_refused(1, "1 of the 3 connections");
}

#[test]
fn a_node_without_connections_for_replays_is_refused() {
    check_refused(3, "3 of the 7 connections");
}

#[test]
fn a_node_that_lacks_one_connection_is_refused() {
    check_refused(NEEDED - 1, "6 of the 7 connections");
}

/// Which of them serve, if any, is decided by who comes first.
#[test]
fn of_more_nodes_than_fit_that_start_together_each_is_ready_or_refused() {
    let cluster = PostgresCluster::start_with_connections(2 * NEEDED + 3);
    let folder = folder_for(&cluster.new_empty_database_url());
    let mut nodes = [0; 4].map(|_| Starting::new(&folder, ""));
    let mut serving = 0;
    for node in &mut nodes {
        match until("it serves or is refused", || if node.has_ended() { Some(None) } else { node.address().map(Some) })
        {
            None => node.check_refused(&[REMEDY, TOO_MANY]),
            Some(address) => {
                serving += 1;
                until("it is ready", || is_ready(address).then_some(()));
            }
        }
    }
    assert!(serving <= 2, "more serve than fit");
}

fn is_ready(address: SocketAddr) -> bool {
    let mut connection = HttpConnection::open(address, "");
    connection.send("GET /readyz", "", &Value::Null);
    connection.head().status == 200
}

#[test]
fn a_node_that_loses_connections_is_not_ready_until_it_has_all_of_them_again() {
    let cluster = PostgresCluster::start();
    let keywords = cluster.new_empty_database_url();
    let role = keywords.rsplit_once("dbname=").unwrap().1;
    cluster.run(&format!("CREATE ROLE {role} LOGIN CONNECTION LIMIT {NEEDED}"));
    cluster.run(&format!("ALTER DATABASE {role} OWNER TO {role}"));
    let folder = folder_for(&keywords.replace("user=gauntlet", &format!("user={role}")));
    let server = folder.serve_games("");
    wait_until_ready(&server);
    for allowed in [NEEDED - 1, 3, NEEDED - 1] {
        cluster.run(&format!("ALTER ROLE {role} CONNECTION LIMIT {allowed}"));
        cluster.run(&format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'"));
        until("it says what it lacks", || failed_checks(&server)?.contains("max_connections").then_some(()));
        cluster.run(&format!("ALTER ROLE {role} CONNECTION LIMIT {NEEDED}"));
        wait_until_ready(&server);
    }
}
