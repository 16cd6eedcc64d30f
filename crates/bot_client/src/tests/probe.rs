//! Probes of peers that answer in every wrong way.

use super::*;
use crate::probe::{ProbeCall, ProbeReport, ProbeStep, RepeatedCalls};
use engine::health::CallFault;

pub(super) fn probe_of(address: SocketAddr, step: ProbeStep) -> ProbeCall {
    let (url, body) = (format!("http://{address}/bot/"), Bytes::from_static(b"{}"));
    ProbeCall { url, step, body, signer: None, account: AccountId(1), repeats: 0 }
}

/// A probe of a call for a move whose answer is these bytes, after which the peer closes.
async fn probe(answer: &str) -> ProbeReport {
    let mut peer = Peer::new().await;
    let bots = client(1, true);
    let call = probe_of(peer.address, ProbeStep::Move);
    let report = tokio::spawn(async move { bots.probe(call).await });
    let mut stream = peer.connection().await;
    assert!(read_request(&mut stream).await.starts_with("POST /bot/move HTTP/1.1\r\n"));
    let _ = stream.write_all(answer.as_bytes()).await;
    drop(stream);
    report.await.unwrap()
}

/// What is wrong, and what is shown of the answer: its status, and the beginning of its body.
async fn check(answer: &str, fault: Option<CallFault>, shown: Option<(u16, &str)>) {
    let report = probe(answer).await;
    assert_eq!(report.failure.as_ref().map(|failure| failure.fault), fault, "{answer:.80}");
    let response = report.response.as_ref();
    assert_eq!(response.map(|response| (response.status, response.body_start.as_str())), shown, "{answer:.80}");
    assert!(report.connect_times.resolve.is_some() && report.connect_times.connect.is_some());
    assert_eq!(report.first_byte.is_some(), !answer.is_empty());
}

#[tokio::test]
async fn every_wrong_answer_is_told_apart() {
    let good = r#"{"move":"left"}"#;
    check(&http(good), None, Some((200, good))).await;
    let html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 20\r\n\r\n<html>Welcome!</html";
    check(html, Some(CallFault::Html), Some((200, "<html>Welcome!</html"))).await;
    let redirect = "HTTP/1.1 301 Moved\r\nLocation: https://bot.example/\r\nContent-Length: 0\r\n\r\n";
    check(redirect, Some(CallFault::Redirect), Some((301, ""))).await;
    check("HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno", Some(CallFault::BotError), Some((500, "no"))).await;
    check("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", Some(CallFault::NoSuchRoute), Some((404, ""))).await;
    check("", Some(CallFault::Closed), None).await;
    check("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", Some(CallFault::Closed), Some((200, "{"))).await;
    // Another service's greeting is not shown: a check is no scanner.
    check("220 mail.example ESMTP secret\r\n", Some(CallFault::NotHttp), None).await;
    check("SSH-2.0-OpenSSH_9.9\r\n", Some(CallFault::NotHttp), None).await;
    let huge = format!(r#"{{"move":"up","shout":"{}"}}"#, "x".repeat(70_000));
    check(&http(&huge), Some(CallFault::TooLarge), None).await;
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", " ".repeat(200_000));
    let report = probe(&endless).await;
    assert_eq!(report.failure.unwrap().fault, CallFault::TooLarge);
    assert_eq!(report.response.unwrap().body_start.len(), engine::limits::HEALTH_BODY_BYTES_SHOWN);
}

#[tokio::test]
async fn a_redirect_names_its_target() {
    let report =
        probe("HTTP/1.1 308 Moved\r\nlocation: https://bot.example/\r\nset-cookie: a=b\r\ncontent-length: 0\r\n\r\n")
            .await;
    let headers = report.response.unwrap().headers;
    assert_eq!(headers, [("location", "https://bot.example/".to_owned()), ("content-length", "0".to_owned())]);
}

/// The head came in time, the body did not: both are said.
#[tokio::test]
async fn an_answer_that_never_ends_is_too_late_and_shown_as_far_as_it_came() {
    let mut peer = Peer::new().await;
    let bots = client(1, true);
    let call = probe_of(peer.address, ProbeStep::Start);
    let report = tokio::spawn(async move { bots.probe(call).await });
    let mut stream = peer.connection().await;
    assert!(read_request(&mut stream).await.starts_with("POST /bot/start HTTP/1.1\r\n"));
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"move\":").await.unwrap();
    let report = report.await.unwrap();
    let fault = report.failure.unwrap().fault;
    assert!(
        matches!(fault, CallFault::TooLate | CallFault::ServerFault),
        "{fault:?}: the latter on a machine that stalls"
    );
    assert_eq!(report.response.unwrap().body_start, "{\"move\":");
    assert_eq!(report.total, engine::limits::HEALTH_CALL_TIMEOUT);
}

#[tokio::test]
async fn a_closed_port_refuses_and_a_port_without_tls_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let report = client(1, true).probe(probe_of(address, ProbeStep::Index)).await;
    assert_eq!(report.failure.unwrap().fault, CallFault::ConnectionRefused);
    let mut peer = Peer::new().await;
    let call = ProbeCall { url: format!("https://{}/", peer.address), ..probe_of(address, ProbeStep::Index) };
    let report = tokio::spawn(async move { client(1, true).probe(call).await });
    let mut stream = peer.connection().await;
    stream.write_all(http("plain").as_bytes()).await.unwrap();
    let failure = report.await.unwrap().failure.unwrap();
    assert_eq!(failure.fault, CallFault::TlsFailed);
    assert!(failure.detail.is_some_and(|detail| !detail.is_empty()));
}

/// Whatever stands behind a private address or name, or does not: the same report, and no connection.
#[tokio::test]
async fn what_may_not_be_called_looks_the_same_whether_it_exists_or_not() {
    let mut peer = Peer::new().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let urls = [
        format!("http://{}/", peer.address),
        format!("http://{closed}/"),
        format!("http://localhost:{}/", peer.address.port()),
        "http://169.254.169.254/latest".to_owned(),
        "http://[::ffff:127.0.0.1]/".to_owned(),
        "http://no-such-name.invalid/".to_owned(),
        "gopher://x".to_owned(),
    ];
    for url in urls {
        let call = ProbeCall { url: url.clone(), ..probe_of(closed, ProbeStep::Index) };
        let report = client(1, false).probe(call).await;
        let failure = report.failure.clone().unwrap();
        assert_eq!((failure.fault, failure.detail), (CallFault::NoPublicAddress, None), "{url}");
        let times = (report.first_byte, report.connect_times, report.total);
        assert_eq!((report.response, times), (None, (None, ConnectTimes::default(), Duration::ZERO)), "{url}");
    }
    assert!(peer.accepted.try_recv().is_err(), "no connection was made");
}

/// A probe takes a connection of its own under the host's limit, and leaves the limit as it found it.
#[tokio::test]
async fn a_probe_keeps_the_limit_of_its_host() {
    let mut peer = Peer::new().await;
    let bots = client(1, true);
    let first = tokio::spawn({
        let (bots, call) = (bots.clone(), call(peer.address, Webhook::Move));
        async move { bots.call(call).await.class }
    });
    let mut busy = peer.connection().await;
    read_request(&mut busy).await;
    let (probes, call) = (bots.clone(), probe_of(peer.address, ProbeStep::Move));
    let report = tokio::spawn(async move { probes.probe(call).await });
    assert_eq!(report.await.unwrap().failure.unwrap().fault, CallFault::ServerFault, "no connection was free");
    assert!(peer.accepted.try_recv().is_err());
    busy.write_all(http(r#"{"move":"up"}"#).as_bytes()).await.unwrap();
    assert_eq!(first.await.unwrap(), AnswerClass::Valid);
    let report = tokio::spawn({
        let call = probe_of(peer.address, ProbeStep::Move);
        async move { bots.probe(call).await }
    });
    let mut fresh = peer.connection().await;
    assert_eq!(busy.read(&mut [0]).await.unwrap(), 0, "the idle connection made room");
    read_request(&mut fresh).await;
    fresh.write_all(http(r#"{"move":"up"}"#).as_bytes()).await.unwrap();
    assert_eq!(report.await.unwrap().failure, None);
}

/// A probe of a call for a move with three repetitions, on one connection that answers each call in turn and is then closed.
async fn repeated(answers: &[&str]) -> RepeatedCalls {
    let mut peer = Peer::new().await;
    let call = ProbeCall { repeats: 3, ..probe_of(peer.address, ProbeStep::Move) };
    let report = tokio::spawn(async move { client(1, true).probe(call).await });
    let mut stream = peer.connection().await;
    for answer in answers {
        assert!(read_request(&mut stream).await.starts_with("POST /bot/move HTTP/1.1\r\n"));
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
    drop(stream);
    let report = report.await.unwrap();
    assert_eq!(report.failure, None, "the first call alone decides");
    report.repeated.expect("repetitions were wanted")
}

#[tokio::test]
async fn a_move_is_repeated_on_its_connection() {
    let good = http(r#"{"move":"left"}"#);
    let closing = good.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let bad = http(r#"{"move":"left out"}"#);
    let check = async |answers: &[&str], times: usize, is_closed: bool, fault: Option<CallFault>| {
        let calls = repeated(answers).await;
        let found = calls.failure.map(|failure| failure.fault);
        assert_eq!((calls.times.len(), calls.is_closed, found), (times, is_closed, fault), "{answers:?}");
    };
    check(&[&good, &good, &good, &good], 3, false, None).await;
    check(&[&good, &good, &bad], 1, false, Some(CallFault::UnknownMove)).await;
    check(&[&good, &good, &closing], 2, true, None).await;
    check(&[&closing], 0, true, None).await;
    check(&[&good], 0, true, None).await;
    check(&[&good, &good, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"], 1, false, Some(CallFault::Closed)).await;
}
