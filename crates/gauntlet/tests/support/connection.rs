//! A client's HTTP connection, kept alive between requests: whole responses, streamed responses, and WebSocket
//! messages.

use super::PATIENCE;
use futures_util::StreamExt;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

pub(crate) struct HttpConnection {
    reader: BufReader<TcpStream>,
    address: SocketAddr,
    token: String,
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

impl ResponseHead {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }
}

impl HttpConnection {
    /// A connection with this token; anonymous without one.
    pub(crate) fn open(address: SocketAddr, token: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { reader: BufReader::new(stream), address, token: token.to_owned() }
    }

    /// Sends a request, and no more.
    pub(crate) fn send(&mut self, line: &str, headers: &str, body: &Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let token = match self.token.as_str() {
            "" => String::new(),
            token => format!("Authorization: Bearer {token}\r\n"),
        };
        let of_body = match body.len() {
            0 => String::new(),
            length => format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"),
        };
        let text = format!("{line} HTTP/1.1\r\nHost: {}\r\n{token}{of_body}{headers}\r\n{body}", self.address);
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn head(&mut self) -> ResponseHead {
        let mut lines = std::iter::from_fn(|| {
            let mut line = String::new();
            self.reader.read_line(&mut line).unwrap();
            Some(line.trim_end().to_owned()).filter(|line| !line.is_empty())
        });
        let status = lines.next().expect("an answer comes");
        let status =
            status.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{status}"));
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        });
        ResponseHead { status, headers: headers.collect() }
    }

    /// The next piece of an answer in pieces; `None` at its end.
    pub(crate) fn chunk(&mut self) -> Option<String> {
        let mut size = String::new();
        self.reader.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim_end(), 16).ok()?;
        let mut piece = vec![0; size + 2];
        self.reader.read_exact(&mut piece).unwrap();
        piece.truncate(size);
        (size > 0).then(|| String::from_utf8(piece).unwrap())
    }

    /// The answer to what was sent.
    pub(crate) fn response(&mut self) -> (ResponseHead, Value) {
        let head = self.head();
        let body = match head.header("content-length") {
            Some(length) => {
                let mut body = vec![0; length.parse().unwrap()];
                self.reader.read_exact(&mut body).unwrap();
                String::from_utf8(body).unwrap()
            }
            None => std::iter::from_fn(|| self.chunk()).collect(),
        };
        (head, serde_json::from_str(&body).unwrap_or_default())
    }

    /// A request and its answer, which must have this status.
    #[track_caller]
    pub(crate) fn request_ok(&mut self, line: &str, body: &Value, want: u16) -> Value {
        self.send(line, "", body);
        let (head, body) = self.response();
        assert_eq!(head.status, want, "{line}: {body}");
        body
    }

    /// The next message of an event stream, with its id; heartbeats are skipped. `None` at the end.
    pub(crate) fn event(&mut self, buffer: &mut String) -> Option<(u64, Value)> {
        loop {
            while let Some((event, rest)) = buffer.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                let message = field("id: ").zip(field("data: "));
                let message = message.map(|(id, data)| (id.parse().unwrap(), serde_json::from_str(data).unwrap()));
                *buffer = rest.to_owned();
                if message.is_some() {
                    return message;
                }
            }
            buffer.push_str(&self.chunk()?);
        }
    }
}

/// What a socket brought.
#[derive(Debug, PartialEq)]
pub(crate) enum SocketEvent {
    Message(Value),
    /// The close code, when there was a close frame.
    Closed(Option<u16>),
}

/// A connected socket, on a thread of its own.
pub(crate) struct Socket(Receiver<SocketEvent>);

impl Socket {
    /// Returns when it is open: events from now on are received.
    pub(crate) fn open(address: SocketAddr, path: &str, token: &str) -> Self {
        let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
        if !token.is_empty() {
            request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        let ((sender, receiver), (opened, is_open)) = (channel(), channel());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (mut socket, _) = connect_async(request).await.unwrap();
                opened.send(()).unwrap();
                while let Some(Ok(message)) = socket.next().await {
                    let event = match message {
                        Message::Text(text) => SocketEvent::Message(serde_json::from_str(&text).unwrap()),
                        Message::Close(close) => SocketEvent::Closed(close.map(|close| close.code.into())),
                        _ => continue,
                    };
                    if sender.send(event).is_err() {
                        return;
                    }
                }
            });
        });
        is_open.recv_timeout(PATIENCE).expect("the socket opens");
        Self(receiver)
    }

    /// The next thing that it brings; `None` once it is closed.
    pub(crate) fn next(&self) -> Option<SocketEvent> {
        match self.0.recv_timeout(PATIENCE) {
            Ok(event) => Some(event),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(error) => panic!("a socket sends nothing any more: {error}"),
        }
    }

    /// The next message.
    #[track_caller]
    pub(crate) fn message(&self) -> Value {
        match self.next() {
            Some(SocketEvent::Message(message)) => message,
            other => panic!("not a message, but {other:?}"),
        }
    }
}
