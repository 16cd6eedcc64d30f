//! Parked requests at a real listener, with clients of every kind.

use super::*;
use crate::listener::park::{ChunkStream, LongPoll, MaybePark, ParkMarker, WaitEnd, park_or_wait};
use crate::ops::measure;
use axum::extract::Query;
use axum::middleware::{from_fn_with_state, map_response};
use engine::limits::DRAIN_JITTER_MAX;
use serde::Deserialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The sending end of a parked wait: sending wakes it, and it closes when the wait is dropped.
pub(super) type Wakes = UnboundedSender<Bytes>;

struct ChannelWait(UnboundedReceiver<Bytes>);

fn text_response(text: &'static str) -> Response<Bytes> {
    Response::new(Bytes::from_static(text.as_bytes()))
}

impl LongPoll for ChannelWait {
    fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<Response<Bytes>> {
        self.0.poll_recv(context).map(|bytes| Response::new(bytes.unwrap_or_default()))
    }

    fn finish(&mut self, end: WaitEnd) -> Response<Bytes> {
        text_response(match end {
            WaitEnd::Deadline => "nothing came",
            WaitEnd::Drain => "come again",
        })
    }
}

impl ChunkStream for ChannelWait {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.0.poll_recv(context).map(|piece| piece.filter(|piece| !piece.is_empty()))
    }

    fn heartbeat(&mut self) -> Bytes {
        Bytes::from_static(b":")
    }

    fn closing_chunk(&mut self) -> Bytes {
        Bytes::from_static(b"bye")
    }
}

#[derive(Deserialize)]
struct WaitParams {
    wait_ms: Option<u64>,
}

impl WaitParams {
    fn span(&self) -> Duration {
        self.wait_ms.map_or(NEVER, Duration::from_millis)
    }
}

/// The other tests' routes, and two that wait; the sending ends of their waits come to `arrivals`.
fn waiting(metrics: Arc<Metrics>, arrivals: UnboundedSender<Wakes>) -> Router {
    let arrive = move || {
        let (wakes, wait) = unbounded_channel();
        arrivals.send(wakes).unwrap();
        ChannelWait(wait)
    };
    let arrive_to_stream = arrive.clone();
    let poll = move |Query(wait): Query<WaitParams>, MaybePark(park_token): MaybePark| async move {
        park_or_wait(park_token, Instant::now() + wait.span(), arrive()).await
    };
    let stream = move |Query(wait): Query<WaitParams>, MaybePark(park_token): MaybePark| async move {
        let head = Response::builder().header("content-type", "text/event-stream").body(()).unwrap();
        ParkMarker::stream(park_token.unwrap(), head, wait.span(), arrive_to_stream())
    };
    let mark = async |mut response: axum::response::Response| {
        response.headers_mut().insert("x-request-id", http::HeaderValue::from_static("7"));
        response
    };
    router(Arc::default(), Arc::default())
        .route("/poll", get(poll))
        .route("/stream", get(stream))
        .layer(map_response(mark))
        .layer(from_fn_with_state(metrics, measure))
}

pub(super) struct ParkingServer {
    pub(super) server: TestServer,
    arrivals: UnboundedReceiver<Wakes>,
}

impl ParkingServer {
    pub(super) async fn new(limits: ListenerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::at(listener.local_addr().unwrap(), listener, limits)
    }

    pub(super) fn at(address: SocketAddr, listener: impl Accept + Send + 'static, limits: ListenerConfig) -> Self {
        let (arrived, arrivals) = unbounded_channel();
        let server = TestServer::with(address, listener, limits, |metrics| waiting(metrics, arrived));
        Self { server, arrivals }
    }

    /// The sending end of the next wait, once so many connections are parked.
    pub(super) async fn parked(&mut self, parked: usize) -> Wakes {
        let wakes = timeout(NEVER, self.arrivals.recv()).await.expect("a request waits").unwrap();
        self.is("gauntlet_http_parked ", &parked.to_string()).await;
        wakes
    }

    /// Waits until a metric has this value.
    pub(super) async fn is(&self, name: &str, want: &str) {
        let reached = async {
            while self.server.sample(name) != want {
                tokio::task::yield_now().await;
            }
        };
        timeout(NEVER, reached).await.unwrap_or_else(|_| panic!("{name}never was {want}"));
    }
}

pub(super) const POLL: &str = "GET /poll HTTP/1.1\r\nHost: x\r\n\r\n";

pub(super) fn wake(wakes: &Wakes, text: &'static str) {
    wakes.send(Bytes::from_static(text.as_bytes())).unwrap();
}

/// One whole response.
async fn whole(client: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains("\r\n\r\n") {
        bytes.push(timeout(NEVER, client.read_u8()).await.unwrap().unwrap());
    }
    let head = String::from_utf8(bytes).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    timeout(NEVER, client.read_exact(&mut body)).await.unwrap().unwrap();
    head + std::str::from_utf8(&body).unwrap()
}

#[tokio::test]
async fn a_parked_poll_is_answered_like_any_other_request() {
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.send(POLL).await;
    let wakes = parking.parked(1).await;
    wake(&wakes, "news");
    let text = whole(&mut client).await;
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let (status, headers) = head.split_once("\r\n").unwrap();
    assert_eq!((status, body), ("HTTP/1.1 200 OK", "news"));
    let mut names: Vec<_> = headers.lines().map(|line| line.split_once(": ").unwrap().0).collect();
    names.sort_unstable();
    assert_eq!(names, ["cache-control", "content-length", "date", "x-request-id"]);
    wakes.closed().await;
    parking.is("gauntlet_http_parked ", "0").await;
    assert_eq!(parking.server.sample(r#"gauntlet_http_requests_total{route="/poll",status="2xx"} "#), "1");
    assert_eq!(parking.server.sample("gauntlet_http_held_seconds_count "), "1");
    assert_eq!(parking.server.sample("gauntlet_http_request_seconds_count "), "0");
}

#[tokio::test]
async fn a_connection_goes_on_after_its_polls() {
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.connect().await;
    for _ in 0..3 {
        client.write_all(FAST.as_bytes()).await.unwrap();
        assert_eq!(response(&mut client).await, ok("fast"));
        client.write_all(POLL.as_bytes()).await.unwrap();
        wake(&parking.parked(1).await, "news");
        assert_eq!(response(&mut client).await, ok("news"));
    }
    assert_eq!(parking.server.sample("gauntlet_http_connections_accepted_total "), "1");
    assert_eq!(parking.server.sample("gauntlet_http_connections "), "1");
}

#[tokio::test(start_paused = true)]
async fn a_poll_ends_at_its_deadline_whatever_clients_may_take() {
    let limits = ListenerConfig { header_timeout: SOON, idle_timeout: SOON, ..PATIENT };
    let mut parking = ParkingServer::new(limits).await;
    let mut client = parking.server.send("GET /poll?wait_ms=120 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let wakes = timeout(NEVER, parking.arrivals.recv()).await.expect("a request waits").unwrap();
    assert_eq!(response(&mut client).await, ok("nothing came"));
    wakes.closed().await;
    // Now it is a connection like any other, and idle for too long.
    assert_eq!(rest(client).await, "");
    assert_eq!(parking.server.sample("gauntlet_http_timeouts_total "), "1");
}

#[tokio::test]
async fn nothing_is_left_of_a_client_that_disconnects() {
    let mut parking = ParkingServer::new(PATIENT).await;
    for _ in 0..3 {
        let client = parking.server.send(POLL).await;
        let wakes = parking.parked(1).await;
        drop(client);
        timeout(NEVER, wakes.closed()).await.expect("the wait is dropped");
        parking.is("gauntlet_http_parked ", "0").await;
        parking.is("gauntlet_http_connections ", "0").await;
    }
    assert_eq!(parking.server.sample("gauntlet_http_parked_left_total "), "3");
    assert_eq!(parking.server.sample("gauntlet_http_timeouts_total "), "0");
}

/// A client that closes its side of the connection may still read, or be gone: both look the same from here. It counts as gone,
/// whatever it waits for (docs/decisions/0018).
async fn check_half_closed(request: &str, want: &str) {
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.send(request).await;
    let wakes = parking.parked(1).await;
    client.shutdown().await.unwrap();
    timeout(NEVER, wakes.closed()).await.expect("the wait is dropped");
    let text = rest(client).await;
    assert!(text.starts_with(want) && text.is_empty() == want.is_empty(), "{request:?}: {text:?}");
    parking.is("gauntlet_http_connections ", "0").await;
    assert_eq!(parking.server.sample("gauntlet_http_parked_left_total "), "1", "{request:?}");
    assert_eq!(parking.server.sample("gauntlet_http_timeouts_total "), "0", "{request:?}");
}

#[tokio::test]
async fn a_client_that_closes_its_side_counts_as_gone() {
    check_half_closed(POLL, "").await;
    check_half_closed(&[POLL, FAST].concat(), "").await;
    check_half_closed(STREAM, "HTTP/1.1 200 OK\r\n").await;
    // The same for a request that is not parked.
    let server = TestServer::new(PATIENT).await;
    let mut client = server.send(SLOW).await;
    server.began.notified().await;
    client.shutdown().await.unwrap();
    assert_eq!(rest(client).await, "");
}

#[tokio::test]
async fn requests_before_and_behind_a_poll_are_answered_in_order() {
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.send(&[FAST, FAST, POLL, FAST, "GET /fa"].concat()).await;
    let wakes = parking.parked(1).await;
    assert_eq!(response(&mut client).await, ok("fast"));
    assert_eq!(response(&mut client).await, ok("fast"));
    client.write_all(&["st HTTP/1.1\r\nHost: x\r\n\r\n", POLL].concat().into_bytes()).await.unwrap();
    wake(&wakes, "news");
    assert_eq!(response(&mut client).await, ok("news"));
    assert_eq!(response(&mut client).await, ok("fast"));
    assert_eq!(response(&mut client).await, ok("fast"));
    wake(&parking.parked(1).await, "more");
    assert_eq!(response(&mut client).await, ok("more"));
}

/// A request that waits is parked, however it is sent: what follows is kept, unless the connection ends with it, and a client that
/// disconnects leaves nothing.
async fn check_parked(request: &str, goes_on: bool) {
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.send(&[request, FAST].concat()).await;
    wake(&parking.parked(1).await, "news");
    assert_eq!(response(&mut client).await, ok("news"), "{request:?}");
    if goes_on {
        assert_eq!(response(&mut client).await, ok("fast"), "{request:?}");
    } else {
        assert_eq!(rest(client).await, "", "{request:?}");
    }
    // One byte behind it is enough to hide the end of a connection from the request loop.
    let client = parking.server.send(&[request, "G"].concat()).await;
    let wakes = parking.parked(1).await;
    drop(client);
    timeout(NEVER, wakes.closed()).await.expect("the wait is dropped");
}

#[tokio::test]
async fn requests_that_wait_are_parked() {
    check_parked(POLL, true).await;
    check_parked("GET /poll HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", true).await;
    check_parked("GET /poll HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false).await;
    check_parked("GET /poll HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", true).await;
    check_parked("GET /poll HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", true).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_parked_does_not_wait_long() {
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.send("GET /poll HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx").await;
    let wakes = parking.parked(0).await;
    assert_eq!(response(&mut client).await, ok("nothing came"));
    wakes.closed().await;
}

#[tokio::test]
async fn a_parked_client_that_sends_more_than_is_buffered_is_disconnected() {
    for beyond in [0, 1, 4 * BUFFER_BYTES_MAX] {
        let mut parking = ParkingServer::new(PATIENT).await;
        let (_reads, mut writes) = parking.server.send(POLL).await.into_split();
        let wakes = parking.parked(1).await;
        // It may be disconnected before it has sent everything.
        let _ = writes.write_all(&vec![b'x'; BUFFER_BYTES_MAX + beyond]).await;
        timeout(NEVER, wakes.closed()).await.expect("the wait is dropped");
        parking.is("gauntlet_http_connections ", "0").await;
    }
}

#[tokio::test]
async fn a_response_in_progress_is_not_lost_to_the_poll_behind_it() {
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.send(&["GET /big HTTP/1.1\r\nHost: x\r\n\r\n", POLL].concat()).await;
    assert_eq!(answer_of(&mut client, BIG_BYTES).await, BIG_BYTES);
    wake(&parking.parked(1).await, "news");
    assert_eq!(response(&mut client).await, ok("news"));
}

/// Reads a response whose body is that long; returns how many of its bytes are as expected.
async fn answer_of(client: &mut TcpStream, length: usize) -> usize {
    while !whole_head(client).await.contains(&format!("content-length: {length}")) {}
    let mut body = vec![0; length];
    timeout(NEVER, client.read_exact(&mut body)).await.unwrap().unwrap();
    body.iter().filter(|byte| **byte == b'x').count()
}

async fn whole_head(client: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(timeout(NEVER, client.read_u8()).await.unwrap().unwrap());
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn a_slow_reader_gets_everything_and_one_that_does_not_read_is_disconnected() {
    let big = || Bytes::from(vec![b'x'; BIG_BYTES]);
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.send(POLL).await;
    parking.parked(1).await.send(big()).unwrap();
    assert_eq!(answer_of(&mut client, BIG_BYTES).await, BIG_BYTES);

    let mut parking = ParkingServer::new(ListenerConfig { idle_timeout: SOON, ..PATIENT }).await;
    let client = parking.server.send(POLL).await;
    parking.parked(1).await.send(big()).unwrap();
    parking.is("gauntlet_http_timeouts_total ", "1").await;
    assert!(rest(client).await.len() < BIG_BYTES);
}

/// What a client receives that sends this, until the connection ends or another request is answered on it.
async fn check_end(request: &str, want_head: &str, goes_on: bool) {
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.send(request).await;
    wake(&parking.parked(1).await, "news");
    let text = whole(&mut client).await;
    for line in want_head.split('|') {
        assert!(text.lines().any(|have| have == line), "{request:?}: no {line:?} in {text:?}");
    }
    assert_eq!(text.contains("\r\nconnection: "), want_head.contains("connection: "), "{text:?}");
    if goes_on {
        client.write_all(FAST.as_bytes()).await.unwrap();
        assert_eq!(response(&mut client).await, ok("fast"));
    } else {
        assert_eq!(rest(client).await, "", "{request:?}");
    }
}

#[tokio::test]
async fn connections_persist_as_their_clients_asked() {
    check_end(POLL, "HTTP/1.1 200 OK", true).await;
    let close = "GET /poll HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    check_end(close, "HTTP/1.1 200 OK|connection: close", false).await;
    check_end("GET /poll HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK", false).await;
    let old = "GET /poll HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    check_end(old, "HTTP/1.0 200 OK|connection: keep-alive", true).await;
}

#[tokio::test]
async fn requests_that_cannot_be_parked_are_timed_apart_as_well() {
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.send("HEAD /poll HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    wake(&parking.parked(0).await, "news");
    let mut text = String::new();
    client.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\n"), "{text:?}");
    assert!(text.contains("\r\ncontent-length: 4\r\n"), "{text:?}");
    assert_eq!(parking.server.sample("gauntlet_http_held_seconds_count "), "1");
    assert_eq!(parking.server.sample("gauntlet_http_request_seconds_count "), "0");
}

#[tokio::test(start_paused = true)]
async fn a_drain_ends_parked_polls() {
    let mut parking = ParkingServer::new(ListenerConfig { drain_max: SOON * 4, ..PATIENT }).await;
    let mut clients = Vec::new();
    for parked in 1..=4 {
        clients.push((parking.server.send(POLL).await, parking.parked(parked).await));
    }
    parking.server.drain();
    for (mut client, wakes) in clients {
        let text = whole(&mut client).await;
        assert!(text.ends_with("\r\n\r\ncome again") && text.contains("\r\nconnection: close\r\n"), "{text:?}");
        assert_eq!(rest(client).await, "");
        wakes.closed().await;
    }
    timeout(NEVER, parking.server.served).await.expect("the server has drained").unwrap();
}

/// Never ready; reports when it is ended.
struct NeverReady(UnboundedSender<Instant>);

impl LongPoll for NeverReady {
    fn poll_response(&mut self, _: &mut Context<'_>) -> Poll<Response<Bytes>> {
        Poll::Pending
    }

    fn finish(&mut self, end: WaitEnd) -> Response<Bytes> {
        assert_eq!(end, WaitEnd::Drain);
        self.0.send(Instant::now()).unwrap();
        text_response("come again")
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_spreads_the_ends_of_polls_up_to_the_longest_jitter() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (ended, mut instants) = unbounded_channel();
    let poll = move |MaybePark(park_token): MaybePark| async move {
        park_or_wait(park_token, Instant::now() + NEVER, NeverReady(ended.clone())).await
    };
    let mut server = TestServer::with(address, listener, PATIENT, |_| Router::new().route("/poll", get(poll)));
    let mut clients = Vec::new();
    for _ in 0..PATIENT.connections_max {
        clients.push(server.send(POLL).await);
    }
    while server.sample("gauntlet_http_parked ") != PATIENT.connections_max.to_string() {
        tokio::task::yield_now().await;
    }
    let begun = Instant::now();
    server.drain();
    let mut after = Vec::new();
    for _ in &clients {
        after.push(instants.recv().await.unwrap() - begun);
    }
    // A timer fires at the next whole millisecond.
    let longest = DRAIN_JITTER_MAX + Duration::from_millis(1);
    assert!(after.iter().all(|after| *after <= longest), "{after:?}");
    assert!(after.iter().any(|other| *other != after[0]), "{after:?}");
}

#[tokio::test]
async fn a_response_that_is_ready_during_a_drain_is_still_sent() {
    // Half of the drain time is more than the longest jitter: no poll ends before the response comes.
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.send(POLL).await;
    let wakes = parking.parked(1).await;
    parking.server.drain();
    wake(&wakes, "news");
    let text = whole(&mut client).await;
    assert!(text.ends_with("\r\n\r\nnews") && text.contains("\r\nconnection: close\r\n"), "{text:?}");
    timeout(NEVER, parking.server.served).await.expect("the server has drained").unwrap();
}

#[tokio::test]
async fn a_drain_ends_although_a_response_is_not_read() {
    let mut parking = ParkingServer::new(ListenerConfig { drain_max: SOON, ..PATIENT }).await;
    let client = parking.server.send(POLL).await;
    parking.parked(1).await.send(Bytes::from(vec![b'x'; BIG_BYTES])).unwrap();
    parking.server.drain();
    timeout(NEVER, parking.server.served).await.expect("the drain is bounded").unwrap();
    assert!(rest(client).await.len() < BIG_BYTES);
}

pub(super) const STREAM: &str = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n";

/// Reads exactly this.
async fn check_received(client: &mut TcpStream, want: &str) {
    let mut bytes = vec![0; want.len()];
    timeout(NEVER, client.read_exact(&mut bytes)).await.expect("a chunk comes").unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), want);
}

#[tokio::test]
async fn chunks_are_sent_as_they_come_and_the_connection_persists() {
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.send(STREAM).await;
    let wakes = parking.parked(1).await;
    let head = whole_head(&mut client).await;
    assert!(head.contains("transfer-encoding: chunked\r\n") && head.contains("x-request-id: 7\r\n"), "{head:?}");
    assert!(head.contains("content-type: text/event-stream\r\n") && !head.contains("content-length"), "{head:?}");
    wake(&wakes, "one");
    check_received(&mut client, "3\r\none\r\n").await;
    wake(&wakes, "two and three");
    check_received(&mut client, "d\r\ntwo and three\r\n").await;
    client.write_all(FAST.as_bytes()).await.unwrap();
    wake(&wakes, "");
    check_received(&mut client, "0\r\n\r\n").await;
    assert_eq!(response(&mut client).await, ok("fast"));
    assert_eq!(parking.server.sample(r#"gauntlet_http_requests_total{route="/stream",status="2xx"} "#), "1");
}

#[tokio::test]
async fn an_idle_stream_has_a_heartbeat_and_ends_with_its_client() {
    let mut parking = ParkingServer::new(ListenerConfig { idle_timeout: SOON, ..PATIENT }).await;
    let mut client = parking.server.send("GET /stream?wait_ms=20 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let wakes = parking.parked(1).await;
    whole_head(&mut client).await;
    check_received(&mut client, "1\r\n:\r\n1\r\n:\r\n1\r\n:\r\n").await;
    drop(client);
    timeout(NEVER, wakes.closed()).await.expect("the wait is dropped");
    parking.is("gauntlet_http_connections ", "0").await;
    assert_eq!(parking.server.sample(r#"gauntlet_http_requests_total{route="/stream",status="2xx"} "#), "1");
    assert_eq!(parking.server.sample("gauntlet_http_parked_left_total "), "1");
}

#[tokio::test]
async fn a_stream_to_an_old_client_ends_with_its_connection() {
    let mut parking = ParkingServer::new(PATIENT).await;
    let mut client = parking.server.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").await;
    let wakes = parking.parked(1).await;
    let head = whole_head(&mut client).await;
    assert!(!head.contains("chunked") && !head.contains("keep-alive"), "{head:?}");
    wake(&wakes, "one");
    wake(&wakes, "");
    assert_eq!(rest(client).await, "one");
}

#[tokio::test(start_paused = true)]
async fn a_drain_sends_closing_chunks_to_streams() {
    let mut parking = ParkingServer::new(ListenerConfig { drain_max: SOON * 4, ..PATIENT }).await;
    let mut client = parking.server.send(STREAM).await;
    let _wakes = parking.parked(1).await;
    whole_head(&mut client).await;
    parking.server.drain();
    assert_eq!(rest(client).await, "3\r\nbye\r\n0\r\n\r\n");
    timeout(NEVER, parking.server.served).await.expect("the server has drained").unwrap();
}

#[tokio::test]
async fn a_stream_that_always_has_a_chunk_ready_ends_in_a_drain() {
    let mut parking = ParkingServer::new(ListenerConfig { drain_max: SOON * 4, ..PATIENT }).await;
    let mut client = parking.server.send(STREAM).await;
    let wakes = parking.parked(1).await;
    let talker = tokio::spawn(async move {
        while wakes.send(Bytes::from_static(b"and on ")).is_ok() {
            tokio::task::yield_now().await;
        }
    });
    whole_head(&mut client).await;
    parking.server.drain();
    assert!(rest(client).await.contains("and on "));
    talker.await.unwrap();
}

/// The task of a connection lives as long as the connection: its size is paid for every parked one.
#[tokio::test]
async fn the_task_of_a_parked_connection_is_small() {
    let metrics = Arc::<Metrics>::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
    let (stream, _) = accepted.unwrap();
    let permits = ConnectionPermits::new(1, None, None, metrics.clone());
    let permit = permits.acquire([127, 0, 0, 1].into(), &mut None).await.unwrap();
    let (_keep, stage) = watch::channel(DrainPhase::Open);
    let context = Arc::new(ListenerContext {
        handler: Router::new(),
        shared: Shared { config: PATIENT, metrics, stage, tls: None },
    });
    let task = context.serve_connection(Connection::new(stream, permit), client.unwrap().local_addr().unwrap());
    let (task, request) = (size_of_val(&task), size_of::<ParkedRequest>());
    assert!(task <= 1_088 && request <= 96, "task {task}, parked request {request}");
}
