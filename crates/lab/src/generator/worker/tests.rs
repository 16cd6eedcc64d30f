//! The memory of a worker between two responses, and a worker that is stopped while it works: tested from inside, where
//! no allocator blurs the numbers and the moment of the stop can be chosen.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

use tokio::sync::mpsc::UnboundedReceiver;

use super::*;
use crate::generator::MonotonicTime;
use crate::generator::config::{RunInputs, Segment};
use crate::measurement::{Basis, OutcomeCounts};
use crate::plan::{LoadSpec, Schedule};
use crate::scenario::{Document, PerClientLimit, Scenario};
use pacer::HeldConnections;

const SCENARIO: &str = r#"
format = 1
name = "held"
summary = "Connections that are held"
[target]
url = "http://127.0.0.1:1"
[[phase]]
name = "p"
arrivals = { batch = 1 }
in_flight_max = 1
journey = "visit"
[[journey]]
name = "visit"
[[journey.step]]
request = "GET /{{index}}"
keep = { n = "/n" }
timeout = "50ms"
"#;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"n\":1}";

/// Longer than a request may take.
const STOPPED: Duration = Duration::from_millis(80);

/// A server that answers every request byte by byte.
fn target() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || drip(stream));
        }
    });
    address
}

fn drip(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut request = [0; 1024];
    while stream.read(&mut request).is_ok_and(|count| count > 0) {
        if ANSWER.iter().any(|byte| stream.write_all(&[*byte]).is_err()) {
            return;
        }
    }
}

fn worker(
    address: SocketAddr,
    timeout: &str,
) -> (Worker, mpsc::Sender<WorkerCommand>, UnboundedReceiver<WorkerReport>) {
    let text = SCENARIO.replace("50ms", timeout);
    let scenario = Scenario::read(&Document::parse(&text).unwrap()).unwrap_or_else(|wrong| panic!("{wrong}"));
    let config = GeneratorConfig {
        scenario: Arc::new(scenario),
        inputs: RunInputs { addresses: vec![address], start: MonotonicTime::now(), ..RunInputs::default() },
        segment: Segment::whole(1),
        processes: None,
    };
    let ((commands, inbox), (sender, reports)) = (mpsc::channel(), tokio::sync::mpsc::unbounded_channel());
    (Worker::new(Arc::new(config), 0, 1, inbox, sender, Arc::default()).unwrap(), commands, reports)
}

/// Runs turns until nothing is left to do.
fn drive(worker: &mut Worker, commands: &mpsc::Sender<WorkerCommand>, schedule: Schedule) {
    commands.send(WorkerCommand::StartLoad(LoadSpec::sole(schedule))).unwrap();
    worker.waker().wake();
    worker.turn().unwrap();
    while !worker.pacer.active().is_empty() {
        worker.turn().unwrap();
    }
}

#[test]
fn an_idle_connection_is_a_descriptor_and_a_few_numbers() {
    let (mut worker, commands, _reports) = worker(target(), "30s");
    drive(&mut worker, &commands, Schedule::ClosedLoop { clients: 50, each: PerClientLimit::Requests(6) });
    assert_eq!((worker.counts.done, worker.connections.len()), (300, 50));
    // Nothing is left of the responses, each of which was received byte by byte.
    let each = worker.connections.own_bytes() / 50 + HeldConnections::HELD_CONNECTION_BYTES;
    assert!(each < 300, "{each} bytes for each connection");
}

/// A worker whose first request is in flight to the target, which is the test itself.
struct Stopped {
    worker: Worker,
    reports: UnboundedReceiver<WorkerReport>,
    target: TcpStream,
    _orders: mpsc::Sender<WorkerCommand>,
}

impl Stopped {
    fn after_one_request(schedule: Schedule) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut worker, commands, reports) = worker(listener.local_addr().unwrap(), "50ms");
        commands.send(WorkerCommand::StartLoad(LoadSpec { in_flight_max: 1, ..LoadSpec::sole(schedule) })).unwrap();
        worker.waker().wake();
        while worker.connections.len() == 0 {
            worker.turn().unwrap();
        }
        let (mut target, _) = listener.accept().unwrap();
        target.set_nonblocking(true).unwrap();
        let mut request = [0; 1024];
        while target.read(&mut request).is_err() {
            worker.turn().unwrap();
        }
        Self { worker, reports, target, _orders: commands }
    }

    fn answer(&mut self) {
        self.target.write_all(ANSWER).unwrap();
    }

    fn turn_until(&mut self, wanted: impl Fn(&Worker) -> bool) {
        while !wanted(&self.worker) {
            self.worker.turn().unwrap();
        }
    }

    /// Stops the worker after at least `events_min` events have woken it, and before it has handled anything.
    fn stop_after_waking(&mut self, events_min: usize) {
        let mut events = self.worker.wait().unwrap();
        while events < events_min {
            events = self.worker.wait().unwrap();
        }
        std::thread::sleep(STOPPED);
        self.worker.handle(events);
    }

    /// Everything that was reported, as one interval.
    fn interval(mut self) -> crate::measurement::Interval {
        self.worker.flush_reports();
        let mut all = crate::measurement::Interval::default();
        while let Ok(report) = self.reports.try_recv() {
            let WorkerReport::Interval(interval) = report else { continue };
            all.ops.extend(interval.ops);
            all.pauses.extend(interval.pauses);
            all.waited_behind_pauses += interval.waited_behind_pauses;
            all.waited_for_slot += interval.waited_for_slot;
        }
        all
    }
}

const ONE_REQUEST: Schedule = Schedule::ClosedLoop { clients: 1, each: PerClientLimit::Requests(1) };

#[test]
fn a_response_read_after_a_stop_within_a_turn_was_not_slow() {
    let mut stopped = Stopped::after_one_request(ONE_REQUEST);
    stopped.answer();
    stopped.stop_after_waking(1);
    assert_eq!(stopped.worker.counts.done, 1);
    let interval = stopped.interval();
    let [(_, stats)] = &interval.ops[..] else { panic!("{interval:?}") };
    let longest_us = |basis| u128::from(stats.latency.on(basis).max());
    assert!(longest_us(Basis::Measured) >= STOPPED.as_micros());
    assert!(longest_us(Basis::WithoutLab) < STOPPED.as_micros());
}

#[test]
fn a_stop_within_a_turn_is_no_timeout() {
    let mut stopped = Stopped::after_one_request(ONE_REQUEST);
    stopped.stop_after_waking(0);
    stopped.answer();
    stopped.turn_until(|worker| worker.counts.done == 1);
    let interval = stopped.interval();
    assert_eq!(interval.ops.iter().map(|(_, stats)| stats.counts).collect::<Vec<_>>(), [OutcomeCounts::all_ok(1)]);
}

/// 1,000 arrivals a second with one slot, and a stop: what was due during the stop waits behind it.
#[track_caller]
fn check_behind(stop: impl Fn(&mut Stopped)) {
    let schedule = Schedule::ConstantRate { rate_per_s: 1000.0, lasting: Duration::from_secs(60) };
    let mut stopped = Stopped::after_one_request(schedule);
    stopped.answer();
    // One is in flight, another waits.
    stopped.turn_until(|worker| worker.counts.done == 1 && worker.pending_count >= 2);
    stop(&mut stopped);
    assert!(stopped.worker.pauses.recovering_since().is_some(), "what it held up is not made up for");
    for _ in 0..STOPPED.as_millis() {
        let finished = stopped.worker.counts.done + 1;
        stopped.answer();
        stopped.turn_until(|worker| worker.counts.done == finished);
    }
    // What was due before the stop waited for the target.
    let interval = stopped.interval();
    assert!(
        interval.waited_behind_pauses >= 50,
        "{} of {}",
        interval.waited_behind_pauses,
        interval.waited_behind_pauses + interval.waited_for_slot
    );
}

#[test]
fn arrivals_due_in_a_stop_within_a_turn_wait_behind_it() {
    // Before the worker has seen what woke it.
    check_behind(|stopped| stopped.stop_after_waking(0));
    // Between its reading of the clock and the arrivals that are due.
    check_behind(|stopped| {
        stopped.answer();
        let mut events = stopped.worker.wait().unwrap();
        while events == 0 {
            events = stopped.worker.wait().unwrap();
        }
        let ready = stopped.worker.connections.poller.event(0).unwrap();
        stopped.worker.on_ready(ready);
        std::thread::sleep(STOPPED);
        stopped.worker.launch_due();
        stopped.worker.send_due_reports();
    });
}
