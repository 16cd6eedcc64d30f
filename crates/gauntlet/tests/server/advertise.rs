//! Servers on one PostgreSQL that advertise an address to each other: of those with the same address one serves and the
//! others are refused, whether the address is reachable from here or not; those with different ones reach each other
//! there.

use crate::support::connection::HttpConnection;
use crate::support::starting::Starting;
use crate::support::{Folder, Server, as_url, until};
use serde_json::{Value, json};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use store::testing::PostgresCluster;

/// An address at which nothing answers.
const UNREACHABLE: &str = "--advertise 127.0.0.1:1";
const ANSWERED: &str = "another Gauntlet server answers at";
const HELD: &str = "another living node of the same database advertises";
const REMEDY: &str = "--advertise HOST:PORT";
const WAITING: &str = "waiting: the leases of another process";

/// A folder whose servers share a database.
fn shared(cluster: &PostgresCluster) -> Folder {
    let folder = Folder::new();
    let url = as_url(&cluster.new_empty_database_url());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{url}\"\n"));
    folder
}

fn wait_until_ready(server: &Server) {
    until("it is ready", || (server.request("GET /readyz", &Value::Null).status == 200).then_some(()));
}

#[test]
fn a_node_at_the_address_of_a_living_one_is_refused() {
    let cluster = PostgresCluster::start();
    let folder = shared(&cluster);
    let (mut first, elsewhere) = (folder.serve_games(""), Folder::new().serve(""));
    for other in [first.address(), elsewhere.address()] {
        Starting::new(&folder, &format!("--advertise {other}")).check_refused(&[ANSWERED, REMEDY]);
    }
    let mut second = folder.serve_games(UNREACHABLE);
    for _ in 0..2 {
        Starting::new(&folder, UNREACHABLE).check_refused(&[HELD, REMEDY]);
    }
    // The rate limiter alone owns nothing, so no node forwards to it.
    let mut limiter = Starting::new(&folder, &format!("--only limiter {UNREACHABLE}"));
    limiter.wait_until_it_serves();
    // Neither has noticed anything.
    for server in [&first, &second] {
        wait_until_ready(server);
    }
    assert_eq!((first.stop(), second.stop(), limiter.leave()), (Some(0), Some(0), Some(0)));
}

/// Of so many that start together at one address exactly one serves.
#[track_caller]
fn check_together(nodes: usize, is_after_a_kill: bool) {
    let cluster = PostgresCluster::start();
    let folder = shared(&cluster);
    if is_after_a_kill {
        folder.serve_games(UNREACHABLE).kill();
    }
    let mut starting: Vec<_> = (0..nodes).map(|_| Starting::new(&folder, UNREACHABLE)).collect();
    until("all but one have ended", || {
        (starting.iter_mut().filter_map(|node| node.has_ended().then_some(())).count() >= nodes - 1).then_some(())
    });
    let mut serving = vec![];
    for mut node in starting {
        if node.has_ended() { node.check_refused(&[HELD, REMEDY]) } else { serving.push(node) }
    }
    assert_eq!(serving.len(), 1, "all were refused");
    serving[0].wait_until_it_serves();
}

#[test]
fn of_two_that_start_together_one_serves() {
    check_together(2, false);
}

#[test]
fn of_three_that_start_together_one_serves() {
    check_together(3, false);
}

#[test]
fn of_two_that_wait_for_a_dead_one_together_one_serves() {
    check_together(2, true);
}

#[test]
fn a_dead_node_is_waited_for_and_one_that_left_is_not() {
    let cluster = PostgresCluster::start();
    let folder = shared(&cluster);
    folder.serve_games(UNREACHABLE).kill();
    // One that is stopped while it waits was never announced, and leaves nothing to wait for.
    let mut waiting = Starting::new(&folder, UNREACHABLE);
    until("it waits", || waiting.stderr().contains(WAITING).then_some(()));
    assert_eq!((waiting.leave(), waiting.stdout().as_str()), (Some(0), ""), "{}", waiting.stderr());
    let mut next = Starting::new(&folder, UNREACHABLE);
    next.wait_until_it_serves();
    assert!(next.stderr().contains(WAITING), "the leases of a dead process were not waited for: {}", next.stderr());
    assert!(next.stderr().contains("until_unix_ms"), "it says until when: {}", next.stderr());
    // Also one that leaves while its workers write their first leases.
    for _ in 0..5 {
        assert_eq!(next.leave(), Some(0));
        next = Starting::new(&folder, UNREACHABLE);
        next.wait_until_it_serves();
        assert!(!next.stderr().contains(WAITING), "the one before has left in order: {}", next.stderr());
    }
}

/// The lock of the file proves that no other node lives.
#[test]
fn a_server_with_its_own_data_file_waits_for_no_other() {
    let (folder, other) = (Folder::new(), Folder::new().serve(""));
    for _ in 0..2 {
        let mut server = Starting::new(&folder, &format!("--advertise {}", other.address()));
        server.wait_until_it_serves();
        assert!(!server.stderr().contains(WAITING), "{}", server.stderr());
        server.kill();
    }
}

/// A port that is free at this moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// An address that leads to a server by way of this process. It counts connections. Ends with the process of the test.
struct Relay {
    address: SocketAddr,
    leads_to: Arc<Mutex<SocketAddr>>,
    connections: Arc<AtomicUsize>,
}

impl Relay {
    fn start(leads_to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (leads_to, connections) = (Arc::new(Mutex::new(leads_to)), Arc::new(AtomicUsize::new(0)));
        let (target, count) = (Arc::clone(&leads_to), Arc::clone(&connections));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                count.fetch_add(1, Ordering::Relaxed);
                let Ok(server) = TcpStream::connect(*target.lock().unwrap()) else { continue };
                pass_on(client.try_clone().unwrap(), server.try_clone().unwrap());
                pass_on(server, client);
            }
        });
        Self { address, leads_to, connections }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}

fn here(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

#[test]
fn tables_are_reached_through_each_node_at_the_address_that_the_other_advertises() {
    let cluster = PostgresCluster::start();
    let folder = shared(&cluster);
    let nodes = [0; 2].map(|_| {
        let port = free_port();
        let relay = Relay::start(here(port));
        let node = folder.host_at(&format!("--port {port} --advertise {}", relay.address));
        wait_until_ready(&node);
        (node, relay)
    });
    for [(home, relay), (other, _)] in [[&nodes[0], &nodes[1]], [&nodes[1], &nodes[0]]] {
        let guest = home.request_ok("POST /api/stories/guests", &json!({ "name": "Ann" }));
        let token = guest["token"].as_str().unwrap();
        let opened = HttpConnection::open(home.address(), token).request_ok("POST /api/stories/games", &json!({}), 201);
        let before = relay.connections();
        let chat = format!("POST /api/stories/tables/{}/chat", opened["table"].as_str().unwrap());
        for server in [home, other] {
            HttpConnection::open(server.address(), token).request_ok(&chat, &json!({ "text": "here" }), 200);
        }
        assert!(relay.connections() > before, "the other node went another way");
    }
}

/// As two machines whose nodes both advertise 127.0.0.1: each reaches itself there.
#[test]
fn an_address_that_leads_each_node_to_itself_is_refused_while_the_other_lives() {
    let cluster = PostgresCluster::start();
    let folder = shared(&cluster);
    let ports = [free_port(), free_port()];
    let relay = Relay::start(here(ports[0]));
    let words = ports.map(|port| format!("--port {port} --advertise {}", relay.address));
    let first = folder.host_at(&words[0]);
    *relay.leads_to.lock().unwrap() = here(ports[1]);
    Starting::at(&folder, &words[1]).check_refused(&[HELD, REMEDY]);
    first.kill();
    let next = Starting::at(&folder, &words[1]);
    next.wait_until_it_serves();
    assert!(next.stderr().contains(WAITING) && !next.stderr().contains("set server.advertise"), "{}", next.stderr());
}
