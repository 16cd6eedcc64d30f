//! A server with a listener: streams and sockets need real connections.

use crate::test_server::TestServer;
use futures_util::StreamExt;
use gateway::listener::{self, ListenerConfig};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};

/// What has not come after this time does not come any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a listener of the server.
pub(crate) async fn listen(server: &TestServer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listen_at(server, listener)
}

/// The same, on an existing listener.
pub(crate) fn listen_at(server: &TestServer, listener: TcpListener) -> SocketAddr {
    let address = listener.local_addr().unwrap();
    let limits = ListenerConfig::of(&server.app.config, Duration::from_secs(1));
    let (front, metrics, drain) = (server.front(), server.app.metrics.clone(), server.app.drain.clone());
    tokio::spawn(
        async move { listener::serve(listener, front, limits, metrics, async move { drain.begun().await }).await },
    );
    address
}

/// A stream of server-sent events.
pub(crate) struct Stream {
    connection: TcpStream,
    received: String,
    /// The length that was returned already.
    returned: usize,
}

impl Stream {
    pub(crate) async fn open(address: SocketAddr, path: &str, token: &str) -> Self {
        Self::ask(address, path, token, "text/event-stream").await
    }

    /// A request with this `accept` header.
    pub(crate) async fn ask(address: SocketAddr, path: &str, token: &str, accept: &str) -> Self {
        let mut connection = TcpStream::connect(address).await.unwrap();
        let by = if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
        let head = format!("GET {path} HTTP/1.1\r\nHost: here\r\nAccept: {accept}\r\n{by}\r\n");
        connection.write_all(head.as_bytes()).await.unwrap();
        Self { connection, received: String::new(), returned: 0 }
    }

    /// The whole response when it ends with this.
    pub(crate) async fn until_end(mut self, end: &str) -> String {
        let mut piece = [0; 4_096];
        while !self.received.ends_with(end) {
            let read = self.connection.read(&mut piece);
            let count = timeout(PATIENCE, read).await.expect("it ends").unwrap();
            assert!(count > 0, "the connection has ended: {}", self.received);
            self.received.push_str(std::str::from_utf8(&piece[..count]).unwrap());
        }
        self.received
    }

    /// What was not returned yet, up to the event with this number.
    pub(crate) async fn until(&mut self, number: u64) -> String {
        let mut piece = [0; 4_096];
        let is_there = |received: &str| {
            received.contains(&format!("\nid: {number}\n"))
                && (received.ends_with("\n\n") || received.ends_with("\n\n\r\n"))
        };
        while !is_there(&self.received) {
            let read = self.connection.read(&mut piece);
            let count = timeout(PATIENCE, read).await.expect("the stream goes on").unwrap();
            assert!(count > 0, "the stream has ended: {}", self.received);
            self.received.push_str(std::str::from_utf8(&piece[..count]).unwrap());
        }
        let new = self.received[self.returned..].to_owned();
        self.returned = self.received.len();
        new
    }
}

/// A WebSocket.
pub(crate) struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    pub(crate) async fn open(address: SocketAddr, path: &str, token: &str) -> Self {
        let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
        if !token.is_empty() {
            request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        Self(client_async(request, TcpStream::connect(address).await.unwrap()).await.unwrap().0)
    }

    /// Sends these bytes as they are; not all of them if the server closes meanwhile.
    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) {
        let _ = self.0.get_mut().write_all(bytes).await;
    }

    /// The code and the reason of the close.
    pub(crate) async fn close(mut self) -> (u16, String) {
        loop {
            let message = timeout(PATIENCE, self.0.next()).await.expect("the socket ends").unwrap().unwrap();
            if let Message::Close(Some(close)) = message {
                return (close.code.into(), close.reason.to_string());
            }
        }
    }

    /// The next messages, up to the one that leads to this number: one document a line, as in a stream.
    pub(crate) async fn until(&mut self, number: u64) -> String {
        let mut received = String::new();
        loop {
            let message = timeout(PATIENCE, self.0.next()).await.expect("the socket goes on").unwrap().unwrap();
            let Message::Text(text) = message else { continue };
            received.push_str(&format!("data: {text}\n"));
            let leads: Value = serde_json::from_str(&text).unwrap();
            if leads["seq"] == number {
                return received;
            }
        }
    }
}
