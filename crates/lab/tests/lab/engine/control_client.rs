//! The client of requests that are no load: where its connections lead to, and when it sends a request again.

use std::net::SocketAddr;
use std::time::Duration;

use http::{HeaderMap, Method};
use lab::generator::{ControlClient, ControlRequest, ControlResponse, Failure};
use lab::measurement::ErrorKind;
use lab::scenario::BaseUrl;

use super::{UNUSED_ADDRESS, visit};
use crate::scripted_server::{ReceivedRequest, ResponseAction, ScriptedServer};

/// Longer than a test takes.
const TIMEOUT: Duration = Duration::from_secs(20);

fn response() -> Vec<ResponseAction> {
    vec![ResponseAction::Write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec())]
}

fn client(host: &str, address: SocketAddr) -> ControlClient {
    let (mut target, port) = (visit().target, address.port());
    target.url = BaseUrl { uses_tls: false, host: host.to_owned(), port, authority: format!("{host}:{port}") };
    ControlClient::for_target(&target, &[address]).unwrap()
}

async fn send(client: &ControlClient, method: Method) -> Result<ControlResponse, Failure> {
    let idempotent = method == Method::GET;
    let request = ControlRequest::get("/".parse().unwrap(), HeaderMap::new(), TIMEOUT);
    client.send(&ControlRequest { method, idempotent, ..request }).await
}

#[tokio::test]
async fn it_connects_to_the_given_address_and_resolves_no_name() {
    // RFC 6761 guarantees that this name never resolves.
    let target = ScriptedServer::start(|_| response());
    let client = client("nobody.invalid", target.address);
    assert_eq!(send(&client, Method::GET).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_refused_connection_names_the_address_that_was_tried() {
    let failure = send(&client("nobody.invalid", UNUSED_ADDRESS.parse().unwrap()), Method::GET).await.unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Connect);
    let expected = format!("{UNUSED_ADDRESS}: Connection refused");
    assert!(failure.message.starts_with(&expected), "{}", failure.message);
}

/// Sends a GET and then a request of this method, to a target with this script. Expects the outcome of the second
/// request, and how many requests the target received in all.
#[track_caller]
fn check(method: Method, closes: fn(&ReceivedRequest) -> bool, expected: Result<u16, ErrorKind>, requests: u64) {
    let script = move |request: &ReceivedRequest| {
        if closes(request) { vec![ResponseAction::Close] } else { response() }
    };
    let target = ScriptedServer::start(script);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let client = client("127.0.0.1", target.address);
        let _ = send(&client, Method::GET).await;
        send(&client, method).await
    });
    assert_eq!(outcome.map(|response| response.status).map_err(|failure| failure.kind), expected);
    assert_eq!(target.requests(), requests);
}

#[test]
fn a_request_is_sent_again_only_if_an_idle_connection_was_closed() {
    // A connection that is closed at its first request was no idle one.
    check(Method::GET, |_| true, Err(ErrorKind::Closed), 2);
    // The second request of each connection.
    check(Method::GET, |request| request.connection_turn > 0, Ok(200), 3);
    check(Method::POST, |request| request.connection_turn > 0, Err(ErrorKind::Closed), 2);
    // Once, over a new connection.
    check(Method::GET, |request| request.number > 0, Err(ErrorKind::Closed), 3);
}
