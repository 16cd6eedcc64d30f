//! Clients of every kind at a real listener: bytes in and out over sockets of the loopback interface. Where something must come in
//! time the clock is tokio's paused one, which a stalled machine does not move.

mod capacity;
mod parked;
mod proxied;

use super::accept::{Backoff, LogThrottle};
use super::*;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// So long that a test which waits for it has failed.
const NEVER: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_millis(30);

/// More than the system buffers of a response for a client that does not read it.
const BIG_BYTES: usize = 64 * 1024 * 1024;

/// A running server.
struct TestServer {
    address: SocketAddr,
    metrics: Arc<Metrics>,
    /// Wakes the handler of `/slow`.
    wake: Arc<Notify>,
    /// Notified when the handler of `/slow` began.
    began: Arc<Notify>,
    shutdown: Option<oneshot::Sender<()>>,
    served: JoinHandle<()>,
}

const PATIENT: ListenerConfig = ListenerConfig {
    header_timeout: NEVER,
    body_timeout: NEVER,
    idle_timeout: NEVER,
    read_rate: LEISURELY,
    connections_max: 8,
    drain_max: NEVER,
};
const LEISURELY: ReadRateLimits = ReadRateLimits { stall_max: NEVER, bytes_per_s_min: 1 };

fn router(wake: Arc<Notify>, began: Arc<Notify>) -> Router {
    let slow = move || async move {
        began.notify_one();
        wake.notified().await;
        "slow"
    };
    let read = |body: Result<Bytes, axum::extract::rejection::BytesRejection>| async move {
        body.map_or_else(
            |_| (StatusCode::REQUEST_TIMEOUT, String::new()),
            |body| (StatusCode::OK, body.len().to_string()),
        )
    };
    let big = || async { vec![b'x'; BIG_BYTES] };
    let router = Router::new().route("/fast", get(|| async { "fast" })).route("/big", get(big));
    router.route("/slow", get(slow)).route("/read", post(read))
}

/// Also accepts connections of another protocol, and closes them after a line with the client's address.
struct RawCapableRouter(Router);

impl RequestHandler for RawCapableRouter {
    type Body = <Router as RequestHandler>::Body;
    type ResponseFuture<B: RequestBody> = <Router as RequestHandler>::ResponseFuture<B>;

    fn handle<B: RequestBody>(&self, client: Peer<'_>, request: Request<B>) -> Self::ResponseFuture<B> {
        self.0.handle(client, request)
    }

    fn handle_raw(&self, client: SocketAddr, raw: RawConnection) -> Option<RawConnection> {
        let line = format!("raw of {}", client.ip());
        assert_eq!(raw.connection.stream().try_write(line.as_bytes()).unwrap(), line.len());
        None
    }

    fn can_handle_raw(&self) -> bool {
        true
    }

    fn refusal_frame(&self, error: &ApiError) -> Vec<u8> {
        format!("frame: {}", error.status_and_code().1).into_bytes()
    }
}

impl TestServer {
    async fn new(config: ListenerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self::at(address, listener, config)
    }

    fn at(address: SocketAddr, listener: impl Accept + Send + 'static, config: ListenerConfig) -> Self {
        let (wake, began) = (Arc::<Notify>::default(), Arc::<Notify>::default());
        let server = Self::with(address, listener, config, |_| router(wake.clone(), began.clone()));
        Self { wake, began, ..server }
    }

    /// A server with other routes.
    fn with<H: RequestHandler>(
        address: SocketAddr,
        listener: impl Accept + Send + 'static,
        config: ListenerConfig,
        handler: impl FnOnce(Arc<Metrics>) -> H,
    ) -> Self {
        Self::with_resources(Arc::<Metrics>::default().into(), address, listener, config, handler)
    }

    /// A server that speaks another protocol besides HTTP.
    async fn with_raw(config: ListenerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self::with(address, listener, config, |_| RawCapableRouter(router(Arc::default(), Arc::default())))
    }

    /// A server with these resources.
    fn with_resources<H: RequestHandler>(
        resources: ListenerResources,
        address: SocketAddr,
        listener: impl Accept + Send + 'static,
        config: ListenerConfig,
        handler: impl FnOnce(Arc<Metrics>) -> H,
    ) -> Self {
        let metrics = resources.metrics.clone();
        let handler = handler(metrics.clone());
        let (sender, receiver) = oneshot::channel::<()>();
        let shutdown = async {
            let _ = receiver.await;
        };
        let served = tokio::spawn(serve(listener, handler, config, resources, shutdown));
        let (wake, began) = Default::default();
        Self { address, metrics, wake, began, shutdown: Some(sender), served }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Connects and sends these bytes.
    async fn send(&self, bytes: &str) -> TcpStream {
        let mut client = self.connect().await;
        client.write_all(bytes.as_bytes()).await.unwrap();
        client
    }

    fn drain(&mut self) {
        self.shutdown.take().unwrap().send(()).unwrap();
    }

    fn sample(&self, name: &str) -> String {
        let page = self.metrics.page().into_text();
        page.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
    }
}

/// Everything that is received until the server closes. A reset counts as a close.
async fn rest(mut client: TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = timeout(NEVER, client.read_to_end(&mut bytes)).await.expect("the server closes the connection");
    assert!(read.is_ok() || read.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset));
    String::from_utf8(bytes).unwrap()
}

/// One response's status line and body; the connection stays open.
async fn response(client: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    loop {
        let byte = timeout(NEVER, client.read_u8()).await.expect("a response comes").unwrap();
        bytes.push(byte);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() == length.parse::<usize>().unwrap() {
            return (head.lines().next().unwrap().to_owned(), body.to_owned());
        }
    }
}

const FAST: &str = "GET /fast HTTP/1.1\r\nHost: x\r\n\r\n";
const SLOW: &str = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";

fn ok(body: &str) -> (String, String) {
    ("HTTP/1.1 200 OK".to_owned(), body.to_owned())
}

#[tokio::test]
async fn a_connection_is_kept_between_requests() {
    let server = TestServer::new(PATIENT).await;
    let mut client = server.connect().await;
    for _ in 0..3 {
        client.write_all(FAST.as_bytes()).await.unwrap();
        assert_eq!(response(&mut client).await, ok("fast"));
    }
    assert_eq!(server.sample("gauntlet_http_connections_accepted_total "), "1");
}

/// The first bytes of a connection decide whether it speaks HTTP, however they are segmented.
#[tokio::test]
async fn an_empty_line_before_a_request_may_come_in_segments() {
    #[track_caller]
    fn check(begins: &str, cuts: &[usize], received: &str, is_http: bool) {
        assert_eq!(received.starts_with("HTTP/1.1 200"), is_http, "{begins:?} cut at {cuts:?}: {received:?}");
    }
    let server = TestServer::with_raw(PATIENT).await;
    let last = FAST.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let rows =
        [("", true), ("\r\n", true), ("\r\n\r\n", true), ("\r\n\u{b}", false), ("\r\u{b}", false), ("\u{4}", false)];
    for (begins, is_http) in rows {
        let stream = [begins, &last].concat();
        let in_pieces: Vec<usize> = (1..=begins.len()).collect();
        for cuts in [&[][..], &[1], &[2], &[3], &in_pieces] {
            let mut client = server.connect().await;
            client.set_nodelay(true).unwrap();
            let mut sent = 0;
            for cut in cuts.iter().copied().chain([stream.len()]) {
                // A client that does not speak HTTP may be disconnected by then.
                let _ = client.write_all(&stream.as_bytes()[sent..cut]).await;
                sent = cut;
                for _ in 0..8 {
                    tokio::task::yield_now().await;
                }
            }
            check(begins, cuts, &rest(client).await, is_http);
        }
    }
}

/// A client that begins with an empty line and sends nothing more is disconnected after the timeout of a head.
#[tokio::test]
async fn half_an_empty_line_is_no_request() {
    let limits = ListenerConfig { header_timeout: SOON, ..PATIENT };
    check_closed_by(TestServer::with_raw(limits).await, "\r", "").await;
    check_closed_by(TestServer::with_raw(limits).await, "\r\n", "").await;
}

/// A client that sends this and then nothing is disconnected; what it received before begins like this.
async fn check_closed(config: ListenerConfig, sent: &str, want: &str) {
    check_closed_by(TestServer::new(config).await, sent, want).await;
}

async fn check_closed_by(server: TestServer, sent: &str, want: &str) {
    let received = rest(server.send(sent).await).await;
    assert!(received.starts_with(want) && received.is_empty() == want.is_empty(), "{sent:?}: {received:?}");
    while server.sample("gauntlet_http_connections ") != "0" {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.sample("gauntlet_http_timeouts_total "), "1", "{sent:?}");
}

#[tokio::test]
async fn a_slow_head_is_cut_off() {
    let limits = ListenerConfig { header_timeout: SOON, ..PATIENT };
    check_closed(limits, "", "").await;
    check_closed(limits, "GET /fast HTTP/1.1\r\nHost: x\r\nX-Slow: ", "").await;
    check_closed_by(TestServer::with_raw(limits).await, "", "").await;
    check_closed_by(TestServer::with_raw(limits).await, "GET /fa", "").await;
}

/// The runtime reports every new socket as readable: trusting it would mean to wait for the first byte without end.
#[tokio::test]
async fn a_silent_client_does_not_delay_a_drain() {
    for mut server in [TestServer::new(PATIENT).await, TestServer::with_raw(PATIENT).await] {
        let client = server.connect().await;
        while server.sample("gauntlet_http_connections ") != "1" {
            tokio::task::yield_now().await;
        }
        server.drain();
        assert_eq!(rest(client).await, "");
    }
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let limits = ListenerConfig { idle_timeout: SOON, ..PATIENT };
    check_closed(limits, FAST, "HTTP/1.1 200 OK").await;
    // Half a request that came together with a whole one is subject to the idle timeout: nothing more comes of it.
    check_closed(limits, "GET /fast HTTP/1.1\r\nHost: x\r\n\r\nGET /fa", "HTTP/1.1 200 OK").await;
}

#[tokio::test]
async fn a_client_that_does_not_read_its_response_is_disconnected() {
    let server = TestServer::new(ListenerConfig { idle_timeout: SOON, ..PATIENT }).await;
    let client = server.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n").await;
    while server.sample("gauntlet_http_timeouts_total ") != "1" {
        tokio::task::yield_now().await;
    }
    let received = rest(client).await;
    assert!(received.starts_with("HTTP/1.1 200") && received.len() < BIG_BYTES);
}

/// Bytes that move now and then are not idleness; so few at a time are too slow all the same.
#[tokio::test]
async fn a_client_that_reads_its_response_too_slowly_is_disconnected() {
    let limits = ReadRateLimits { stall_max: SOON, bytes_per_s_min: u32::MAX };
    let server = TestServer::new(ListenerConfig { read_rate: limits, ..PATIENT }).await;
    let mut client = server.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut taken = [0; 4_096];
    while server.sample("gauntlet_http_timeouts_total ") != "1" {
        client.read_exact(&mut taken).await.unwrap();
        sleep(SOON / 10).await;
    }
    let received = rest(client).await;
    assert!(received.len() < BIG_BYTES);
}

#[tokio::test]
async fn a_client_that_reads_its_response_at_the_minimum_rate_gets_it_whole() {
    let limits = ReadRateLimits { stall_max: Duration::from_secs(10), bytes_per_s_min: 1 };
    let server = TestServer::new(ListenerConfig { read_rate: limits, ..PATIENT }).await;
    let client = server.send("GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    sleep(SOON).await;
    let received = rest(client).await;
    assert!(received.len() > BIG_BYTES);
    assert_eq!(server.sample("gauntlet_http_timeouts_total "), "0");
}

#[tokio::test]
async fn a_slow_body_is_refused() {
    let limits = ListenerConfig { body_timeout: SOON, ..PATIENT };
    check_closed(limits, "POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", "HTTP/1.1 408").await;
}

#[tokio::test]
async fn a_head_dripping_in_byte_by_byte_is_cut_off_all_the_same() {
    let server = TestServer::new(ListenerConfig { header_timeout: SOON, ..PATIENT }).await;
    let mut client = server.send("GET /fast HTTP/1.1\r\nX: ").await;
    // Each byte is progress; the timeout is for the whole head.
    while client.write_all(b"x").await.is_ok() {
        sleep(SOON / 10).await;
    }
    assert_eq!(server.sample("gauntlet_http_timeouts_total "), "1");
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_take_longer_than_the_client_timeouts() {
    let server = TestServer::new(ListenerConfig { header_timeout: SOON, idle_timeout: SOON, ..PATIENT }).await;
    let mut client = server.send(SLOW).await;
    server.began.notified().await;
    sleep(SOON * 3).await;
    server.wake.notify_one();
    assert_eq!(response(&mut client).await, ok("slow"));
}

#[tokio::test]
async fn an_oversized_head_is_refused() {
    let server = TestServer::new(PATIENT).await;
    let head = format!("GET /fast HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(2 * BUFFER_BYTES_MAX));
    let refused = rest(server.send(&head).await).await;
    assert!(refused.starts_with("HTTP/1.1 431") && refused.contains("\"code\":\"head_too_large\""), "{refused}");
    let (head, body) = refused.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains(&format!("content-length: {}", body.len())) && head.contains("application/problem+json"),
        "{head}"
    );
}

/// Also behind a request that was answered.
#[tokio::test]
async fn a_malformed_head_is_refused() {
    let server = TestServer::new(PATIENT).await;
    for before in ["", FAST] {
        let refused = rest(server.send(&format!("{before}GET / HTTP/9.9\r\n\r\n")).await).await;
        assert!(refused.contains("HTTP/1.1 400") && refused.contains("\"code\":\"bad_head\""), "{refused}");
    }
}

#[tokio::test]
async fn a_client_that_speaks_http_2_is_refused() {
    for server in [TestServer::new(PATIENT).await, TestServer::with_raw(PATIENT).await] {
        let refused = rest(server.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await).await;
        assert!(refused.starts_with("HTTP/1.1 505 "), "{refused:?}");
        assert!(refused.contains("\"code\":\"http_version\"") && refused.contains("connection: close"), "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_a_socket_waits_until_a_bot_releases_one() {
    let sockets = Arc::new(SocketBudget::new(1, 1));
    let bot = sockets.acquire_for_bot().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, routes) = (listener.local_addr().unwrap(), |_| router(Arc::default(), Arc::default()));
    let resources = ListenerResources {
        socket_budget: Some(sockets.clone()),
        ..ListenerResources::from(Arc::<Metrics>::default())
    };
    let mut server = TestServer::with_resources(resources, address, listener, PATIENT, routes);
    let mut client = server.send(FAST).await;
    sockets.wait_for_shortage().await;
    assert_eq!(server.sample("gauntlet_http_connections_accepted_total "), "0");
    drop(bot);
    assert_eq!(response(&mut client).await, ok("fast"));
    assert!(sockets.is_exhausted(), "the client has it");
    server.drain();
    assert_eq!(rest(client).await, "");
    server.served.await.unwrap();
    assert_eq!(sockets.available(), 1);
}

#[tokio::test]
async fn a_drain_finishes_requests_in_progress_and_accepts_no_new_ones() {
    let mut server = TestServer::new(PATIENT).await;
    let (silent, mut kept, mut busy) = (server.connect().await, server.send(FAST).await, server.send(SLOW).await);
    assert_eq!(response(&mut kept).await, ok("fast"));
    server.began.notified().await;
    server.drain();
    assert_eq!(rest(silent).await, "");
    assert_eq!(rest(kept).await, "");
    TcpStream::connect(server.address).await.unwrap_err();
    server.wake.notify_one();
    assert_eq!(response(&mut busy).await, ok("slow"));
    assert_eq!(rest(busy).await, "");
    timeout(NEVER, server.served).await.expect("the server has drained").unwrap();
}

/// The kernel has accepted the connection and the request: a reset would leave its client in doubt about what was done.
#[tokio::test]
async fn a_drain_answers_what_had_arrived_before_it() {
    use std::io::Write;
    for is_seen in [false, true] {
        let mut server = TestServer::new(PATIENT).await;
        let mut client = std::net::TcpStream::connect(server.address).unwrap();
        if is_seen {
            while server.sample("gauntlet_http_connections ") != "1" {
                tokio::task::yield_now().await;
            }
        }
        // Nothing runs between these two.
        client.write_all(FAST.as_bytes()).unwrap();
        server.drain();
        client.set_nonblocking(true).unwrap();
        let received = rest(TcpStream::from_std(client).unwrap()).await;
        assert!(received.starts_with("HTTP/1.1 200 OK") && received.ends_with("fast"), "{is_seen}: {received:?}");
    }
}

#[tokio::test]
async fn a_drain_is_bounded_although_a_request_does_not_end() {
    let mut server = TestServer::new(ListenerConfig { drain_max: SOON, ..PATIENT }).await;
    let busy = server.send(SLOW).await;
    server.began.notified().await;
    server.drain();
    timeout(NEVER, server.served).await.expect("the drain is bounded").unwrap();
    assert_eq!(rest(busy).await, "");
}

/// A listener whose first accepts fail, so many times.
struct FailingListener(TcpListener, usize);

impl Accept for FailingListener {
    async fn accept(&mut self) -> io::Result<Accepted> {
        if self.1 > 0 {
            self.1 -= 1;
            return Err(io::Error::from(Errno::MFILE));
        }
        Accept::accept(&mut self.0).await
    }
}

#[tokio::test]
async fn lack_of_files_delays_clients_and_refuses_none() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = TestServer::at(address, FailingListener(listener, 3), PATIENT);
    let mut client = server.send(FAST).await;
    assert_eq!(response(&mut client).await, ok("fast"));
    assert_eq!(server.sample("gauntlet_http_accept_errors_total "), "3");
}

#[test]
fn pauses_double_up_to_a_bound() {
    let error = io::Error::from(Errno::MFILE);
    let mut back_off = Backoff::default();
    let pauses_ms: Vec<_> = (0..9).map(|_| back_off.next_pause(&error).as_millis()).collect();
    assert_eq!(pauses_ms, [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
}

#[test]
fn a_repeating_condition_is_logged_at_intervals() {
    let (mut throttle, start) = (LogThrottle::default(), Instant::now());
    let is_due: Vec<bool> =
        [0, 0, 5, 9, 10, 11, 19, 40].into_iter().map(|s| throttle.is_due(start + Duration::from_secs(s))).collect();
    assert_eq!(is_due, [true, false, false, false, true, false, false, true]);
}
