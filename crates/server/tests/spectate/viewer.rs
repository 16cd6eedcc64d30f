//! A viewer at the events socket.

use super::test_server::{PATIENCE, SOCKET_BYTES, TestServer};
use engine::ids::MatchId;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

/// The normal close code.
pub(crate) const NORMAL: u16 = 1000;
/// The close code of a server that cannot go on.
pub(crate) const ERROR: u16 = 1011;

/// A connected viewer. What it does not read stays in the kernel's small buffer.
pub(crate) struct Viewer {
    socket: WebSocketStream<TcpStream>,
    frames: Vec<Value>,
}

/// Everything from one connection, up to its close frame.
#[derive(Debug, PartialEq)]
pub(crate) struct Received {
    pub(crate) frames: Vec<Value>,
    /// The types of the events after the last frame, in order.
    pub(crate) events: Vec<String>,
    pub(crate) code: u16,
}

impl Viewer {
    pub(crate) async fn watch(server: &TestServer, id: MatchId) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(SOCKET_BYTES).unwrap();
        let stream = socket.connect(server.address).await.unwrap();
        let url = format!("ws://{}/api/games/{id}/events", server.address);
        let (socket, _) = client_async(url, stream).await.unwrap();
        Self { socket, frames: Vec::new() }
    }

    /// The status with which a viewer is refused.
    pub(crate) async fn refused(server: &TestServer, id: MatchId) -> u16 {
        let stream = TcpStream::connect(server.address).await.unwrap();
        match client_async(format!("ws://{}/api/games/{id}/events", server.address), stream).await {
            Err(Error::Http(response)) => response.status().as_u16(),
            other => panic!("not refused: {other:?}"),
        }
    }

    /// Reads until this turn was shown.
    pub(crate) async fn wait_for_turn(&mut self, turn: u64) {
        while self.frames.last().is_none_or(|frame| frame["Turn"].as_u64() < Some(turn)) {
            match self.next().await {
                Message::Text(text) => self.take(&text, &mut Vec::new()),
                other => panic!("turn {turn} was not shown, but {other:?}"),
            }
        }
    }

    /// Reads everything up to the close frame.
    pub(crate) async fn read_to_end(mut self) -> Received {
        let mut events = Vec::new();
        loop {
            match self.next().await {
                Message::Text(text) => self.take(&text, &mut events),
                Message::Close(close) => {
                    let code = close.expect("a close frame says why").code.into();
                    return Received { frames: self.frames, events, code };
                }
                other => panic!("a viewer received {other:?}"),
            }
        }
    }

    fn take(&mut self, text: &str, events: &mut Vec<String>) {
        let mut event: Value = serde_json::from_str(text).unwrap();
        if event["Type"] == "frame" {
            assert!(events.is_empty(), "a frame after {events:?}");
            assert_eq!(event["Data"]["Turn"], self.frames.len(), "frames come in order, once each");
            return self.frames.push(event["Data"].take());
        }
        assert!(event["Type"] != "game_end" || event["Data"] == json!({}), "{event}");
        events.push(event["Type"].as_str().unwrap().to_owned());
    }

    /// The next message that is not a ping. Pings do not prolong the wait: they come from a server without new frames.
    async fn next(&mut self) -> Message {
        let next = async {
            loop {
                match self.socket.next().await {
                    Some(Ok(Message::Ping(_))) => {}
                    Some(Ok(message)) => return message,
                    end => panic!("the socket ended without a close frame: {end:?}"),
                }
            }
        };
        timeout(PATIENCE, next).await.expect("the viewer gets no more messages")
    }
}

impl Received {
    /// Checks that the game was shown to its end.
    #[track_caller]
    pub(crate) fn check_whole(&self) {
        assert_eq!((self.events.as_slice(), self.code), ([String::from("game_end")].as_slice(), NORMAL));
    }
}
