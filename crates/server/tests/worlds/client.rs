//! A server with worlds and a listener, and clients over both transports.

use crate::test_server::TestServer;
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::WorldId;
use engine::rows::{Admission, WorldKind, WorldRow};
use engine::time::UnixMs;
use engine::worlds::settings_to_bytes;
use futures_util::{SinkExt, StreamExt};
use gateway::listener::{self, ListenerConfig, ListenerResources};
use prost::Message;
use quotas::address_limit::AddressLimit;
use rules::chance::Seed;
use rules::world::{HuntSettings, Size, WorldSettings};
use settings::Config;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::testing::MemoryDatabase;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async};
use wire::delimited;
use wire::world::{
    Cell, ClientFrame, ClientMessage, Hello, Move, Register, Registered, ServerFrame, ServerMessage, ViewOptions,
};

/// What has not come after this time does not come any more.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// A world without trees.
pub(crate) const MEADOW: &str = "meadow";
/// A hunt in which a chest lies on every cell of eight by eight.
pub(crate) const ORCHARD: &str = "orchard";

/// A server, and its address.
pub(crate) struct Open {
    pub(crate) server: TestServer,
    pub(crate) address: SocketAddr,
}

/// The row of a world.
fn world(id: u128, name: &str, kind: WorldKind, settings: &WorldSettings) -> WorldRow {
    WorldRow {
        id: WorldId(id),
        name: name.parse().unwrap(),
        kind,
        settings: settings_to_bytes(settings),
        seed: Seed(7),
        creator: None,
        created_at: UnixMs(0),
        ends_at: None,
        admission: Admission::Everybody,
        players_max: 0,
    }
}

/// A server with a meadow and an orchard.
pub(crate) async fn open() -> Open {
    open_with(|_| {}).await
}

/// The same with other settings.
pub(crate) async fn open_with(configure: impl FnOnce(&mut Config)) -> Open {
    let configure = |config: &mut Config| {
        config.allow_private_bots = true;
        configure(config);
    };
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), configure).await;
    let meadow = WorldSettings {
        size: Size { width: 100, height: 100 },
        tree_permille: 0,
        move_min: Duration::ZERO,
        ..WorldSettings::default()
    };
    let hunt = HuntSettings { chests: 64, power_ups: 0, ..HuntSettings::default() };
    let orchard = WorldSettings { size: Size { width: 8, height: 8 }, hunt: Some(hunt), ..meadow };
    for row in [world(7, MEADOW, WorldKind::World, &meadow), world(8, ORCHARD, WorldKind::Hunt, &orchard)] {
        let made = server.commit(Command::World(WorldCommand::Ensure { row, members: Vec::new() })).await;
        assert!(matches!(made, Outcome::World(_)), "{made:?}");
    }
    tokio::spawn(server::owners::own_worlds(server.app.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let limits = ListenerConfig::of(&server.app.config, Duration::from_secs(5));
    let address_limit = Some(AddressLimit::of(&server.app.config));
    let resources = ListenerResources { address_limit, ..ListenerResources::from(server.app.metrics.clone()) };
    let (front, drain) = (server.front(), server.app.drain.clone());
    tokio::spawn(async move {
        listener::serve(listener, front, limits, resources, async move { drain.begun().await }).await;
    });
    Open { server, address }
}

/// A client over TCP.
pub(crate) struct Tcp {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Tcp {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), unread: Vec::new() }
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: ClientMessage) {
        self.send_bytes(&ClientFrame { what: Some(message) }.encode_length_delimited_to_vec()).await;
    }

    /// The same for several, in one piece.
    pub(crate) async fn send_all(&mut self, message: &[ClientMessage]) {
        let frame =
            |message: &ClientMessage| ClientFrame { what: Some(message.clone()) }.encode_length_delimited_to_vec();
        self.send_bytes(&message.iter().flat_map(frame).collect::<Vec<u8>>()).await;
    }

    /// The next frame; `None` at the end of the connection.
    pub(crate) async fn next(&mut self) -> Option<ServerMessage> {
        loop {
            if let Some(range) = delimited::first_frame(&self.unread, usize::MAX).unwrap() {
                let end = range.end;
                let frame = ServerFrame::decode(&self.unread[range]).unwrap();
                self.unread.drain(..end);
                return frame.what;
            }
            let read = timeout(PATIENCE, self.stream.read_buf(&mut self.unread)).await.expect("frames come").unwrap();
            if read == 0 {
                assert!(self.unread.is_empty(), "the connection ends between frames");
                return None;
            }
        }
    }

    /// The next frame in which `find` finds something.
    pub(crate) async fn until<T>(&mut self, find: impl Fn(&ServerMessage) -> Option<T>) -> T {
        loop {
            let message = self.next().await.expect("the connection goes on");
            if let Some(found) = find(&message) {
                return found;
            }
        }
    }

    /// A client with a mover on this cell of the meadow.
    pub(crate) async fn enter(address: SocketAddr, register: Register) -> (Self, Registered) {
        let mut client = Self::connect(address).await;
        client.send(hello()).await;
        assert!(matches!(client.next().await, Some(ServerMessage::Welcome(_))));
        client.send(ClientMessage::Register(register)).await;
        match client.next().await {
            Some(ServerMessage::Registered(registered)) => (client, registered),
            other => panic!("not registered: {other:?}"),
        }
    }
}

pub(crate) fn hello() -> ClientMessage {
    ClientMessage::Hello(Hello { version: 1, capabilities: vec!["reasons".to_owned()] })
}

pub(crate) fn at(x: u32, y: u32) -> Register {
    Register { world: MEADOW.to_owned(), at: Some(Cell { x, y }), ..Register::default() }
}

pub(crate) fn viewing(register: Register) -> Register {
    Register { view: Some(ViewOptions { radius_x: 5, radius_y: 5, per_s: 20 }), ..register }
}

pub(crate) fn step(seq: u32, step: wire::world::Step) -> ClientMessage {
    ClientMessage::Move(Move { seq, step: step.into() })
}

/// A client over a WebSocket.
pub(crate) struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    pub(crate) async fn connect(address: SocketAddr, token: &str) -> Self {
        let mut request = format!("ws://{address}/api/worlds/{MEADOW}/socket").into_client_request().unwrap();
        if !token.is_empty() {
            request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        Self(client_async(request, TcpStream::connect(address).await.unwrap()).await.unwrap().0)
    }

    pub(crate) async fn send(&mut self, message: tungstenite::Message) {
        self.0.send(message).await.unwrap();
    }

    pub(crate) async fn send_json(&mut self, message: &ClientMessage) {
        self.send(tungstenite::Message::Text(Utf8Bytes::from(serde_json::to_string(message).unwrap()))).await;
    }

    /// The next message; `None` when the connection was closed properly.
    pub(crate) async fn next(&mut self) -> Option<tungstenite::Message> {
        timeout(PATIENCE, self.0.next()).await.expect("messages come").map(Result::unwrap)
    }

    /// The next frame, as JSON.
    pub(crate) async fn next_json(&mut self) -> ServerMessage {
        let message = self.next().await.expect("the connection goes on");
        serde_json::from_str(message.to_text().unwrap()).unwrap()
    }
}
