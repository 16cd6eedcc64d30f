//! Clients of every kind at a real door: bytes in, bytes out over sockets of the loopback interface. Where something must
//! come in time the clock is tokio's paused one, which a machine that stands still does not move.

mod capacity;
mod parked;

use super::accept::{Backoff, LogThrottle};
use super::*;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// So long that a test which waits for it has failed.
const NEVER: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_millis(30);

/// More than the system keeps of an answer for a client that does not take it.
const BIG_BYTES: usize = 64 * 1024 * 1024;

/// A house with its door open.
struct TestServer {
    address: SocketAddr,
    metrics: Arc<Metrics>,
    /// Wakes the handler of `/slow`.
    wake: Arc<Notify>,
    /// Rung when the handler of `/slow` began.
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

/// Whoever speaks something else is let go.
struct RawCapableRouter(Router);

impl RequestHandler for RawCapableRouter {
    type Body = <Router as RequestHandler>::Body;
    type ResponseFuture<B: RequestBody> = <Router as RequestHandler>::ResponseFuture<B>;

    fn handle<B: RequestBody>(&self, client: Peer<'_>, request: Request<B>) -> Self::ResponseFuture<B> {
        self.0.handle(client, request)
    }

    fn handle_raw(&self, _line: RawConnection) -> Option<RawConnection> {
        None
    }

    fn can_handle_raw(&self) -> bool {
        true
    }

    fn refusal_frame(&self, why: &ApiError) -> Vec<u8> {
        format!("frame: {}", why.status_and_code().1).into_bytes()
    }
}

impl TestServer {
    async fn new(limits: ListenerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self::at(address, listener, limits)
    }

    fn at(address: SocketAddr, door: impl Accept + Send + 'static, limits: ListenerConfig) -> Self {
        let (wake, began) = (Arc::<Notify>::default(), Arc::<Notify>::default());
        let house = Self::with(address, door, limits, |_| router(wake.clone(), began.clone()));
        Self { wake, began, ..house }
    }

    /// One with other routes.
    fn with<A: RequestHandler>(
        address: SocketAddr,
        door: impl Accept + Send + 'static,
        limits: ListenerConfig,
        answers: impl FnOnce(Arc<Metrics>) -> A,
    ) -> Self {
        Self::with_resources(Arc::<Metrics>::default().into(), address, door, limits, answers)
    }

    /// One where something else than HTTP is spoken, too.
    async fn with_raw(limits: ListenerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self::with(address, listener, limits, |_| RawCapableRouter(router(Arc::default(), Arc::default())))
    }

    /// One that is not alone in needing sockets.
    fn with_resources<A: RequestHandler>(
        shares: ListenerResources,
        address: SocketAddr,
        door: impl Accept + Send + 'static,
        limits: ListenerConfig,
        answers: impl FnOnce(Arc<Metrics>) -> A,
    ) -> Self {
        let metrics = shares.metrics.clone();
        let answers = answers(metrics.clone());
        let (leave, left) = oneshot::channel::<()>();
        let shutdown = async {
            let _ = left.await;
        };
        let served = tokio::spawn(serve_from(door, answers, limits, shares, shutdown));
        let (wake, began) = Default::default();
        Self { address, metrics, wake, began, shutdown: Some(leave), served }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection on which these bytes were sent.
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

/// Everything that comes until the other side closes. A reset is a close, too.
async fn rest(mut client: TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = timeout(NEVER, client.read_to_end(&mut bytes)).await.expect("the server closes the connection");
    assert!(read.is_ok() || read.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset));
    String::from_utf8(bytes).unwrap()
}

/// One answer's status line and body; the connection stays open.
async fn answer(client: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    loop {
        let byte = timeout(NEVER, client.read_u8()).await.expect("an answer comes").unwrap();
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
    let house = TestServer::new(PATIENT).await;
    let mut client = house.connect().await;
    for _ in 0..3 {
        client.write_all(FAST.as_bytes()).await.unwrap();
        assert_eq!(answer(&mut client).await, ok("fast"));
    }
    assert_eq!(house.sample("gauntlet_http_connections_accepted_total "), "1");
}

/// What a connection begins with decides whether it speaks HTTP, however it is cut into segments.
#[tokio::test]
async fn an_empty_line_before_a_request_may_come_in_segments() {
    #[track_caller]
    fn check(begins: &str, cuts: &[usize], heard: &str, is_http: bool) {
        assert_eq!(heard.starts_with("HTTP/1.1 200"), is_http, "{begins:?} cut at {cuts:?}: {heard:?}");
    }
    let house = TestServer::with_raw(PATIENT).await;
    let last = FAST.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let rows =
        [("", true), ("\r\n", true), ("\r\n\r\n", true), ("\r\n\u{b}", false), ("\r\u{b}", false), ("\u{4}", false)];
    for (begins, is_http) in rows {
        let stream = [begins, &last].concat();
        let in_pieces: Vec<usize> = (1..=begins.len()).collect();
        for cuts in [&[][..], &[1], &[2], &[3], &in_pieces] {
            let mut client = house.connect().await;
            client.set_nodelay(true).unwrap();
            let mut sent = 0;
            for cut in cuts.iter().copied().chain([stream.len()]) {
                // One who is not spoken to in HTTP may be gone by then.
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

/// Who begins with an empty line and says nothing more is put out in the time of a head.
#[tokio::test]
async fn half_an_empty_line_is_no_request() {
    let limits = ListenerConfig { header_timeout: SOON, ..PATIENT };
    check_closed_by(TestServer::with_raw(limits).await, "\r", "").await;
    check_closed_by(TestServer::with_raw(limits).await, "\r\n", "").await;
}

/// A client that sends this and then nothing is put out; what it heard before begins like this.
async fn check_closed(limits: ListenerConfig, sent: &str, heard: &str) {
    check_closed_by(TestServer::new(limits).await, sent, heard).await;
}

async fn check_closed_by(house: TestServer, sent: &str, heard: &str) {
    let got = rest(house.send(sent).await).await;
    assert!(got.starts_with(heard) && got.is_empty() == heard.is_empty(), "{sent:?}: {got:?}");
    while house.sample("gauntlet_http_connections ") != "0" {
        tokio::task::yield_now().await;
    }
    assert_eq!(house.sample("gauntlet_http_timeouts_total "), "1", "{sent:?}");
}

#[tokio::test]
async fn a_slow_head_is_cut_off() {
    let limits = ListenerConfig { header_timeout: SOON, ..PATIENT };
    check_closed(limits, "", "").await;
    check_closed(limits, "GET /fast HTTP/1.1\r\nHost: x\r\nX-Slow: ", "").await;
    check_closed_by(TestServer::with_raw(limits).await, "", "").await;
    check_closed_by(TestServer::with_raw(limits).await, "GET /fa", "").await;
}

/// The runtime takes every new socket for readable: who believes it waits for the first byte without an end.
#[tokio::test]
async fn who_has_said_nothing_keeps_nobody_from_leaving() {
    for mut house in [TestServer::new(PATIENT).await, TestServer::with_raw(PATIENT).await] {
        let client = house.connect().await;
        while house.sample("gauntlet_http_connections ") != "1" {
            tokio::task::yield_now().await;
        }
        house.drain();
        assert_eq!(rest(client).await, "");
    }
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let limits = ListenerConfig { idle_timeout: SOON, ..PATIENT };
    check_closed(limits, FAST, "HTTP/1.1 200 OK").await;
    // Half a request that came together with a whole one has the time of a silence: nothing more is heard of it.
    check_closed(limits, "GET /fast HTTP/1.1\r\nHost: x\r\n\r\nGET /fa", "HTTP/1.1 200 OK").await;
}

#[tokio::test]
async fn a_client_that_does_not_take_its_answer_is_put_out() {
    let house = TestServer::new(ListenerConfig { idle_timeout: SOON, ..PATIENT }).await;
    let client = house.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n").await;
    while house.sample("gauntlet_http_timeouts_total ") != "1" {
        tokio::task::yield_now().await;
    }
    let heard = rest(client).await;
    assert!(heard.starts_with("HTTP/1.1 200") && heard.len() < BIG_BYTES);
}

/// Bytes that go now and then are no silence; so little at a time is no reading either.
#[tokio::test]
async fn a_client_that_takes_its_answer_drop_by_drop_is_put_out() {
    let limits = ReadRateLimits { stall_max: SOON, bytes_per_s_min: u32::MAX };
    let house = TestServer::new(ListenerConfig { read_rate: limits, ..PATIENT }).await;
    let mut client = house.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut taken = [0; 4_096];
    while house.sample("gauntlet_http_timeouts_total ") != "1" {
        client.read_exact(&mut taken).await.unwrap();
        sleep(SOON / 10).await;
    }
    let heard = rest(client).await;
    assert!(heard.len() < BIG_BYTES);
}

#[tokio::test]
async fn a_client_that_takes_its_answer_slowly_but_surely_gets_it_whole() {
    let limits = ReadRateLimits { stall_max: Duration::from_secs(10), bytes_per_s_min: 1 };
    let house = TestServer::new(ListenerConfig { read_rate: limits, ..PATIENT }).await;
    let client = house.send("GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    sleep(SOON).await;
    let heard = rest(client).await;
    assert!(heard.len() > BIG_BYTES);
    assert_eq!(house.sample("gauntlet_http_timeouts_total "), "0");
}

#[tokio::test]
async fn a_slow_body_is_refused() {
    let limits = ListenerConfig { body_timeout: SOON, ..PATIENT };
    check_closed(limits, "POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", "HTTP/1.1 408").await;
}

#[tokio::test]
async fn a_head_dripping_in_byte_by_byte_is_cut_off_all_the_same() {
    let house = TestServer::new(ListenerConfig { header_timeout: SOON, ..PATIENT }).await;
    let mut client = house.send("GET /fast HTTP/1.1\r\nX: ").await;
    // Each byte is progress; the time of a head is for the whole of it.
    while client.write_all(b"x").await.is_ok() {
        sleep(SOON / 10).await;
    }
    assert_eq!(house.sample("gauntlet_http_timeouts_total "), "1");
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_take_longer_than_any_client() {
    let house = TestServer::new(ListenerConfig { header_timeout: SOON, idle_timeout: SOON, ..PATIENT }).await;
    let mut client = house.send(SLOW).await;
    house.began.notified().await;
    sleep(SOON * 3).await;
    house.wake.notify_one();
    assert_eq!(answer(&mut client).await, ok("slow"));
}

#[tokio::test]
async fn an_oversized_head_is_refused() {
    let house = TestServer::new(PATIENT).await;
    let head = format!("GET /fast HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(2 * BUFFER_BYTES_MAX));
    let refused = rest(house.send(&head).await).await;
    assert!(refused.starts_with("HTTP/1.1 431") && refused.contains("\"code\":\"head_too_large\""), "{refused}");
    let (head, body) = refused.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains(&format!("content-length: {}", body.len())) && head.contains("application/problem+json"),
        "{head}"
    );
}

/// Also behind a request that was answered.
#[tokio::test]
async fn a_head_that_is_none_is_refused() {
    let house = TestServer::new(PATIENT).await;
    for before in ["", FAST] {
        let refused = rest(house.send(&format!("{before}GET / HTTP/9.9\r\n\r\n")).await).await;
        assert!(refused.contains("HTTP/1.1 400") && refused.contains("\"code\":\"bad_head\""), "{refused}");
    }
}

#[tokio::test]
async fn a_client_that_speaks_http_2_is_told_so() {
    for house in [TestServer::new(PATIENT).await, TestServer::with_raw(PATIENT).await] {
        let refused = rest(house.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await).await;
        assert!(refused.starts_with("HTTP/1.1 505 "), "{refused:?}");
        assert!(refused.contains("\"code\":\"http_version\"") && refused.contains("connection: close"), "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_for_whom_there_is_no_socket_waits_until_somebody_else_gives_one_back() {
    let sockets = Arc::new(SocketBudget::new(1, 1));
    let bot = sockets.acquire_for_bot().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, routes) = (listener.local_addr().unwrap(), |_| router(Arc::default(), Arc::default()));
    let shares = ListenerResources {
        socket_budget: Some(sockets.clone()),
        ..ListenerResources::from(Arc::<Metrics>::default())
    };
    let mut house = TestServer::with_resources(shares, address, listener, PATIENT, routes);
    let mut client = house.send(FAST).await;
    sockets.wait_for_shortage().await;
    assert_eq!(house.sample("gauntlet_http_connections_accepted_total "), "0");
    drop(bot);
    assert_eq!(answer(&mut client).await, ok("fast"));
    assert!(sockets.is_exhausted(), "the client has it");
    house.drain();
    assert_eq!(rest(client).await, "");
    house.served.await.unwrap();
    assert_eq!(sockets.available(), 1);
}

#[tokio::test]
async fn a_drain_finishes_what_is_under_way_and_takes_nothing_new() {
    let mut house = TestServer::new(PATIENT).await;
    let (silent, mut kept, mut busy) = (house.connect().await, house.send(FAST).await, house.send(SLOW).await);
    assert_eq!(answer(&mut kept).await, ok("fast"));
    house.began.notified().await;
    house.drain();
    assert_eq!(rest(silent).await, "");
    assert_eq!(rest(kept).await, "");
    TcpStream::connect(house.address).await.unwrap_err();
    house.wake.notify_one();
    assert_eq!(answer(&mut busy).await, ok("slow"));
    assert_eq!(rest(busy).await, "");
    timeout(NEVER, house.served).await.expect("the house is empty").unwrap();
}

#[tokio::test]
async fn a_drain_ends_although_a_request_does_not() {
    let mut house = TestServer::new(ListenerConfig { drain_max: SOON, ..PATIENT }).await;
    let busy = house.send(SLOW).await;
    house.began.notified().await;
    house.drain();
    timeout(NEVER, house.served).await.expect("the drain is bounded").unwrap();
    assert_eq!(rest(busy).await, "");
}

/// A door that cannot accept so often before it can.
struct FailingListener(TcpListener, usize);

impl Accept for FailingListener {
    async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        if self.1 > 0 {
            self.1 -= 1;
            return Err(io::Error::from(Errno::MFILE));
        }
        self.0.accept().await
    }
}

#[tokio::test]
async fn want_of_files_delays_clients_and_turns_none_away() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let house = TestServer::at(address, FailingListener(listener, 3), PATIENT);
    let mut client = house.send(FAST).await;
    assert_eq!(answer(&mut client).await, ok("fast"));
    assert_eq!(house.sample("gauntlet_http_accept_errors_total "), "3");
}

#[test]
fn pauses_double_up_to_a_bound() {
    let error = io::Error::from(Errno::MFILE);
    let mut back_off = Backoff::default();
    let pauses_ms: Vec<_> = (0..9).map(|_| back_off.next_pause(&error).as_millis()).collect();
    assert_eq!(pauses_ms, [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
}

#[test]
fn what_is_found_out_again_and_again_is_said_now_and_then() {
    let (mut seldom, begun) = (LogThrottle::default(), Instant::now());
    let said: Vec<bool> =
        [0, 0, 5, 9, 10, 11, 19, 40].into_iter().map(|s| seldom.is_due(begun + Duration::from_secs(s))).collect();
    assert_eq!(said, [true, false, false, false, true, false, false, true]);
}
