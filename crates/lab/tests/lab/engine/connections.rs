//! Connections that break, hang, refuse and come back, and answers in odd pieces.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lab::plan::LoadSpec;
use lab::record::{Awaited, ErrorKind};
use lab::scenario::Reconnect;

use super::{NOBODY, Rig, Said, burst, clients, drive, leg, scenario, setting, visit};
use crate::scripted::{Act, Asked, Gate, Scripted, answer, ok};

const POST: &str = "[[journey.step]]\nrequest = \"POST /\"";

/// One client that asks `requests` times; what it has seen, and how many connections and requests the target.
fn one(steps: &str, requests: u64, script: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static) -> (Said, u64, u64) {
    let target = Scripted::start(script);
    let said = drive(scenario(steps), &target, leg(clients(1, requests), 1), 1);
    (said, target.connections(), target.requests())
}

const GET: &str = "[[journey.step]]\nrequest = \"GET /\"";

/// Three answers of one kind over as many connections as expected.
#[track_caller]
fn check(acts: &[Act], connections: u64) {
    let script = acts.to_vec();
    let (said, opened, requests) = one(GET, 3, move |_| script.clone());
    assert_eq!((said.counts(), opened, requests), ((3, 0, 0), connections, 3), "{acts:?} {:?}", said.errors());
}

#[test]
fn odd_answers_are_answers() {
    let text = |text: &str| text.as_bytes().to_vec();
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nok\r\n0\r\nTrailer: 1\r\n\r\n";
    check(&[Act::Write(text(chunked))], 1);
    check(&[Act::Drip(text(chunked))], 1);
    check(&[Act::Drip(answer(200, "hello"))], 1);
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    check(&[Act::Write(text(interim))], 1);
    check(&[Act::Drip(text(interim))], 1);
    check(&[Act::Write(text("HTTP/1.1 204 No Content\r\n\r\n"))], 1);
    check(&[Act::Write(text("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"))], 1);
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    check(&[Act::Write(text(closing)), Act::Close], 3);
    // A server that says so and keeps the connection all the same is taken at its word.
    check(&[Act::Write(text(closing))], 3);
    check(&[Act::Write(text("HTTP/1.1 200 OK\r\n\r\nuntil the end")), Act::Close], 3);
    check(&[Act::Write(answer(200, &"x".repeat(3_000_000)))], 1);
    // Empty lines behind an answer cost the connection, not the answer.
    check(&[Act::Write([answer(200, "ok"), b"\r\n".to_vec()].concat())], 3);
}

#[test]
fn the_answer_to_a_head_has_no_body() {
    let steps = "[[journey.step]]\nrequest = \"HEAD /\"";
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".to_vec();
    let (said, connections, _) = one(steps, 3, move |_| vec![Act::Write(head.clone())]);
    assert_eq!((said.counts(), connections), ((3, 0, 0), 1));
}

/// Errors of the first of three requests.
#[track_caller]
fn fails(acts: &[Act], trouble: ErrorKind, message: &str) {
    let script = acts.to_vec();
    let (said, ..) = one(POST, 3, move |asked| if asked.number == 0 { script.clone() } else { ok() });
    assert_eq!(said.counts(), (2, 0, 1), "{acts:?}");
    assert_eq!(said.errors(), [(0, trouble, 1, message)], "{acts:?}");
}

#[test]
fn what_goes_wrong_is_told_apart() {
    let text = |text: &str| Act::Write(text.as_bytes().to_vec());
    let early = "the connection was closed before an answer had come";
    fails(&[Act::Close], ErrorKind::Closed, early);
    fails(
        &[text("HTTP/1.1 200 OK\r\n"), Act::Close],
        ErrorKind::Truncated,
        "the connection was closed in the head of the answer",
    );
    fails(&[text("H"), Act::Close], ErrorKind::Truncated, "the connection was closed in the head of the answer");
    let short = "the connection was closed 3 bytes before the answer's end";
    fails(&[text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), Act::Close], ErrorKind::Truncated, short);
    fails(&[Act::Reset], ErrorKind::Reset, "Connection reset by peer (os error 104)");
    let smuggled = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    fails(&[text(smuggled)], ErrorKind::Malformed, "both a content length and a transfer coding");
    let long = "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n";
    fails(&[text(long)], ErrorKind::PictureError, "an answer of more than 16777216 bytes");
    fails(
        &[Act::Write(answer(500, "{\"code\":\n \"internal\"}"))],
        ErrorKind::Status(500),
        "500: {\"code\": \"internal\"}",
    );
    fails(&[Act::Write(answer(404, ""))], ErrorKind::Status(404), "404: (empty body)");
    fails(
        &[text("SSH-2.0-OpenSSH\r\n\r\n")],
        ErrorKind::Malformed,
        "not an HTTP/1 answer: it begins with \"SSH-2.0-OpenSSH\"",
    );
    let chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nok\r\n0\r\n\r\n";
    fails(&[text(chunk)], ErrorKind::BadChunk, "not the size of a chunk: \"x\"");
    let more = [answer(200, "ok"), b"and more".to_vec()].concat();
    fails(&[Act::Write(more)], ErrorKind::ExcessBytes, "8 bytes behind the end of the answer");
    let more = [answer(503, "no"), b"and more".to_vec()].concat();
    fails(&[Act::Write(more)], ErrorKind::Status(503), "503: no");
}

/// The second of three requests takes too long, after the target has done this.
#[track_caller]
fn late(before: &str, awaited: Awaited, message: &str) {
    let (gate, before) = (Arc::new(Gate::default()), before.as_bytes().to_vec());
    let steps = "[[journey.step]]\nrequest = \"POST /\"\ntimeout = \"700ms\"";
    let (said, ..) = one(steps, 3, move |asked| match asked.number {
        1 => vec![Act::Write(before.clone()), Act::Wait(gate.clone())],
        _ => ok(),
    });
    assert_eq!(said.errors(), [(0, ErrorKind::Timeout(awaited), 1, message)]);
    let classes: Vec<String> = said.rows().iter().map(|row| row.last().unwrap().clone()).collect();
    assert_eq!(classes, ["ok", &ErrorKind::Timeout(awaited).to_string(), "ok"]);
}

#[test]
fn what_a_late_answer_had_come_to_is_told() {
    late("", Awaited::FirstByte, "no answer within 700ms");
    late("HTTP/1.1 200 OK\r\n", Awaited::Body, "no whole answer within 700ms");
    late("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", Awaited::Body, "no whole answer within 700ms");
}

/// A queue of connections that is full: whoever comes next is not answered.
#[test]
fn no_connection_in_time_is_told() {
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let filling: Vec<_> =
        (0..2).map(|_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200))).collect();
    let scenario = scenario("[[journey.step]]\nrequest = \"GET /\"\ntimeout = \"300ms\"");
    let said = Rig::start(setting(scenario, address), vec![leg(burst(1), 1)], 1).until_over();
    assert_eq!(said.errors(), [(0, ErrorKind::Timeout(Awaited::Connect), 1, "no connection within 300ms")]);
    drop(filling);
}

#[test]
fn what_hangs_runs_out_of_time_and_the_next_one_has_a_new_connection() {
    let gate = Arc::new(Gate::default());
    let steps = "[[journey.step]]\nrequest = \"POST /\"\ntimeout = \"700ms\"";
    let (said, connections, _) =
        one(steps, 3, move |asked| if asked.number == 1 { vec![Act::Wait(gate.clone())] } else { ok() });
    assert_eq!((said.counts(), connections), ((2, 0, 1), 2));
    assert_eq!(said.errors(), [(0, ErrorKind::Timeout(Awaited::FirstByte), 1, "no answer within 700ms")]);
}

#[test]
fn nobody_listening_is_an_error_of_its_kind() {
    let address: SocketAddr = NOBODY.parse().unwrap();
    let said = Rig::start(setting(visit(), address), vec![leg(burst(3), 2)], 1).until_over();
    assert_eq!(said.counts(), (0, 0, 3));
    let message = format!("{address}: Connection refused (os error 111)");
    assert_eq!(said.errors(), [(0, ErrorKind::Connect, 3, message.as_str())]);
}

#[test]
fn the_next_address_is_tried_when_one_refuses() {
    let target = Scripted::start(|_| ok());
    let mut two = setting(visit(), NOBODY.parse().unwrap());
    two.addresses.push(target.address);
    let said = Rig::start(two, vec![leg(burst(20), 4)], 1).until_over();
    assert_eq!((said.counts(), target.connections()), ((20, 0, 0), 4));
}

#[test]
fn connections_come_from_every_source_address() {
    let target = Scripted::start(|_| ok());
    let mut from_three = setting(visit(), target.address);
    from_three.source_addresses = (2..5).map(|last| std::net::IpAddr::from([127, 0, 0, last])).collect();
    let said = Rig::start(from_three, vec![leg(clients(6, 1), 1)], 2).until_over();
    assert_eq!(said.counts(), (6, 0, 0));
    let mut sources = target.peers();
    sources.sort_unstable();
    let expected = [2, 2, 3, 3, 4, 4].map(|last| std::net::IpAddr::from([127, 0, 0, last]));
    assert_eq!(sources, expected);
}

/// A target that closes each connection after its answer, without a word.
fn closes_idle(asked: &Asked) -> Vec<Act> {
    let _ = asked;
    vec![Act::Write(answer(200, "ok")), Act::Close]
}

#[test]
fn an_idle_connection_that_was_closed_is_nobodys_failure() {
    for steps in [GET, "[[journey.step]]\nrequest = \"POST /\"\nheaders = { idempotency-key = \"k\" }"] {
        let (said, connections, _) = one(steps, 20, closes_idle);
        assert_eq!((said.counts(), connections), ((20, 0, 0), 20), "{:?}", said.errors());
    }
}

#[test]
fn a_request_that_may_not_go_out_twice_goes_out_once() {
    // The second request of a connection is read and not answered.
    let dies = |asked: &Asked| if asked.turn == 1 { vec![Act::Close] } else { ok() };
    let (said, connections, requests) = one(POST, 4, dies);
    assert_eq!((said.counts(), connections, requests), ((2, 0, 2), 2, 4));
    let (said, connections, requests) = one(GET, 4, dies);
    // Each time the first connection is lost the request comes again over a new one.
    assert_eq!((said.counts(), connections, requests, said.retries()), ((4, 0, 0), 4, 7, 3));
    assert_eq!(said.sum(|interval| interval.resent), 3);
}

/// So many of 20 requests over connections that were kept meet this; what the lab counts: good answers, errors, requests
/// sent again by `retry`, and without.
#[track_caller]
fn check_kept(steps: &str, fate: &Act, expected: (u64, u64, u64, u64)) {
    let fate = fate.clone();
    let script = move |asked: &Asked| if asked.turn > 0 && asked.number % 4 == 3 { vec![fate.clone()] } else { ok() };
    let (said, _, requests) = one(steps, 20, script);
    let (good, denied, errors) = said.counts();
    let repeats = (said.sum(|interval| interval.retried), said.sum(|interval| interval.resent));
    assert_eq!((good, errors, repeats.0, repeats.1), expected, "{:?}", said.errors());
    assert_eq!((good + denied + errors, said.retries()), (20, repeats.0 + repeats.1));
    assert_eq!(requests, 20 + repeats.0 + repeats.1, "every request that the target saw is in the figures");
}

#[test]
fn no_request_is_sent_again_unless_it_should_be() {
    let retry = "\nretry = { times = 3, backoff = \"1ms\" }";
    let with_key = format!("{POST}\nheaders = {{ idempotency-key = \"k\" }}");
    check_kept(GET, &Act::Reset, (15, 5, 0, 0));
    check_kept(&with_key, &Act::Reset, (15, 5, 0, 0));
    check_kept(POST, &Act::Reset, (15, 5, 0, 0));
    check_kept(&format!("{GET}{retry}"), &Act::Reset, (20, 0, 6, 0));
    // It may have been closed before the request came.
    check_kept(GET, &Act::Close, (20, 0, 0, 6));
    check_kept(&with_key, &Act::Close, (20, 0, 0, 6));
    check_kept(POST, &Act::Close, (15, 5, 0, 0));
}

#[test]
fn clients_that_reconnect() {
    let run = |reconnect: Reconnect, steps: &str| {
        let target = Scripted::start(|asked| {
            let close = asked.head.contains("connection: close");
            if close { vec![Act::Write(answer(200, "ok")), Act::Close] } else { ok() }
        });
        let said = drive(scenario(steps), &target, LoadSpec { reconnect, ..leg(clients(2, 5), 1) }, 2);
        assert_eq!(said.counts(), (10, 0, 0));
        assert_eq!(said.sum(|interval| interval.connects), target.connections());
        target.connections()
    };
    let two =
        "[[journey.step]]\nname = \"a\"\nrequest = \"GET /a\"\n[[journey.step]]\nname = \"b\"\nrequest = \"GET /b\"";
    assert_eq!(run(Reconnect::Never, two), 2);
    assert_eq!(run(Reconnect::Journey, two), 10);
    assert_eq!(run(Reconnect::Request, two), 20);
}

#[test]
fn a_request_that_the_kernel_has_no_room_for_follows_in_pieces() {
    let gate = Arc::new(Gate::default());
    let opened = gate.clone();
    let target = Scripted::slow(|_| ok(), gate);
    let mut large =
        setting(scenario("[[journey.step]]\nrequest = \"POST /\"\njson = [\"{{run.id}}\"]"), target.address);
    // More than any socket's buffers hold.
    large.globals.insert("run.id".to_owned(), "x".repeat(12_000_000));
    let rig = Rig::start(large, vec![leg(burst(3), 3)], 1);
    rig.await_gauges(|gauges| gauges.in_flight == 3);
    opened.open();
    let said = rig.until_over();
    assert_eq!((said.counts(), target.requests()), ((3, 0, 0), 3), "{:?}", said.errors());
    assert!(target.asked().iter().all(|asked| asked.body.len() == 12_000_004));
}
