//! The built program, over real sockets: what it answers, how it ends, what it reports.

#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const REQUEST: &[u8] = b"GET /any/thing HTTP/1.1\r\nHost: here\r\n\r\n";
const REPLY: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nxx";

/// A running server; killed if its test fails before it is ended.
struct Canned {
    child: Child,
    output: BufReader<ChildStdout>,
    address: String,
}

impl Canned {
    fn start(words: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_canned"));
        let mut child = command.args(words.split_whitespace()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("http://").unwrap().1.to_owned();
        Self { child, output, address }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// Its last words.
    fn end(mut self) -> Value {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(self.child.wait().unwrap().success());
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Canned {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn check_replies(client: &mut TcpStream, count: usize) {
    let mut bytes = vec![0; count * REPLY.len()];
    client.read_exact(&mut bytes).unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), REPLY.repeat(count));
}

#[test]
fn every_request_gets_its_reply() {
    let canned = Canned::start("");
    let (mut one, mut two) = (canned.connect(), canned.connect());
    one.write_all(REQUEST).unwrap();
    check_replies(&mut one, 1);
    two.write_all(&REQUEST.repeat(3)).unwrap();
    check_replies(&mut two, 3);
    one.write_all(&REQUEST[..20]).unwrap();
    two.write_all(REQUEST).unwrap();
    check_replies(&mut two, 1);
    one.write_all(&REQUEST[20..]).unwrap();
    check_replies(&mut one, 1);
    let report = canned.end();
    assert_eq!((&report["connections"], &report["requests"]), (&2.into(), &6.into()));
}

/// More than the kernel holds for a client that does not read: the rest is sent later, not lost, and others are served.
#[test]
fn a_client_that_reads_late_gets_everything() {
    const COUNT: usize = 100_000;
    let canned = Canned::start("");
    let mut late = canned.connect();
    let mut sender = late.try_clone().unwrap();
    let sending = std::thread::spawn(move || sender.write_all(&REQUEST.repeat(COUNT)).unwrap());
    let mut other = canned.connect();
    other.write_all(REQUEST).unwrap();
    check_replies(&mut other, 1);
    check_replies(&mut late, COUNT);
    sending.join().unwrap();
    assert_eq!(canned.end()["requests"], COUNT as u64 + 1);
}

#[test]
fn a_known_capacity_is_not_exceeded() {
    let canned = Canned::start("--servers 2 --service-ms 5");
    let mut clients = [canned.connect(), canned.connect()];
    let start = Instant::now();
    clients.iter_mut().for_each(|client| client.write_all(&REQUEST.repeat(10)).unwrap());
    clients.iter_mut().for_each(|client| check_replies(client, 10));
    assert!(start.elapsed() >= Duration::from_millis(50), "20 requests of 5 ms by two servers take 50 ms");
    assert_eq!(canned.end()["requests"], 20);
}

#[test]
fn who_comes_after_one_that_left_does_not_get_its_reply() {
    let canned = Canned::start("--servers 1 --service-ms 20");
    let start = Instant::now();
    let mut leaving = canned.connect();
    leaving.write_all(REQUEST).unwrap();
    leaving.shutdown(Shutdown::Write).unwrap();
    // The end of the stream: the server has closed its side, and gives its file number to the next.
    assert_eq!(leaving.read_to_end(&mut Vec::new()).unwrap(), 0);
    let mut staying = canned.connect();
    staying.write_all(REQUEST).unwrap();
    check_replies(&mut staying, 1);
    assert!(start.elapsed() >= Duration::from_millis(40), "the reply that came was meant for the one who left");
    assert_eq!(canned.end()["connections"], 2);
}

#[test]
fn a_group_adds_up() {
    let canned = Canned::start("--processes 3");
    let mut clients: Vec<TcpStream> = (0..60).map(|_| canned.connect()).collect();
    for client in &mut clients {
        client.write_all(REQUEST).unwrap();
        check_replies(client, 1);
    }
    let report = canned.end();
    assert_eq!(
        (&report["processes"], &report["connections"], &report["requests"]),
        (&3.into(), &60.into(), &60.into())
    );
}

#[track_caller]
fn check_refused(words: &str, report: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_canned")).args(words.split_whitespace()).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains(report), "{words}: {error}");
}

#[test]
fn what_cannot_be_is_refused() {
    check_refused("--servers 2", "--service-ms");
    check_refused("--servers 2 --service-ms 0", "0.001 to 60000");
    check_refused("--servers 2 --service-ms 5 --processes 2", "--processes");
    check_refused("--processes 0", "1..=1000");
    check_refused("--port 1 --cpu 100000", "--cpu");
}
