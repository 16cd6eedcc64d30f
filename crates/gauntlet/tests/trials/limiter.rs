//! The rate limiter as a process of its own: tested by its own scenarios, called by many clients at once, called over
//! gRPC.

use crate::support::{Folder, until};
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Output;
use std::thread;

fn run(folder: &Folder, words: &str) -> Output {
    folder.command(&format!("run {words} --quiet")).output().unwrap()
}

/// The record of the only run in this folder.
fn record(folder: &Folder) -> serde_json::Value {
    let run = fs::read_dir(folder.path().join("runs")).unwrap().flatten().next().unwrap();
    serde_json::from_str(&fs::read_to_string(run.path().join("run.json")).unwrap()).unwrap()
}

/// In small: what of `journey` was allowed and denied; the gates that know the full size are given anew.
#[track_caller]
fn check(words: &str, counts: &[(&str, u64, u64)]) {
    let folder = Folder::new();
    let ran = run(&folder, words);
    let printed = String::from_utf8_lossy(&ran.stderr).into_owned() + &String::from_utf8_lossy(&ran.stdout);
    assert!(matches!(ran.status.code(), Some(0 | 3 | 4)), "{words}: {printed}");
    let record = record(&folder);
    for (journey, ok, denied) in counts {
        let figures = &record["journeys"][journey];
        let found = [&figures["ok"], &figures["denied"], &figures["errors"]].map(|count| count.as_u64().unwrap());
        assert_eq!(found, [*ok, *denied, 0], "{words}: {journey}: {printed}");
    }
}

#[test]
fn its_scenarios_count_exactly() {
    check("limiter-baseline", &[("check", 900, 100)]);
    check(
        "limiter-100 --set phase.apart.arrivals.clients=20 --set phase.together.arrivals.clients=60",
        &[("apart", 2_000, 0), ("together", 5_000, 1_000)],
    );
    check("limiter-extreme --set burst=300 --set bursts=3 --set connections=50", &[("check", 900, 0)]);
}

/// One request on a connection that stays open, and the body of its answer.
fn ask(connection: &mut TcpStream, client: &str) -> String {
    let body = format!(r#"{{"client_id":"{client}","resource":"api"}}"#);
    let head = "POST /api/v1/ratelimit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length:";
    write!(connection, "{head} {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = Vec::new();
    let mut bytes = [0; 1_024];
    loop {
        let count = connection.read(&mut bytes).unwrap();
        assert!(count > 0, "the server has closed the connection");
        answer.extend_from_slice(&bytes[..count]);
        let text = String::from_utf8_lossy(&answer);
        if let Some((_, body)) = text.split_once("\r\n\r\n").filter(|(_, body)| body.ends_with('}')) {
            return body.to_owned();
        }
    }
}

#[test]
fn admits_exactly_the_limit_of_concurrent_calls() {
    const CALLS: usize = 100;
    let folder = Folder::new();
    let server = folder.serve("--only limiter --threads 4");
    server.request_ok("POST /api/v1/configure", &json!({"window_seconds": 3600, "request_per_window": 50}));
    for turn in 0..10 {
        let gate = std::sync::Barrier::new(CALLS);
        let answers: Vec<String> = thread::scope(|scope| {
            let call = || {
                let mut connection = TcpStream::connect(server.address()).unwrap();
                gate.wait();
                ask(&mut connection, &format!("exact-{turn}"))
            };
            let calls: Vec<_> = (0..CALLS).map(|_| scope.spawn(call)).collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        let answers: Vec<serde_json::Value> = answers.iter().map(|body| serde_json::from_str(body).unwrap()).collect();
        let allowed = answers.iter().filter(|answer| answer["allowed"] == true);
        let mut left: Vec<u64> = allowed.map(|answer| answer["remaining"].as_u64().unwrap()).collect();
        left.sort_unstable();
        assert_eq!(left, (0..50).collect::<Vec<u64>>(), "each with a remainder of its own");
    }
}

#[test]
fn the_example_of_policies_is_one() {
    let folder = Folder::new();
    let policies = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/policies.toml");
    let server = folder.serve(&format!("--limiter-policies {policies}"));
    server.request_ok("GET /readyz", &json!(null));
}

/// What begins a connection of HTTP/2: the client's greeting and empty settings (RFC 9113, section 3.4).
const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

#[test]
fn grpc_is_answered_beside_http_until_the_signal() {
    let folder = Folder::new();
    let port = {
        // Free a moment ago.
        let probe = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        probe.local_addr().unwrap().port()
    };
    let mut server = folder.serve(&format!("--only limiter --grpc-port {port}"));
    let mut connection = until("gRPC is answered", || TcpStream::connect(("127.0.0.1", port)).ok());
    connection.write_all(GREETING).unwrap();
    let mut frame = [0; 9];
    connection.read_exact(&mut frame).unwrap();
    assert_eq!(frame[3], 4, "the server's settings come first");
    assert_eq!(server.stop(), Some(0));
    let _ = connection.read_to_end(&mut Vec::new());
}
