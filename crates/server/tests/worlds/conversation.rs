//! Two clients see each other over any transport; movers survive only a broken connection.

use crate::client::{ORCHARD, Socket, Tcp, at, hello, open, step, viewing};
use engine::rows::TokenPurpose;
use gateway::guests::Guest;
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite;
use wire::world::{
    ClientFrame, ClientMessage, Leave, Register, Registered, Resume, ServerFrame, ServerMessage, Step, ViewOptions,
    Watch,
};

#[tokio::test]
async fn clients_see_each_other_over_any_transport() {
    let open = open().await;
    let guest = Guest::new("Änn".to_owned(), TokenPurpose::Use, open.server.app.node.clock.now());
    let token = open.server.app.guests.issue(&guest).await.unwrap();
    let (mut watcher, _) = Tcp::enter(open.address, viewing(at(10, 10))).await;

    let mut walker = Socket::connect(open.address, &token).await;
    walker.send_json(&hello()).await;
    let ServerMessage::Welcome(welcome) = walker.next_json().await else { panic!("no welcome") };
    assert_eq!((welcome.capabilities.as_slice(), welcome.indicators[0].as_str()), (&["reasons".to_owned()][..], "😁"));
    walker
        .send_json(&ClientMessage::Register(Register { world: String::new(), indicator: 9, ..viewing(at(12, 10)) }))
        .await;
    let ServerMessage::Registered(registered) = walker.next_json().await else { panic!("not registered") };

    let seen = watcher
        .until(|message| if let ServerMessage::View(view) = message { view.entered.first().cloned() } else { None })
        .await;
    assert_eq!((seen.id, seen.x, seen.y, seen.indicator, seen.name.as_str()), (registered.id, 12, 10, 9, "Änn"));
    walker.send_json(&step(registered.next_seq, Step::Nw)).await;
    let moved = watcher
        .until(|message| if let ServerMessage::View(view) = message { view.moved.first().copied() } else { None })
        .await;
    assert_eq!((moved.id, moved.x, moved.y), (registered.id, 11, 9));

    // The binary format on the same kind of connection: the first message decides.
    let mut binary = Socket::connect(open.address, "").await;
    binary.send(tungstenite::Message::binary(ClientFrame { what: Some(hello()) }.encode_to_vec())).await;
    let Some(tungstenite::Message::Binary(frame)) = binary.next().await else { panic!("not answered in kind") };
    assert!(matches!(ServerFrame::decode(frame).unwrap().what, Some(ServerMessage::Welcome(_))));
    binary.send(tungstenite::Message::Ping(b"?".to_vec().into())).await;
    assert_eq!(binary.next().await, Some(tungstenite::Message::Pong(b"?".to_vec().into())));
}

#[tokio::test]
async fn inputs_are_answered_in_order_and_refusals_have_a_reason() {
    let open = open().await;
    let (mut client, registered) = Tcp::enter(open.address, at(0, 0)).await;
    let seq = registered.next_seq;
    for (number, to) in [(seq, Step::E), (seq + 1, Step::N), (seq + 7, Step::S), (seq + 2, Step::S)] {
        client.send(step(number, to)).await;
    }
    client.send(ClientMessage::Dig(wire::world::Dig { seq: seq + 3 })).await;
    let mut refused = async || match client.next().await {
        Some(ServerMessage::Refused(refused)) => {
            (refused.seq, refused.code, refused.expected_seq, !refused.reason.is_empty())
        }
        Some(ServerMessage::Moved(moved)) => (moved.seq, format!("{},{}", moved.x, moved.y), 0, true),
        other => panic!("{other:?}"),
    };
    let mut responses = Vec::new();
    for _ in 0..5 {
        responses.push(refused().await);
    }
    let want = [
        (seq, "1,0", 0),
        (seq + 1, "bounds", 0),
        (seq + 7, "out_of_order", seq + 2),
        (seq + 2, "1,1", 0),
        (seq + 3, "no_hunt", 0),
    ];
    // Answers to inputs that are out of order may come before those in order; the others come in the order of the inputs.
    let of = |seq| responses.iter().find(|response| response.0 == seq).unwrap().clone();
    for (seq, what, expected) in want {
        assert_eq!(of(seq), (seq, what.to_owned(), expected, true));
    }
}

fn resuming(registered: &Registered) -> Register {
    Register { resume: Some(Resume { id: registered.id, key: registered.key }), ..at(50, 50) }
}

#[tokio::test]
async fn a_mover_is_resumed_on_another_connection_and_the_old_one_ends() {
    let open = open().await;
    let (mut old, first) = Tcp::enter(open.address, at(20, 20)).await;
    let (mut new, second) = Tcp::enter(open.address, resuming(&first)).await;
    assert!(second.is_resumed && second.id == first.id && (second.x, second.y) == (20, 20), "{second:?}");
    let Some(ServerMessage::Error(error)) = old.next().await else { panic!("no error on the old connection") };
    assert_eq!((error.code.as_str(), error.close, old.next().await), ("replaced", 1008, None));
    new.send(step(second.next_seq, Step::E)).await;
    assert!(matches!(new.next().await, Some(ServerMessage::Moved(moved)) if (moved.x, moved.y) == (21, 20)));
    drop(new);
    // The connection broke: the mover is still there.
    let (_, third) = Tcp::enter(open.address, resuming(&second)).await;
    assert!(third.is_resumed && third.id == first.id && (third.x, third.y) == (21, 20), "{third:?}");
}

#[tokio::test]
async fn a_mover_that_leaves_is_gone() {
    let open = open().await;
    let (mut watcher, _) = Tcp::enter(open.address, viewing(at(10, 10))).await;
    let (mut leaver, registered) = Tcp::enter(open.address, at(11, 11)).await;
    let id = registered.id;
    watcher
        .until(|message| {
            matches!(message, ServerMessage::View(view) if view.entered.iter().any(|one| one.id == id)).then_some(())
        })
        .await;
    leaver.send(ClientMessage::Leave(Leave {})).await;
    assert_eq!(leaver.next().await, None);
    watcher
        .until(|message| matches!(message, ServerMessage::View(view) if view.left.contains(&id)).then_some(()))
        .await;
    let (_, again) = Tcp::enter(open.address, resuming(&registered)).await;
    assert!(!again.is_resumed, "{again:?}");
}

/// Inputs before a leave are applied, and the last chest is still counted.
#[tokio::test]
async fn inputs_before_a_leave_are_applied() {
    let open = open().await;
    let orchard = |x, y| Register { world: ORCHARD.to_owned(), ..at(x, y) };
    let view = Some(ViewOptions { radius_x: 8, radius_y: 8, per_s: 20 });
    let (mut watcher, _) = Tcp::enter(open.address, Register { view, ..orchard(0, 0) }).await;
    watcher.until(|message| matches!(message, ServerMessage::View(view) if view.items.len() == 64).then_some(())).await;
    for y in 0..8 {
        for x in 0..8 {
            let (mut digger, registered) = Tcp::enter(open.address, orchard(x, y)).await;
            let dig = ClientMessage::Dig(wire::world::Dig { seq: registered.next_seq });
            digger.send_all(&[dig, ClientMessage::Leave(Leave {})]).await;
            assert_eq!(digger.next().await, None);
        }
    }
    let mut gone = 0;
    while gone < 64 {
        let more = |message: &ServerMessage| {
            if let ServerMessage::View(view) = message { Some(view.items_gone.len() / 2) } else { None }
        };
        gone += watcher.until(more).await;
    }
}

#[tokio::test]
async fn views_can_be_changed() {
    let open = open().await;
    let (mut client, _) = Tcp::enter(open.address, at(30, 30)).await;
    let view = viewing(at(0, 0)).view;
    // Without a rate, the reply has the rate in force.
    client.send(ClientMessage::Watch(Watch { view: view.map(|view| ViewOptions { per_s: 0, ..view }) })).await;
    let in_force = view.map(|view| ViewOptions { per_s: 5, ..view });
    assert_eq!(client.next().await, Some(ServerMessage::Watched(wire::world::Watched { view: in_force })));
    let Some(ServerMessage::View(shown)) = client.next().await else { panic!("a view follows") };
    assert!(shown.is_full && (shown.x, shown.y, shown.radius_x) == (30, 30, 5), "{shown:?}");
    let wide = view.map(|view| ViewOptions { radius_x: 1_000, ..view });
    client.send(ClientMessage::Watch(Watch { view: wide })).await;
    let refused = client
        .until(|message| if let ServerMessage::Refused(refused) = message { Some(refused.clone()) } else { None })
        .await;
    assert_eq!((refused.seq, refused.code.as_str()), (0, "view_too_large"));
}

/// The bytes after the head would be the body or frames, depending on how they are cut into segments.
#[tokio::test]
async fn an_upgrade_is_a_get_without_a_body() {
    let open = open().await;
    let check = async |method: &str, path: &str, framing: &str, want: &str| {
        let mut client = TcpStream::connect(open.address).await.unwrap();
        let key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{key}{framing}\r\n"
        );
        client.write_all(head.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        client.read_exact(&mut status).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&status[9..]), want, "{method} {path} {framing:?}");
    };
    let table = format!("/api/stories/tables/{}/socket", "0".repeat(26));
    for path in ["/api/worlds/meadow/socket", &table] {
        for framing in ["Content-Length: 5\r\n", "Content-Length: 500\r\n", "Transfer-Encoding: chunked\r\n"] {
            check("GET", path, framing, "400").await;
        }
        check("HEAD", path, "", "400").await;
        check("POST", path, "", "400").await;
    }
    check("GET", "/api/worlds/meadow/socket", "", "101").await;
    check("GET", "/api/worlds/meadow/socket", "Content-Length: 0\r\n", "101").await;
}

#[tokio::test]
async fn the_port_still_serves_http() {
    let open = open().await;
    for request in ["GET /healthz HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"] {
        let mut client = TcpStream::connect(open.address).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        client.read_to_string(&mut response).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("alive\n"), "{response}");
    }
    let refused = open.server.call("GET /api/worlds/meadow/socket").by("").send().await;
    let headers = ["connection", "upgrade", "sec-websocket-version"].map(|name| &refused.headers[name]);
    assert_eq!(
        (refused.status.as_u16(), headers.map(|value| value.to_str().unwrap())),
        (426, ["upgrade", "websocket", "13"])
    );
}
