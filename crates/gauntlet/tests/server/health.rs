//! `gauntlet health`: its exit code is what a container runtime sees of a server.

use crate::support::{Folder, until};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

/// The command must end with this code and say this.
#[track_caller]
fn check(words: &str, code: i32, want: &str) {
    let output = Folder::new().command(&format!("health {words}")).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert_eq!(output.status.code(), Some(code), "{words}: {text}");
    assert!(text.contains(want), "{words}: {want:?} is not in {text}");
}

/// The address of something that answers one request so.
fn answering(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(answer.as_bytes());
    });
    format!("http://{address}")
}

#[test]
fn a_server_that_is_ready_is_zero() {
    let folder = Folder::new();
    let server = folder.serve("");
    until("it is ready", || server.get("/readyz", "").starts_with("HTTP/1.1 200").then_some(()));
    let (address, port) = (server.address(), server.address().port());
    check(&format!("http://{address}"), 0, "is ready");
    check(&format!("http://{address}/readyz"), 0, "is ready");
    check(&format!("http://localhost:{port}/"), 0, "is ready");
    check(&format!("--port {port}"), 0, "is ready");
    check(&format!("--port {port} --interface 0.0.0.0"), 0, "is ready");
    check(&format!("--port 1 --ops-port {port}"), 0, "is ready");
}

#[test]
fn everything_else_is_one_with_the_reason() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    check(&format!("http://{closed}"), 1, "refused");
    check("ftp://127.0.0.1", 1, "expected a URL such as");
    check("--port 0", 1, "name the server's URL");
    for url in
        ["http://127.0.0.1/?x", "http://127.0.0.1/#y", "http://127.0.0.1:65536", "http://127.0.0.1:0", "http://:1"]
    {
        check(url, 1, "expected a URL such as");
    }
    // Whatever is not that answer is some page.
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    check(&answering(page), 1, "is not ready: /readyz there is no answer of a Gauntlet server");
    let unready = "HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n{\"ready\":false,\"checks\":[]}";
    check(&answering(unready), 1, "is not ready");
    check("--port many", 1, "server.port is \"many\"");
    let failing = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 99\r\n\r\n\
        {\"ready\":false,\"checks\":[{\"name\":\"store\",\"ok\":false,\"detail\":\"the store does not answer in time\"}]}";
    check(&answering(failing), 1, "is not ready: it answered 503, store: the store does not answer in time");
    let proxy = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 11\r\n\r\nno upstream";
    check(&answering(proxy), 1, "it answered 502, no upstream");
    check(&answering("HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n"), 1, "ended early");
}
