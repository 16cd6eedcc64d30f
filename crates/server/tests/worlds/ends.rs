//! How connections end: one error frame, a close, and nothing after it.

use crate::client::{MEADOW, Socket, Tcp, at, hello, open, open_with, step};
use engine::limits::WORLD_REGISTRATIONS_MAX;
use settings::Networks;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use wire::world::{ClientMessage, Hello, Register, ServerMessage, Step};

/// Sends these messages, and checks for this error and the end.
async fn check(message: Vec<ClientMessage>, code: &str, close: u32) {
    let open = open().await;
    let mut client = Tcp::connect(open.address).await;
    for message in message {
        client.send(message).await;
    }
    let error = client
        .until(|message| if let ServerMessage::Error(error) = message { Some(error.clone()) } else { None })
        .await;
    assert_eq!((error.code.as_str(), error.close), (code, close), "{error:?}");
    assert_eq!(client.next().await, None, "{code}");
    let ended = format!("gauntlet_world_connections_ended_total{{code=\"{code}\"}}");
    assert_eq!(open.server.sample(&ended), 1);
}

#[tokio::test]
async fn connections_end_with_one_error() {
    let register = |register| ClientMessage::Register(register);
    check(vec![step(1, Step::N)], "out_of_turn", 1002).await;
    check(vec![hello(), hello()], "out_of_turn", 1002).await;
    check(vec![hello(), register(at(1, 1)), register(at(1, 1))], "out_of_turn", 1002).await;
    // HTTP never begins with the first byte of its length: the client gets the error in its own format.
    check(vec![ClientMessage::Hello(Hello { version: 1, capabilities: vec!["c".repeat(200)] })], "oversized", 1009)
        .await;
    check(vec![ClientMessage::Hello(Hello { version: 2, ..Hello::default() })], "version", 1002).await;
    check(vec![hello(), register(Register { world: "nowhere".to_owned(), ..at(1, 1) })], "no_such_world", 1008).await;
    check(vec![hello(), register(Register { world: "No Name".to_owned(), ..at(1, 1) })], "no_such_world", 1008).await;
    check(vec![hello(), register(Register { token: "gst_forged".to_owned(), ..at(1, 1) })], "token_unknown", 1008)
        .await;
    check(vec![hello(), register(Register { token: "gnt_none".to_owned(), ..at(1, 1) })], "token_unknown", 1008).await;
    check(
        vec![hello(), register(at(1, 1)), step(1, Step::N), ClientMessage::Move(wire::world::Move { seq: 2, step: 9 })],
        "malformed",
        1002,
    )
    .await;
}

#[tokio::test]
async fn a_refused_registration_may_be_corrected() {
    let open = open().await;
    let mut client = Tcp::connect(open.address).await;
    client.send(hello()).await;
    client.send(ClientMessage::Register(Register { indicator: 2, ..at(1, 1) })).await;
    let far = wire::world::ViewOptions { radius_x: 70_000, radius_y: 1, per_s: 5 };
    client.send(ClientMessage::Register(Register { view: Some(far), ..at(1, 1) })).await;
    client.send(ClientMessage::Register(at(1, 1))).await;
    client.send(step(1, Step::E)).await;
    let mut codes = Vec::new();
    loop {
        match client.next().await.unwrap() {
            ServerMessage::Refused(refused) => codes.push(refused.code),
            ServerMessage::Moved(moved) => break assert_eq!((moved.x, moved.y), (2, 1)),
            ServerMessage::Welcome(_) | ServerMessage::Registered(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(codes, ["no_such_indicator", "view_too_large"]);
}

#[tokio::test]
async fn refused_registrations_end_the_connection_after_some() {
    let refused = ClientMessage::Register(Register { indicator: 2, ..at(1, 1) });
    let all = std::iter::once(hello()).chain(std::iter::repeat_n(refused, WORLD_REGISTRATIONS_MAX as usize));
    check(all.collect(), "too_fast", 1008).await;
}

#[tokio::test]
async fn a_start_beyond_the_edge_is_moved_to_the_edge() {
    let open = open().await;
    for x in [65_535, 70_000, u32::MAX] {
        let (_, registered) = Tcp::enter(open.address, at(x, 1)).await;
        assert!(registered.x < registered.width && registered.x + 3 > registered.width, "{registered:?}");
    }
}

#[tokio::test]
async fn a_draining_server_ends_all_connections_with_the_reason() {
    let open = open().await;
    let (mut mover, _) = Tcp::enter(open.address, at(1, 1)).await;
    let mut socket = Socket::connect(open.address, "").await;
    socket.send_json(&hello()).await;
    assert!(matches!(socket.next_json().await, ServerMessage::Welcome(_)));
    open.server.app.drain.begin();
    let Some(ServerMessage::Error(error)) = mover.next().await else { panic!("no error") };
    assert_eq!((error.code.as_str(), error.close, mover.next().await), ("draining", 1012, None));
    assert!(matches!(socket.next_json().await, ServerMessage::Error(error) if error.code == "draining"));
    let Some(Message::Close(Some(close))) = socket.next().await else { panic!("no close") };
    assert_eq!((u16::from(close.code), close.reason.as_str()), (1012, "draining"));
}

#[tokio::test]
async fn a_page_of_another_world_gets_an_error() {
    let open = open().await;
    let mut socket = Socket::connect(open.address, "").await;
    socket.send_json(&hello()).await;
    socket.send_json(&ClientMessage::Register(Register { world: "plaza".to_owned(), ..Register::default() })).await;
    assert!(matches!(socket.next_json().await, ServerMessage::Welcome(_)));
    assert!(
        matches!(socket.next_json().await, ServerMessage::Error(error) if error.code == "no_such_world"),
        "{MEADOW} is meant"
    );
}

/// One mover with the token in its registration, one with the token in its request, and one that has not registered yet.
#[tokio::test]
async fn a_deleted_token_ends_its_connections() {
    let open = open().await;
    let made =
        open.server.call("POST /api/tokens").json(&serde_json::json!({ "name": "movers" })).check("201").await.body;
    let (id, token) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    let (mut tcp, mover) = Tcp::enter(open.address, Register { token: token.to_owned(), ..at(1, 1) }).await;
    let (mut anonymous, _) = Tcp::enter(open.address, at(3, 3)).await;
    let mut sockets = [Socket::connect(open.address, token).await, Socket::connect(open.address, token).await];
    for socket in &mut sockets {
        socket.send_json(&hello()).await;
        assert!(matches!(socket.next_json().await, ServerMessage::Welcome(_)));
    }
    sockets[0].send_json(&ClientMessage::Register(Register { world: String::new(), ..at(5, 5) })).await;
    assert!(matches!(sockets[0].next_json().await, ServerMessage::Registered(_)));
    open.server.call(&format!("DELETE /api/tokens/{id}")).check("204").await;
    let Some(ServerMessage::Error(error)) = tcp.next().await else { panic!("no error") };
    assert_eq!((error.code.as_str(), error.close, tcp.next().await), ("token_unknown", 1008, None));
    for mut socket in sockets {
        assert!(matches!(socket.next_json().await, ServerMessage::Error(error) if error.code == "token_unknown"));
        let Some(Message::Close(Some(close))) = socket.next().await else { panic!("no close") };
        assert_eq!((u16::from(close.code), close.reason.as_str()), (1008, "token_unknown"));
    }
    assert_eq!(open.server.sample("gauntlet_grants_revoked_total"), 3);
    // Without a token the mover's key does not resume it, and other movers stay.
    let resume = Some(wire::world::Resume { id: mover.id, key: mover.key });
    let (_again, registered) = Tcp::enter(open.address, Register { resume, ..at(1, 1) }).await;
    assert!(!registered.is_resumed && registered.id != mover.id, "{registered:?}");
    anonymous.send(step(1, Step::E)).await;
    assert!(matches!(anonymous.next().await, Some(ServerMessage::Moved(_))));
}

/// Anonymous movers of a banned address, over TCP and a WebSocket; and who comes after.
#[tokio::test]
async fn a_banned_address_loses_its_connections() {
    let open = open().await;
    let (mut tcp, _) = Tcp::enter(open.address, at(1, 1)).await;
    let mut socket = Socket::connect(open.address, "").await;
    socket.send_json(&hello()).await;
    assert!(matches!(socket.next_json().await, ServerMessage::Welcome(_)));
    let ban = serde_json::json!({ "address": "127.0.0.1", "reason": "floods" });
    open.server.call("POST /api/admin/bans").by("operator").from("192.0.2.1").json(&ban).check("201").await;
    let Some(ServerMessage::Error(error)) = tcp.next().await else { panic!("no error") };
    assert_eq!((error.code.as_str(), error.close, tcp.next().await), ("banned", 1008, None));
    assert!(error.reason.ends_with(": floods"), "{}", error.reason);
    assert!(matches!(socket.next_json().await, ServerMessage::Error(error) if error.code == "banned"));
    let mut late = Tcp::connect(open.address).await;
    late.send(hello()).await;
    let Some(ServerMessage::Error(error)) = late.next().await else { panic!("no error") };
    assert_eq!((error.code.as_str(), error.close), ("banned", 1008));
}

#[tokio::test]
async fn a_client_that_does_not_register_is_disconnected_after_the_header_timeout() {
    let open = open_with(|config| config.http_header_timeout = Duration::from_millis(200)).await;
    let (mut viewer, _) = Tcp::enter(open.address, at(1, 1)).await;
    let mut client = Tcp::connect(open.address).await;
    client.send(hello()).await;
    assert!(matches!(client.next().await, Some(ServerMessage::Welcome(_))));
    let Some(ServerMessage::Error(error)) = client.next().await else { panic!("no error") };
    assert_eq!((error.code.as_str(), error.close), ("too_slow", 1008));
    assert_eq!(error.reason, "no mover registered within 200 ms: connect when a mover is ready");
    assert_eq!(client.next().await, None);
    let mut socket = Socket::connect(open.address, "").await;
    socket.send_json(&hello()).await;
    assert!(matches!(socket.next_json().await, ServerMessage::Welcome(_)));
    assert!(matches!(socket.next_json().await, ServerMessage::Error(error) if error.code == "too_slow"));
    // A registered client may be silent.
    viewer.send(step(1, Step::E)).await;
    assert!(matches!(viewer.next().await, Some(ServerMessage::Moved(_))));
}

/// A registration at this cell with an account's token.
fn known(x: u32, y: u32) -> Register {
    Register { token: "player".to_owned(), ..at(x, y) }
}

/// The status of a request on a separate connection.
async fn status(open: &crate::client::Open) -> String {
    let mut client = TcpStream::connect(open.address).await.unwrap();
    client.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut response = Vec::new();
    let _ = client.read_to_end(&mut response).await;
    String::from_utf8_lossy(&response).split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_mover_without_a_token_is_evicted_and_one_with_an_account_is_not() {
    let open = open_with(|config| config.http_connections_max = 2).await;
    let (mut viewer, _) = Tcp::enter(open.address, known(1, 1)).await;
    let (mut anonymous, _) = Tcp::enter(open.address, at(2, 2)).await;
    while status(&open).await != "200" {}
    while anonymous.next().await.is_some() {}
    assert_eq!(open.server.sample("gauntlet_http_connections_evicted_total"), 1);
    viewer.send(step(1, Step::E)).await;
    viewer.until(|message| matches!(message, ServerMessage::Moved(_)).then_some(())).await;
}

#[tokio::test]
async fn registered_movers_stay_when_the_server_is_full_and_a_refusal_comes_as_a_frame() {
    let open = open_with(|config| config.http_connections_max = 2).await;
    let (mut viewer, _) = Tcp::enter(open.address, known(1, 1)).await;
    let (mut other, _) = Tcp::enter(open.address, known(2, 2)).await;
    let mut refused = Tcp::connect(open.address).await;
    refused.send(hello()).await;
    let Some(ServerMessage::Error(error)) = refused.next().await else { panic!("no error") };
    assert_eq!((error.code.as_str(), error.close), ("connections_full", 1013));
    assert_eq!((refused.next().await, status(&open).await.as_str()), (None, "503"));
    other.send(ClientMessage::Leave(wire::world::Leave {})).await;
    while other.next().await.is_some() {}
    // A hello without a registration is evicted once it has been silent for a while; a mover is not.
    let mut opening = Tcp::connect(open.address).await;
    opening.send(hello()).await;
    while status(&open).await != "200" {}
    while opening.next().await.is_some() {}
    assert!(open.server.sample("gauntlet_http_connections_evicted_total") <= 1);
    viewer.send(step(1, Step::E)).await;
    viewer.until(|message| matches!(message, ServerMessage::Moved(_)).then_some(())).await;
}

/// The response to a proxy at 127.0.0.9 that requests a WebSocket for this client, and the connection.
async fn through_a_proxy(address: SocketAddr, client: &str) -> (String, TcpStream) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 9], 0).into()).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let request = format!(
        "GET /api/worlds/{MEADOW}/socket HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {client}\r\nConnection: upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\n") {
        response.push(stream.read_u8().await.unwrap());
    }
    (String::from_utf8(response).unwrap().split(' ').nth(1).unwrap().to_owned(), stream)
}

#[tokio::test]
async fn behind_a_proxy_websockets_count_against_their_client() {
    let open = open_with(|config| {
        (config.http_connections_per_address_max, config.http_limit_loopback) = (2, true);
        config.http_trusted_proxies = Networks::parse("127.0.0.9").unwrap();
    })
    .await;
    let mut sockets = Vec::new();
    for client in ["192.0.2.1", "192.0.2.1", "192.0.2.2"] {
        let (status, socket) = through_a_proxy(open.address, client).await;
        assert_eq!(status, "101");
        sockets.push(socket);
    }
    assert_eq!(through_a_proxy(open.address, "192.0.2.1").await.0, "429");
    assert_eq!(open.server.sample("gauntlet_http_connections_refused_address_total"), 1);
    drop(sockets.swap_remove(0));
    // The end of the first is noticed sooner or later.
    while through_a_proxy(open.address, "192.0.2.1").await.0 != "101" {}
}
