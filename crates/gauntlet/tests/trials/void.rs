//! A generator that is too slow cannot blame its target: a gate that fails is void, and one that passes counts all the
//! same. It is slowed down as it happens to generators: it gets no processor for a while.

use crate::support::{Folder, until};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SCENARIO: &str = r#"
format = 1
name = "void"
summary = "A constant rate, and a gate on its latency"
[vars]
port = 1
gate = "< 200"
[target]
url = "http://127.0.0.1:{{port}}"
[[phase]]
name = "steady"
arrivals = { rate = 100, for = "4s" }
in_flight_max = 50
journey = "visit"
[[journey]]
name = "visit"
[[journey.step]]
request = "GET /"
[gates]
"visit.errors" = "= 0"
"visit.latency_ms.p99" = "{{gate}}"
"#;

/// How long the generator gets no processor: a quarter of the run.
const STOPPED: Duration = Duration::from_secs(1);

/// A target that answers at once, and counts its answers.
fn target() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, answers) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let count = answers.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let count = count.clone();
            std::thread::spawn(move || answer_all(stream, &count));
        }
    });
    (address, answers)
}

fn answer_all(mut stream: TcpStream, answers: &AtomicUsize) {
    let mut request = [0; 1024];
    while stream.read(&mut request).is_ok_and(|count| count > 0) {
        answers.fetch_add(1, Ordering::SeqCst);
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").is_err() {
            return;
        }
    }
}

/// The exit code and the last words of a run whose generator was stopped for a while.
#[track_caller]
fn check(gate: &str, expected: i32, word: &str) {
    let (folder, (address, answers)) = (Folder::new(), target());
    fs::write(folder.path().join("void.toml"), SCENARIO).unwrap();
    let run = format!("run void.toml --quiet --set port={} --set gate={gate}", address.port());
    let mut lab = folder.command(&run).current_dir(folder.path()).stdout(Stdio::piped()).spawn().unwrap();
    let tell = |signal: &str| {
        let killed = Command::new("kill").args([signal, &lab.id().to_string()]).status().unwrap();
        assert!(killed.success());
    };
    until("the load is under way", || (answers.load(Ordering::SeqCst) >= 50).then_some(()));
    tell("-STOP");
    std::thread::sleep(STOPPED);
    tell("-CONT");
    let code = until("the run ends", || lab.try_wait().unwrap()).code();
    let printed = std::io::read_to_string(lab.stdout.take().unwrap()).unwrap();
    assert_eq!(code, Some(expected), "{printed}");
    assert!(printed.contains(word), "{printed}");
}

#[test]
fn a_gate_that_failed_under_a_slow_generator_is_void() {
    check("<200", 4, "VOID");
}

#[test]
fn a_gate_that_passed_holds_however_slow_the_generator_was() {
    check("<60000", 0, "PASSED");
}
