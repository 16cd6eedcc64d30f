//! A house with a door: streams and sockets are for real connections only.

use crate::house::House;
use futures_util::StreamExt;
use server::gateway::listener::{self, Limits};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// What is waited for and has not come after this time does not come any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// Opens a door of the house.
pub(crate) async fn listen(house: &House) -> SocketAddr {
    let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = door.local_addr().unwrap();
    let limits = Limits::of(&house.app.config, Duration::from_secs(1));
    let (front, metrics, drain) = (house.front(), house.app.metrics.clone(), house.app.drain.clone());
    tokio::spawn(
        async move { listener::serve(door, front, limits, metrics, async move { drain.begun().await }).await },
    );
    address
}

/// What a stream of server-sent events says, up to the event of this number.
pub(crate) async fn stream(address: SocketAddr, path: &str, token: &str, until: u64) -> String {
    let mut connection = TcpStream::connect(address).await.unwrap();
    let by = if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
    let head = format!("GET {path} HTTP/1.1\r\nHost: here\r\nAccept: text/event-stream\r\n{by}\r\n");
    connection.write_all(head.as_bytes()).await.unwrap();
    let (mut text, mut piece) = (String::new(), [0; 4_096]);
    while !text.contains(&format!("\nid: {until}\n")) || !text.ends_with("\n\n") && !text.ends_with("\n\n\r\n") {
        let count = timeout(PATIENCE, connection.read(&mut piece)).await.expect("the stream goes on").unwrap();
        assert!(count > 0, "the stream has ended: {text}");
        text.push_str(std::str::from_utf8(&piece[..count]).unwrap());
    }
    text
}

/// What a socket says, up to the message that leads to this number.
pub(crate) async fn socket(address: SocketAddr, path: &str, token: &str, until: u64) -> String {
    let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
    if !token.is_empty() {
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    let (mut socket, _) = client_async(request, TcpStream::connect(address).await.unwrap()).await.unwrap();
    loop {
        let message = timeout(PATIENCE, socket.next()).await.expect("the socket goes on").unwrap().unwrap();
        let text = message.into_text().unwrap().to_string();
        if text.contains(&format!("\"seq\":{until},")) || text.contains(&format!("\"seq\":{until}}}")) {
            return text;
        }
    }
}
