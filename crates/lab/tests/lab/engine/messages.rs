//! Messages over framed connections: opening journeys, responses, pushes, and lost connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use lab::generator::GeneratorConfig;
use lab::measurement::{ErrorKind, OpId};
use lab::plan::LoadSpec;
use lab::scenario::{Document, Reconnect, Scenario};
use serde_json::{Value, json};

use super::{HOUR, Harness, HarnessResults, burst, clients, generator_config, load_spec, rate};
use crate::message_server::{MessageServer, PROTO, ReceivedMessage, Reply, TestFraming};
use crate::scripted_server::Latch;

const STEPS: &str = r#"
[[journey.step]]
send   = { move = { seq = "{{nth}}", step = "NORTH", by = -3, key = 7 } }
answer = "/moved"
denied = "/refused"
[[journey]]
name = "join"
[[journey.step]]
send   = { hello = { name = "hunter {{index}}", versions = [1, 2] } }
answer = "/welcome"
keep   = { id = "/welcome/id" }
"#;

const PUSHES: &str = "[[push]]\nname = \"view\"\nat = \"/view\"\nsince = \"/view/at_us\"\n";

fn document(endpoints: &[&MessageServer], framing: TestFraming, steps: &str) -> Document {
    let url = |endpoint: &&MessageServer| match framing {
        TestFraming::LengthDelimited => format!("\"tcp://{}\"", endpoint.address),
        TestFraming::Binary | TestFraming::Text => format!("\"ws://{}/socket\"", endpoint.address),
    };
    let urls: Vec<String> = endpoints.iter().map(url).collect();
    let proto = "proto = \"spoken.proto\"\nsend = \"spoken.Say\"\nreceive = \"spoken.Heard\"\n";
    let proto = if framing == TestFraming::Text { "" } else { proto };
    let opening = if steps.contains("\"join\"") { "opening = \"join\"\n" } else { "" };
    let text = format!(
        "format = 1\nname = \"messages\"\nsummary = \"What a test wants\"\n[target]\nurl = \"http://127.0.0.1:1\"\n\
         [target.socket]\nurl = [{}]\nerror = \"/error\"\n{proto}[[phase]]\nname = \"p\"\n\
         arrivals = {{ hold = {{ connections = 1 }}, for = \"1s\" }}\njourney = \"visit\"\n{opening}{PUSHES}[[journey]]\nname = \"visit\"\n{steps}",
        urls.join(", ")
    );
    let mut document = Document::parse(&text).unwrap();
    document.required_files().iter().for_each(|name| document.add_file(name, PROTO));
    document
}

fn message_config(endpoints: &[&MessageServer], framing: TestFraming, steps: &str) -> GeneratorConfig {
    let scenario = Scenario::read(&document(endpoints, framing, steps)).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let unused = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    let mut config = generator_config(scenario, unused);
    config.inputs.message_endpoints = endpoints.iter().map(|endpoint| vec![endpoint.address]).collect();
    config
}

/// So many connections, each with an opening journey, and a rate over them, until the load is ended.
fn hold(connections: u64, rate_per_s: f64) -> LoadSpec {
    LoadSpec { opening_journey_index: Some(1), ..super::hold(connections, Some(rate_per_s), HOUR) }
}

/// Ends the load once so many journeys have ended, opening journeys included.
fn run_until_done(over: u64, config: GeneratorConfig, spec: LoadSpec, workers: u32) -> HarnessResults {
    run_until_open_and_done(0, over, config, spec, workers)
}

/// The same, and not before so many connections are open: one worker may be far ahead of another.
fn run_until_open_and_done(
    held: u64,
    over: u64,
    config: GeneratorConfig,
    spec: LoadSpec,
    workers: u32,
) -> HarnessResults {
    let harness = Harness::start(config, vec![spec], workers);
    harness.await_gauges(|gauges| gauges.held >= held);
    harness.await_gauges(|gauges| gauges.done >= over);
    harness.worker_pool.end_load_step(0);
    harness.run_to_end()
}

fn count(server: &MessageServer, member: &str) -> u64 {
    server.received().iter().filter(|received| received.message.get(member).is_some()).count() as u64
}

fn unix_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64
}

/// Welcomes every client, and sends a view before the response to each move.
fn friendly_script(received: &ReceivedMessage) -> Vec<Reply> {
    let message = &received.message;
    if message.get("hello").is_some() {
        return vec![Reply::Frame(json!({ "welcome": { "id": received.connection + 1 } }))];
    }
    if message.get("leave").is_some() {
        return Vec::new();
    }
    let view = json!({ "view": { "at_us": unix_us() - 50_000, "filler": "x".repeat(100) } });
    vec![
        Reply::Frame(view),
        Reply::Frame(json!({ "tick": {} })),
        Reply::Frame(json!({ "moved": { "seq": message["move"]["seq"] } })),
    ]
}

/// For each push: its index, frames, bytes, and the 50th percentile of its delay in milliseconds.
fn pushed(results: &HarnessResults) -> Vec<(usize, u64, u64, u64)> {
    let mut all = Vec::new();
    for place in 0..2 {
        let (mut frames, mut bytes, mut delay) = (0, 0, lab::measurement::histogram());
        let all_pushes = results.intervals.iter().flat_map(|interval| &interval.pushes);
        for (_, pushed) in all_pushes.filter(|(push, _)| *push == place) {
            (frames, bytes) = (frames + pushed.frames, bytes + pushed.bytes);
            delay.add(pushed.delay.measured()).unwrap();
        }
        all.push((place, frames, bytes, delay.value_at_quantile(0.5) / 1000));
    }
    all
}

const JOIN: OpId = OpId { journey: 1, step: None };

fn move_numbers(moves: &[Value]) -> Vec<u64> {
    moves.iter().filter_map(|message| message.get("move")?.get("seq")?.as_u64()).collect()
}

#[track_caller]
fn check_held(framing: TestFraming) {
    let target = MessageServer::start(framing, friendly_script);
    let results = run_until_open_and_done(20, 120, message_config(&[&target], framing, STEPS), hold(20, 1000.0), 2);
    let moved = count(&target, "move");
    assert_eq!((results.counts_of_op(JOIN), results.counts()), ((20, 0, 0), (moved, 0, 0)), "{:?}", results.errors());
    for (connection, messages) in target.by_connection() {
        assert!(
            messages[0].get("hello").is_some_and(|hello| hello["versions"] == json!([1, 2])),
            "{connection}: {messages:?}"
        );
        assert_eq!(move_numbers(&messages), (1..messages.len() as u64).collect::<Vec<u64>>());
        if framing != TestFraming::Text {
            assert_eq!(messages[1]["move"], json!({ "seq": 1, "step": 1, "by": -3, "key": 7 }));
        }
    }
    let names: std::collections::BTreeSet<String> = target
        .received()
        .iter()
        .filter_map(|received| received.message["hello"]["name"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(names.len(), 20, "each connection has its own name");
    let pushed = pushed(&results);
    assert_eq!((pushed[0].1, pushed[1].1), (moved, moved));
    assert!(pushed[0].2 > moved * 100 && pushed[0].3 >= 50, "{pushed:?}");
    let in_order = target.await_ends(20);
    assert_eq!(in_order, 20, "no connection was cut off");
}

#[test]
fn held_connections_run_an_opening_journey_and_then_requests_at_a_rate() {
    check_held(TestFraming::LengthDelimited);
    check_held(TestFraming::Binary);
    check_held(TestFraming::Text);
}

#[test]
fn no_request_is_sent_before_all_connections_are_open() {
    let gate = Arc::new(Latch::default());
    let opened = gate.clone();
    let target = MessageServer::start(TestFraming::LengthDelimited, move |received| {
        if received.connection == 3 && received.message.get("hello").is_some() {
            gate.wait();
        }
        friendly_script(received)
    });
    let harness =
        Harness::start(message_config(&[&target], TestFraming::LengthDelimited, STEPS), vec![hold(4, 1000.0)], 2);
    // The others are open, and have nothing to do.
    let gauges = harness.await_gauges(|gauges| gauges.held == 3);
    assert_eq!((gauges.due, gauges.queued, count(&target, "move")), (4, 0, 0));
    opened.open();
    harness.await_gauges(|gauges| gauges.done >= 24);
    harness.worker_pool.end_load_step(0);
    let results = harness.run_to_end();
    let all_in = results.opened.iter().map(|opened| opened.2).max().unwrap();
    let moves = results.rows().into_iter().filter(|row| row[2] == "0").map(|row| row[4].parse::<u64>().unwrap());
    assert_eq!(moves.min(), Some(all_in.as_micros() as u64));
    // Pushes meanwhile count, and their delay does not.
    assert_eq!((results.counts_of_op(JOIN), results.held()), ((4, 0, 0), [4, 0, 0, 0, 0]));
}

#[test]
fn values_kept_by_an_opening_belong_to_its_connection() {
    let target =
        MessageServer::start(TestFraming::LengthDelimited, |received| match received.message["move"]["seq"].as_u64() {
            Some(seq) => vec![Reply::Frame(json!({ "moved": { "seq": seq + 100 } }))],
            None => vec![Reply::Frame(json!({ "welcome": { "id": received.connection + 1 } }))],
        });
    let kept = STEPS.replace("seq = \"{{nth}}\"", "seq = \"{{id}}\"");
    let results =
        run_until_done(20, message_config(&[&target], TestFraming::LengthDelimited, &kept), hold(4, 500.0), 2);
    assert_eq!((results.counts_of_op(JOIN), results.held()), ((4, 0, 0), [4, 0, 0, 0, 0]), "{:?}", results.errors());
    for (connection, messages) in target.by_connection() {
        assert!(
            messages.len() > 1 && move_numbers(&messages).iter().all(|seq| *seq == connection + 1),
            "{connection}: {messages:?}"
        );
    }
    // A journey that keeps another value changes it for later journeys.
    let target =
        MessageServer::start(TestFraming::LengthDelimited, |received| match received.message["move"]["seq"].as_u64() {
            Some(seq) => vec![Reply::Frame(json!({ "moved": { "seq": seq + 100 } }))],
            None => vec![Reply::Frame(json!({ "welcome": { "id": received.connection + 1 } }))],
        });
    let changed = kept.replace("denied = \"/refused\"\n", "keep = { id = \"/moved/seq\" }\n");
    run_until_done(20, message_config(&[&target], TestFraming::LengthDelimited, &changed), hold(4, 500.0), 2);
    for (connection, messages) in target.by_connection() {
        let expected = (0..messages.len() as u64 - 1).map(|round| connection + 1 + 100 * round);
        assert!(messages.len() > 2 && move_numbers(&messages).into_iter().eq(expected), "{connection}: {messages:?}");
    }
}

#[test]
fn a_message_is_repeated_until_its_response_matches() {
    let rounds = |times: u64| {
        let round_counts = Arc::new(std::sync::Mutex::new(std::collections::BTreeMap::<u64, i64>::new()));
        let target = MessageServer::start(TestFraming::LengthDelimited, move |received| {
            let mut round_counts = round_counts.lock().unwrap();
            let moves = round_counts.entry(received.connection).or_default();
            *moves += 1;
            vec![Reply::Frame(json!({ "view": {} })), Reply::Frame(json!({ "moved": { "x": *moves } }))]
        });
        let steps = format!(
            "[[journey.step]]\nsend = {{ move = {{ seq = 1 }} }}\nanswer = \"/moved\"\n\
             repeat = {{ times = {times}, until = {{ at = \"/moved/x\", is = 3 }} }}\n"
        );
        let spec = LoadSpec { reconnect: Reconnect::Journey, ..load_spec(burst(2), 2) };
        let results = Harness::start(message_config(&[&target], TestFraming::LengthDelimited, &steps), vec![spec], 1)
            .run_to_end();
        (
            results.counts(),
            results.counts_of_step(Some(0)),
            results.errors().into_iter().map(|error| error.3.to_owned()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(rounds(9), ((2, 0, 0), (6, 0, 0), vec![]));
    let unmet = "2 rounds, and none was the last: the answer never said so".to_owned();
    assert_eq!(rounds(2), ((0, 0, 2), (4, 0, 0), vec![unmet]));
}

#[test]
fn a_message_may_start_work() {
    let target = MessageServer::start(TestFraming::LengthDelimited, friendly_script);
    let steps = "[[journey.step]]\nsend = { hello = {} }\nanswer = \"/welcome\"\nkeep = { id = \"/welcome/id\" }\nstarts = \"id\"\n\
                 [work.id]\nstatus = \"POST /status\"\nids = \"ids\"\nbulk = 5\nstuck_after = \"60s\"\nid = \"/id\"\n\
                 state = { at = \"/state\", waiting = \"w\", running = \"r\", finished = \"f\", failed = \"x\" }\n";
    let spec = LoadSpec { reconnect: Reconnect::Journey, ..load_spec(burst(3), 3) };
    let results =
        Harness::start(message_config(&[&target], TestFraming::LengthDelimited, steps), vec![spec], 1).run_to_end();
    let mut begun: Vec<&str> = results.started_work.iter().map(|begun| &*begun.id).collect();
    begun.sort_unstable();
    assert_eq!((results.counts(), begun), ((3, 0, 0), vec!["1", "2", "3"]));
}

#[test]
fn endpoints_are_used_in_turn() {
    let targets = [
        MessageServer::start(TestFraming::LengthDelimited, friendly_script),
        MessageServer::start(TestFraming::LengthDelimited, friendly_script),
    ];
    let endpoints: Vec<&MessageServer> = targets.iter().collect();
    let results = run_until_open_and_done(
        10,
        30,
        message_config(&endpoints, TestFraming::LengthDelimited, STEPS),
        hold(10, 500.0),
        3,
    );
    let moved = targets.iter().map(|target| count(target, "move")).sum();
    assert_eq!((results.counts_of_op(JOIN), results.counts()), ((10, 0, 0), (moved, 0, 0)));
    assert!(targets.iter().all(|target| target.by_connection().len() == 5), "five each");
}

#[test]
fn arrivals_without_a_held_connection_have_their_own() {
    let target = MessageServer::start(TestFraming::Binary, friendly_script);
    let steps = "[[journey.step]]\nsend = { hello = {} }\nanswer = \"/welcome\"\nkeep = { id = \"/welcome/id\" }\n\
                 [[journey.step]]\nsend = { move = { seq = \"{{id}}\" } }\nanswer = \"/moved\"\nrepeat = 3\n\
                 [[journey.step]]\nsend = { leave = {} }\n";
    for (schedule, arrivals) in [(burst(12), 12), (clients(3, 4), 24)] {
        let spec = LoadSpec { reconnect: Reconnect::Journey, ..load_spec(schedule, 5) };
        let results =
            Harness::start(message_config(&[&target], TestFraming::Binary, steps), vec![spec], 2).run_to_end();
        assert_eq!(
            (results.counts(), results.counts_of_step(Some(1)), results.counts_of_step(Some(2))),
            ((12, 0, 0), (36, 0, 0), (12, 0, 0))
        );
        assert_eq!(target.await_ends(arrivals), arrivals);
    }
    for (connection, messages) in target.by_connection() {
        assert_eq!((messages.len(), move_numbers(&messages)), (5, vec![connection + 1; 3]));
    }
}

#[test]
fn denials_and_errors_are_distinguished() {
    let target =
        MessageServer::start(TestFraming::LengthDelimited, |received| match received.message["move"]["seq"].as_u64() {
            // A client that reconnects gets no response.
            None if received.connection > 0 => vec![],
            None => vec![Reply::Frame(json!({ "welcome": {} }))],
            Some(1) => vec![Reply::Frame(json!({ "refused": { "code": "blocked" } }))],
            Some(2) => {
                vec![Reply::Frame(json!({ "refused": { "code": "gone" } })), Reply::Frame(json!({ "moved": {} }))]
            }
            Some(3) => vec![Reply::Frame(json!({ "error": { "code": "too_fast" } })), Reply::Close],
            Some(_) => vec![],
        });
    let steps = STEPS.replace("denied = \"/refused\"", "denied = { at = \"/refused/code\", is = \"blocked\" }");
    let results = run_until_done(4, message_config(&[&target], TestFraming::LengthDelimited, &steps), hold(1, 10.0), 1);
    assert_eq!((results.counts_of_op(JOIN), results.counts()), ((1, 0, 0), (1, 1, 1)));
    // The other error frame answered no step.
    assert_eq!(pushed(&results)[1].1, 1);
    let wrong = "the service says that something is wrong: 12 bytes with * too_fast";
    assert_eq!(results.errors(), [(0, ErrorKind::Answer, 1, wrong)]);
}

#[test]
fn one_of_several_frames_may_be_the_response() {
    let target = MessageServer::start(TestFraming::Binary, |received| match received.message["move"]["seq"].as_u64() {
        Some(1) => vec![Reply::Frame(json!({ "refused": { "code": "blocked" } }))],
        Some(2) => vec![Reply::Frame(json!({ "refused": { "code": "late" } }))],
        Some(3) => vec![Reply::Frame(json!({ "refused": { "code": "gone" } }))],
        _ => vec![Reply::Frame(json!({ "moved": {} }))],
    });
    let steps = "[[journey.step]]\nsend = { move = { seq = \"{{index}}\" } }\n\
                 answer = [\"/moved\", { at = \"/refused/code\", is = \"blocked\" }]\n\
                 denied = [{ at = \"/refused/code\", is = \"late\" }, { at = \"/refused/code\", is = \"gone\" }]\n";
    let spec = LoadSpec { reconnect: Reconnect::Journey, ..load_spec(burst(5), 5) };
    let results = Harness::start(message_config(&[&target], TestFraming::Binary, steps), vec![spec], 1).run_to_end();
    assert_eq!(results.counts(), (3, 2, 0));
}

/// Messages without a response, the last one included, to a target that ends the connection at `leave`.
#[track_caller]
fn check_unanswered(framing: TestFraming) {
    let target = MessageServer::start(framing, |received| match received.message.get("leave") {
        Some(_) => vec![Reply::Close],
        None => friendly_script(received),
    });
    let steps = "[[journey.step]]\nsend = { hello = {} }\nanswer = \"/welcome\"\n\
                 [[journey.step]]\npause = { until = \"1s\" }\nsend = { leave = {} }\n";
    let spec = LoadSpec { reconnect: Reconnect::Journey, ..load_spec(burst(400), 400) };
    let results = Harness::start(message_config(&[&target], framing, steps), vec![spec], 1).run_to_end();
    assert_eq!(
        (results.counts(), results.counts_of_step(Some(1))),
        ((400, 0, 0), (400, 0, 0)),
        "{:?}",
        results.errors()
    );
}

#[test]
fn a_connection_may_be_closed_after_its_last_message() {
    check_unanswered(TestFraming::LengthDelimited);
    check_unanswered(TestFraming::Binary);
}

#[test]
fn a_connection_lost_after_a_message_fails_the_next_step() {
    let target = MessageServer::start(TestFraming::LengthDelimited, |received| match received.message.get("leave") {
        Some(_) => vec![Reply::Close],
        None => friendly_script(received),
    });
    let steps =
        "[[journey.step]]\nsend = { leave = {} }\n[[journey.step]]\nsend = { move = {} }\nanswer = \"/moved\"\n";
    let spec = LoadSpec { reconnect: Reconnect::Journey, ..load_spec(burst(50), 50) };
    let results =
        Harness::start(message_config(&[&target], TestFraming::LengthDelimited, steps), vec![spec], 1).run_to_end();
    assert_eq!(
        (results.counts(), results.counts_of_step(Some(0)), results.counts_of_step(Some(1))),
        ((0, 0, 50), (50, 0, 0), (0, 0, 50))
    );
}

#[test]
fn a_message_is_sent_when_the_kernel_has_all_of_it() {
    let gate = Arc::new(Latch::default());
    let (closed, opened) = (gate.clone(), gate.clone());
    // The first connection is not read before the second one has sent everything.
    let target = MessageServer::start(TestFraming::LengthDelimited, move |received| {
        match (received.connection, received.message.get("leave")) {
            (0, None) => closed.wait(),
            (1, Some(_)) => opened.open(),
            _ => {}
        }
        Vec::new()
    });
    let filler = "x".repeat(200_000);
    let steps = format!(
        "[[journey.step]]\nsend = {{ hello = {{ name = \"{filler}\" }} }}\nrepeat = 100\n[[journey.step]]\nsend = {{ leave = {{}} }}\n"
    );
    let spec = LoadSpec { reconnect: Reconnect::Journey, ..load_spec(burst(2), 2) };
    let results =
        Harness::start(message_config(&[&target], TestFraming::LengthDelimited, &steps), vec![spec], 1).run_to_end();
    gate.open();
    assert_eq!((results.counts(), target.await_ends(2)), ((2, 0, 0), 2), "{:?}", results.errors());
    for (connection, messages) in target.by_connection() {
        assert_eq!(messages.len(), 101, "{connection} was cut short");
    }
}

#[test]
fn all_journeys_wait_for_one_moment() {
    let target = MessageServer::start(TestFraming::LengthDelimited, friendly_script);
    let steps = "[[journey.step]]\nsend = { hello = {} }\nanswer = \"/welcome\"\n\
                 [[journey.step]]\npause = { until = \"1500ms\" }\nsend = { move = { seq = 1 } }\nanswer = \"/moved\"\n";
    let spec = LoadSpec { reconnect: Reconnect::Journey, ..load_spec(rate(20.0, 500), 10) };
    let results =
        Harness::start(message_config(&[&target], TestFraming::LengthDelimited, steps), vec![spec], 2).run_to_end();
    assert_eq!((results.counts(), results.counts_of_step(Some(1))), ((10, 0, 0), (10, 0, 0)));
    let due: Vec<u64> = results.rows().iter().filter(|row| row[3] == "1").map(|row| row[4].parse().unwrap()).collect();
    assert!(due.iter().all(|due| *due >= 1_500_000), "{due:?}");
    assert!(due.contains(&1_500_000), "those who were in time were due at that very moment: {due:?}");
}

#[test]
fn a_lost_connection_is_reopened_as_a_new_user() {
    let lost = Arc::new(AtomicU64::new(0));
    let target = MessageServer::start(TestFraming::LengthDelimited, move |received| {
        match received.message["move"]["seq"].as_u64() {
            Some(2) if lost.fetch_add(1, Ordering::SeqCst) == 0 => vec![Reply::Close],
            _ => friendly_script(received),
        }
    });
    let results = run_until_done(12, message_config(&[&target], TestFraming::LengthDelimited, STEPS), hold(1, 20.0), 1);
    let moved = count(&target, "move");
    assert_eq!((results.counts_of_op(JOIN), results.counts()), ((2, 0, 0), (moved - 1, 0, 1)));
    let by_connection = target.by_connection();
    assert_eq!(
        (move_numbers(&by_connection[&0]), move_numbers(&by_connection[&1])),
        (vec![1, 2], (1..=moved - 2).collect())
    );
    assert_eq!(results.errors().iter().map(|error| (error.1, error.2)).collect::<Vec<_>>(), [(ErrorKind::Closed, 1)]);
}

#[test]
fn malformed_frames_end_their_connection() {
    // A length of 2, and a field that ends beyond it.
    let target = MessageServer::start(TestFraming::LengthDelimited, |_| vec![Reply::Raw(vec![2, 0x0a, 9])]);
    let steps = "[[journey.step]]\nsend = { leave = {} }\nanswer = \"/moved\"\n";
    let spec = LoadSpec { reconnect: Reconnect::Journey, ..load_spec(burst(1), 1) };
    let results =
        Harness::start(message_config(&[&target], TestFraming::LengthDelimited, steps), vec![spec], 1).run_to_end();
    let message = "a frame of 2 bytes that is no message of the schema";
    assert_eq!((results.counts(), results.errors()), ((0, 0, 1), vec![(0, ErrorKind::Answer, 1, message)]));
}

#[test]
fn fragments_are_reassembled_and_pings_answered() {
    let target = MessageServer::start(TestFraming::Text, |_| vec![Reply::Pieces("{\"moved\":{\"code\":\"late\"}}")]);
    let steps = "[[journey.step]]\nsend = { say = \"{{index}}\" }\nanswer = \"/moved\"\nkeep = { code = \"/moved/code\" }\n\
                 [[journey.step]]\nname = \"again\"\nsend = { code = \"{{code}}\" }\nanswer = \"/moved\"\n";
    let spec = LoadSpec { reconnect: Reconnect::Journey, ..load_spec(burst(2), 2) };
    let results = Harness::start(message_config(&[&target], TestFraming::Text, steps), vec![spec], 1).run_to_end();
    assert_eq!(results.counts(), (2, 0, 0), "{:?}", results.errors());
    for results in target.by_connection().values() {
        assert!(results[0]["say"].is_u64() && results[1] == json!({ "code": "late" }), "{results:?}");
    }
}

#[test]
fn a_server_without_websockets_is_reported() {
    let target = crate::scripted_server::ScriptedServer::start(|_| crate::scripted_server::ok());
    let steps = "[[journey.step]]\nsend = { a = 1 }\n";
    let mut document = document(&[], TestFraming::Text, steps);
    document.set(&format!("target.socket.url=ws://{}/", target.address)).unwrap();
    let scenario = Scenario::read(&document).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let mut config = generator_config(scenario, target.address);
    config.inputs.message_endpoints = vec![vec![target.address]];
    let spec = LoadSpec { reconnect: Reconnect::Journey, ..load_spec(burst(1), 1) };
    let results = Harness::start(config, vec![spec], 1).run_to_end();
    let errors = results.errors();
    assert_eq!((results.counts(), errors[0].1), ((0, 0, 1), ErrorKind::Connect));
    assert!(errors[0].3.starts_with("no WebSocket: answered 200 instead of 101"), "{errors:?}");
}
