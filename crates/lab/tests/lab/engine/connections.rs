//! Connections that break, hang, refuse and come back, and answers in odd pieces.

use std::net::SocketAddr;
use std::sync::Arc;

use lab::plan::Leg;
use lab::record::Trouble;
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
    // Bytes that belong to no answer cost the connection, not the answer.
    check(&[Act::Write([answer(200, "ok"), b"and more".to_vec()].concat())], 3);
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
fn fails(acts: &[Act], trouble: Trouble, message: &str) {
    let script = acts.to_vec();
    let (said, ..) = one(POST, 3, move |asked| if asked.number == 0 { script.clone() } else { ok() });
    assert_eq!(said.counts(), (2, 0, 1), "{acts:?}");
    assert_eq!(said.errors(), [(0, trouble, 1, message)], "{acts:?}");
}

#[test]
fn what_goes_wrong_is_told_apart() {
    let text = |text: &str| Act::Write(text.as_bytes().to_vec());
    let early = "the connection was closed before an answer had come";
    fails(&[Act::Close], Trouble::Closed, early);
    fails(&[text("HTTP/1.1 200 OK\r\n"), Act::Close], Trouble::Closed, early);
    let short = "the connection was closed 3 bytes before the answer's end";
    fails(&[text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), Act::Close], Trouble::Closed, short);
    fails(&[Act::Reset], Trouble::Closed, "Connection reset by peer (os error 104)");
    let smuggled = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    fails(&[text(smuggled)], Trouble::Answer, "both a content length and a transfer coding");
    let long = "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n";
    fails(&[text(long)], Trouble::TooLarge, "an answer of more than 16777216 bytes");
    fails(&[Act::Write(answer(500, "{\"code\":\n \"internal\"}"))], Trouble::Status, "500: {\"code\": \"internal\"}");
    fails(&[Act::Write(answer(404, ""))], Trouble::Status, "404: (empty body)");
}

#[test]
fn what_hangs_runs_out_of_time_and_the_next_one_has_a_new_connection() {
    let gate = Arc::new(Gate::default());
    let steps = "[[journey.step]]\nrequest = \"POST /\"\ntimeout = \"700ms\"";
    let (said, connections, _) =
        one(steps, 3, move |asked| if asked.number == 1 { vec![Act::Wait(gate.clone())] } else { ok() });
    assert_eq!((said.counts(), connections), ((2, 0, 1), 2));
    assert_eq!(said.errors(), [(0, Trouble::Timeout, 1, "no answer within 700ms")]);
}

#[test]
fn nobody_listening_is_an_error_of_its_kind() {
    let address: SocketAddr = NOBODY.parse().unwrap();
    let said = Rig::start(setting(visit(), address), vec![leg(burst(3), 2)], 1).until_over();
    assert_eq!(said.counts(), (0, 0, 3));
    let message = format!("{address}: Connection refused (os error 111)");
    assert_eq!(said.errors(), [(0, Trouble::Connect, 3, message.as_str())]);
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
    from_three.sources = (2..5).map(|last| std::net::IpAddr::from([127, 0, 0, last])).collect();
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
}

#[test]
fn clients_that_reconnect() {
    let run = |reconnect: Reconnect, steps: &str| {
        let target = Scripted::start(|asked| {
            let close = asked.head.contains("connection: close");
            if close { vec![Act::Write(answer(200, "ok")), Act::Close] } else { ok() }
        });
        let said = drive(scenario(steps), &target, Leg { reconnect, ..leg(clients(2, 5), 1) }, 2);
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
