//! Connections that break, hang, refuse and are reopened, and responses in odd pieces.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lab::measurement::{Awaited, ErrorKind};
use lab::plan::LoadSpec;
use lab::scenario::Reconnect;

use super::{
    Harness, HarnessResults, UNUSED_ADDRESS, burst, clients, generator_config, load_spec, run_load, scenario, visit,
};
use crate::scripted_server::{Latch, ReceivedRequest, ResponseAction, ScriptedServer, ok, response};

const POST: &str = "[[journey.step]]\nrequest = \"POST /\"";

/// One client with `requests` requests; returns its results, and how many connections and requests the target has
/// counted.
fn one_client(
    steps: &str,
    requests: u64,
    script: impl Fn(&ReceivedRequest) -> Vec<ResponseAction> + Send + Sync + 'static,
) -> (HarnessResults, u64, u64) {
    let target = ScriptedServer::start(script);
    let results = run_load(scenario(steps), &target, load_spec(clients(1, requests), 1), 1);
    (results, target.connections(), target.requests())
}

const GET: &str = "[[journey.step]]\nrequest = \"GET /\"";

/// Three responses of one kind over as many connections as expected.
#[track_caller]
fn check(actions: &[ResponseAction], connections: u64) {
    let script = actions.to_vec();
    let (results, opened, requests) = one_client(GET, 3, move |_| script.clone());
    assert_eq!((results.counts(), opened, requests), ((3, 0, 0), connections, 3), "{actions:?} {:?}", results.errors());
}

#[test]
fn odd_responses_are_responses() {
    let text = |text: &str| text.as_bytes().to_vec();
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nok\r\n0\r\nTrailer: 1\r\n\r\n";
    check(&[ResponseAction::Write(text(chunked))], 1);
    check(&[ResponseAction::WriteByteByByte(text(chunked))], 1);
    check(&[ResponseAction::WriteByteByByte(response(200, "hello"))], 1);
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    check(&[ResponseAction::Write(text(interim))], 1);
    check(&[ResponseAction::WriteByteByByte(text(interim))], 1);
    check(&[ResponseAction::Write(text("HTTP/1.1 204 No Content\r\n\r\n"))], 1);
    check(
        &[ResponseAction::Write(text("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"))],
        1,
    );
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    check(&[ResponseAction::Write(text(closing)), ResponseAction::Close], 3);
    // A server that announces a close and keeps the connection all the same is closed.
    check(&[ResponseAction::Write(text(closing))], 3);
    check(&[ResponseAction::Write(text("HTTP/1.1 200 OK\r\n\r\nuntil the end")), ResponseAction::Close], 3);
    check(&[ResponseAction::Write(response(200, &"x".repeat(3_000_000)))], 1);
    // Empty lines after a response cost the connection, not the response.
    check(&[ResponseAction::Write([response(200, "ok"), b"\r\n".to_vec()].concat())], 3);
}

#[test]
fn the_response_to_a_head_request_has_no_body() {
    let steps = "[[journey.step]]\nrequest = \"HEAD /\"";
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".to_vec();
    let (results, connections, _) = one_client(steps, 3, move |_| vec![ResponseAction::Write(head.clone())]);
    assert_eq!((results.counts(), connections), ((3, 0, 0), 1));
}

/// Checks the errors of the first of three requests.
#[track_caller]
fn check_failure(actions: &[ResponseAction], kind: ErrorKind, message: &str) {
    let script = actions.to_vec();
    let (results, ..) = one_client(POST, 3, move |request| if request.number == 0 { script.clone() } else { ok() });
    assert_eq!(results.counts(), (2, 0, 1), "{actions:?}");
    assert_eq!(results.errors(), [(0, kind, 1, message)], "{actions:?}");
}

#[test]
fn failures_have_their_own_kinds() {
    let text = |text: &str| ResponseAction::Write(text.as_bytes().to_vec());
    let early = "the connection was closed before an answer had come";
    check_failure(&[ResponseAction::Close], ErrorKind::Closed, early);
    check_failure(
        &[text("HTTP/1.1 200 OK\r\n"), ResponseAction::Close],
        ErrorKind::Truncated,
        "the connection was closed in the head of the answer",
    );
    check_failure(
        &[text("H"), ResponseAction::Close],
        ErrorKind::Truncated,
        "the connection was closed in the head of the answer",
    );
    let short = "the connection was closed 3 bytes before the answer's end";
    check_failure(
        &[text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), ResponseAction::Close],
        ErrorKind::Truncated,
        short,
    );
    check_failure(&[ResponseAction::Reset], ErrorKind::Reset, "Connection reset by peer (os error 104)");
    let smuggled = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    check_failure(&[text(smuggled)], ErrorKind::Malformed, "both a content length and a transfer coding");
    let long = "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n";
    check_failure(&[text(long)], ErrorKind::TooLarge, "an answer of more than 16777216 bytes");
    check_failure(
        &[ResponseAction::Write(response(500, "{\"code\":\n \"internal\"}"))],
        ErrorKind::Status(500),
        "500: {\"code\": \"internal\"}",
    );
    check_failure(&[ResponseAction::Write(response(404, ""))], ErrorKind::Status(404), "404: (empty body)");
    check_failure(
        &[text("SSH-2.0-OpenSSH\r\n\r\n")],
        ErrorKind::Malformed,
        "not an HTTP/1 answer: it begins with \"SSH-2.0-OpenSSH\"",
    );
    let chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nok\r\n0\r\n\r\n";
    check_failure(&[text(chunk)], ErrorKind::BadChunk, "not the size of a chunk: \"x\"");
    let more = [response(200, "ok"), b"and more".to_vec()].concat();
    check_failure(&[ResponseAction::Write(more)], ErrorKind::ExcessBytes, "8 bytes behind the end of the answer");
    let more = [response(503, "no"), b"and more".to_vec()].concat();
    check_failure(&[ResponseAction::Write(more)], ErrorKind::Status(503), "503: no");
}

/// The second of three requests times out, after the target has done this.
#[track_caller]
fn check_timeout(before: &str, awaited: Awaited, message: &str) {
    let (gate, before) = (Arc::new(Latch::default()), before.as_bytes().to_vec());
    let steps = "[[journey.step]]\nrequest = \"POST /\"\ntimeout = \"700ms\"";
    let (results, ..) = one_client(steps, 3, move |request| match request.number {
        1 => vec![ResponseAction::Write(before.clone()), ResponseAction::Wait(gate.clone())],
        _ => ok(),
    });
    assert_eq!(results.errors(), [(0, ErrorKind::Timeout(awaited), 1, message)]);
    let classes: Vec<String> = results.rows().iter().map(|row| row.last().unwrap().clone()).collect();
    assert_eq!(classes, ["ok", &ErrorKind::Timeout(awaited).to_string(), "ok"]);
}

#[test]
fn timeouts_tell_what_was_awaited() {
    check_timeout("", Awaited::FirstByte, "no answer within 700ms");
    check_timeout("HTTP/1.1 200 OK\r\n", Awaited::Body, "no whole answer within 700ms");
    check_timeout("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", Awaited::Body, "no whole answer within 700ms");
}

/// A full accept queue: further connections are not answered.
#[test]
fn no_connection_in_time_is_a_timeout() {
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let filling: Vec<_> =
        (0..2).map(|_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200))).collect();
    let scenario = scenario("[[journey.step]]\nrequest = \"GET /\"\ntimeout = \"300ms\"");
    let results = Harness::start(generator_config(scenario, address), vec![load_spec(burst(1), 1)], 1).run_to_end();
    assert_eq!(results.errors(), [(0, ErrorKind::Timeout(Awaited::Connect), 1, "no connection within 300ms")]);
    drop(filling);
}

#[test]
fn a_hanging_request_times_out_and_the_next_has_a_new_connection() {
    let gate = Arc::new(Latch::default());
    let steps = "[[journey.step]]\nrequest = \"POST /\"\ntimeout = \"700ms\"";
    let (results, connections, _) =
        one_client(
            steps,
            3,
            move |request| if request.number == 1 { vec![ResponseAction::Wait(gate.clone())] } else { ok() },
        );
    assert_eq!((results.counts(), connections), ((2, 0, 1), 2));
    assert_eq!(results.errors(), [(0, ErrorKind::Timeout(Awaited::FirstByte), 1, "no answer within 700ms")]);
}

#[test]
fn a_refused_connection_is_an_error_of_its_kind() {
    let address: SocketAddr = UNUSED_ADDRESS.parse().unwrap();
    let results = Harness::start(generator_config(visit(), address), vec![load_spec(burst(3), 2)], 1).run_to_end();
    assert_eq!(results.counts(), (0, 0, 3));
    let message = format!("{address}: Connection refused (os error 111)");
    assert_eq!(results.errors(), [(0, ErrorKind::Connect, 3, message.as_str())]);
}

#[test]
fn the_next_address_is_tried_when_one_refuses() {
    let target = ScriptedServer::start(|_| ok());
    let mut two = generator_config(visit(), UNUSED_ADDRESS.parse().unwrap());
    two.inputs.addresses.push(target.address);
    let results = Harness::start(two, vec![load_spec(burst(20), 4)], 1).run_to_end();
    assert_eq!((results.counts(), target.connections()), ((20, 0, 0), 4));
}

#[test]
fn connections_come_from_every_source_address() {
    let target = ScriptedServer::start(|_| ok());
    let mut from_three = generator_config(visit(), target.address);
    from_three.inputs.source_addresses = (2..5).map(|last| std::net::IpAddr::from([127, 0, 0, last])).collect();
    let results = Harness::start(from_three, vec![load_spec(clients(6, 1), 1)], 2).run_to_end();
    assert_eq!(results.counts(), (6, 0, 0));
    let mut sources = target.peers();
    sources.sort_unstable();
    let expected = [2, 2, 3, 3, 4, 4].map(|last| std::net::IpAddr::from([127, 0, 0, last]));
    assert_eq!(sources, expected);
}

/// A target that closes each connection after its response, without announcing it.
fn closes_idle(request: &ReceivedRequest) -> Vec<ResponseAction> {
    let _ = request;
    vec![ResponseAction::Write(response(200, "ok")), ResponseAction::Close]
}

#[test]
fn a_closed_idle_connection_is_no_failure() {
    for steps in [GET, "[[journey.step]]\nrequest = \"POST /\"\nheaders = { idempotency-key = \"k\" }"] {
        let (results, connections, _) = one_client(steps, 20, closes_idle);
        assert_eq!((results.counts(), connections), ((20, 0, 0), 20), "{:?}", results.errors());
    }
}

#[test]
fn a_request_that_is_not_idempotent_is_sent_once() {
    // The second request of a connection is read and not answered.
    let dies = |asked: &ReceivedRequest| if asked.connection_turn == 1 { vec![ResponseAction::Close] } else { ok() };
    let (results, connections, requests) = one_client(POST, 4, dies);
    assert_eq!((results.counts(), connections, requests), ((2, 0, 2), 2, 4));
    let (results, connections, requests) = one_client(GET, 4, dies);
    // Each time the first connection is lost the request is resent over a new one.
    assert_eq!((results.counts(), connections, requests, results.retries()), ((4, 0, 0), 4, 7, 3));
    assert_eq!(results.sum(|interval| interval.resent), 3);
}

/// Some of 20 requests over reused connections meet this action. `expected` has the ok responses, the errors, and the
/// requests sent again by `retry` and without it.
#[track_caller]
fn check_kept(steps: &str, fate: &ResponseAction, expected: (u64, u64, u64, u64)) {
    let fate = fate.clone();
    let script = move |asked: &ReceivedRequest| {
        if asked.connection_turn > 0 && asked.number % 4 == 3 { vec![fate.clone()] } else { ok() }
    };
    let (results, _, requests) = one_client(steps, 20, script);
    let (good, denied, errors) = results.counts();
    let repeats = (results.sum(|interval| interval.retried), results.sum(|interval| interval.resent));
    assert_eq!((good, errors, repeats.0, repeats.1), expected, "{:?}", results.errors());
    assert_eq!((good + denied + errors, results.retries()), (20, repeats.0 + repeats.1));
    assert_eq!(requests, 20 + repeats.0 + repeats.1, "every request that the target saw is in the figures");
}

#[test]
fn requests_are_resent_only_if_they_should_be() {
    let retry = "\nretry = { times = 3, backoff = \"1ms\" }";
    let with_key = format!("{POST}\nheaders = {{ idempotency-key = \"k\" }}");
    check_kept(GET, &ResponseAction::Reset, (15, 5, 0, 0));
    check_kept(&with_key, &ResponseAction::Reset, (15, 5, 0, 0));
    check_kept(POST, &ResponseAction::Reset, (15, 5, 0, 0));
    check_kept(&format!("{GET}{retry}"), &ResponseAction::Reset, (20, 0, 6, 0));
    // It may have been closed before the request was received.
    check_kept(GET, &ResponseAction::Close, (20, 0, 0, 6));
    check_kept(&with_key, &ResponseAction::Close, (20, 0, 0, 6));
    check_kept(POST, &ResponseAction::Close, (15, 5, 0, 0));
}

#[test]
fn clients_that_reconnect() {
    let run = |reconnect: Reconnect, steps: &str| {
        let target = ScriptedServer::start(|request| {
            let close = request.head.contains("connection: close");
            if close { vec![ResponseAction::Write(response(200, "ok")), ResponseAction::Close] } else { ok() }
        });
        let results = run_load(scenario(steps), &target, LoadSpec { reconnect, ..load_spec(clients(2, 5), 1) }, 2);
        assert_eq!(results.counts(), (10, 0, 0));
        assert_eq!(results.sum(|interval| interval.connects), target.connections());
        target.connections()
    };
    let two =
        "[[journey.step]]\nname = \"a\"\nrequest = \"GET /a\"\n[[journey.step]]\nname = \"b\"\nrequest = \"GET /b\"";
    assert_eq!(run(Reconnect::Never, two), 2);
    assert_eq!(run(Reconnect::Journey, two), 10);
    assert_eq!(run(Reconnect::Request, two), 20);
}

#[test]
fn a_request_larger_than_the_socket_buffer_follows_in_pieces() {
    let gate = Arc::new(Latch::default());
    let opened = gate.clone();
    let target = ScriptedServer::slow(|_| ok(), gate);
    let mut large =
        generator_config(scenario("[[journey.step]]\nrequest = \"POST /\"\njson = [\"{{run.id}}\"]"), target.address);
    // More than any socket's buffers hold.
    large.inputs.globals.insert("run.id".to_owned(), "x".repeat(12_000_000));
    let harness = Harness::start(large, vec![load_spec(burst(3), 3)], 1);
    harness.await_gauges(|gauges| gauges.in_flight == 3);
    opened.open();
    let results = harness.run_to_end();
    assert_eq!((results.counts(), target.requests()), ((3, 0, 0), 3), "{:?}", results.errors());
    assert!(target.received_requests().iter().all(|request| request.body.len() == 12_000_004));
}
