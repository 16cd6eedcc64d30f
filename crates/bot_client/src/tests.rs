//! The client against scripted peers on real sockets.

mod acknowledgements;
mod probe;
mod signed;

use super::*;
use bytes::Bytes;
use engine::ids::AccountId;
use rules::snake::Move;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

/// Long enough that no bot is late on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A peer that hands every accepted connection to the test.
struct Peer {
    address: SocketAddr,
    accepted: mpsc::UnboundedReceiver<TcpStream>,
}

impl Peer {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, accepted) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if sender.send(stream).is_err() {
                    return;
                }
            }
        });
        Self { address, accepted }
    }

    async fn connection(&mut self) -> TcpStream {
        self.accepted.recv().await.unwrap()
    }
}

/// Reads one whole request (our own always have a length); returns its text.
async fn read_request(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    loop {
        let mut byte = [0; 1];
        assert_eq!(stream.read(&mut byte).await.unwrap(), 1, "the client hung up in the middle of {text:?}");
        text.push(char::from(byte[0]));
        let Some(head) = text.find("\r\n\r\n") else { continue };
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
        if text.len() == head + 4 + length.parse::<usize>().unwrap() {
            return text;
        }
    }
}

fn http(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn client(connections_per_host: usize, is_private_allowed: bool) -> BotClient {
    client_with(connections_per_host, is_private_allowed, Arc::new(SocketBudget::new(64, 64)))
}

fn client_with(connections_per_host: usize, is_private_allowed: bool, sockets: Arc<SocketBudget>) -> BotClient {
    let limited = LimitedAddresses::OffLoopback;
    BotClient::new(connections_per_host, is_private_allowed, limited, Arc::default(), sockets)
}

fn call(address: SocketAddr, path: Webhook) -> BotCall {
    BotCall {
        url: format!("http://{address}/bot/"),
        webhook: path,
        body: Bytes::from_static(b"{}"),
        timeout: TIMEOUT,
        signer: None,
        account: AccountId(1),
        span: None,
    }
}

/// One /move answered with these bytes, after which the peer closes.
async fn check(answer: &str, want: (AnswerClass, Option<Move>, &str)) {
    let mut peer = Peer::new().await;
    let bots = client(1, true);
    let response = tokio::spawn({
        let call = call(peer.address, Webhook::Move);
        async move { bots.call(call).await }
    });
    let mut stream = peer.connection().await;
    let request = read_request(&mut stream).await;
    assert!(request.starts_with("POST /bot/move HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("content-type: application/json\r\n"), "{request}");
    // The client may close first, as soon as it has seen enough.
    let _ = stream.write_all(answer.as_bytes()).await;
    drop(stream);
    let got = response.await.unwrap();
    assert_eq!((got.class, got.mv, got.shout.as_str()), want, "{answer:?}");
}

#[tokio::test]
async fn every_kind_of_answer_is_classified() {
    check(&http(r#"{"move":"left"}"#), (AnswerClass::Valid, Some(Move::Left), "")).await;
    check(&http(r#"{"move":"up","shout":"hi","x":1}"#), (AnswerClass::Valid, Some(Move::Up), "hi")).await;
    check(&http(r#"{"move":"up","shout":null}"#), (AnswerClass::Valid, Some(Move::Up), "")).await;
    check(&http(r#"{"move":"LEFT","shout":"hi"}"#), (AnswerClass::UnknownMove, None, "hi")).await;
    check(&http(r#"{"move":7}"#), (AnswerClass::Malformed, None, "")).await;
    check(&http("{}"), (AnswerClass::Malformed, None, "")).await;
    check(&http("left"), (AnswerClass::Malformed, None, "")).await;
    check("", (AnswerClass::Unreachable, None, "")).await;
    check("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", (AnswerClass::Unreachable, None, "")).await;
    check("220 mail.example ESMTP\r\n", (AnswerClass::Malformed, None, "")).await;
    check("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", (AnswerClass::BadStatus, None, "")).await;
    check("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", (AnswerClass::BadStatus, None, "")).await;
    let huge = format!(r#"{{"move":"up","shout":"{}"}}"#, "x".repeat(70_000));
    check(&http(&huge), (AnswerClass::Oversized, None, "")).await;
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", " ".repeat(200_000));
    check(&endless, (AnswerClass::Oversized, None, "")).await;
}

/// The deadline covers the body: a head in time does not count, and the latency is the timeout.
#[tokio::test]
async fn an_answer_that_never_ends_is_late() {
    let mut peer = Peer::new().await;
    let bots = client(1, true);
    let call = BotCall { timeout: Duration::from_millis(60), ..call(peer.address, Webhook::Move) };
    let response = tokio::spawn(async move { bots.call(call).await });
    let mut stream = peer.connection().await;
    read_request(&mut stream).await;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"move\":").await.unwrap();
    let got = response.await.unwrap();
    assert_eq!((got.class, got.latency_ms), (AnswerClass::Late, 60));
    drop(stream);
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    assert_eq!(client(1, true).call(call(address, Webhook::Move)).await.class, AnswerClass::Unreachable);
    let nonsense = BotCall { url: "gopher://x".into(), ..call(address, Webhook::Move) };
    assert_eq!(client(1, true).call(nonsense).await.class, AnswerClass::Unreachable);
}

#[tokio::test]
async fn private_addresses_are_not_called_unless_allowed() {
    let mut peer = Peer::new().await;
    let refused = client(1, false).call(call(peer.address, Webhook::Move)).await;
    assert_eq!(refused.class, AnswerClass::Forbidden);
    let by_name =
        BotCall { url: format!("http://localhost:{}/", peer.address.port()), ..call(peer.address, Webhook::Move) };
    assert_eq!(client(1, false).call(by_name).await.class, AnswerClass::Forbidden);
    assert!(peer.accepted.try_recv().is_err(), "no connection was made");
}

/// Serves one connection for ever with the same answer; reports each request.
fn serve(mut stream: TcpStream, answer: String, seen: mpsc::UnboundedSender<String>) {
    tokio::spawn(async move {
        loop {
            let request = read_request(&mut stream).await;
            let _ = seen.send(request);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
}

#[tokio::test]
async fn connections_are_reused_and_limited() {
    let mut peer = Peer::new().await;
    let bots = client(1, true);
    let (seen, mut requests) = mpsc::unbounded_channel();
    let calls = (0..5).map(|_| {
        let (bots, call) = (bots.clone(), call(peer.address, Webhook::Move));
        tokio::spawn(async move { bots.call(call).await.class })
    });
    let calls: Vec<_> = calls.collect();
    serve(peer.connection().await, http(r#"{"move":"up"}"#), seen);
    for call in calls {
        assert_eq!(call.await.unwrap(), AnswerClass::Valid);
    }
    for _ in 0..5 {
        requests.recv().await.unwrap();
    }
    assert!(peer.accepted.try_recv().is_err(), "five calls, one connection");
}

/// With one socket in total, a connection stays idle only while no other host needs its socket.
#[tokio::test]
async fn a_needed_socket_is_taken_from_an_idle_connection() {
    let (mut first, mut second) = (Peer::new().await, Peer::new().await);
    let sockets = Arc::new(SocketBudget::new(2, 2));
    let bots = client_with(1, true, sockets.clone());
    let ask = |peer: &Peer| {
        let (bots, call) = (bots.clone(), call(peer.address, Webhook::Start));
        tokio::spawn(async move { bots.call(call).await.class })
    };
    let response = ask(&first);
    let mut idle = first.connection().await;
    read_request(&mut idle).await;
    idle.write_all(http("ok").as_bytes()).await.unwrap();
    assert_eq!(response.await.unwrap(), AnswerClass::Valid);
    assert_eq!(sockets.available(), 1, "an idle connection keeps its socket");
    sockets.acquire_for_client().await;
    let response = ask(&second);
    sockets.wait_for_shortage().await;
    assert!(second.accepted.try_recv().is_err(), "nothing is opened without a socket");
    bots.close_idle();
    let mut stream = second.connection().await;
    read_request(&mut stream).await;
    stream.write_all(http("ok").as_bytes()).await.unwrap();
    assert_eq!(response.await.unwrap(), AnswerClass::Valid);
    assert_eq!(idle.read(&mut [0]).await.unwrap(), 0, "it was closed for the other");
    sockets.release_client();
    assert_eq!(sockets.available(), 2, "while sockets are short, none is kept for later");
}

/// A connection that the peer closed while it was idle is noticed before it is used.
#[tokio::test]
async fn a_closed_idle_connection_is_replaced() {
    let mut peer = Peer::new().await;
    let bots = client(1, true);
    for _ in 0..2 {
        let response = tokio::spawn({
            let (bots, call) = (bots.clone(), call(peer.address, Webhook::Start));
            async move { bots.call(call).await }
        });
        let mut stream = peer.connection().await;
        read_request(&mut stream).await;
        stream.write_all(http("ok").as_bytes()).await.unwrap();
        assert_eq!(response.await.unwrap().class, AnswerClass::Valid);
        stream.shutdown().await.unwrap();
        // Closed for sure once the client's side sees it, too; until then the close may be in the kernel.
        let idle_is_closed = async {
            while bots.pool_has_reusable_idle() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(TIMEOUT, idle_is_closed).await.unwrap();
    }
}

/// Closes when it has read a second request on a connection: the client cannot know whether that request was received.
async fn break_on_second_request(path: Webhook) -> (AnswerClass, bool) {
    let mut peer = Peer::new().await;
    let bots = client(1, true);
    let (done, first_done) = oneshot::channel();
    let mut response = tokio::spawn({
        let (bots, address) = (bots.clone(), peer.address);
        async move {
            assert_eq!(bots.call(call(address, Webhook::Move)).await.class, AnswerClass::Valid);
            let _ = done.send(());
            bots.call(call(address, path)).await.class
        }
    });
    let mut stream = peer.connection().await;
    read_request(&mut stream).await;
    stream.write_all(http(r#"{"move":"up"}"#).as_bytes()).await.unwrap();
    first_done.await.unwrap();
    read_request(&mut stream).await;
    drop(stream);
    let mut was_repeated = false;
    loop {
        tokio::select! {
            class = &mut response => return (class.unwrap(), was_repeated),
            mut stream = peer.connection() => {
                was_repeated = true;
                read_request(&mut stream).await;
                stream.write_all(http(r#"{"move":"up"}"#).as_bytes()).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_move_is_repeated_on_a_new_connection_but_a_notice_is_not() {
    assert_eq!(break_on_second_request(Webhook::Move).await, (AnswerClass::Valid, true));
    assert_eq!(break_on_second_request(Webhook::Start).await, (AnswerClass::Unreachable, false));
    assert_eq!(break_on_second_request(Webhook::End).await, (AnswerClass::Unreachable, false));
}

/// Each of these calls, on an idle connection and on new ones, ends because this process is stalled: it is settled as if it was not made.
#[tokio::test]
async fn a_stall_counts_against_no_bot_and_no_account() {
    let mut peer = Peer::new().await;
    let metrics = Arc::<Metrics>::default();
    let bots = BotClient::new(8, true, LimitedAddresses::All, metrics.clone(), Arc::new(SocketBudget::new(64, 64)));
    let first = tokio::spawn({
        let (bots, call) = (bots.clone(), call(peer.address, Webhook::Move));
        async move { bots.call(call).await.class }
    });
    let mut stream = peer.connection().await;
    read_request(&mut stream).await;
    stream.write_all(http(r#"{"move":"up"}"#).as_bytes()).await.unwrap();
    assert_eq!(first.await.unwrap(), AnswerClass::Valid);
    assert!(bots.pool_has_reusable_idle());
    let _stall = metrics.stalls.expect_wake(Instant::now().into_std());
    tokio::time::pause();
    let of_tls = BotCall { url: format!("https://{}", peer.address), ..call(peer.address, Webhook::Move) };
    // On the idle connection, on a new one, and while one is opened.
    for call in [call(peer.address, Webhook::Move), call(peer.address, Webhook::Move), of_tls] {
        let what = call.url.clone();
        assert_eq!(bots.call(call).await.class, AnswerClass::ServerFault, "{what}");
        assert_eq!(bots.gate.calls_without_move(), 0, "{what}");
    }
    let report = bots.probe(probe::probe_of(peer.address, crate::probe::ProbeStep::Move)).await;
    assert_eq!(report.failure.unwrap().fault, CallFault::ServerFault);
    assert_eq!(bots.gate.calls_without_move(), 0);
}

/// What was not asked, because the account may not call there now or this process was stalled, is asked the next time.
#[tokio::test]
async fn a_face_that_was_not_requested_is_not_cached() {
    let mut peer = Peer::new().await;
    let metrics = Arc::<Metrics>::default();
    let bots = BotClient::new(8, true, LimitedAddresses::All, metrics.clone(), Arc::new(SocketBudget::new(64, 64)));
    let url = format!("http://{}/bot", peer.address);
    // Of several bots: those of one that fails leave room for calls to others.
    for bot in 0.. {
        let target = &Target::parse(&format!("http://{bot}.example")).unwrap();
        let subject = CallSubject { target, account: AccountId(2), purpose: Purpose::Move };
        let Ok(admission) = bots.gate.admit(peer.address.ip(), subject, Instant::now()).await else { break };
        admission.settle(Ending::Failed);
    }
    tokio::time::pause();
    assert_eq!(bots.face(&url, None, AccountId(2)).await, Face::default(), "throttled");
    {
        let _stall = metrics.stalls.expect_wake(Instant::now().into_std());
        assert_eq!(bots.face(&url, None, AccountId(1)).await, Face::default(), "stalled");
    }
    tokio::time::resume();
    drop(peer.connection().await);
    let red = Face { color: "#ff0000".into(), ..Face::default() };
    let face = tokio::spawn({
        let (bots, url) = (bots.clone(), url.clone());
        async move { bots.face(&url, None, AccountId(1)).await }
    });
    let mut stream = peer.connection().await;
    read_request(&mut stream).await;
    stream.write_all(http(r##"{"apiversion":"1","color":"#ff0000"}"##).as_bytes()).await.unwrap();
    assert_eq!(face.await.unwrap(), red);
    let respelled = format!("HTTP://{}/bot/", peer.address);
    assert_eq!(bots.face(&respelled, None, AccountId(1)).await, red, "cached, however the URL is spelled");
}

#[tokio::test]
async fn faces_are_requested_once_for_many_matches() {
    let mut peer = Peer::new().await;
    let bots = client(8, true);
    let url = format!("http://{}/bot", peer.address);
    let faces: Vec<_> = (0..4)
        .map(|_| {
            let (bots, url) = (bots.clone(), url.clone());
            tokio::spawn(async move { bots.face(&url, None, AccountId(1)).await })
        })
        .collect();
    let mut stream = peer.connection().await;
    assert!(read_request(&mut stream).await.starts_with("GET /bot/ HTTP/1.1\r\n"));
    stream.write_all(http(r##"{"apiversion":"1","color":"#ff0000","head":""}"##).as_bytes()).await.unwrap();
    for face in faces {
        assert_eq!(face.await.unwrap(), Face { color: "#ff0000".into(), ..Face::default() });
    }
    assert!(peer.accepted.try_recv().is_err());
}
