//! What a worker holds between two answers: looked at from inside, where no allocator can blur it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

use super::*;
use crate::drive::crew::Segment;
use crate::plan::{Leg, Schedule};
use crate::scenario::{Document, Each, Scenario};
use held::Held;

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
"#;

/// Answers everybody, byte by byte.
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
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"n\":1}";
        if answer.iter().any(|byte| stream.write_all(&[*byte]).is_err()) {
            return;
        }
    }
}

fn worker(address: SocketAddr) -> (Worker, mpsc::Sender<Order>) {
    let scenario = Scenario::read(&Document::parse(SCENARIO).unwrap()).unwrap_or_else(|wrong| panic!("{wrong}"));
    let setting = Setting {
        scenario: Arc::new(scenario),
        addresses: vec![address],
        doors: Vec::new(),
        headers: http::HeaderMap::new(),
        globals: std::collections::BTreeMap::new(),
        picks: Vec::new(),
        feeds: Vec::new(),
        run_id: "run".to_owned(),
        start: Moment::now(),
        sources: Vec::new(),
        samples: false,
        segment: Segment::whole(1),
        processes: None,
    };
    let ((orders, inbox), (reports, _)) = (mpsc::channel(), tokio::sync::mpsc::unbounded_channel());
    (Worker::new(Arc::new(setting), 0, 1, inbox, reports, Arc::default()).unwrap(), orders)
}

/// Turns until nothing is left to do.
fn drive(worker: &mut Worker, orders: &mpsc::Sender<Order>, schedule: Schedule) {
    orders.send(Order::Leg(Leg::sole(schedule))).unwrap();
    worker.bell().ring();
    while worker.courses.is_empty() || !worker.active.is_empty() {
        worker.turn().unwrap();
    }
}

#[test]
fn an_idle_connection_is_a_descriptor_and_a_few_numbers() {
    let (mut worker, orders) = worker(target());
    drive(&mut worker, &orders, Schedule::Clients { clients: 50, each: Each::Requests(6) });
    assert_eq!((worker.over, worker.links.len()), (300, 50));
    // Nothing of the answers, each of which came byte by byte, is left.
    let each = worker.links.own_bytes() / 50 + Held::MEMBER_BYTES;
    assert!(each < 300, "{each} bytes for each connection");
}
